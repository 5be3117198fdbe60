"""Seed the demo: create what is missing and keep what exists, wherever an earlier seeding was interrupted.

Memory is written by nodes of runs and by agents over OpenIntent, proposals are made by a key of the tenant and moved on
by its operators; nothing here writes a row that the product would not have written.
"""

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import sleep
from uuid import UUID

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.db import transaction

from memory import agents, ledger_imports, memory_policy, passes, tasks
from memory.addresses import Address, Tier
from memory.entry_files import FileForm
from memory.forget import execution, holds, plans
from memory.host import access, api_keys, ids, operators, registrations, registry, runs, tenancy, vault
from memory.host.clock import Clock
from memory.host.errors import Conflict
from memory.host.json_types import JSONObject
from memory.host.models import ApiKey, ArtifactKind, Operator, Run, Secret, SecretScope, Tenant
from memory.host.registry import Artifact
from memory.host.tenancy import TenantScope
from memory.ledger.entries import AddressedValue
from memory.models import ForgetHold, ForgetRequest, Intent, Pass
from memory.models.forget import ForgetState
from memory.openintent import entries, work
from memory.openintent.access import Caller
from memory.openintent.work.rows import NewIntent, NewTask, TaskChange
from memory.passes import consolidation, lookalikes, orders
from memory.passes.orders import RequestedPass
from openwop_console.demo import model
from openwop_console.demo import story as demo_story
from openwop_console.demo.story import Endeavour, Erasure, Errand, Import, Login, Story, Suggestion, text_of
from openwop_console.runtime import engine, run_operations, workflows
from openwop_console.runtime.run_operations import RunRequest
from proposals import artifacts, comments, lifecycle, rules
from proposals.drafts import Change, ProposalDraft
from proposals.models import Decision, Gate, Proposal, Revision

# The demo's month, in days before now, in order.
BEGINNING, WORK, LEARNING, LEARNED, WHOLESALERS, SUGGESTED = 30.0, (29.0, 3.0), 2.75, (2.5, 2.25), 1.75, 0.125
# The time of its passes, in UTC: a little after the nights of a new tenant begin.
NIGHT = time(3, 20)
INSTANCE = "seed"
RESTS = runs.ENDS | runs.WAITING
PATIENCE = timedelta(seconds=60)
POLL = 0.01
WINDOW, AGAIN = "demo", "demo/again"  # nothing is written between them: the second shows that it changes nothing
MAY = tenancy.RUN_SCOPES | {"passes:run"}
BY = "host"
Made = Counter[str]


# Proposals of the demo: created by a key of the agents; revised, submitted, approved and rejected by operators.


def missing_proposals(tenant_id: UUID, suggestions: list[Suggestion]) -> list[Suggestion]:
    """Return the suggestions whose title is not the first title of any proposal yet."""
    there = set(Revision.objects.of(tenant_id).filter(number=1).values_list("title", flat=True))
    return [suggestion for suggestion in suggestions if suggestion.title not in there]


@transaction.atomic
def propose(
    scope: TenantScope, tenant: Tenant, suggestion: Suggestion, sources: Mapping[str, Run], *, now: datetime
) -> bool:
    """Create the proposal and move it as far as the story says, in one transaction.

    False when another seeding was faster; a lock on the tenant's row decides.
    """
    Tenant.objects.select_for_update().get(id=tenant.id)
    if not missing_proposals(tenant.id, [suggestion]):
        return False
    made = lifecycle.create(scope, _draft(suggestion, sources), now=now)
    if suggestion.revision:
        change = Change(artifact=text_of(suggestion.revision["artifact"]), note=suggestion.revision["note"])
        lifecycle.revise(_operator(tenant, suggestion.revision["by"]), made.id, change, now=now)
    for comment in suggestion.comments:
        comments.add(_operator(tenant, comment["by"]), made.id, comment["text"], now=now)
    if suggestion.rejection:
        reviewer = _operator(tenant, suggestion.rejection["by"])
        lifecycle.reject(reviewer, made.id, reason=suggestion.rejection["reason"], now=now)
    _decide(tenant, suggestion, made, now)
    return True


