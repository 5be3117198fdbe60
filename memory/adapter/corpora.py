"""Memory as a background pass takes it: all that is live under one ref, in the order in which it was written.

Read in chunks, so a pass over a large ref holds no long transaction.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum

from memory.host import sql
from memory.host.tenancy import MemoryScope, TenantScope
from memory.models.entry import LedgerHead, MemoryEntry

CHUNK = 5000
PART = 500
COLUMNS = (
    "id, content, tags, subject, agent_id, node_id, run_id, {created_at}, {expires_at}, tokens, sha256, derived, "
    "protected, position"
)


class CorpusEntry(NamedTuple):
    """One live entry, as a pass weighs it. ``derived`` says which pass made it; empty for what a run wrote."""

    id: UUID
    content: str
    tags: tuple[str, ...]
    subject: str
    agent_id: str
    node_id: str
    run_id: UUID
    created_at: datetime
    expires_at: datetime | None
    tokens: int
    sha256: str
    derived: str
    protected: bool
    position: int


def corpus(scope: MemoryScope, *, now: datetime, chunk: int = CHUNK) -> Iterator[list[CorpusEntry]]:
    """The live, unretired entries of the ref in chunks, oldest first."""
    after = UUID(int=0)
    while found := _read(scope, now, "memory_ref = %s AND id > %s", [scope.memory_ref, sql.key(after)], "id", chunk):
        yield found
        after = found[-1].id


def written_since(
    scope: MemoryScope, position: int, *, now: datetime, chunk: int = CHUNK
) -> Iterator[list[CorpusEntry]]:
    """Those of them that were written after ``position``: by the ledger's own order, whatever the size of the ref."""
    condition = "memory_ref || '' = %s AND position > %s"  # kept out of the index of refs, word for word
    while found := _read(scope, now, condition, [scope.memory_ref, position], "position", chunk):
        yield found
        position = found[-1].position


def those(scope: MemoryScope, entry_ids: Sequence[UUID], *, now: datetime) -> list[CorpusEntry]:
    """The live, unretired entries of the ref among ``entry_ids``, oldest first."""
    found: list[CorpusEntry] = []
    for first in range(0, len(entry_ids), PART):
        part = [sql.key(each) for each in entry_ids[first : first + PART]]
        marks = ", ".join(["%s"] * len(part))
        found += _read(scope, now, f"memory_ref = %s AND id IN ({marks})", [scope.memory_ref, *part], "id", PART)
    return sorted(found, key=lambda each: each.id)


def _read(
    scope: MemoryScope, now: datetime, condition: str, values: list[Any], order: str, size: int
) -> list[CorpusEntry]:
    columns = COLUMNS.format(created_at=sql.time_column("created_at"), expires_at=sql.time_column("expires_at"))
    statement = (
        f"SELECT {columns} FROM memory_memoryentry WHERE tenant_id = %s AND {condition} "  # noqa: S608
        f"AND (expires_at IS NULL OR expires_at > %s) AND retired_at IS NULL ORDER BY {order} LIMIT %s"
    )
    return [_entry(row) for row in sql.rows(statement, [sql.key(scope.tenant_id), *values, sql.instant(now), size])]


def _entry(row: Any) -> CorpusEntry:
    entry_id, content, tags, subject, agent, node, run_id, created, expires, tokens, sha, derived, kept, at = row
    return CorpusEntry(
        sql.as_uuid(entry_id),
        content,
        tuple(sql.as_document(tags)),
        subject,
        agent,
        node,
        sql.as_uuid(run_id),
        sql.at(created),
        sql.as_instant(expires),
        tokens,
        sha,
        derived,
        bool(kept),
        at,
    )


def head(tenant_id: UUID) -> int:
    """The position of the tenant's last change; 0 before the first."""
    found: LedgerHead | None = LedgerHead.objects.of(tenant_id).first()
    return found.position if found else 0


class Counts(NamedTuple):
    """How much is live under a ref."""

    entries: int
    tokens: int


def counts_of(scope: MemoryScope, *, now: datetime) -> Counts:
    found = _live(scope.tenant, now).filter(memory_ref=scope.memory_ref).aggregate(n=Count("id"), t=Sum("tokens"))
    return Counts(found["n"], found["t"] or 0)


def refs_of(scope: TenantScope, *, now: datetime, limit: int = 500) -> list[tuple[str, int]]:
    """The refs of the tenant with how many live entries each has, the fullest first."""
    scope.check("memory:read")
    rows = _live(scope, now).values("memory_ref").annotate(n=Count("id")).order_by("-n", "memory_ref")
    return list(rows.values_list("memory_ref", "n")[:limit])


def _live(scope: TenantScope, now: datetime) -> QuerySet[MemoryEntry]:
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id).filter(retired_at=None)
    return rows.filter(Q(expires_at=None) | Q(expires_at__gt=now))
