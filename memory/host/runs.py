"""The lifecycle of a run: created, claimed, paused, resumed, ended. Only this module commits a status and its event.

``ready_at`` is when a worker should look at the run next; a claim moves it to the end of the lease, so a run whose
worker died becomes ready again. ``holder`` is the fence: a step commits only while its worker holds the run.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet

from memory.host import event_log, ids, registry, sql, wakeups
from memory.host.errors import Conflict, NotFound
from memory.host.event_log import Recorded
from memory.host.events import (
    Event,
    Failure,
    Owner,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunResumed,
    RunStarted,
)
from memory.host.expiry import SKEW
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.models import TERMINAL, Interrupt, Run, RunStatus, Tenant
from memory.host.wakeups import Topic

WRITER = "memory.host.runs"
LEASE = Lease(Run, WRITER, timedelta(seconds=30), until="ready_at")
MAX_ATTEMPTS = 5
# More than the workers can have in hand and in their queue: otherwise a poll finds only those, and waits.
DUE_AT_ONCE = max(20, 3 * settings.OPENWOP_WORKERS)
DRAIN_POLICIES = IMMEDIATE, DRAIN = ("immediate", "drain-current-node")
WAITING = frozenset(Interrupt.KINDS.values())
ENDS = frozenset(TERMINAL)
ENDING = ENDS | {RunStatus.CANCELLING}
NEXT_STATES: dict[str, frozenset[str]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLING, RunStatus.FAILED}),
    RunStatus.RUNNING: WAITING | ENDS | {RunStatus.PAUSED, RunStatus.CANCELLING},
    **dict.fromkeys(WAITING, WAITING | {RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLING, RunStatus.FAILED}),
    RunStatus.PAUSED: frozenset({RunStatus.RUNNING, RunStatus.PENDING, RunStatus.CANCELLING, RunStatus.FAILED}),
    RunStatus.CANCELLING: frozenset({RunStatus.CANCELLED, RunStatus.FAILED}),
}


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a fork comes from; the fields have the names of the run's columns.

    A branch reads the ledger at ``snapshot_position``, as its source did, and what its source wrote up to
    ``inherits_until``, which is None when the source had not started.
    """

    fork_mode: str
    source_run_id: UUID
    from_seq: int
    snapshot_position: int = 0
    inherits_until: int | None = None


@dataclass(frozen=True, slots=True)
class RunOrder:
    """The parameters of a new run."""

    workflow_id: str
    definition: str
    principal: str
    agent_id: str = ""
    system: bool = False
    external: bool = False
    traceparent: str = ""
    scope_id: str = ""
    inputs: JSONObject = field(default_factory=dict)
    variables: JSONObject = field(default_factory=dict)
    configurable: JSONObject = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)
    workspace: list[JSONObject] = field(default_factory=list)
    fork: Fork | None = None


