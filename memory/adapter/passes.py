"""Memory as a background pass takes it: all that is live under one ref, in the order in which it was written.

Read in chunks, so a pass over a large ref holds no long transaction. What is sealed is no pass's to take: nothing is
made of a confidential value, and no two of them are ever the same (RFC-0015 9.2).
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Sum

from memory.adapter import fulltext
from memory.host import sql
from memory.host.expiry import UNEXPIRED, has_expired
from memory.host.paging import behind
from memory.host.tenancy import MemoryScope, TenantScope
from memory.models import CommitmentWatch, Lineage, LineageKind
from memory.models.address import EntryAddress
from memory.models.entry import PLAIN, EntryQuerySet, LedgerHead, MemoryEntry, Strength, Tombstone
from memory.text.matching import search_form
from memory.text.search_words import MOST_ASKED, Sought, words_of

CHUNK = 5000  # entries that a pass reads at once: ten times as many rows a statement as elsewhere, bound by LIMIT alone
OPEN = f"{UNEXPIRED.format(column='expires_at')} AND retired_at IS NULL AND NOT sealed"
COLUMNS = (
    "id, content, tags, subject, agent_id, run_id, {created_at}, {expires_at}, tokens, derived, protected, position"
)


class CorpusEntry(NamedTuple):
    """One live entry as a pass reads it. ``derived`` names the kind of pass that made it; empty for a run's write."""

    id: UUID
    content: str
    tags: tuple[str, ...]
    subject: str
    agent_id: str
    run_id: UUID
    created_at: datetime
    expires_at: datetime | None
    tokens: int
    derived: str
    protected: bool
    position: int


def corpus(scope: MemoryScope, *, now: datetime, chunk: int = CHUNK) -> Iterator[list[CorpusEntry]]:
    """The live, unretired entries of the ref in chunks, oldest first."""
    after = UUID(int=0)
    while found := _read(scope, now, "memory_ref = %s AND id > %s", [scope.memory_ref, sql.key(after)], "id", chunk):
        yield found
        after = found[-1].id


def corpus_since(
    scope: MemoryScope, position: int, *, now: datetime, chunk: int = CHUNK
) -> Iterator[list[CorpusEntry]]:
    """Those written after ``position``, by ledger order, in a ref of any size."""
    condition = "memory_ref || '' = %s AND position > %s"  # kept out of the index of refs, word for word
    while found := _read(scope, now, condition, [scope.memory_ref, position], "position", chunk):
        yield found
        position = found[-1].position


def corpus_about(
    scope: MemoryScope, text: str, *, meaning: bytes = b"", limit: int, now: datetime
) -> list[CorpusEntry]:
    """The live entries of the ref that rank best in a search for ``text``, whose vector is ``meaning``, unordered."""
    asked = Sought((), (), asked=tuple(words_of(search_form(text))[:MOST_ASKED]), meaning=meaning)
    rows = MemoryEntry.objects.in_scope(scope).live(now).filter(sealed=False)
    found = fulltext.best_matches(scope.tenant, rows, asked, limit=limit).positions
    if not found:
        return []
    condition, among = sql.among("position", found)
    return _read(scope, now, f"memory_ref || '' = %s AND {condition}", [scope.memory_ref, among], "position", limit)


def corpus_entries(scope: MemoryScope, entry_ids: Sequence[UUID], *, now: datetime) -> list[CorpusEntry]:
    """The live entries of the ref among ``entry_ids``, oldest first."""
    found: list[CorpusEntry] = []
    for part in sql.in_chunks(map(sql.key, entry_ids)):
        marks = ", ".join(["%s"] * len(part))
        found += _read(scope, now, f"memory_ref = %s AND id IN ({marks})", [scope.memory_ref, *part], "id", len(part))
    return sorted(found, key=lambda each: each.id)


