"""A workflow file, understood: the form of RFC-0015 7, and the published client's form with a memory block. Pure."""

from dataclasses import dataclass
from typing import Any

from memory import addresses
from memory.workflow_files import plans, trees
from memory.workflow_files.documents import AgentBlock, Parsed, Problem, Workflow
from memory.workflow_files.fields import MAX_LISTED, MAX_NAME, MOST, Findings, name_problem, of
from memory.workflow_files.plans import Place
from memory.workflow_files.trees import Mark, Node, Pairs, part

EVICTION = ("lru",)
OURS = ("name", "version", "description", "memory", "agents", "plan")
THEIRS = (
    "openintent",
    "info",
    "memory",
    "agents",
    "workflow",
    "governance",
    "llm",
    "identity",
    "verification",
    "types",
)
MEMORY = ("semantic_namespaces", "working_memory", "episodic_memory")
WORKING = ("archive_on_completion", "max_entries_per_task")
EPISODIC = ("capacity_per_agent", "eviction_policy")
AGENT_EPISODIC = ("capacity", "pinned_namespaces")


def parse(raw: bytes) -> Parsed:
    """The workflow of the file, or everything that is wrong with it."""
    root, problems = trees.read(raw)
    found = Findings(problems)
    workflow = None
    if isinstance(root, Pairs):
        workflow = _workflow(root, found)
    elif root is not None:
        found.wrong(root.at, "", "A workflow file is a mapping that begins with its name.")
    return Parsed(None if found.problems else workflow, _in_order(found.problems), _in_order(found.warnings))


def _in_order(found: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(found, key=lambda each: (each.line, each.column)))


def _workflow(root: Pairs, found: Findings) -> Workflow:
    theirs = not root.pairs.keys() & {"plan", "name"} and bool(root.pairs.keys() & {"openintent", "info", "workflow"})
    found.mostly(root, "The file", THEIRS if theirs else OURS)
    about = found.mapping(of(root, "info"), "info") if theirs else root
    memory = _memory(root, found)
    agents = _agents(root, memory.capacity, found)
    declared = None if theirs and "agents" not in root.pairs else {each.agent_id for each in agents}
    place = Place("workflow" if theirs else "plan", theirs, declared, memory.policy)
    steps = plans.read(of(root, place.field), place, found)
    if declared is None:
        agents = [AgentBlock(name, memory.capacity) for name in dict.fromkeys(each.agent for each in steps)]
    return Workflow(
        name=_name(root, about, "info.name" if theirs else "name", found),
        version=found.text(of(about, "version"), "version", most=MAX_NAME),
        description=found.prose(of(about, "description"), "description"),
        namespaces=memory.namespaces,
        memory_policy=memory.policy,
        agents=tuple(agents),
        steps=tuple(steps),
    )


def _name(root: Pairs, about: Pairs | None, where: str, found: Findings) -> str:
    node = of(about, "name")
    name = found.text(node, where, most=MAX_NAME)
    if not name and (node is None or node.is_null):
        found.wrong(node.at if node else about.at if about else root.at, where, "is missing")
    return name


# --- the memory block ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the memory block says (R83 to R85)."""

    namespaces: tuple[str, ...]
    policy: dict[str, Any]
    capacity: int | None


def _memory(root: Pairs, found: Findings) -> _Memory:
    block = found.mapping(of(root, "memory"), "memory")
    if block:
        found.only(block, "memory", MEMORY)
    where = "memory.semantic_namespaces"
    names = found.names(of(block, "semantic_namespaces"), where, most=addresses.MAX_SHARED_NAMESPACE)
    return _Memory(tuple(each.name for each in names), _defaults(block, found), _episodic(block, found))


def _defaults(block: Pairs | None, found: Findings) -> dict[str, Any]:
    """The policy of every task that does not override it (R84)."""
    where = "memory.working_memory"
    working = found.mapping(of(block, "working_memory"), where)
    if working:
        found.only(working, where, WORKING)
    archive = found.truth(of(working, "archive_on_completion"), f"{where}.archive_on_completion")
    entries = found.number(of(working, "max_entries_per_task"), f"{where}.max_entries_per_task", most=MOST)
    given = {"archive_on_completion": archive, "max_entries": entries}
    return {key: value for key, value in given.items() if value is not None}


def _episodic(block: Pairs | None, found: Findings) -> int | None:
    """The capacity of every agent that has none of its own (R85)."""
    where = "memory.episodic_memory"
    episodic = found.mapping(of(block, "episodic_memory"), where)
    if episodic:
        found.only(episodic, where, EPISODIC)
    policy = found.name(of(episodic, "eviction_policy"), f"{where}.eviction_policy", most=MAX_NAME)
    if policy and policy.name not in EVICTION:
        found.wrong(policy.at, f"{where}.eviction_policy", f"must be {', '.join(EVICTION)}; this host has no other")
    return found.number(of(episodic, "capacity_per_agent"), f"{where}.capacity_per_agent", most=MOST)


# --- agents ----------------------------------------------------------------------------------------------------------


def _agents(root: Pairs, capacity: int | None, found: Findings) -> list[AgentBlock]:
    block = found.mapping(of(root, "agents"), "agents")
    if not block:
        return []
    if len(block.pairs) > MAX_LISTED:
        found.wrong(block.at, "agents", f"names {len(block.pairs):,}; {MAX_LISTED} at most")
    return [_agent(name, at, node, capacity, found) for name, (at, node) in [*block.pairs.items()][:MAX_LISTED]]


def _agent(name: str, at: Mark, node: Node, capacity: int | None, found: Findings) -> AgentBlock:
    where = f"agents.{part(name)}"
    if problem := name_problem(name, addresses.MAX_AGENT):
        found.wrong(at, where, problem)
    block = found.mapping(node, where)
    own = f"{where}.episodic_memory"
    episodic = found.mapping(of(block, "episodic_memory"), own)
    if episodic:
        found.mostly(episodic, own, AGENT_EPISODIC)
    pinned = found.names(of(episodic, "pinned_namespaces"), f"{own}.pinned_namespaces", most=addresses.MAX_NAME)
    found.names(of(block, "capabilities"), f"{where}.capabilities", most=MAX_NAME)
    return AgentBlock(
        name,
        found.number(of(episodic, "capacity"), f"{own}.capacity", most=MOST) or capacity,
        tuple(each.name for each in pinned) if of(episodic, "pinned_namespaces") else None,
    )
