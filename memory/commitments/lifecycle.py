"""Commitments, their firings and how far the ledger was read for them: the only writer of all three (RFC 0068 C).

What may follow which state is a table, consulted under the lock of the row. A stale one may be armed again only when
its entry was gone and is back. What has ended for good keeps no word of memory, only how often it came true.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from memory import adapter, memory_policy, redaction
from memory.host import audit, cron, ids, sql
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.paging import Page, behind, read_all, read_page
from memory.host.tenancy import TenantScope
from memory.models import Commitment, CommitmentState, CommitmentWatch, Condition, Firing
from memory.reasons import stored_reason
from memory.text import intentions
from memory.text.intentions import FARTHEST, Intention
from memory.text.intentions.predicates import LONGEST_TEXT
from memory.text.redactor import Redactor

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry


WRITER = "memory.commitments"
LEASE = Lease(CommitmentWatch, WRITER, timedelta(seconds=30))
OPEN = (CommitmentState.ARMED, CommitmentState.SNOOZED, CommitmentState.DORMANT)
# Not over yet; what is possible does not fire, and is neither watched nor looked for in other entries.
LIVING = (*OPEN, CommitmentState.POSSIBLE)
_FROM_OPEN = frozenset(CommitmentState) - {CommitmentState.POSSIBLE}
NEXT_STATES: dict[str, frozenset[str]] = {
    CommitmentState.POSSIBLE: frozenset(
        {CommitmentState.ARMED, CommitmentState.DORMANT, CommitmentState.STALE, CommitmentState.CANCELLED}
    ),
    CommitmentState.ARMED: _FROM_OPEN,
    CommitmentState.SNOOZED: _FROM_OPEN,
    CommitmentState.DORMANT: _FROM_OPEN,
    CommitmentState.FIRED: frozenset({CommitmentState.ARMED, CommitmentState.CANCELLED}),
    CommitmentState.STALE: frozenset({CommitmentState.ARMED}),
    CommitmentState.CANCELLED: frozenset(),
}
DISMISSED = "Dismissed: it was not meant."
UNFIRED, GONE, FAILED, MERGED = "unfired", "source_gone", "internal_error", "merged"
MAY_RETURN = Q(state=CommitmentState.STALE, reason=GONE, stale_at__isnull=False)
STOPPED = ("state", "reason", "due_at", "stale_at", "predicate", "last_code", "changed_at")
TURNED = ("holds", "state", "due_at", "stale_at", "predicate", "changed_at")
SHOWN_FIRINGS = 50


def can_become(row: Commitment, to: str) -> bool:
    return to in NEXT_STATES[row.state]


def locked(tenant_id: UUID, commitment_id: UUID) -> Commitment:
    """The commitment of this tenant, locked until the transaction ends; or ``NotFound``."""
    rows = Commitment.objects.of(tenant_id).select_for_update()
    row: Commitment | None = rows.filter(id=commitment_id).first()
    if row is None:
        raise NotFound("There is no commitment by that id.")
    return row


def change_state(row: Commitment, to: str, *, now: datetime, **values: object) -> None:
    """Change the locked commitment to the state ``to``, with ``values``; refused when the transition is not allowed."""
    if not can_become(row, to):
        raise Conflict(f"A commitment that is {row.state} cannot become {to}.", state=row.state)
    changes = {"state": to, "changed_at": now, **values}
    if to == CommitmentState.CANCELLED:
        changes["predicate"] = _without_words(row)
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(by=WRITER, update_fields=list(changes))


def rearm(tenant_id: UUID, commitment_ids: Sequence[UUID], *, now: datetime) -> None:
    """Arm those of them that are snoozed or dormant."""
    for row in _locked(tenant_id, commitment_ids, Q(state__in=(CommitmentState.SNOOZED, CommitmentState.DORMANT))):
        change_state(row, CommitmentState.ARMED, now=now, snoozed_until=None)


def make_stale(
    tenant_id: UUID, commitment_ids: Sequence[UUID], reason: str, *, now: datetime, last_code: str = ""
) -> None:
    """Those of them that are living, or wait for their entry to return, become stale for good."""
    ended = _locked(tenant_id, commitment_ids, Q(state__in=LIVING) | MAY_RETURN)
    for row in ended:
        row.state, row.reason, row.due_at, row.changed_at = CommitmentState.STALE, reason, None, now
        row.predicate, row.last_code = _without_words(row), last_code or row.last_code
        row.stale_at = None if reason == GONE else row.stale_at
    _stopped(ended)


def mark_lost(tenant_id: UUID, commitment_ids: Sequence[UUID], *, until: datetime, now: datetime) -> None:
    """Those of them that are open become stale while their entry is gone; ``until`` is when they are too old
    to return."""
    lost = _locked(tenant_id, commitment_ids, Q(state__in=OPEN))
    for row in lost:
        row.state, row.reason, row.changed_at, row.stale_at = CommitmentState.STALE, GONE, now, row.stale_at or until
    _stopped(lost)


def restore(tenant_id: UUID, commitment_ids: Sequence[UUID], *, now: datetime) -> None:
    """Arm again those whose entry was gone. A repeated time skips what fell in between."""
    back = _locked(tenant_id, commitment_ids, MAY_RETURN)
    for row in back:
        row.state, row.reason, row.changed_at = CommitmentState.ARMED, "", now
        if row.repeats:
            behind = max(now, row.snoozed_until or now)
            row.stale_at, row.due_at = None, _next_due(row, behind)
    _stopped(back)


def _locked(tenant_id: UUID, commitment_ids: Sequence[UUID], of: Q) -> list[Commitment]:
    """Those of them that are so now, locked in the order of their ids."""
    found: list[Commitment] = []
    for part in sql.in_chunks(commitment_ids):
        found += Commitment.objects.of(tenant_id).filter(of, id__in=part).select_for_update().order_by("id")
    return found


def _stopped(changed: Sequence[Commitment]) -> None:
    if changed:
        Commitment.objects.written_by(WRITER).bulk_update(changed, STOPPED, batch_size=sql.CHUNK)


def _without_words(row: Commitment) -> JSONObject:
    return {"turn": row.predicate["turn"]} if row.predicate else {}


def open_of_entries(tenant_id: UUID, entry_ids: Sequence[UUID]) -> list[Commitment]:
    """The open commitments whose intention is in one of these entries."""
    mine = Commitment.objects.of(tenant_id).filter(state__in=OPEN)
    found: list[Commitment] = []
    for part in sql.in_chunks(entry_ids):
        found += mine.filter(entry_id__in=part)
    return found


def living(tenant_id: UUID, memory_ref: str) -> QuerySet[Commitment]:
    """The living commitments of a ref."""
    mine: QuerySet[Commitment] = Commitment.objects.of(tenant_id).filter(state__in=LIVING, memory_ref=memory_ref)
    return mine


def lock_living(tenant_id: UUID, memory_ref: str) -> list[Commitment]:
    """The same, locked."""
    return list(living(tenant_id, memory_ref).select_for_update().order_by("id"))


def next_to_review(tenant_id: UUID, *, after: UUID | None, limit: int) -> list[Commitment]:
    """The next commitments after ``after`` that are living or may come back, by id: one index each."""
    mine = Commitment.objects.of(tenant_id)
    kinds: list[QuerySet[Commitment]] = [*(mine.filter(state=state) for state in LIVING), mine.filter(MAY_RETURN)]
    found = [row for of in kinds for row in behind(of, after, "id")[:limit]]
    return sorted(found, key=lambda row: row.id)[:limit]


def store(found: Sequence[Commitment]) -> None:
    """Store each; one is skipped when its place in the entry has a commitment already."""
    Commitment.objects.written_by(WRITER).bulk_create(found, batch_size=sql.CHUNK, ignore_conflicts=True)


def follow_replacement(tenant_id: UUID, entry_ids: Collection[UUID], found: Sequence[Commitment]) -> list[Commitment]:
    """After a value was replaced, move commitments that its entries still state to their new place, and remove the
    others. Returns those of ``found`` that are new."""
    fresh = {(each.entry_id, each.said_sha256): each for each in found}
    gone, stays = [], []
    for part in sql.in_chunks(entry_ids):
        mine = Commitment.objects.of(tenant_id).filter(entry_id__in=part).exclude(said_sha256="")
        for row in mine.select_for_update().order_by("id"):
            same = fresh.pop((row.entry_id, row.said_sha256), None)
            if same is None:
                gone.append(row.id)
            elif (row.starts, row.ends) != (same.starts, same.ends):
                row.starts, row.ends = same.starts, same.ends
                stays.append(row)
    remove(tenant_id, gone)
    for aside in (LONGEST_TEXT, 0):  # no two stand at one place meanwhile
        for row in stays:
            row.starts += aside or -LONGEST_TEXT
        Commitment.objects.written_by(WRITER).bulk_update(stays, ("starts", "ends"), batch_size=sql.CHUNK)
    return list(fresh.values())


def record_conditions(changed: Sequence[Commitment]) -> None:
    """Record the conditions found for these locked rows."""
    Commitment.objects.written_by(WRITER).bulk_update(changed, TURNED, batch_size=sql.CHUNK)


def record_firing(row: Commitment, firing: Firing) -> None:
    """Record one more firing of the locked commitment: this row is what makes it happen once."""
    firing.insert(by=WRITER)
    row.fired_count += 1
    row.last_fired_at, row.last_run_id, row.last_code = firing.fired_at, firing.enqueued_run_id, firing.code
    row.save(by=WRITER, update_fields=["fired_count", "last_fired_at", "last_run_id", "last_code"])


def remove(tenant_id: UUID, commitment_ids: Sequence[UUID]) -> int:
    """Delete the commitments with their stored firings; events stay on the log. Returns how many."""
    gone = 0
    for part in sql.in_chunks(commitment_ids):
        Firing.objects.written_by(WRITER).filter(tenant_id=tenant_id, commitment_id__in=part).delete()
        gone += Commitment.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=part).delete()[0]
    return gone


def watch_position(tenant_id: UUID) -> int:
    """How far the ledger was read."""
    found = CommitmentWatch.objects.of(tenant_id).filter(id=tenant_id).values_list("position", flat=True).first()
    return found or 0


def lock_watch(tenant_id: UUID) -> CommitmentWatch:
    """The tenant's watch, locked until the transaction ends, so that inference runs one at a time."""
    rows = CommitmentWatch.objects.of(tenant_id).select_for_update().filter(id=tenant_id)
    found: CommitmentWatch | None = rows.first()
    return found or _opened(tenant_id, rows)


