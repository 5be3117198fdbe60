"""Which node of which run wrote this? Read from the event log alone, never guessed (RFC 0057).

The verdict is one of five and never blank: a node; a host writer, which has no node by design; stated, when an agent
elsewhere says where its write came from, which this host has not seen; unattributed, when the host attributes writes
but this one named no node; not observable, when no write event tells of the entry.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory import event_notes
from memory.host import event_log, ids, sql
from memory.host.json_types import JSONObject
from memory.host.models import Run, RunEvent
from memory.host.paging import behind
from memory.host.tenancy import TenantScope
from memory.models import EntryOrigin, Lineage, LineageKind
from memory.origins import Origin

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry


FACT = "memory.written"
RUN_SUMMARY = "run-summary"  # the tag of the entry that the host leaves at the end of a run
AROUND = 500
STEPS = 50
WRITER = "memory.provenance"
COLUMNS = ("tenant_id", "id", "source_id", "target_id", "kind", "pass_id", "created_at")


class VerdictKind(StrEnum):
    NODE = "node"
    HOST = "host"
    STATED = "stated"
    UNATTRIBUTED = "unattributed"
    NOT_OBSERVABLE = "not-observable"


def is_run_summary(run: Run, tags: Collection[str]) -> bool:
    """Whether a write that names no node is what the host leaves at the end of a run that it executes. A correction
    keeps the tag, on a run of its own, and an agent elsewhere may write it."""
    return RUN_SUMMARY in tags and not (run.system or run.external)


@dataclass(frozen=True, slots=True)
class Write:
    """One recorded write: its place on its run's log."""

    sequence: int
    timestamp: datetime
    run: Run
    node_id: str
    agent_id: str
    tags: tuple[str, ...]
    origin: Origin | None = None

    @property
    def is_run_summary(self) -> bool:
        return is_run_summary(self.run, self.tags)

    @property
    def run_id(self) -> str:
        return ids.wire("run", self.run.id)


@dataclass(frozen=True, slots=True)
class Mark:
    """One event on the strip of the run's timeline; ``this`` is the write in question."""

    sequence: int
    type: str
    node_id: str
    this: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """The recorded writer of an entry. ``events`` is the number of events on the writer's run."""

    verdict: VerdictKind
    writes: list[Write]
    strip: list[Mark]
    previous_node: str
    next_node: str
    events: int
    sha256_when_written: str
    sha256_now: str

    @property
    def writer(self) -> Write | None:
        """Who wrote the entry as it is now: over OpenIntent it may be written again and again."""
        return self.writes[-1] if self.writes else None

    @property
    def origin(self) -> Origin | None:
        """What the agent elsewhere states of the last write."""
        return self.writer.origin if self.writer else None

    @property
    def intact(self) -> bool:
        return self.sha256_when_written == self.sha256_now


def provenance_of_entry(scope: TenantScope, entry: "MemoryEntry") -> Provenance:
    """Return the entry's provenance, in a fixed number of queries."""
    scope.check("runs:read")
    facts = [fact for fact in event_log.list_events_about(scope.tenant_id, entry.id) if fact.type == FACT]
    runs = Run.objects.of(scope.tenant_id).in_bulk_by_id([fact.stream_id for fact in facts])
    origins = origins_of(scope.tenant_id, entry.id) if any(run.may_state for run in runs.values()) else {}
    shown = {} if _is_closed(scope, entry) else origins
    writes = [_write(fact, runs[fact.stream_id], shown.get((fact.stream_id, fact.sequence))) for fact in facts]
    strip = _strip(scope, writes[-1]) if writes else []
    before, after = _neighbours(strip)
    return Provenance(
        verdict=_verdict(writes, is_stated=bool(writes) and (writes[-1].run.id, writes[-1].sequence) in origins),
        writes=writes,
        strip=strip,
        previous_node=before,
        next_node=after,
        events=event_log.length(scope.tenant_id, writes[-1].run.id) if writes else 0,
        sha256_when_written=entry.sha256,
        sha256_now=hashlib.sha256(entry.content.encode()).hexdigest(),
    )


