"""A background pass: its run, its claim, its progress, its outcome.

A window is a unique row, so it is done once; a claim is a lease, so a pass whose worker died is taken over, and one ref
is changed by one pass at a time. What became of it is on record, and its small system run carries its events.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from memory import adapter
from memory.host import access, ids, outbox, runs, sql
from memory.host.errors import Conflict, NotFound, PassCancelled
from memory.host.events import Failure
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.models import Run
from memory.host.runs import RunOrder
from memory.models import Pass, PassState, Trigger

WRITER = "memory.passes"
LEASE = Lease(Pass, WRITER, timedelta(seconds=60))
MOMENT = timedelta(milliseconds=250)
MAX_ATTEMPTS = 5
OPEN = (PassState.WAITING, PassState.CLAIMED)
OVER_ALL = frozenset({"forget"})  # kinds of which one at a time goes over everything of a tenant
DECIDED = "decided/"  # the windows of passes that carry out what a person decided about pairs begin with it
SELECTED = "selected"  # the kind that changes all entries that match a filter
OVER = (PassState.DONE, PassState.REFUSED, PassState.FAILED, PassState.CANCELLED)


@dataclass(frozen=True, slots=True)
class PassOrder:
    """What a pass is to do. ``window`` makes it happen once; ``options`` belong to its kind."""

    kind: str
    window: str
    requested_by: str
    memory_ref: str = ""
    options: JSONObject = field(default_factory=dict)
    trigger: str = Trigger.ON_DEMAND
    dry_run: bool = False


def definition_of(kind: str) -> str:
    """The one-node workflow that a pass of this kind runs as."""
    return runs.host_definition(f"host-{kind}", f"Host pass: {kind}", (kind, f"vendor.console.pass.{kind}"))


@transaction.atomic
def request(tenant_id: UUID, order: PassOrder, *, now: datetime) -> Pass:
    """Record the window as waiting for a worker; repeating the request for the window returns the same row."""
    rows = Pass.objects.of(tenant_id).filter(kind=order.kind, memory_ref=order.memory_ref, window=order.window)
    there: Pass | None = rows.first()
    if there:
        return there
    run_order = RunOrder(f"host-{order.kind}", definition_of(order.kind), order.requested_by, system=True)
    run = runs.open_run(tenant_id, run_order, now=now, ready=False)
    return Pass(tenant_id=tenant_id, run_id=run.id, created_at=now, **asdict(order)).insert(by=WRITER)


@transaction.atomic
def decline(tenant_id: UUID, order: PassOrder, failure: Failure, *, refused: bool, now: datetime) -> Pass:
    """Record the window as refused or failed, without running it; an existing row stays as it is."""
    rows = Pass.objects.of(tenant_id).filter(kind=order.kind, memory_ref=order.memory_ref, window=order.window)
    there: Pass | None = rows.first()
    if there:
        return there
    row = request(tenant_id, order, now=now)
    fail(row, failure, refused=refused, now=now)
    return row


def claim(tenant_id: UUID, pass_id: UUID, *, holder: str, now: datetime) -> Pass | None:
    """Claim the pass for ``holder`` until its lease ends; None when it is claimed, its ref is busy, or it is over.

    Passes that change a ref run one after the other, and so do the forgets of a tenant: otherwise each would count what
    another removes.
    """
    found: Pass | None = Pass.objects.of(tenant_id).filter(_is_unclaimed(now), id=pass_id).first()
    if found is None or _must_wait(found, now):
        return None
    with transaction.atomic():
        access.lock_tenant(tenant_id)
        if _must_wait(found, now) or not _claim(found, holder, now):
            return None
    row: Pass = Pass.objects.of(tenant_id).select_related("run__tenant").get(id=pass_id)
    if row.run.started_at is None:
        with transaction.atomic():
            runs.start(row.run, snapshot_position=0, now=now)
    return row


def _is_unclaimed(now: datetime) -> Q:
    return LEASE.free(now) & Q(state__in=OPEN)


def _must_wait(row: Pass, now: datetime) -> bool:
    """Whether another pass works on the same target. A dry run neither waits nor is waited for."""
    return not row.dry_run and _is_serial(row) and _claimed_over_ref(row, now).exclude(id=row.id).exists()


def _is_serial(row: Pass) -> bool:
    return bool(row.memory_ref) or row.kind in OVER_ALL


def _same_target(row: Pass) -> JSONObject:
    """What passes that wait for one another have in common: their ref, or that they cover the whole tenant."""
    return {"memory_ref": row.memory_ref} | ({} if row.memory_ref else {"kind": row.kind})


def _claimed_over_ref(row: Pass, now: datetime) -> QuerySet[Pass]:
    """The claimed passes that change the same as ``row``."""
    claimed = {"state": PassState.CLAIMED, "state__in": OPEN}  # as the index of what is open says it
    at_work: QuerySet[Pass] = Pass.objects.of(row.tenant_id).filter(**claimed, lease_until__gt=now)
    return at_work.filter(**_same_target(row), dry_run=False)


def _claim(row: Pass, holder: str, now: datetime) -> bool:
    claimed = {"state": PassState.CLAIMED, "attempts": F("attempts") + 1}
    return LEASE.claim(row.tenant_id, row.id, holder=holder, now=now, where=Q(state__in=OPEN), **claimed)


def next_waiting(tenant_id: UUID, pass_id: UUID, *, now: datetime) -> Pass | None:
    """The oldest pass waiting for the same target; None while another is claimed there."""
    row = find(tenant_id, pass_id)
    if row is None or not _is_serial(row) or _claimed_over_ref(row, now).exists():
        return None
    open_there = Pass.objects.of(tenant_id).filter(**_same_target(row), state__in=OPEN)
    found: Pass | None = open_there.filter(state=PassState.WAITING).order_by("id").first()
    return found


def progress(row: Pass, *, done: int, total: int, doing: str, now: datetime) -> None:
    """Record the progress and renew the lease. Raises ``LostClaim`` when another worker has claimed the pass, and
    ``PassCancelled`` when a stop was requested."""
    far = {"done": done, "total": total, "doing": doing}
    goes_on = _renew(row, now, Q(stopping=False), far)
    if not goes_on and not _renew(row, now, Q(), far):
        raise LostClaim(f"pass {row.id} was taken over")
    row.done, row.total, row.doing, row.lease_until = done, total, doing, LEASE.end(now)
    if not goes_on:
        raise PassCancelled


def report(row: Pass, *, done: int, total: int, doing: str, now: datetime) -> None:
    """``progress`` for short steps: skipped within a moment of the last recorded one, since each is a write."""
    if row.lease_until is None or now >= row.lease_until - LEASE.lasts + MOMENT:
        progress(row, done=done, total=total, doing=doing, now=now)


def _renew(row: Pass, now: datetime, where: Q, far: JSONObject) -> bool:
    claimed = where & Q(state=PassState.CLAIMED)
    return LEASE.renew(row.tenant_id, row.id, holder=row.holder, now=now, where=claimed, **far)


class LostClaim(RuntimeError):
    """Another worker has claimed the pass; this one stops without an outcome."""


@transaction.atomic
def finish(row: Pass, *, outcome: JSONObject | None = None, now: datetime) -> None:
    """Record ``outcome`` and that the window is done; completes the run."""
    row.done = row.total
    _close(row, PassState.DONE, "", outcome, now)
    runs.complete(_run(row), now=now)


@transaction.atomic
def fail(
    row: Pass, failure: Failure, *, outcome: JSONObject | None = None, refused: bool = False, now: datetime
) -> None:
    """Record the window as failed, or as ``refused``, with the code, and fail its run; retried by hand."""
    _close(row, PassState.REFUSED if refused else PassState.FAILED, failure.code, outcome, now)
    runs.fail(_run(row), failure, node_id=row.kind, now=now)


@transaction.atomic
def finish_cancelled(row: Pass, *, outcome: JSONObject | None = None, now: datetime) -> None:
    """Record that the pass stopped on request; what it did stays, and its run is cancelled."""
    _close(row, PassState.CANCELLED, PassCancelled.code, outcome, now)
    runs.cancel(runs.request_cancel(_run(row), now=now), now=now)


@transaction.atomic
def request_stop(tenant_id: UUID, pass_id: UUID, *, now: datetime) -> Pass:
    """Ask the pass to stop at its next step; one that is not claimed yet is cancelled at once."""
    row: Pass | None = Pass.objects.of(tenant_id).select_for_update().filter(id=pass_id).first()
    if row is None:
        raise NotFound("There is no pass by that id.")
    if row.state not in OPEN:
        raise Conflict("The pass has ended.", state=row.state)
    row.stopping = True
    row.save(by=WRITER, update_fields=["stopping"])
    if row.state == PassState.WAITING:
        finish_cancelled(row, now=now)
    return row


def _close(row: Pass, state: str, code: str, outcome: JSONObject | None, now: datetime) -> None:
    """End the pass, if this worker still holds its claim."""
    ended = {"state": state, "code": code, "done": row.done, "finished_at": now, "lease_until": None, "doing": ""}
    if outcome is not None:
        ended["outcome"] = outcome
    if LEASE.while_held(row.tenant_id, row.id, holder=row.holder).filter(state__in=OPEN).update(**ended) != 1:
        raise LostClaim(f"pass {row.id} was taken over")
    for name, value in ended.items():
        setattr(row, name, value)
    _announce(row, now)


def _announce(row: Pass, now: datetime) -> None:
    """Queue the webhooks of a pass that ended; of a forget, those of its request, whose id begins the window."""
    payload = {"passId": ids.wire("pass", row.id), "kind": row.kind, "state": row.state}
    if row.kind in OVER_ALL:
        payload["requestId"] = f"fgt_{row.window.partition('/')[0]}"
    kind = "forget.finished" if row.kind in OVER_ALL else "pass.finished"
    outbox.announce(row.tenant_id, kind, payload, run_id=row.run_id, now=now)


def store_note(row: Pass, outcome: JSONObject) -> None:
    """Store what the pass knows already, for a worker that may take it over."""
    rows = LEASE.while_held(row.tenant_id, row.id, holder=row.holder)
    if rows.filter(state=PassState.CLAIMED).update(outcome=outcome) != 1:
        raise LostClaim(f"pass {row.id} was taken over")
    row.outcome = outcome


def _run(row: Pass) -> Run:
    return runs.locked(row.tenant_id, row.run_id)


def find_by_run(tenant_id: UUID, run_id: UUID) -> Pass | None:
    """The pass that ran as that run, if it was one."""
    found: Pass | None = Pass.objects.of(tenant_id).select_related("run__tenant").filter(run_id=run_id).first()
    return found


def find(tenant_id: UUID, pass_id: UUID) -> Pass | None:
    row: Pass | None = Pass.objects.of(tenant_id).filter(id=pass_id).first()
    return row


def find_many(tenant_id: UUID, pass_ids: list[UUID]) -> list[Pass]:
    """Those of ``pass_ids`` that are the tenant's."""
    return list(Pass.objects.of(tenant_id).filter(id__in=pass_ids))


