"""The effect of a proposal: what it installed, which runs used it, and what it replaces. Reads only.

A pack of agents also occupies the names of its agents: an agent that is installed on its own is what runs resolve
today, and what the pack would replace. A prompt template is also rendered with the inputs of a source run, before and
after the change.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from memory import run_timeline
from memory.agents import INHERITED
from memory.host import event_log, ids, registry
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation, Interrupt, Resolution, Run
from memory.host.tenancy import TenantScope
from memory.text import differences
from memory.text.differences import Diff
from proposals import artifacts
from proposals.models import Kind, Proposal, Revision
from proposals.summaries import PLACEHOLDER

USES_SHOWN = 20
REFS_NAMED = 3
PEERS = "peerDependencies"
RUNS, EVENTS = 3, 500  # the source runs that are read, and the events of each


@dataclass(frozen=True, slots=True)
class Place:
    """What an artifact replaces: ``label`` lists the refs, ``text`` is the side to compare with.

    ``agents`` are those that did not come with a version of the pack; with any, ``text`` is composed for the
    comparison: the installed pack, or an empty one, with these agents added.
    """

    label: str
    text: str
    agents: list[Installation]

    @property
    def alone(self) -> list[str]:
        """The refs of the agents that were installed individually, not by any pack."""
        return [each.ref for each in self.agents if each.part_of_id is None]


@dataclass(frozen=True, slots=True)
class Effect:
    """Which runs have resolved the installed artifact, and which another version of its name.

    ``installed_now`` is what a run resolves by that name today, ``stands`` the same with the agents that a pack would
    replace, and ``replaced`` what the installation replaced. ``runs_since_created`` counts the tenant's own runs since
    the proposal was made, without system runs, ``runs_since_installed`` those since it was installed. ``parts`` are the
    installations that a pack brought, which runs resolve. ``same_bytes`` are the refs of installations with the digest
    of a revision of this proposal that did not come from it. ``installation`` is kept after an uninstall.
    """

    installation: Installation | None
    parts: list[Installation]
    installed_now: Installation | None
    stands: Place | None
    replaced: Place | None
    uses: list[Resolution]
    uses_total: int
    other_uses: list[Resolution]
    other_uses_total: int
    runs_since_created: int
    runs_since_installed: int
    same_bytes: list[str]


def impact_of(proposal: Proposal, made: list[Revision]) -> Effect:
    """Read the effect of the proposal; ``made`` are its revisions, newest first."""
    tenant_id, text = proposal.tenant_id, made[0].text
    ref = proposal.installed_ref or proposal.uninstalled_ref
    installation = registry.by_ref(tenant_id, ref) if ref else None
    name = artifacts.name_in(proposal.kind, text)
    parts = registry.parts_of(installation) if installation else []
    agents = _agents(proposal.kind, text, parts)
    installed_now = registry.current(tenant_id, proposal.kind, name) if name else None
    mine = [each.id for each in (installation, *parts) if each]
    others = _uses_of_other_versions(proposal, name, agents, mine)
    same = Installation.objects.of(tenant_id).filter(kind=proposal.kind, sha256__in=[each.sha256 for each in made])
    runs = Run.objects.of(tenant_id).filter(system=False)
    since = runs.filter(created_at__gte=installation.installed_at) if installation else runs.none()
    return Effect(
        installation=installation,
        parts=parts,
        installed_now=installed_now,
        stands=_place(installed_now, _current_agents(proposal, name, agents), agents),
        replaced=_replaced(proposal, installation, agents, mine) if installation else None,
        uses=registry.uses_of(tenant_id, mine, limit=USES_SHOWN) if installation else [],
        uses_total=registry.count_uses(tenant_id, mine) if installation else 0,
        other_uses=list(others.select_related("run", "installation").order_by("-id")[:USES_SHOWN]),
        other_uses_total=others.count(),
        runs_since_created=runs.filter(id__gt=proposal.id).count(),
        runs_since_installed=since.count(),
        same_bytes=list(same.exclude(id__in=mine).order_by("id").values_list("ref", flat=True)),
    )


def _agents(kind: str, text: str, parts: Iterable[Installation]) -> list[str]:
    """The agent ids of a pack, in its order; of a forgotten artifact, those of its installed parts."""
    if kind != Kind.AGENT_PACK:
        return []
    named = [each["agentId"] for each in json.loads(text).get("agents", ())]
    return list(dict.fromkeys([*named, *(part.name for part in parts)]))


def _uses_of_other_versions(
    proposal: Proposal, name: str, agents: Collection[str], mine: Collection[UUID]
) -> QuerySet[Resolution]:
    """Uses of other versions: the same name or an agent of the same id, without this version and its parts."""
    same = Q(installation__kind=proposal.kind, installation__name=name)
    packed = Q(installation__part_of__kind=proposal.kind, installation__part_of__name=name)
    acting = Q(installation__kind=ArtifactKind.AGENT, installation__name__in=list(agents))
    rows: QuerySet[Resolution] = Resolution.objects.of(proposal.tenant_id).filter(same | packed | acting)
    return rows.exclude(installation_id__in=list(mine))


def _current_agents(proposal: Proposal, name: str, agents: Collection[str]) -> list[Installation]:
    """The current installations of these agent ids that did not come with the pack of this name."""
    if not agents:
        return []
    rows = Installation.objects.of(proposal.tenant_id).select_related("part_of")
    found = rows.filter(kind=ArtifactKind.AGENT, name__in=list(agents), superseded_at=None)
    return [each for each in found if each.part_of is None or each.part_of.name != name]


def _replaced(
    proposal: Proposal, installation: Installation, agents: Sequence[str], mine: Collection[UUID]
) -> Place | None:
    """What the installation replaced: whatever was superseded at that moment, else the previous version."""
    moments = {installation.installed_at, proposal.closed_at} - {None}
    rows = Installation.objects.of(proposal.tenant_id).exclude(id__in=list(mine)).filter(superseded_at__in=moments)
    alone = rows.filter(kind=ArtifactKind.AGENT, name__in=list(agents), part_of=None) if agents else rows.none()
    return _place(_version_before(installation, moments), list(alone), agents)


def _version_before(installation: Installation, moments: Collection[datetime | None]) -> Installation | None:
    known = registry.versions(installation.tenant_id, installation.kind, installation.name)
    others = [each for each in known if each.id != installation.id]
    taken = [each for each in others if each.superseded_at in moments]
    earlier = [each for each in others if each.installed_at < installation.installed_at]
    return next(iter([*taken, *earlier]), None)


def _place(there: Installation | None, agents: list[Installation], order: Sequence[str]) -> Place | None:
    """The place of an installed version and of separately installed agents, in ``order``; None for neither."""
    found = sorted(agents, key=lambda each: order.index(each.name))
    refs = [each.ref for each in (there, *found) if each]
    if not refs:
        return None
    more = f" and {len(refs) - REFS_NAMED} more" if len(refs) > REFS_NAMED else ""
    text = there.text if there else ""
    return Place(f"{', '.join(refs[:REFS_NAMED])}{more}", _with_agents(text, found, order) if found else text, found)


def _with_agents(text: str, agents: list[Installation], order: Sequence[str]) -> str:
    """The pack ``text``, or an empty pack for "", with these agents added; members that a manifest inherits from its
    pack are moved to the pack."""
    pack: JSONObject = json.loads(text) if text else {}
    manifests = [json.loads(each.text) for each in agents]
    peers = {key: wanted for each in manifests for key, wanted in each.get(PEERS, {}).items()}
    bare = [{key: value for key, value in each.items() if key not in INHERITED} for each in manifests]
    place = {name: at for at, name in enumerate(order)}
    whole = sorted([*pack.get("agents", ()), *bare], key=lambda each: place.get(each["agentId"], len(place)))
    needs = {PEERS: {**peers, **pack.get(PEERS, {})}} if peers else {}
    return json.dumps({**pack, **needs, "agents": whole}, ensure_ascii=False)


# The origin of a proposal: its source runs, the synthesis's evidence, and its duplicate. Reads only.
#
# Cited things may be gone; they are still named, without a link.


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run that the proposal names; ``whys`` are fixed words, empty when unknown; ``run`` is None when it is gone."""

    run_id: str
    run: Run | None
    whys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """One piece of evidence; ``whys`` are fixed words, ``opens`` is the wire id of the page to link ("" for none)."""

    kind: str
    id: str
    whys: tuple[str, ...]
    opens: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """What the proposal duplicates: its ref or id, its text, and the proposal that it is or was installed by."""

    ref: str
    text: str
    proposal_id: UUID | None


