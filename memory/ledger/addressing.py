"""Entries that have an address, as they are stored: locked and accessed."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host.errors import NotFound
from memory.ledger.rows import CHUNK, WRITER, hold
from memory.models.address import EntryAddress


def locked(tenant_id: UUID, entry_id: UUID, *, beside: Collection[UUID] = ()) -> EntryAddress:
    """The address, with its entry, locked until the transaction ends. One of a retired or lapsed entry too.

    Its stream is held, and the entry is locked before its address, as by whoever removes it; together with the entries
    ``beside`` it, which will change with it.
    """
    hold(tenant_id, entries=[entry_id, *beside])
    for row in locked_all(tenant_id, [entry_id]):
        return row
    raise NotFound("There is no memory entry by that id.")


def locked_all(tenant_id: UUID, entries: Sequence[UUID]) -> list[EntryAddress]:
    """The addresses of entries that are held already, locked in the order of their ids; those there are."""
    rows = EntryAddress.objects.of(tenant_id).select_for_update(of=("self",)).select_related("entry")
    wanted = sorted(entries)
    parts = [wanted[at : at + CHUNK] for at in range(0, len(wanted), CHUNK)]
    return [row for part in parts for row in rows.filter(id__in=part).order_by("id")]


@transaction.atomic
def touch(tenant_id: UUID, rows: Sequence[UUID], *, now: datetime) -> None:
    """The owner has read these: they are the last to be evicted (R37). Those that somebody changes now are left."""
    free = EntryAddress.objects.of(tenant_id).select_for_update(of=("self",), skip_locked=True, no_key=True)
    found = list(free.filter(id__in=rows).values_list("id", flat=True))
    EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=found).update(accessed_at=now)
