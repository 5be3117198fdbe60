"""Mines agents that deviate from their manifest and revises their pack: refused tools, unused tools, long-term memory.

It counts the tenant's own runs since the current version was installed; the rationale says how many of them agents
started. The agents of one pack are revised together, because a pack is installed as a whole.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from memory.host.json_types import JSONObject
from proposals.learning.miners import evidence
from proposals.learning.miners.evidence import (
    canonical,
    counted_noun,
    evidence_of_runs,
    named_in_part,
    newest,
    pattern,
    period,
    quote_names,
    shown_name,
    zone_of,
)
from proposals.learning.miners.traces import Finding, InstalledAgent, NodeTrace, Origin, RunTrace, Traces

KIND = "agent-pack"
LEAST_REFUSED = 3  # runs in which the agent was refused a tool
LEAST_REMEMBERING = 3  # runs in which an agent without long-term memory used it
LEAST_IDLE = 20  # runs as the agent without which nothing is called unused
NOT_ALLOWED = "tool_not_allowed"
MEMORY = frozenset({"openwop:memory.read", "openwop:memory.write"})
ENGINES = {"openwop": ">=1.0.0 <2.0.0"}
RUNTIME = {"language": "remote", "entry": "none"}
OF_THE_PACK = ("packName", "packVersion", "peerDependencies", "peerDependenciesMeta")
NEEDS = OF_THE_PACK[2:]
MOST_TOOLS, LONGEST_TOOL = 256, 256


@dataclass(slots=True)
class Work:
    """The runs of an agent, and the run ids by wanted tool, by refused tool, and with use of memory."""

    runs: dict[str, RunTrace] = field(default_factory=dict)
    wanted: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    remembering: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Drift:
    """The deviations of an agent from its manifest, and the runs that show them; ``long_term`` None for no change."""

    agent_id: str
    asked: tuple[str, ...]
    given_up: tuple[str, ...]
    long_term: bool | None
    work: Work
    shown_by: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.asked or self.given_up or self.long_term is not None)

    @property
    def gains(self) -> bool:
        return bool(self.asked or self.long_term)


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One finding for each pack with an agent that deviates from its manifest."""
    packs: dict[str, list[InstalledAgent]] = defaultdict(list)
    for agent_id, agent in sorted(_current(traces.agents).items()):
        packs[str(agent.manifest.get("packName") or agent_id)].append(agent)
    work = _work(traces.runs, {_id(agent): agent.installed_at for pack in packs.values() for agent in pack}, now)
    found = []
    for name, agents in sorted(packs.items()):
        drifts = [drift for agent in agents if (drift := _drift(agent, work[_id(agent)]))]
        finding = _finding(name, agents, drifts, traces.timezone) if drifts else None
        found += [finding] if finding else []
    return found


def _id(agent: InstalledAgent) -> str:
    return str(agent.manifest.get("agentId", ""))


def _current(agents: Iterable[InstalledAgent]) -> dict[str, InstalledAgent]:
    """The installed agents by id; of several with one id the latest."""
    ordered = sorted(agents, key=lambda each: (each.installed_at, each.version, canonical(dict(each.manifest))))
    return {_id(each): each for each in ordered}


def _work(runs: Iterable[RunTrace], since: dict[str, datetime], now: datetime) -> dict[str, Work]:
    found: dict[str, Work] = defaultdict(Work)
    for run in runs:
        for node in run.nodes:
            installed_at = since.get(node.agent_id)
            if installed_at and installed_at <= run.created_at <= now and node.state in ("completed", "failed"):
                _note(found[node.agent_id], run, node)
    return found


def _note(work: Work, run: RunTrace, node: NodeTrace) -> None:
    """Count a node: one that was refused a tool wanted all of its tools. Host workflows count as use, not as runs."""
    if not run.builtin:
        work.runs[run.run_id] = run
    for tool in node.tools:
        work.wanted[tool].add(run.run_id)
        if node.error_code == NOT_ALLOWED and node.state == "failed" and not run.builtin:
            work.refused[tool].add(run.run_id)
    if node.state == "completed" and not MEMORY.isdisjoint(node.tools) and not run.builtin:
        work.remembering.add(run.run_id)


def _drift(agent: InstalledAgent, work: Work) -> Drift:
    allowed = [str(tool) for tool in agent.manifest.get("toolAllowlist", [])]
    asked = [tool for tool in sorted(work.refused) if _is_asked_for(tool, work) and tool not in allowed]
    idle = len(work.runs) >= LEAST_IDLE
    given_up = [tool for tool in allowed if idle and not work.wanted[tool]]
    long_term = _long_term(agent, work)
    shown_by = {run_id for tool in asked for run_id in work.refused[tool]}
    if given_up or long_term is False:
        shown_by |= work.runs.keys()
    if long_term:
        shown_by |= work.remembering
    return Drift(_id(agent), tuple(asked), tuple(dict.fromkeys(given_up)), long_term, work, frozenset(shown_by))


