"""Every door of the review, as a thing that can be tried: who stands there, what is sent, and what is answered.

The world is built once; a cell is tried in a savepoint that is rolled back. Pages are answered without being
drawn: what they look like is for their own tests.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from io import StringIO
from typing import Any

from django.core.management.base import CommandError
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from memory import saved_filters
from memory.host import access, ids, tenancy
from memory.host.errors import Refusal
from memory.host.models import Installation, Operator, RoleGrant, Run, SavedFilter
from memory.host.tenancy import TenantScope
from memory.models import Pass
from openwop_console.management.commands import proposal as command
from proposals import bulk_actions, lifecycle, policies
from proposals import learning as synthesis
from proposals.drafts import Change
from proposals.models import ApprovalPolicy, Comment, Gate, PolicyChange, Proposal, Revision, State, Vote
from tests import building, proposing

NOBODY, WRITER = "nobody", "writer"
BOUND = " bound to an agent"
DECIDING = ("approvals:respond", "approvals:override", "proposals:activate")
REASON = "because of the table"
COUNTED: tuple[Any, ...] = (
    Vote, Revision, Comment, Installation, Run, Proposal, ApprovalPolicy, PolicyChange, SavedFilter, Pass,
)  # fmt: skip
CONDITIONS = (
    "host_installation WHERE superseded_at IS NULL",
    "proposals_policychange WHERE state = 'waiting'",
    "host_auditrecord WHERE action <> 'authorization.denied'",
    "host_auditrecord WHERE action = 'authorization.denied'",
)


@dataclass
class Who:
    """Somebody at the doors: a key for programs, and a person with the same role for pages and the command."""

    role: str
    key: str = ""
    email: str = ""
    browser: Client = field(default_factory=Client)
    saved: str = ""

    @property
    def scope(self) -> TenantScope:
        """The scope of the person."""
        return tenancy.tenant_scope(tenancy.operator_principal(Operator.objects.get(email=self.email)))


@dataclass(frozen=True)
class Answer:
    """What a door said: ``ok``, or the status of its refusal with the refusal's own details."""

    said: str
    details: dict[str, Any] = field(default_factory=dict)
    words: str = ""


Send = Callable[["World", Who, str], Answer]


