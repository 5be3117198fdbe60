"""Packs of agents as a kind of artifact (RFC 0003): runs act as the agents of a pack, which are its parts.

A part is the manifest of one agent in its canonical form (RFC 8785), with the name and the version of its pack and what
the pack needs of a host. It is held to what an agent is held to that is installed by itself.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import rfc8785

from memory import agent_manifests
from memory.capabilities import unmet
from memory.host import advertised
from memory.host.installing import Document, Installer, Problems
from memory.host.models import ArtifactKind
from memory.host.registry import Artifact

# What a manifest takes over from its pack, and what it is called there.
INHERITED = {
    "packName": "name",
    "packVersion": "version",
    "peerDependencies": "peerDependencies",
    "peerDependenciesMeta": "peerDependenciesMeta",
}


def _named(pack: Document) -> tuple[str, str]:
    return pack["name"], pack["version"]


def _parts(pack: Document) -> list[Artifact]:
    return [_agent(manifest) for manifest in _manifests(pack)]


def _agent(manifest: Mapping[str, Any]) -> Artifact:
    text = rfc8785.dumps(dict(manifest)).decode()
    return Artifact(ArtifactKind.AGENT, manifest["agentId"], manifest["packVersion"], text)


def _manifests(pack: Document) -> Iterator[dict[str, Any]]:
    """The manifest of each agent, as it is installed."""
    inherited = {own: pack[name] for own, name in INHERITED.items() if name in pack}
    return ({**agent, **inherited} for agent in pack["agents"])


def _problems(_tenant_id: UUID, pack: Document) -> Problems:
    """Agents that are named twice, manifests that this host does not install, and required capabilities it has not."""
    missing = unmet(agent_manifests.required_peers(pack), advertised.document())
    found = [(f"$.peerDependencies.{key}", "is required and not offered by this host") for key in missing]
    names = [agent["agentId"] for agent in pack["agents"]]
    for at, manifest in enumerate(_manifests(pack)):
        place = f"$.agents[{at}]"
        if manifest["agentId"] in names[:at]:
            found.append((f"{place}.agentId", "is another agent's of this pack"))
        found += [(f"{place}.{field}", message) for field, message in agent_manifests.problems_in(manifest)]
    return found


INSTALLER = Installer(ArtifactKind.AGENT_PACK, _named, problems=_problems, parts=_parts)
