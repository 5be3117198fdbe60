"""Entries as a forget looks through them beside their texts: who made them, for what, and what is sealed."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q

from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry, Retirement

NAMES = ("agent_id", "created_by", "curated_by", "task_id", "intent_id")
CHUNK = 1000
PART = 200


class Named(NamedTuple):
    """The names that stand beside the text of an entry, by column."""

    id: UUID
    names: dict[str, str]


def names_beside(tenant_id: UUID) -> set[str]:
    """Every name that stands beside an entry, once: of its address, and of who wrote it."""
    addressed, found = EntryAddress.objects.of(tenant_id).order_by(), set(_writers(tenant_id))
    for column in NAMES:
        found |= set(addressed.values_list(column, flat=True).distinct())
    return found


def _writers(tenant_id: UUID) -> Iterator[str]:
    """One step in the index for each: a DISTINCT goes through all entries."""
    rows = MemoryEntry.objects.of(tenant_id).order_by("agent_id").values_list("agent_id", flat=True)
    name = rows.filter(agent_id__gt="").first()
    while name is not None:
        yield name
        name = rows.filter(agent_id__gt=name).first()


def bearing(tenant_id: UUID, names: Collection[str]) -> Iterator[Named]:
    """The names beside every entry that has one of ``names`` beside it."""
    wanted = sorted(names)
    for part in (wanted[at : at + PART] for at in range(0, len(wanted), PART)):
        has_one = Q(*(Q(**{f"{column}__in": part}) for column in NAMES), _connector=Q.OR)
        yield from _of_addresses(EntryAddress.objects.of(tenant_id).filter(has_one))
        yield from written_as(tenant_id, part)


def written_as(tenant_id: UUID, names: Collection[str]) -> Iterator[Named]:
    """Every entry that one of these agents wrote."""
    yield from _of_writers(MemoryEntry.objects.of(tenant_id).filter(agent_id__in=names))


def named(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[Named]:
    """The names beside these entries: of the address of each, and of who wrote it."""
    yield from _of_addresses(EntryAddress.objects.of(tenant_id).filter(id__in=rows))
    yield from _of_writers(MemoryEntry.objects.of(tenant_id).filter(id__in=rows).exclude(agent_id=""))


def _of_addresses(rows: Any) -> Iterator[Named]:
    for row, *values in rows.order_by("id").values_list("id", *NAMES).iterator(chunk_size=CHUNK):
        yield Named(row, dict(zip(NAMES, values, strict=True)))


def _of_writers(rows: Any) -> Iterator[Named]:
    for row, agent_id in rows.order_by("id").values_list("id", "agent_id").iterator(chunk_size=CHUNK):
        yield Named(row, {"agent_id": agent_id})


def whole_addresses(tenant_id: UUID) -> Iterator[tuple[UUID, list[Any]]]:
    """The names of every address, and of its entry what says who wrote it."""
    rows = EntryAddress.objects.of(tenant_id).order_by("id").values_list("id", *NAMES, "entry__agent_id")
    for row, *values in rows.iterator(chunk_size=CHUNK):
        yield row, values


def sealed(tenant_id: UUID) -> Iterator[EntryAddress]:
    """Every address whose value is sealed, with the entry and the key."""
    rows = EntryAddress.objects.of(tenant_id).exclude(sealed=None).select_related("entry", "vault_key").order_by("id")
    yield from rows.iterator(chunk_size=CHUNK)


def reasons_of_retired(tenant_id: UUID, rows: Sequence[UUID] | None = None) -> Iterator[tuple[UUID, str]]:
    """Why people have retired the entries that are, or those of ``rows``."""
    retired = Retirement.objects.of(tenant_id).values("entry_id") if rows is None else rows
    found = MemoryEntry.objects.of(tenant_id).filter(id__in=retired).exclude(retired_reason="").order_by("id")
    yield from found.values_list("id", "retired_reason").iterator(chunk_size=CHUNK)
