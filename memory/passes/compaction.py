"""Compaction (RFC 0012): the oldest entries of a ref become one entry with all of their texts, and are retired.

Nothing is left out. Texts that do not fit stay for the next window; so do protected entries, those that expire by
themselves, and the results of an earlier compaction or distillation. Entries about different subjects are never
combined, since forgetting one would remove the other; nor are those of different agents.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from memory import adapter, addresses, ledger, passes, provenance, redaction
from memory.adapter.passes import CorpusEntry
from memory.entry_drafts import MAX_CONTENT_BYTES, MAX_TAGS, EntryDraft
from memory.host import event_log, ids, sql, tenancy
from memory.host.clock import Clock
from memory.host.errors import Invalid, NothingToCompact
from memory.host.events import MemoryCompacted
from memory.host.json_types import JSONObject
from memory.host.tenancy import MemoryScope
from memory.ledger.entries import Derivation, Written
from memory.ledger.retirement import EntryToRetire
from memory.models import LineageKind, Pass
from memory.provenance import Descent

KIND = "compact"
TRIGGER = "host-managed"
MAX_INPUT_ENTRIES = 1000
MAX_OUTPUT_BYTES = MAX_CONTENT_BYTES
LIMITS = {"maxInputEntries": MAX_INPUT_ENTRIES, "maxOutputBytes": MAX_OUTPUT_BYTES}
USUAL = {"maxInputEntries": MAX_INPUT_ENTRIES, "maxOutputBytes": 8192}
TAKEN = ("", "merged")
ENUMERATED = 100
RUNS_NAMED = 8
TAG = "compacted"
OWN_TAGS = MAX_TAGS - 1  # one run that it comes from is named at least
FEWEST = 2


def checked_options(options: JSONObject) -> JSONObject:
    """Return the options with their defaults: up to ``maxInputEntries`` go in, ``maxOutputBytes`` (8 KiB) come out.

    The default is below the most that an entry may have: a distillation with a small budget could not take that in.
    """
    asked = {**USUAL, **options}
    errors = [{"field": name, "message": "is not an option of compaction"} for name in sorted(set(asked) - set(LIMITS))]
    errors += [
        {"field": name, "message": f"must be a number from 1 to {most}"}
        for name, most in LIMITS.items()
        if type(asked[name]) is not int or not 1 <= asked[name] <= most
    ]
    if errors:
        raise Invalid("The options of the compaction are not valid.", errors=errors)
    return asked


class Candidates(NamedTuple):
    """The oldest entries that may go into one, of one agent about one subject, and how many the ref has in all."""

    entries: list[CorpusEntry]
    corpus_count: int


class Condensed(NamedTuple):
    """Entries whose texts found room, and the text that has each of them once, in the order they were written."""

    sources: list[CorpusEntry]
    text: str

    @property
    def size(self) -> int:
        return len(self.text.encode())


def carry_out(work: Pass, *, clock: Clock) -> None:
    """Combine the entries into one, append the event and finish the pass, in one transaction.

    Refuses with ``NothingToCompact`` when fewer than two entries would go into one.
    """
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    ledger.entries.require_writable(scope, work.run)
    found, made = _with_room(work, _candidates(work, scope, clock))
    if work.dry_run:
        passes.finish(work, outcome=_outcome(found, made.sources, made.size), now=clock())
    else:
        _store(work, scope, found, made, now=clock())


def _clean(work: Pass) -> Callable[[str], str]:
    """What the ledger will make of a text of this tenant, so that its size is known before."""
    redact = redaction.for_derived(work.tenant_id)
    return lambda text: redact(text).text


def _with_room(work: Pass, groups: list[Candidates]) -> tuple[Candidates, Condensed]:
    """Return the first group of which at least two entries have room, and what they become."""
    clean = _clean(work)
    for group in groups:
        made = condensed(group.entries, clean, room=work.options["maxOutputBytes"])
        if len(made.sources) >= FEWEST:
            return group, made
    raise NothingToCompact(eligible=sum(len(group.entries) for group in groups))


def _candidates(work: Pass, scope: MemoryScope, clock: Clock) -> list[Candidates]:
    """Those of each agent and subject, or of none, that have at least two; first the group with the oldest of all."""
    groups: dict[tuple[str, str], list[CorpusEntry]] = {}
    most, seen, total = work.options["maxInputEntries"], 0, adapter.passes.count_live(scope, now=clock()).entries
    for chunk in adapter.passes.corpus(scope, now=clock()):
        for entry in filter(_is_compactable, chunk):
            group = groups.setdefault((entry.agent_id, entry.subject), [])
            if len(group) < most:
                group.append(entry)
        seen += len(chunk)
        passes.progress(work, done=seen, total=max(total, seen), doing="reading", now=clock())
        if len(next(iter(groups.values()), [])) == most:
            break
    return [Candidates(group, max(total, seen)) for group in groups.values() if len(group) >= FEWEST]


def _is_compactable(entry: CorpusEntry) -> bool:
    return entry.derived in TAKEN and not entry.protected and entry.expires_at is None


def condensed(entries: Iterable[CorpusEntry], clean: Callable[[str], str], *, room: int) -> Condensed:
    """As many of ``entries`` as find room with all their tags, oldest first; a text that is there already needs none.

    What two clean texts make together is cleaned once more, and may have grown by it.
    """
    lines: dict[str, list[CorpusEntry]] = {}
    size, tags = -1, {TAG}
    for entry in entries:
        text = clean(entry.content)
        needs = 0 if text in lines else 1 + len(text.encode())
        if size + needs <= room and len(tags.union(entry.tags)) <= OWN_TAGS:
            lines.setdefault(text, []).append(entry)
            size += needs
            tags.update(entry.tags)
    while lines and len(clean("\n".join(lines)).encode()) > room:
        lines.popitem()
    sources = sorted((entry for same in lines.values() for entry in same), key=lambda entry: entry.id)
    return Condensed(sources, clean("\n".join(lines)))


@transaction.atomic
def _store(work: Pass, scope: MemoryScope, found: Candidates, made: Condensed, *, now: datetime) -> None:
    """Retire the sources and write the entry, without those retired, protected or forgotten since they were read."""
    taken = _retired(work, made.sources, now)
    left = made if taken == made.sources else condensed(taken, _clean(work), room=MAX_OUTPUT_BYTES)
    if len(taken) < FEWEST or left.sources != taken:
        raise NothingToCompact(eligible=len(taken))
    draft = EntryDraft(left.text, _tags(taken), taken[0].subject, taken[0].agent_id)
    [written] = ledger.entries.write_derived(scope, [Derivation(draft, "compacted")], run=work.run, now=now)
    descents = (Descent(entry.id, written.id, LineageKind.COMPACTED) for entry in taken)
    provenance.record(work.tenant_id, descents, pass_id=work.id, now=now)
    event_log.append(work.tenant_id, work.run_id, _fact(written, taken), now=now)
    outcome = _outcome(found, taken, len(written.content.encode()))
    passes.finish(work, outcome={**outcome, "outputId": ids.wire("mem", written.id)}, now=now)


def _retired(work: Pass, sources: list[CorpusEntry], now: datetime) -> list[CorpusEntry]:
    """Retires the sources, and returns those that were."""
    hidden, addressed_ones = set[UUID](), addresses.is_addressed(work.memory_ref)
    if addressed_ones:
        ledger.head.lock_streams(work.tenant_id, entries=[entry.id for entry in sources])
    for part in sql.in_chunks(EntryToRetire(entry.id, "compacted") for entry in sources):
        gone = ledger.retirement.retire_entries(work.tenant_id, part, addressed_ones=addressed_ones, now=now)
        hidden.update(gone)
    return [entry for entry in sources if entry.id in hidden]


def _tags(sources: list[CorpusEntry]) -> tuple[str, ...]:
    """Where the entry comes from (RFC 0012 C), as far as there is room, and its sources' tags, the commonest first."""
    common = Counter(tag for entry in sources for tag in entry.tags if tag != TAG)
    own = [tag for tag, _ in sorted(common.items(), key=lambda each: (-each[1], each[0]))]
    runs = list(dict.fromkeys(ids.wire("run", entry.run_id) for entry in sources))[:RUNS_NAMED]
    named = [f"compacted-from:{run}" for run in runs][: OWN_TAGS - len(own)]
    return tuple(dict.fromkeys([TAG, *named, *own]))


def _fact(written: Written, sources: list[CorpusEntry]) -> MemoryCompacted:
    named = tuple(entry.id for entry in sources) if len(sources) <= ENUMERATED else None
    size = len(written.content.encode())
    return MemoryCompacted(written.memory_ref, written.id, len(sources), TRIGGER, size, named)


def _outcome(found: Candidates, sources: list[CorpusEntry], size: int) -> JSONObject:
    """How many went into one, of how many that might have and of how many there are."""
    return {
        "sourceCount": len(sources),
        "eligibleCount": len(found.entries),
        "corpusCount": found.corpus_count,
        "byteSize": size,
    }
