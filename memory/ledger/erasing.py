"""What a forget takes from entries that stay, and what housekeeping asks about those that are gone."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Max

from memory.ledger.rows import WRITER, gone_at, move_head
from memory.models.address import EntryAddress
from memory.models.entry import LedgerHead, MemoryEntry


@transaction.atomic
def erase_names(tenant_id: UUID, entry_id: UUID, names: Mapping[str, str]) -> int:
    """The entry names others in these columns, of its address or its own; whether there is such an entry. Its value,
    its key and its version stay. For forgetting alone."""
    entries = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=entry_id)
    addresses = EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=entry_id)
    list(entries.select_for_update().values_list("id"))
    changed: int = addresses.update(**names)
    own = {name: value for name, value in names.items() if name == "agent_id"}
    return max(changed, entries.update(**own)) if own else changed


def erase_reasons(tenant_id: UUID, entry_ids: Sequence[UUID], reason: str) -> int:
    """The entries were retired for ``reason``, whatever it was. For forgetting alone."""
    entries = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=entry_ids)
    return int(entries.update(retired_reason=reason))


@transaction.atomic
def mark_erased(tenant_id: UUID, *, now: datetime) -> None:
    """Something beside the ledger was forgotten: housekeeping takes it out of the files, too."""
    move_head(tenant_id, entries=0, retired=0, steps=0, gone=gone_at(now, at_once=True))


def last_erased() -> datetime | None:
    """When something of any tenant was forgotten, or was confidential and went, for the last time."""
    found: datetime | None = LedgerHead.objects.aggregate(last=Max("erased_at"))["last"]
    return found


def removed_since(moment: datetime, *, at_once: bool = False) -> bool:
    """Whether something of any tenant was removed or replaced at that moment or later; with ``at_once``, something
    forgotten or confidential."""
    return bool(LedgerHead.objects.filter(**{"erased_at__gte" if at_once else "removed_at__gte": moment}).exists())