def _decide(tenant: Tenant, suggestion: Suggestion, made: Proposal, now: datetime) -> None:
    """Request approval where the story says so, and grant it where the proposal is to be applied; its run then installs
    it.

    A host without gates installs the latter at once.
    """
    if rules.activates_directly():
        if suggestion.approved_by:
            lifecycle.ask_to_apply(_operator(tenant, suggestion.approved_by), made.id, now=now)
        return
    if suggestion.asked_by:
        gate = lifecycle.ask_to_apply(_operator(tenant, suggestion.asked_by), made.id, now=now).gate
        if gate and suggestion.approved_by:
            voter, granted = _operator(tenant, suggestion.approved_by), Decision.GRANTED
            lifecycle.decide(voter, made.id, revision=gate.revision, sha256=gate.sha256, decision=granted, now=now)


def _draft(suggestion: Suggestion, sources: Mapping[str, Run]) -> ProposalDraft:
    return ProposalDraft(
        kind=suggestion.kind,
        artifact=text_of(suggestion.artifact),
        title=suggestion.title,
        rationale=suggestion.rationale,
        source_run_ids=tuple(ids.wire("run", sources[key].id) for key in suggestion.source_runs),
        synthesizer_model=suggestion.synthesizer_model,
        agent_id=suggestion.agent_id,
    )


def _operator(tenant: Tenant, email: str) -> TenantScope:
    operator = Operator.objects.of(tenant.id).get(email=email)
    return tenancy.tenant_scope(tenancy.operator_principal(operator, tenant.id))


def under_way(tenant_id: UUID) -> list[UUID]:
    """Return the activation runs with open gates, waiting for a vote or granted but not yet installed."""
    return list(Gate.objects.of(tenant_id).filter(closed_at=None).values_list("run_id", flat=True))


# Runs of the demo: ordered through the usual intake with a key of the tenant, and executed by the engine.


class Calendar:
    """A clock that lags another one by some days, and never goes back."""

    def __init__(self, clock: Clock, *, days: float) -> None:
        self._clock, self._behind = clock, timedelta(days=days)

    def __call__(self) -> datetime:
        return self._clock() - self._behind

    def advance(self, *, days: float) -> None:
        """Set it to ``days`` before now, unless it is later already."""
        self._behind = min(self._behind, timedelta(days=days))

    def advance_to(self, hour: time) -> None:
        """Set it to the last ``hour`` (UTC) before now, unless it is later already."""
        now = self._clock()
        last = datetime.combine(now.astimezone(UTC), hour, UTC)
        self._behind = min(self._behind, now - last if last <= now else now - last + timedelta(days=1))


class RunStalled(RuntimeError):
    """A run of the demo neither ends nor waits for input in time."""


@contextmanager
def with_a_key(tenant: Tenant, story: Story, clock: Clock) -> Iterator[TenantScope]:
    """Yield the scope of a new key of the tenant's agents, which is revoked after the block; its text is never
    shown."""
    revoke_keys(tenant, story, clock)
    agents = tuple(agent["agentId"] for agent in story.agents)
    key = api_keys.create_api_key(tenant, role="agent", agents=agents, name=story.key, now=clock())
    try:
        yield tenancy.tenant_scope(tenancy.key_principal(key.text, now=clock()))
    finally:
        revoke_keys(tenant, story, clock)


@contextmanager
def with_the_model(folder: Path) -> Iterator[str]:
    """Yield the address of the demo's model, and allow this process to connect to it during the block.

    The processes of the demo's console get the same permission from their environment.
    """
    before = settings.OPENWOP_OUTBOUND_ALLOW
    settings.OPENWOP_OUTBOUND_ALLOW = [*before, model.HOST]
    try:
        with model.running(folder) as address:
            yield address
    finally:
        settings.OPENWOP_OUTBOUND_ALLOW = before