def live_among(scope: MemoryScope, entry_ids: Collection[UUID], *, now: datetime) -> set[UUID]:
    """Which of ``entry_ids`` are live entries of the ref."""
    wanted = {sql.key(each): each for each in entry_ids}
    condition, among = sql.among("id", list(wanted))
    statement = (
        f"SELECT id FROM memory_memoryentry WHERE tenant_id = %s AND memory_ref || '' = %s AND {condition} "  # noqa: S608
        f"AND {OPEN}"
    )
    values = [sql.key(scope.tenant_id), scope.memory_ref, among, sql.time_parameter(now)]
    return {wanted[row] for (row,) in sql.rows(statement, values)}


class Outline(NamedTuple):
    """A live entry of a ref without its text, for counting; its id in the engine's form."""

    id: Any
    protected: bool
    tokens: int
    expires_at: str | None


def outline(scope: MemoryScope, *, derived: Sequence[str], now: datetime) -> list[Outline]:
    """The live entries of the ref with this ``derived``, unordered."""
    marks = ", ".join(["%s"] * len(derived))
    statement = (
        f"SELECT id, protected, tokens, {sql.time_column('expires_at')} FROM memory_memoryentry "  # noqa: S608
        f"WHERE tenant_id = %s AND memory_ref = %s AND derived IN ({marks}) "
        f"AND {OPEN}"
    )
    values = [sql.key(scope.tenant_id), scope.memory_ref, *derived, sql.time_parameter(now)]
    return [Outline._make(row) for row in sql.rows(statement, values)]


def strengths_of_ref(scope: MemoryScope) -> dict[UUID, tuple[int, datetime]]:
    """For each corroborated entry of the ref: how many sources support it, and when the last was written."""
    rows = Strength.objects.of(scope.tenant_id).filter(entry__memory_ref=scope.memory_ref, entry__retired_at=None)
    return {row: (sources, last) for row, sources, last in rows.values_list("id", "sources", "last_said_at")}


def _read(
    scope: MemoryScope, now: datetime, condition: str, values: list[object], order: str, size: int
) -> list[CorpusEntry]:
    columns = COLUMNS.format(created_at=sql.time_column("created_at"), expires_at=sql.time_column("expires_at"))
    statement = (
        f"SELECT {columns} FROM memory_memoryentry WHERE tenant_id = %s AND {condition} "  # noqa: S608
        f"AND {OPEN} ORDER BY {order} LIMIT %s"
    )
    return _entries(sql.rows(statement, [sql.key(scope.tenant_id), *values, sql.time_parameter(now), size]))


def _entries(rows: list[Any]) -> list[CorpusEntry]:
    """Rows to entries; runs and tags that many rows share are converted once."""
    as_uuid, at, as_instant = sql.as_uuid, sql.at, sql.as_instant
    run_of, tags_of = cache(as_uuid), cache(_tags)
    return [
        CorpusEntry(
            as_uuid(entry_id),
            content,
            tags_of(tags),
            subject,
            agent,
            run_of(run),
            at(created),
            as_instant(expires),
            tokens,
            derived,
            bool(kept),
            position,
        )
        for entry_id, content, tags, subject, agent, run, created, expires, tokens, derived, kept, position in rows
    ]


def _tags(stored: object) -> tuple[str, ...]:
    return tuple(sql.as_document(stored))


class RefFigures(NamedTuple):
    """Live entries that runs wrote under one ref: how many, their tokens, and the position of the last."""

    memory_ref: str
    entries: int
    tokens: int
    position: int


def ref_figures(tenant_id: UUID, *, now: datetime) -> list[RefFigures]:
    """Ref by ref, without OpenIntent's. Reads the whole ledger of the tenant."""
    rows = MemoryEntry.objects.of(tenant_id).unexpired(now).filter(PLAIN, derived="", sealed=False)
    found = rows.values("memory_ref").annotate(n=Count("id"), t=Sum("tokens"), last=Max("position"))
    return [RefFigures(*row) for row in found.values_list("memory_ref", "n", "t", "last")]


