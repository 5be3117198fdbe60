"""Distillation: a ref's entries, or an explicit source set, become one archive within a budget of tokens (RFC 0062).

Sources are read and weighed without a transaction; entry, archive, lineage, index, ``memory.compacted`` and the end of
the pass are one. What was made of sources that were taken back meanwhile, or that another pass has made, is made again:
forgotten, deleted, sealed, or retired by a person. A source that expired, or that a pass merged, remains one.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

import rfc8785
from django.db import transaction

from memory import adapter, ledger, memory_policy, passes, provenance, redaction
from memory.adapter.passes import CorpusEntry
from memory.entry_drafts import MAX_CONTENT_BYTES, MAX_LABEL, MAX_TAGS, EntryDraft
from memory.host import access, event_log, ids, sql, tenancy
from memory.host.clock import Clock
from memory.host.errors import Conflict, EndpointFailed, Invalid, TokenBudgetExceeded, Unprocessable
from memory.host.events import DistillationFigures, MemoryCompacted
from memory.host.json_types import JSONObject
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger.entries import Derivation
from memory.memory_policy import ENDPOINT, Policy
from memory.models import Archive, LineageKind, Pass, Trigger
from memory.passes import archives
from memory.passes.archives import ArchiveDraft
from memory.provenance import Descent
from memory.text import distillers, token_budget, untrusted
from memory.text.distillers import (
    EXTRACTIVE,
    BudgetTooSmall,
    Distilled,
    Method,
    NothingToKeep,
    Source,
    body_of,
    content_digest,
)
from memory.text.redactor import Redact
from memory.text.storable import UNSTORABLE, UNSTORABLE_IN_LABEL

MAX_TOKEN_BUDGET = 100_000
MAX_SOURCES = 5_000
FLAGS = {"indexEmitted": True, "includeArchives": False, "includeExpiring": False}
KNOWN = ("tokenBudget", "targetTokens", "sources", *FLAGS)
# Left open, an archive has a quarter of the tokens of what there was to read, and a few sentences always.
TARGET_SHARE, LEAST_TARGET = 4, 64
Problems = list[tuple[str, str]]
TAKEN = frozenset({"", "merged", "compacted"})
DISTILLED = "distilled"
ONCE = datetime(1970, 1, 1, tzinfo=UTC)
MIN_ANSWER = 16
NAMED_IN_LINEAGE = 200
INSTRUCTIONS = (
    "Distil the notes below into short, self-contained sentences, one a line. Keep every fact, decision, rule, name, "
    "number and date that somebody will need again; where notes disagree, keep the newest. Add nothing that they do "
    f"not say, {untrusted.NOTES}, and leave marks such as [REDACTED:name] as they are. "
    "Answer in at most {room} tokens, with the sentences alone. The notes, oldest first, are one JSON text a line:"
)
NAMED_IN_EVENT = 100
TAG = "distilled"
KIND = archives.DISTILL
ATTEMPTS = 3
MOST = 2_000


@dataclass(frozen=True, slots=True)
class GivenSource:
    """A source that was handed in with the pass."""

    content: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of one distillation; without ``given`` sources, the ref's own entries are distilled.

    ``target`` is how many tokens the archive may have; None leaves it to the policy.
    """

    budget: int
    target: int | None
    index: bool
    archives: bool
    expiring: bool
    given: tuple[GivenSource, ...] | None

    @classmethod
    def parse(cls, options: JSONObject) -> "Asked":
        whole = checked_options(options)
        sources = whole.get("sources")
        given = tuple(GivenSource(each["content"], tuple(each["tags"])) for each in sources) if sources else None
        index, archives, expiring = (whole[name] for name in FLAGS)
        return cls(whole["tokenBudget"], whole.get("targetTokens"), index, archives, expiring, given)


