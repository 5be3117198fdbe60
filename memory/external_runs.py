"""Runs that agents execute elsewhere, and the writes that they make here.

What runs elsewhere cannot be observed: the run here is a log of what its agent states, is never executed, and ends when
the agent says so or has been silent for long enough. One run of an agent, a system and an id is open at a time; what
comes when it has ended opens the next one.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from memory import ledger, origins, redaction
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, runs, tenancy
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.events import Failure
from memory.host.models import Run, RunStatus
from memory.host.runs import ENDS, RunOrder
from memory.host.tenancy import TenantScope
from memory.ledger.entries import Written
from memory.models import EntryOrigin, ExternalRun
from memory.origins import Origin

if TYPE_CHECKING:
    from django.db.models import QuerySet

WRITER = "memory.external_runs"
WORKFLOW = "external-run"
DEFINITION = runs.host_definition(WORKFLOW, "A run of an agent elsewhere", version="1.0", trigger="agent")
NOWHERE = Origin("")  # of a write whose agent says nothing of where it came from
FAILED = Failure("external_run_failed", "The agent said that its run had failed.")
AGENT, SILENCE = "agent", "silence"
ENDINGS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
LOOKED_AT = 200


@transaction.atomic
def write_entry(
    scope: TenantScope, memory_ref: str, draft: EntryDraft, origin: Origin | None, *, now: datetime
) -> Written:
    """Store the entry for the draft's agent, with its ``origin``, and append the fact to the log of the run that
    represents the agent's own, which is opened if needed.

    A key that is bound to agents writes as the first of them unless the draft names another. Raises ``Conflict`` when
    the origin names an external run that has ended, and otherwise as ``ledger.entries.write_entry``.
    """
    scope.check("memory:write")
    tenancy.require_well_formed(memory_ref)
    place = tenancy.memory_scope(scope, memory_ref)
    if place is None:
        raise Invalid("There is no such place.", errors=[{"field": "memoryRef", "message": "cannot be written"}])
    draft = replace(draft, agent_id=draft.agent_id or scope.principal.first_agent)
    run = find_or_open(scope, draft.agent_id, origin or NOWHERE, now=now)
    return ledger.entries.write_stated(place, draft, origin and origin.within(scope.traceparent), run=run, now=now)


@transaction.atomic
def find_or_open(scope: TenantScope, agent_id: str, origin: Origin, *, now: datetime) -> Run:
    """Return the run that represents the one named by ``origin``, by its id or else by its thread; opened if there is
    none. Locked until the transaction ends, so that it cannot end before its log is written. Lock order: after agents,
    before streams."""
    scope.check("memory:write")
    scope.check_agent(agent_id)
    if scope.principal.agent_ids is None:  # those of a key were checked when it was made
        redaction.require_plain_agent(scope.tenant_id, agent_id)
    origin = origin.with_texts(lambda text: redaction.for_tenant(scope.tenant_id).redact(text).text)
    origins.require_fitting(origin)
    ref = origin.run_ref or origin.thread_id
    owner = "" if agent_id or ref else scope.principal.id
    identity = _Identity(agent_id, origin.system, ref, not origin.run_ref, owner)
    named = _named_here(scope.tenant_id, identity)
    found = named or _open_one(scope.tenant_id, identity) or _opened(scope, identity, origin.thread_id, now)
    return runs.find(scope.tenant_id, found.id)


@dataclass(frozen=True, slots=True)
class _Identity:
    """What distinguishes one external run from another, by the columns of ``ExternalRun``."""

    agent_id: str
    system: str
    ref: str
    by_thread: bool
    principal: str


def _named_here(tenant_id: UUID, identity: _Identity) -> ExternalRun | None:
    """Return the open external run whose id here the agent names; ``Conflict`` when that run has ended. A run that this
    host executes is not the agent's: the id stays a statement."""
    run_id = None if identity.by_thread else ids.parse("run", identity.ref)
    run: Run | None = Run.objects.of(tenant_id).filter(id=run_id).first() if run_id else None
    if run is None:
        return None
    rows = ExternalRun.objects.of(tenant_id).select_for_update()
    own: ExternalRun | None = rows.filter(id=run.id, agent_id=identity.agent_id, system=identity.system).first()
    if run.status in ENDS or (own and own.ended_by):
        raise Conflict("The run that origin.runId names has ended.", runStatus=run.status)
    return own


def _open_one(tenant_id: UUID, identity: _Identity) -> ExternalRun | None:
    rows = ExternalRun.objects.of(tenant_id).select_for_update()
    found: ExternalRun | None = rows.filter(ended_by="", **asdict(identity)).first()
    return found


