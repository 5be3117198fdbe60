"""Archives withdrawn: their time is over, a subject is forgotten, a source is confidential now (design.md 3.13)."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, lineage, passes, policies
from memory.archives import indexing
from memory.archives.rows import CHUNK, DISTILL, FORGOTTEN, RETENTION, SEALED, WRITER, of_ref, parts
from memory.host import access, ids, tenancy
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.matching import FORGOTTEN as UNNAMED
from memory.models import Archive, ArchiveState, Distillate, Pass, Trigger
from memory.passes import PassOrder


@transaction.atomic
def withdraw(tenant_id: UUID, archive_ids: Collection[UUID], because: str, *, now: datetime) -> int:
    """These archives have no bytes any more and say why; how many had until now.

    Unless its time is over, one takes along what agents read of it, what an endpoint made for its ref, and the archives
    that were distilled from it. The memory index names none of them any more. Entries go first: the lock of the ledger
    comes before those of the tenant and of archives.
    """
    rows = _with_bytes(tenant_id, archive_ids)
    if because != RETENTION:
        rows = _and_resting_on_them(tenant_id, rows)
        _remove_beside(tenant_id, rows, now)
    if not rows:
        return 0
    access.lock_tenant(tenant_id)
    withdrawn = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id).exclude(state=ArchiveState.WITHDRAWN)
    empty = {"state": ArchiveState.WITHDRAWN, "body": b"", "withdrawn_at": now, "withdrawn_because": because}
    count: int = sum(withdrawn.filter(id__in=part).update(**empty) for part in parts(row.id for row in rows))
    indexing.take_out(tenant_id, rows, now=now)
    return count


def _with_bytes(tenant_id: UUID, archive_ids: Collection[UUID]) -> list[Archive]:
    rows = Archive.objects.of(tenant_id).defer("body").exclude(state=ArchiveState.WITHDRAWN).order_by("id")
    return [row for part in parts(archive_ids) for row in rows.filter(id__in=part)]


def _and_resting_on_them(tenant_id: UUID, rows: list[Archive]) -> list[Archive]:
    found, fresh = {row.id: row for row in rows}, rows
    while fresh:
        made = resting_on(tenant_id, [row.entry_id for row in fresh if row.entry_id])
        fresh = _with_bytes(tenant_id, made - found.keys())
        found |= {row.id: row for row in fresh}
    return list(found.values())


def _remove_beside(tenant_id: UUID, rows: list[Archive], now: datetime) -> None:
    for part in parts(row.entry_id for row in rows if row.entry_id):
        ledger.remove(tenant_id, tuple(part), reason=FORGOTTEN, now=now)
    distillates = Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id)
    distillates.filter(memory_ref__in={row.memory_ref for row in rows}).delete()


def resting_on(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The archives with bytes that were distilled from one of these entries."""
    return {row.id for row in _with_bytes(tenant_id, adapter.went_into(tenant_id, entry_ids))}


def resting_on_forgotten(tenant_id: UUID) -> set[UUID]:
    """The archives with bytes that were distilled from something which was forgotten since, by lineage."""
    rows = Archive.objects.of(tenant_id).exclude(state=ArchiveState.WITHDRAWN).order_by("id")
    found: set[UUID] = set()
    for part in parts(rows.values_list("id", flat=True)):
        sources = lineage.sources_of(tenant_id, part)
        asked = [each.source_id for descents in sources.values() for each in descents]
        gone = adapter.forgotten_among(tenant_id, asked)
        found |= {row for row, descents in sources.items() if any(each.source_id in gone for each in descents)}
    return found


def all_resting_on(tenant_id: UUID, archive_ids: Collection[UUID], entry_ids: Collection[UUID]) -> set[UUID]:
    """Those of these archives that have bytes, those distilled from these entries, and those distilled from such."""
    first = {*archive_ids, *resting_on(tenant_id, entry_ids)}
    return {row.id for row in _and_resting_on_them(tenant_id, _with_bytes(tenant_id, first))}


