"""Memory as a forget looks for a subject in it, by two paths (design.md 3.8)."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memory.host import sql
from memory.matching import search_form
from memory.models.entry import MemoryEntry, Tombstone

PART = 500


def mentions(tenant_id: UUID, terms: tuple[str, ...]) -> list[tuple[UUID, str]]:
    """The id and searchable text of every entry that mentions one of ``terms``: retired and expired ones too."""
    anyone = Q(*(Q(search_text__contains=term) for term in terms), _connector=Q.OR)
    rows = MemoryEntry.objects.of(tenant_id).filter(anyone).order_by("id")
    return list(rows.values_list("id", "search_text"))


def traces(tenant_id: UUID, terms: tuple[str, ...]) -> list[tuple[UUID, str]]:
    """The id and folded text of every row that holds a term, by another function and other columns than ``mentions``.

    Looks at the searchable text, at the entry's own columns, and at the table of tags.
    """
    locate = "strpos({column}, %s) > 0" if sql.is_postgres() else "instr({column}, %s) > 0"
    columns = ("search_text", "lower(content)", "lower(subject)", "lower(memory_ref)")
    entry_has = " OR ".join(locate.format(column=column) for column in columns)
    tag_has = locate.format(column="lower(tag)")
    statements = (
        (f"SELECT id, search_text FROM memory_memoryentry WHERE tenant_id = %s AND ({entry_has})", len(columns)),  # noqa: S608
        (f"SELECT id, tag FROM memory_entrytag WHERE tenant_id = %s AND {tag_has}", 1),  # noqa: S608
    )
    found = []
    with connection.cursor() as cursor:
        for term in terms:
            for statement, places in statements:
                cursor.execute(statement, [sql.key(tenant_id), *[term] * places])
                found += [(sql.as_uuid(row[0]), search_form(row[1])) for row in cursor.fetchall()]
    return list(dict(found).items())


def samples(tenant_id: UUID, rows: tuple[UUID, ...]) -> dict[UUID, str]:
    """The contents of a few entries, for a preview."""
    return dict(MemoryEntry.objects.of(tenant_id).filter(id__in=rows).values_list("id", "content"))


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
