"""Archives as a distillation leaves them: the document, the entry that agents read, the lineage, and the row."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import rfc8785
from django.db import transaction
from django.utils import timezone

from memory import ledger, provenance
from memory.entry_drafts import EntryDraft
from memory.host import ids
from memory.ledger.entries import Derivation
from memory.models import Archive
from memory.passes import archives
from memory.passes.archives import ArchiveDraft
from memory.provenance import Descent
from tests import building


def document(
    sentences: Sequence[tuple[str, Sequence[UUID]]],
    *,
    memory_ref: str = "notes",
    budget: int = 8000,
    topic: str = "",
    text: str = "",
) -> bytes:
    """The canonical JSON of an archive of these sentences, each with the entries that say it; or of a ``text``."""
    sources = sorted({source for _, told in sentences for source in told})
    said = [{"text": each, "sources": [ids.wire("mem", row) for row in told]} for each, told in sentences]
    covered = f"{len(sources)} of {len(sources)} entries"
    return rfc8785.dumps(
        {
            "version": 1,
            "memoryRef": memory_ref,
            "distiller": "extractive/1",
            "tokenizer": "o200k_base",
            "tokenBudget": budget,
            "tokensUsed": 143,
            "coverage": {"covered": len(sources), "of": len(sources), "text": covered},
            "sections": [] if text else [{"topic": topic, "sentences": said}],
            "sources": [{"id": ids.wire("mem", each), "sha256": "0" * 64} for each in sources],
            "text": text or "\n".join([f"# {covered}", *(f"- {told}" for told, _ in sentences)]),
        }
    )


def draft(body: bytes, **changes: Any) -> ArchiveDraft:
    """What a distillation hands over with these bytes."""
    given: dict[str, Any] = {
        "sources_sha256": hashlib.sha256(body).hexdigest(),
        "source_count": len(archives.sources_of(body)),
        "corpus_count": len(archives.sources_of(body)),
        "token_budget": 8000,
        "tokens_used": 143,
        "output_tokens": 43,
        "tokenizer": "o200k_base",
        "distiller": "extractive/1",
        "trigger": "host-managed",
        "index_updated": True,
        **changes,
    }
    return ArchiveDraft(body, **given)


@transaction.atomic
def archive(
    slug: str,
    sentences: Sequence[tuple[str, Sequence[UUID]]],
    *,
    memory_ref: str = "notes",
    topic: str = "",
    text: str = "",
    now: datetime | None = None,
    days: int = 30,
    **changes: Any,
) -> Archive:
    """A stored archive, its entry and its lineage."""
    owner, at = building.scope(slug), now or timezone.now()
    run, scope, archive_id = building.open_run(owner), building.ref(owner, memory_ref), ids.new_id()
    body = document(sentences, memory_ref=memory_ref, budget=changes.get("token_budget", 8000), topic=topic, text=text)
    read = EntryDraft(text or "\n".join(each for each, _ in sentences) or "nothing")
    (entry,) = ledger.entries.write_derived(scope, [Derivation(read, "distilled")], run=run, now=at)
    made = draft(body, **changes)
    descents = [Descent(each, archive_id, "distilled") for each in archives.sources_of(body)]
    provenance.record(owner.tenant_id, descents, pass_id=None, now=at)
    return archives.store(
        scope, made, archive_id=archive_id, entry_id=entry.id, run=run, keep_until=at + timedelta(days=days), now=at
    )


def distilled(slug: str, *contents: str, memory_ref: str = "notes", **options: Any) -> Archive:
    """An archive of these contents, each remembered first by a run and kept as a sentence of its own."""
    kept = building.remember(slug, *contents, memory_ref=memory_ref)
    told = [ids.parse("mem", each) for each in kept.entries]
    sentences = [(text, [source]) for text, source in zip(contents, told, strict=True) if source]
    return archive(slug, sentences, memory_ref=memory_ref, **options)