def checked_options(options: JSONObject) -> JSONObject:
    """The options with what they leave open, the budget at most ``MAX_TOKEN_BUDGET``; refused with all wrong fields."""
    problems: Problems = [(name, "is not an option of a distillation") for name in options if name not in KNOWN]
    budget = options.get("tokenBudget", MAX_TOKEN_BUDGET)
    for name, value in (("tokenBudget", budget), ("targetTokens", options.get("targetTokens", 1))):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            problems.append((name, "must be a whole number of at least 1"))
    problems += [(name, "must be true or false") for name in FLAGS if not isinstance(options.get(name, True), bool)]
    problems += _sources_problems(options["sources"]) if "sources" in options else []
    if problems:
        errors = [{"field": field, "message": message} for field, message in problems]
        raise Invalid("The distillation cannot be asked for like that.", errors=errors)
    flags = {name: options.get(name, default) for name, default in FLAGS.items()}
    sources = {"sources": [_source(each) for each in options["sources"]]} if "sources" in options else {}
    target = {"targetTokens": min(options["targetTokens"], MAX_TOKEN_BUDGET)} if "targetTokens" in options else {}
    return {"tokenBudget": min(budget, MAX_TOKEN_BUDGET), **target, **flags, **sources}


def options_of(*, budget: int | None, target: int | None) -> JSONObject:
    """The options that a form names; what is left empty is not among them."""
    named = {"tokenBudget": budget, "targetTokens": target}
    return {name: value for name, value in named.items() if value}


def _source(given: Any) -> JSONObject:
    if isinstance(given, str):
        return {"content": given, "tags": []}
    return {"content": given["content"], "tags": list(dict.fromkeys(given.get("tags", [])))}


def _sources_problems(sources: object) -> Problems:
    if not isinstance(sources, list) or not 0 < len(sources) <= MAX_SOURCES:
        return [("sources", f"must be a list of 1 to {MAX_SOURCES:,} sources")]
    return [problem for number, each in enumerate(sources) for problem in _source_problems(f"sources[{number}]", each)]


def _source_problems(field: str, source: object) -> Problems:
    if isinstance(source, str):
        return _content_problems(field, source)
    if not isinstance(source, dict):
        return [(field, "must be a text, or an object with its content")]
    return _content_problems(f"{field}.content", source.get("content")) + _tags_problems(
        f"{field}.tags", source.get("tags", [])
    )


def _content_problems(field: str, content: object) -> Problems:
    if not isinstance(content, str) or not content or UNSTORABLE.search(content):
        return [(field, "must be a text without NUL or half a surrogate pair, and not empty")]
    if len(content.encode()) > MAX_CONTENT_BYTES:
        return [(field, f"is longer than {MAX_CONTENT_BYTES} bytes")]
    return []