def _is_closed(scope: TenantScope, entry: "MemoryEntry") -> bool:
    """Whether the entry is confidential to this principal; what is stated of it is then hidden with its value."""
    return entry.sealed and not scope.can("memory:retire")


def origins_of(tenant_id: UUID, entry_id: UUID) -> dict[tuple[UUID, int], Origin]:
    """Return what is stated of the entry's writes, by stream and sequence."""
    rows = EntryOrigin.objects.of(tenant_id).filter(entry_id=entry_id)
    return {(row.run_id, row.sequence): row.origin for row in rows}


def _write(fact: RunEvent, run: Run, origin: Origin | None) -> Write:
    payload: JSONObject = fact.payload
    node_id, tags = payload.get("nodeId", "") or (origin.node if origin else ""), tuple(payload.get("tags", ()))
    return Write(fact.sequence, fact.timestamp, run, node_id, payload.get("agentId", ""), tags, origin)


def _verdict(writes: list[Write], *, is_stated: bool) -> VerdictKind:
    if not writes:
        return VerdictKind.NOT_OBSERVABLE
    if is_stated:
        return VerdictKind.STATED
    if writes[-1].run.external:
        return VerdictKind.UNATTRIBUTED
    if writes[-1].node_id:
        return VerdictKind.NODE
    by_host = writes[-1].run.system or writes[-1].is_run_summary
    return VerdictKind.HOST if by_host else VerdictKind.UNATTRIBUTED


def _strip(scope: TenantScope, write: Write) -> list[Mark]:
    """Return the events of the run around the write in question, which is marked."""
    events = event_log.read(scope.tenant_id, write.run.id, after=max(write.sequence - AROUND, -1))
    events = event_notes.with_stated_nodes(scope.tenant_id, events)
    return [Mark(event.sequence, event.type, event.node_id, event.sequence == write.sequence) for event in events]


def _neighbours(strip: list[Mark]) -> tuple[str, str]:
    """Return the nodes that were started before and after the one that wrote."""
    nodes = [mark.node_id for mark in strip if mark.type == "node.started"]
    here = next((mark.node_id for mark in strip if mark.this), "")
    if here not in nodes:
        return "", ""
    at = nodes.index(here)
    return (nodes[at - 1] if at else "", nodes[at + 1] if at + 1 < len(nodes) else "")


def forks_of(tenant_id: UUID, run_ids: Collection[UUID], *, limit: int) -> list[Run]:
    """The newest replays and branches of these runs."""
    rows = Run.objects.of(tenant_id).filter(source_run_id__in=list(run_ids)).order_by("-id")
    return list(rows[:limit]) if run_ids else []


@dataclass(frozen=True, slots=True)
class Descent:
    """``source`` went into ``target``: merged, superseded, compacted or distilled."""

    source: UUID
    target: UUID
    kind: str


@transaction.atomic
def record(tenant_id: UUID, found: Iterable[Descent], *, pass_id: UUID | None, now: datetime) -> None:
    """Store each descent, with the pass that made it."""
    tenant, made_by, at = sql.key(tenant_id), sql.key(pass_id), sql.time_parameter(now)
    key, new_id = sql.key, ids.new_id
    rows = [(tenant, key(new_id()), key(each.source), key(each.target), str(each.kind), made_by, at) for each in found]
    sql.insert(Lineage, COLUMNS, rows, by=WRITER)


def sources_of(tenant_id: UUID, target_ids: Collection[UUID]) -> dict[UUID, list[Lineage]]:
    """Return the sources of each of these entries, oldest first."""
    rows = Lineage.objects.of(tenant_id).filter(target_id__in=list(target_ids)).order_by("id")
    return _grouped(rows, "target_id")