def _opened(tenant_id: UUID, rows: QuerySet[CommitmentWatch]) -> CommitmentWatch:
    fresh = CommitmentWatch(tenant_id=tenant_id, id=tenant_id)
    CommitmentWatch.objects.written_by(WRITER).bulk_create([fresh], ignore_conflicts=True)
    found: CommitmentWatch = rows.get()
    return found


def advance_watch(watch: CommitmentWatch, **reached: object) -> None:
    """Store the position up to which the locked watch has read."""
    for name, value in reached.items():
        setattr(watch, name, value)
    watch.save(by=WRITER, update_fields=list(reached))


@transaction.atomic
def lease_watch(tenant_id: UUID, holder: str, *, now: datetime) -> bool:
    """Whether ``holder`` has the watch for the next 30 seconds; one holder at a time."""
    lock_watch(tenant_id)  # the row may not be there yet
    return LEASE.claim(tenant_id, tenant_id, holder=holder, now=now)


def release_watch(tenant_id: UUID, holder: str) -> None:
    """End the lease early."""
    LEASE.release(tenant_id, tenant_id, holder=holder)


def lock_watching(tenant_id: UUID, refs: Iterable[str] | None, *states: str) -> list[Commitment]:
    """The predicate commitments in these states, of some refs or of all, locked."""
    rows = Commitment.objects.of(tenant_id).filter(condition="predicate", state__in=states)
    rows = rows if refs is None else rows.filter(memory_ref__in=list(refs))
    return list(rows.select_for_update().order_by("id"))