def _tags_problems(field: str, tags: object) -> Problems:
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        return [(field, f"must be a list of at most {MAX_TAGS} tags")]
    if all(isinstance(tag, str) and len(tag) <= MAX_LABEL and not UNSTORABLE_IN_LABEL.search(tag) for tag in tags):
        return []
    return [(field, f"must be texts of at most {MAX_LABEL} characters without control characters")]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Sources, the digests of their contents by id, and the entries of those ids; a given source has no entry."""

    sources: Sequence[Source]
    digests: dict[str, str]
    entries: dict[str, UUID]


def gather(
    work: Pass, scope: MemoryScope, asked: Asked, keep_until: datetime, clock: Callable[[], datetime]
) -> Gathered:
    """What is to be distilled into an archive that is kept so long; refuses with ``Invalid`` when there is nothing."""
    found = read_sources(work, scope, asked, keep_until, clock)
    if not found.sources:
        field_error = {"field": "memoryRef", "message": "holds nothing that could be distilled and lasts"}
        raise Invalid("There is nothing to distil.", errors=[field_error])
    return found


def read_sources(
    work: Pass | None, scope: MemoryScope, asked: Asked, keep_until: datetime, clock: Callable[[], datetime]
) -> Gathered:
    """The current sources, if any; reports the progress of the pass, if this is one."""
    redact = redaction.for_derived(scope.tenant_id)
    if asked.given is not None:
        return _gather_given(asked.given, redact)
    found = Gathered([], {}, {})
    sources: list[Source] = []
    total = adapter.passes.count_live(scope, now=clock()).entries
    seen = 0
    for chunk in adapter.passes.corpus(scope, now=clock()):
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
        strengths = adapter.statistics.source_strengths(scope.tenant, [entry.id for entry in part])
        for entry in part:
            count, last = strengths.get(entry.id, (1, entry.created_at))
            source = _source_of(entry, redact)
            digests[source.id] = content_digest(redact(entry.content).text)
            yield replace(source, corroboration=max(count, 1), said_at=max(last, entry.created_at))


def _source_of(entry: CorpusEntry, redact: Redact) -> Source:
    text = redact(entry.content).text
    tokens = entry.tokens if text == entry.content else token_budget.count(text)
    said = body_of(text) if entry.derived == DISTILLED else text
    tags = tuple(sorted({redact(tag).text for tag in entry.tags if tag != DISTILLED}))
    day = entry.created_at.astimezone(UTC).date()
    # When the text of a merged entry or of an archive was written is not known. A secret may look like a day.
    written_on = day if not entry.derived and redact(str(day)).text == str(day) else None
    return Source(
        ids.wire("mem", entry.id), said, entry.created_at, tokens, tags, entry.protected, written_on=written_on
    )


def _gather_given(given: Sequence[GivenSource], redact: Redact) -> Gathered:
    """Sources by the digest of their content, so neither their order nor when they came makes a difference."""
    found: dict[str, Source] = {}
    for each in given:
        text = redact(each.content).text
        source_id = f"sha256:{content_digest(text)}"
        before = found.get(source_id) or Source(
            source_id, text, ONCE, token_budget.count(text), corroboration=0, in_order=False
        )
        tags = tuple(sorted({*before.tags, *(redact(tag).text for tag in each.tags)}))
        found[source_id] = replace(before, tags=tags, corroboration=before.corroboration + 1)
    digests = {source_id: source_id.partition(":")[2] for source_id in found}
    return Gathered([found[source_id] for source_id in sorted(found)], digests, {})


@dataclass
class Commission:
    """One distillation: the pass, its ref, its sources as they were read, what was asked, the tenant's policy, and how
    long the archive is kept."""

    work: Pass
    scope: MemoryScope
    gathered: Gathered
    asked: Asked
    policy: Policy
    keep_until: datetime

    @property
    def method(self) -> Method:
        if self.policy.distiller == ENDPOINT:
            return Method("endpoint", "1", self.policy.endpoint_model)
        return EXTRACTIVE

    @cached_property
    def target(self) -> int:
        """The most tokens that the archive is to have."""
        quarter = sum(source.tokens for source in self.gathered.sources) // TARGET_SHARE
        return self.asked.target or self.policy.target_tokens or max(quarter, LEAST_TARGET)

    @cached_property
    def sources_sha256(self) -> str:
        """The digest of everything that the bytes of the archive depend on."""
        about = [self.policy.endpoint_url] if self.policy.distiller == ENDPOINT else []
        return distillers.digest_of(
            self.gathered.sources,
            memory_ref=self.scope.memory_ref,
            budget=self.asked.budget,
            target=self.target,
            method=self.method,
            about=about,
        )


@dataclass(frozen=True, slots=True)
class Made:
    """An archive that is not stored yet; ``answered`` is the endpoint's answer with its request."""

    distilled: Distilled
    body: bytes
    answered: tuple[str, str] | None = None


def build_archive(commission: Commission, clock: Callable[[], datetime]) -> Made:
    """The archive of this distillation, made by the rules or by the endpoint."""
    plan = _plan(commission, clock)
    if commission.policy.distiller != ENDPOINT:
        return Made(plan, archive_bytes(commission, plan))
    return _ask_endpoint(commission, plan)


def dry_run_outcome(commission: Commission, clock: Callable[[], datetime]) -> JSONObject:
    """What a dry run tells: what would be covered, the first of it by its ids, and about how many tokens that takes."""
    plan = _plan(commission, clock)
    outcome = figures(commission, plan, index_updated=False) | {"byteSize": len(plan.text.encode())}
    covered = [each for each in plan.covered if each in commission.gathered.entries]
    group = {"kind": LineageKind.DISTILLED, "into": None, "from": covered[:NAMED_IN_LINEAGE]}
    return outcome | ({"groups": [group], "groupCount": 1} if covered else {})


def figures(commission: Commission, distilled: Distilled, *, index_updated: bool) -> JSONObject:
    return {
        "sourceCount": len(distilled.covered),
        "corpusCount": distilled.corpus_count,
        "tokenBudget": commission.asked.budget,
        "targetTokens": commission.target,
        "tokensUsed": distilled.tokens_used,
        "outputTokens": distilled.output_tokens,
        "indexUpdated": index_updated,
    }