@cache
def host_definition(
    workflow_id: str, name: str, *nodes: tuple[str, str], version: str = "1.0.0", trigger: str = "host"
) -> str:
    """The JSON text of a workflow of the host's own: nodes, each an id and a type, of which one follows the other.

    Runs pin it by its digest, so a change of a character is another definition.
    """
    document = {
        "id": workflow_id,
        "name": name,
        "version": version,
        "nodes": [
            {"id": node, "typeId": type_id, "name": node, "position": {"x": 0, "y": 0}, "config": {}, "inputs": {}}
            for node, type_id in nodes
        ],
        "edges": [
            {"id": f"{before}-{after}", "sourceNodeId": before, "targetNodeId": after}
            for (before, _), (after, _) in pairwise(nodes)
        ],
        "triggers": [{"id": trigger, "type": "event"}] if trigger else [],
        "variables": [],
        "metadata": {},
        "settings": {},
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


@transaction.atomic(savepoint=False)
def open_run(tenant_id: UUID, order: RunOrder, *, now: datetime, ready: bool = True) -> Run:
    """Create a pending run with its own empty stream.

    With ``ready`` a worker is woken for it; a pass executes its own run.
    """
    run_id = ids.new_id()
    event_log.open_stream(tenant_id, run_id)
    run = Run(
        tenant_id=tenant_id,
        id=run_id,
        workflow_id=order.workflow_id,
        definition_id=registry.pin(tenant_id, order.definition).id,
        principal=order.principal,
        agent_id=order.agent_id,
        system=order.system,
        external=order.external,
        traceparent=order.traceparent,
        inputs=order.inputs,
        variables=order.variables,
        configurable=order.configurable,
        tags=order.tags,
        metadata=order.metadata,
        workspace=order.workspace,
        scope_id=order.scope_id,
        created_at=now,
        ready_at=now if ready else None,
        **(asdict(order.fork) if order.fork else {}),
    )
    run.insert(by=WRITER)
    _call_worker(run)
    return run


def open_running(tenant_id: UUID, order: RunOrder, *, snapshot_position: int = 0, now: datetime) -> Run:
    """Create a run that no worker executes, and start it: its log takes what its caller does."""
    run = open_run(tenant_id, order, now=now, ready=False)
    start(run, snapshot_position=snapshot_position, now=now)
    return run


def _call_worker(run: Run) -> None:
    """Wake a worker when the run is ready, once the transaction that made it ready commits.

    No task is queued: the worker finds the run as one that is ``due``.
    """
    if run.ready_at is not None:
        wakeups.wake(Topic.TASKS)


def find(tenant_id: UUID, run_id: UUID | None) -> Run:
    """Return the tenant's run; raise ``NotFound`` for an unknown run and for one of another tenant."""
    found = _prepared_find().fetch(sql.key(tenant_id), sql.key(run_id)) if run_id else []
    return _require_one(found)


@cache
def _prepared_find() -> sql.PositionalQuery[Run]:
    anyone = UUID(int=0)
    return sql.PositionalQuery(Run.objects.of(anyone).filter(id=anyone).select_related("tenant", "definition"))


def find_many(tenant_id: UUID, run_ids: list[UUID]) -> dict[UUID, Run]:
    """Return the runs among ``run_ids`` that belong to the tenant, by id, in one query."""
    found: dict[UUID, Run] = Run.objects.of(tenant_id).in_bulk_by_id(run_ids)
    return found


def active_in(tenant_id: UUID, scope_id: str) -> Run | None:
    """Return a run of that scope that has not ended, or None."""
    found: Run | None = Run.objects.of(tenant_id).filter(scope_id=scope_id, completed_at=None).first()
    return found


def locked(tenant_id: UUID, run_id: UUID) -> Run:
    """Return the run, locked until the transaction ends."""
    return _require_one(_locked().fetch(sql.key(tenant_id), sql.key(run_id)))


@cache
def _locked() -> sql.PositionalQuery[Run]:
    anyone = UUID(int=0)
    rows = Run.objects.of(anyone).filter(id=anyone).select_related("tenant", "definition")
    return sql.PositionalQuery(rows.select_for_update(of=("self",)))


def _require_one(found: list[Run]) -> Run:
    if not found:
        raise NotFound("There is no run by that id.")
    return found[0]


def require_own(run: Run, done: str, how: str = "") -> None:
    """Refuse an action on the host's own runs and on runs that an agent executes elsewhere.

    ``done`` is the action's past participle for the message, such as "paused".
    """
    if run.external:
        raise Conflict(f"A run that an agent executes elsewhere is not {done} here.", runStatus=run.status)
    if run.system:
        raise Conflict(f"A run of the host itself is not {done}{how}.", runStatus=run.status)


def claim(tenant_id: UUID, run_id: UUID, *, holder: str, now: datetime) -> bool:
    """Claim the run for ``holder``: one worker at a time, and the attempt is counted before any work."""
    return _claim().run(tenant_id, run_id, holder, now, LEASE.end(now)) == 1


@cache
def _claim() -> sql.Update:
    """What ``LEASE.claim`` does, for a tenant, a run, a holder, the time and the lease's end."""
    tenant_id, run_id, holder, now = UUID(int=0), UUID(int=1), "holder", datetime.min.replace(tzinfo=UTC)
    is_ready = Q(ready_at__isnull=False)  # a run that waits for an answer has no ready_at
    rows, end = LEASE.claimable(tenant_id, run_id, now=now, where=is_ready), LEASE.end(now)
    changes = {"holder": holder, LEASE.until: end, "attempts": F("attempts") + 1}
    return sql.Update(rows, changes, tenant_id, run_id, holder, now, end)


class Due(NamedTuple):
    """A run that is ready for a worker, since ``ready_at``."""

    tenant_id: UUID
    run_id: UUID
    ready_at: datetime


def due(*, now: datetime) -> list[Due]:
    """Return ready runs of all tenants: new runs, woken runs, and runs whose worker died; at most ``DUE_AT_ONCE``,
    those first that have waited longest."""
    return [Due(sql.as_uuid(tenant), sql.as_uuid(run), sql.as_utc(at)) for tenant, run, at in _due().fetch(now)]


@cache
def _due() -> sql.CompiledQuery:
    now = datetime.min.replace(tzinfo=UTC)
    # By tenant, so that SQLite searches the index instead of reading every run that rests.
    rows = Run.objects.filter(tenant_id__in=Tenant.objects.values("id"), ready_at__lte=now).order_by("ready_at")
    return sql.CompiledQuery(rows.values_list("tenant_id", "id", "ready_at")[:DUE_AT_ONCE], now)


def resting(*, now: datetime) -> QuerySet[Run]:
    """Return, for writing, the runs of all tenants that no worker holds or looks at before ``now`` and ``SKEW``."""
    rows: QuerySet[Run] = Run.objects.written_by(WRITER).filter(
        tenant_id__in=Tenant.objects.values("id"), ready_at__gt=now + SKEW, holder=""
    )
    return rows


def correct_ahead(is_meant: Q, *, now: datetime) -> int:
    """Wake the runs that rest until a time that is none of theirs, because a clock was ahead; return how many.

    ``is_meant`` matches runs of which a node waits until then. Deadlines of runs that began meanwhile come first.
    """
    begun = resting(now=now).filter(started_at__gt=now + SKEW, deadline_at__isnull=False)
    for tenant_id, run_id, began_at, ends_at in begun.values_list("tenant_id", "id", "started_at", "deadline_at"):
        if began_at and ends_at and ends_at > (earlier := now + (ends_at - began_at)):
            Run.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=run_id).update(deadline_at=earlier)
    questions = Interrupt.objects.filter(tenant_id=OuterRef("tenant_id"), run_id=OuterRef("id"), resolved_at=None)
    is_asked = Exists(questions.filter(timeout_at=OuterRef("ready_at")))
    rows = resting(now=now).exclude(is_meant).exclude(is_asked)
    return rows.filter(Q(deadline_at=None) | ~Q(deadline_at=F("ready_at"))).update(ready_at=now)


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many runs of all tenants wait for a worker and how many a worker has, and since when the first has waited."""

    waiting: int
    held: int
    oldest: datetime | None


def backlog(*, now: datetime) -> Backlog:
    waiting = Q(ready_at__lte=now)
    rows = Run.objects.filter(ready_at__isnull=False)
    found = rows.aggregate(
        waiting=Count("id", filter=waiting),
        held=Count("id", filter=~waiting & ~Q(holder="")),
        oldest=Min("ready_at", filter=waiting),
    )
    return Backlog(**found)


def start(run: Run, *, snapshot_position: int, lasts: timedelta | None = None, now: datetime) -> None:
    """Move the run to running, fix the ledger position that it reads at, and start its deadline."""
    _begin(run, snapshot_position, lasts, now)
    source_owner = _owner_of(run.source_run) if run.source_run_id else None
    owner = _owner_of(run)
    begun = RunStarted(run.workflow_id, owner, source_owner if source_owner != owner else None)
    event_log.append(run.tenant_id, run.id, begun, now=now)


def _owner_of(run: Run) -> Owner:
    return Owner(tenant=run.tenant.slug, principal=run.principal)


def _begin(run: Run, snapshot_position: int, lasts: timedelta | None, now: datetime) -> None:
    _move(run, RunStatus.RUNNING)
    run.started_at, run.snapshot_position = now, snapshot_position
    run.deadline_at = now + lasts if lasts else None
    run.save(by=WRITER, update_fields=["status", "started_at", "snapshot_position", "deadline_at"])


def copy_log(
    run: Run, source: Run, recorded: Sequence[Recorded], *, lasts: timedelta | None = None, now: datetime
) -> None:
    """Copy the source's events to the log of its fork, which then has the same start and end.

    When another principal asked for the fork, its ``run.started`` names that principal as the owner and the source's as
    ``sourceOwner``.
    """
    if any(each.type == RunStarted.type for each in recorded):
        _begin(run, source.snapshot_position, lasts, now)
        recorded = [_begun_by(run, source, each) if each.type == RunStarted.type else each for each in recorded]
    if recorded[-1].type not in event_log.ENDINGS:
        event_log.copy_recorded(run.tenant_id, run.id, recorded, now=now)
        progress(run, ready_at=LEASE.end(now) if run.holder else now, now=now)
        return
    if source.status == RunStatus.CANCELLED:
        _move(run, RunStatus.CANCELLING)
    run.error = source.error
    _end(run, source.status, recorded=recorded, now=now)


def _begun_by(run: Run, source: Run, fact: Recorded) -> Recorded:
    payload = {name: value for name, value in fact.payload.items() if name != "sourceOwner"}
    owners = {"owner": asdict(_owner_of(run))}
    if run.principal != source.principal:
        owners["sourceOwner"] = asdict(_owner_of(source))
    return replace(fact, payload=payload | owners)


def note(run: Run, *events: Event, now: datetime) -> None:
    """Append ``events`` to the run's log without changing the run."""
    run.refuse_effects()
    event_log.append(run.tenant_id, run.id, *events, now=now)


