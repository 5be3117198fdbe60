"""What a principal may do with runs that go: pause, resume, cancel many. Policy lives here, for every door alike."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import event_notes
from memory.host import audit, ids, interrupts, runs
from memory.host.errors import Conflict, NotFound
from memory.host.models import Run, RunStatus
from memory.host.tenancy import TenantScope
from memory.wire import instant
from openwop_console.runtime import intake, steps

MAX_RUN_IDS = 100


@transaction.atomic
def pause_run(scope: TenantScope, run_id: UUID | None, *, drain: bool = True, reason: str = "", now: datetime) -> Run:
    """The run begins no node any more; with ``drain`` what it had begun is finished first (openwop-host 3.8)."""
    run = _controllable(scope, run_id)
    if run.status == RunStatus.PAUSED:
        raise Conflict("The run is paused already.", runStatus=run.status, pausedAt=_when(run))
    if run.status in runs.ENDING:
        raise Conflict(f"A run that is {run.status} is not paused.", runStatus=run.status)
    event_notes.give_reason(scope.tenant_id, run.id, reason)
    event_notes.attach_reason(run, runs.pause(run, drain=drain, now=now))
    _note(scope, "run.pause", run, now)
    return run


@transaction.atomic
def resume_run(scope: TenantScope, run_id: UUID | None, *, reason: str = "", now: datetime) -> Run:
    """The paused run goes on where it stood; no timeout of its nodes and questions counts the time it was paused."""
    run = _controllable(scope, run_id)
    if run.status != RunStatus.PAUSED:
        raise Conflict("The run is not paused.", runStatus=run.status)
    paused = now - (run.paused_at or now)
    steps.postpone(run, paused)
    interrupts.postpone(run, paused)
    is_told = run.started_at is not None and not run.draining
    event_notes.give_reason(scope.tenant_id, run.id, reason if is_told else "")
    event_notes.attach_reason(run, runs.resume(run, now=now))
    _note(scope, "run.resume", run, now)
    return run


def _controllable(scope: TenantScope, run_id: UUID | None) -> Run:
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    if run.system:
        raise Conflict("A run of the host itself is not steered from outside.", runStatus=run.status)
    return runs.locked(scope.tenant_id, run.id)


def _when(run: Run) -> str | None:
    return instant(run.paused_at) if run.paused_at else None


def _note(scope: TenantScope, action: str, run: Run, now: datetime) -> None:
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=ids.wire("run", run.id), now=now)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of one id of a bulk cancel: the run's status, or why not."""

    run_id: str
    status: str = ""
    code: str = ""
    message: str = ""


@transaction.atomic
def cancel_runs(scope: TenantScope, run_ids: list[str], *, reason: str = "", now: datetime) -> list[Cancelled]:
    """Each run is cancelling, or has ended already, or the reason why not is told; in the order asked for.

    The runs are locked by id and the audit chain last, as everybody else does: nobody waits for one who waits for them.
    """
    scope.check("runs:cancel")
    wanted = [ids.parse("run", run_id) for run_id in run_ids]
    found = runs.those(scope.tenant_id, [run_id for run_id in wanted if run_id])
    for run_id in sorted(found):
        if not found[run_id].system:
            found[run_id] = intake.request_cancel(scope, found[run_id], reason=reason, now=now)
    for run in found.values():
        if not run.system:
            _note(scope, "run.cancel", run, now)
    return [_outcome(text, found.get(run_id) if run_id else None) for text, run_id in zip(run_ids, wanted, strict=True)]


def _outcome(run_id: str, run: Run | None) -> Cancelled:
    if run is None:
        return Cancelled(run_id, code=NotFound.code, message="There is no run by that id.")
    if run.system:
        return Cancelled(run_id, code=Conflict.code, message="A run of the host itself is not cancelled from outside.")
    return Cancelled(run_id, status=run.status)
