"""Who works on a row, until when: claim, renew, release and take over, each one conditional UPDATE.

A holder that dies loses its lease when its time ends, and whoever claims next takes the row over. ``holder`` is the
fence: what a holder writes is written only ``while_held``, so one that was overtaken changes nothing any more.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.host.models import TenantOwned

Leased = TypeVar("Leased", bound=TenantOwned)


@dataclass(frozen=True, slots=True)
class Lease(Generic[Leased]):
    """The leases of one table: its column ``holder``, and ``until``, the column in which the end of one stands.

    ``by`` is the table's writer. A row without an end is free.
    """

    model: type[Leased]
    by: str
    lasts: timedelta
    until: str = "lease_until"

    def end(self, now: datetime) -> datetime:
        """When a lease that is claimed or renewed ``now`` ends."""
        return now + self.lasts

    def free(self, now: datetime) -> Q:
        """Rows that nobody holds, and those whose holder has let its time pass."""
        return Q(**{f"{self.until}__isnull": True}) | Q(**{f"{self.until}__lte": now})

    def claim(
        self, tenant_id: UUID, row_id: UUID, *, holder: str, now: datetime, where: Q | None = None, **values: object
    ) -> bool:
        """Whether ``holder`` has the row now, with ``values`` in it; of all who try at once, one has.

        ``where`` is what must hold of the row besides.
        """
        rows = self._rows(tenant_id, row_id).filter(self.free(now), where or Q())
        return self._update(rows, holder, now, values)

    def renew(
        self, tenant_id: UUID, row_id: UUID, *, holder: str, now: datetime, where: Q | None = None, **values: object
    ) -> bool:
        """Whether ``holder`` still has the row, for a whole lease from now on, with ``values`` in it."""
        rows = self.while_held(tenant_id, row_id, holder=holder).filter(where or Q())
        return self._update(rows, holder, now, values)

    def _update(self, rows: QuerySet[Leased], holder: str, now: datetime, values: dict[str, Any]) -> bool:
        return rows.update(**{"holder": holder, self.until: self.end(now), **values}) == 1

    def while_held(self, tenant_id: UUID, row_id: UUID, *, holder: str) -> QuerySet[Leased]:
        """The row while ``holder`` has it, to be changed by its writer: the first who takes it over ends that."""
        return self._rows(tenant_id, row_id).filter(Q(holder=holder))

    def release(self, tenant_id: UUID, row_id: UUID, *, holder: str) -> bool:
        """The next who claims the row need not wait for the end of the lease."""
        return self.while_held(tenant_id, row_id, holder=holder).update(**{"holder": "", self.until: None}) == 1

    def release_held_by(self, instance: str | None, *, now: datetime) -> int:
        """The rows that workers of a dead instance held can be claimed at once; returns how many. None is every
        instance: of those that held the rows of a restored copy, none works on it."""
        held = self.model.objects.written_by(self.by).filter(**{f"{self.until}__isnull": False})
        held = held.exclude(Q(holder="")) if instance is None else held.filter(Q(holder__startswith=f"{instance}/"))
        return held.update(**{"holder": "", self.until: now})

    def _rows(self, tenant_id: UUID, row_id: UUID) -> QuerySet[Leased]:
        rows = self.model.objects.written_by(self.by).filter(tenant_id=tenant_id, id=row_id)
        return cast("QuerySet[Leased]", rows)
