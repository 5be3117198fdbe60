"""What nodes read from memory and called outside, kept with the run, so that a replay serves exactly
that. Their only writer.

The log has ids, counts and codes; the texts are here. A text that was read is stored once, under its digest; a forget
blanks the text and keeps the digest. Requests and answers of calls are redacted by what the run has resolved, and a
forget reaches them. A failed attempt leaves no reads, and a node that is called again is recorded anew. Recordings live
as long as their run.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from uuid import UUID

import orjson
from django.db.models import Count, Max, Q, QuerySet

from memory import redaction
from memory.host import ids, sql
from memory.host.event_log import Recorded
from memory.host.events import AgentToolCalled, AgentToolReturned, AiMessageChunk, CallAnswered, CallSent
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.models.base import ERASED
from memory.host.paging import Page, behind, cut
from memory.host.tenancy import TenantScope
from memory.models import CallState, EntryRead, KeptCall, KeptContent, KeptRead
from memory.redaction import Mask
from memory.text.matching import FORGOTTEN

WRITER = "memory.recordings"
COUNTED = 10_000  # reads that are counted, of one entry or of several together
FEW = 50  # entries that one statement looks for in every text: each is a condition of its own


@dataclass(frozen=True, slots=True)
class Read:
    """One read: the digest of the query, and the documents of its answer in order."""

    request_sha256: str
    documents: Sequence[JSONObject]


@dataclass(frozen=True, slots=True)
class Served:
    """A stored read; ``documents`` is None when one of its texts was forgotten."""

    request_sha256: str
    documents: list[JSONObject] | None


def digest_of(value: object) -> str:
    """SHA-256 over the canonical form of a JSON value."""
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def record_reads(
    run: Run, node_id: str, reads: Sequence[Read], *, again: bool = False, more: bool = False, now: datetime
) -> None:
    """Store the reads of this call of the node, in the transaction of its step. They replace those of an earlier call,
    unless there are ``more`` of them."""
    if again:
        for table in (KeptRead, EntryRead):
            table.objects.written_by(WRITER).filter(tenant_id=run.tenant_id, run_id=run.id, node_id=node_id).delete()
    if not reads:
        return
    _store_entries(run, node_id, reads, now)
    rows = KeptRead.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id)
    first = rows.count() if more else 0
    kept = [[_form_of(document) for document in read.documents] for read in reads]
    _store_texts(run.tenant_id, {sha256: text for row in kept for sha256, text in row}, now)
    KeptRead.objects.written_by(WRITER).bulk_create(
        KeptRead(
            tenant_id=run.tenant_id,
            run_id=run.id,
            node_id=node_id,
            ordinal=ordinal,
            request_sha256=read.request_sha256,
            contents=[sha256 for sha256, _ in row],
        )
        for ordinal, (read, row) in enumerate(zip(reads, kept, strict=True), first)
    )


def _store_entries(run: Run, node_id: str, reads: Sequence[Read], now: datetime) -> None:
    """Store which entries the node was answered, each once. Reads of other stores have ids of other kinds."""
    said = dict.fromkeys(str(document.get("id", "")) for read in reads for document in read.documents)
    served = [entry_id for each in said if (entry_id := ids.parse("mem", each))]
    EntryRead.objects.written_by(WRITER).bulk_create(
        [
            EntryRead(tenant_id=run.tenant_id, entry_id=entry_id, run_id=run.id, node_id=node_id, read_at=now)
            for entry_id in served
        ],
        ignore_conflicts=True,
    )


def _form_of(document: JSONObject) -> tuple[str, str]:
    """Return the digest of a document and the text that it is computed from."""
    form = _canonical(document)
    return hashlib.sha256(form).hexdigest(), form.decode()


def _store_texts(tenant_id: UUID, texts: dict[str, str], now: datetime) -> None:
    """Insert texts that are not stored yet, in the order of their digests, so that two runs do not deadlock."""
    rows = KeptContent.objects.of(tenant_id).values_list("sha256", flat=True)
    there = {sha256 for part in sql.in_chunks(texts) for sha256 in rows.filter(sha256__in=part)}
    KeptContent.objects.written_by(WRITER).bulk_create(
        [
            KeptContent(tenant_id=tenant_id, sha256=sha256, text=text, kept_at=now)
            for sha256, text in sorted(texts.items())
            if sha256 not in there
        ],
        ignore_conflicts=True,
    )


def reads_of_entry(tenant_id: UUID, entry_id: UUID, *, after: UUID | None = None, size: int) -> Page[EntryRead]:
    """Return the nodes and runs that read the entry, newest first, after ``after``. The total stops at ``COUNTED``."""
    rows = EntryRead.objects.of(tenant_id).filter(entry_id=entry_id)
    shown, last = cut(list(behind(rows.select_related("run"), after)[: size + 1]), size)
    return Page(shown, rows.order_by("-id").values("id")[:COUNTED].count(), last.id if last else None)


@dataclass(frozen=True, slots=True)
class Reader:
    """A run that was served some of the entries: how many of them, and when it was first served the last of these."""

    run: Run
    entries: int
    read_at: datetime


@dataclass(frozen=True, slots=True)
class Readers:
    """Runs that read any of some entries, the last reader first, and how many were found.

    Where the entries were read more than ``COUNTED`` times it is not exact: some of the reads were looked at.
    """

    shown: list[Reader]
    total: int
    is_exact: bool


def readers_of(tenant_id: UUID, entry_ids: Collection[UUID], *, size: int) -> Readers:
    """Return runs that read any of the entries; at most ``size`` of them by name."""
    rows = EntryRead.objects.of(tenant_id).filter(sql.is_among("entry_id", list(entry_ids)))
    reads = list(rows.values_list("run_id", "entry_id", "read_at")[: COUNTED + 1])
    served: dict[UUID, set[UUID]] = {}
    last: dict[UUID, datetime] = {}
    for run_id, entry_id, read_at in reads[:COUNTED]:
        served.setdefault(run_id, set()).add(entry_id)
        last[run_id] = max(last.get(run_id, read_at), read_at)
    found = {run_id: (len(entries), last[run_id]) for run_id, entries in served.items()}
    return Readers(list(islice(_readers(tenant_id, found), size)), len(found), len(reads) <= COUNTED)


def every_reader(tenant_id: UUID, parts: Iterable[Sequence[UUID]]) -> Iterator[Reader]:
    """Yield every run that read any of the entries of these parts, for a file."""
    found: dict[UUID, tuple[int, datetime]] = {}
    for part in parts:
        rows = EntryRead.objects.of(tenant_id).filter(sql.is_among("entry_id", list(part))).order_by()
        counted = rows.values("run_id").annotate(entries=Count("entry_id", distinct=True), last=Max("read_at"))
        for run_id, entries, last in counted.values_list("run_id", "entries", "last"):
            before, at = found.get(run_id, (0, last))
            found[run_id] = before + entries, max(at, last)
    yield from _readers(tenant_id, found)


def _readers(tenant_id: UUID, found: Mapping[UUID, tuple[int, datetime]]) -> Iterator[Reader]:
    """Yield the readers, the last first; their runs are loaded in parts."""
    newest = sorted(found, key=lambda run_id: (found[run_id][1], run_id), reverse=True)
    shown = ("tenant_id", "id", "workflow_id", "status", "principal")
    for part in sql.in_chunks(newest):
        known = Run.objects.of(tenant_id).only(*shown).in_bulk_by_id(part)
        yield from (Reader(known[run_id], *found[run_id]) for run_id in part)


def reads_of_node(tenant_id: UUID, run_id: UUID, node_id: str) -> list[Served]:
    """Return the answers that the node got, in the order of its reads."""
    reads = list(KeptRead.objects.of(tenant_id).filter(run_id=run_id, node_id=node_id).order_by("ordinal"))
    texts = _texts(tenant_id, {sha256 for read in reads for sha256 in read.contents})
    return [Served(read.request_sha256, _documents(read.contents, texts)) for read in reads]


def reads_of_run(tenant_id: UUID, run_id: UUID, *, limit: int) -> dict[str, list[JSONObject]]:
    """Return the answers of each node that are still stored, in the order of the reads; at most ``limit`` reads."""
    rows = KeptRead.objects.of(tenant_id).filter(run_id=run_id).order_by("id").values_list("node_id", "contents")
    reads = list(rows[:limit])
    texts = _texts(tenant_id, {sha256 for _, contents in reads for sha256 in contents})
    found: dict[str, list[JSONObject]] = {}
    for node_id, contents in reads:
        found.setdefault(node_id, []).extend(orjson.loads(texts[sha256]) for sha256 in contents if sha256 in texts)
    return found


def count_reads(tenant_id: UUID, run_id: UUID) -> dict[str, int]:
    """Return how many entries each node of the run was answered, those read twice counted once."""
    found: dict[str, set[str]] = {}
    for node_id, contents in KeptRead.objects.of(tenant_id).filter(run_id=run_id).values_list("node_id", "contents"):
        found.setdefault(node_id, set()).update(contents)
    return {node_id: len(contents) for node_id, contents in found.items()}


def reads_of_runs(tenant_id: UUID, run_ids: Collection[UUID]) -> Iterator[tuple[UUID, str, JSONObject]]:
    """Yield run, node and each document of an answer that is still stored, run by run in the order of the reads."""
    for part in sql.in_chunks(run_ids):
        rows = KeptRead.objects.of(tenant_id).filter(run_id__in=part).order_by("run_id", "id")
        reads = list(rows.values_list("run_id", "node_id", "contents"))
        texts = _texts(tenant_id, {sha256 for *_, contents in reads for sha256 in contents})
        documents = {sha256: orjson.loads(text) for sha256, text in texts.items()}
        for run_id, node_id, contents in reads:
            yield from ((run_id, node_id, documents[sha256]) for sha256 in contents if sha256 in documents)


def _documents(digests: list[str], texts: dict[str, str]) -> list[JSONObject] | None:
    if any(sha256 not in texts for sha256 in digests):
        return None
    return [orjson.loads(texts[sha256]) for sha256 in digests]


def _texts(tenant_id: UUID, digests: Iterable[str]) -> dict[str, str]:
    rows = KeptContent.objects.of(tenant_id).exclude(text=None)
    return {
        sha256: text
        for part in sql.in_chunks(digests)
        for sha256, text in rows.filter(sha256__in=part).values_list("sha256", "text")
        if text is not None
    }


def can_serve(tenant_id: UUID, run_id: UUID, node_ids: Collection[str]) -> bool:
    """Whether every text that these nodes of the run read is still stored."""
    reads = KeptRead.objects.of(tenant_id).filter(run_id=run_id).values_list("node_id", "contents")
    digests = {sha256 for node_id, contents in reads if node_id in node_ids for sha256 in contents}
    rows = KeptContent.objects.of(tenant_id).exclude(text=None)
    there: int = sum(rows.filter(sha256__in=part).count() for part in sql.in_chunks(digests))
    return there == len(digests)


def blank_entries(tenant_id: UUID, entry_ids: Collection[UUID]) -> int:
    """Blank the stored texts of these entries, in every version that a run read; return their number."""
    rows = KeptContent.objects.written_by(WRITER).filter(tenant_id=tenant_id).exclude(text=None)
    blanked = 0
    for part in sql.in_chunks(entry_ids, FEW):
        said = (Q(text__contains=f'"id":"{ids.wire("mem", row)}"') for row in part)
        blanked += int(rows.filter(Q(*said, _connector=Q.OR)).update(text=None))
    return blanked


# What is added to an event of a call, and which text of the call it is.
TEXTS = {
    CallSent.type: ("request", "request"),
    CallAnswered.type: ("answer", "answer"),
    AgentToolCalled.type: ("inputs", "request"),
    AgentToolReturned.type: ("outcome", "answer"),
}
SAYS, CHUNK = AiMessageChunk.type, "chunk"


def begin_call(run: Run, node_id: str, *, kind: str, ordinal: int, request: JSONObject) -> UUID:
    """Record that the call is about to be sent. An unanswered earlier call at its place is dropped."""
    _of_node(run, node_id).filter(state=CallState.SENT).update(state=CallState.LOST)
    row = KeptCall(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=node_id,
        ordinal=ordinal,
        kind=kind,
        state=CallState.SENT,
        request=redaction.for_run(run.tenant_id, run.id).redact_json(request),
    )
    return UUID(str(row.insert(by=WRITER).id))


def finish_call(run: Run, call_id: UUID, answer: JSONObject) -> JSONObject:
    """Store the redacted answer for replays and later attempts of the node."""
    clean: JSONObject = redaction.for_run(run.tenant_id, run.id).redact_json(answer)
    _rows(run).filter(id=call_id).update(state=CallState.DONE, answer=clean)
    return clean


def store_partial_answer(run: Run, call_id: UUID, text: str) -> None:
    """Store the partial answer of a call under way; the caller has redacted it."""
    _rows(run).filter(id=call_id).update(answer={"text": text})


def fail_call(run: Run, call_id: UUID) -> None:
    """Record that the call failed."""
    _rows(run).filter(id=call_id).update(state=CallState.FAILED)


def answers_of(run: Run, node_id: str) -> list[JSONObject]:
    """Return the answers to the node's calls, in order."""
    rows = KeptCall.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id, state=CallState.DONE)
    return [answer or {} for answer in rows.order_by("ordinal").values_list("answer", flat=True)]


