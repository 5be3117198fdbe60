"""A run's life: created, claimed, suspended, resumed, ended. Status and event commit together, here and nowhere else.

``ready_at`` says when a worker should look at the run next; a claim moves it to the end of its lease, so a run whose
worker died becomes ready by itself. ``holder`` is the fence: a step commits only while its worker still holds the run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memory.host import event_log, ids, registry
from memory.host.errors import Conflict, NotFound
from memory.host.events import (
    Event,
    Failure,
    InterruptRequested,
    InterruptResolved,
    NodeResumed,
    NodeSuspended,
    Owner,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from memory.host.models import TERMINAL, Interrupt, Run, RunStatus
from memory.host.node_types import Wait

WRITER = "memory.host.runs"
LEASE = timedelta(seconds=30)
MAX_ATTEMPTS = 5

WAITING = frozenset(Interrupt.KINDS.values())
ENDS = frozenset(TERMINAL)
NEXT_STATES: dict[str, frozenset[str]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.CANCELLING, RunStatus.FAILED}),
    RunStatus.RUNNING: WAITING | ENDS | {RunStatus.CANCELLING},
    **dict.fromkeys(WAITING, frozenset({RunStatus.RUNNING, RunStatus.CANCELLING, RunStatus.FAILED})),
    RunStatus.CANCELLING: frozenset({RunStatus.CANCELLED, RunStatus.FAILED}),
}

Announce = Callable[[Run], None]
_announce: list[Announce] = []


def on_ready(function: Announce) -> None:
    """Registration point: ``function`` is called, in the transaction, when a run has become ready for a worker."""
    if function not in _announce:
        _announce.append(function)


Farewell = Callable[[Run, datetime], None]
_farewells: list[Farewell] = []


def on_end(function: Farewell) -> None:
    """Registration point: ``function`` is called, in the transaction, when a run has ended, whichever way."""
    if function not in _farewells:
        _farewells.append(function)


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a new run is to be."""

    workflow_id: str
    definition: str
    principal: str
    agent_id: str = ""
    system: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    configurable: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


@transaction.atomic
def open_run(tenant_id: UUID, order: RunOrder, *, now: datetime, ready: bool = True) -> Run:
    """A pending run with an empty stream of its own. With ``ready`` a worker takes it; a pass executes itself."""
    run_id = ids.new_id()
    event_log.open_stream(tenant_id, run_id)
    definition = registry.pin(tenant_id, order.definition)
    run = Run(
        tenant_id=tenant_id,
        id=run_id,
        workflow_id=order.workflow_id,
        definition_id=definition.id,
        principal=order.principal,
        agent_id=order.agent_id,
        system=order.system,
        inputs=order.inputs,
        variables=order.variables,
        configurable=order.configurable,
        tags=order.tags,
        metadata=order.metadata,
        created_at=now,
        ready_at=now if ready else None,
    ).insert(by=WRITER)
    _tell_ready(run)
    return run


def _tell_ready(run: Run) -> None:
    if run.ready_at is not None:
        for function in _announce:
            function(run)


def find(tenant_id: UUID, run_id: UUID | None) -> Run:
    """The run of this tenant, or ``NotFound``; a foreign run is not found."""
    run = run_id and Run.objects.of(tenant_id).select_related("tenant", "definition").filter(id=run_id).first()
    if not run:
        raise NotFound("There is no run by that id.")
    found: Run = run
    return found


def locked(tenant_id: UUID, run_id: UUID) -> Run:
    """The run, locked until the transaction ends."""
    run: Run | None = (
        Run.objects.of(tenant_id).select_for_update(of=("self",)).select_related("tenant", "definition")
        .filter(id=run_id).first()
    )  # fmt: skip
    if run is None:
        raise NotFound("There is no run by that id.")
    return run


def claim(tenant_id: UUID, run_id: UUID, *, holder: str, now: datetime) -> bool:
    """Whether ``holder`` has the run now: one worker at a time, the attempt counted before any work."""
    claimable = [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.CANCELLING]
    rows = Run.objects.written_by(WRITER).filter(
        tenant_id=tenant_id, id=run_id, status__in=claimable, ready_at__lte=now
    )
    return bool(rows.update(holder=holder, ready_at=now + LEASE, attempts=F("attempts") + 1) == 1)


def due(*, now: datetime, limit: int = 200) -> list[tuple[UUID, UUID, datetime]]:
    """Runs of all tenants that a worker should look at: new ones, woken ones, and those whose worker died."""
    rows = Run.objects.filter(ready_at__lte=now).order_by("ready_at")
    return list(rows.values_list("tenant_id", "id", "ready_at")[:limit])


def release_held_by(instance: str, *, now: datetime) -> int:
    """Runs held by a dead instance are ready at once; returns how many."""
    rows = Run.objects.written_by(WRITER).filter(holder__startswith=f"{instance}/", ready_at__isnull=False)
    return int(rows.update(ready_at=now))


def start(run: Run, *, snapshot_position: int, now: datetime) -> None:
    """The run is running; what it may read of memory is fixed from here on."""
    _move(run, RunStatus.RUNNING)
    run.started_at, run.snapshot_position = now, snapshot_position
    run.save(by=WRITER, update_fields=["status", "started_at", "snapshot_position"])
    owner = Owner(tenant=run.tenant.slug, principal=run.principal)
    event_log.append(run.tenant_id, run.id, RunStarted(workflow_id=run.workflow_id, owner=owner), now=now)


def note(run: Run, *events: Event, now: datetime) -> None:
    """``events`` stand on the run's log; the run itself stays as it is."""
    event_log.append(run.tenant_id, run.id, *events, now=now)


