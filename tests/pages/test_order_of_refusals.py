"""Every page that takes a form: without the permission it is refused before what was sent is looked at (K22)."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memory.host import access, ids
from memory.host.models import Interrupt
from tests import building, proposing
from tests.budgets import THOROUGH
from tests.peopled import World
from tests.proposals.doors import undrawn

pytestmark = pytest.mark.django_db
# What goes in the place of a parameter.
VALUES: dict[str, Callable[[World], str]] = {
    "arc_id": lambda world: world.archive,
    "agent_id": lambda world: world.agent,
    "change_id": lambda world: world.policy_change,
    "cmt_id": lambda world: world.commitment,
    "delivery_id": lambda world: world.delivery,
    "filter_id": lambda world: ids.wire("flt", ids.new_id()),
    "forget_id": lambda world: world.forget,
    "hold_id": lambda world: world.hold,
    "import_id": lambda world: ids.wire("imp", ids.new_id()),
    "intent_id": lambda world: world.openintent["intent"],
    "interrupt_id": lambda world: ids.wire(
        "int", Interrupt.objects.of(world.run.tenant_id).get(run_id=world.run.id).id
    ),
    "key_id": lambda world: ids.wire("key", ids.new_id()),
    "kind": lambda world: "automation",
    "mem_id": lambda world: world.entry,
    "name": lambda world: world.openintent["namespace"],
    "operator_id": lambda world: ids.wire("usr", ids.new_id()),
    "pass_id": lambda world: world.background_pass,
    "path": lambda world: world.file,
    "prop_id": lambda world: ids.wire("prop", world.proposal.id),
    "ref": lambda world: world.template,
    "run_id": lambda world: ids.wire("run", world.run.id),
    "schedule": lambda world: world.schedule,
    "schedule_id": lambda world: world.pass_schedule,
    "sequence": lambda world: "0",
    "tab": lambda world: "archives",
    "token": lambda world: "x",
    "webhook_id": lambda world: world.webhook,
}


def pages(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The name and the pattern of every address that is no face's."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        place = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from pages(pattern.url_patterns, place)
        elif isinstance(pattern, URLPattern) and not place.startswith(("v1/", "api/v1/", "mcp", "oauth/")):
            yield str(pattern.name), place


def address(world: World, pattern: str) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: VALUES[found[1]](world), pattern)


# The permission that a form asks for, by the name of its page.
NEEDS = {
    "run-again": "runs:create",
    "run-answer": "approvals:respond",
    "run-fork": "runs:create",
    "run-steer": "runs:cancel",
    "runs-cancel": "runs:cancel",
    "run-verify": "runs:read",
    "memory-export": "memory:read",
    "memory-export-file": "memory:read",
    "memory-export-remove": "memory:read",
    "memory-imports": "agents:manage and memory:write",
    "memory-import-confirm": "agents:manage and memory:write",
    "memory-import-check": "agents:manage and memory:write",
    "memory-import-remove": "agents:manage and memory:write",
    "memory-selected": "memory:retire",
    "memory-view": "memory:read",
    "memory-view-remove": "memory:read",
    "memory-view-rename": "memory:read",
    "memory-entry-correct": "memory:retire",
    "memory-entry-retire": "memory:retire",
    "archive-withdraw": "memory:retire",
    "memory-entry-restore": "memory:retire",
    "memory-entry-reveal": "memory:retire",
    "memory-entry-protect": "memory:retire",
    "namespace": "agents:manage",
    "retention": "policies:manage",
    "pass-stop": "passes:run",
    "pass-again": "passes:run",
    "pass-undo": "memory:retire",
    "pass-review": "memory:retire",
    "consolidation-order": "passes:run",
    "pass-schedule": "passes:run",
    "pass-schedule-remove": "passes:run",
    "look-alikes-decide": "passes:run",
    "archives-distill": "passes:run",
    "archive-compare": "memory:read",
    "commitment-arm": "memory:retire",
    "commitment-dismiss": "memory:retire",
    "commitment-snooze": "memory:retire",
    "commitment-cancel": "memory:retire",
    "workflow-files": "agents:manage",
    "schedule-pause": "schedules:manage",
    "schedule-resume": "schedules:manage",
    "artifact-disable": "artifacts:manage",
    "artifact-enable": "artifacts:manage",
    "artifact-roll-back": "proposals:create",
    "connect": "keys:manage",
    "keys": "keys:manage",
    "key-revoke": "keys:manage",
    "key-rotate": "keys:manage",
    "operators": "operators:manage",
    "operator-change": "operators:manage",
    "operator-deactivate": "operators:manage",
    "operator-sign-out": "operators:manage",
    "operator-sessions": "operators:manage",
    "operator-link": "operators:manage",
    "operator-reset": "operators:manage",
    "operator-reset-factor": "operators:manage",
    "second-factor-policy": "operators:manage",
    "secrets": "secrets:manage",
    "secret-remove": "secrets:manage",
    "webhooks": "webhooks:manage",
    "webhook-rotate": "webhooks:manage",
    "webhook-remove": "webhooks:manage",
    "webhook-redeliver": "webhooks:manage",
    "forget": "memory:forget",
    "forget-suspects": "memory:forget",
    "forget-confirm": "memory:forget",
    "forget-copy": "memory:forget",
    "forget-again": "memory:forget",
    "forget-withdraw": "memory:forget",
    "forget-retry": "memory:forget",
    "forget-holds": "memory:forget",
    "forget-hold": "memory:forget",
    "audit-verify": "audit:read",
    "proposals-look": "passes:run",
    "proposals-end": "approvals:respond or proposals:revise",
    "proposals-filter": "proposals:read",
    "proposals-filter-remove": "proposals:read",
    "proposal-ask": "proposals:request-activation",
    "proposal-decide": "approvals:respond",
    "proposal-withdraw": "proposals:request-activation",
    "proposal-reject": "approvals:respond",
    "proposal-archive": "proposals:revise",
    "proposal-roll-back": "proposals:create",
    "proposal-revise": "proposals:revise",
    "proposal-override": "approvals:override",
    "proposal-comment": "proposals:comment",
    "approval-policy": "policies:manage",
    "approval-change-confirm": "policies:manage",
    "approval-change-refuse": "policies:manage",
}
OPEN_TO_ALL = (
    *("account_login", "account_logout", "mfa_authenticate", "set-password", "password", "tenants", "grant-revoke"),
    *("passkey-options", "passkey-sign-in", "passkey-add", "passkey-remove"),
    *("single-sign-on", "single-sign-on-callback"),
    *("second-factor", "second-factor-codes", "second-factor-off", "sessions"),
)
EVERYTHING = frozenset().union(*access.ROLES.values())
READING = frozenset(scope for scope in EVERYTHING if scope.endswith(":read"))
FORMS: tuple[dict[str, str], ...] = ({}, {"nobodysField": "x", "revision": "x", "act": "x", "action": "reject"})


def send(browser: Client, url: str, form: dict[str, str]) -> Any:
    """The answer to the form, whose effect is undone."""
    with transaction.atomic():
        answer = browser.post(url, form)
        transaction.set_rollback(True)
    return answer


def permissions_of(name: str) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """The fewest permissions that open a form, and the most that do not."""
    both = frozenset(NEEDS[name].split(" and "))
    if len(both) > 1:
        return [both], [EVERYTHING - {each} for each in both]
    any_of = frozenset(NEEDS[name].split(" or "))
    return [frozenset({each}) for each in any_of], [EVERYTHING - any_of]


def test_who_may_not_is_refused_before_what_a_form_holds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """One permission beside those to read opens each form, and all others together do not."""
    for render in ("openwop_console.errors.render", "django.shortcuts.render"):
        monkeypatch.setattr(render, undrawn)
    world = World("acme")
    client.force_login(building.operator("acme", "operator"))

    def status(url: str, form: dict[str, str], scopes: frozenset[str]) -> int:
        with monkeypatch.context() as patched:
            patched.setitem(access.ROLES, "operator", scopes)
            return int(send(client, url, form).status_code)

    wrong: dict[tuple[str, frozenset[str]], list[int]] = {}
    forms = dict(pages())
    assert forms.keys() >= NEEDS.keys()
    for turn, (name, pattern) in enumerate(forms.items()):
        if name in OPEN_TO_ALL:
            continue
        url = address(world, pattern)
        if name not in NEEDS:
            assert status(url, {}, EVERYTHING) == 405, f"{name} takes a form and does not say which permission it needs"
            continue
        enough, too_few = permissions_of(name)
        for scopes in enough:
            if (found := status(url, {}, READING | scopes)) in {403, 405}:
                wrong[name, scopes] = [found]
        for scopes in too_few:
            # In a quick run one form at a page, the other at the next one.
            sent = FORMS if THOROUGH else (FORMS[turn % len(FORMS)],)
            answers = [status(url, form, scopes) for form in sent]
            if set(answers) != {403}:
                wrong[name, EVERYTHING - scopes] = answers
    assert wrong == {}


def test_a_visitor_signs_in_before_what_a_form_holds(client: Client) -> None:
    world = World("acme")
    wrong = {}
    for name, pattern in pages():
        if name in NEEDS:
            answer = send(client, address(world, pattern), {})
            if (answer.status_code, answer.headers.get("Location", "")[:7]) != (302, "/login?"):
                wrong[name] = answer.status_code
    assert wrong == {}


def test_who_wrote_a_proposal_is_refused_before_what_the_vote_holds(client: Client) -> None:
    person = building.operator("acme", "operator")
    made = proposing.propose(building.scope("acme", "operator", owner=person))
    client.force_login(person)
    for form in FORMS:
        assert send(client, f"/proposals/{ids.wire('prop', made.id)}/decide", form).status_code == 403