def revoke_keys(tenant: Tenant, story: Story, clock: Clock) -> None:
    """Revoke every key that a seeding created, those of interrupted ones included."""
    for key in ApiKey.objects.of(tenant.id).filter(name=story.key, revoked_at=None):
        api_keys.revoke_api_key(tenant.id, key.id, now=clock())


def happened(tenant_id: UUID, errands: list[Errand]) -> dict[str, Run]:
    """Return the runs ordered for those errands, by the errands' keys."""
    keys = [errand.key for errand in errands]
    return {run.metadata["demo"]: run for run in Run.objects.of(tenant_id).filter(metadata__demo__in=keys)}


@transaction.atomic
def order(scope: TenantScope, errand: Errand, *, now: datetime) -> Run:
    """Return the errand's run, ordering it unless it exists; a lock on the tenant's row keeps concurrent seedings to
    one."""
    Tenant.objects.select_for_update().get(id=scope.tenant_id)
    there: Run | None = Run.objects.of(scope.tenant_id).filter(metadata__demo=errand.key).first()
    metadata = {**errand.metadata, "demo": errand.key}
    request = RunRequest(
        errand.workflow, inputs=errand.inputs, agent_id=errand.agent, tags=errand.tags, metadata=metadata
    )
    return there or run_operations.create_run(scope, request, now=now)


def to_rest(tenant_id: UUID, run_id: UUID, clock: Clock) -> bool:
    """Advance the run until it ends or waits for input; return whether it was not at rest before.

    A worker may have done a part. Raises ``RunStalled`` after ``PATIENCE``.
    """
    deadline = clock() + PATIENCE
    run = before = runs.find(tenant_id, run_id)
    while run.status not in RESTS:
        if clock() > deadline:
            raise RunStalled(f"run {run_id} is {run.status}")
        engine.advance(tenant_id, run_id, holder=_holder(), clock=clock)
        run = runs.find(tenant_id, run_id)
        if run.status not in RESTS:
            sleep(POLL)
    return before.status not in RESTS


# Passes of the demo: ordered by the host itself, each in one permanent window, and carried out at once.


def carry_out_pass(tenant: Tenant, wanted: RequestedPass, clock: Clock, *, window: str = WINDOW) -> bool:
    """Carry out the pass, or wait for the worker that took it; return whether it was not over before.

    After a consolidation, as a worker does, entries that look alike are paired for a person.
    """
    scope = tenancy.host_scope(tenant, scopes=MAY)
    work = orders.order(scope, wanted, window=window, now=clock())
    ran = _to_its_end(work, clock)
    if ran and work.kind == consolidation.KIND:
        lookalikes.find_pairs(work, clock=clock)
    return ran


def _to_its_end(work: Pass, clock: Clock) -> bool:
    """Run the pass until it is over; return whether it was not before. Raises ``RunStalled`` after ``PATIENCE``."""
    found, deadline = work, clock() + PATIENCE
    while found.state not in passes.OVER:
        if clock() > deadline:
            raise RunStalled(f"pass {found.id} is {found.state}")
        flow = tasks.FLOWS.get(work.kind)
        ended = orders.run_pass(work.tenant_id, work.id, holder=_holder(), flow=flow, clock=clock)
        if ended is None:
            sleep(POLL)
        found = ended or passes.find(work.tenant_id, work.id) or found
    return work.state not in passes.OVER


def _holder() -> str:
    return f"{INSTANCE}/{os.getpid()}"


def forget(tenant: Tenant, wanted: Erasure, clock: Clock) -> bool:
    """Forget the subject, with a signed receipt; return whether it was not forgotten before.

    Archives distilled from the subject's memory are distilled again from what remains.
    """
    operator, key = _operator(tenant, wanted.by), plans.subject_key(tenant.id, wanted.subject)
    asked = ForgetRequest.objects.of(tenant.id).filter(subject_key=key).exclude(state=ForgetState.LAPSED)
    # Later requests for the same subject are those of people who try the page.
    request = asked.order_by("id").first() or execution.request_preview(operator, [wanted.subject], now=clock())
    before = request.state
    if request.state == ForgetState.BUILDING:
        execution.build(tenant.id, request.id, holder=_holder(), clock=clock)
        request.refresh_from_db()
    if request.state == ForgetState.PREVIEWED:
        execution.confirm(operator, request.id, typed=wanted.subject, reason=wanted.reason, now=clock())
        request.refresh_from_db()
    if request.state == ForgetState.CONFIRMED:
        execution.execute(tenant.id, request.id, holder=_holder(), now=clock(), clock=clock)
        request.refresh_from_db()
    ordered = [ids.parse("pass", each) for each in (request.receipt or {}).get("distilledAnewBy", ())]
    for anew in passes.find_many(tenant.id, [each for each in ordered if each]):
        _to_its_end(anew, clock)
    return before != ForgetState.FORGOTTEN


