"""Memory as a forget looks for a subject in it, by two paths (design.md 3.8)."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from memory.host import sql
from memory.matching import Mention, mention, needles, second_look, shadows
from memory.models.entry import EntryTag, MemoryEntry, Tombstone

PART = 500
LOOKED_AT = 5000  # rows of which the texts are looked through in one go
BEGINNING = UUID(int=0)

# Everything that an entry says, as it was written.
WRITTEN = (
    "SELECT e.id, e.content, e.subject, e.memory_ref, e.tags, e.search_text, a.namespace, a.key "
    "FROM memory_memoryentry e LEFT JOIN memory_entryaddress a ON a.tenant_id = e.tenant_id AND a.id = e.id "
    "WHERE e.tenant_id = %s AND "
)
PAGE = "e.id > %s ORDER BY e.id LIMIT %s"
TAGS = "SELECT DISTINCT tag FROM memory_entrytag WHERE tenant_id = %s"


def mentions(tenant_id: UUID, terms: tuple[str, ...]) -> dict[UUID, Mention]:
    """How surely each entry that mentions one of ``terms`` names the subject: retired and expired ones too.

    The scan is in SQL, for the ``needles`` in what is stored in search form and in hidden form.
    """
    holds = "strpos({}, %s) > 0" if sql.is_postgres() else "instr({}, %s) > 0"
    looked_for = needles(terms)
    plain = " OR ".join(holds.format("e.search_text") for _ in looked_for)
    hidden = " OR ".join(holds.format("e.hidden_text") for _ in looked_for)
    condition = f"({plain} OR (e.hidden_text <> '' AND ({hidden}))) ORDER BY e.id"
    rows = sql.rows(WRITTEN + condition, [sql.key(tenant_id), *looked_for, *looked_for])
    found = ((sql.as_uuid(row[0]), mention(terms, _said(row))) for row in rows)
    return {row: how for row, how in found if how}


def traces(tenant_id: UUID, terms: tuple[str, ...]) -> dict[UUID, Mention]:
    """The same by another path: every text of every row, and the table of tags, looked through for the encodings of the
    names, whatever is stored in search form."""
    found: dict[UUID, Mention] = {}
    for rows in _pages(tenant_id):
        texts = [_said(row) for row in rows]
        if shadows(terms, "\x00".join(texts)):
            looks = ((row[0], second_look(terms, text)) for row, text in zip(rows, texts, strict=True))
            found |= {sql.as_uuid(row): how for row, how in looks if how}
    for (tag,) in sql.rows(TAGS, [sql.key(tenant_id)]):
        if how := second_look(terms, tag):
            tagged = EntryTag.objects.of(tenant_id).filter(tag=tag).values_list("id", flat=True)
            found |= {row: max(how, found.get(row, how)) for row in tagged}
    return found


def _pages(tenant_id: UUID) -> Iterator[list[Any]]:
    after = BEGINNING
    while rows := sql.rows(WRITTEN + PAGE, [sql.key(tenant_id), sql.key(after), LOOKED_AT]):
        yield rows
        after = sql.as_uuid(rows[-1][0])


def _said(row: Sequence[Any]) -> str:
    """Everything that a row of ``WRITTEN`` says."""
    return "\n".join([str(text) for text in row[1:] if text])


def said_by(tenant_id: UUID, rows: Sequence[UUID]) -> dict[UUID, list[str]]:
    """What a few entries say in their columns that are searched, for a preview."""
    found = MemoryEntry.objects.of(tenant_id).filter(id__in=rows)
    columns = found.values_list("id", "content", "subject", "memory_ref", "tags")
    return {row: [content, subject, memory_ref, *tags] for row, content, subject, memory_ref, tags in columns}


def closed_among(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` of which nothing may be made any more: they were forgotten, or are kept encrypted now."""
    rows = MemoryEntry.objects.of(tenant_id).filter(sealed=True)
    parts = (entry_ids[first : first + PART] for first in range(0, len(entry_ids), PART))
    sealed = {row for part in parts for row in rows.filter(id__in=part).values_list("id", flat=True)}
    return sealed | forgotten_among(tenant_id, entry_ids)


def derived_among(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that a pass made of others."""
    rows = MemoryEntry.objects.of(tenant_id).exclude(derived="")
    parts = (entry_ids[first : first + PART] for first in range(0, len(entry_ids), PART))
    return {row for part in parts for row in rows.filter(id__in=part).values_list("id", flat=True)}


def forgotten_among(tenant_id: UUID, entry_ids: Sequence[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that were forgotten."""
    stones = Tombstone.objects.of(tenant_id).filter(reason="forgotten")
    parts = (entry_ids[first : first + PART] for first in range(0, len(entry_ids), PART))
    return {row for part in parts for row in stones.filter(id__in=part).values_list("id", flat=True)}