def tokens_written_after(tenant_id: UUID, memory_ref: str, entry_id: UUID | None, *, now: datetime) -> int:
    """The tokens of live entries that runs wrote under the ref after that entry, or ever if it is gone."""
    entries = MemoryEntry.objects.of(tenant_id)
    position = entries.filter(id=entry_id).values_list("position", flat=True).first() if entry_id else None
    rows = entries.live(now).filter(memory_ref=memory_ref, position__gt=position or 0, derived="", sealed=False)
    return rows.aggregate(tokens=Sum("tokens"))["tokens"] or 0


class Counts(NamedTuple):
    """How much is live under a ref."""

    entries: int
    tokens: int


def has_memory(scope: MemoryScope) -> bool:
    """Whether an entry is stored under the ref, live or not."""
    return bool(MemoryEntry.objects.of(scope.tenant_id).has_value("memory_ref", scope.memory_ref))


def count_live(scope: MemoryScope, *, now: datetime) -> Counts:
    found = _live(scope.tenant, now).filter(memory_ref=scope.memory_ref).aggregate(n=Count("id"), t=Sum("tokens"))
    return Counts(found["n"], found["t"] or 0)


def has_others(scope: MemoryScope, entry_ids: Collection[UUID], *, now: datetime) -> bool:
    """Whether anything live is in the ref besides these entries."""
    mine = _live(scope.tenant, now).filter(memory_ref=scope.memory_ref)
    among = sum(mine.filter(id__in=part).count() for part in sql.in_chunks(entry_ids))
    return mine.count() > among


def _live(scope: TenantScope, now: datetime) -> QuerySet[MemoryEntry]:
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id).live(now).filter(sealed=False)
    return rows


class EntryFate(NamedTuple):
    """What became of an entry, and whether it is still in the database, so that it can be restored."""

    what: str
    there: bool


class News(NamedTuple):
    """An entry that a run wrote: none of the host's passes, and not retired by a person, expired or sealed.

    An entry that a pass retired is included: its text was said, and the reader may come after the pass. ``changed_at``
    is when the value at an address was last replaced, if ever.
    """

    id: UUID
    memory_ref: str
    content: str
    tags: list[str]
    agent_id: str
    run_id: UUID
    created_at: datetime
    position: int
    changed_at: datetime | None

    @property
    def written_at(self) -> datetime:
        """When it came to say what it says."""
        return self.changed_at or self.created_at


def news_after(tenant_id: UUID, *, after: int, limit: int, now: datetime) -> tuple[list[News], int]:
    """At most ``limit`` entries after the position ``after``, and the position up to which there are no more."""
    found: LedgerHead | None = LedgerHead.objects.of(tenant_id).first()
    last = found.position if found else 0
    rows = MemoryEntry.objects.of(tenant_id).filter(position__gt=after, position__lte=last, derived="")
    rows = rows.filter(Q(retired_at=None) | ~Q(retired_kind=""))
    # The runs of OpenIntent's agents are the host's own, and what they wrote has an address.
    addresses = EntryAddress.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("id"))
    rows = rows.unexpired(now).filter(Q(run__system=False) | Q(Exists(addresses)), sealed=False)
    rows = rows.annotate(changed_at=Subquery(addresses.filter(version__gt=1).values("updated_at")))
    entries = [News(*row) for row in rows.order_by("position").values_list(*News._fields)[:limit]]
    return entries, entries[-1].position if len(entries) == limit else last


def tenants_with_news(among: Collection[UUID], *, now: datetime) -> list[UUID]:
    """Tenants whose ledger has changes after their watch's position, and whose watch is not leased."""
    watch = CommitmentWatch.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("tenant_id"))
    seen_or_held = watch.filter(Q(position__gte=OuterRef("position")) | Q(lease_until__gt=now))
    rows = LedgerHead.objects.filter(~Exists(seen_or_held), tenant_id__in=list(among), position__gt=0)
    return list(rows.values_list("tenant_id", flat=True))