def lock_lost(tenant_id: UUID, refs: Iterable[str]) -> list[Commitment]:
    """The predicate commitments of these refs whose entry may come back, locked."""
    rows = Commitment.objects.of(tenant_id).filter(MAY_RETURN, condition="predicate", memory_ref__in=list(refs))
    return list(rows.select_for_update().order_by("id"))


class Awaited(NamedTuple):
    """What a condition waits for: its words in their order, and whether it is about their writer (``own``)."""

    words: tuple[str, ...]
    own: bool


def awaited_by(predicate: JSONObject) -> Awaited:
    return Awaited(tuple(predicate["words"]), predicate.get("own", False))


def conditions_by_ref(tenant_id: UUID, refs: Collection[str], denying: Collection[str]) -> dict[str, set[Awaited]]:
    """The conditions of each of these refs that a statement may decide about; of those in ``denying``
    also the ones that came true."""
    rows = Commitment.objects.of(tenant_id).filter(condition="predicate", memory_ref__in=list(refs))
    fired = Q(state=CommitmentState.FIRED, memory_ref__in=list(denying))
    found: dict[str, set[Awaited]] = {ref: set() for ref in refs}
    for ref, predicate in rows.filter(Q(state__in=LIVING) | MAY_RETURN | fired).values_list("memory_ref", "predicate"):
        found[ref].add(awaited_by(predicate))
    return found


