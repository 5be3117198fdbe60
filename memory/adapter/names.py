"""Entries as a forget looks through them beside their texts: who made them, for what, and what is sealed."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry, Retirement

NAMES = ("agent_id", "created_by", "curated_by", "task_id", "intent_id")
CHUNK = 1000


class Named(NamedTuple):
    """The names that stand beside the text of an entry, by column."""

    id: UUID
    names: dict[str, str]


def named(tenant_id: UUID, rows: list[UUID] | None = None) -> Iterator[Named]:
    """The names beside every entry, or beside those of ``rows``: of its address, and of who wrote one without."""
    addressed = EntryAddress.objects.of(tenant_id).order_by("id")
    plain = MemoryEntry.objects.of(tenant_id).exclude(agent_id="").order_by("id")
    if rows is not None:
        addressed, plain = addressed.filter(id__in=rows), plain.filter(id__in=rows)
    for row, *values in addressed.values_list("id", *NAMES).iterator(chunk_size=CHUNK):
        yield Named(row, dict(zip(NAMES, values, strict=True)))
    for row, agent_id in plain.values_list("id", "agent_id").iterator(chunk_size=CHUNK):
        yield Named(row, {"agent_id": agent_id})


def whole_addresses(tenant_id: UUID) -> Iterator[tuple[UUID, dict[str, Any]]]:
    """Every column of every address but the sealed value, and of its entry what says who wrote it."""
    columns = [field.attname for field in EntryAddress._meta.concrete_fields if field.attname != "sealed"]
    rows = EntryAddress.objects.of(tenant_id).order_by("id").values(*columns, "entry__agent_id", "entry__node_id")
    for row in rows.iterator(chunk_size=CHUNK):
        yield row["id"], row
    writers = MemoryEntry.objects.of(tenant_id).exclude(agent_id="").order_by("id").values_list("id", "agent_id")
    for row, agent_id in writers.iterator(chunk_size=CHUNK):
        yield row, {"agent_id": agent_id}


def sealed(tenant_id: UUID) -> Iterator[EntryAddress]:
    """Every address whose value is sealed, with the entry and the key."""
    rows = EntryAddress.objects.of(tenant_id).exclude(sealed=None).select_related("entry", "vault_key").order_by("id")
    yield from rows.iterator(chunk_size=CHUNK)


def reasons_of_retired(tenant_id: UUID, rows: Sequence[UUID] | None = None) -> Iterator[tuple[UUID, str]]:
    """Why people have retired the entries that are, or those of ``rows``."""
    retired = Retirement.objects.of(tenant_id).values("entry_id") if rows is None else rows
    found = MemoryEntry.objects.of(tenant_id).filter(id__in=retired).exclude(retired_reason="").order_by("id")
    yield from found.values_list("id", "retired_reason").iterator(chunk_size=CHUNK)