def _plan(commission: Commission, clock: Callable[[], datetime]) -> Distilled:
    def step(done: int, total: int) -> None:
        passes.progress(commission.work, done=done, total=total, doing="weighing", now=clock())

    budget = commission.asked.budget
    try:
        return distillers.distil(commission.gathered.sources, budget, target=commission.target, step=step)
    except BudgetTooSmall as small:
        raise TokenBudgetExceeded(budget=budget, minimumRequired=small.minimum) from None
    except NothingToKeep:
        field_error = {"field": "memoryRef", "message": "holds no sentence that an archive has room for"}
        raise Unprocessable("There is nothing to distil.", errors=[field_error]) from None


def archive_bytes(commission: Commission, distilled: Distilled) -> bytes:
    """The bytes of the archive."""
    document = distillers.document(
        distilled,
        memory_ref=commission.scope.memory_ref,
        token_budget_given=commission.asked.budget,
        target_tokens=commission.target,
        method=commission.method,
        digests=commission.gathered.digests,
    )
    return distillers.canonical(document)


def _ask_endpoint(commission: Commission, plan: Distilled) -> Made:
    """What the endpoint makes of the sources of the plan, in the room that is left for it; asked once a request."""
    room = max(min(commission.asked.budget - plan.input_tokens, commission.target), MIN_ANSWER)
    covered = set(plan.covered)
    notes = [json.dumps(each.text, ensure_ascii=False) for each in commission.gathered.sources if each.id in covered]
    prompt = "\n".join([INSTRUCTIONS.format(room=room), *notes])
    request = hashlib.sha256(f"{commission.sources_sha256}\n{prompt}".encode()).hexdigest()
    tenant_id = commission.work.tenant_id
    answer = archives.cached_answer(tenant_id, request)
    if answer is None:
        from memory import model_endpoint  # with the HTTP client, which takes a tenth of a second to import

        answer = model_endpoint.distil(commission.policy, tenant_id, prompt, max_tokens=room)
    try:
        distilled = distillers.fit_answer(plan, answer, commission.asked.budget, target=commission.target)
    except NothingToKeep:
        raise EndpointFailed(reason="empty") from None
    return Made(distilled, archive_bytes(commission, distilled), (request, answer))


class Overtaken(RuntimeError):
    """What was read has changed: a source was taken back, or another pass has made that archive."""