def has_watching(tenant_id: UUID) -> bool:
    """Whether a condition of the tenant may become true."""
    return bool(Commitment.objects.of(tenant_id).filter(condition="predicate", state__in=OPEN).exists())


@dataclass(frozen=True, slots=True)
class Shown:
    """A commitment, its sentence, and how often it may fire. ``intention`` is None when the entry is gone;
    ``fired_for`` is the time for which a single one has fired."""

    row: Commitment
    intention: str | None
    fired_for: datetime | None = None

    @property
    def once_at(self) -> datetime | None:
        """The time of a single one, also when it waits for it no more; None where it is not known any more."""
        row = self.row
        if row.condition != Condition.TIME or row.repeats:
            return None
        return row.due_at or self.fired_for or (self._stated.at if self._stated else None)

    @property
    def words(self) -> list[str]:
        """The stems that are to be said; none when it waits for a time."""
        return intentions.said_words(self.row.predicate.get("words", ()))

    @property
    def clause(self) -> str:
        """What it waits for, in the words of memory; "" when that is a time, or the entry is gone."""
        found = self._stated if self.row.predicate else None
        return found.clause if found else ""

    @property
    def _stated(self) -> Intention | None:
        """What the sentence says, as far as the entry is there."""
        zone, written_at = self.row.timezone, self.row.created_at
        found = intentions.found_in(self.intention or "", zone=zone, written_at=written_at, doubtful=True)
        return found[0] if found else None

    @property
    def allowed(self) -> int | None:
        """How often it may ever fire: a single time once; None for a condition, which fires once each time it comes
        true, and for a time that comes again."""
        return None if self.row.repeats or self.row.predicate else 1

    @property
    def occasions(self) -> int | None:
        """How often it may have fired by now; None for a time that comes again."""
        return int(self.row.predicate.get("turn", 0)) if self.row.predicate else self.allowed

    @property
    def twice(self) -> bool:
        """Whether it has fired more often than that, which must never be."""
        return self.occasions is not None and self.row.fired_count > max(self.occasions, 0)


@dataclass(frozen=True, slots=True)
class CommitmentFilter:
    """Which commitments: those in a state, from a ref, of an agent; "" is any."""

    state: str = ""
    memory_ref: str = ""
    agent_id: str = ""


def page(
    scope: TenantScope, wanted: CommitmentFilter, *, after: UUID | None = None, size: int = 50, now: datetime
) -> Page[Shown]:
    """The commitments after ``after``, newest first."""
    found = read_page(_matching(scope, wanted), after, size)
    return found.with_rows(_with_entries(scope, found.rows, now))


def export_commitments(scope: TenantScope, wanted: CommitmentFilter, *, now: datetime) -> Iterator[Shown]:
    """All of them, newest first, read in chunks for a file."""
    for chunk in read_all(_matching(scope, wanted)):
        yield from _with_entries(scope, chunk, now)


