"""Many entries stored in one go: looked through together, as rows instead of objects, one statement for each table."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction

from memory import harness
from memory.drafts import EntryDraft
from memory.host import event_log, sql
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import MemoryScope
from memory.ledger import entries, index
from memory.ledger.entries import COLUMNS, SEARCH_TEXT, Redraft, Written
from memory.ledger.rows import WRITER, move_head
from memory.models.entry import EntryTag, MemoryEntry, Tombstone
from memory.origins import Origin
from memory.redaction import Redactor, unchanged
from memory.text.matching import hidden_form

if TYPE_CHECKING:
    from memory.ledger.addressed import Given

# Texts are looked through together by as many entries: those beside a secret are looked through again one by one.
TOGETHER = 50
OF_ENTRY = (*COLUMNS, "derived", "protected", "sealed")
INSERTED = (*OF_ENTRY, "position")
TAGGED = ("tenant_id", "id", "tag")


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry as it will be stored, without secrets; which run wrote it where, or which kind of pass."""

    entry: Redraft
    draft: EntryDraft
    run_id: UUID
    node_id: str | None = None
    derived: str = ""
    protected: bool = False
    sealed: bool = False
    created_at: datetime | None = None  # when that was not now

    @property
    def fact(self) -> MemoryWritten:
        entry = self.entry
        return MemoryWritten(entry.memory_ref, entry.id, self.node_id, self.draft.agent_id or None, entry.labels)


def write_entries(
    scope: MemoryScope, drafts: Sequence[EntryDraft], *, run: Run, node_id: str | None, now: datetime
) -> list[Written]:
    """``write_entry`` for each of the drafts, in their order; all or none."""
    entries.require_plain_ref(scope)
    entries.require_writable(scope, run)
    redactor = harness.for_run(run.tenant_id, run.id)
    made = [
        Prepared(entries.redacted(scope, draft, redact, now), draft, run.id, node_id)
        for part in sql.in_chunks(drafts, TOGETHER)
        for redact in [redactor_of(redactor, (scope.memory_ref, *(text for each in part for text in each.texts)))]
        for draft in part
    ]
    if not made:
        return []
    with transaction.atomic():
        event_log.append(run.tenant_id, run.id, *(each.fact for each in made), now=now)
        rows = insert_entries(run.tenant_id, made, now=now)
    return written(made, rows, now)


@dataclass(frozen=True, slots=True)
class Imported:
    """An entry from elsewhere, which keeps its id and its time: with an address, or without one as a draft."""

    entry_id: UUID
    created_at: datetime
    what: "EntryDraft | Given"
    origin: Origin | None = None


def known_ids(tenant_id: UUID, entry_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Those of these ids that entries of the tenant have or had, with why one is gone."""
    here = MemoryEntry.objects.of(tenant_id).filter(id__in=entry_ids).values_list("id", flat=True)
    stones = Tombstone.objects.of(tenant_id).filter(id__in=entry_ids).values_list("id", "reason")
    return dict.fromkeys(here, "") | dict(stones)


def redactor_of(redactor: Redactor, texts: Iterable[str]) -> entries.Redact:
    """What redacts each of ``texts``: nothing, when all of them together hold no secret."""
    return unchanged if redactor.is_clean(texts) else redactor.redact


def insert_entries(tenant_id: UUID, made: Sequence[Prepared], *, now: datetime) -> list[list[Any]]:
    """The entries are in the ledger, in their order, with their tags; the values of ``INSERTED`` of each.

    Their facts are told by the caller, before, and in the same transaction.
    """
    last = move_head(tenant_id, entries=len(made), retired=0, steps=len(made))
    tenant, hidden = sql.key(tenant_id), cache(hidden_form)
    rows = [
        [*row_of(tenant_id, each, now, hidden=hidden), position]
        for position, each in enumerate(made, last - len(made) + 1)
    ]
    sql.insert(MemoryEntry.objects.written_by(WRITER), INSERTED, rows)
    tags = [(tenant, sql.key(each.entry.id), tag) for each in made for tag in each.entry.tags]
    sql.insert(EntryTag.objects.written_by(WRITER), TAGGED, tags)
    index.after_bulk(tenant_id, last, len(made), longest=max(len(row[SEARCH_TEXT]) for row in rows))
    return rows


def row_of(tenant_id: UUID, made: Prepared, now: datetime, *, hidden: Callable[[str], str] = hidden_form) -> list[Any]:
    """The values of ``OF_ENTRY``."""
    at = made.created_at or now
    row = entries.row_of(made.entry, made.draft, tenant_id, made.run_id, made.node_id, at, hidden=hidden)
    return [*row, made.derived, made.protected, made.sealed]


def written(made: Sequence[Prepared], rows: Sequence[list[Any]], now: datetime) -> list[Written]:
    """What the ledger stored of these."""
    return [
        Written(e.entry.id, e.entry.memory_ref, e.entry.content, e.entry.tags, now, e.draft.expires_at, row[-1])
        for e, row in zip(made, rows, strict=True)
    ]


def stored_entry(tenant_id: UUID, made: Prepared, row: list[Any], now: datetime) -> MemoryEntry:
    """The entry that stands in the ledger as ``row``."""
    return entries.stored(tenant_id, made.entry, dict(zip(INSERTED, row, strict=True)), now, made.draft.expires_at)
