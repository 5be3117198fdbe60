"""The steps of a workflow: who does what, after what, and with which memory policy (RFC-0015 6.5, 7; R87). Pure."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from memory import addresses
from memory.workflow_files.documents import Step
from memory.workflow_files.fields import MAX_LISTED, MAX_NAME, MOST, Findings, Named, name_problem, of
from memory.workflow_files.trees import Items, Mark, Node, Pairs, part, plain, shown

STEP = ("task", "agent", "depends_on", "memory_policy", "outputs", "inputs", "description", "permissions")
PHASE = (
    "title", "assign", "description", "depends_on", "constraints", "initial_state", "retry", "leasing",
    "cost_tracking", "attachments", "permissions", "access", "delegation", "context", "inputs", "outputs",
    "skip_when", "memory_policy",
)  # fmt: skip
TRUTHS = ("archive_on_completion", "inherit_from_parent")
NUMBERS = ("max_entries", "max_total_size_kb")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the steps stand, in which form, who may do them (None: anybody), and the policy they come with."""

    field: str
    theirs: bool
    declared: set[str] | None
    policy: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A step as it was read, and the places of what it names."""

    step: Step
    at: Mark
    where: str
    title: str
    needs: list[Named]


def read(node: Node | None, place: Place, found: Findings) -> list[Step]:
    """The steps, each behind those it depends on."""
    drafted = _phases(node, place, found) if place.theirs else _steps(node, place, found)
    if node is None or node.is_null:
        found.passed_over(Mark(1, 1), place.field, "is missing, so there are no tasks to make")
    return _ordered(_named_once(drafted, found), found)


def _steps(node: Node | None, place: Place, found: Findings) -> list[_Drafted]:
    drafted = []
    for number, each in enumerate(found.items(node, place.field)):
        where = f"{place.field}[{number}]"
        block = found.mapping(each, where)
        if each.is_null:
            found.wrong(each.at, where, "is empty")
        if block is None:
            continue
        found.mostly(block, where, STEP)
        task = _required(block, "task", where, MAX_NAME, found)
        agent = _required(block, "agent", where, addresses.MAX_AGENT, found)
        if task:
            drafted.append(_drafted(block, task, agent, where, place, found))
    return drafted


def _phases(node: Node | None, place: Place, found: Findings) -> list[_Drafted]:
    """The steps in the form of the published client, where a step is called by its key."""
    drafted = []
    phases = found.mapping(node, place.field)
    if phases and len(phases.pairs) > MAX_LISTED:
        found.wrong(phases.at, place.field, f"has {len(phases.pairs):,} phases; {MAX_LISTED} at most")
    for name, (at, each) in [*phases.pairs.items()][:MAX_LISTED] if phases else []:
        where = f"{place.field}.{part(name)}"
        if problem := name_problem(name, MAX_NAME):
            found.wrong(at, where, problem)
        block = found.mapping(each, where) or Pairs(at)
        found.mostly(block, where, PHASE)
        agent = _required(block, "assign", where, addresses.MAX_AGENT, found)
        drafted.append(_drafted(block, Named(at, name), agent, where, place, found))
    return drafted


def _required(block: Pairs, key: str, where: str, most: int, found: Findings) -> Named | None:
    node = of(block, key)
    if node is None or node.is_null:
        found.wrong(node.at if node else block.at, f"{where}.{key}", "is missing")
        return None
    return found.name(node, f"{where}.{key}", most=most)


def _drafted(block: Pairs, name: Named, agent: Named | None, where: str, place: Place, found: Findings) -> _Drafted:
    if agent and place.declared is not None and agent.name not in place.declared:
        key = "assign" if place.theirs else "agent"
        found.wrong(agent.at, f"{where}.{key}", f"names {shown(agent.name)}, which is none of the agents")
    title = found.text(of(block, "title"), f"{where}.title", most=MAX_NAME) if place.theirs else ""
    step = Step(
        name=name.name,
        agent=agent.name if agent else "",
        description=found.prose(of(block, "description"), f"{where}.description") or title,
        outputs=_outputs(of(block, "outputs"), f"{where}.outputs", found),
        memory_policy={**place.policy, **_policy(of(block, "memory_policy"), f"{where}.memory_policy", found)},
    )
    needs = found.names(of(block, "depends_on"), f"{where}.depends_on", most=MAX_NAME)
    return _Drafted(step, name.at, where, title, needs)


def _outputs(node: Node | None, where: str, found: Findings) -> Any:
    """Names of outputs, or names with their types; None when there are none."""
    if node is None or node.is_null:
        return None
    if isinstance(node, Pairs):
        return plain(node)
    if not isinstance(node, Items):
        found.wrong(node.at, where, "must be a list of names, or a mapping of names to types")
        return None
    return [each.name for each in found.names(node, where, most=MAX_NAME)]


def _policy(node: Node | None, where: str, found: Findings) -> dict[str, Any]:
    """The keys that the step overrides."""
    block = found.mapping(node, where)
    if block is None:
        return {}
    found.mostly(block, where, (*TRUTHS, *NUMBERS))
    truths = {key: found.truth(of(block, key), f"{where}.{key}") for key in TRUTHS}
    numbers = {key: found.number(of(block, key), f"{where}.{key}", most=MOST) for key in NUMBERS}
    return {key: value for key, value in {**truths, **numbers}.items() if value is not None}


# --- what depends on what --------------------------------------------------------------------------------------------


def _named_once(drafted: list[_Drafted], found: Findings) -> dict[str, _Drafted]:
    steps: dict[str, _Drafted] = {}
    for each in drafted:
        if first := steps.get(each.step.name):
            found.wrong(each.at, f"{each.where}.task", f"is called like the step on line {first.at.line}")
        else:
            steps[each.step.name] = each
    return steps


def _ordered(steps: dict[str, _Drafted], found: Findings) -> list[Step]:
    """The steps so that each follows what it needs, otherwise as the file has them."""
    needs = {name: _needed(each, steps, found) for name, each in steps.items()}
    users: dict[str, list[str]] = {}
    for name, needed in needs.items():
        for each in needed:
            users.setdefault(each, []).append(name)
    waits = Counter({name: len(needed) for name, needed in needs.items()})
    order = [name for name in needs if not waits[name]]
    for name in order:  # grows as it is walked
        for user in users.get(name, []):
            waits[user] -= 1
            if not waits[user]:
                order.append(user)
    _tell_cycles({name: needs[name] for name in needs if waits[name]}, steps, found)
    return [_with_needs(steps[name].step, needs[name]) for name in order]


def _with_needs(step: Step, needed: list[str]) -> Step:
    return Step(step.name, step.agent, step.description, tuple(needed), step.outputs, step.memory_policy)


def _needed(each: _Drafted, steps: dict[str, _Drafted], found: Findings) -> list[str]:
    """The names of the steps that this one needs; in the published form a title does as well."""
    titles = {other.title: name for name, other in steps.items() if other.title}
    needed = []
    for named in each.needs:
        name = named.name if named.name in steps else titles.get(named.name, "")
        if name:
            needed.append(name)
        else:
            found.wrong(named.at, f"{each.where}.depends_on", f"names {shown(named.name)}, which is no step")
    return list(dict.fromkeys(needed))


def _tell_cycles(stuck: dict[str, list[str]], steps: dict[str, _Drafted], found: Findings) -> None:
    """Each cycle among the steps that nothing can begin with, told once, where it was entered."""
    seen: set[str] = set()
    for start in stuck:
        path: list[str] = []
        name: str | None = start
        while name is not None and name not in seen:
            seen.add(name)
            path.append(name)
            name = next((each for each in stuck[name] if each in stuck), None)
        if name in path:
            cycle = [*path[path.index(name) :], name]
            each = steps[cycle[0]]
            told = " → ".join(shown(part) for part in cycle[:8]) + (" …" if len(cycle) > 8 else "")
            found.wrong(each.needs[0].at, f"{each.where}.depends_on", f"goes in a circle: {told}")
