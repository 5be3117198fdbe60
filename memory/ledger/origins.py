"""Stated origins: where a write came from, as its agent states it. Stored with the entry, and redacted with it
(SR-1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import origins, redaction
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, sql
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import MemoryScope
from memory.ledger import bulk, entries
from memory.ledger.bulk import Imported, Prepared
from memory.ledger.entries import Redact, Written
from memory.ledger.rows import WRITER
from memory.models import EntryOrigin
from memory.origins import Origin

COLUMNS = (
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
        rows = bulk.insert_entries(run.tenant_id, [made], now=now)
        _store(run.tenant_id, [(*each, sequence) for each in stated])
    [written] = bulk.written_entries([made], rows, now)
    return written


def import_drafts(scope: MemoryScope, imported: Sequence[Imported], *, run: Run, now: datetime) -> None:
    """The entries are under ``scope``, without any secret of the tenant, each with its fact on ``run``, and with what
    was stated of it elsewhere; all or none."""
    entries.require_plain_ref(scope)
    entries.require_writable(scope, run)
    redactor = redaction.for_tenant(run.tenant_id)
    made: list[Prepared] = []
    stated: dict[int, tuple[UUID, Stated]] = {}
    for part in sql.in_chunks(imported, bulk.TOGETHER):
        drafts = [each.what for each in part if isinstance(each.what, EntryDraft)]
        redact = bulk.redactor_of(redactor, (scope.memory_ref, *(text for draft in drafts for text in draft.texts)))
        for each, draft in zip(part, drafts, strict=True):
            entry = replace(entries.redacted(scope, draft, redact, now), id=each.entry_id)
            if each.origin:
                stated[len(made)] = each.entry_id, Stated(run.id, each.origin).redacted(redactor.redact)
            made.append(Prepared(entry, draft, run.id, created_at=each.created_at))
    with transaction.atomic():
        last = event_log.append(run.tenant_id, run.id, *(each.fact for each in made), now=now)
        bulk.insert_entries(run.tenant_id, made, now=now)
        first = last - len(made) + 1
        _store(run.tenant_id, [(*each, first + place) for place, each in stated.items()])


def append_stated(
    tenant_id: UUID, told: Iterable[tuple[MemoryWritten, Stated]], redact: Redact, *, now: datetime
) -> None:
    """Append the facts to the logs of the runs that they are stated to be of, which the caller has locked."""
    rows = [
        (fact.memory_id, stated.redacted(redact), event_log.append(tenant_id, stated.run_id, fact, now=now))
        for fact, stated in told
    ]
    _store(tenant_id, rows)


def _store(tenant_id: UUID, told: Iterable[tuple[UUID, Stated, int]]) -> None:
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
        for entry_id, stated, sequence in told
    ]
    sql.insert(EntryOrigin.objects.written_by(WRITER), COLUMNS, rows)


def mark_outdated(tenant_id: UUID, entry_ids: Sequence[UUID]) -> None:
    """The entries are written again: earlier stated origins no longer describe their last writes."""
    rows = EntryOrigin.objects.written_by(WRITER).filter(tenant_id=tenant_id, entry_id__in=entry_ids, current=True)
    rows.update(current=False)