def with_texts(scope: TenantScope, run: Run, events: list[Recorded]) -> list[Recorded]:
    """Add requests and answers of calls to the events of the run, for readers of memory, since agents put memory into
    them. A replay shows the calls of its source, by the same ids."""
    calls = [event for event in events if event.type in TEXTS or event.type == SAYS]
    if not calls:
        return events
    found = _call_texts(scope.tenant_id, calls) if scope.can("memory:read") else {}
    mask = redaction.mask_of_run(run)
    return [
        replace(event, payload={**event.payload, **_said_by(event, found, mask)}) if event in calls else event
        for event in events
    ]


def _said_by(event: Recorded, found: dict[str, JSONObject], mask: Mask) -> JSONObject:
    """Return what the texts of the call add to the event. A piece of a text is present for every reader, if need be
    empty."""
    kept = found.get(str(event.payload["callId"]), {})
    if event.type == SAYS:
        text = str((kept.get("answer") or {}).get("text", ""))
        piece = text[event.payload["start"] : event.payload["end"]]
        return {CHUNK: ERASED if text == FORGOTTEN else mask.value(piece)}
    name, column = TEXTS[event.type]
    value = kept.get(column)
    return {} if value is None or "error" in event.payload else {name: mask.value(value)}


def _call_texts(tenant_id: UUID, events: Sequence[Recorded]) -> dict[str, dict[str, object]]:
    wanted = {call_id for event in events if (call_id := ids.parse("call", str(event.payload["callId"])))}
    rows = KeptCall.objects.of(tenant_id).filter(id__in=wanted).values("id", "request", "answer")
    return {ids.wire("call", row["id"]): {**row} for row in rows}


def _rows(run: Run) -> QuerySet[KeptCall]:
    return KeptCall.objects.written_by(WRITER).filter(tenant_id=run.tenant_id)


def _of_node(run: Run, node_id: str) -> QuerySet[KeptCall]:
    return _rows(run).filter(run_id=run.id, node_id=node_id)