def hold(tenant: Tenant, wanted: Erasure, clock: Clock) -> bool:
    """Put the subject on hold, unless the tenant has had a hold; return whether this did."""
    if ForgetHold.objects.of(tenant.id).exists():
        return False
    holds.place(_operator(tenant, wanted.by), [wanted.subject], reason=wanted.reason, now=clock())
    return True


def import_file(tenant: Tenant, wanted: Import, clock: Clock) -> bool:
    """Upload the file, try it, and import what its dry run has found; return whether it was not imported before."""
    operator = _operator(tenant, wanted.by)
    begun = passes.of_kinds(tenant.id, (ledger_imports.KIND,)).filter(dry_run=False, options__file=wanted.file).first()
    if begun is None:
        with wanted.path.open("rb") as file:
            check = ledger_imports.upload(operator, file, FileForm("", wanted.memory_ref), wanted.file, now=clock())
        _to_its_end(check, clock)
        upload = {"check": ids.wire("pass", check.id), "sha256": check.options["sha256"]}
        begun = ledger_imports.confirm(operator, UUID(hex=check.options["upload"]), **upload, now=clock())
    return _to_its_end(begun, clock)


# Agents of the demo over OpenIntent: an intent with its tasks, and what they remember, written by the usual flows.


def missing_memory(tenant_id: UUID, wanted: list[Endeavour]) -> list[Endeavour]:
    """Return the endeavours that have no intent yet."""
    titles = [each.title for each in wanted]
    there = set(Intent.objects.of(tenant_id).filter(title__in=titles).values_list("title", flat=True))
    return [each for each in wanted if each.title not in there]


@transaction.atomic
def carry_out_work(scope: TenantScope, wanted: Endeavour, clock: Clock) -> bool:
    """Create the intent with all that belongs to it, once across concurrent seedings; return whether this one created
    it."""
    Tenant.objects.select_for_update().get(id=scope.tenant_id)
    if not missing_memory(scope.tenant_id, [wanted]):
        return False
    new = NewIntent(wanted.title, description=wanted.description)
    intent = work.intents.create_intent(scope, new, actor=wanted.by, now=clock())
    intent_id = ids.wire("intent", intent.id)
    for agent in wanted.agents:
        work.intents.assign_agent(scope, intent_id, agent, actor=wanted.by, now=clock())
    for task in wanted.tasks:
        _carry_out_task(scope, wanted, task, intent_id, clock)
    for given in wanted.remembers:
        _remember(scope, given, given["agent"], {}, clock)
    return True


def _carry_out_task(scope: TenantScope, wanted: Endeavour, task: JSONObject, intent_id: str, clock: Clock) -> None:
    agent = task["agent"]
    new = NewTask(intent_id, task["name"], status="running", assigned_agent=agent)
    row = work.tasks.create_task(scope, new, actor=wanted.by, now=clock())
    task_id = ids.wire("task", row.id)
    for given in task["remembers"]:
        _remember(scope, given, agent, {"task_id": task_id, "intent_id": intent_id}, clock)
    if task["status"] != "running":
        change = TaskChange(status=task["status"])
        work.tasks.update_task(scope, task_id, change, version=row.version, actor=agent, now=clock())


