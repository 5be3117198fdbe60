"""Entries that a pass makes of others, and what it says of those it leaves: bulk writes of the host (RFC 0012, 0068).

Derived text goes through every secret of the tenant and through the shapes of secrets, not only through what one run
has resolved (SR-1 carry-forward). ``memory.written`` names no node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memory import harness, reconciled
from memory.drafts import EntryDraft
from memory.host import audit, event_log, ids, sql
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger import index
from memory.ledger.entries import (
    INSERT_ENTRY,
    INSERT_TAGS,
    SEARCH_TEXT,
    WORDS,
    Redraft,
    Written,
    redacted,
    require_writable,
    row_of,
)
from memory.ledger.rows import WRITER, locked_entry, move_head
from memory.models.entry import MemoryEntry, Strength
from memory.text.words import words_of

INSERT_DERIVED = INSERT_ENTRY.replace(" position)", " derived, position)")
VALUES = ", ".join(["%s"] * 21)
INSERT = f"{INSERT_DERIVED} VALUES ({VALUES})"
INSERT_WITH_WORDS = f"{INSERT_DERIVED.replace(' position)', ' position, words)')} VALUES ({VALUES}, {WORDS})"


@dataclass(frozen=True, slots=True)
class Derivation:
    """An entry to be made, and by which kind of pass: ``merged``, ``compacted`` or ``distilled``."""

    draft: EntryDraft
    derived: str
    protected: bool = False


@transaction.atomic
def write_derived(scope: MemoryScope, made: Sequence[Derivation], *, run: Run, now: datetime) -> list[Written]:
    """The entries are stored in their order, each with its ``memory.written`` on ``run``; all or none."""
    require_writable(scope, run)
    redact = harness.for_derived(scope.tenant_id)
    entries = [redacted(scope, each.draft, redact, now) for each in made]
    if not entries:
        return []
    facts = [
        MemoryWritten(e.memory_ref, e.id, None, d.draft.agent_id or None, e.labels)
        for e, d in zip(entries, made, strict=True)
    ]
    event_log.append(scope.tenant_id, run.id, *facts, now=now)
    last = move_head(scope.tenant_id, entries=len(entries), retired=0, steps=len(entries))
    first = last - len(entries) + 1
    rows = [
        [*row_of(entry, each.draft, run.tenant_id, run.id, None, now), each.derived, first + offset]
        for offset, (entry, each) in enumerate(zip(entries, made, strict=True))
    ]
    insert_rows(scope.tenant_id, entries, rows)
    index.after_bulk(scope.tenant_id, last, len(entries))
    kept = [entry.id for entry, each in zip(entries, made, strict=True) if each.protected]
    MemoryEntry.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, id__in=kept).update(protected=True)
    return [
        Written(entry.id, entry.memory_ref, entry.content, entry.tags, now, each.draft.expires_at, first + offset)
        for offset, (entry, each) in enumerate(zip(entries, made, strict=True))
    ]


def insert_rows(tenant_id: UUID, entries: Sequence[Redraft], rows: Sequence[list[Any]]) -> None:
    """The entries are there, with their tags; ``rows`` are the values of ``INSERT_DERIVED``."""
    tenant = sql.key(tenant_id)
    tags = [[tenant, sql.key(entry.id), tag] for entry in entries for tag in entry.tags]
    with connection.cursor() as cursor:
        if sql.is_postgres():
            cursor.executemany(INSERT_WITH_WORDS, [[*row, words_of(row[SEARCH_TEXT])] for row in rows])
        else:
            cursor.executemany(INSERT, rows)
        if tags:
            cursor.executemany(f"{INSERT_TAGS} VALUES (%s, %s, %s)", tags)


@transaction.atomic
def strengthen(tenant_id: UUID, found: Sequence[tuple[UUID, int, datetime]]) -> None:
    """Each entry speaks of so many sources now, of which the last was written then."""
    tenant = sql.key(tenant_id)
    rows = [(tenant, sql.key(entry_id), sources, sql.instant(last)) for entry_id, sources, last in found]
    allowed = Strength.objects.written_by(WRITER)
    renewing = ("sources", "last_said_at")
    sql.insert(allowed, ("tenant_id", "id", *renewing), rows, renewing=renewing)


@transaction.atomic
def protect(scope: TenantScope, entry_id: UUID, *, protected: bool, now: datetime) -> MemoryEntry:
    """The entry is never merged and goes first into an archive; or no longer so. Audited.

    One that is not protected any more is a change of the ledger: the next pass looks at its ref anew.
    """
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.protected != protected:
        entry.protected = protected
        entry.save(by=WRITER, update_fields=["protected"])
        if not protected:
            move_head(scope.tenant_id, entries=0, retired=0)
            reconciled.drop(scope.tenant_id, [entry.memory_ref])
        action = "memory.protected" if protected else "memory.unprotected"
        target = ids.wire("mem", entry.id)
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)
    return entry
