"""Fires due commitments, and starts a run for each if the tenant has chosen a workflow for them (RFC 0068 C).

A firing is one transaction: its row, ``commitment.fired`` on a small system run, the run that it starts, and the
commitment's state. The started run acts as the host in the memory's tenant and receives only ids.
"""

from datetime import datetime
from time import monotonic
from uuid import UUID

from django.db import transaction

from memory import commitments, memory_policy, passes
from memory.commitments.due import DueCommitment
from memory.host import ids, runs, scheduling
from memory.host.clock import Clock
from memory.host.events import CommitmentFired
from memory.host.models import Run
from memory.host.runs import RunOrder
from memory.models import Firing
from openwop_console.runtime import schedules
from openwop_console.runtime.run_operations import RunRequest

KIND = "commitment"
HOST = "host"
TURN_SECONDS = 5.0


def process_commitments(tenant_id: UUID, *, holder: str = "", whole: bool = True, clock: Clock) -> int:
    """Read the ledger, record ended runs, and fire all due commitments; return how many fired.

    The ledger is read to its end, or for ``TURN_SECONDS``: then other tenants have their turn, and the scheduler finds
    within a second that there is more. With ``whole``, also review the open commitments. Several workers may run this
    at once: each step commits its effects together with its progress. Releases the watch of ``holder``, if given.
    """
    ends = monotonic() + TURN_SECONDS
    while commitments.inference.read_next(tenant_id, now=clock()) and monotonic() < ends:
        pass
    commitments.due.record_ended_runs(tenant_id, now=clock())
    if whole:
        commitments.due.review_open(tenant_id, now=clock())
    fired = scheduling.fire_each(
        "Commitment",
        commitments.due.due_commitments(tenant_id, now=clock()),
        lambda key: fire(tenant_id, key, now=clock()) is not None,
        give_up=lambda key: commitments.due.abandon(tenant_id, key, now=clock()),
    )
    if holder:
        commitments.lifecycle.release_watch(tenant_id, holder)
    return fired


@transaction.atomic
def fire(tenant_id: UUID, commitment_id: UUID, *, now: datetime) -> Firing | None:
    """Fire the commitment and return the firing; None if there is nothing to fire or another call has claimed it."""
    claimed = commitments.due.claim(tenant_id, commitment_id, now=now)
    if claimed is None:
        return None
    started, code = _started(claimed, now)
    row = claimed.row
    run = _append_fact(claimed, started, now)
    made = Firing(
        tenant_id=tenant_id,
        commitment_id=row.id,
        occasion=claimed.occasion,
        fired_at=now,
        run_id=run.id,
        enqueued_run_id=started,
        cause_entry_id=claimed.cause_entry_id,
        cause_run_id=claimed.cause_run_id,
        code=code,
    )
    commitments.due.settle(claimed, made, now=now)
    return made


def _started(claimed: DueCommitment, now: datetime) -> tuple[UUID | None, str]:
    """Start the tenant's workflow for commitments; return the run id or a refusal's code, neither if none is chosen."""
    row = claimed.row
    workflow = memory_policy.policy_of(row.tenant_id).commitment_workflow
    if not workflow:
        return None, ""
    known_by = ids.wire("cmt", row.id)
    inputs = {
        "commitmentId": known_by,
        "memoryRef": row.memory_ref,
        "memoryId": ids.wire("mem", claimed.memory_id),
    }
    request = RunRequest(workflow, inputs=inputs, metadata={"origin": {"commitment": known_by}})
    return schedules.start(row.tenant_id, HOST, request, now=now)


def _append_fact(claimed: DueCommitment, started: UUID | None, now: datetime) -> Run:
    """A completed system run of the tenant whose log has the ``commitment.fired`` event."""
    row = claimed.row
    order = RunOrder(f"host-{KIND}", passes.definition_of(KIND), HOST, system=True)
    run = runs.open_running(row.tenant_id, order, now=now)
    event = CommitmentFired(
        commitment_id=row.id,
        memory_ref=row.memory_ref,
        condition=row.condition,
        memory_id=claimed.memory_id,
        enqueued_run_id=ids.wire("run", started),
    )
    runs.complete(run, event, now=now)
    return run