def progress(run: Run, *events: Event, ready_at: datetime | None, release: bool = False, now: datetime) -> None:
    """A step's outcome is on record; the lease is renewed, or the run released until ``ready_at``."""
    run.attempts, run.ready_at = 0, ready_at
    run.holder = "" if release else run.holder
    run.save(by=WRITER, update_fields=["variables", "current_node", "attempts", "ready_at", "holder"])
    if events:
        event_log.append(run.tenant_id, run.id, *events, now=now)


def suspend(run: Run, node_id: str, wait: Wait, *, now: datetime) -> Interrupt:
    """The run waits at ``node_id`` and holds no worker; what it asks is on its log."""
    interrupt = Interrupt(
        tenant_id=run.tenant_id, run_id=run.id, node_id=node_id, kind=wait.kind, key=wait.key, created_at=now
    ).insert(by=WRITER)
    _move(run, Interrupt.KINDS[wait.kind])
    run.current_node, run.holder, run.ready_at, run.attempts = node_id, "", None, 0
    run.save(by=WRITER, update_fields=["status", "variables", "current_node", "holder", "ready_at", "attempts"])
    interrupt_id = ids.wire("int", interrupt.id)
    event_log.append(
        run.tenant_id,
        run.id,
        InterruptRequested(node_id, interrupt_id, wait.kind, wait.key, wait.data),
        NodeSuspended(node_id, interrupt_id, wait.kind, wait.key),
        now=now,
    )
    return interrupt


def ask_answered(run: Run, node_id: str, wait: Wait, value: dict[str, Any], *facts: Event, now: datetime) -> Interrupt:
    """What ``node_id`` asks was answered before it asked: both are on the log, and the run goes on without waiting."""
    interrupt = Interrupt(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=node_id,
        kind=wait.kind,
        key=wait.key,
        created_at=now,
        resolved_at=now,
        resume_value=value,
    ).insert(by=WRITER)
    interrupt_id = ids.wire("int", interrupt.id)
    asked = InterruptRequested(node_id, interrupt_id, wait.kind, wait.key, wait.data)
    resolved = InterruptResolved(node_id, interrupt_id, wait.kind)
    event_log.append(run.tenant_id, run.id, asked, *facts, resolved, now=now)
    return interrupt


def waiting_interrupt(run: Run, node_id: str) -> Interrupt | None:
    """What the run waits for at ``node_id``, or waited for and was told."""
    found: Interrupt | None = (
        Interrupt.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id).order_by("-id").first()
    )
    return found


@transaction.atomic
def resume(run: Run, node_id: str, value: dict[str, Any], *facts: Event, now: datetime) -> None:
    """``facts`` and the resolution are on the log, and a worker takes the run; answered once, a second is refused."""
    interrupt = waiting_interrupt(run, node_id)
    if interrupt is None or interrupt.resolved_at is not None or run.status not in WAITING:
        raise Conflict("That interrupt is already resolved.", nodeId=node_id)
    interrupt.resolved_at, interrupt.resume_value = now, value
    interrupt.save(by=WRITER, update_fields=["resolved_at", "resume_value"])
    _move(run, RunStatus.RUNNING)
    run.ready_at = now
    run.save(by=WRITER, update_fields=["status", "ready_at"])
    interrupt_id = ids.wire("int", interrupt.id)
    resolved = InterruptResolved(node_id, interrupt_id, interrupt.kind)
    event_log.append(run.tenant_id, run.id, *facts, resolved, NodeResumed(node_id, interrupt_id), now=now)
    _tell_ready(run)


@transaction.atomic
def request_cancel(run: Run, *, now: datetime) -> Run:
    """The run is cancelling, or has ended already; a waiting run is handed to a worker to end it."""
    run = locked(run.tenant_id, run.id)
    if run.status in ENDS or run.status == RunStatus.CANCELLING:
        return run
    _move(run, RunStatus.CANCELLING)
    if not run.holder:
        run.ready_at = now
    run.save(by=WRITER, update_fields=["status", "ready_at"])
    _tell_ready(run)
    return run


def complete(run: Run, *events: Event, now: datetime) -> None:
    """The run has completed; ``run.completed`` is its last event."""
    _end(run, RunStatus.COMPLETED, *events, RunCompleted(), now=now)


def fail(run: Run, failure: Failure, *events: Event, node_id: str | None = None, now: datetime) -> None:
    """The run has failed with a recorded reason; ``run.failed`` is its last event."""
    run.error = {"code": failure.code, "message": failure.message}
    _end(run, RunStatus.FAILED, *events, RunFailed(error=failure, failed_node_id=node_id), now=now)


def cancel(run: Run, *, cancelled_by: str, now: datetime) -> None:
    """The run is cancelled; ``run.cancelled`` is its last event."""
    _end(run, RunStatus.CANCELLED, RunCancelled(cancelled_by=cancelled_by), now=now)


def _end(run: Run, status: str, *events: Event, now: datetime) -> None:
    with transaction.atomic():
        _move(run, status)
        run.completed_at, run.ready_at, run.holder = now, None, ""
        run.save(
            by=WRITER,
            update_fields=["status", "completed_at", "ready_at", "holder", "error", "variables", "current_node"],
        )
        event_log.append(run.tenant_id, run.id, *events, now=now)
        for function in _farewells:
            function(run, now)


def _move(run: Run, to: str) -> None:
    if to not in NEXT_STATES.get(run.status, frozenset()):
        raise Conflict(f"A run that is {run.status} cannot become {to}.", runStatus=run.status)
    run.status = to


def erase_kept(run: Run, **kept: Any) -> None:
    """The run keeps these values instead; its log is not touched. For forgetting alone."""
    for name, value in kept.items():
        setattr(run, name, value)
    run.save(by=WRITER, update_fields=list(kept))