class World:
    """Acme with somebody of every role, and a proposal in every state."""

    def __init__(self) -> None:
        self.tenant = building.tenant()
        self.people = {each.role: each for each in self._people()}
        self.proposals: dict[str, Proposal] = {}
        for state, make in STATES.items():
            self.proposals[state] = make(self, f"doors.{state}")
        asked = policies.request_change(self.manager, "automation", {"quorum": 2}, now=timezone.now())
        self.change = ids.wire("chg", asked.id)
        self.look = ids.wire("pass", synthesis.order(self.manager, now=timezone.now()).id)
        for who in self.people.values():
            if who.email:
                given: dict[str, Any] = {"name": "own", "query": "state=draft", "shared": False, "now": timezone.now()}
                reads = who.scope.can(saved_filters.READS[saved_filters.INBOX])
                kept = saved_filters.save_filter(who.scope, saved_filters.INBOX, **given).id if reads else ids.new_id()
                who.saved = ids.wire("flt", kept)

    def _people(self) -> Iterator[Who]:
        for role, scopes in access.ROLES.items():
            person = building.operator(role=role, email=f"{role}@acme.example")
            browser = Client(raise_request_exception=False)
            browser.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
            yield Who(role, building.key(role=role), person.email, browser)
            if scopes & set(DECIDING):
                yield Who(role + BOUND, building.key(role=role, agents=("private.doors.clerk",)))
        yield self._nobody()
        yield Who(WRITER, self.writer_key)

    @cached_property
    def writer_key(self) -> str:
        return building.key(role="operator")

    @cached_property
    def writer(self) -> TenantScope:
        """Who has written every proposal here."""
        return tenancy.tenant_scope(tenancy.key_principal(self.writer_key, now=timezone.now()))

    @cached_property
    def manager(self) -> TenantScope:
        return building.scope(role="owner")

    def _nobody(self) -> Who:
        """A credential and a person without any role."""
        key, person = building.key(role="viewer"), building.operator(role="viewer", email="nobody@acme.example")
        holder = tenancy.key_principal(key, now=timezone.now()).id
        unseeded = {holder, ids.wire("usr", person.id)}
        RoleGrant.objects.written_by(access.WRITER).filter(tenant_id=self.tenant.id, principal__in=unseeded).delete()
        browser = Client(raise_request_exception=False)
        browser.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
        return Who(NOBODY, key, person.email, browser)

    # what a cell is about

    def wire(self, state: str) -> str:
        return ids.wire("prop", self.proposals[state].id)

    def ref(self, state: str) -> str:
        return f"prompt:doors.{state}@1.0.0"

    def run(self, state: str) -> str:
        """The activation run of that proposal; where there is none, an id that is nobody's."""
        gate = self.gates.get(state)
        return ids.wire("run", gate.run_id) if gate else "run_" + "0" * 32

    @cached_property
    def gates(self) -> dict[str, Gate]:
        by_proposal = {gate.proposal_id: gate for gate in Gate.objects.of(self.tenant.id)}
        return {name: by_proposal[each.id] for name, each in self.proposals.items() if each.id in by_proposal}

    @cached_property
    def standing(self) -> dict[str, dict[str, Any]]:
        """The revision and digest of each, as its readers see them."""
        rows = Revision.objects.of(self.tenant.id).order_by("number")
        seen = {row.proposal_id: {"revision": row.number, "sha256": row.sha256} for row in rows}
        return {name: seen[each.id] for name, each in self.proposals.items()}

    def everything(self) -> "Everything":
        """All that a refusal must not have changed, and how many denials there are."""
        proposals = Proposal.objects.of(self.tenant.id).order_by("id").values_list("id", "state", "revision")
        gates = Gate.objects.of(self.tenant.id).order_by("id").values_list("proposal_id", "state", "closed_at")
        *counts, denials = self._counts()
        return Everything(list(proposals), list(gates), counts, denials)

    def _counts(self) -> tuple[int, ...]:
        """Rows in every table that a step writes, in one query; audit records without the denials, and those alone."""
        places = [*(each._meta.db_table for each in COUNTED), *CONDITIONS]
        counts = [f"(SELECT COUNT(*) FROM {place})" for place in places]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(counts)}")
            return tuple(cursor.fetchone())


@dataclass(frozen=True)
class Everything:
    """The review of Acme at one moment."""

    proposals: list[Any]
    gates: list[Any]
    counts: list[int]
    denials: int

    def is_as(self, other: "Everything") -> bool:
        return (self.proposals, self.gates, self.counts) == (other.proposals, other.gates, other.counts)

    def stands(self, proposal: Proposal) -> str:
        """The state of that proposal and of its gate under way: ``draft/open``."""
        state = next(state for each, state, _ in self.proposals if each == proposal.id)
        under_way = [state for each, state, closed in self.gates if each == proposal.id and closed is None]
        return f"{state}/{under_way[0] if under_way else '-'}"


def undrawn(request: Any, template: str, context: Any = None, *, status: int | None = None, **_: Any) -> HttpResponse:
    """In the place of Django's ``render``: a page that nobody looks at."""
    return HttpResponse(status=status or 200)


# States


def _text(name: str, version: str = "1.0.0") -> str:
    return proposing.artifact(templateId=name, version=version, text=f"{name} {version}", variables=[])


def _draft(world: World, name: str) -> Proposal:
    return proposing.propose(world.writer, _text(name))


def _revised(world: World, name: str) -> Proposal:
    made = _draft(world, name)
    return lifecycle.revise(world.writer, made.id, Change(title="Second"), now=timezone.now())


def _waiting(world: World, name: str) -> Proposal:
    made = _draft(world, name)
    proposing.advance(proposing.opened(made))
    return made


def _granted(world: World, name: str) -> Proposal:
    """The vote is cast, and no worker has been there yet."""
    made = _draft(world, name)
    proposing.decide(made, proposing.opened(made))
    return made


def _expired(world: World, name: str) -> Proposal:
    """The time is over, and nobody has noticed yet."""
    made, long_ago = _draft(world, name), timezone.now() - timedelta(days=100)
    lifecycle.ask_to_apply(building.scope(role="reviewer"), made.id, now=long_ago)
    return made


