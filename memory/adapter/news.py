"""Memory as those read it who follow the ledger: what runs wrote behind a position, in its own order, ref by ref.

A position is taken under the lock of the ledger's head until its transaction commits, so none turns up later behind one
that was read.
"""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memory.host import sql
from memory.host.expiry import has_expired
from memory.models import CommitmentWatch
from memory.models.address import EntryAddress
from memory.models.entry import LedgerHead, MemoryEntry, Tombstone


class Standing(NamedTuple):
    """What became of an entry, and whether it still is in the database, so that somebody may show it again."""

    what: str
    there: bool


class News(NamedTuple):
    """What a run wrote: no pass of the host, and nothing that somebody retired, that has expired since or is sealed.

    What a pass took away is news all the same: it was said, and whoever follows the ledger may come behind the pass.
    """

    id: UUID
    memory_ref: str
    content: str
    tags: list[str]
    agent_id: str
    run_id: UUID
    created_at: datetime
    position: int


def news(tenant_id: UUID, *, after: int, limit: int, now: datetime) -> tuple[list[News], int]:
    """At most ``limit`` entries behind the position ``after``, and the position up to which there are no more."""
    found: LedgerHead | None = LedgerHead.objects.of(tenant_id).first()
    last = found.position if found else 0
    rows = MemoryEntry.objects.of(tenant_id).filter(position__gt=after, position__lte=last, derived="")
    rows = rows.filter(Q(retired_at=None) | ~Q(retired_kind=""))
    # The runs of OpenIntent's agents are the host's own, and what they wrote has an address.
    addressed = Exists(EntryAddress.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("id")))
    rows = rows.unexpired(now).filter(Q(run__system=False) | Q(addressed), sealed=False)
    entries = [News(*row) for row in rows.order_by("position").values_list(*News._fields)[:limit]]
    return entries, entries[-1].position if len(entries) == limit else last


def tenants_with_news(among: Collection[UUID], *, now: datetime) -> list[UUID]:
    """Those of the tenants whose ledger has changes that their watch has not seen, and whose watch nobody holds."""
    watch = CommitmentWatch.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("tenant_id"))
    seen_or_held = watch.filter(Q(position__gte=OuterRef("position")) | Q(lease_until__gt=now))
    rows = LedgerHead.objects.filter(~Exists(seen_or_held), tenant_id__in=list(among), position__gt=0)
    return list(rows.values_list("tenant_id", flat=True))


def standing_of(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> dict[UUID, Standing]:
    """What became of each of these entries: ``live``, ``expired``, ``retired`` by somebody, what a pass did to it, or
    why it was removed. One that is not there at all is missing here too."""
    found: dict[UUID, Standing] = {}
    for part in sql.in_chunks(entry_ids):
        stones = Tombstone.objects.of(tenant_id).filter(id__in=part).values_list("id", "reason")
        found |= {row: Standing(reason, there=False) for row, reason in stones}
        rows = MemoryEntry.objects.of(tenant_id).filter(id__in=part)
        for row, retired_at, kind, expires_at in rows.values_list("id", "retired_at", "retired_kind", "expires_at"):
            lapsed = has_expired(expires_at, now)
            what = "expired" if lapsed else (kind or "retired") if retired_at else "live"
            found[row] = Standing(what, there=not lapsed)
    return found


def texts_of(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[UUID, str]:
    """The text of each of these entries that is still in the database, hidden or not: for the host's own comparisons,
    never to be shown."""
    rows = MemoryEntry.objects.of(tenant_id)
    return {
        row: text
        for part in sql.in_chunks(entry_ids)
        for row, text in rows.filter(id__in=part).values_list("id", "content")
    }


def stored_among(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """Those of ``entry_ids`` that are in the database, hidden and expired ones too."""
    rows = MemoryEntry.objects.of(tenant_id)
    return {row for part in sql.in_chunks(entry_ids) for row in rows.filter(id__in=part).values_list("id", flat=True)}
