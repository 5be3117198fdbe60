"""Heartbeats: predicates evaluated at intervals, and their changes of state; their only writer (RFC 0060).

An evaluation holds a lease, and a tick that falls due meanwhile is skipped, not queued. Every evaluation is on the
tenant's own log; only a change of state is a transition.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import rfc8785
from django.db import IntegrityError, transaction
from django.db.models import Q

from memory.host import event_log, ids, scheduling, signing
from memory.host.errors import Conflict, NotFound
from memory.host.events import HeartbeatEvaluated, HeartbeatStateChanged, ObservedState
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.models import Heartbeat
from memory.host.paging import Page, read_page

WRITER = "memory.host.heartbeats"
MIN_INTERVAL_S = 60
MAX_RUNTIME_MS = 5000
MAX_STATE_BYTES = 4096
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
LEASE = Lease(Heartbeat, WRITER, timedelta(seconds=30), until="evaluating_until")
OK, TIMEOUT, ERROR = "ok", "timeout", "error"


@dataclass(frozen=True, slots=True)
class HeartbeatOrder:
    """The settings of a heartbeat. An interval below MIN_INTERVAL_S is raised to it."""

    name: str
    principal: str
    interval_s: int
    predicate: JSONObject
    workflow_id: str = ""
    inputs: JSONObject = field(default_factory=dict)
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of an evaluation; ``state`` counts when ``status`` is ok."""

    status: str
    state: Any = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A concluded evaluation: the events that were appended to the tenant's log."""

    heartbeat: Heartbeat
    evaluated: HeartbeatEvaluated
    transition: HeartbeatStateChanged | None


def create_heartbeat(tenant_id: UUID, order: HeartbeatOrder, *, now: datetime) -> Heartbeat:
    """Create a heartbeat whose first tick is an interval away; refused when the tenant has one of that name."""
    heartbeat = Heartbeat(tenant_id=tenant_id, created_at=now)
    _write(heartbeat, order, now)
    try:
        with transaction.atomic():
            return heartbeat.insert(by=WRITER)
    except IntegrityError:
        raise Conflict("There is already a heartbeat with that name.") from None


def change(heartbeat: Heartbeat, order: HeartbeatOrder, *, now: datetime) -> None:
    """Change the locked heartbeat to ``order``. With another predicate it forgets its state and its lease."""
    if order.predicate != heartbeat.predicate:
        heartbeat.prior_state = heartbeat.observed_at = heartbeat.evaluating_until = None
        heartbeat.holder = ""
    _write(heartbeat, order, now)
    heartbeat.save(by=WRITER)


def _write(heartbeat: Heartbeat, order: HeartbeatOrder, now: datetime) -> None:
    interval_s = max(order.interval_s, MIN_INTERVAL_S)
    retimed = (interval_s, order.enabled) != (heartbeat.interval_s, heartbeat.enabled) or heartbeat.next_at is None
    heartbeat.name, heartbeat.predicate, heartbeat.interval_s = order.name, order.predicate, interval_s
    heartbeat.workflow_id, heartbeat.inputs, heartbeat.principal = order.workflow_id, order.inputs, order.principal
    heartbeat.enabled = order.enabled
    if retimed:
        heartbeat.next_at = now + timedelta(seconds=interval_s) if order.enabled else None


def order_of(heartbeat: Heartbeat) -> HeartbeatOrder:
    """Return the current settings of the heartbeat as an order."""
    return HeartbeatOrder(
        name=heartbeat.name,
        principal=heartbeat.principal,
        interval_s=heartbeat.interval_s,
        predicate=heartbeat.predicate,
        workflow_id=heartbeat.workflow_id,
        inputs=heartbeat.inputs,
        enabled=heartbeat.enabled,
    )


def remove(heartbeat: Heartbeat) -> None:
    """Delete the heartbeat; the log and the runs it started are kept."""
    Heartbeat.objects.written_by(WRITER).filter(tenant_id=heartbeat.tenant_id, id=heartbeat.id).delete()


def by_name(tenant_id: UUID, name: str) -> Heartbeat | None:
    found: Heartbeat | None = Heartbeat.objects.of(tenant_id).filter(name=name).first()
    return found


def find(tenant_id: UUID, name: str) -> Heartbeat:
    """Return the heartbeat of that name; raise ``NotFound`` when the tenant has none."""
    return _require(by_name(tenant_id, name))


def locked(tenant_id: UUID, name: str) -> Heartbeat:
    """Return the heartbeat of that name, locked until the transaction ends."""
    return _require(Heartbeat.objects.of(tenant_id).select_for_update().filter(name=name).first())


