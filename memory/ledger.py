"""The write: every insert, change and removal of memory. It redacts, and appends the fact (SR-1, RFC 0057).

Nobody can skip the redaction: the ledger asks the harness itself. An entry, its tags, its place in the ledger and its
``memory.written`` commit together or not at all.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memory import drafts, harness, redaction, token_budget
from memory.drafts import EntryDraft
from memory.host import audit, effects, event_log, ids, sql
from memory.host.errors import CapabilityNotProvided, NotFound, StreamClosed
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.matching import search_form
from memory.models.entry import LedgerHead, MemoryEntry, Retirement, Tombstone

WRITER = "memory.ledger"
CHUNK = 500
TABLES = (("memory_entrytag", "id"), ("memory_retirement", "entry_id"), ("memory_memoryentry", "id"))
# A tag that is a plain word may stand on the log, which nobody can forget from; any other may hold a name.
LABEL = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")

INSERT_ENTRY = (
    "INSERT INTO memory_memoryentry "
    "(tenant_id, id, memory_ref, content, search_text, tags, subject, run_id, node_id, agent_id, created_at, "
    "expires_at, retired_reason, tokens, sha256, redactions, secret_shapes, ephemeral, position) "
)
ENTRY = ", ".join(["%s"] * 18)
INSERT_TAGS = "INSERT INTO memory_entrytag (tenant_id, id, tag) "
TAKE_POSITION = (
    "INSERT INTO memory_ledgerhead (tenant_id, id, position, entries, retired) {values} "
    "ON CONFLICT (tenant_id, id) DO UPDATE SET position = memory_ledgerhead.position + 1, "
    "entries = memory_ledgerhead.entries + 1 RETURNING position"
)
# PostgreSQL: one statement, in one round trip, after ``event_log.with_fact``.
CHANGE = (
    f", head AS ({TAKE_POSITION.format(values='SELECT %s, %s, 1, 1, 0 FROM numbered')}), "  # noqa: S608
    f"entry AS ({INSERT_ENTRY} SELECT {ENTRY}, position FROM head), "
    f"tag AS ({INSERT_TAGS} SELECT %s, %s, tag FROM numbered, unnest(%s::text[]) AS tag) "
    "SELECT position FROM head"
)

# The first condition is the index's own, word for word: no other rows are looked at.
EPHEMERAL_ROWS = "SELECT tenant_id, id FROM memory_memoryentry WHERE NOT (ephemeral = '') AND ephemeral = %s LIMIT %s"


@dataclass(frozen=True, slots=True)
class Written:
    """What the ledger stored: the id, and the texts as they stand now, redacted."""

    id: UUID
    memory_ref: str
    content: str
    tags: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    position: int


def write_entry(scope: MemoryScope, draft: EntryDraft, *, run: Run, node_id: str | None, now: datetime) -> Written:
    """The entry is stored under ``scope`` and ``memory.written`` stands on ``run``; both or neither.

    ``node_id`` is None for a host write, and for nothing else (RFC 0057 B). Refuses with ``Invalid`` what cannot be
    stored, ``NotFound`` when the run is another tenant's, and ``CapabilityNotProvided`` on a read-only host.
    """
    if run.tenant_id != scope.tenant_id:
        raise NotFound("There is no run by that id.")
    effects.refuse_in_replay(run)
    scope.tenant.check("memory:write")
    if not settings.OPENWOP_MEMORY_WRITABLE:
        raise CapabilityNotProvided("The memory of this host is read-only.", capability="memory.writable")
    tags = drafts.checked(draft, now)
    redactor = harness.for_run(run.tenant_id, run.id)
    content = redactor.redact(draft.content)
    entry = _Entry(
        id=ids.new_id(),
        memory_ref=redactor.redact(scope.memory_ref).text,
        content=content.text,
        tags=tuple(dict.fromkeys(redactor.redact(tag).text for tag in tags)),
        subject=redactor.redact(draft.subject).text,
        redactions=content.count,
    )
    drafts.require_fitting(memory_ref=entry.memory_ref, subject=entry.subject, tags=entry.tags)
    labels = tuple(tag for tag in entry.tags if LABEL.fullmatch(tag))
    fact = MemoryWritten(entry.memory_ref, entry.id, node_id, draft.agent_id or None, labels)
    row = _row(entry, draft, run, node_id, now)
    position = (_store_at_once if sql.is_postgres() else _store_in_steps)(run, entry, row, fact, now)
    return Written(entry.id, entry.memory_ref, entry.content, entry.tags, now, draft.expires_at, position)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A draft after redaction: the only texts that are stored."""

    id: UUID
    memory_ref: str
    content: str
    tags: tuple[str, ...]
    subject: str
    redactions: int


