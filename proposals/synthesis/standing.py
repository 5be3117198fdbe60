"""What the tenant has already: its agents, prompts, chains and schedules; and the commitments that have fired."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.commitments import sources
from memory.host import ids, registry
from memory.host.models import ArtifactKind, Installation, Run, Schedule, ScheduleKind
from memory.models import CommitmentState
from memory.models import Firing as FiringRow
from proposals.miners.traces import Firing, InstalledAgent, InstalledPrompt, Standing
from proposals.synthesis.executed import LOOKS_BACK, parts
from proposals.synthesis.learnable import Sieve

MOST_FIRINGS = 5000

Versions = dict[tuple[str, str], set[str]]


def agents_of(tenant_id: UUID) -> tuple[InstalledAgent, ...]:
    """The agents as they are installed now."""
    taken = _versions_of(tenant_id, ArtifactKind.AGENT, ArtifactKind.AGENT_PACK)
    return tuple(_agent(row, taken) for row in registry.agents(tenant_id))


def _agent(row: Installation, taken: Versions) -> InstalledAgent:
    manifest = json.loads(row.text)
    pack = str(manifest.get("packName", ""))
    ever = taken[ArtifactKind.AGENT, row.name] | taken.get((ArtifactKind.AGENT_PACK, pack), set())
    return InstalledAgent(manifest, row.version, row.installed_at, tuple(sorted(ever)))


def prompts_of(tenant_id: UUID) -> tuple[InstalledPrompt, ...]:
    """The prompt templates as they are installed now."""
    kind = ArtifactKind.PROMPT_TEMPLATE
    taken = _versions_of(tenant_id, kind)
    return tuple(
        InstalledPrompt(json.loads(row.text), row.installed_at, tuple(sorted(taken[kind, row.name])))
        for row in _current(tenant_id, kind)
    )


def _versions_of(tenant_id: UUID, *kinds: str) -> Versions:
    """Every version that was ever installed, by kind and name."""
    found: Versions = {}
    rows = Installation.objects.of(tenant_id).filter(kind__in=kinds)
    for kind, name, version in rows.values_list("kind", "name", "version"):
        found.setdefault((kind, name), set()).add(version)
    return found


def chains_of(tenant_id: UUID) -> tuple[dict[str, Any], ...]:
    """The packs of chains as they are installed now."""
    return tuple(json.loads(row.text) for row in _current(tenant_id, ArtifactKind.CHAIN_PACK))


def _current(tenant_id: UUID, kind: str) -> Iterable[Installation]:
    found: Iterable[Installation] = Installation.objects.of(tenant_id).filter(kind=kind, superseded_at=None)
    return sorted(found, key=lambda row: row.name)


def schedules_of(tenant_id: UUID) -> tuple[Standing, ...]:
    """The schedules that tick again and again; one that rests does so because somebody wanted it to."""
    rows = Schedule.objects.of(tenant_id).filter(kind=ScheduleKind.CRON).order_by("id")
    return tuple(Standing(*row) for row in rows.values_list("workflow_id", "cron", "timezone"))


def firings_of(tenant_id: UUID, sieve: Sieve, *, now: datetime) -> tuple[Firing, ...]:
    """The firings of the last thirty days, the oldest first; not of a commitment that somebody cancelled, nor of one
    whose memory is retired or gone."""
    rows = FiringRow.objects.of(tenant_id).select_related("commitment").filter(fired_at__gte=now - LOOKS_BACK)
    rows = rows.exclude(commitment__state=CommitmentState.CANCELLED).filter(fired_at__lte=now)
    found = list(rows.order_by("-id")[:MOST_FIRINGS])
    stands = sources.sources_of(tenant_id, {row.commitment.entry_id for row in found}, now=now)
    started = _started(tenant_id, found)
    return tuple(
        _firing(row, started.get(row.enqueued_run_id), sieve)
        for row in reversed(found)
        if stands[row.commitment.entry_id].today
    )


def _started(tenant_id: UUID, found: Iterable[FiringRow]) -> dict[UUID | None, Run]:
    wanted = {row.enqueued_run_id for row in found if row.enqueued_run_id}
    rows = Run.objects.of(tenant_id).only("tenant_id", "id", "workflow_id", "inputs")
    return {row.id: row for part in parts(wanted) for row in rows.filter(id__in=part)}


def _firing(row: FiringRow, started: Run | None, sieve: Sieve) -> Firing:
    inputs = sieve.members(started.inputs) if started else {}
    return Firing(
        commitment_id=ids.wire("cmt", row.commitment_id),
        memory_ref=row.commitment.memory_ref,
        workflow_id=started.workflow_id if started else "",
        at=row.fired_at,
        run_id=ids.wire("run", started.id if started else row.run_id),
        inputs=inputs,
        incomplete=started is not None and len(inputs) < len(started.inputs),
    )
