"""The agents of a tenant: manifests, packs, and what this host gives them (RFC 0003, RFC 0072 A)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import rfc8785
from django.db import transaction
from django.db.models import Count, QuerySet
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from memory import adapter, artifact_stops, commitments, passes, redaction
from memory.adapter.console import AgentUse
from memory.host import access, audit, proposal_links, registrations, registry, sql
from memory.host.errors import Conflict, Forbidden, NotFound, PackPeerDependencyMissing, Unprocessable
from memory.host.json_schemas import errors_in, place_of, requirement, validator_of
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import ArtifactKind, Installation
from memory.host.registry import Artifact, Installer, Problems
from memory.host.tenancy import TenantScope
from memory.memory_health import REQUESTED, degraded_dimensions, unmet
from memory.models import Commitment, Pass
from memory.text.matching import texts_in
from memory.text.storable import UNSTORABLE

SCHEMA = Path(__file__).parent / "schemas" / "agent-manifest.schema.json"
FIRST_VERSION = "1.0.0"
MAX_PROBLEMS = 50
CHECKED = "agent-manifest"
NOT_OFFERED = "is not offered by this host, which installs a manifest without the files of its pack"
Manifest = JSONMapping
# Whether an agent is degraded, by the digests of its manifest and of what the host advertises.
_degraded: dict[tuple[str, str], bool] = {}
KNOWN = 10_000
# The kinds of passes of which each agent shows the last.
PASSES = ("distill", "consolidate")
UNUSED = AgentUse(0, 0, 0, False, None, frozenset())
# What a manifest takes over from its pack, and what it is called there.
INHERITED = {
    "packName": "name",
    "packVersion": "version",
    "peerDependencies": "peerDependencies",
    "peerDependenciesMeta": "peerDependenciesMeta",
}


@transaction.atomic
def install(scope: TenantScope, given: Manifest, document: JSONMapping, *, now: datetime) -> Installation:
    """Install the agent as given; ``document`` is what the host advertises.

    The same manifest again changes nothing, except that a removed agent is enabled. A changed one needs another
    ``packVersion``; where a proposal installed the agent, or runs have used it, only a proposal changes it.
    """
    _check_who(scope)
    manifest = _checked(redaction.for_tenant(scope.tenant_id).redact_json(given))
    if missing := unmet(required_peers(manifest), document):
        raise PackPeerDependencyMissing(missing=missing)
    text = rfc8785.dumps(dict(manifest)).decode()
    version = manifest.get("packVersion", FIRST_VERSION)
    artifact = Artifact(ArtifactKind.AGENT, manifest["agentId"], version, text)
    access.lock_tenant(scope.tenant_id)
    registry.require_not_proposed(scope.tenant_id, ArtifactKind.AGENT, artifact.name)
    before = registry.current(scope.tenant_id, ArtifactKind.AGENT, artifact.name)
    by = scope.principal.id
    if before and before.sha256 != artifact.sha256:
        registry.require_unused(before)
    if before and before.disabled_at and before.ref == artifact.ref and before.sha256 == artifact.sha256:
        registry.mark_enabled(before)
        artifact_stops.audit_change(before, artifact_stops.ENABLED, by=by, reason="Installed again.", now=now)
    installed = registry.install(scope.tenant_id, artifact, source=CHECKED, installed_by=by, now=now)
    if installed.superseded_at or installed.source != CHECKED:
        raise Conflict(f"{artifact.ref} was superseded, or is an older host's; give the manifest a new packVersion.")
    if before is None or before.id != installed.id:
        details = {"sha256": installed.sha256}
        audit.append(
            scope.tenant_id, actor=by, action="agent.installed", target=installed.ref, details=details, now=now
        )
    return installed


@transaction.atomic
def remove(scope: TenantScope, agent_id: str, *, now: datetime) -> None:
    """Disable the agent, audited; its name and what it wrote stay. ``NotFound`` when there is none or it is
    disabled."""
    _check_who(scope)
    access.lock_tenant(scope.tenant_id)
    there = registry.current(scope.tenant_id, ArtifactKind.AGENT, agent_id)
    if there is None or there.is_disabled:
        raise NotFound("There is no installed agent by that id.")
    artifact_stops.remove_agent(there, by=scope.principal.id, now=now)


def _check_who(scope: TenantScope) -> None:
    """Refuse a key that is bound to agents: it could widen what its own agents may do."""
    scope.check("agents:manage")
    if scope.principal.agent_ids is not None:
        raise Forbidden("A key that is bound to agents does not manage them.", rule="agent-binding")


def applicable_manifest(tenant_id: UUID, agent_id: str) -> Installation | None:
    """Return the manifest that applies to the agent: the installed one, else the last removed one, with its
    ``superseded_at``. None without an agent, and for one that was never installed."""
    return registry.last(tenant_id, ArtifactKind.AGENT, agent_id) if agent_id else None


def refused_tools(under: Installation | None, tools: Iterable[str]) -> list[str]:
    """Those of ``tools`` that an agent may not use under this manifest, whether it came alone or with a pack.

    A manifest without a list allows none, and an agent that was removed keeps none. One that never was installed has no
    manifest to restrict it, and one that an earlier release installed is not restricted until it is installed anew.
    """
    wanted = list(tools)
    if not wanted or under is None or not (under.superseded_at or _was_checked(under)):
        return []
    allowed = [] if under.superseded_at else tools_in(json.loads(under.text))
    return [tool for tool in wanted if tool not in allowed]


def _was_checked(under: Installation) -> bool:
    return under.source == CHECKED or under.part_of_id is not None


def tools_in(manifest: Manifest) -> list[str]:
    """The tools of the manifest's ``toolAllowlist``, which is empty when there is none."""
    return list(manifest.get("toolAllowlist", []))


