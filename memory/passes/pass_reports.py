"""Reports of passes: what went in, what came out, and the figures. Reads only.

Texts come from the adapter, for principals who may read them; a removed entry is represented by its tombstone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import BigIntegerField, Exists, F, OuterRef, QuerySet, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from memory import adapter, memory_policy, passes, provenance
from memory.adapter.passes import RetiredCounts
from memory.host import event_log, ids, sql
from memory.host.events import MemoryConsolidated
from memory.host.models import AuditRecord
from memory.host.paging import Page, cursor, cut, read_page
from memory.host.tenancy import TenantScope
from memory.models import Archive, Lineage, LineageKind, Pass, PassState
from memory.passes import archives, consolidation
from memory.passes.orders import NOTHING, RESTORED, REVIEWED
from memory.text import differences
from memory.text.differences import Diff

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry


COMPARED = (LineageKind.MERGED, LineageKind.SUPERSEDED)
LAST_EVENTS = 8
SHOWN_AROUND = 20
WHY = {
    LineageKind.MERGED: "same statement",
    LineageKind.SUPERSEDED: "an earlier value of the same statement",
    LineageKind.COMPACTED: "its text is a part of it",
    LineageKind.DISTILLED: "it was read for the archive",
}
WOULD: dict[str, str] = {LineageKind.DISTILLED: "it would be read for the archive"}
LOOKED_BACK = 100
LOSS = 2  # times as many entries before a consolidation as after it that deserve attention
WENT_IN = {"consolidate": "inputCount", "compact": "corpusCount", "distill": "corpusCount"}


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of a report: its row when the reader may see it, or else what became of it, in a word."""

    entry_id: UUID
    entry: "MemoryEntry | None" = None
    gone: str = ""
    gone_at: datetime | None = None

    @property
    def id(self) -> str:
        return ids.wire("mem", self.entry_id)


@dataclass(frozen=True, slots=True)
class MergedSource:
    """An entry that went, or would go, into another: why, how it differs, and until when it can be restored."""

    place: Place
    kind: str
    why: str
    diff: Diff | None = None
    restorable_until: datetime | None = None

    @property
    def is_restored(self) -> bool:
        """Whether a pass took it away and it is read again."""
        return bool(self.place.entry and not self.place.entry.retired_at and self.kind != LineageKind.DISTILLED)


@dataclass(frozen=True, slots=True)
class Group:
    """One result with its sources; without a result where a dry run would write one. ``said_by`` counts its sources,
    when known."""

    result: Place | None
    sources: list[MergedSource]
    said_by: int = 0
    last_said_at: datetime | None = None

    @property
    def restored(self) -> int:
        """How many of these sources were restored."""
        return sum(each.is_restored for each in self.sources)

    @property
    def result_word(self) -> str:
        """What is said of the result: strengthened when others said the same, or else kept."""
        return "strengthened" if self.said_by - self.restored > 1 else "kept"


@dataclass(frozen=True, slots=True)
class Report:
    """Groups of one pass, a page of them. ``total`` counts sources; ``after`` is where the next page begins."""

    groups: list[Group]
    total: int
    after: str = ""
    first: int = 1

    @property
    def last(self) -> int:
        return self.first - 1 + sum(len(group.sources) for group in self.groups)


@dataclass(frozen=True, slots=True)
class _Link:
    """A source and what it goes into, wherever that is written down."""

    source: UUID
    target: UUID | None
    kind: str
    why: str
    group: int | UUID


def report(scope: TenantScope, work: Pass, *, after: str, seen: int, size: int, now: datetime) -> Report:
    """What the pass combined, or would as a dry run, after ``after``; ``size`` sources a page."""
    if work.dry_run:
        links = list(_planned(work.outcome.get("groups", [])))
        first = int(after) if after.isascii() and after.isdigit() and len(after) < 9 else 0
        page, total = links[first : first + size], len(links)
        following = str(first + size) if first + size < total else ""
        seen = first
    else:
        behind = ids.parse("lin", after)
        rows = provenance.lineage_of_pass(work.tenant_id, work.id, after=behind, limit=size + 1)
        shown, last = cut(rows, size)
        made = _entry_id(work.outcome.get("outputId"))
        reasons = work.outcome.get("reasons", {})
        page = [_link(row, made, reasons.get(ids.wire("mem", row.source_id), "")) for row in shown]
        total = provenance.count_of_pass(work.tenant_id, work.id)
        following = cursor("lin", last.id if last else None) or ""
        seen = seen if behind else 0
    groups = _groups(scope, page, now, may_restore=not work.dry_run)
    return Report(groups, total, following, seen + 1)


def _link(row: Lineage, made: UUID | None, why: str) -> _Link:
    """The row with the pass's word for ``why``, if any. For a distillate, the entry of its archive."""
    target = made if row.kind == LineageKind.DISTILLED else row.target_id
    said = WHY[LineageKind(row.kind)]
    return _Link(row.source_id, target, row.kind, f"{said}: {why}" if why else said, row.target_id)


