"""The agents of a tenant: what they declare, what this host gives them, and what their memory looks like (RFC 0072 A).

An entry is made in one place, for the list, for the single agent and for the pages. What is degraded in it is derived
from the document that discovery serves; the caller passes that very one. The prompt is not part of an entry.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from memory import adapter, agent_manifests
from memory.capabilities import REQUESTED, Document, degraded_dimensions, unmet
from memory.host import registry
from memory.host.errors import NotFound
from memory.host.models import ArtifactKind, Installation
from memory.host.tenancy import TenantScope
from memory.models import Commitment, CommitmentState

OPEN = (CommitmentState.ARMED, CommitmentState.SNOOZED)


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """One installed agent as others may see it.

    ``degraded`` are the capabilities it declared and does not get. ``degraded_dimensions`` is None when the manifest
    declares no memory shape: unknown, not healthy.
    """

    agent_id: str
    persona: str
    label: str
    description: str
    model_class: str
    pack_name: str
    pack_version: str
    tool_allowlist: tuple[str, ...]
    memory_shape: Mapping[str, bool] | None
    confidence_threshold: float | None
    degraded: tuple[str, ...]
    degraded_dimensions: tuple[str, ...] | None

    @property
    def health(self) -> str:
        """How its memory stands: ``satisfied``, ``degraded`` or ``unknown``."""
        if self.degraded_dimensions is None:
            return "unknown"
        return "degraded" if self.degraded_dimensions else "satisfied"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An installed agent and its use of memory. With ``has_more``, ``entries`` is a lower bound.

    ``armed`` are its commitments that may still fire; ``installed`` says whether it is disabled, by whom and why.
    """

    entry: AgentEntry
    installed: Installation
    entries: int
    has_more: bool
    last_write: datetime | None
    armed: int = 0


def entries(scope: TenantScope, document: Document) -> list[AgentEntry]:
    """Every installed agent of the tenant that runs may act as, in the order of their ids."""
    scope.check("manifest:read")
    return [entry_of(each, document) for each in registry.agents(scope.tenant_id) if not each.is_disabled]


def entry(scope: TenantScope, agent_id: str, document: Document) -> AgentEntry:
    """One installed agent; unknown, disabled and foreign ids are one ``NotFound``."""
    scope.check("manifest:read")
    installed = registry.current(scope.tenant_id, ArtifactKind.AGENT, agent_id)
    if installed is None or installed.is_disabled:
        raise NotFound("There is no installed agent by that id.")
    return entry_of(installed, document)


def entry_of(installed: Installation, document: Document) -> AgentEntry:
    """What may be seen of an installed manifest on a host that advertises ``document``."""
    manifest = json.loads(installed.text)
    shape = manifest.get("memoryShape")
    asked = [*agent_manifests.optional_peers(manifest), *manifest.get("requiresCapabilities", [])]
    return AgentEntry(
        agent_id=manifest["agentId"],
        persona=manifest["persona"],
        label=manifest.get("label") or manifest["persona"],
        description=manifest.get("description", ""),
        model_class=manifest["modelClass"],
        pack_name=manifest.get("packName", manifest["agentId"]),
        pack_version=installed.version,
        tool_allowlist=tuple(agent_manifests.tools_in(manifest)),
        memory_shape=None if shape is None else {key: shape[key] is True for key in REQUESTED if key in shape},
        confidence_threshold=manifest.get("confidence", {}).get("defaultThreshold"),
        degraded=tuple(unmet(asked, document)),
        degraded_dimensions=None if shape is None else tuple(degraded_dimensions(shape, document)),
    )


def agent_rows(scope: TenantScope, document: Document, *, now: datetime) -> list[AgentRow]:
    """Every installed agent of the tenant with its use of memory, in a fixed number of queries."""
    scope.check("agents:read")
    found = {each.name: each for each in registry.agents(scope.tenant_id)}
    names = list(found)
    usage = adapter.usage_of(scope, names, now=now) if scope.can("memory:read") else {}
    armed = _armed(scope) if scope.can("memory:read") else {}
    return [_row(each, entry_of(each, document), usage, armed) for each in found.values()]


def _armed(scope: TenantScope) -> dict[str, int]:
    """How many commitments of each agent may still fire."""
    mine = Commitment.objects.of(scope.tenant_id).filter(state__in=OPEN).order_by()
    return dict(mine.values_list("agent_id").annotate(found=Count("id")))


def _row(
    installed: Installation,
    found: AgentEntry,
    usage: Mapping[str, tuple[int, datetime]],
    armed: Mapping[str, int],
) -> AgentRow:
    count, last_write = usage.get(found.agent_id, (0, None))
    more = count > adapter.COUNTED
    shown = min(count, adapter.COUNTED)
    return AgentRow(found, installed, shown, more, last_write, armed.get(found.agent_id, 0))