def optional_peers(manifest: Manifest) -> list[str]:
    """Return the capabilities without which the agent's pack still works, with less."""
    about = manifest.get("peerDependenciesMeta", {})
    return [key for key in manifest.get("peerDependencies", {}) if about.get(key, {}).get("optional") is True]


def required_peers(manifest: Manifest) -> list[str]:
    """Return the capabilities without which the agent's pack is not installed."""
    optional = optional_peers(manifest)
    return [key for key in manifest.get("peerDependencies", {}) if key not in optional]


def _checked(given: Any) -> Manifest:
    """``given``, which is a manifest this host can install; refuses with the path of every problem."""
    problems = problems_in(given)
    if problems:
        errors = [{"field": field, "message": message} for field, message in problems[:MAX_PROBLEMS]]
        raise Unprocessable("The agent manifest is not valid.", errors=errors)
    manifest: Manifest = given
    return manifest


def problems_in(given: object) -> list[tuple[str, str]]:
    """Why ``given`` is no manifest that this host can install: paths in it, and sentences without a word of it."""
    problems = {pair for problem in errors_in(_validator(), given) for pair in _problems_of(problem)}
    if not problems and any(UNSTORABLE.search(text) for text in texts_in(given)):
        problems = {("manifest", "holds a NUL or half a surrogate pair")}
    return sorted(problems)


@cache
def _validator() -> Draft202012Validator:
    return validator_of(json.loads(SCHEMA.read_text()))


def _problems_of(problem: ValidationError) -> list[tuple[str, str]]:
    """Where it is, and what the schema wanted, in words; of the value nothing is said."""
    place = place_of(problem).removeprefix("$").removeprefix(".")
    if problem.validator == "required":
        missing = [name for name in problem.validator_value if name not in problem.instance]
        return [(_under(place, name), "is required") for name in missing]
    if problem.validator == "additionalProperties":
        extra = set(problem.instance) - set(problem.schema.get("properties", {}))
        return [(_under(place, name[:100]), "is not a field of a manifest") for name in extra]
    if problem.validator == "not":
        return [(place or "manifest", "is a reserved name" if problem.validator_value else NOT_OFFERED)]
    return [(place or "manifest", requirement(problem))]


