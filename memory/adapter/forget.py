"""What a forget searches: the texts of entries, and the names in their other columns."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.host import sql
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag, MemoryEntry, Retirement, Tombstone
from memory.text.matching import Mention, mention, needles, second_look, shadows

NAMES = ("agent_id", "created_by", "curated_by", "task_id", "intent_id")
NAMES_AT_ONCE = 200  # each is a parameter in every one of ``NAMES``
LOOKED_AT = 2000  # rows of which the texts are looked through in one go
MANY = 10_000  # ids in one statement: they are one parameter there
BEGINNING, END = UUID(int=0), UUID(int=2**128 - 1)
# Everything that an entry says, as it was written and as it was decoded then.
WRITTEN = (
    "SELECT e.id, e.content, e.subject, e.memory_ref, e.tags, e.search_text, e.hidden_text, a.namespace, a.key "
    "FROM memory_memoryentry e LEFT JOIN memory_entryaddress a ON a.tenant_id = e.tenant_id AND a.id = e.id "
    "WHERE e.tenant_id = %s AND "
)
DECODED = 6  # the place of ``hidden_text``
AFTER = "e.position > %s AND "
BETWEEN = "e.id > %s AND e.id <= %s"
# The texts of a page of rows, one text a column, put together by the engine: most pages have no trace of the subject.
PAGES = {
    "memory_memoryentry": ("content", "subject", "memory_ref", "tags", "search_text", "hidden_text"),
    "memory_entryaddress": ("namespace", "key"),
}
PAGE = "SELECT {texts} FROM {table} WHERE tenant_id = %s AND id > %s AND id <= %s"
LAST_OF_PAGE = "SELECT id FROM {table} WHERE tenant_id = %s AND id > %s ORDER BY id LIMIT 1 OFFSET %s"
# Connections that look through pages at a time: processes of PostgreSQL. Threads of one process wait for each other in
# SQLite's allocator, and two take longer than one; there a thread reads while another one searches.
READERS_OF_POSTGRES = 2
# Each tag once, by one step in the index a tag: a DISTINCT goes through the tags of all entries.
TAGS = (
    "WITH RECURSIVE each_tag(tag) AS (SELECT MIN(tag) FROM memory_entrytag WHERE tenant_id = %s UNION ALL "
    "SELECT (SELECT MIN(t.tag) FROM memory_entrytag t WHERE t.tenant_id = %s AND t.tag > each_tag.tag) "
    "FROM each_tag WHERE each_tag.tag IS NOT NULL) SELECT tag FROM each_tag WHERE tag IS NOT NULL"
)
# The indexed name columns. Indexes on tasks and intents contain only entries that have one.
INDEXED_NAMES = (
    ("memory_memoryentry", "agent_id"),
    ("memory_entryaddress", "agent_id"),
    ("memory_entryaddress", "task_id"),
    ("memory_entryaddress", "intent_id"),
)
NAMES_OF = (
    "WITH RECURSIVE each_name(name) AS ("
    "SELECT MIN({column}) FROM {table} WHERE tenant_id = %s AND NOT ({column} = '') UNION ALL "
    "SELECT (SELECT MIN(t.{column}) FROM {table} t WHERE t.tenant_id = %s AND NOT (t.{column} = '') "
    "AND t.{column} > each_name.name) FROM each_name WHERE each_name.name IS NOT NULL) "
    "SELECT name FROM each_name WHERE name IS NOT NULL"
)
THERE = "SELECT id FROM memory_memoryentry WHERE tenant_id = %s AND "
CHANGED = "SELECT id FROM memory_memoryentry WHERE tenant_id = %s AND position > %s"
WENT_INTO = "SELECT target_id FROM memory_lineage WHERE tenant_id = %s AND "


class RowRange(NamedTuple):
    """The rows of a table behind one id and up to another, which are in the engine's form."""

    table: str
    after: Any
    last: Any


# What a forget reads of entries other than their texts: who made them, for what, and what is sealed.


class Named(NamedTuple):
    """The names in the columns of an entry other than its text, by column."""

    id: UUID
    names: dict[str, str]