def progress(run: Run, *events: Event, ready_at: datetime | None, release: bool = False, now: datetime) -> None:
    """Save the outcome of a step; renew the lease, or with ``release`` free the run until ``ready_at``."""
    run.attempts, run.ready_at = 0, ready_at
    run.holder = "" if release else run.holder
    run.save(by=WRITER, update_fields=["variables", "current_node", "attempts", "ready_at", "holder", "executions"])
    if events:
        event_log.append(run.tenant_id, run.id, *events, now=now)


def rest(run: Run, status: str, *, ready_at: datetime | None, now: datetime) -> None:
    """Suspend the run and free its worker until ``ready_at``, or until a caller wakes it.

    ``status`` is running while a node sleeps, and one of ``WAITING`` while an answer is awaited.
    """
    if status != run.status:
        _move(run, status)
    run.holder, run.ready_at, run.attempts = "", ready_at, 0
    run.save(by=WRITER, update_fields=["status", "variables", "current_node", "holder", "ready_at", "attempts"])


def hand_back(run: Run, *, now: datetime) -> None:
    """Release the locked run before it is finished, for the next free worker."""
    progress(run, ready_at=now, release=True, now=now)
    _call_worker(run)


def wake(run: Run, *, now: datetime) -> None:
    """Make the locked run ready and wake a worker; a paused run stays paused, and a held run keeps its holder."""
    if run.status in WAITING:
        _move(run, RunStatus.RUNNING)
    if run.status != RunStatus.PAUSED and not run.holder:
        run.ready_at = now
    run.save(by=WRITER, update_fields=["status", "ready_at"])
    _call_worker(run)