def runs_of(proposal: Proposal) -> list[SourceRun]:
    """The source runs, in the order of the proposal."""
    wanted = {each: ids.parse("run", each) for each in proposal.source_run_ids}
    known = {found for found in wanted.values() if found}
    runs = {run.id: run for run in Run.objects.of(proposal.tenant_id).filter(id__in=known)} if known else {}
    whys = _whys(proposal)
    return [SourceRun(each, runs.get(found) if found else None, whys.get(each, ())) for each, found in wanted.items()]


def citations(proposal: Proposal) -> list[Citation]:
    """The synthesis's evidence other than source runs, each once, in order; an interrupt links to its run."""
    asked = [found for each in proposal.evidence if (found := ids.parse("int", each["id"]))]
    rows = Interrupt.objects.of(proposal.tenant_id).filter(id__in=asked).values_list("id", "run_id") if asked else []
    opens = {ids.wire("int", interrupt): ids.wire("run", run) for interrupt, run in rows}
    kinds = {each["id"]: each["kind"] for each in proposal.evidence if each["id"] not in proposal.source_run_ids}
    whys = _whys(proposal)
    return [
        Citation(kind, cited, whys[cited], opens.get(cited, "" if cited.startswith("int_") else cited))
        for cited, kind in kinds.items()
    ]


