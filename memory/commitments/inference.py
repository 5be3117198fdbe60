"""Intentions become commitments as memory is written, and later entries decide about open ones (RFC 0068).

The ledger is read from the watch's position on, in short transactions that commit the findings together with the new
position. So nothing is lost or found twice, whichever worker dies or reads at the same time. Writes do not wait for any
of this.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from memory import adapter, memory_policy
from memory.adapter.passes import News
from memory.commitments import due, lifecycle
from memory.host import event_log, sql
from memory.host.models import Tenant
from memory.host.paging import behind
from memory.memory_policy import Policy
from memory.models import Commitment, CommitmentState, Condition
from memory.text import intentions
from memory.text.intentions import FARTHEST, Intention

CALLED_OFF = "A later entry called it off."
CHUNK = 200  # entries whose texts are searched for intentions in one transaction
PART = sql.CHUNK


@transaction.atomic
def read_next(tenant_id: UUID, *, now: datetime, limit: int = CHUNK) -> bool:
    """Read the next part of the ledger: arm its intentions (as possible where they are in doubt), and record what it
    says about others. Whether there may be more."""
    watch = lifecycle.lock_watch(tenant_id)
    entries, reached = adapter.passes.news_after(tenant_id, after=watch.position, limit=limit, now=now)
    if reached == watch.position:
        return False
    policy = memory_policy.policy_of(tenant_id)
    fresh = [each for entry in entries for each in infer_commitments(tenant_id, entry, policy, now)]
    if replaced := {entry.id for entry in entries if entry.changed_at}:
        kept = [each for each in fresh if each.entry_id not in replaced]
        fresh = [
            *kept,
            *lifecycle.follow_replacement(tenant_id, replaced, [each for each in fresh if each.entry_id in replaced]),
        ]
    written_at = {entry.id: entry.position for entry in entries}
    lifecycle.store(fresh)
    _cancel_called_off(tenant_id, entries, now)
    due.record_statements(tenant_id, entries, written_at, stale_after=timedelta(days=policy.stale_days), now=now)
    lifecycle.advance_watch(
        watch, position=reached, **({"lease_until": lifecycle.LEASE.end(now)} if watch.holder else {})
    )
    return len(entries) == limit


def _cancel_called_off(tenant_id: UUID, entries: Iterable[News], now: datetime) -> None:
    """Cancel the commitment that a later entry of the ref calls off, when only one can be meant."""
    for entry in entries:
        for words in intentions.called_off(entry.content):
            open_now = [row for row in lifecycle.lock_living(tenant_id, entry.memory_ref) if row.entry_id != entry.id]
            texts = adapter.passes.stored_texts(tenant_id, {row.entry_id for row in open_now})
            meant = [row for row in open_now if set(words) <= _words(texts.get(row.entry_id, ""), row)]
            if len(meant) == 1:
                lifecycle.change_state(meant[0], CommitmentState.CANCELLED, now=now, reason=CALLED_OFF, due_at=None)


def _words(text: str, row: Commitment) -> set[str]:
    return set(intentions.words_of(text[row.starts : row.ends]))


def infer_commitments(tenant_id: UUID, entry: News, policy: Policy, now: datetime) -> Iterable[Commitment]:
    """The commitments that ``entry`` makes, without those that would be stale already."""
    for found in intentions.found_in(entry.content, zone=policy.timezone, written_at=entry.written_at, doubtful=True):
        stale_at = _stale_at(found, entry, timedelta(days=policy.stale_days))
        if stale_at is None or stale_at > now:
            yield Commitment(
                tenant_id=tenant_id,
                memory_ref=entry.memory_ref,
                entry_id=entry.id,
                agent_id=entry.agent_id,
                starts=found.starts,
                ends=found.ends,
                said_sha256=hashlib.sha256(entry.content[found.starts : found.ends].encode()).hexdigest(),
                condition=Condition.PREDICATE if found.words else Condition.TIME,
                due_at=found.at,
                timezone=policy.timezone,
                repeats=found.cron,
                every=found.every,
                predicate=due.predicate_of(found, entry) if found.words else {},
                state=_state_of(found, now),
                stale_at=stale_at,
                created_at=now,
                changed_at=now,
            )


def _stale_at(found: Intention, entry: News, patience: timedelta) -> datetime | None:
    """When it is too old to fire: a single time some while later, a repeated one never. A doubtful one is too old to be
    armed once its time has come."""
    if found.doubtful:
        return found.at if found.at and not found.cron else entry.written_at + patience
    return None if found.cron else (found.at or entry.written_at) + patience


def _state_of(found: Intention, now: datetime) -> str:
    if found.doubtful:
        return CommitmentState.POSSIBLE
    return CommitmentState.DORMANT if found.at and found.at > now + FARTHEST else CommitmentState.ARMED


class DueTenants(NamedTuple):
    """A page of tenants to read for; ``after`` is where the next page begins, None after the last."""

    tenants: list[UUID]
    after: UUID | None


def due_tenants(*, since: datetime, whole: bool, after: UUID | None = None, now: datetime) -> DueTenants:
    """Of at most 500 tenants after ``after``: those whose ledger has news, who have a commitment due, or whose runs
    ended since then while one waits; with ``whole`` all that have one which may fire, or may come back."""
    asked = _of_open("due", Q(due_at__lte=now), by="due_at") | _of_open("waiting", Q(condition=Condition.PREDICATE))
    if whole:
        asked |= _of_open("open", Q()) | {"possible": _first(Q(state=CommitmentState.POSSIBLE))}
        asked |= {"lost": _first(lifecycle.MAY_RETURN)}
    page = Tenant.objects.annotate(**asked).values("id", *asked)
    part = list(behind(page, after, "id")[:PART])
    found = adapter.passes.tenants_with_news([each["id"] for each in part], now=now)
    found += [each["id"] for each in part if any(each[name] for name in asked if not name.startswith("waiting"))]
    waiting = [each["id"] for each in part if any(each[name] for name in asked if name.startswith("waiting"))]
    found += event_log.tenants_where(due.ENDS, among=waiting, since=since) if waiting else []
    return DueTenants(list(dict.fromkeys(found)), part[-1]["id"] if len(part) == PART else None)


def _of_open(name: str, of: Q, *, by: str = "id") -> dict[str, Subquery]:
    return {f"{name}_{state}": _first(of & Q(state=state), by=by) for state in lifecycle.OPEN}


def _first(of: Q, *, by: str = "id") -> Subquery:
    """The first of these commitments of the tenant of the row outside, in the order of the index.

    A mere question whether there is one is answered by PostgreSQL from a table of all tenants' commitments.
    """
    return Subquery(Commitment.objects.filter(of, tenant_id=OuterRef("id")).order_by(by).values("id")[:1])