def descendants_of(tenant_id: UUID, source_ids: Collection[UUID]) -> dict[UUID, list[Lineage]]:
    """Return what was made of each of these entries, oldest first."""
    rows = Lineage.objects.of(tenant_id).filter(source_id__in=list(source_ids)).order_by("id")
    return _grouped(rows, "source_id")


def replaced_before(tenant_id: UUID, target_ids: Collection[UUID], *, most: int) -> tuple[dict[UUID, list[UUID]], bool]:
    """Return what each of these entries was made from or took the place of, and each of those in turn, by target;
    distillations are left out. The second result is False where more than ``most``, or more than ``STEPS`` of them in
    a row, were not looked at."""
    found: dict[UUID, list[UUID]] = defaultdict(list)
    seen, behind = set(target_ids), list(target_ids)
    for _ in range(STEPS):
        rows = Lineage.objects.of(tenant_id).filter(sql.is_among("target_id", behind))
        pairs = list(rows.exclude(kind=LineageKind.DISTILLED).values_list("target_id", "source_id")[: most + 1])
        for target_id, source_id in pairs:
            found[target_id].append(source_id)
        behind = list({source_id for _, source_id in pairs} - seen)
        seen |= set(behind)
        if not behind or len(seen) > most + len(target_ids):
            break
    return found, not behind


def merged_into(tenant_id: UUID, source_ids: Collection[UUID], *, most: int) -> set[UUID]:
    """Return the entries that passes made of these, and of those in turn, at most ``most`` a step and ``STEPS`` steps;
    what replaced one does not hold its text and is left out."""
    merging = (LineageKind.MERGED, LineageKind.COMPACTED)
    seen, behind = set(source_ids), list(source_ids)
    for _ in range(STEPS):
        rows = Lineage.objects.of(tenant_id).filter(sql.is_among("source_id", behind), kind__in=merging)
        behind = list(set(rows.values_list("target_id", flat=True)[:most]) - seen)
        seen |= set(behind)
        if not behind:
            break
    return seen - set(source_ids)


def lineage_of_pass(tenant_id: UUID, pass_id: UUID, *, after: UUID | None = None, limit: int) -> list[Lineage]:
    """Return the descents of one pass, in order, after the row ``after``."""
    rows = Lineage.objects.of(tenant_id).filter(pass_id=pass_id)
    return list(behind(rows, after, "id")[:limit])


def count_of_pass(tenant_id: UUID, pass_id: UUID) -> int:
    """Return the number of descents that one pass recorded."""
    return int(Lineage.objects.of(tenant_id).filter(pass_id=pass_id).count())


def sources_of_entry(tenant_id: UUID, entry_id: UUID, *, archive_id: UUID | None) -> QuerySet[Lineage]:
    """Return the entry's sources. ``archive_id`` is the archive whose text it is: a distillation records its sources
    under the archive's id."""
    targets = [entry_id, archive_id] if archive_id else [entry_id]
    rows: QuerySet[Lineage] = Lineage.objects.of(tenant_id).filter(target_id__in=targets)
    return rows


def descendants_of_entry(tenant_id: UUID, entry_id: UUID) -> QuerySet[Lineage]:
    """Return what was made of the entry."""
    rows: QuerySet[Lineage] = Lineage.objects.of(tenant_id).filter(source_id=entry_id)
    return rows


def replacement_of_entry(tenant_id: UUID, entry_id: UUID) -> UUID | None:
    """The entry that last took the place of this one, by a pass or by a correction."""
    rows = descendants_of_entry(tenant_id, entry_id).exclude(kind=LineageKind.DISTILLED)
    return rows.order_by("-id").values_list("target_id", flat=True).first()


def _grouped(rows: Iterable[Lineage], by: str) -> dict[UUID, list[Lineage]]:
    found: dict[UUID, list[Lineage]] = defaultdict(list)
    for row in rows:
        found[getattr(row, by)].append(row)
    return dict(found)