@transaction.atomic
def store(commission: Commission, made: Made, *, now: datetime) -> None:
    """Store the new current archive of the ref and its entry, and finish the pass.

    The write takes the head of the ledger, so a source that is being retired or removed has gone by then, or goes after
    the archive is there.
    """
    scope, work, asked = commission.scope, commission.work, commission.asked
    keep_until = commission.keep_until
    entry = EntryDraft(made.distilled.text, tags=(TAG,), expires_at=keep_until)
    (written,) = ledger.entries.write_derived(scope, [Derivation(entry, TAG)], run=work.run, now=now)
    access.lock_tenant(work.tenant_id)
    sources = [commission.gathered.entries[each] for each in made.distilled.covered if commission.gathered.entries]
    if (
        written.content != made.distilled.text  # the vault has learnt of a secret since
        or adapter.forget.closed_entries(work.tenant_id, sources)
        or find_same_work(commission, now=now)
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
    provenance.record(work.tenant_id, descents, pass_id=work.id, now=now)
    if made.answered:
        archives.cache_answer(scope, *made.answered, now=now)
    _publish_outcome(commission, archive, sources, figures(commission, made.distilled, index_updated=asked.index), now)


@transaction.atomic
def republish(commission: Commission, *, now: datetime) -> None:
    """Make the archive of the same work the current one again and finish the pass, without a second archive."""
    access.lock_tenant(commission.work.tenant_id)
    archive = find_same_work(commission, now=now)
    sources = archives.sources_of(bytes(archive.body)) if archive else []
    if archive is None or adapter.forget.closed_entries(commission.work.tenant_id, sources):
        raise Overtaken
    archives.reinstate(archive)
    outcome = {
        "sourceCount": archive.source_count,
        "corpusCount": archive.corpus_count,
        "tokenBudget": archive.token_budget,
        "targetTokens": commission.target,
        "tokensUsed": archive.tokens_used,
        "outputTokens": archive.output_tokens,
        "indexUpdated": commission.asked.index,
    }
    _publish_outcome(commission, archive, sources, outcome, now)


def find_same_work(commission: Commission, *, now: datetime) -> Archive | None:
    """The archive of exactly this work, while agents can read it."""
    found = archives.find_same_work(commission.scope, commission.sources_sha256)
    if found is None or (found.keep_until and found.keep_until <= now) or found.entry_id is None:
        return None
    return found if adapter.runs.get_entry(commission.scope, found.entry_id, now=now) else None


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


def _publish_outcome(
    commission: Commission, archive: Archive, sources: list[UUID], outcome: JSONObject, now: datetime
) -> None:
    """Index, ``memory.compacted`` and the end of the pass."""
    work = commission.work
    assert archive.entry_id is not None, "an archive of a pass has its entry"
    if commission.asked.index:
        archives.write_index(commission.scope.tenant, archive, run=work.run, now=now)
    entry = adapter.runs.get_entry(commission.scope, archive.entry_id, now=now)
    assert entry is not None, "agents read the archive's text there"
    size = len(entry.content.encode())
    fact = MemoryCompacted(
        memory_ref=archive.memory_ref,
        output_id=archive.entry_id,
        source_count=archive.source_count,
        trigger=Trigger.HOST_MANAGED,
        byte_size=size,
        source_ids=tuple(sources) if 0 < len(sources) <= NAMED_IN_EVENT else None,
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


def carry_out(work: Pass, *, clock: Clock) -> None:
    """Store an archive of the sources as they were read and finish the pass, in one transaction.

    Refuses with ``TokenBudgetExceeded`` when nothing meaningful fits the budget, with ``Invalid`` when there is nothing
    to distil, and with ``EndpointFailed`` when the endpoint of the policy gave no usable answer.
    """
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    ledger.entries.require_writable(scope, work.run)
    ledger.entries.require_durable("memory.distillation")
    asked, policy = Asked.parse(work.options), memory_policy.policy_of(work.tenant_id)
    for _ in range(ATTEMPTS):
        keep_until = clock() + timedelta(days=policy.archive_days)
        gathered = gather(work, scope, asked, keep_until, clock)
        work_done = Commission(work, scope, gathered, asked, policy, keep_until)
        try:
            if work.dry_run:
                passes.finish(work, outcome=dry_run_outcome(work_done, clock), now=clock())
            elif find_same_work(work_done, now=clock()):
                republish(work_done, now=clock())
            else:
                store(work_done, build_archive(work_done, clock), now=clock())
        except Overtaken:
            continue
        return
    raise Conflict("The sources of the archive were repeatedly withdrawn or distilled while it was being made.")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The recorded checksum and that of the stored bytes; ``canonical`` when they are in RFC 8785's form.

    ``anew`` is that of the same sources distilled once more; None when the sources have changed, or it was not tried.
    """

    recorded: str
    computed: str
    canonical: bool
    anew: str | None

    @property
    def agrees(self) -> bool:
        return self.recorded == self.computed and self.canonical

    @property
    def comes_out_again(self) -> bool:
        return self.anew in (None, self.recorded)


def compare(scope: TenantScope, archive_id: UUID | None, *, clock: Callable[[], datetime]) -> Comparison:
    """The archive's checksum, computed of the stored bytes, and of the same work done anew where that is possible."""
    row = archives.find(scope, archive_id)
    body = bytes(row.body)
    canonical = rfc8785.dumps(json.loads(body)) == body
    return Comparison(row.sha256, hashlib.sha256(body).hexdigest(), canonical, _distil_again(row, clock))


def _distil_again(row: Archive, clock: Callable[[], datetime]) -> str | None:
    work = passes.find_by_run(row.tenant_id, row.run_id)
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref) if work else None
    policy = memory_policy.policy_of(row.tenant_id)
    if work is None or scope is None or row.keep_until is None or policy.distiller == ENDPOINT:
        return None
    if not _is_small(scope, row, clock()):
        return None
    asked = Asked.parse(work.options)
    gathered = read_sources(None, scope, asked, row.keep_until, clock)
    commission = Commission(work, scope, gathered, asked, policy, row.keep_until)
    if commission.sources_sha256 != row.sources_sha256:
        return None
    plan = distillers.distil(gathered.sources, asked.budget, target=commission.target)
    return hashlib.sha256(archive_bytes(commission, plan)).hexdigest()


def _is_small(scope: MemoryScope, row: Archive, now: datetime) -> bool:
    return row.corpus_count <= MOST and adapter.passes.count_live(scope, now=now).entries <= MOST
