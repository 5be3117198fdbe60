"""Many entries written at once, as rows, with one statement for each table: of runs, imports, passes and external
agents.

Derived text is redacted by every secret of the tenant and by the shapes of secrets, not only by what one run has
resolved (SR-1 carry-forward; RFC 0012, 0068). Its ``memory.written`` names no node. The origin that an external agent
states is stored with its entry, and redacted with it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction

from memory import consolidation_state, origins, redaction
from memory.entry_drafts import EntryDraft
from memory.host import audit, event_log, ids, sql
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger import entries, index
from memory.ledger.entries import COLUMNS, SEARCH_TEXT, Redact, Redraft, Written, redacted, require_writable
from memory.ledger.head import WRITER, advance_head, locked_entry
from memory.models import EntryOrigin
from memory.models.entry import EntryTag, MemoryEntry, Strength, Tombstone
from memory.origins import Origin
from memory.text.matching import hidden_form
from memory.text.redactor import Redactor, unchanged

if TYPE_CHECKING:
    from memory.ledger.addressed import Given

# How many entries are searched for secrets together; with a hit they are searched again one by one.
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
    redactor = redaction.for_run(run.tenant_id, run.id)
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
    return written_entries(made, rows, now)


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
    """The redactor of each of ``texts``; the empty one when together they contain no secret."""
    return unchanged if redactor.is_clean(texts) else redactor.redact


def insert_entries(tenant_id: UUID, made: Sequence[Prepared], *, now: datetime) -> list[list[Any]]:
    """Insert the entries in their order, with their tags; returns the values of ``INSERTED`` of each.

    The caller appends their facts before, in the same transaction.
    """
    last = advance_head(tenant_id, entries=len(made), retired=0, steps=len(made))
    tenant, hidden = sql.key(tenant_id), cache(hidden_form)
    rows = [
        [*row_of(tenant_id, each, now, hidden=hidden), position]
        for position, each in enumerate(made, last - len(made) + 1)
    ]
    sql.insert(MemoryEntry.objects.written_by(WRITER), INSERTED, rows)
    tags = [(tenant, sql.key(each.entry.id), tag) for each in made for tag in each.entry.tags]
    sql.insert(EntryTag.objects.written_by(WRITER), TAGGED, tags)
    index.lag_after_bulk(tenant_id, last, len(made), longest=max(len(row[SEARCH_TEXT]) for row in rows))
    return rows


def row_of(tenant_id: UUID, made: Prepared, now: datetime, *, hidden: Callable[[str], str] = hidden_form) -> list[Any]:
    """The values of ``OF_ENTRY``."""
    at = made.created_at or now
    row = entries.row_of(made.entry, made.draft, tenant_id, made.run_id, made.node_id, at, hidden=hidden)
    return [*row, made.derived, made.protected, made.sealed]


def written_entries(made: Sequence[Prepared], rows: Sequence[list[Any]], now: datetime) -> list[Written]:
    """What the ledger stored of these."""
    return [
        Written(e.entry.id, e.entry.memory_ref, e.entry.content, e.entry.tags, now, e.draft.expires_at, row[-1])
        for e, row in zip(made, rows, strict=True)
    ]


def stored_entry(tenant_id: UUID, made: Prepared, row: list[Any], now: datetime) -> MemoryEntry:
    """The entry that was stored as ``row``."""
    return entries.stored(tenant_id, made.entry, dict(zip(INSERTED, row, strict=True)), now, made.draft.expires_at)


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
    redact = redaction.for_derived(scope.tenant_id)
    prepared = [
        Prepared(redacted(scope, each.draft, redact, now), each.draft, run.id, None, each.derived, each.protected)
        for each in made
    ]
    if not prepared:
        return []
    event_log.append(scope.tenant_id, run.id, *(each.fact for each in prepared), now=now)
    return written_entries(prepared, insert_entries(scope.tenant_id, prepared, now=now), now)


@transaction.atomic
def strengthen(tenant_id: UUID, found: Sequence[tuple[UUID, int, datetime]]) -> None:
    """Set how many sources support each entry, and when the last was written."""
    tenant = sql.key(tenant_id)
    rows = [(tenant, sql.key(entry_id), sources, sql.instant(last)) for entry_id, sources, last in found]
    allowed = Strength.objects.written_by(WRITER)
    renewing = ("sources", "last_said_at")
    sql.insert(allowed, ("tenant_id", "id", *renewing), rows, renewing=renewing)


@transaction.atomic
def protect(scope: TenantScope, entry_id: UUID, *, protected: bool, now: datetime) -> MemoryEntry:
    """Protect the entry from merges and put it first in archives, or end that. Audited. Ending it is a change of the
    ledger: the next pass considers the entry again."""
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.protected != protected:
        entry.protected = protected
        entry.save(by=WRITER, update_fields=["protected"])
        if not protected:
            advance_head(scope.tenant_id, entries=0, retired=0)
            consolidation_state.drop(scope.tenant_id, [entry.memory_ref])
        action = "memory.protected" if protected else "memory.unprotected"
        target = ids.wire("mem", entry.id)
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)
    return entry


ORIGIN_COLUMNS = (
    "tenant_id", "id", "entry_id", "run_id", "sequence", "current", "system", "run_ref", "thread_id", "node", "more",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stated:
    """A write of an external agent: the run on whose log it is recorded here, and what the agent states."""

    run_id: UUID
    origin: Origin

    def redacted(self, redact: Redact) -> "Stated":
        """Without any secret; refused when it does not fit any more."""
        origin = self.origin.with_texts(lambda text: redact(text).text)
        origins.require_fitting(origin)
        return Stated(self.run_id, origin)


def write_stated(scope: MemoryScope, draft: EntryDraft, origin: Origin | None, *, run: Run, now: datetime) -> Written:
    """``write_entry`` for an external agent, on the ``run`` that represents its own: the log names no node, since the
    agent only states it, and everything is redacted by every secret of the tenant."""
    entries.require_writable(scope, run)
    entries.require_plain_ref(scope)
    redact = redaction.for_tenant(run.tenant_id).redact
    made = Prepared(entries.redacted(scope, draft, redact, now), draft, run.id)
    stated = [(made.entry.id, Stated(run.id, origin).redacted(redact))] if origin else []
    with transaction.atomic():
        sequence = event_log.append(run.tenant_id, run.id, made.fact, now=now)
        rows = insert_entries(run.tenant_id, [made], now=now)
        _store(run.tenant_id, [(*each, sequence) for each in stated])
    [written] = written_entries([made], rows, now)
    return written


def import_drafts(scope: MemoryScope, imported: Sequence[Imported], *, run: Run, now: datetime) -> None:
    """The entries are under ``scope``, without any secret of the tenant, each with its fact on ``run``, and with what
    was stated of it elsewhere; all or none."""
    entries.require_plain_ref(scope)
    entries.require_writable(scope, run)
    redactor = redaction.for_tenant(run.tenant_id)
    made: list[Prepared] = []
    stated: dict[int, tuple[UUID, Stated]] = {}
    for part in sql.in_chunks(imported, TOGETHER):
        drafts = [each.what for each in part if isinstance(each.what, EntryDraft)]
        redact = redactor_of(redactor, (scope.memory_ref, *(text for draft in drafts for text in draft.texts)))
        for each, draft in zip(part, drafts, strict=True):
            entry = replace(entries.redacted(scope, draft, redact, now), id=each.entry_id)
            if each.origin:
                stated[len(made)] = each.entry_id, Stated(run.id, each.origin).redacted(redactor.redact)
            made.append(Prepared(entry, draft, run.id, created_at=each.created_at))
    with transaction.atomic():
        last = event_log.append(run.tenant_id, run.id, *(each.fact for each in made), now=now)
        insert_entries(run.tenant_id, made, now=now)
        first = last - len(made) + 1
        _store(run.tenant_id, [(*each, first + place) for place, each in stated.items()])


def append_stated(
    tenant_id: UUID, facts: Iterable[tuple[MemoryWritten, Stated]], redact: Redact, *, now: datetime
) -> None:
    """Append the facts to the logs of the runs that they are stated to be of, which the caller has locked."""
    rows = [
        (fact.memory_id, stated.redacted(redact), event_log.append(tenant_id, stated.run_id, fact, now=now))
        for fact, stated in facts
    ]
    _store(tenant_id, rows)


def _store(tenant_id: UUID, stated_writes: Iterable[tuple[UUID, Stated, int]]) -> None:
    """Store what was stated of these entries' last writes, with its event's number on the run's log."""
    tenant, key = sql.key(tenant_id), sql.key
    rows = [
        [
            tenant,
            key(ids.new_id()),
            key(entry_id),
            key(stated.run_id),
            sequence,
            True,
            stated.origin.system,
            stated.origin.run_ref,
            stated.origin.thread_id,
            stated.origin.node,
            sql.document(stated.origin.rest),
        ]
        for entry_id, stated, sequence in stated_writes
    ]
    sql.insert(EntryOrigin.objects.written_by(WRITER), ORIGIN_COLUMNS, rows)


def mark_outdated(tenant_id: UUID, entry_ids: Sequence[UUID]) -> None:
    """The entries are written again: earlier stated origins no longer describe their last writes."""
    rows = EntryOrigin.objects.written_by(WRITER).filter(tenant_id=tenant_id, entry_id__in=entry_ids, current=True)
    rows.update(current=False)