def _remember(scope: TenantScope, given: JSONObject, agent: str, place: dict[str, str], clock: Clock) -> None:
    """Write the entry, and each later version of it."""
    caller, tier = Caller(scope, agent), Tier(given.get("tier", "working"))
    said: JSONObject = {name: given[name] for name in ("pinned", "priority", "sensitivity") if name in given}
    address = Address(tier, agent, given["namespace"], given["key"], **(said | place))
    row = entries.create(caller, AddressedValue(address, given["value"], tuple(given.get("tags", ()))), now=clock())
    for value in given.get("then", ()):
        row = entries.update(caller, row.id, row.version, {"value": value}, now=clock())


@dataclass(frozen=True, slots=True)
class Seeded:
    """The number of rows created, by kind, and the logins."""

    made: Made = field(default_factory=Made)
    logins: list[Login] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return self.made.total() > 0


def seed(stories: list[Story], folder: Path, *, clock: Clock) -> Seeded:
    """Complete every story; nothing is created when they were complete before."""
    seeded = Seeded()
    passwords = demo_story.demo_passwords(folder, stories)
    before = Calendar(clock, days=BEGINNING)()
    runs.LEASE.release_held_by(INSTANCE, now=before)
    passes.LEASE.release_held_by(INSTANCE, now=before)
    with with_the_model(folder) as address:
        for story in stories:
            _play(story, address, passwords, seeded, Calendar(clock, days=BEGINNING))
    return seeded


def _play(story: Story, address: str, passwords: dict[str, str], seeded: Seeded, calendar: Calendar) -> None:
    """Play the story's month, from its beginning to its end."""
    tenant, made = _tenant(story, seeded.made, now=calendar()), seeded.made
    seeded.logins.extend(_operators(tenant, story, passwords, made, calendar))
    _secrets(tenant, story, made, now=calendar())
    _endpoint(tenant, address, now=calendar())
    _installations(tenant, story, made, now=calendar())
    revoke_keys(tenant, story, calendar)
    _errands(tenant, story, made, calendar, WORK, learned=False)
    calendar.advance(days=LEARNING)
    _suggestions(tenant, story, made, calendar, approved=True)
    _errands(tenant, story, made, calendar, LEARNED, learned=True)
    calendar.advance(days=WHOLESALERS)
    _endeavours(tenant, story, made, calendar)
    calendar.advance_to(NIGHT)
    for wanted in story.passes[:1]:
        made["passes"] += sum(carry_out_pass(tenant, wanted, calendar, window=window) for window in (WINDOW, AGAIN))
    for wanted in story.passes[1:]:
        made["passes"] += carry_out_pass(tenant, wanted, calendar)
    if story.forgets:
        made["receipts"] += forget(tenant, story.forgets, calendar)
    calendar.advance(days=SUGGESTED)
    _suggestions(tenant, story, made, calendar, approved=False)
    if story.holds:
        made["holds"] += hold(tenant, story.holds, calendar)
    if story.imports:
        made["imports"] += import_file(tenant, story.imports, calendar)


def _tenant(story: Story, made: Made, *, now: datetime) -> Tenant:
    there = access.tenant_by_slug(story.slug)
    if there and there.name != story.name:
        raise Conflict(f"The tenant {story.slug} is not the demo's: it is called {there.name}.")
    made["tenants"] += there is None
    return there or access.create_tenant(story.slug, name=story.name, now=now)


def _operators(tenant: Tenant, story: Story, passwords: dict[str, str], made: Made, clock: Clock) -> list[Login]:
    """Create the missing operators and return all logins; an existing operator keeps their password."""
    stored = dict(Operator.objects.of(tenant.id).values_list("email", "password"))
    found = []
    for email, role in story.operators.items():
        password = passwords[email]
        if email not in stored:
            operators.create_operator(tenant, email, role=role, password=password, now=clock())
            made["operators"] += 1
        elif not check_password(password, stored[email]):
            password = ""
        found.append(Login(email, password, role, tenant.name))
    return found


def _secrets(tenant: Tenant, story: Story, made: Made, *, now: datetime) -> None:
    there = set(Secret.objects.of(tenant.id).filter(scope=SecretScope.TENANT).values_list("name", flat=True))
    for name in story.secrets:
        if name not in there:
            vault.store_secret(tenant.id, name, secrets.token_urlsafe(30), now=now)
            made["secrets"] += 1


