"""The sources of a distillation as they stand now, redacted for good (RFC 0062 B.1, SR-1 carry-forward).

What expires is not kept beyond its time: no entry is a source that goes before the archive does, unless it is asked
for. An archive is none the less, because its time is that of its text, and not of what is said in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from memory import adapter, harness, passes
from memory.adapter import CorpusEntry
from memory.distillation.options import Asked, Given
from memory.host import ids, sql
from memory.host.errors import Invalid
from memory.host.tenancy import MemoryScope
from memory.models import Pass
from memory.redaction import Redacted
from memory.text import token_budget
from memory.text.distillers import Source, body_of, content_digest

TAKEN = frozenset({"", "merged", "compacted"})
DISTILLED = "distilled"
ONCE = datetime(1970, 1, 1, tzinfo=UTC)

Redact = Callable[[str], Redacted]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Sources, the digests of their contents by id, and the entries behind those ids; a given source has none."""

    sources: Sequence[Source]
    digests: dict[str, str]
    entries: dict[str, UUID]


def gather(
    work: Pass, scope: MemoryScope, asked: Asked, keep_until: datetime, clock: Callable[[], datetime]
) -> Gathered:
    """What is to be distilled into an archive that is kept so long; refuses with ``Invalid`` when there is nothing."""
    found = read(work, scope, asked, keep_until, clock)
    if not found.sources:
        field_error = {"field": "memoryRef", "message": "holds nothing that could be distilled and lasts"}
        raise Invalid("There is nothing to distil.", errors=[field_error])
    return found


def read(
    work: Pass | None, scope: MemoryScope, asked: Asked, keep_until: datetime, clock: Callable[[], datetime]
) -> Gathered:
    """The sources as they stand now, if there are any; the pass, if this is one, is told how far it is."""
    redact = harness.for_derived(scope.tenant_id)
    if asked.given is not None:
        return _given(asked.given, redact)
    found = Gathered([], {}, {})
    sources: list[Source] = []
    total = adapter.counts_of(scope, now=clock()).entries
    seen = 0
    for chunk in adapter.corpus(scope, now=clock()):
        entries = [entry for entry in chunk if _is_taken(entry, asked, keep_until)]
        sources += _sources(scope, entries, redact, found.digests)
        found.entries.update((ids.wire("mem", entry.id), entry.id) for entry in entries)
        seen += len(chunk)
        if work:
            passes.progress(work, done=seen, total=max(seen, total), doing="reading", now=clock())
    return replace(found, sources=sources)


def _is_taken(entry: CorpusEntry, asked: Asked, keep_until: datetime) -> bool:
    if entry.derived == DISTILLED:
        return asked.archives
    lasts = entry.expires_at is None or entry.expires_at >= keep_until
    return entry.derived in TAKEN and (lasts or asked.expiring)


def _sources(
    scope: MemoryScope, entries: list[CorpusEntry], redact: Redact, digests: dict[str, str]
) -> Iterator[Source]:
    for part in sql.in_chunks(entries):
        strengths = adapter.strengths_of(scope.tenant, [entry.id for entry in part])
        for entry in part:
            count, last = strengths.get(entry.id, (1, entry.created_at))
            source = _source(entry, redact)
            digests[source.id] = content_digest(redact(entry.content).text)
            yield replace(source, corroboration=max(count, 1), said_at=max(last, entry.created_at))


def _source(entry: CorpusEntry, redact: Redact) -> Source:
    text = redact(entry.content).text
    tokens = entry.tokens if text == entry.content else token_budget.count(text)
    said = body_of(text) if entry.derived == DISTILLED else text
    tags = tuple(sorted({redact(tag).text for tag in entry.tags if tag != DISTILLED}))
    return Source(ids.wire("mem", entry.id), said, entry.created_at, tokens, tags, entry.protected)


def _given(given: Sequence[Given], redact: Redact) -> Gathered:
    """Sources by the digest of their content, so neither their order nor when they came makes a difference."""
    found: dict[str, Source] = {}
    for each in given:
        text = redact(each.content).text
        source_id = f"sha256:{content_digest(text)}"
        before = found.get(source_id) or Source(source_id, text, ONCE, token_budget.count(text), corroboration=0)
        tags = tuple(sorted({*before.tags, *(redact(tag).text for tag in each.tags)}))
        found[source_id] = replace(before, tags=tags, corroboration=before.corroboration + 1)
    digests = {source_id: source_id.partition(":")[2] for source_id in found}
    return Gathered([found[source_id] for source_id in sorted(found)], digests, {})