def _under(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


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
    def missing(self) -> tuple[str, ...]:
        """What its manifest asks for and the host does not give: dimensions of memory, then other capabilities."""
        return (*(self.degraded_dimensions or ()), *self.degraded)

    @property
    def health(self) -> str:
        """``degraded`` when something is missing; else ``satisfied``, or ``unknown`` without a memory shape."""
        if self.missing:
            return "degraded"
        return "unknown" if self.degraded_dimensions is None else "satisfied"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An installed agent, what it has in memory and what was last done to that.

    ``distilled`` and ``consolidated`` are the last passes over a ref of its newest entries. ``armed`` are its
    commitments that may still fire, ``pending`` its proposals under review; ``installed`` says whether it is disabled,
    by whom and why.
    """

    entry: AgentEntry
    installed: Installation
    use: AgentUse = UNUSED
    distilled: Pass | None = None
    consolidated: Pass | None = None
    armed: int = 0
    pending: int = 0


def entries(scope: TenantScope, document: JSONMapping) -> list[AgentEntry]:
    """Return every installed agent of the tenant that runs may act as, by id."""
    scope.check("manifest:read")
    return [entry_of(each, document) for each in registry.agents(scope.tenant_id) if not each.is_disabled]


def entry(scope: TenantScope, agent_id: str, document: JSONMapping) -> AgentEntry:
    """Return one installed agent; unknown, disabled and foreign ids are all ``NotFound``."""
    scope.check("manifest:read")
    installed = registry.current(scope.tenant_id, ArtifactKind.AGENT, agent_id)
    if installed is None or installed.is_disabled:
        raise NotFound("There is no installed agent by that id.")
    return entry_of(installed, document)


def entry_of(installed: Installation, document: JSONMapping) -> AgentEntry:
    """Return the public part of an installed manifest, on a host that advertises ``document``."""
    manifest = json.loads(installed.text)
    shape = manifest.get("memoryShape")
    asked = [*optional_peers(manifest), *manifest.get("requiresCapabilities", [])]
    return AgentEntry(
        agent_id=manifest["agentId"],
        persona=manifest["persona"],
        label=manifest.get("label") or manifest["persona"],
        description=manifest.get("description", ""),
        model_class=manifest["modelClass"],
        pack_name=manifest.get("packName", manifest["agentId"]),
        pack_version=installed.version,
        tool_allowlist=tuple(tools_in(manifest)),
        memory_shape=None if shape is None else {key: shape[key] is True for key in REQUESTED if key in shape},
        confidence_threshold=manifest.get("confidence", {}).get("defaultThreshold"),
        degraded=tuple(unmet(asked, document)),
        degraded_dimensions=None if shape is None else tuple(degraded_dimensions(shape, document)),
    )


def agent_rows(scope: TenantScope, document: JSONMapping, *, only: str = "", now: datetime) -> list[AgentRow]:
    """Return every installed agent of the tenant, or ``only`` one, with its use of memory, in a number of queries that
    neither the ledger nor the agents change."""
    scope.check("agents:read")
    found = {each.name: each for each in registry.agents(scope.tenant_id) if only in {"", each.name}}
    reads = bool(found) and scope.can("memory:read")
    usage = adapter.console.agent_usage(scope, list(found), now=now) if reads else {}
    refs = {ref for use in usage.values() for ref in use.refs}
    last = passes.last_done(scope.tenant_id, refs, PASSES) if refs else {}
    armed = _armed(scope) if reads else {}
    pending = proposal_links.count_pending(scope) if found else {}
    rows = []
    for name, each in found.items():
        use = usage.get(name, UNUSED)
        distilled, consolidated = (_newest(last.get((ref, kind)) for ref in use.refs) for kind in PASSES)
        shown = entry_of(each, document)
        rows.append(AgentRow(shown, each, use, distilled, consolidated, armed.get(name, 0), pending.get(name, 0)))
    return rows


def _newest(found: Iterable[Pass | None]) -> Pass | None:
    return max(filter(None, found), key=lambda row: row.id, default=None)


def degraded_rows(scope: TenantScope, document: JSONMapping) -> list[AgentRow]:
    """Return the installed agents that lack something they require, without what they have in memory."""
    scope.check("agents:read")
    rows = [AgentRow(entry_of(each, document), each) for each in registry.agents(scope.tenant_id)]
    return [row for row in rows if row.entry.health == "degraded"]


def audit_refs(scope: TenantScope, agent_id: str) -> list[str]:
    """Return what audit records call the agent: the ref of each of its versions."""
    return [each.ref for each in registry.versions(scope.tenant_id, ArtifactKind.AGENT, agent_id)]


def count_degraded(scope: TenantScope) -> int:
    """Count the installed agents whose health is ``degraded``, in one query: their manifests are read once in a
    process."""
    scope.check("agents:read")
    installed = [sha256 for (sha256,) in _digests_asked().fetch(scope.tenant_id)]
    if not installed:
        return 0
    document = registrations.advertised_capabilities()
    advertised = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    unread = {each for each in installed if (each, advertised) not in _degraded}
    for each in _installed(scope.tenant_id).filter(sha256__in=unread) if unread else ():
        if len(_degraded) >= KNOWN:
            _degraded.clear()
        _degraded[each.sha256, advertised] = entry_of(each, document).health == "degraded"
    return sum(_degraded.get((each, advertised), False) for each in installed)


def _installed(tenant_id: UUID) -> QuerySet[Installation]:
    return Installation.objects.of(tenant_id).filter(kind=ArtifactKind.AGENT, superseded_at=None)


@cache
def _digests_asked() -> sql.CompiledQuery:
    """Every page asks for the digests of the agents."""
    tenant_id = UUID(int=0)
    return sql.CompiledQuery(_installed(tenant_id).values_list("sha256"), tenant_id)


def _armed(scope: TenantScope) -> dict[str, int]:
    """How many commitments of each agent may still fire."""
    mine = Commitment.objects.of(scope.tenant_id).filter(state__in=commitments.lifecycle.OPEN).order_by()
    return dict(mine.values_list("agent_id").annotate(found=Count("id")))


def _name_and_version(pack: JSONMapping) -> tuple[str, str]:
    return pack["name"], pack["version"]


def _parts(pack: JSONMapping) -> list[Artifact]:
    return [_agent(manifest) for manifest in _manifests(pack)]


def _agent(manifest: JSONMapping) -> Artifact:
    text = rfc8785.dumps(dict(manifest)).decode()
    return Artifact(ArtifactKind.AGENT, manifest["agentId"], manifest["packVersion"], text)


def _manifests(pack: JSONMapping) -> Iterator[JSONObject]:
    """The manifest of each agent, as it is installed."""
    inherited = {own: pack[name] for own, name in INHERITED.items() if name in pack}
    return ({**agent, **inherited} for agent in pack["agents"])


def _problems(_tenant_id: UUID, pack: JSONMapping) -> Problems:
    """Agents that are named twice, manifests that this host does not install, and required capabilities it has not."""
    missing = unmet(required_peers(pack), registrations.advertised_capabilities())
    found = [(f"$.peerDependencies.{key}", "is required and not offered by this host") for key in missing]
    names = [agent["agentId"] for agent in pack["agents"]]
    for at, manifest in enumerate(_manifests(pack)):
        place = f"$.agents[{at}]"
        if manifest["agentId"] in names[:at]:
            found.append((f"{place}.agentId", "is another agent's of this pack"))
        found += [(f"{place}.{field}", message) for field, message in problems_in(manifest)]
    return found


INSTALLER = Installer(ArtifactKind.AGENT_PACK, _name_and_version, problems=_problems, parts=_parts)