def _row(entry: _Entry, draft: EntryDraft, run: Run, node_id: str | None, now: datetime) -> list[Any]:
    """The values of ``INSERT_ENTRY``, but for the position."""
    return [
        sql.key(run.tenant_id),
        sql.key(entry.id),
        entry.memory_ref,
        entry.content,
        search_form("\n".join((entry.content, *entry.tags, entry.subject, entry.memory_ref))),
        sql.document(entry.tags),
        entry.subject,
        sql.key(run.id),
        node_id or "",
        draft.agent_id,
        sql.instant(now),
        sql.instant(draft.expires_at),
        "",
        token_budget.count(entry.content),
        hashlib.sha256(entry.content.encode()).hexdigest(),
        entry.redactions,
        redaction.secret_shapes(entry.content),
        settings.OPENWOP_MEMORY_INSTANCE,
    ]


def _store_at_once(run: Run, entry: _Entry, row: list[Any], fact: MemoryWritten, now: datetime) -> int:
    """PostgreSQL: fact, position, entry and tags are one statement, and so one transaction."""
    tenant = sql.key(run.tenant_id)
    parameters = [tenant, tenant, *row, tenant, sql.key(entry.id), list(entry.tags)]
    stored = sql.rows(*event_log.with_fact(run.tenant_id, run.id, fact, CHANGE, parameters, now=now))
    if not stored:
        raise StreamClosed
    return int(stored[0][0])


@transaction.atomic
def _store_in_steps(run: Run, entry: _Entry, row: list[Any], fact: MemoryWritten, now: datetime) -> int:
    """SQLite, which has no such statement and no round trips to save."""
    tenant, key = sql.key(run.tenant_id), sql.key(entry.id)
    event_log.append(run.tenant_id, run.id, fact, now=now)
    with connection.cursor() as cursor:
        cursor.execute(TAKE_POSITION.format(values="VALUES (%s, %s, 1, 1, 0)"), [tenant, tenant])
        position = int(cursor.fetchone()[0])
        cursor.execute(f"{INSERT_ENTRY} VALUES ({ENTRY}, %s)", [*row, position])
        if entry.tags:
            cursor.executemany(f"{INSERT_TAGS} VALUES (%s, %s, %s)", [[tenant, key, tag] for tag in entry.tags])
    return position


@transaction.atomic
def retire(scope: TenantScope, entry_id: UUID, *, reason: str, now: datetime) -> MemoryEntry:
    """The entry is hidden from reads that begin later; runs that started before still see it. Undoable, and audited."""
    scope.check("memory:retire")
    entry = _locked_entry(scope, entry_id)
    if entry.retired_at is None:
        said = harness.for_tenant(scope.tenant_id).redact(drafts.checked_reason(reason)).text
        position = _move_head(scope.tenant_id, entries=-1, retired=1)
        Retirement(tenant_id=scope.tenant_id, entry_id=entry.id, from_position=position).insert(by=WRITER)
        _hide(scope, entry, at=now, reason=said, now=now)
    return entry