def count_by_state(scope: TenantScope, wanted: CommitmentFilter) -> dict[str, int]:
    """How many of them there are in each state, 0 too, whichever ``wanted`` has."""
    counted = _matching(scope, replace(wanted, state="")).order_by().values_list("state").annotate(found=Count("id"))
    return dict.fromkeys(CommitmentState.values, 0) | dict(counted)


def find(scope: TenantScope, commitment_id: UUID | None, *, now: datetime) -> Shown:
    """One commitment; unknown, foreign and malformed ids are the same ``NotFound``."""
    return _with_entries(scope, [_visible(scope, commitment_id)], now)[0]


def found_in(scope: TenantScope, entry_id: UUID) -> list[Commitment]:
    """The commitments in the text of that entry, in its order."""
    return list(_matching(scope, CommitmentFilter()).filter(entry_id=entry_id).order_by("starts"))


def find_many(scope: TenantScope, commitment_ids: Collection[UUID], *, now: datetime) -> dict[UUID, Shown]:
    """Those of these commitments that the principal may see, by their ids."""
    rows = _matching(scope, CommitmentFilter()).filter(id__in=list(commitment_ids))
    return {shown.row.id: shown for shown in _with_entries(scope, list(rows), now)}


def sentences(scope: TenantScope, found: Sequence[Commitment], *, now: datetime) -> dict[UUID, str | None]:
    """The sentence of memory that each of these was found in; None where the entry is gone."""
    return {shown.row.id: shown.intention for shown in _with_entries(scope, found, now)} if found else {}


def firings_of(scope: TenantScope, commitment_id: UUID) -> list[Firing]:
    """Its last firings, newest first."""
    scope.check("memory:read")
    rows_of = Firing.objects.of(scope.tenant_id).filter(commitment_id=commitment_id)
    return list(rows_of.order_by("-id")[:SHOWN_FIRINGS])


@transaction.atomic
def snooze(scope: TenantScope, commitment_id: UUID | None, *, until: datetime, now: datetime) -> Commitment:
    """It does not fire before ``until``, at most 90 days ahead. A repeated time continues after it. Audited."""
    scope.check("memory:retire")
    row = locked(scope.tenant_id, _visible(scope, commitment_id).id)
    if not now < until <= now + FARTHEST:
        message = "must be in the future, and at most 90 days ahead"
        raise Invalid("The commitment was not snoozed.", errors=[{"field": "until", "message": message}])
    patience = timedelta(days=memory_policy.policy_of(scope.tenant_id).stale_days)
    stale_at = row.stale_at and max(row.stale_at, until + patience)
    put_off = {"snoozed_until": until, "due_at": _due_behind(row, until), "stale_at": stale_at}
    change_state(row, CommitmentState.SNOOZED, now=now, **put_off)
    _audit(scope, "snoozed", row, now)
    return row


def _due_behind(row: Commitment, until: datetime) -> datetime | None:
    if row.repeats:
        return _next_due(row, until - timedelta(microseconds=1))
    return row.due_at and max(row.due_at, until)


def _next_due(row: Commitment, after: datetime) -> datetime | None:
    """The next time of a repeated one, in step with the last."""
    if row.every == 1 or row.due_at is None:
        return cron.next_after(row.repeats, row.timezone, after)
    due_at: datetime | None = row.due_at
    while due_at is not None and due_at <= after:
        due_at = cron.next_after(row.repeats, row.timezone, due_at, every=row.every)
    return due_at


def list_possible(scope: TenantScope) -> QuerySet[Commitment]:
    """Those waiting for a person to arm or dismiss them."""
    return _matching(scope, CommitmentFilter(CommitmentState.POSSIBLE))