def entry_fates(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> dict[UUID, EntryFate]:
    """For each of these entries: ``live``, ``expired``, ``retired`` (by a person), what a pass did to it, or why it was
    removed. Unknown ids are left out."""
    found: dict[UUID, EntryFate] = {}
    for part in sql.in_chunks(entry_ids):
        stones = Tombstone.objects.of(tenant_id).filter(id__in=part).values_list("id", "reason")
        found |= {row: EntryFate(reason, there=False) for row, reason in stones}
        rows = MemoryEntry.objects.of(tenant_id).filter(id__in=part)
        for row, retired_at, kind, expires_at in rows.values_list("id", "retired_at", "retired_kind", "expires_at"):
            lapsed = has_expired(expires_at, now)
            what = "expired" if lapsed else (kind or "retired") if retired_at else "live"
            found[row] = EntryFate(what, there=not lapsed)
    return found


def stored_texts(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[UUID, str]:
    """The text of each of these entries that is in the database, hidden or not: for the host's own comparisons, never
    for display."""
    rows = MemoryEntry.objects.of(tenant_id)
    return {
        row: text
        for part in sql.in_chunks(entry_ids)
        for row, text in rows.filter(id__in=part).values_list("id", "content")
    }


def stored_ids(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that are in the database, hidden and expired ones included."""
    rows = MemoryEntry.objects.of(tenant_id)
    return {row for part in sql.in_chunks(entry_ids) for row in rows.filter(id__in=part).values_list("id", flat=True)}


# The entries that passes retired, for undoing a pass.

TAKES = (LineageKind.MERGED, LineageKind.SUPERSEDED, LineageKind.COMPACTED)


class RetiredCounts(NamedTuple):
    """How many entries a pass retired, how many of them were restored, and how many can be."""

    entries: int = 0
    restored: int = 0
    restorable: int = 0

    @property
    def lost(self) -> int:
        """Those that were removed for good, or retired by a person since."""
        return self.entries - self.restored - self.restorable


def retired_by_passes(
    scope: TenantScope, pass_ids: Collection[UUID], *, since: datetime, now: datetime
) -> dict[UUID, RetiredCounts]:
    """What each of these passes took away; restorable is what it took after ``since``. By what they did, however large
    the ledger is."""
    entries = MemoryEntry.objects.in_scope(scope).filter(id=OuterRef("source_id"))
    counted = (
        _retired_by(scope, pass_ids)
        .values("pass_id")
        .annotate(
            entries=Count("id"),
            restored=Count("id", filter=Exists(entries.live(now))),
            restorable=Count("id", filter=Exists(_still_retired(entries, since))),
        )
    )
    found = counted.values_list("pass_id", "entries", "restored", "restorable")
    return {pass_id: RetiredCounts(*figures) for pass_id, *figures in found if pass_id}


def next_restorable(
    scope: TenantScope, pass_id: UUID, *, since: datetime, after: UUID | None, limit: int
) -> list[tuple[UUID, UUID, datetime]]:
    """The next entries that the pass retired after ``since`` and that are unchanged, after that lineage row: the row,
    the entry, and when it was retired."""
    entries = MemoryEntry.objects.in_scope(scope).filter(id=OuterRef("source_id"))
    rows = _retired_by(scope, [pass_id]).filter(Exists(_still_retired(entries, since)))
    return list(behind(rows, after, "id").values_list("id", "source_id", "created_at")[:limit])


def _retired_by(scope: TenantScope, pass_ids: Collection[UUID]) -> QuerySet[Lineage]:
    rows: QuerySet[Lineage] = Lineage.objects.of(scope.tenant_id).filter(pass_id__in=pass_ids, kind__in=TAKES)
    return rows


def _still_retired(entries: EntryQuerySet, since: datetime) -> EntryQuerySet:
    """Retired by that very pass: lineage is written in the transaction that retires the entry."""
    return entries.filter(retired_at=OuterRef("created_at"), retired_at__gt=since).exclude(retired_kind="")
