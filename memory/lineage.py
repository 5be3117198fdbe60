"""What came of what, both ways: the only writer of lineage (design.md 3.13)."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import ids, sql
from memory.models import Lineage

WRITER = "memory.lineage"
COLUMNS = ("tenant_id", "id", "source_id", "target_id", "kind", "pass_id", "created_at")


@dataclass(frozen=True, slots=True)
class Descent:
    """``source`` went into ``target``: merged, superseded, compacted or distilled."""

    source: UUID
    target: UUID
    kind: str


@transaction.atomic
def record(tenant_id: UUID, found: Iterable[Descent], *, pass_id: UUID | None, now: datetime) -> None:
    """Each descent is on record, with the pass that made it."""
    tenant, made_by, at = sql.key(tenant_id), sql.key(pass_id), sql.instant(now)
    key, new_id = sql.key, ids.new_id
    rows = [(tenant, key(new_id()), key(each.source), key(each.target), str(each.kind), made_by, at) for each in found]
    sql.insert(Lineage.objects.written_by(WRITER), COLUMNS, rows)


def sources_of(tenant_id: UUID, target_ids: Collection[UUID]) -> dict[UUID, list[Lineage]]:
    """What went into each of these, oldest first."""
    rows = Lineage.objects.of(tenant_id).filter(target_id__in=list(target_ids)).order_by("id")
    return _grouped(rows, "target_id")


def came_of(tenant_id: UUID, source_ids: Collection[UUID]) -> dict[UUID, list[Lineage]]:
    """What each of these went into, oldest first."""
    rows = Lineage.objects.of(tenant_id).filter(source_id__in=list(source_ids)).order_by("id")
    return _grouped(rows, "source_id")


def lineage_of_pass(tenant_id: UUID, pass_id: UUID, *, after: UUID | None = None, limit: int) -> list[Lineage]:
    """What one pass put together, in the order in which it did, behind the row ``after``."""
    rows = Lineage.objects.of(tenant_id).filter(pass_id=pass_id).order_by("id")
    return list((rows.filter(id__gt=after) if after else rows)[:limit])


def count_of_pass(tenant_id: UUID, pass_id: UUID) -> int:
    """How many descents one pass has put on record."""
    return int(Lineage.objects.of(tenant_id).filter(pass_id=pass_id).count())


def around(
    tenant_id: UUID, entry_id: UUID, *, archive_id: UUID | None, limit: int
) -> tuple[list[Lineage], int, list[Lineage], int]:
    """What went into this entry and what it went into, oldest first, each with how many there are in all.

    ``archive_id`` is the archive whose text the entry is: a distillation records its sources under the archive's id.
    """
    targets = [entry_id, archive_id] if archive_id else [entry_id]
    into = Lineage.objects.of(tenant_id).filter(target_id__in=targets).order_by("id")
    out_of = Lineage.objects.of(tenant_id).filter(source_id=entry_id).order_by("id")
    return list(into[:limit]), into.count(), list(out_of[:limit]), out_of.count()


def _grouped(rows: Iterable[Lineage], by: str) -> dict[UUID, list[Lineage]]:
    found: dict[UUID, list[Lineage]] = defaultdict(list)
    for row in rows:
        found[getattr(row, by)].append(row)
    return dict(found)