@transaction.atomic
def arm(scope: TenantScope, commitment_id: UUID | None, *, now: datetime) -> Commitment:
    """Arm a possible commitment, so that it fires like any other. Audited."""
    scope.check("memory:retire")
    row = _locked_possible(scope, commitment_id)
    if row.entry_id not in adapter.console.entries_by_id(scope, [row.entry_id], now=now):
        raise Conflict("The entry that the commitment came from is gone.", state=row.state)
    due_at = _next_due(row, now) if row.repeats else row.due_at
    if due_at is not None and due_at <= now:
        raise Conflict("The commitment cannot be armed: its due time has passed.", state=row.state)
    patience = timedelta(days=memory_policy.policy_of(scope.tenant_id).stale_days)
    state = CommitmentState.DORMANT if due_at and due_at > now + FARTHEST else CommitmentState.ARMED
    change_state(row, state, now=now, due_at=due_at, stale_at=None if row.repeats else (due_at or now) + patience)
    _audit(scope, "armed", row, now)
    return row


@transaction.atomic
def dismiss(scope: TenantScope, commitment_id: UUID | None, *, now: datetime) -> Commitment:
    """Cancel a possible commitment that was not meant. Audited."""
    scope.check("memory:retire")
    row = _locked_possible(scope, commitment_id)
    change_state(row, CommitmentState.CANCELLED, now=now, reason=DISMISSED, due_at=None)
    _audit(scope, "dismissed", row, now)
    return row


def _locked_possible(scope: TenantScope, commitment_id: UUID | None) -> Commitment:
    row = locked(scope.tenant_id, _visible(scope, commitment_id).id)
    if row.state != CommitmentState.POSSIBLE:
        raise Conflict(f"The commitment is {row.state}: only a possible one is armed or dismissed.", state=row.state)
    return row


@transaction.atomic
def cancel(scope: TenantScope, commitment_id: UUID | None, *, reason: str, now: datetime) -> Commitment:
    """Cancel it for good; the reason is stored without the tenant's secrets. Audited."""
    scope.check("memory:retire")
    row = locked(scope.tenant_id, _visible(scope, commitment_id).id)
    said = stored_reason(scope.tenant_id, reason)
    change_state(row, CommitmentState.CANCELLED, now=now, reason=said, due_at=None, snoozed_until=None)
    _audit(scope, "cancelled", row, now)
    return row


def _audit(scope: TenantScope, what: str, row: Commitment, now: datetime) -> None:
    target = ids.wire("cmt", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=f"commitment.{what}", target=target, now=now)


def _matching(scope: TenantScope, wanted: CommitmentFilter) -> QuerySet[Commitment]:
    scope.check("memory:read")
    found: QuerySet[Commitment] = Commitment.objects.of(scope.tenant_id).order_by("-id")
    bound = scope.principal.agent_ids
    found = found if bound is None else found.filter(agent_id__in=bound)
    found = found.filter(state=wanted.state) if wanted.state else found
    found = found.filter(agent_id=wanted.agent_id) if wanted.agent_id else found
    return found.filter(memory_ref=wanted.memory_ref) if wanted.memory_ref else found


def _visible(scope: TenantScope, commitment_id: UUID | None) -> Commitment:
    rows = _matching(scope, CommitmentFilter())
    row = rows.filter(id=commitment_id).first() if commitment_id else None
    if row is None:
        raise NotFound("There is no commitment by that id.")
    return row


def _with_entries(scope: TenantScope, found: Sequence[Commitment], now: datetime) -> list[Shown]:
    entries = adapter.console.entries_by_id(scope, [row.entry_id for row in found], now=now)
    redactor, fired_for = redaction.for_tenant(scope.tenant_id), _fired_for(scope, found)
    return [
        Shown(row, _redacted_sentence(row, entries.get(row.entry_id), redactor), fired_for.get(row.id)) for row in found
    ]


def _fired_for(scope: TenantScope, found: Sequence[Commitment]) -> dict[UUID, datetime]:
    """By id: the time for which a single one has fired."""
    over = [row.id for row in found if row.fired_count and row.condition == Condition.TIME and not row.repeats]
    if not over:
        return {}
    rows = Firing.objects.of(scope.tenant_id).filter(commitment_id__in=over).order_by("id")
    return {row: datetime.fromisoformat(occasion) for row, occasion in rows.values_list("commitment_id", "occasion")}


def _redacted_sentence(row: Commitment, entry: "MemoryEntry | None", redactor: Redactor) -> str | None:
    return redactor.redact(entry.content[row.starts : row.ends]).text if entry else None