def pause(run: Run, *, drain: bool, now: datetime) -> int | None:
    """Pause the locked run so that no further node begins; with ``drain``, nodes that have begun finish first.

    Return the sequence of ``run.paused`` when it is appended now: also of a run that has not begun, whose log then
    begins with it. Refused for a replay.
    """
    if run.is_replay:
        raise Conflict("A replay cannot be paused: it follows the log of its source run.", runStatus=run.status)
    _move(run, RunStatus.PAUSED)
    run.paused_at, run.draining = now, drain
    if not run.holder:
        run.ready_at = now if drain else None
    run.save(by=WRITER, update_fields=["status", "paused_at", "draining", "ready_at"])
    if not drain:
        return event_log.append(run.tenant_id, run.id, RunPaused(IMMEDIATE), now=now)
    _call_worker(run)
    return None


def drained(run: Run, *, now: datetime) -> int:
    """Record that the paused run has finished its nodes; return the sequence of ``run.paused``."""
    run.draining = False
    run.holder, run.ready_at, run.attempts = "", None, 0
    run.save(by=WRITER, update_fields=["draining", "holder", "ready_at", "attempts"])
    return event_log.append(run.tenant_id, run.id, RunPaused(DRAIN), now=now)


def resume(run: Run, *, now: datetime) -> int | None:
    """Resume the locked, paused run; the paused time does not count against its deadline.

    Return the sequence of ``run.resumed``; none of a pause that was not on the log yet.
    """
    _move(run, RunStatus.RUNNING if run.started_at else RunStatus.PENDING)
    if run.deadline_at and run.paused_at:
        run.deadline_at += now - run.paused_at
    is_recorded = not run.draining
    run.paused_at, run.draining = None, False
    run.ready_at = run.ready_at if run.holder else now
    run.save(by=WRITER, update_fields=["status", "paused_at", "draining", "ready_at", "deadline_at"])
    sequence = event_log.append(run.tenant_id, run.id, RunResumed(), now=now) if is_recorded else None
    _call_worker(run)
    return sequence


