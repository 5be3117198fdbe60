"""The effect of a proposal: what it installed, which runs used it, and what it replaces. Reads only.

A pack of agents also occupies the names of its agents: an agent that is installed on its own is what runs resolve
today, and what the pack would replace. A prompt template is also rendered with the inputs of a source run, before and
after the change.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from memory import run_timeline
from memory.agents import INHERITED
from memory.host import event_log, ids, registry
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation, Interrupt, Resolution, Run
from memory.host.tenancy import TenantScope
from memory.text import differences
from memory.text.differences import Diff
from proposals import artifacts
from proposals.models import UNDER_REVIEW, Kind, Proposal, Revision
from proposals.summaries import PLACEHOLDER

USES_SHOWN = 20
REFS_NAMED = 3
PEERS = "peerDependencies"
MOST_RENDERED = 262_144  # characters of a prompt
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
    ``overtaken_by`` was installed under the name after the current revision was written.
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
    overtaken_by: Installation | None = None


def impact_of(proposal: Proposal, made: list[Revision]) -> Effect:
    """Read the effect of the proposal; ``made`` are its revisions, newest first."""
    tenant_id = proposal.tenant_id
    places = places_of(tenant_id, [(proposal, made[0].text)])[proposal.id]
    installation, mine = places.installation, places.own
    others = _uses_of_other_versions(proposal, places.name, places.agents, mine)
    same = Installation.objects.of(tenant_id).filter(kind=proposal.kind, sha256__in=[each.sha256 for each in made])
    runs = Run.objects.of(tenant_id).filter(system=False)
    since = runs.filter(created_at__gte=installation.installed_at) if installation else runs.none()
    return Effect(
        installation=installation,
        parts=places.parts,
        installed_now=places.installed_now,
        stands=places.stands,
        replaced=places.replaced,
        uses=registry.uses_of(tenant_id, mine, limit=USES_SHOWN) if installation else [],
        uses_total=registry.count_uses(tenant_id, mine) if installation else 0,
        other_uses=list(others.select_related("run", "installation").order_by("-id")[:USES_SHOWN]),
        other_uses_total=others.count(),
        runs_since_created=runs.filter(id__gt=proposal.id).count(),
        runs_since_installed=since.count(),
        same_bytes=list(same.exclude(id__in=mine).order_by("id").values_list("ref", flat=True)),
        overtaken_by=places.overtaking(made[0]),
    )


def _uses_of_other_versions(
    proposal: Proposal, name: str, agents: Collection[str], mine: Collection[UUID]
) -> QuerySet[Resolution]:
    """Uses of other versions: the same name or an agent of the same id, without this version and its parts."""
    same = Q(installation__kind=proposal.kind, installation__name=name)
    packed = Q(installation__part_of__kind=proposal.kind, installation__part_of__name=name)
    acting = Q(installation__kind=ArtifactKind.AGENT, installation__name__in=list(agents))
    rows: QuerySet[Resolution] = Resolution.objects.of(proposal.tenant_id).filter(same | packed | acting)
    return rows.exclude(installation_id__in=list(mine))


# What a proposal's artifact replaces, for one proposal or for the rows of a list, in as many queries.


@dataclass(slots=True)
class Places:
    """The place of one proposal's artifact: what is installed from it, what stands there now, and what it replaced.

    ``name`` is that of the artifact ("" without one), ``agents`` are the ids of a pack's agents, in its order.
    """

    proposal: Proposal
    name: str
    installation: Installation | None
    parts: list[Installation]
    agents: list[str]
    installed_now: Installation | None = None
    stands: Place | None = None
    replaced: Place | None = None

    @property
    def in_production(self) -> Place | None:
        """What runs resolve without this proposal: what it replaced, or would replace; None for nothing."""
        return self.replaced if self.installation else self.stands

    def overtaking(self, made: Revision) -> Installation | None:
        """What was installed under this name after ``made`` was written, while the proposal is under review."""
        there = self.installed_now if self.proposal.state in UNDER_REVIEW else None
        return there if there and there.installed_at > made.created_at else None

    @property
    def own(self) -> list[UUID]:
        """The installations from this proposal: the version and its parts."""
        return [each.id for each in (self.installation, *self.parts) if each]

    @property
    def moments(self) -> set[datetime | None]:
        """When the version came into force; what was superseded then is what it replaced."""
        return {self.installation.installed_at, self.proposal.closed_at} - {None} if self.installation else set()


def places_of(tenant_id: UUID, current: Collection[tuple[Proposal, str]]) -> dict[UUID, Places]:
    """By proposal: the place of its artifact, which is the text beside it. At most six queries, for any number."""
    refs = {proposal.id: proposal.installed_ref or proposal.uninstalled_ref for proposal, _ in current}
    wanted = set(refs.values()) - {""}
    rows = Installation.objects.of(tenant_id).select_related("part_of")
    installed = {row.ref: row for row in rows.filter(ref__in=wanted)} if wanted else {}
    parts: dict[UUID | None, list[Installation]] = {row.id: [] for row in installed.values()}
    if parts:
        for part in Installation.objects.of(tenant_id).filter(part_of_id__in=list(parts)).defer("text"):
            parts[part.part_of_id].append(part)
    found: dict[UUID, Places] = {}
    for proposal, text in current:
        there = installed.get(refs[proposal.id])
        brought = sorted(parts[there.id], key=lambda part: (part.kind, part.name, part.id)) if there else []
        name, agents = artifacts.name_in(proposal.kind, text), _agents(proposal.kind, text, brought)
        found[proposal.id] = Places(proposal, name, there, brought, agents)
    _add_standing(tenant_id, found.values())
    _add_replaced(tenant_id, found.values())
    return found


def _agents(kind: str, text: str, parts: Iterable[Installation]) -> list[str]:
    """The agent ids of a pack, in its order; of a forgotten artifact, those of its installed parts."""
    if kind != Kind.AGENT_PACK:
        return []
    named = [each["agentId"] for each in json.loads(text).get("agents", ())]
    return list(dict.fromkeys([*named, *(part.name for part in parts)]))


def _add_standing(tenant_id: UUID, wanted: Collection[Places]) -> None:
    """Add what runs resolve now by each name, with the agents of the pack that did not come with it."""
    named = Q(kind__in={each.proposal.kind for each in wanted}, name__in={each.name for each in wanted} - {""})
    acting = Q(kind=ArtifactKind.AGENT, name__in={agent for each in wanted for agent in each.agents})
    rows = Installation.objects.of(tenant_id).select_related("part_of").filter(named | acting, superseded_at=None)
    there = {(row.kind, row.name): row for row in rows}
    for each in wanted:
        each.installed_now = there.get((each.proposal.kind, each.name)) if each.name else None
        agents = [row for agent in each.agents if (row := there.get((ArtifactKind.AGENT, agent)))]
        foreign = [row for row in agents if row.part_of is None or row.part_of.name != each.name]
        each.stands = _place(each.installed_now, foreign, each.agents)


def _add_replaced(tenant_id: UUID, wanted: Collection[Places]) -> None:
    """Add what each installation replaced: whatever was superseded at that moment, else the previous version."""
    ours = [(each, each.installation) for each in wanted if each.installation]
    if not ours:
        return
    named = Q(kind__in={there.kind for _, there in ours}, name__in={there.name for _, there in ours})
    alone = Q(kind=ArtifactKind.AGENT, name__in={agent for each, _ in ours for agent in each.agents}, part_of_id=None)
    moments = {moment for each, _ in ours for moment in each.moments}
    rows = Installation.objects.of(tenant_id).filter(named | alone, superseded_at__in=moments)
    taken = list(rows.order_by("-id"))
    versions: dict[UUID, Installation] = {}
    agents: dict[UUID, list[Installation]] = {}
    for each, there in ours:
        then = [row for row in taken if row.superseded_at in each.moments and row.id not in each.own]
        same = [row for row in then if (row.kind, row.name) == (there.kind, there.name)]
        if same:
            versions[each.proposal.id] = same[0]
        acting = [row for row in then if row.kind == ArtifactKind.AGENT and row.part_of_id is None]
        agents[each.proposal.id] = [row for row in acting if row.name in each.agents]
    before = _versions_before(tenant_id, {there.id for each, there in ours if each.proposal.id not in versions})
    for each, there in ours:
        version = versions.get(each.proposal.id) or before.get(there.id)
        each.replaced = _place(version, agents[each.proposal.id], each.agents)


def _versions_before(tenant_id: UUID, installations: Collection[UUID]) -> dict[UUID, Installation]:
    """By installation: the version of the same name that was installed last before it."""
    if not installations:
        return {}
    rows = Installation.objects.of(tenant_id)
    older = rows.filter(kind=OuterRef("kind"), name=OuterRef("name"), installed_at__lt=OuterRef("installed_at"))
    latest = Subquery(older.order_by("-id").values("id")[:1])
    pairs = rows.filter(id__in=installations).annotate(before=latest).exclude(before=None).values_list("id", "before")
    before = dict(pairs)
    found = {row.id: row for row in rows.filter(id__in=before.values())}
    return {there: found[each] for there, each in before.items()}


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

    None for another kind, without ``runs:read`` and ``memory:read``, when no source run used the template, and when
    one of them comes to more than ``MOST_RENDERED`` characters.
    """
    if proposal.kind != Kind.PROMPT_TEMPLATE or not (scope.can("runs:read") and scope.can("memory:read")):
        return None
    name = artifacts.name_in(proposal.kind, new)
    for source in runs_of(proposal)[:RUNS]:
        if source.run and (found := _inputs_of(source.run, name)):
            node_id, inputs = found
            before, after = (_filled(text, inputs) for text in (old, new))
            if before is None or after is None:
                return None
            diff = differences.diff_lines(before.splitlines(), after.splitlines())
            return Rendering(ids.wire("run", source.run.id), node_id, diff)
    return None


def _inputs_of(run: Run, name: str) -> tuple[str, Mapping[str, object]] | None:
    """The first node of the run that rendered the template of this name, with its inputs; or None."""
    events = event_log.read(run.tenant_id, run.id, limit=EVENTS)
    reports = run_timeline.reports_of(run, events, registry.used_by(run))
    used = ((node, each.inputs) for node, each in reports.items() if each.template_name == name)
    return next(((node, inputs) for node, inputs in used if inputs is not None), None)


def _filled(text: str, inputs: Mapping[str, object]) -> str | None:
    """The template's text with its placeholders filled; one without a value stays as it is. None when the values are
    too long, which may each be named thousands of times."""
    template = str(json.loads(text).get("text", "")) if text else ""
    written = {name: str(inputs[name]) for name in set(PLACEHOLDER.findall(template)) & inputs.keys()}
    if sum(len(written.get(name, "")) for name in PLACEHOLDER.findall(template)) > MOST_RENDERED:
        return None
    return PLACEHOLDER.sub(lambda match: written.get(match[1], match[0]), template)