def latest(tenant_id: UUID, *, kinds: tuple[str, ...], limit: int) -> list[Pass]:
    """The passes of these kinds, newest first, without those that carried out a person's decision."""
    return list(of_kinds(tenant_id, kinds).exclude(window__startswith=DECIDED).order_by("-id")[:limit])


def last_done(tenant_id: UUID, refs: Collection[str], kinds: Collection[str]) -> dict[tuple[str, str], Pass]:
    """The last pass of each of these kinds that was carried out over each of these refs, by ref and kind."""
    found = adapter.console.last_passes(tenant_id, refs, kinds)
    return {(row.memory_ref, row.kind): row for part in sql.in_chunks(found) for row in find_many(tenant_id, part)}


def of_kinds(tenant_id: UUID, kinds: tuple[str, ...], memory_ref: str = "") -> QuerySet[Pass]:
    """The passes of these kinds; of one ref when it is named."""
    rows: QuerySet[Pass] = Pass.objects.of(tenant_id).filter(kind__in=kinds)
    return rows.filter(memory_ref=memory_ref) if memory_ref else rows


def unclaimed(*, now: datetime) -> list[Pass]:
    """At most 50 open passes of all tenants without a lease: new ones, and those whose worker died; unordered.

    Uses the index of unfinished passes: SQLite does not use a partial index over a list of states when the states are
    parameters.
    """
    return list(Pass.objects.filter(_is_unclaimed(now), finished_at=None)[:50])