def _planned(groups: object) -> Iterator[_Link]:
    """What a dry run wrote down: ids and reasons, no text."""
    for number, group in enumerate(groups if isinstance(groups, list) else []):
        into = _entry_id(group.get("into"))
        for source in group.get("from", []):
            if (found := _entry_id(source)) is not None:
                kind = str(group.get("kind", LineageKind.MERGED))
                yield _Link(found, into, kind, str(group.get("why", WOULD.get(kind, ""))), number)


def _entry_id(text: object) -> UUID | None:
    return ids.parse("mem", text) if isinstance(text, str) else None


def _groups(scope: TenantScope, links: list[_Link], now: datetime, *, may_restore: bool) -> list[Group]:
    targets = {link.target: None for link in links if link.target}
    places = _places(scope, [*(link.source for link in links), *targets], now)
    strengths = adapter.statistics.source_strengths(scope, list(targets))
    window = timedelta(days=memory_policy.policy_of(scope.tenant_id).restore_days if may_restore else 0)
    found = []
    for _, together in groupby(links, key=lambda link: link.group):
        of_group = list(together)
        target = of_group[0].target
        result = places.get(target) if target else None
        said_by, last = strengths.get(target, (0, None)) if target else (0, None)
        sources = [_source(link, places[link.source], result, window, now) for link in of_group]
        found.append(Group(result, sources, said_by, last))
    return found


def _places(scope: TenantScope, entry_ids: Iterable[UUID], now: datetime) -> dict[UUID, Place]:
    """Each of these entries, or what became of it; in two queries."""
    wanted = list(dict.fromkeys(entry_ids))
    there = adapter.console.entries_by_id(scope, wanted, now=now)
    gone = adapter.console.tombstones(scope, [each for each in wanted if each not in there])
    found = {}
    for each in wanted:
        stone = gone.get(each)
        reason = stone.reason if stone else "" if each in there else "not here"
        found[each] = Place(each, there.get(each), reason, stone.removed_at if stone else None)
    return found


def _source(link: _Link, place: Place, result: Place | None, window: timedelta, now: datetime) -> MergedSource:
    diff, until = None, None
    if place.entry and result and result.entry and link.kind in COMPARED and place is not result:
        diff = differences.diff_lines(place.entry.content.splitlines(), result.entry.content.splitlines())
    if place.entry and place.entry.retired_at and place.entry.retired_kind:
        until = place.entry.retired_at + window
    return MergedSource(place, link.kind, link.why, diff, until if until and until > now else None)


def names_merged_entries(work: Pass) -> bool | None:
    """Whether the pass's fact names the entries that went; None when there is no such fact on its log."""
    end = event_log.length(work.tenant_id, work.run_id)
    for event in event_log.read(work.tenant_id, work.run_id, after=end - 1 - LAST_EVENTS, limit=LAST_EVENTS):
        if event.type == MemoryConsolidated.type:
            return "mergedIds" in event.payload
    return None


@dataclass(frozen=True, slots=True)
class Kin:
    """One entry or archive on either side of an entry, and the pass that joined them."""

    kind: str
    place: Place | None = None
    archive: Archive | None = None
    pass_id: UUID | None = None

    @property
    def id(self) -> str:
        if self.archive:
            return ids.wire("arc", self.archive.id)
        return self.place.id if self.place else ""


@dataclass(frozen=True, slots=True)
class Kinship:
    """The lineage of one entry in both directions, the first few of each side with the total.

    ``text_of`` is the archive whose text the entry is. ``is_empty`` is False for an entry that a pass made or removed,
    even when the rows of its lineage are gone.
    """

    text_of: Archive | None
    sources: list[Kin]
    sources_total: int
    became: list[Kin]
    became_total: int
    is_empty: bool


def kinship(scope: TenantScope, entry: "MemoryEntry", *, now: datetime) -> Kinship:
    """What the entry was made from and what it went into, oldest first; in a fixed number of queries."""
    text_of = archives.archive_of_entry(scope, entry.id)
    into = provenance.sources_of_entry(scope.tenant_id, entry.id, archive_id=text_of.id if text_of else None)
    out_of = provenance.descendants_of_entry(scope.tenant_id, entry.id)
    sources, came = (list(rows.order_by("id")[:SHOWN_AROUND]) for rows in (into, out_of))
    into_total, out_total = (
        len(shown) if len(shown) < SHOWN_AROUND else rows.count() for shown, rows in ((sources, into), (came, out_of))
    )
    passed = bool(text_of or sources or came or entry.derived or entry.retired_kind)
    joined = _kin(scope, [*sources, *came], entry.id, now)
    return Kinship(text_of, joined[: len(sources)], into_total, joined[len(sources) :], out_total, not passed)


def kin_page(
    scope: TenantScope, entry: "MemoryEntry", *, sources: bool, after: UUID | None, size: int, now: datetime
) -> Page[Kin]:
    """One page of what the entry was made from, or else of what it went into, oldest first."""
    text_of = archives.archive_of_entry(scope, entry.id)
    into = provenance.sources_of_entry(scope.tenant_id, entry.id, archive_id=text_of.id if text_of else None)
    found = read_page(
        into if sources else provenance.descendants_of_entry(scope.tenant_id, entry.id), after, size, order="id"
    )
    return found.with_rows(_kin(scope, found.rows, entry.id, now))