def all_names(tenant_id: UUID) -> set[str]:
    """Every name in the columns of an entry other than its text, once: of its address and its writer."""
    makers = EntryAddress.objects.of(tenant_id).order_by().values_list("created_by", "curated_by").distinct()
    names = {name for pair in makers for name in pair}
    for table, column in INDEXED_NAMES:
        statement = NAMES_OF.format(table=table, column=column)
        names |= {name for (name,) in sql.rows(statement, [sql.key(tenant_id)] * 2)}
    return names


def entries_with_name(tenant_id: UUID, names: Collection[str]) -> Iterator[Named]:
    """The entries that have one of ``names`` in a column other than the text, with those names."""
    for part in sql.in_chunks(sorted(names), NAMES_AT_ONCE):
        has_one = Q(*(Q(**{f"{column}__in": part}) for column in NAMES), _connector=Q.OR)
        yield from _of_addresses(EntryAddress.objects.of(tenant_id).filter(has_one))
        yield from entries_written_by(tenant_id, part)


def entries_written_by(tenant_id: UUID, names: Collection[str]) -> Iterator[Named]:
    """Every entry that one of these agents wrote."""
    yield from _of_writers(MemoryEntry.objects.of(tenant_id).filter(agent_id__in=names))


def names_of_entries(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[Named]:
    """The names of these entries: of the address of each, and of its writer."""
    yield from _of_addresses(EntryAddress.objects.of(tenant_id).filter(id__in=rows))
    yield from _of_writers(MemoryEntry.objects.of(tenant_id).filter(id__in=rows).exclude(agent_id=""))


def _of_addresses(rows: QuerySet[EntryAddress]) -> Iterator[Named]:
    for row, *values in rows.order_by("id").values_list("id", *NAMES).iterator(chunk_size=sql.CHUNK):
        yield Named(row, dict(zip(NAMES, values, strict=True)))


def _of_writers(rows: QuerySet[MemoryEntry]) -> Iterator[Named]:
    for row, agent_id in rows.order_by("id").values_list("id", "agent_id").iterator(chunk_size=sql.CHUNK):
        yield Named(row, {"agent_id": agent_id})


def addresses_with_writers(tenant_id: UUID) -> Iterator[tuple[UUID, list[object]]]:
    """The names of every address, and the writer of its entry."""
    rows = EntryAddress.objects.of(tenant_id).order_by("id").values_list("id", *NAMES, "entry__agent_id")
    for row, *values in rows.iterator(chunk_size=sql.CHUNK):
        yield row, values


def sealed_addresses(tenant_id: UUID) -> Iterator[EntryAddress]:
    """Every address whose value is sealed, with the entry and the key."""
    rows = EntryAddress.objects.of(tenant_id).exclude(sealed=None).select_related("entry", "vault_key").order_by("id")
    yield from rows.iterator(chunk_size=sql.CHUNK)


def retirement_reasons(tenant_id: UUID, rows: Sequence[UUID] | None = None) -> Iterator[tuple[UUID, str]]:
    """The reasons people gave for retiring entries; of ``rows``, or of all."""
    entries = MemoryEntry.objects.of(tenant_id)
    retired = Retirement.objects.of(tenant_id).values("entry_id")
    found = entries.filter(id__in=retired) if rows is None else entries.filter(id__in=rows)
    found = found.exclude(retired_reason="").order_by("id")
    yield from found.values_list("id", "retired_reason").iterator(chunk_size=sql.CHUNK)


# Memory as a forget looks for a subject in it, by two paths, so that neither alone decides what
# is found.


def find_mentions(tenant_id: UUID, terms: tuple[str, ...], *, since: int | None = None) -> dict[UUID, Mention]:
    """How surely each entry that mentions one of ``terms`` names the subject; retired and expired entries included.
    With ``since``, only entries written or rewritten after this position of the ledger.

    One scan is in SQL, for the ``needles`` in the search form and in the hidden form. The rare forms, which are not
    stored, are looked for by the other path in the rows that this leaves out.
    """
    condition, looked_for = _needles_in(terms)
    behind = "" if since is None else AFTER
    first = [sql.key(tenant_id)] if since is None else [sql.key(tenant_id), since]
    rows = sql.rows(f"{WRITTEN}{behind}({condition.format('e.')}) ORDER BY e.id", [*first, *looked_for])
    looks = ((sql.as_uuid(row[0]), _judged(mention, terms, row)) for row in rows)
    rare = _traces(tenant_id, terms, but=True) if since is None else _traces_since(tenant_id, terms, since)
    found = rare | {row: max(how, rare.get(row, how)) for row, how in looks if how}
    return dict(sorted(found.items()))


def _needles_in(terms: tuple[str, ...]) -> tuple[str, list[str]]:
    """A condition that an entry has the needles of one of the names, with a place for its alias, and its parameters."""
    holds = "strpos({}, %s) > 0" if sql.is_postgres() else "instr({}, %s) > 0"
    groups = needles(terms)
    plain, hidden = (
        " OR ".join(f"({' AND '.join(holds.format('{0}' + column) for _ in group)})" for group in groups)
        for column in ("search_text", "hidden_text")
    )
    return f"{plain} OR ({{0}}hidden_text <> '' AND ({hidden}))", 2 * [each for group in groups for each in group]


def _traces_since(tenant_id: UUID, terms: tuple[str, ...], since: int) -> dict[UUID, Mention]:
    rows = sql.rows(f"{WRITTEN}{AFTER}1 = 1", [sql.key(tenant_id), since])
    looks = ((sql.as_uuid(row[0]), _judged(second_look, terms, row)) for row in rows)
    return {row: how for row, how in looks if how}


def unchanged_since(tenant_id: UUID, entry_ids: Sequence[UUID], *, since: int) -> set[UUID]:
    """Those of ``entry_ids`` that exist and have the text they had at this position of the ledger."""
    changed = sql.rows(CHANGED, [sql.key(tenant_id), since])
    return set(_among(THERE, "id", entry_ids, [sql.key(tenant_id)])).difference(sql.as_uuid(row) for (row,) in changed)


def runs_of(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The runs that wrote these entries."""
    rows = MemoryEntry.objects.of(tenant_id).order_by().values_list("run_id", flat=True).distinct()
    return {run for part in sql.in_chunks(entry_ids) for run in rows.filter(id__in=part)}


def descendants_of(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """Every entry that was made from one of these entries."""
    return set(_among(WENT_INTO, "source_id", list(entry_ids), [sql.key(tenant_id)]))


def _among(statement: str, column: str, rows: Sequence[UUID], given: list[object]) -> Iterator[UUID]:
    for part in sql.in_chunks(map(sql.key, rows), MANY):
        condition, keys = sql.among(column, part)
        yield from (sql.as_uuid(row) for (row,) in sql.rows(statement + condition, [*given, keys]))


def find_traces(tenant_id: UUID, terms: tuple[str, ...]) -> dict[UUID, Mention]:
    """A second, independent search for mentions: every text of every row, and the table of tags, searched for the
    encodings of the names, whatever is stored in search form."""
    return _traces(tenant_id, terms)


def _traces(tenant_id: UUID, terms: tuple[str, ...], *, but: bool = False) -> dict[UUID, Mention]:
    """``but`` those entries that have the needles. First which pages have a trace, and then which of their rows."""
    condition, needed = _needles_in(terms) if but else ("", [])

    def texts_of(page: RowRange) -> Sequence[str | None]:
        return _texts_of(tenant_id, page, condition, needed)

    def has_trace(texts: Sequence[str | None]) -> bool:
        return any(text and shadows(terms, text) for text in texts)

    def traces_on(page: RowRange) -> dict[UUID, Mention]:
        return _traces_on(tenant_id, terms, page, condition, needed)

    pages = [RowRange(table, after, last) for table in PAGES for after, last in _pages(tenant_id, table)]
    readers = READERS_OF_POSTGRES if sql.is_postgres() else 1
    if sql.is_postgres():
        looks = sql.read_in_parallel(lambda page: (page, has_trace(texts_of(page))), pages, readers)
    else:
        looks = [*zip(pages, sql.read_ahead(texts_of, has_trace, pages), strict=True)]
    traced = [page for page, is_traced in looks if is_traced]
    found: dict[UUID, Mention] = {}
    for traces_there in sql.read_in_parallel(traces_on, traced, readers):
        found |= traces_there
    for (tag,) in sql.rows(TAGS, [sql.key(tenant_id)] * 2):
        if how := second_look(terms, tag):
            tagged = EntryTag.objects.of(tenant_id).filter(tag=tag).values_list("id", flat=True)
            found |= {row: max(how, found.get(row, how)) for row in tagged}
    return found


def _pages(tenant_id: UUID, table: str) -> Iterator[tuple[Any, Any]]:
    """After which row each page begins, and its last row; the last page includes rows being written now."""
    statement, after = LAST_OF_PAGE.format(table=table), sql.key(BEGINNING)
    while found := sql.rows(statement, [sql.key(tenant_id), after, LOOKED_AT - 1]):
        yield after, found[0][0]
        after = found[0][0]
    yield after, sql.key(END)


def _texts_of(tenant_id: UUID, page: RowRange, but: str, needed: list[str]) -> Sequence[str | None]:
    """The texts of a page of rows, ``but`` those entries that have the needles."""
    text = "string_agg({}::text, chr(31))" if sql.is_postgres() else "group_concat({}, char(31))"
    statement = PAGE.format(texts=", ".join(text.format(name) for name in PAGES[page.table]), table=page.table)
    place = [sql.key(tenant_id), page.after, page.last]
    if but and page.table == MemoryEntry._meta.db_table:
        statement += f" AND NOT ({but.format('')})"
        place += needed
    texts: Sequence[str | None] = sql.rows(statement, place)[0]
    return texts


def _traces_on(
    tenant_id: UUID, terms: tuple[str, ...], page: RowRange, but: str, needed: list[str]
) -> dict[UUID, Mention]:
    written = f"{WRITTEN}{BETWEEN} AND NOT ({but.format('e.')})" if but else WRITTEN + BETWEEN
    rows = sql.rows(written, [sql.key(tenant_id), page.after, page.last, *needed])
    looks = ((row[0], _judged(second_look, terms, row)) for row in rows)
    return {sql.as_uuid(row): how for row, how in looks if how}


def _judged(look: Callable[[tuple[str, ...], str], Mention], terms: tuple[str, ...], row: Sequence[Any]) -> Mention:
    """How surely a row of ``WRITTEN`` names the subject. What was decoded at the write has lost its diacritics, so by
    that alone it is suspected at most."""
    decoded = row[DECODED]
    how = look(terms, "\n".join([str(text) for text in (*row[1:DECODED], *row[DECODED + 1 :]) if text]))
    return max(how, min(look(terms, decoded), Mention.SUSPECTED)) if decoded and how is not Mention.EXACT else how


def searched_texts(tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
    """The searched columns of a few entries, for a preview."""
    found = MemoryEntry.objects.of(tenant_id).filter(id__in=rows)
    columns = found.values_list("id", "content", "subject", "memory_ref", "tags")
    return {row: [content, subject, memory_ref, *tags] for row, content, subject, memory_ref, tags in columns}


# Why an entry went of which the text is not to come back. The others went with their time, to make room, or because an
# entry that a pass made has their text.
TAKEN_BACK = ("forgotten", "deleted")


def closed_entries(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` from which nothing may be derived: forgotten, deleted, sealed, or retired by a person.

    One that has expired, or that a pass retired, is not among them.
    """
    by_person = Q(retired_at__isnull=False, retired_kind="")
    rows = MemoryEntry.objects.of(tenant_id).filter(Q(sealed=True) | by_person)
    there = {row for part in sql.in_chunks(entry_ids) for row in rows.filter(id__in=part).values_list("id", flat=True)}
    return there | _gone_because(tenant_id, entry_ids, TAKEN_BACK)


def derived_entries(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that a pass derived from others."""
    rows = MemoryEntry.objects.of(tenant_id).exclude(derived="")
    return {row for part in sql.in_chunks(entry_ids) for row in rows.filter(id__in=part).values_list("id", flat=True)}


def forgotten_entries(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that were forgotten."""
    return _gone_because(tenant_id, entry_ids, ("forgotten",))


def _gone_because(tenant_id: UUID, entry_ids: Sequence[UUID], reasons: tuple[str, ...]) -> set[UUID]:
    stones = Tombstone.objects.of(tenant_id).filter(reason__in=reasons)
    return {row for part in sql.in_chunks(entry_ids) for row in stones.filter(id__in=part).values_list("id", flat=True)}