def _is_asked_for(tool: str, work: Work) -> bool:
    return len(work.refused[tool]) >= LEAST_REFUSED and 0 < len(tool) <= LONGEST_TOOL


def _long_term(agent: InstalledAgent, work: Work) -> bool | None:
    """The value that ``memoryShape.longTerm`` should have; None when it is right or not declared."""
    declared = dict(agent.manifest.get("memoryShape", {})).get("longTerm")
    if declared is False and len(work.remembering) >= LEAST_REMEMBERING:
        return True
    uses = any(work.wanted[tool] for tool in MEMORY)
    return False if declared is True and len(work.runs) >= LEAST_IDLE and not uses else None


def _revised(agent: InstalledAgent, drift: Drift | None) -> JSONObject:
    """The manifest for the pack, corrected by the drift."""
    manifest = {name: value for name, value in agent.manifest.items() if name not in OF_THE_PACK}
    if drift and (drift.asked or drift.given_up):
        kept = [tool for tool in manifest.get("toolAllowlist", []) if tool not in drift.given_up]
        manifest["toolAllowlist"] = [*kept, *drift.asked][:MOST_TOOLS]
    if drift and drift.long_term is not None:
        manifest["memoryShape"] = {**manifest.get("memoryShape", {}), "longTerm": drift.long_term}
    return manifest


def _finding(name: str, agents: list[InstalledAgent], drifts: list[Drift], timezone: str) -> Finding | None:
    base = max(agents, key=lambda agent: (agent.installed_at, agent.version))
    count_on = evidence.next_minor if any(drift.gains for drift in drifts) else evidence.next_patch
    version = count_on(base.version, {taken for agent in agents for taken in agent.taken})
    if not version:
        return None
    by_agent = {drift.agent_id: drift for drift in drifts}
    shown_by = {run_id: drift.work.runs[run_id] for drift in drifts for run_id in drift.shown_by}
    named = newest(shown_by.values())
    sight = [[drift.agent_id, drift.asked, sorted(drift.given_up), drift.long_term] for drift in drifts]
    needs = {need: agent.manifest[need] for agent in agents for need in NEEDS if need in agent.manifest}
    return Finding(
        kind=KIND,
        title=f"Correct the manifest of {shown_name(drifts[0].agent_id)} ({version})",
        rationale=" ".join(
            [*(_sentence(drift, timezone) for drift in drifts), named_in_part(len(shown_by)).strip()]
        ).strip(),
        artifact={
            "name": name,
            "version": version,
            "description": f"Revised from {base.version} by what its agents did and were refused.",
            "engines": dict(ENGINES),
            "runtime": dict(RUNTIME),
            **needs,
            "agents": [_revised(agent, by_agent.get(_id(agent))) for agent in agents],
        },
        pattern=pattern(KIND, name, sight, base.version),
        source_run_ids=named,
        evidence=evidence_of_runs(named, "acted-as-agent"),
        agent_id=drifts[0].agent_id,
    )


def _sentence(drift: Drift, timezone: str) -> str:
    """The sentence of the rationale about one drift."""
    work, name = drift.work, shown_name(drift.agent_id)
    when = period((work.runs[run_id].created_at for run_id in drift.shown_by), zone_of(timezone))
    said = []
    if drift.asked:
        refused = len({run_id for tool in drift.asked for run_id in work.refused[tool]})
        said.append(f"was refused {quote_names(drift.asked)} in {counted_noun(refused, 'run')}")
    if drift.given_up:
        said.append(f"used {quote_names(drift.given_up)} in none of {counted_noun(len(work.runs), 'run')}")
    if drift.long_term:
        said.append(
            f"used memory across runs in {counted_noun(len(work.remembering), 'run')}, which its manifest denies"
        )
    if drift.long_term is False:
        said.append(f"declares memory across runs and used it in none of {counted_noun(len(work.runs), 'run')}")
    return f"The agent {name} {'; it '.join(said)} ({when}{_by_agents(drift)})."


def _by_agents(drift: Drift) -> str:
    """The clause that counts the runs started with keys of agents; "" for none."""
    started = sum(drift.work.runs[run_id].origin == Origin.AGENT for run_id in drift.shown_by)
    return f"; {started} of {len(drift.shown_by)} started by agents themselves" if started else ""