@transaction.atomic
def request_cancel(run: Run, *, by: str = "host", now: datetime) -> Run:
    """Move the run to cancelling on behalf of ``by`` and wake a worker, which ends it.

    A run that has ended or is cancelling already is returned unchanged.
    """
    run = locked(run.tenant_id, run.id)
    if run.status in ENDS or run.status == RunStatus.CANCELLING:
        return run
    _move(run, RunStatus.CANCELLING)
    run.cancelled_by, run.ready_at = by, run.ready_at if run.holder else now
    run.save(by=WRITER, update_fields=["status", "ready_at", "cancelled_by"])
    _call_worker(run)
    return run


def complete(run: Run, *events: Event, now: datetime) -> None:
    """End the run as completed; ``run.completed`` is its last event."""
    _end(run, RunStatus.COMPLETED, *events, RunCompleted(), now=now)


def fail(run: Run, failure: Failure, *events: Event, node_id: str | None = None, now: datetime) -> None:
    """End the run as failed and store the reason; ``run.failed`` is its last event."""
    run.error = {"code": failure.code, "message": failure.message}
    _end(run, RunStatus.FAILED, *events, RunFailed(error=failure, failed_node_id=node_id), now=now)


def cancel(run: Run, *events: Event, now: datetime) -> int | None:
    """End the run as cancelled; ``run.cancelled`` is its last event and names who requested it. Return its sequence."""
    return _end(run, RunStatus.CANCELLED, *events, RunCancelled(cancelled_by=run.cancelled_by), now=now)


def _end(run: Run, status: str, *events: Event, recorded: Sequence[Recorded] = (), now: datetime) -> int | None:
    with transaction.atomic(savepoint=False):
        _move(run, status)
        run.completed_at, run.ready_at, run.holder = now, None, ""
        said = ["cancelled_by"] if run.cancelled_by else []
        run.save(
            by=WRITER,
            update_fields=["status", "completed_at", "ready_at", "holder", "error", "variables", "current_node", *said],
        )
        if recorded:
            event_log.copy_recorded(run.tenant_id, run.id, recorded, now=now)
            return None
        return event_log.append(run.tenant_id, run.id, *events, now=now)


def _move(run: Run, to: str) -> None:
    if to not in NEXT_STATES.get(run.status, frozenset()):
        raise Conflict(f"A run that is {run.status} cannot become {to}.", runStatus=run.status)
    run.status = to
