"""The agents of a tenant: what they declare, what this host gives them, and what their memory looks like (RFC 0080 C).

The health of an agent's memory is derived from the document that discovery serves; the caller passes that very one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import adapter
from memory.capabilities import degraded_dimensions
from memory.host import registry
from memory.host.tenancy import TenantScope


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One installed agent. With ``has_more``, ``entries`` is a lower bound.

    ``degraded`` is None when the manifest declares no memory shape: unknown, not healthy.
    """

    agent_id: str
    persona: str
    label: str
    memory_shape: Mapping[str, Any]
    entries: int
    has_more: bool
    last_write: datetime | None
    degraded: list[str] | None

    @property
    def health(self) -> str:
        """``satisfied``, ``degraded`` or ``unknown``."""
        if self.degraded is None:
            return "unknown"
        return "degraded" if self.degraded else "satisfied"


def agent_rows(scope: TenantScope, document: Mapping[str, Any], *, now: datetime) -> list[AgentRow]:
    """Every installed agent of the tenant, in the order of their ids, in a fixed number of queries."""
    scope.check("agents:read")
    manifests = registry.agents(scope.tenant_id)
    names = [manifest["agentId"] for manifest in manifests]
    usage = adapter.usage_of(scope, names, now=now) if scope.can("memory:read") else {}
    return [_row(manifest, usage, document) for manifest in manifests]


def _row(
    manifest: Mapping[str, Any], usage: Mapping[str, tuple[int, datetime]], document: Mapping[str, Any]
) -> AgentRow:
    entries, last_write = usage.get(manifest["agentId"], (0, None))
    shape = manifest.get("memoryShape")
    return AgentRow(
        agent_id=manifest["agentId"],
        persona=manifest["persona"],
        label=manifest.get("label") or manifest["persona"],
        memory_shape=shape or {},
        entries=min(entries, adapter.COUNTED),
        has_more=entries > adapter.COUNTED,
        last_write=last_write,
        degraded=None if shape is None else degraded_dimensions(shape, document),
    )