def _opened(scope: TenantScope, identity: _Identity, thread_id: str, now: datetime) -> ExternalRun:
    """Open a new run, or return the one that another request opened first."""
    tenant_id = scope.tenant_id
    try:
        with transaction.atomic():
            order = RunOrder(
                WORKFLOW,
                DEFINITION,
                scope.principal.id,
                agent_id=identity.agent_id,
                external=True,
                traceparent=scope.traceparent,
            )
            run = runs.open_running(tenant_id, order, snapshot_position=ledger.head.position(tenant_id), now=now)
            row = ExternalRun(
                tenant_id=tenant_id, id=run.id, thread_id=thread_id, due_at=now + silence(), **asdict(identity)
            )
            return row.insert(by=WRITER)
    except IntegrityError:
        found = _open_one(tenant_id, identity)
        if found is None:
            raise
        return found


def silence() -> timedelta:
    """How long a run writes nothing before it is ended."""
    return timedelta(minutes=settings.OPENWOP_EXTERNAL_RUN_SILENCE)


def statements_about(scope: TenantScope, found: Iterable[Run]) -> dict[UUID, ExternalRun]:
    """Return what agents state of the external ones among these runs, by run id, for readers of memory.

    A run whose only writes with an origin are confidential is shown to those alone who may open these entries.
    """
    wanted = [run.id for run in found if run.external]
    return {row.id: row for row in _shown_to(scope).filter(id__in=wanted)} if wanted else {}


def find_named(scope: TenantScope, part: str) -> "QuerySet[ExternalRun]":
    """Return those with ``part``, in letters of either case, in the name that lists show (``ExternalRun.name``)."""
    system, colon, ref = part.partition(": ")
    wanted = Q(system__icontains=part) | Q(ref__icontains=part)
    return _shown_to(scope).filter(wanted | Q(system__iendswith=system, ref__istartswith=ref) if colon else wanted)


def _shown_to(scope: TenantScope) -> "QuerySet[ExternalRun]":
    rows: QuerySet[ExternalRun] = ExternalRun.objects.of(scope.tenant_id)
    if not scope.can("memory:read"):
        return rows.none()
    if scope.can("memory:retire"):
        return rows
    return rows.filter(
        Exists(EntryOrigin.objects.filter(tenant_id=scope.tenant_id, run_id=OuterRef("id"), entry__sealed=False))
    )


@transaction.atomic
def end(scope: TenantScope, run_id: UUID | None, status: str, *, now: datetime) -> Run:
    """End the run with one of ``ENDINGS``, as its agent states; a run that has ended stays as it is."""
    scope.check("memory:write")
    rows = ExternalRun.objects.of(scope.tenant_id).select_for_update()
    row: ExternalRun | None = rows.filter(id=run_id).first() if run_id else None
    if row is None:
        raise NotFound("There is no external run by that id.")
    bound = scope.principal.agent_ids
    if bound is not None and row.agent_id not in bound:
        raise Forbidden("This key is not bound to the agent of that run.", rule="agent-binding")
    if row.principal not in {"", scope.principal.id} and not scope.can("runs:cancel"):
        raise Forbidden("Another key or person writes to that run.", rule="own-run")
    if not row.ended_by:
        _end(row, status, AGENT, scope.principal.id, now)
    return runs.find(scope.tenant_id, row.id)


def end_silent(*, now: datetime) -> int:
    """End every external run that has been silent for long enough; returns how many.

    The log shows when a run last wrote. Writes do not update the run: it is checked that long after it was opened, and
    again that long after its last write.
    """
    ended, allowed = 0, silence()
    while due := list(_due(now)):
        for tenant_id, run_id in due:
            ended += _end_if_silent(tenant_id, run_id, allowed, now)
    return ended


def _due(now: datetime) -> "QuerySet[ExternalRun, tuple[UUID, UUID]]":
    rows = ExternalRun.objects.filter(ended_by="", due_at__lte=now).order_by("due_at")
    return rows.values_list("tenant_id", "id")[:LOOKED_AT]


@transaction.atomic
def _end_if_silent(tenant_id: UUID, run_id: UUID, allowed: timedelta, now: datetime) -> bool:
    row = ExternalRun.objects.of(tenant_id).select_for_update().filter(id=run_id, ended_by="").first()
    if row is None:
        return False
    [last] = event_log.read(tenant_id, run_id, after=event_log.length(tenant_id, run_id) - 2, limit=1)
    row.due_at = last.timestamp + allowed
    if row.due_at <= now:
        _end(row, RunStatus.COMPLETED, SILENCE, "host", now)
        return True
    row.save(by=WRITER, update_fields=["due_at"])
    return False


def _end(row: ExternalRun, status: str, ended_by: str, by: str, now: datetime) -> None:
    run = runs.locked(row.tenant_id, row.id)
    if status == RunStatus.FAILED:
        runs.fail(run, FAILED, now=now)
    elif status == RunStatus.CANCELLED:
        run.cancelled_by = by
        runs.cancel(run, now=now)
    else:
        runs.complete(run, now=now)
    row.ended_by = ended_by
    row.save(by=WRITER, update_fields=["ended_by"])