@transaction.atomic
def restore(scope: TenantScope, entry_id: UUID, *, now: datetime) -> MemoryEntry:
    """A retired entry is read again by runs that start from here on; audited."""
    scope.check("memory:retire")
    entry = _locked_entry(scope, entry_id)
    if entry.retired_at is not None:
        position = _move_head(scope.tenant_id, entries=1, retired=-1)
        open_spans = Retirement.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, entry_id=entry.id)
        open_spans.filter(until_position=None).update(until_position=position)
        _hide(scope, entry, at=None, reason="", now=now)
    return entry


def _hide(scope: TenantScope, entry: MemoryEntry, *, at: datetime | None, reason: str, now: datetime) -> None:
    """The entry is retired since ``at``, or not at all; who did it is on record, without what was said."""
    entry.retired_at, entry.retired_reason = at, reason
    entry.save(by=WRITER, update_fields=["retired_at", "retired_reason"])
    action = "memory.retired" if at else "memory.restored"
    target = ids.wire("mem", entry.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)


def _locked_entry(scope: TenantScope, entry_id: UUID) -> MemoryEntry:
    entry: MemoryEntry | None = MemoryEntry.objects.of(scope.tenant_id).select_for_update().filter(id=entry_id).first()
    if entry is None:
        raise NotFound("There is no memory entry by that id.")
    return entry


def _move_head(tenant_id: UUID, *, entries: int, retired: int) -> int:
    """The ledger has changed: its position rises and its counts move. The row is locked until the commit."""
    head: LedgerHead = LedgerHead.objects.of(tenant_id).select_for_update().get()
    head.position, head.entries, head.retired = head.position + 1, head.entries + entries, head.retired + retired
    head.save(by=WRITER, update_fields=["position", "entries", "retired"])
    return head.position


@transaction.atomic
def remove(tenant_id: UUID, rows: tuple[UUID, ...], *, reason: str, now: datetime) -> int:
    """At most ``CHUNK`` of ``rows`` are gone, with their tags; a tombstone without content remains of each."""
    locked = MemoryEntry.objects.of(tenant_id).select_for_update().filter(id__in=rows[:CHUNK]).order_by("id")
    found = list(locked.only("id", "run_id", "retired_at"))
    if not found:
        return 0
    tombstones = [
        Tombstone(tenant_id=tenant_id, id=row.id, run_id=row.run_id, reason=reason, removed_at=now) for row in found
    ]
    Tombstone.objects.written_by(WRITER).bulk_create(tombstones)
    retired = sum(1 for row in found if row.retired_at is not None)
    _move_head(tenant_id, entries=retired - len(found), retired=-retired)
    _delete(tenant_id, [row.id for row in found])
    return len(found)


def _delete(tenant_id: UUID, rows: list[UUID]) -> None:
    keys: list[Any] = [sql.key(row) for row in rows]
    marks = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        for table, column in TABLES:
            statement = f"DELETE FROM {table} WHERE tenant_id = %s AND {column} IN ({marks})"  # noqa: S608
            cursor.execute(statement, [sql.key(tenant_id), *keys])


def expired_rows(*, now: datetime, limit: int = CHUNK) -> list[tuple[UUID, UUID]]:
    """Expired entries of all tenants that the sweep has not removed yet, at most ``limit``."""
    rows = MemoryEntry.objects.filter(expires_at__lte=now).order_by("expires_at")
    return list(rows.values_list("tenant_id", "id")[:limit])


def ephemeral_rows(instance: str, *, limit: int = CHUNK) -> list[tuple[UUID, UUID]]:
    """Entries of all tenants that ``instance`` wrote while it had no durable memory, at most ``limit``."""
    return [(sql.as_uuid(tenant), sql.as_uuid(row)) for tenant, row in sql.rows(EPHEMERAL_ROWS, [instance, limit])]


def position(tenant_id: UUID) -> int:
    """The number of the ledger's last change; 0 before the first."""
    head: LedgerHead | None = LedgerHead.objects.of(tenant_id).first()
    return head.position if head else 0
