"""The end of a distillation: everything it leaves, in one transaction (RFC 0062 B.4 to B.6).

Locks are taken in one order everywhere: the ledger's, then the tenant's, then the workspace's.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, archives, ledger, lineage, passes
from memory.archives import ArchiveDraft
from memory.distillation.making import Commission, Made, figures
from memory.drafts import EntryDraft
from memory.host import access, event_log, ids
from memory.host.events import DistillationFigures, MemoryCompacted
from memory.ledger import Derivation
from memory.lineage import Descent
from memory.models import Archive, LineageKind, Trigger
from memory.text import token_budget

NAMED = 100
TAG = "distilled"


class Overtaken(RuntimeError):
    """What was read is not so any more: a source was forgotten or sealed, or another pass has made that archive."""


@transaction.atomic
def store(commission: Commission, made: Made, *, now: datetime) -> None:
    """The ref has a new current archive, agents read its text, and the pass is done."""
    scope, work, asked = commission.scope, commission.work, commission.asked
    keep_until = commission.keep_until
    entry = EntryDraft(made.distilled.text, tags=(TAG,), expires_at=keep_until)
    (written,) = ledger.write_derived(scope, [Derivation(entry, TAG)], run=work.run, now=now)
    access.lock_tenant(work.tenant_id)
    sources = [commission.gathered.entries[each] for each in made.distilled.covered if commission.gathered.entries]
    if (
        written.content != made.distilled.text  # the vault has learnt of a secret since
        or adapter.closed_among(work.tenant_id, sources)
        or same_work(commission, now=now)
    ):
        raise Overtaken
    archive_id = ids.new_id()
    archive = archives.store(
        scope,
        _draft(commission, made),
        archive_id=archive_id,
        entry_id=written.id,
        run=work.run,
        keep_until=keep_until,
        now=now,
    )
    descents = (Descent(source, archive_id, LineageKind.DISTILLED) for source in sources)
    lineage.record(work.tenant_id, descents, pass_id=work.id, now=now)
    if made.answered:
        archives.remember(scope, *made.answered, now=now)
    _tell(commission, archive, sources, figures(commission, made.distilled, index_updated=asked.index), now)


@transaction.atomic
def tell_again(commission: Commission, *, now: datetime) -> None:
    """The archive of that very work is the current one again, and the pass is done; there is no second archive."""
    access.lock_tenant(commission.work.tenant_id)
    archive = same_work(commission, now=now)
    if archive is None:
        raise Overtaken
    archives.recall(archive)
    outcome = {
        "sourceCount": archive.source_count,
        "corpusCount": archive.corpus_count,
        "tokenBudget": archive.token_budget,
        "tokensUsed": archive.tokens_used,
        "outputTokens": archive.output_tokens,
        "indexUpdated": commission.asked.index,
    }
    _tell(commission, archive, archives.sources_of(bytes(archive.body)), outcome, now)


def same_work(commission: Commission, *, now: datetime) -> Archive | None:
    """The archive of that very work, as long as agents can read it."""
    found = archives.same_work(commission.scope, commission.sources_sha256)
    if found is None or (found.keep_until and found.keep_until <= now) or found.entry_id is None:
        return None
    return found if adapter.get_entry(commission.scope, found.entry_id, now=now) else None


def _draft(commission: Commission, made: Made) -> ArchiveDraft:
    distilled = made.distilled
    return ArchiveDraft(
        body=made.body,
        sources_sha256=commission.sources_sha256,
        source_count=len(distilled.covered),
        corpus_count=distilled.corpus_count,
        token_budget=commission.asked.budget,
        tokens_used=distilled.tokens_used,
        output_tokens=distilled.output_tokens,
        tokenizer=token_budget.TOKENIZER,
        distiller=str(commission.method),
        trigger=Trigger.HOST_MANAGED,
        index_updated=commission.asked.index,
    )


def _tell(
    commission: Commission, archive: Archive, sources: list[UUID], outcome: dict[str, Any], now: datetime
) -> None:
    """Index, ``memory.compacted`` and the end of the pass."""
    work = commission.work
    assert archive.entry_id is not None, "an archive of a pass has its entry"
    if commission.asked.index:
        archives.write(commission.scope.tenant, archive, run=work.run, now=now)
    entry = adapter.get_entry(commission.scope, archive.entry_id, now=now)
    assert entry is not None, "agents read the archive's text there"
    size = len(entry.content.encode())
    fact = MemoryCompacted(
        memory_ref=archive.memory_ref,
        output_id=archive.entry_id,
        source_count=archive.source_count,
        trigger=Trigger.HOST_MANAGED,
        byte_size=size,
        source_ids=tuple(sources) if 0 < len(sources) <= NAMED else None,
        distillation=DistillationFigures(archive.token_budget, archive.tokens_used, commission.asked.index),
    )
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    named = {
        "archiveId": ids.wire("arc", archive.id),
        "archiveChecksum": archive.sha256,
        "outputId": ids.wire("mem", archive.entry_id),
        "byteSize": size,
    }
    passes.finish(work, outcome=outcome | named, now=now)