def _whys(proposal: Proposal) -> dict[str, tuple[str, ...]]:
    """By cited id: the distinct reasons."""
    found: dict[str, dict[str, None]] = {}
    for each in proposal.evidence:
        found.setdefault(each["id"], {})[each["why"]] = None
    return {cited: tuple(whys) for cited, whys in found.items()}


def duplicate_of(proposal: Proposal) -> Duplicate | None:
    """The duplicate of the proposal in its current text; None without one, or when it is gone."""
    ref = proposal.duplicate_of or ""
    if other := ids.parse("prop", ref):
        rows = Revision.objects.of(proposal.tenant_id).filter(proposal_id=other).order_by("-number")
        standing: Revision | None = rows.first()
        return Duplicate(ref, standing.text, other) if standing else None
    installed = registry.by_ref(proposal.tenant_id, ref) if ref else None
    if installed is None:
        return None
    brought = Proposal.objects.of(proposal.tenant_id).filter(installed_ref=ref).order_by("-id")
    return Duplicate(ref, installed.text, brought.values_list("id", flat=True).first())


@dataclass(frozen=True, slots=True)
class Rendering:
    """The diff between a node's prompt in a run under the old template and under the new one."""

    run_id: str
    node_id: str
    diff: Diff


def rendering_of(scope: TenantScope, proposal: Proposal, old: str, new: str) -> Rendering | None:
    """Render old and new template with a source run's inputs.

    None for another kind, without ``runs:read`` and ``memory:read``, and when no source run used the template.
    """
    if proposal.kind != Kind.PROMPT_TEMPLATE or not (scope.can("runs:read") and scope.can("memory:read")):
        return None
    name = artifacts.name_in(proposal.kind, new)
    for source in runs_of(proposal)[:RUNS]:
        if source.run and (found := _inputs_of(source.run, name)):
            node_id, inputs = found
            before, after = (_filled(text, inputs).splitlines() for text in (old, new))
            return Rendering(ids.wire("run", source.run.id), node_id, differences.diff_lines(before, after))
    return None


def _inputs_of(run: Run, name: str) -> tuple[str, Mapping[str, object]] | None:
    """The first node of the run that rendered the template of this name, with its inputs; or None."""
    events = event_log.read(run.tenant_id, run.id, limit=EVENTS)
    reports = run_timeline.reports_of(run, events, registry.used_by(run))
    used = ((node, each.inputs) for node, each in reports.items() if each.template_name == name)
    return next(((node, inputs) for node, inputs in used if inputs is not None), None)


def _filled(text: str, inputs: Mapping[str, object]) -> str:
    """The template's text with its placeholders filled; one without a value stays as it is."""
    template = str(json.loads(text).get("text", "")) if text else ""

    def value_of(match: re.Match[str]) -> str:
        return str(inputs.get(match[1], match[0]))

    return PLACEHOLDER.sub(value_of, template)
