"""Filters, full text and facets over the ledger, on top of the adapter: what the ledger page and the console API ask.

Pages use keysets, newest first. The total is exact for the whole ledger, an agent and a node (maintained counts), and
up to 10,000 matches of another filter; beyond, the page says "10,000+". A search by words ranks entries that contain
any of them, the best first, and by meaning as well where the tenant has an embedding endpoint. Ordered newest first,
every word must occur, and a page scans a bounded number of entries: a page that stopped before the end says so
(``is_partial``), may be short or empty, and continues from its ``after``.

Facet counts are taken over the first ``SAMPLED`` matches, so that they cost the same in a ledger of any size. With more
matches a count is a lower bound ("312+"), and values that only older entries have are missing.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db.models import BigIntegerField, F, Func, Q, QuerySet
from django.db.models.lookups import LessThanOrEqual

from memory import adapter, embeddings, ledger
from memory.adapter.console import Sampled
from memory.addresses import PREFIX
from memory.embeddings import Meaning
from memory.host import ids, sql, tenancy
from memory.host.json_types import JSONObject
from memory.host.paging import cut
from memory.host.tenancy import TenantScope
from memory.text.matching import search_form
from memory.text.search_words import Sought, language_of, sought, without_stop_words

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

INDEXED_AT_ONCE = 512
SHOWN = (
    "id",
    "memory_ref",
    "content",
    "tags",
    "subject",
    "run_id",
    "node_id",
    "agent_id",
    "created_at",
    "expires_at",
    "retired_at",
    "retired_reason",
    "derived",
    "protected",
    "retired_kind",
    "tokens",
    "sha256",
    "redactions",
    "secret_shapes",
    "sealed",
    "run__workflow_id",
    "run__agent_id",
    "run__status",
    "run__system",
    "run__external",
)
STATES = ("present", "retired", "all")
TIMES = ("since", "until")
RELEVANCE, NEWEST = "relevance", "newest"
ORDERS = (RELEVANCE, NEWEST)


@dataclass(frozen=True, slots=True)
class FilterField:
    """How a field of the filter is asked for: by the ``parameter`` of the page, which ``label`` puts in words, and by a
    name on the ``wire`` of the console API."""

    parameter: str
    label: str
    wire: str = ""
    # Its only values, where it has a fixed list of them; the page refuses any other.
    words: tuple[str, ...] = ()
    # Whether the words of a search may name it: ``ref:notes``, ``tag:"a b"``.
    in_search: bool = False
    # Whether its text is a parameter of a statement, which looks up nothing first.
    shaped: bool = False
    # The column of ``adapter.console.Sampled`` whose values its facet counts; and whether the facet begins folded.
    column: str = ""
    folded: bool = False


def _by(parameter: str, label: str, *, default: str = "", **more: Any) -> Any:
    return field(default=default, metadata={"filter": FilterField(parameter, label, **more)})


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """What to show. Empty means everything.

    A field is declared here and gets its condition in ``_matching`` (or ``_newest``, where it leads to the rows); the
    page, saved views, exports and the API follow. A facet has its place in ``FACETS``, other fields have an input in
    ``memory/ledger.html``, and what the API takes is checked by its ``MemoryQuery``.

    ``tier``, ``namespace`` and ``sensitivity`` are an address's, which entries of OpenIntent alone have. ``system`` and
    ``thread`` are what an agent elsewhere states of the last write; ``run`` and ``node`` are what this host has seen,
    or what is stated so. ``since`` and ``until`` bound when it was written. ``order`` is that of what ``text`` finds:
    relevance, unless it is to be the newest first.
    """

    agent: str = _by("agent", "Agent", wire="agentId", in_search=True, shaped=True, column="agent_id")
    run: str = _by("run", "Run", wire="runId", in_search=True)
    node: str = _by("node", "Node", wire="nodeId", in_search=True, column="node_id")
    tag: str = _by("tag", "Tag", wire="tag", in_search=True, shaped=True)
    memory_ref: str = _by(
        "ref", "Memory ref", wire="memoryRef", in_search=True, shaped=True, column="memory_ref", folded=True
    )
    subject: str = _by("subject", "Subject", in_search=True, shaped=True, column="subject", folded=True)
    text: str = _by("q", "Text", wire="q")
    state: str = _by("state", "State", wire="state", words=STATES, default="present")
    tier: str = _by("tier", "Tier", wire="tier", folded=True)
    principal: str = _by(
        "by", "Key or person", wire="principal", in_search=True, shaped=True, column="principal", folded=True
    )
    namespace: str = _by("namespace", "Namespace", wire="namespace", in_search=True)
    sensitivity: str = _by("sensitivity", "Sensitivity", wire="sensitivity", column="sensitivity", folded=True)
    system: str = _by("system", "Origin, as stated", wire="system", in_search=True, column="system", folded=True)
    thread: str = _by("thread", "Thread, as stated", wire="threadId", in_search=True)
    order: str = _by("order", "Order", wire="order", words=ORDERS)
    since: datetime | None = None
    until: datetime | None = None

    def with_fields(self) -> "LedgerFilter":
        """Add the fields named in the text; a field that is set already stays."""
        named = {IN_SEARCH[name]: value.strip('"') for name, value in NAMED.findall(self.text)}
        open_fields = {field: value for field, value in named.items() if not getattr(self, field)}
        if len(open_fields) < len(named):
            return self
        return replace(self, text=NAMED.sub("", self.text).strip(), **open_fields) if named else self

    def text_in_quotes(self) -> str:
        """The text with its words in quotes, behind the fields that it names."""
        words = self.with_fields().text
        named = [found[0] for found in NAMED.finditer(self.text)] if words != self.text else []
        return " ".join([*named, '"{}"'.format(words.replace('"', " ").strip())])

    @property
    def place(self) -> dict[str, str]:
        """The conditions on an address."""
        return {"tier": self.tier, "namespace": self.namespace, "sensitivity": self.sensitivity}

    @property
    def document(self) -> JSONObject:
        """The fields that are set, as they are stored with a pass."""
        said = {name: value for name, value in asdict(self).items() if value}
        return said | {name: said[name].isoformat() for name in TIMES if name in said}

    @classmethod
    def of_document(cls, document: JSONObject) -> "LedgerFilter":
        known = {each.name for each in fields(cls)}
        said = {name: value for name, value in document.items() if name in known}
        return cls(**(said | {name: datetime.fromisoformat(said[name]) for name in TIMES if name in said}))

    @property
    def is_empty(self) -> bool:
        return replace(self, order="") == LedgerFilter()


FIELDS: dict[str, FilterField] = {
    each.name: each.metadata["filter"] for each in fields(LedgerFilter) if "filter" in each.metadata
}
IN_SEARCH = {each.parameter: name for name, each in FIELDS.items() if each.in_search}
NAMED = re.compile(rf'(?:^|(?<=\s))({"|".join(IN_SEARCH)}):("[^"]+"|[^\s"]+)')
SHAPED = tuple(name for name, each in FIELDS.items() if each.shaped)


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """One page: its entries, the total, and the id to continue after; ``meaning`` is the query's vector if it was
    ranked by one."""

    entries: "list[MemoryEntry]"
    total: int
    total_is_exact: bool
    first: int
    after: UUID | None
    is_partial: bool = False
    meaning: Meaning | None = None

    @property
    def is_ranked(self) -> bool:
        return self.meaning is not None

    @property
    def last(self) -> int:
        return self.first + len(self.entries) - 1

    @property
    def is_inexact(self) -> bool:
        return not self.total_is_exact


def ledger_page(
    scope: TenantScope, wanted: LedgerFilter, *, after: UUID | None = None, seen: int = 0, size: int = 50, now: datetime
) -> LedgerPage:
    """Return the page of ``size`` entries after ``after``; ``seen`` is the number of entries before it."""
    wanted = wanted.with_fields()
    if search_form(wanted.text):
        search = _Search.build(scope, wanted, now)
        if wanted.order == NEWEST:
            return _page_by_words(scope, search, after, seen, size)
        meaning = embeddings.meaning_of(scope.tenant_id, wanted.text)
        ranked = _page_by_relevance(scope, search.with_meaning(meaning), after, seen, size)
        return replace(ranked, meaning=meaning)
    found = _rows_after(scope, wanted, now, after, size + 1)
    total, exact = _total(scope, wanted, now)
    shown, last = cut(found, size)
    return LedgerPage(shown, total, exact, seen + 1, last.id if last else None)


def matches_any_word(wanted: LedgerFilter) -> bool:
    """Whether a ranked search for this has several words that say something, any of which counts."""
    words = sought(wanted.with_fields().text)
    return not words.phrases and len(without_stop_words(words.asked, language_of(words.asked))) > 1


def export_entries(scope: TenantScope, wanted: LedgerFilter, *, now: datetime) -> Iterator[adapter.console.Exported]:
    """Yield all that match, in order, read in chunks for a file."""
    for chunk in export_chunks(scope, wanted, now=now):
        yield from chunk


def export_chunks(
    scope: TenantScope, wanted: LedgerFilter, *, now: datetime
) -> Iterator[list[adapter.console.Exported]]:
    """Yield the chunks of ``export_entries``: no statement and no transaction is open between two of them."""
    wanted = wanted.with_fields()
    if search_form(wanted.text):
        search = _Search.build(scope, wanted, now)
        if wanted.order == NEWEST:
            yield from _every_by_words(scope, search)
        else:
            meaning = embeddings.meaning_of(scope.tenant_id, wanted.text)
            yield from _every_by_relevance(scope, search.with_meaning(meaning))
        return
    after = None
    while chunk := adapter.console.export_rows(scope, _newest(scope, wanted, now, after)[: adapter.console.EXPORTED]):
        yield chunk
        after = chunk[-1].entry_id


class Match(NamedTuple):
    """An entry that matches, and where it was last written: enough to go on behind it, although it is gone by then."""

    id: UUID
    position: int


def every_match(scope: TenantScope, wanted: LedgerFilter, *, upto: int, now: datetime) -> Iterator[list[UUID]]:
    """Yield in chunks, newest first, all that match and were last written at or before the position ``upto``. With a
    text, an entry has each of its words."""
    for chunk in matches_behind(scope, wanted, None, upto=upto, now=now):
        yield [each.id for each in chunk]


def matches_behind(
    scope: TenantScope, wanted: LedgerFilter, behind: Match | None, *, upto: int, now: datetime
) -> Iterator[list[Match]]:
    """``every_match`` from the match after ``behind`` on, which need not match any more, or be there."""
    wanted = replace(wanted.with_fields(), order=NEWEST)
    if search_form(wanted.text):
        below = behind.position if behind else upto + 1
        yield from _every_match_by_words(scope, _Search.build(scope, wanted, now), below)
        return
    after = behind.id if behind else None
    while True:
        rows = _newest(scope, wanted, now, after).filter(LessThanOrEqual(PLAIN_POSITION, upto))
        chunk = [Match(*row) for row in rows.values_list("id", "position")[: sql.CHUNK]]
        if not chunk:
            return
        yield chunk
        after = chunk[-1].id


def _every_match_by_words(scope: TenantScope, search: "_Search", below: int | None) -> Iterator[list[Match]]:
    while below is not None:
        found = search.page_below(scope, below, sql.CHUNK)
        rows = search.shown.filter(position__in=found.positions).order_by("-position")
        if chunk := [Match(*row) for row in rows.values_list("id", "position")]:
            yield chunk
        below = found.positions[-1] if len(found.positions) == sql.CHUNK else found.floor


def sample(scope: TenantScope, wanted: LedgerFilter, *, size: int, now: datetime) -> list[adapter.console.Sampled]:
    """Return the first ``size`` that match, for facets to count: the newest, or those that have the words of a
    search."""
    wanted = wanted.with_fields()
    if not search_form(wanted.text):
        marked, shape, values = _shaped(scope, wanted, now, None, size)
        return adapter.console.sample_rows(
            scope, lambda: _newest(scope, marked, now, None)[:size], shape=shape, values=values
        )
    search = _Search.build(scope, wanted, now)
    if wanted.order == NEWEST:
        positions = search.page_below(scope, None, size).positions
    else:
        positions = adapter.fulltext.best_matches(scope, search.rows, search.words, limit=size).positions
    found = search.shown.filter(position__in=positions)
    return adapter.console.sample_rows(scope, lambda: found) if positions else []


@dataclass(frozen=True, slots=True)
class _Search:
    """The words of a search, and the rows that the rest of the filter leaves; ``rows`` is None for every row."""

    words: Sought
    shown: "QuerySet[MemoryEntry]"
    rows: "QuerySet[MemoryEntry] | None"

    @classmethod
    def build(cls, scope: TenantScope, wanted: LedgerFilter, now: datetime) -> "_Search":
        times, span = adapter.console.creation_window(wanted.since, wanted.until)
        rows = _matching(scope, wanted, now).filter(times, **span.lookups("id"))
        words, shown = sought(wanted.text), _at_address(rows, scope, wanted)
        if wanted.tag:
            shown = adapter.console.with_tag(shown, scope, wanted.tag)
        literals = words.literals if wanted.order == NEWEST else words.phrases
        for literal in literals:
            shown = shown.filter(search_text__contains=literal)
        is_every_row = wanted == LedgerFilter(text=wanted.text, order=wanted.order) and not literals
        return cls(
            words, shown, None if is_every_row and adapter.console.is_every_row_visible(scope, now=now) else shown
        )

    def with_meaning(self, meaning: Meaning) -> "_Search":
        return replace(self, words=replace(self.words, meaning=meaning.vector))

    def page_below(self, scope: TenantScope, below: int | None, limit: int) -> adapter.fulltext.Found:
        return adapter.fulltext.newest_matches(scope, self.rows, self.words, below=below, limit=limit)


def _page_by_relevance(scope: TenantScope, search: _Search, after: UUID | None, seen: int, size: int) -> LedgerPage:
    behind = None
    if after is not None:
        behind = search.shown.filter(id=after).values_list("position", flat=True).first() or -1
    found = adapter.fulltext.best_matches(scope, search.rows, search.words, after=behind, seen=seen, limit=size)
    entries = _at(scope, search.shown, found.positions)
    total = found.count if found.is_exact else seen + len(entries) + (not found.is_end)
    more = entries[-1].id if entries and not found.is_end else None
    return LedgerPage(entries, total, found.is_exact, seen + 1, more)


def _every_by_relevance(scope: TenantScope, search: _Search) -> Iterator[list[adapter.console.Exported]]:
    found = adapter.fulltext.best_matches(scope, search.rows, search.words, limit=adapter.console.COUNTED)
    for chunk in sql.in_chunks(found.positions):
        places = {position: place for place, position in enumerate(chunk)}
        rows = adapter.console.export_rows(scope, search.shown.filter(position__in=chunk))
        yield sorted(rows, key=lambda row: places[row.position])


def _page_by_words(scope: TenantScope, search: _Search, after: UUID | None, seen: int, size: int) -> LedgerPage:
    """Search from the place of the page, and count from the top, unless the first page is all there is."""
    below = None if after is None else adapter.fulltext.position_of(scope, after)
    found = search.page_below(scope, below, size + 1)
    count, is_all = len(found.positions), found.floor is None
    if below is not None or count > size:
        count, is_all = adapter.fulltext.count_matches(
            scope, search.rows, search.words, limit=adapter.console.COUNTED + 1
        )
    entries = _at(scope, search.shown, found.positions[:size])
    if len(found.positions) > size:
        more, is_partial = adapter.fulltext.entry_id_at(scope, found.positions[size - 1]), False
    else:
        more, is_partial = (
            adapter.fulltext.entry_id_at(scope, found.floor) if found.floor else None,
            found.floor is not None,
        )
    is_exact = is_all and count <= adapter.console.COUNTED
    total = count if is_exact else max(min(count, adapter.console.COUNTED), seen + len(entries))
    return LedgerPage(entries, total, is_exact, seen + 1, more, is_partial)


def _every_by_words(scope: TenantScope, search: _Search) -> Iterator[list[adapter.console.Exported]]:
    below: int | None = None
    while True:
        found = search.page_below(scope, below, sql.CHUNK)
        yield adapter.console.export_rows(
            scope, search.shown.filter(position__in=found.positions).order_by("-position")
        )
        below = found.positions[-1] if len(found.positions) == sql.CHUNK else found.floor
        if below is None:
            return


def _at(scope: TenantScope, rows: "QuerySet[MemoryEntry]", positions: list[int]) -> "list[MemoryEntry]":
    """Return the entries at these positions, in their order."""
    if not positions:
        return []
    found = rows.filter(position__in=positions).select_related("run").only(*SHOWN, "position")
    places = {position: place for place, position in enumerate(positions)}
    return _with_details(scope, sorted(sql.fetch(found), key=lambda entry: places[entry.position]))


def _with_details(scope: TenantScope, rows: "list[MemoryEntry]") -> "list[MemoryEntry]":
    """Load what a list shows of the entries."""
    return adapter.console.with_origins(scope, adapter.console.with_addresses(scope, rows))


def within_budget(
    scope: TenantScope, memory_ref: str, wanted: adapter.runs.Injection, *, tag: str = "", limit: int = 0, now: datetime
) -> LedgerPage:
    """Return what of a ref fits into a context (RFC 0113), and the total; a key bound to agents gets what they
    wrote."""
    scope.check("memory:read")
    of_ref = LedgerFilter(memory_ref=memory_ref, tag=tag)
    meaning = embeddings.meaning_of(scope.tenant_id, wanted.query) if wanted.rank == adapter.runs.RELEVANCE else None
    wanted = replace(wanted, meaning=meaning.vector if meaning else b"")
    bound, place = scope.principal.agent_ids, tenancy.memory_scope(scope, memory_ref)
    records = (
        adapter.runs.list_entries(place, now=now, limit=limit, tag=tag, wanted=wanted, written_by=bound)
        if place
        else []
    )
    rows = adapter.console.entries_with_writers(scope, [record.id for record in records], now=now)
    total, exact = _total(scope, of_ref, now)
    return LedgerPage([rows[each.id] for each in records if each.id in rows], total, exact, 1, None, meaning=meaning)


def index_words() -> int:
    """Index every entry of every tenant that is not in the index of full text yet; return their number."""
    done = 0
    for tenant_id in ledger.index.tenants_behind():
        while indexed := ledger.index.catch_up(tenant_id, most=INDEXED_AT_ONCE):
            done += indexed
    return done


def _rows_after(
    scope: TenantScope, wanted: LedgerFilter, now: datetime, after: UUID | None, size: int
) -> "list[MemoryEntry]":
    marked, shape, values = _shaped(scope, wanted, now, after, size)

    def rows() -> "QuerySet[MemoryEntry]":
        return _newest(scope, marked, now, after).select_related("run").only(*SHOWN)[:size]

    return _with_details(scope, sql.fetch_of_shape(shape and ("ledger", *shape), values, rows))


def _shaped(
    scope: TenantScope, wanted: LedgerFilter, now: datetime, after: UUID | None, size: int
) -> tuple[LedgerFilter, tuple[Hashable, ...] | None, list[object]]:
    """Return the filter with its texts marked, the shape of the statements that list the first ``size``, and the values
    in which those of one shape differ. A filter with more than ``SHAPED`` has no shape."""
    scope.check("memory:read")  # a statement that is compiled already asks the scope for nothing
    marked: dict[str, Any] = {name: sql.Text.of(text) for name in SHAPED if (text := getattr(wanted, name))}
    unset: dict[str, Any] = dict.fromkeys(SHAPED, "")
    rest = replace(wanted, state="present", order="", **unset)
    if rest != LedgerFilter() or scope.principal.agent_ids is not None:
        return wanted, None, []
    values = [scope.tenant_id, now, *marked.values(), *([after] if after else [])]
    leads = bool(wanted.tag) and _tag_leads(scope, wanted)
    return replace(wanted, **marked), (wanted.state, *marked, leads, after is None, size), values


def _newest(scope: TenantScope, wanted: LedgerFilter, now: datetime, after: UUID | None) -> "QuerySet[MemoryEntry]":
    """Return the matches after ``after``, newest first: led by the tag, by the stated origin, by who wrote it, by
    the address, or by the entry itself."""
    leading = {} if wanted.tag else _stated_alone(scope, wanted)
    writers: list[_Writer] | None = None
    if leading:
        wanted = replace(wanted, system="", thread="", node="" if "node" in leading else wanted.node)
    elif wanted.run and not wanted.tag:
        writers, wanted = _writers_of_run(scope, wanted.run), replace(wanted, run="")
    elif wanted.node and not wanted.tag:
        writers, wanted = _writers_of_node(scope, wanted.node), replace(wanted, node="")
    rows, (times, written) = _matching(scope, wanted, now), adapter.console.creation_window(wanted.since, wanted.until)
    rows, span = rows.filter(times), written.behind(after)
    if wanted.tag:
        found, leads = _at_address(rows, scope, wanted), _tag_leads(scope, wanted)
        return adapter.console.newest_with_tag(found, scope, wanted.tag, span=span, leads=leads)
    if leading:
        return adapter.console.newest_with_stated_origin(_at_address(rows, scope, wanted), scope, span=span, **leading)
    if writers is not None:
        return _newest_by(scope, _at_address(rows, scope, wanted), writers, span)
    if any(wanted.place.values()) and not any((wanted.agent, wanted.memory_ref, wanted.subject, wanted.principal)):
        return adapter.console.newest_at_address(rows, scope, span=span, **wanted.place)
    return _at_address(rows, scope, wanted).filter(**span.lookups("id")).order_by("-id")


def _tag_leads(scope: TenantScope, wanted: LedgerFilter) -> bool:
    """Return whether the entries with the tag are few, or nothing else could lead to fewer; SQLite begins with the tag
    anyway."""
    alone = LedgerFilter(tag=wanted.tag, order=wanted.order, since=wanted.since, until=wanted.until)
    if replace(wanted, state="present") == alone and wanted.state != "retired":
        return True
    return not sql.is_postgres() or adapter.console.is_rare_tag(scope, wanted.tag)


def _at_address(rows: "QuerySet[MemoryEntry]", scope: TenantScope, wanted: LedgerFilter) -> "QuerySet[MemoryEntry]":
    return adapter.console.at_address(rows, scope, **wanted.place)


def _total(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> tuple[int, bool]:
    by_writer = LedgerFilter(state=wanted.state, order=wanted.order, agent=wanted.agent, node=wanted.node)
    stated = bool(wanted.node) and adapter.console.has_stated_origin(
        scope, node=wanted.node
    )  # the days count what was seen alone
    if wanted == by_writer and not stated and scope.principal.agent_ids is None:
        return adapter.console.count_entries(
            scope, state=wanted.state, agent_id=wanted.agent, node_id=wanted.node, now=now
        ), True
    counted = _newest(scope, wanted, now, None).values("id")[: adapter.console.COUNTED + 1].count()
    return min(counted, adapter.console.COUNTED), counted <= adapter.console.COUNTED


def _matching(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> "QuerySet[MemoryEntry]":
    """Return the condition without the tag and the address, which lead to the rows where they are given."""
    rows = adapter.console.visible_entries(scope, now=now)
    if wanted.state != "all":
        rows = rows.filter(retired_at__isnull=wanted.state != "retired")
    if wanted.run:
        rows = _written_by(scope, rows, _writers_of_run(scope, wanted.run))
    if wanted.node:
        rows = _written_by(scope, rows, _writers_of_node(scope, wanted.node))
    if stated := _stated(wanted):
        rows = adapter.console.with_stated_origin(rows, scope, **stated)
    if wanted.subject:
        rows = rows.filter(~Q(subject=""), subject=wanted.subject)  # as the index of subjects says it
    exact = {"agent_id": wanted.agent, "memory_ref": wanted.memory_ref, "principal": wanted.principal}
    return rows.filter(**{field: value for field, value in exact.items() if value})


def _stated(wanted: LedgerFilter) -> dict[str, str]:
    """Return the conditions that only a stated origin can meet, by the columns of an origin."""
    exact = {"system": wanted.system, "thread_id": wanted.thread}
    return {name: value for name, value in exact.items() if value}


def _stated_alone(scope: TenantScope, wanted: LedgerFilter) -> dict[str, str]:
    """Return ``_stated`` with the node, if no node of this host has that name: all that origins alone can answer."""
    stated, node = _stated(wanted), wanted.node
    if (
        node
        and adapter.console.has_stated_origin(scope, node=node)
        and not adapter.console.has_observed_write(scope, node_id=node)
    ):
        return stated | {"node": node}
    return stated


@dataclass(frozen=True, slots=True)
class _Writer:
    """One way to find the writes of a run or a node: by a column of the entry, or by the stated origin."""

    exact: dict[str, Any]
    is_stated: bool = False

    def written(self, scope: TenantScope, rows: "QuerySet[MemoryEntry]") -> "QuerySet[MemoryEntry]":
        """Return the condition, for a query that another one leads."""
        return (
            adapter.console.with_stated_origin(rows, scope, **self.exact)
            if self.is_stated
            else rows.filter(**self.exact)
        )

    def newest(
        self, scope: TenantScope, rows: "QuerySet[MemoryEntry]", span: adapter.console.Span
    ) -> "QuerySet[MemoryEntry]":
        if self.is_stated:
            return adapter.console.newest_with_stated_origin(rows, scope, span=span, **self.exact)
        return rows.filter(**self.exact, **span.lookups("id")).order_by("-id")


def _writers_of_node(scope: TenantScope, node: str) -> list[_Writer]:
    """Return what finds the writes of a node of that name, observed by this host or stated by an agent. One without
    any write is left out, since two at once are slower than one."""
    observed = [_Writer({"node_id": node})]
    if not adapter.console.has_stated_origin(scope, node=node):
        return observed
    stated = [_Writer({"node": node}, is_stated=True)]
    return [*observed, *stated] if adapter.console.has_observed_write(scope, node_id=node) else stated


def _writers_of_run(scope: TenantScope, run: str) -> list[_Writer]:
    """Return what finds the writes on the log of a run here, by its id, or stated to come from an external run of
    that id."""
    run_id = ids.parse("run", run)
    observed = [_Writer({"run_id": run_id})] if run_id else []
    stated: list[dict[str, Any]] = [*([{"run_id": run_id}] if run_id else []), {"run_ref": run}]
    return [
        *observed,
        *(_Writer(each, is_stated=True) for each in stated if adapter.console.has_stated_origin(scope, **each)),
    ]


def _newest_by(
    scope: TenantScope, rows: "QuerySet[MemoryEntry]", writers: Sequence[_Writer], span: adapter.console.Span
) -> "QuerySet[MemoryEntry]":
    lists = [each.newest(scope, rows, span) for each in writers]
    if len(lists) > 1:
        return adapter.console.newest_on_any(scope, lists)
    return lists[0] if lists else rows.none()


def _written_by(
    scope: TenantScope, rows: "QuerySet[MemoryEntry]", writers: Sequence[_Writer]
) -> "QuerySet[MemoryEntry]":
    return reduce(or_, (each.written(scope, rows) for each in writers), rows.none())


SAMPLED = 1_000
# Not looked up in the index of positions, which would lead to nearly every entry.
PLAIN_POSITION = Func(F("position"), template="(+%(expressions)s)", output_field=BigIntegerField())
AGES = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
# The fields of the filter whose values are offered with their counts, in the order of the page.
FACETS = ("agent", "node", "tag", "subject", "memory_ref", "system", "principal", "tier", "sensitivity")


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """The number of entries with each value; with ``is_bound``, of more entries than were counted."""

    of: Mapping[str, int] = field(default_factory=dict)
    is_bound: bool = False


def facet_counts(scope: TenantScope, wanted: LedgerFilter, *, now: datetime) -> dict[str, FacetCounts]:
    """Count every value of each facet, regardless of what is chosen in that facet; with ``state`` and ``age``."""
    wanted = wanted.with_fields()
    every = _sample(scope, replace(wanted, state="all"), now)
    here = every if wanted.state == "all" else [each for each in every if _state(each) == wanted.state]
    if wanted.state == "retired" and len(every) > SAMPLED:
        here = _sample(scope, wanted, now)
    is_bound = len(every) > SAMPLED
    states = Counter(map(_state, every[:SAMPLED]))
    found = {"state": FacetCounts(states | Counter(all=states.total()), is_bound)}
    for name in FACETS:
        among = here
        if getattr(wanted, name):
            unset: dict[str, Any] = {name: ""}
            among = _sample(scope, replace(wanted, **unset), now)
        found[name] = FacetCounts(_counted(name, among[:SAMPLED]), is_bound if among is here else len(among) > SAMPLED)
    ever = here if not wanted.since else _sample(scope, replace(wanted, since=None), now)
    found["age"] = FacetCounts(_ages(ever[:SAMPLED], now), is_bound or len(ever) > SAMPLED)
    return found


def _sample(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> list[Sampled]:
    return sample(scope, wanted, size=SAMPLED + 1, now=now)


def _counted(name: str, among: list[Sampled]) -> Counter[str]:
    """Count the entries with each value. Columns are counted as they are, and a packed text is parsed once per text."""
    found: Counter[str] = Counter()
    if name == "tag":
        for tags, entries in Counter(each.tags for each in among).items():
            found.update(dict.fromkeys(sql.as_document(tags), entries))
    elif name == "tier":
        for memory_ref, entries in Counter(each.memory_ref for each in among).items():
            if memory_ref.startswith(PREFIX):
                found[memory_ref.removeprefix(PREFIX).partition("/")[0]] += entries
    else:
        found.update(map(attrgetter(FIELDS[name].column), among))
    for nothing in ("", None):
        found.pop(nothing, None)  # type: ignore[arg-type]  # of a column that may be null
    return found


def _state(each: Sampled) -> str:
    return "present" if each.retired_at is None else "retired"


def _ages(among: list[Sampled], now: datetime) -> Counter[str]:
    made = sorted(each.created_at for each in among)
    return Counter({name: len(made) - bisect_left(made, sql.least_text(now - ago)) for name, ago in AGES.items()})