def _endpoint(tenant: Tenant, address: str, *, now: datetime) -> None:
    """Point the tenant's agents to the demo's model, unless an operator has chosen another one."""
    policy = memory_policy.policy_of(tenant.id)
    if policy.endpoint_model in ("", model.NAME) and policy.endpoint_url != address:
        endpoint = {"endpoint_url": address, "endpoint_model": model.NAME, "endpoint_secret": model.SECRET}
        memory_policy.change(tenancy.host_scope(tenant, scopes=frozenset({"policies:manage"})), endpoint, now=now)


def _installations(tenant: Tenant, story: Story, made: Made, *, now: datetime) -> None:
    """Install the missing versions; an installed version stays unchanged, superseded or not."""
    for manifest in story.agents:
        _install_agent(tenant, manifest, made, now)
    for template in story.prompt_templates:
        _install(tenant, artifacts.artifact_of(tenant.id, ArtifactKind.PROMPT_TEMPLATE, text_of(template)), made, now)
    for definition in story.workflows:
        _install_workflow(tenant, definition, made, now)


def _install(tenant: Tenant, artifact: Artifact, made: Made, now: datetime) -> None:
    if registry.by_ref(tenant.id, artifact.ref) is None:
        registry.install(tenant.id, artifact, source=BY, installed_by=BY, now=now)
        made["installations"] += 1


def _install_agent(tenant: Tenant, manifest: JSONObject, made: Made, now: datetime) -> None:
    ref = f"agent:{manifest['agentId']}@{manifest['packVersion']}"
    if registry.by_ref(tenant.id, ref) is None:
        scope = tenancy.host_scope(tenant, scopes=frozenset({"agents:manage"}))
        agents.install(scope, manifest, registrations.advertised_capabilities(), now=now)
        made["installations"] += 1


def _install_workflow(tenant: Tenant, definition: JSONObject, made: Made, now: datetime) -> None:
    artifact = Artifact(ArtifactKind.WORKFLOW, definition["id"], definition["version"], text_of(definition))
    if registry.by_ref(tenant.id, artifact.ref) is None:
        workflows.install(tenant, artifact.text, installed_by=BY, now=now)
        made["installations"] += 1


def _errands(
    tenant: Tenant, story: Story, made: Made, calendar: Calendar, part: tuple[float, float], *, learned: bool
) -> None:
    """Order the errands in turn, each at rest before the next, so that it may read what the one before it wrote."""
    there = happened(tenant.id, story.errands)
    over = {key for key, run in there.items() if run.status in RESTS}
    ours = [errand for errand in story.errands if errand.learned == learned]
    if any(errand.key not in over for errand in ours):
        first, last = part
        with with_a_key(tenant, story, calendar) as scope:
            for number, errand in enumerate(ours):
                if errand.key not in over:
                    calendar.advance(days=first - (first - last) * number / len(ours))
                    run = order(scope, errand, now=calendar())
                    made["runs"] += to_rest(tenant.id, run.id, calendar)


def _suggestions(tenant: Tenant, story: Story, made: Made, clock: Clock, *, approved: bool) -> None:
    ours = [each for each in story.suggestions if bool(each.approved_by) == approved]
    missing = missing_proposals(tenant.id, ours)
    if missing:
        sources = happened(tenant.id, story.errands)
        with with_a_key(tenant, story, clock) as scope:
            for suggestion in missing:
                made["proposals"] += propose(scope, tenant, suggestion, sources, now=clock())
    for run_id in under_way(tenant.id):
        made["gates"] += to_rest(tenant.id, run_id, clock)


def _endeavours(tenant: Tenant, story: Story, made: Made, clock: Clock) -> None:
    missing = missing_memory(tenant.id, story.endeavours)
    if missing:
        with with_a_key(tenant, story, clock) as scope:
            for each in missing:
                made["intents"] += carry_out_work(scope, each, clock)
