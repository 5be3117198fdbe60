"""Entries that come back by themselves, because what a pass had made of them is gone."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.addresses import Address, Tier
from memory.host.tenancy import TenantScope
from memory.ledger import hiding
from memory.ledger.finding import at
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry


@transaction.atomic
def give_back(scope: TenantScope, rows: Collection[UUID], *, now: datetime) -> int:
    """Those of ``rows`` that a pass took away are read again, but for those whose key another has by now; how many."""
    away = MemoryEntry.objects.of(scope.tenant_id).filter(id__in=rows, retired_at__isnull=False)
    found = list(away.exclude(retired_kind="").order_by("id").values_list("id", flat=True))
    back = [row for row in found if _has_its_key(scope.tenant_id, row)]
    for row in back:
        hiding.restore(scope, row, now=now)
    return len(back)


def _has_its_key(tenant_id: UUID, entry_id: UUID) -> bool:
    """Whether nobody else has the key of the entry, if it has one."""
    row: EntryAddress | None = EntryAddress.objects.of(tenant_id).filter(id=entry_id).first()
    return row is None or at(tenant_id, Address(Tier(row.tier), row.agent_id, row.namespace, row.key)) is None