def entries_resting_on(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The entries that stand for the archives which were distilled from these entries, or from such."""
    first = _with_bytes(tenant_id, resting_on(tenant_id, entry_ids))
    return {row.entry_id for row in _and_resting_on_them(tenant_id, first) if row.entry_id}


def withdraw_made_of(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> int:
    """The entries were forgotten, and with them go the archives that were distilled from them.

    An archive that is being stored meanwhile is either seen here or sees that its source is gone.
    """
    access.lock_tenant(tenant_id)
    made = resting_on(tenant_id, entry_ids)
    return withdraw(tenant_id, made, FORGOTTEN, now=now) if made else 0


def seal_made_of(tenant_id: UUID, entry_ids: Collection[UUID], memory_ref: str, *, now: datetime) -> list[Archive]:
    """The entries are confidential now: the archives that were distilled from them are withdrawn, and no text that an
    endpoint made for their ref is kept. Which archives they were, the oldest first."""
    access.lock_tenant(tenant_id)
    going = all_resting_on(tenant_id, (), entry_ids)
    withdraw(tenant_id, going, SEALED, now=now)
    Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref).delete()
    rows = Archive.objects.of(tenant_id).defer("body").order_by("id")
    return sorted((row for part in parts(going) for row in rows.filter(id__in=part)), key=lambda row: row.id)


def unname(tenant_id: UUID, archive_ids: Collection[UUID]) -> int:
    """The withdrawn archives of a ref that names a forgotten subject do not say their ref any more."""
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id, state=ArchiveState.WITHDRAWN)
    return sum(rows.filter(id__in=part).update(memory_ref=UNNAMED) for part in parts(archive_ids))


def drop_distillates(tenant_id: UUID, distillate_ids: Collection[UUID]) -> int:
    """What an endpoint made is kept no longer."""
    rows = Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id)
    return sum(int(rows.filter(id__in=part).delete()[0]) for part in parts(distillate_ids))


def forgotten(tenant_id: UUID, *, since: datetime) -> list[Archive]:
    """The archives that a forget has withdrawn since then, the oldest first."""
    rows = Archive.objects.of(tenant_id).filter(withdrawn_because=FORGOTTEN, withdrawn_at__gte=since)
    return list(rows.defer("body").order_by("id"))


def redistil(tenant_id: UUID, lost: Iterable[Archive], *, now: datetime) -> list[Pass]:
    """Each ref that has ``lost`` its current archive to something but time waits to be distilled from what remains.

    With the budget of the last archive that went; a ref with nothing left is not distilled.
    """
    scope = tenancy.host_scope(Tenant.objects.get(id=tenant_id))
    newest = {row.memory_ref: row for row in lost}
    return [
        _again(row, now)
        for memory_ref, row in newest.items()
        if not of_ref(tenant_id, memory_ref).filter(state=ArchiveState.CURRENT).exists()
        and _has_memory(scope, memory_ref, now)
    ]


def _has_memory(scope: TenantScope, memory_ref: str, now: datetime) -> bool:
    found = tenancy.memory_scope(scope, memory_ref)
    return found is not None and adapter.counts_of(found, now=now).entries > 0


def _again(row: Archive, now: datetime) -> Pass:
    window, options = f"redistil/{row.id.hex}", {"tokenBudget": row.token_budget}
    order = PassOrder(DISTILL, window, "host", row.memory_ref, options, Trigger.HOST_MANAGED)
    return passes.request(row.tenant_id, order, now=now)


def gc(*, now: datetime) -> int:
    """Archives whose time is over are withdrawn, of every tenant, and endpoint texts that are as old; how many."""
    withdrawn = 0
    while lapsed := _lapsed(now):
        for tenant_id, rows in lapsed.items():
            withdrawn += withdraw(tenant_id, rows, RETENTION, now=now)
    for tenant_id in Distillate.objects.order_by().values_list("tenant_id", flat=True).distinct():
        oldest = ids.first_of(now - timedelta(days=policies.policy_of(tenant_id).archive_days))
        Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__lt=oldest).delete()
    return withdrawn


def _lapsed(now: datetime) -> dict[UUID, list[UUID]]:
    rows = Archive.objects.filter(keep_until__lte=now).exclude(state=ArchiveState.WITHDRAWN).order_by("keep_until")
    found: dict[UUID, list[UUID]] = defaultdict(list)
    for tenant_id, row in rows.values_list("tenant_id", "id")[:CHUNK]:
        found[tenant_id].append(row)
    return found