def _kin(scope: TenantScope, rows: list[Lineage], entry_id: UUID, now: datetime) -> list[Kin]:
    """The other side of each row: of those from this entry the target, an archive or an entry."""
    made_from = {row.id: row.source_id != entry_id for row in rows}
    distilled = [row.target_id for row in rows if not made_from[row.id] and row.kind == LineageKind.DISTILLED]
    made = archives.find_archives(scope.tenant_id, distilled)
    others = {row.id: row.source_id if made_from[row.id] else row.target_id for row in rows}
    places = _places(scope, [each for each in others.values() if each not in made], now) if rows else {}
    return [Kin(row.kind, places.get(others[row.id]), made.get(others[row.id]), row.pass_id) for row in rows]


# A pass in figures: what went in, what came out, and whether it deserves attention. Reads only.


@dataclass(frozen=True, slots=True)
class Summary:
    """A pass as one line of a list. ``went_in`` and ``came_out`` count entries as the pass left them; None without an
    outcome. ``taken`` is what became since of the entries it retired, where requested."""

    work: Pass
    went_in: int | None
    came_out: int | None
    taken: RetiredCounts = NOTHING

    @property
    def ratio(self) -> float | None:
        """How much of what went in the pass left, from 0 to 1."""
        return self.came_out / self.went_in if self.went_in and self.came_out is not None else None

    @property
    def seconds(self) -> float | None:
        return (self.work.finished_at - self.work.created_at).total_seconds() if self.work.finished_at else None

    @property
    def reason(self) -> str:
        """Why it did not do what was asked, as its run says; "" when it did."""
        return str((self.work.run.error or {}).get("message", self.work.code)) if self.work.code else ""

    @property
    def unusual(self) -> str:
        """Why the pass deserves attention; "" otherwise."""
        if self.work.state == PassState.FAILED:
            return "it has failed"
        left = (self.came_out or 0) + self.taken.restored
        if self.work.kind == consolidation.KIND and self.ratio is not None and LOSS * left < (self.went_in or 0):
            return "more than half of the entries are gone"
        return ""


def summary(work: Pass, taken: RetiredCounts = NOTHING) -> Summary:
    """What went in and what came out, in entries: one archive or compacted entry represents everything that went into
    it."""
    outcome = work.outcome
    went_in = _number(outcome.get(WENT_IN.get(work.kind, "")))
    came_out = _number(outcome.get("outputCount"))
    if work.kind == "compact" and went_in is not None:
        came_out = went_in - (_number(outcome.get("sourceCount")) or 1) + 1
    return Summary(work, went_in, came_out, taken)


def recent_losses(scope: TenantScope, *, since: datetime) -> QuerySet[Pass]:
    """Return consolidations since then that lost more than half of the entries, oldest first: those neither undone nor
    reviewed."""
    went_in, came_out = (Cast(KT(f"outcome__{name}"), BigIntegerField()) for name in ("inputCount", "outputCount"))
    # SQLite has no statistics: the wrapped columns keep it from the indexes that begin with most records and passes.
    records = AuditRecord.objects.of(scope.tenant_id).alias(act=Coalesce("action", Value("")))
    settled = records.filter(act__in=(RESTORED, REVIEWED), target=sql.wire_id("pass", OuterRef("id")))
    rows = Pass.objects.of(scope.tenant_id).alias(of=Coalesce("kind", Value("")), went_in=went_in, came_out=came_out)
    rows = rows.filter(of=consolidation.KIND, dry_run=False, state=PassState.DONE, created_at__gt=since)
    return rows.filter(~Exists(settled), went_in__gt=LOSS * F("came_out")).order_by("id")


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The last consolidation of a ref in which nothing had been written since the one before, and whether it found
    nothing to do."""

    work: Pass
    before: Pass

    @property
    def was_idle(self) -> bool:
        return not any(self.work.outcome.get(name) for name in ("merged", "superseded", "written"))


def last_repeat(scope: TenantScope) -> Repeat | None:
    """Among the last hundred consolidations by rules; None when each came upon something new."""
    rows = passes.latest(scope.tenant_id, kinds=("consolidate",), limit=LOOKED_BACK)
    done = [row for row in rows if row.state == PassState.DONE and not row.dry_run]
    for place, row in enumerate(done):
        before = next((each for each in done[place + 1 :] if each.memory_ref == row.memory_ref), None)
        if before and before.finished_at and not _found_changes(scope, row, before, before.finished_at):
            return Repeat(row, before)
    return None


def _found_changes(scope: TenantScope, work: Pass, before: Pass, since: datetime) -> bool:
    until = work.created_at
    return adapter.statistics.was_written_by_others(
        scope, work.memory_ref, since=since, until=until, but_by=before.run_id
    )
