"""Leases on rows: claim, renew, release and take over, each one conditional UPDATE.

The lease of a dead holder expires, and the next to claim takes the row over. ``holder`` is the fence: a holder writes
only ``while_held``, so one that was overtaken changes nothing. A run's lease is taken by ``runs.claim`` and given back
by ``runs.hand_back`` and by the last ``runs.progress`` of a step.
"""

import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar, cast
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.host import sql
from memory.host.expiry import SKEW
from memory.host.models import TenantOwned

Leased = TypeVar("Leased", bound=TenantOwned)


def decide_in_turn(tenant_id: UUID, what: str) -> None:
    """Wait for the tenant's other transactions that decide about ``what``, and hold the turn until this one ends.

    For a limit on several rows, which no UPDATE of one row can check. Take it at most once in a transaction, after the
    lock of a run and before any other. On SQLite transactions that write take turns already.
    """
    sql.lock_name(f"{tenant_id}/{what}")


def worker_name() -> str:
    """The holder of a lease: this instance of the console, and this process."""
    return f"{os.environ.get('OPENWOP_INSTANCE', socket.gethostname())}/{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Lease(Generic[Leased]):
    """The leases of one table: its column ``holder``, and ``until``, the column with the end of the lease.

    ``by`` is the table's writer. A row without an end is free.
    """

    model: type[Leased]
    by: str
    lasts: timedelta
    until: str = "lease_until"

    def end(self, now: datetime) -> datetime:
        """Return the end of a lease that is claimed or renewed ``now``."""
        return now + self.lasts

    def free(self, now: datetime) -> Q:
        """Match rows without a holder, and those whose lease has expired."""
        return Q(**{f"{self.until}__isnull": True}) | Q(**{f"{self.until}__lte": now})

    def claim(
        self, tenant_id: UUID, row_id: UUID, *, holder: str, now: datetime, where: Q | None = None, **values: object
    ) -> bool:
        """Claim the row for ``holder`` and set ``values``; of concurrent callers exactly one gets True.

        ``where`` is a further condition on the row.
        """
        rows = self.claimable(tenant_id, row_id, now=now, where=where)
        return self._update(rows, holder, now, values)

    def claimable(self, tenant_id: UUID, row_id: UUID, *, now: datetime, where: Q | None = None) -> QuerySet[Leased]:
        """Return the row for writing while it is free."""
        return self._rows(tenant_id, row_id).filter(self.free(now), where or Q())

    def renew(
        self, tenant_id: UUID, row_id: UUID, *, holder: str, now: datetime, where: Q | None = None, **values: object
    ) -> bool:
        """Extend the lease of ``holder`` from now on and set ``values``; False when it was lost."""
        rows = self.while_held(tenant_id, row_id, holder=holder).filter(where or Q())
        return self._update(rows, holder, now, values)

    def _update(self, rows: QuerySet[Leased], holder: str, now: datetime, values: dict[str, object]) -> bool:
        return rows.update(**{"holder": holder, self.until: self.end(now), **values}) == 1

    def while_held(self, tenant_id: UUID, row_id: UUID, *, holder: str) -> QuerySet[Leased]:
        """Return the row for writing while ``holder`` has it; a takeover empties the queryset."""
        return self._rows(tenant_id, row_id).filter(Q(holder=holder))

    def release(self, tenant_id: UUID, row_id: UUID, *, holder: str) -> bool:
        """End the lease early, so that the row can be claimed at once; False when it was lost."""
        return self.while_held(tenant_id, row_id, holder=holder).update(**{"holder": "", self.until: None}) == 1

    def release_held_by(self, instance: str | None, *, now: datetime) -> int:
        """Release the rows held by workers of a dead instance; return the number.

        None means every instance: after a restore, none of the holders in the copy works on its row.
        """
        held = self.model.objects.written_by(self.by).filter(**{f"{self.until}__isnull": False})
        held = held.exclude(Q(holder="")) if instance is None else held.filter(Q(holder__startswith=f"{instance}/"))
        return held.update(**{"holder": "", self.until: now})

    def correct_ahead(self, *, now: datetime, where: Q | None = None) -> int:
        """Shorten the leases that end later than any does, claimed while a clock was ahead; return how many.

        A holder that is alive renews its lease. ``where`` is a further condition on the rows.
        """
        late = Q(**{f"{self.until}__gt": self.end(now) + SKEW})
        held = self.model.objects.written_by(self.by).filter(late, where or Q())
        return held.exclude(Q(holder="")).update(**{self.until: self.end(now)})

    def _rows(self, tenant_id: UUID, row_id: UUID) -> QuerySet[Leased]:
        rows = self.model.objects.written_by(self.by).of(tenant_id).filter(id=row_id)
        return cast("QuerySet[Leased]", rows)
