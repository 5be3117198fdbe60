"""What becomes of commitments with time: due, fired, put off no longer, stale, or without the entry they came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import policies
from memory.commitments import rows, sources, twins
from memory.commitments.sources import Source
from memory.commitments.twins import Spoken
from memory.host import cron, sql
from memory.models import Commitment, CommitmentState, Condition, Firing
from memory.text.intentions import FARTHEST

UNFIRED, GONE, FAILED, MERGED = rows.UNFIRED, rows.GONE, rows.FAILED, rows.MERGED
PART = sql.CHUNK


@dataclass(frozen=True, slots=True)
class Claim:
    """A commitment that is to fire now, locked; ``occasion`` is the instant or the transition, ``memory_id`` the entry
    that says so today, ``next_at`` when it is due again."""

    row: Commitment
    occasion: str
    memory_id: UUID
    next_at: datetime | None


def due(tenant_id: UUID, *, now: datetime, limit: int = sql.CHUNK) -> list[UUID]:
    """Commitments whose time has come or whose condition has come true, the longest due first."""
    mine = Commitment.objects.of(tenant_id).filter(state__in=rows.OPEN, due_at__lte=now)
    return list(mine.order_by("due_at", "id").values_list("id", flat=True)[:limit])


def claim(tenant_id: UUID, commitment_id: UUID, *, now: datetime) -> Claim | None:
    """The commitment, when it is due and has not fired on this occasion; inside the transaction that fires it.

    One that is too old, whose entry is gone, or that an earlier one says already is stale instead.
    """
    row = rows.locked(tenant_id, commitment_id)
    if row.state not in rows.OPEN or row.due_at is None or row.due_at > now:
        return None
    if row.stale_at is not None and row.condition == Condition.TIME and row.stale_at <= now:
        rows.end(tenant_id, [row.id], UNFIRED, now=now)
        return None
    source = sources.source_of(tenant_id, row.entry_id, now=now)
    if source.today is None:
        _lose(tenant_id, [(row, source)], now)
        return None
    if _is_said_already(row, source, now):
        return None
    found = _occasion(row, source.today, now)
    if Firing.objects.of(tenant_id).filter(commitment_id=row.id, occasion=found.occasion).exists():
        _rest(found, now=now)
        return None
    return found


def _is_said_already(row: Commitment, source: Source, now: datetime) -> bool:
    """Whether an earlier one says the same; if not, the later ones that do are stale by now, and this one fires for
    all. Only the first of them touches the others, so no two wait for each other."""
    later = twins.later_ones_of(row, source, now=now)
    if row.id in later:
        rows.end(row.tenant_id, [row.id], MERGED, now=now)
        return True
    rows.end(row.tenant_id, [each for each, first in later.items() if first == row.id], MERGED, now=now)
    return False


def _occasion(row: Commitment, memory_id: UUID, now: datetime) -> Claim:
    """The latest instant stands for all that were missed."""
    if row.condition == Condition.PREDICATE:
        return Claim(row, f"turn/{row.predicate['turn']}", memory_id, None)
    first = row.due_at or now
    if not row.repeats:
        return Claim(row, first.isoformat(), memory_id, None)
    tick = cron.due(row.repeats, row.timezone, first, now)
    return Claim(row, tick.tick_at.isoformat(), memory_id, tick.next_at)


def settle(claimed: Claim, firing: Firing, *, now: datetime) -> None:
    """The commitment has fired on its occasion, and rests or is armed again."""
    rows.record(claimed.row, firing)
    _rest(claimed, now=now)


def _rest(claimed: Claim, *, now: datetime) -> None:
    """Armed while it may fire again: at its next instant, or once what was denied comes true."""
    row, denied = claimed.row, claimed.row.condition == Condition.PREDICATE and not claimed.row.holds
    state = CommitmentState.ARMED if claimed.next_at or denied else CommitmentState.FIRED
    rows.move(row, state, now=now, due_at=claimed.next_at, snoozed_until=None)


@transaction.atomic
def give_up(tenant_id: UUID, commitment_id: UUID, *, now: datetime) -> None:
    """A commitment that cannot be fired by a fault of this host is not tried for ever."""
    row = rows.locked(tenant_id, commitment_id)
    if row.state in rows.OPEN:
        rows.end(tenant_id, [row.id], FAILED, now=now, last_code=FAILED)


@transaction.atomic
def review_open(tenant_id: UUID, *, now: datetime) -> None:
    """Of the next 500 commitments: what was put off is armed again when its time has come, and what was dormant when
    its time is near; what is too old, or came from an entry that is gone, is stale, and armed again when the entry is
    back; of equal ones whose entries became one, the first stays; what came from a forgotten entry is removed."""
    watch = rows.watch_of(tenant_id)
    part = rows.next_to_look_over(tenant_id, after=watch.looked_until, limit=PART)
    rows.read_up_to(watch, looked_until=part[-1].id if len(part) == PART else None)
    found = sources.sources_of(tenant_id, {row.entry_id for row in part}, now=now) if part else {}
    rows.remove(tenant_id, [row.id for row in part if found[row.entry_id].forgotten])
    known = [(row, found[row.entry_id]) for row in part if not found[row.entry_id].forgotten]
    _look_for_lost(tenant_id, [each for each in known if each[0].state == CommitmentState.STALE], now)
    _look_at_open(tenant_id, [each for each in known if each[0].state in rows.OPEN], now)


def _look_for_lost(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    over = [row.id for row, source in found if _is_too_old(row, now) or not (source.today or source.returns)]
    rows.end(tenant_id, over, GONE, now=now)
    back = {row.id for row, source in found if source.today} - set(over)
    rows.bring_back(tenant_id, sorted(back), now=now)


def _look_at_open(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    old = [row.id for row, _ in found if _is_too_old(row, now) and (row.due_at is None or row.condition == "time")]
    rows.end(tenant_id, old, UNFIRED, now=now)
    _lose(tenant_id, [each for each in found if each[1].today is None], now)
    rows.end(tenant_id, list(twins.later_ones(tenant_id, _standing(found))), MERGED, now=now)
    rows.wake(tenant_id, [row.id for row, _ in found if _has_slept(row, now)], now=now)


def _is_too_old(row: Commitment, now: datetime) -> bool:
    return row.stale_at is not None and row.stale_at <= now


def _has_slept(row: Commitment, now: datetime) -> bool:
    if row.state == CommitmentState.DORMANT:
        return row.due_at is not None and row.due_at <= now + FARTHEST
    return row.due_at is None and row.snoozed_until is not None and row.snoozed_until <= now


def _standing(found: Sequence[Spoken]) -> list[Spoken]:
    return [each for each in found if each[1].today is not None]


def _lose(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    """Whose entry is gone is stale: until somebody restores it, or for good when nobody can."""
    rows.end(tenant_id, [row.id for row, source in found if not source.returns], GONE, now=now)
    away = [row.id for row, source in found if source.returns]
    if away:
        until = now + timedelta(days=policies.policy_of(tenant_id).stale_days)
        rows.lose(tenant_id, away, until=until, now=now)