def _applied(world: World, name: str) -> Proposal:
    return proposing.applied(_text(name), author=world.writer)


def _superseded(world: World, name: str) -> Proposal:
    """Applied, and another version has been applied since."""
    done = _applied(world, name)
    proposing.applied(_text(name, "2.0.0"), author=world.writer)
    return done


def _rejected(world: World, name: str) -> Proposal:
    return lifecycle.reject(world.manager, _draft(world, name).id, reason=REASON, now=timezone.now())


def _archived(world: World, name: str) -> Proposal:
    return lifecycle.archive(world.manager, _draft(world, name).id, now=timezone.now())


STATES: dict[str, Callable[[World, str], Proposal]] = {
    State.DRAFT: _draft,
    State.REVISED: _revised,
    "waiting": _waiting,
    "granted": _granted,
    "expired": _expired,
    State.APPLIED: _applied,
    "uninstallable": _applied,
    "superseded": _superseded,
    State.REJECTED: _rejected,
    State.ARCHIVED: _archived,
}


# Over HTTP, with a key

Body = Callable[[World, str, Who], Any]


def rest(method: str, path: str, body: Body | None = None) -> Send:
    """A request of the API; ``{id}``, ``{ref}`` and ``{run}`` in the path are those of the cell's proposal."""

    def send(world: World, who: Who, state: str) -> Answer:
        url = path.format(**_named(world, who, state), run=world.run(state))
        raw = json.dumps(body(world, state, who)) if body else ""
        kind = "application/json" if body else ""
        answer = CALLER.generic(method, "/v1/" + url, raw, content_type=kind, HTTP_X_API_KEY=who.key)
        if answer.status_code < 300:
            return Answer("ok")
        told = answer.json()
        return Answer(str(answer.status_code), told.get("details", {}), told["message"])

    return send


def _named(world: World, who: Who, state: str) -> dict[str, str]:
    """What an address may name."""
    own = {"id": world.wire(state), "ref": world.ref(state), "saved": who.saved}
    return {**own, "change": world.change, "look": world.look}


CALLER = Client(raise_request_exception=False)


# In a browser, with a session


def page(path: str, data: Body) -> Send:
    """A form of a page."""

    def send(world: World, who: Who, state: str) -> Answer:
        url = path.format(**_named(world, who, state))
        answer: Any = who.browser.post("/" + url, data(world, state, who))
        if answer.status_code == 302:
            return Answer("ok")
        refusal = getattr(answer, "refusal", None)
        told = refusal.details if refusal else {}
        return Answer(str(answer.status_code), told, refusal.message if refusal else "")

    return send


def chosen(action: str) -> Body:
    """The selection of this one proposal, as the person's own page would have sealed it."""

    def body(world: World, state: str, who: Who) -> dict[str, str]:
        sealed = bulk_actions.seal(who.scope, bulk_actions.select_ids([world.wire(state)]))
        return {"action": action, "chosen": sealed, "reason": REASON}

    return body


# In a shell, as an operator

PARSER = command.Command().create_parser("manage.py", "proposal")
STATUSES = {"NotFound": "404", "Forbidden": "403", "Conflict": "409"}


def shell(action: str, *words: str) -> Send:
    """A call of the command; ``{revision}`` and ``{sha256}`` in the words are those of the cell's proposal."""

    def send(world: World, who: Who, state: str) -> Answer:
        named = {**world.standing[state], "id": world.wire(state), "ref": world.ref(state)}
        given = [word.format(**named) for word in words]
        options = PARSER.parse_args([action, *given, "--tenant", "acme", "--as", who.email])
        try:
            command.Command(stdout=StringIO()).handle(**vars(options))
        except CommandError as refused:
            return _told(refused)
        return Answer("ok")

    return send


def _told(refused: CommandError) -> Answer:
    """The domain's refusal behind a line on standard error."""
    cause = refused.__context__
    if not isinstance(cause, Refusal):
        return Answer("no refusal", {}, str(refused))
    status = next(STATUSES[kind.__name__] for kind in type(cause).__mro__ if kind.__name__ in STATUSES)
    return Answer(status, cause.details, str(refused))
