"""A background pass: its run, its claim, its progress, its outcome (design.md 3.6 and 3.14).

A window is a unique row, so it is done once; a claim is a lease, so a pass whose worker died is taken over. What became
of it is on record, and its small system run carries its events.
"""

import json
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from memory.host import runs
from memory.host.events import Failure
from memory.host.models import Run
from memory.host.run_orders import RunOrder
from memory.models import Pass, PassState

WRITER = "memory.passes"
LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 5
OPEN = (PassState.WAITING, PassState.CLAIMED)


def definition_of(kind: str) -> str:
    """The one-node workflow that a pass of this kind runs as."""
    node = {
        "id": kind,
        "typeId": f"vendor.console.pass.{kind}",
        "name": kind,
        "position": {"x": 0, "y": 0},
        "config": {},
        "inputs": {},
    }
    document = {
        "id": f"host-{kind}",
        "name": f"Host pass: {kind}",
        "version": "1.0.0",
        "nodes": [node],
        "edges": [],
        "triggers": [{"id": "host", "type": "event"}],
        "variables": [],
        "metadata": {},
        "settings": {},
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


@transaction.atomic
def request(tenant_id: UUID, kind: str, *, window: str, memory_ref: str = "", requested_by: str, now: datetime) -> Pass:
    """The window is on record and waits for a worker; asking again for the same window gives the same row."""
    there: Pass | None = Pass.objects.of(tenant_id).filter(kind=kind, memory_ref=memory_ref, window=window).first()
    if there:
        return there
    order = RunOrder(f"host-{kind}", definition_of(kind), requested_by, system=True)
    run = runs.open_run(tenant_id, order, now=now, ready=False)
    return Pass(
        tenant_id=tenant_id,
        kind=kind,
        memory_ref=memory_ref,
        window=window,
        run_id=run.id,
        requested_by=requested_by,
        created_at=now,
    ).insert(by=WRITER)


def claim(tenant_id: UUID, pass_id: UUID, *, holder: str, now: datetime) -> Pass | None:
    """The pass, held by ``holder`` until its lease ends; None when somebody else has it or it is over."""
    free = Q(state=PassState.WAITING) | Q(state=PassState.CLAIMED, lease_until__lte=now)
    rows = Pass.objects.written_by(WRITER).filter(free, tenant_id=tenant_id, id=pass_id)
    taken = rows.update(state=PassState.CLAIMED, holder=holder, lease_until=now + LEASE, attempts=F("attempts") + 1)
    if taken != 1:
        return None
    row: Pass = Pass.objects.of(tenant_id).select_related("run__tenant").get(id=pass_id)
    if row.run.started_at is None:
        with transaction.atomic():
            runs.start(row.run, snapshot_position=0, now=now)
    return row


def progress(row: Pass, *, done: int, total: int, doing: str, now: datetime) -> None:
    """How far the pass is; its lease is renewed. Raises when the lease was lost to another worker."""
    rows = Pass.objects.written_by(WRITER).filter(
        tenant_id=row.tenant_id, id=row.id, holder=row.holder, state=PassState.CLAIMED
    )
    if rows.update(done=done, total=total, doing=doing, lease_until=now + LEASE) != 1:
        raise LostClaim(f"pass {row.id} was taken over")
    row.done, row.total, row.doing = done, total, doing


class LostClaim(RuntimeError):
    """Another worker holds the pass now; this one stops without an outcome."""


@transaction.atomic
def finish(row: Pass, *, now: datetime) -> None:
    """The window is done, and its run has completed."""
    _close(row, PassState.DONE, "", now)
    runs.complete(_run(row), now=now)


@transaction.atomic
def fail(row: Pass, failure: Failure, *, now: datetime) -> None:
    """The window has failed with ``failure`` on record, and its run with it; it may be retried by hand."""
    _close(row, PassState.FAILED, failure.code, now)
    runs.fail(_run(row), failure, node_id=row.kind, now=now)


def _close(row: Pass, state: str, code: str, now: datetime) -> None:
    row.state, row.code, row.finished_at, row.lease_until, row.doing = state, code, now, None, ""
    row.save(by=WRITER, update_fields=["state", "code", "finished_at", "lease_until", "doing"])


def _run(row: Pass) -> Run:
    return runs.locked(row.tenant_id, row.run_id)


def find(tenant_id: UUID, pass_id: UUID) -> Pass | None:
    row: Pass | None = Pass.objects.of(tenant_id).filter(id=pass_id).first()
    return row


def unattended(*, now: datetime, limit: int = 50) -> list[Pass]:
    """Open passes of all tenants that nobody holds: new ones, and those whose worker died."""
    free = Q(state=PassState.WAITING) | Q(state=PassState.CLAIMED, lease_until__lte=now)
    return list(Pass.objects.filter(free).order_by("id")[:limit])