def _require(heartbeat: Heartbeat | None) -> Heartbeat:
    if heartbeat is None:
        raise NotFound("There is no heartbeat of that name.")
    return heartbeat


def page(tenant_id: UUID, *, after: str = "", size: int) -> Page[Heartbeat]:
    """Return the heartbeats whose names sort after ``after``."""
    return read_page(Heartbeat.objects.of(tenant_id), after, size, order="name")


def take_tick(
    tenant_id: UUID, heartbeat_id: UUID, tick_at: datetime, interval_s: int, *, now: datetime
) -> datetime | None:
    """Claim the tick and return the next one after ``now``; None when another process has claimed it.

    Missed ticks are skipped: the next one keeps to the heartbeat's own interval.
    """
    following = scheduling.following_beat(tick_at, timedelta(seconds=interval_s), now)
    rows = Heartbeat.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=heartbeat_id, next_at=tick_at)
    return following if rows.update(next_at=following) == 1 else None


def correct_ahead(*, now: datetime) -> int:
    """Bring forward the heartbeats that wait for longer than their interval; return how many.

    They were put off while a clock was ahead.
    """
    rows = Heartbeat.objects.filter(enabled=True, next_at__gt=now + timedelta(seconds=MIN_INTERVAL_S))
    corrected = 0
    for tenant_id, row_id, interval_s, ahead in rows.values_list("tenant_id", "id", "interval_s", "next_at"):
        latest = now + timedelta(seconds=interval_s)
        if ahead and ahead > latest:
            own = Heartbeat.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=row_id, next_at=ahead)
            corrected += own.update(next_at=latest)
    return corrected


def begin(tenant_id: UUID, heartbeat_id: UUID, *, next_at: datetime | None, now: datetime) -> Heartbeat | None:
    """Claim the heartbeat for an evaluation; None when one is under way, or when this tick was superseded."""
    holder = ids.new_id().hex
    if not LEASE.claim(tenant_id, heartbeat_id, holder=holder, now=now, where=Q(next_at=next_at)):
        return None
    return LEASE.while_held(tenant_id, heartbeat_id, holder=holder).first()


def conclude(begun: Heartbeat, found: Finding, *, seen_at: datetime, now: datetime) -> Verdict | None:
    """Append the finding to the tenant's log in the caller's transaction; store a new state and append its transition.

    None when the lease was lost, the heartbeat was removed, or its predicate has changed.
    """
    held = LEASE.while_held(begun.tenant_id, begun.id, holder=begun.holder)
    row: Heartbeat | None = held.select_for_update().first()
    if row is None:
        return None
    token = _token_of(row, found.state) if found.status == OK else None
    status = ERROR if found.status == OK and token is None else found.status
    before = ObservedState(row.prior_state["sha256"] if row.prior_state else None)
    after = ObservedState(token["sha256"]) if token else before
    heartbeat_id = ids.wire("hbt", row.id)
    evaluated = HeartbeatEvaluated(heartbeat_id, status, changed=after != before)
    transition = HeartbeatStateChanged(heartbeat_id, before, after) if evaluated.changed else None
    if token:
        row.prior_state, row.observed_at = token, seen_at
    row.last_status, row.last_at = status, now
    row.evaluating_until, row.holder = None, ""
    row.save(by=WRITER)
    event_log.append_to_tenant(row.tenant_id, *([evaluated, transition] if transition else [evaluated]), now=now)
    return Verdict(row, evaluated, transition)


def _token_of(row: Heartbeat, state: Any) -> JSONObject | None:
    """Return the state with its keyed digest, which does not let a reader confirm a guess of the content.

    The stored one is returned when it has the same state. None when the state is larger than MAX_STATE_BYTES or cannot
    be stored.
    """
    try:
        canonical = rfc8785.dumps(state)
    except (ValueError, RecursionError):
        return None
    if len(canonical) > MAX_STATE_BYTES or NUL.search(canonical):
        return None
    digests = signing.digests(signing.STATES, row.tenant_id, canonical)
    kept: JSONObject | None = row.prior_state
    return kept if kept and kept["sha256"] in digests else {"sha256": digests[0], "state": state}


def note_run(heartbeat: Heartbeat, *, run_id: UUID | None, code: str) -> None:
    """Record the run that the transition started, or the code of why there is none."""
    heartbeat.last_run_id, heartbeat.last_code = run_id or heartbeat.last_run_id, code
    heartbeat.save(by=WRITER, update_fields=["last_run_id", "last_code"])
