"""The YAML file that declares a workflow and its memory (RFC-0015 7; R83 to R87)."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

import yaml
from django.db import transaction
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from memory import addresses, redaction
from memory.host import access, audit, ids
from memory.host.json_types import JSONObject
from memory.host.models import TenantOwned
from memory.host.tenancy import TenantScope
from memory.models import Agent, Intent, Namespace, Task
from memory.openintent import namespaces, work
from memory.openintent.work.rows import NewAgent, NewIntent, NewTask

SCOPE, ACTION = "agents:manage", "workflow-file.imported"
MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
LONGEST_NUMBER = 40
SHOWN = 60
UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
NULL, TRUTH, NUMBER = (f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int"))
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
RESOLVER: Any = Resolver()
CONSTRUCTOR = SafeConstructor()
MAX_LISTED = 500
MAX_NAME, MAX_PROSE = 500, 10_000
MOST = 1_000_000
STEP = ("task", "agent", "depends_on", "memory_policy", "outputs", "inputs", "description", "permissions")
PHASE = (
    "title", "assign", "description", "depends_on", "constraints", "initial_state", "retry", "leasing",
    "cost_tracking", "attachments", "permissions", "access", "delegation", "context", "inputs", "outputs",
    "skip_when", "memory_policy",
)  # fmt: skip
TRUTHS = ("archive_on_completion", "inherit_from_parent")
NUMBERS = ("max_entries", "max_total_size_kb")
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


# What a workflow file says once it is understood, and what is wrong with one that is not (RFC-0015 7).


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not fit, and where: line and column count from 1, ``message`` goes on from the name of the field."""

    line: int
    column: int
    field: str
    message: str

    @property
    def sentence(self) -> str:
        return f"{self.field} {self.message}".strip()

    @property
    def document(self) -> JSONObject:
        return {"line": self.line, "column": self.column, "field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class AgentBlock:
    """An agent of the workflow. None is what the file leaves open; that stays as it was (R86)."""

    agent_id: str
    capacity: int | None = None
    pinned_namespaces: tuple[str, ...] | None = None
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the plan. ``memory_policy`` is the whole one, the workflow's own with what the step overrides (R87)."""

    name: str
    agent: str
    description: str = ""
    depends_on: tuple[str, ...] = ()
    outputs: Any = None
    memory_policy: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow file. Its steps stand in an order in which each follows what it depends on."""

    name: str
    version: str
    description: str
    namespaces: tuple[str, ...]
    memory_policy: JSONObject
    agents: tuple[AgentBlock, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that was found, in the order of the file; there is a workflow exactly when there are no problems."""

    workflow: Workflow | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


# A workflow file carried out: namespaces, agents, and an intent with a task for each step; all of it or nothing.
#
# Importing a file again makes a new intent, which is another run of the workflow. Namespaces and agents are there once:
# what the file says of them is set, and what it leaves open stays.


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import makes. ``intent_id`` and the ids of tasks are "" when it was only looked at.

    ``known_namespaces`` and ``known_agents`` were there before; ``earlier`` counts intents of the same name.
    """

    workflow: Workflow
    known_namespaces: frozenset[str]
    known_agents: frozenset[str]
    earlier: int
    intent_id: str = ""
    task_ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedIntent:
    """An intent as it is now, with its first tasks and how many it has; ``by`` is who made it, as people call them."""

    intent: Intent
    tasks: list[Task]
    total: int
    by: str


def imported_intent(scope: TenantScope, intent_id: str, *, tasks: int) -> ImportedIntent:
    """What became of an import, or of any other intent."""
    scope.check(SCOPE)
    intent = work.intents.find_intent(scope, intent_id)
    found, total = work.tasks.list_tasks(intent, limit=tasks, offset=0)
    by = access.names_of(scope.tenant_id, {intent.created_by}).get(intent.created_by, intent.created_by)
    return ImportedIntent(intent, found, total, by)


def parse_for(scope: TenantScope, raw: bytes) -> Parsed:
    """``parse``, and what this tenant cannot import besides: an agent whose id holds a secret of its vault, which no
    message repeats."""
    parsed, redact = parse(raw), redaction.for_tenant(scope.tenant_id).redact
    held = [each for each in parsed.workflow.agents if redact(each.agent_id).count] if parsed.workflow else []
    if not held:
        return parsed
    problems = [Problem(each.line, each.column, "The id of an agent", addresses.NEVER_AN_ID) for each in held]
    return Parsed(None, _in_order(problems), parsed.warnings)


def plan_import(scope: TenantScope, workflow: Workflow) -> ImportPlan:
    """What an import would make. Nothing is changed."""
    scope.check(SCOPE)
    tenant_id = scope.tenant_id
    shared = [namespaces.redacted_name(scope, name) for name in workflow.namespaces]
    agents = [each.agent_id for each in workflow.agents]
    return ImportPlan(
        workflow,
        _existing(Namespace, "name", tenant_id, shared),
        _existing(Agent, "agent_id", tenant_id, agents),
        Intent.objects.of(tenant_id).filter(title=_redacted(tenant_id, workflow.name)).count(),
    )


@transaction.atomic
def import_workflow(scope: TenantScope, workflow: Workflow, *, now: datetime) -> ImportPlan:
    """All that the file says is there, and on the audit log; needs ``agents:manage``."""
    before = plan_import(scope, workflow)
    by = scope.principal.id
    readers = [each.agent_id for each in workflow.agents]
    shared = [
        changed
        for name in sorted(workflow.namespaces)
        for changed in namespaces.ensure_readable(scope.tenant_id, name, readers, by, now)
    ]
    for agent in sorted(workflow.agents, key=lambda each: each.agent_id):
        bounds = NewAgent(agent.agent_id, capacity=agent.capacity, pinned_namespaces=agent.pinned_namespaces)
        work.coordinators.configure_agent(scope.tenant_id, bounds, now=now)
    new = NewIntent(workflow.name, workflow.description, policy=workflow.memory_policy)
    intent = work.intents.create_intent(scope, new, actor=by, now=now)
    intent_id = ids.wire("intent", intent.id)
    for agent_id in readers:
        work.intents.assign_agent(scope, intent_id, agent_id, actor=by, now=now)
    task_ids: dict[str, str] = {}
    for step in workflow.steps:
        task = work.tasks.create_task(scope, _task(intent_id, step, task_ids), actor=by, now=now)
        task_ids[step.name] = ids.wire("task", task.id)
    namespaces.audit_changes(shared, actor=by, now=now)
    counts = {"namespaces": len(workflow.namespaces), "agents": len(readers), "tasks": len(task_ids)}
    audit.append(scope.tenant_id, actor=by, action=ACTION, target=intent_id, details=counts, now=now)
    return ImportPlan(workflow, before.known_namespaces, before.known_agents, before.earlier, intent_id, task_ids)


def document(brought: ImportPlan) -> JSONObject:
    """What was made, or would be, as JSON with the names that OpenIntent has."""
    workflow = brought.workflow
    return {
        "name": workflow.name,
        "version": workflow.version,
        "dry_run": not brought.intent_id,
        "intent_id": brought.intent_id or None,
        "earlier_intents": brought.earlier,
        "memory_policy": workflow.memory_policy,
        "namespaces": [
            {"namespace": name, "created": name not in brought.known_namespaces} for name in workflow.namespaces
        ],
        "agents": [_agent_document(each, brought) for each in workflow.agents],
        "tasks": [_task_document(each, brought) for each in workflow.steps],
    }


def _agent_document(agent: AgentBlock, brought: ImportPlan) -> JSONObject:
    pinned = None if agent.pinned_namespaces is None else list(agent.pinned_namespaces)
    return {
        "agent_id": agent.agent_id,
        "created": agent.agent_id not in brought.known_agents,
        "capacity": agent.capacity,
        "pinned_namespaces": pinned,
    }


def _task_document(step: Step, brought: ImportPlan) -> JSONObject:
    return {
        "id": brought.task_ids.get(step.name),
        "name": step.name,
        "agent": step.agent,
        "depends_on": list(step.depends_on),
        "memory_policy": step.memory_policy,
        "outputs": step.outputs,
    }


def _existing(model: type[TenantOwned], column: str, tenant_id: UUID, names: list[str]) -> frozenset[str]:
    found = model.objects.of(tenant_id).filter(**{f"{column}__in": names}).values_list(column, flat=True)
    return frozenset(found)


def _redacted(tenant_id: UUID, text: str) -> str:
    return redaction.for_tenant(tenant_id).redact(text).text


def _task(intent_id: str, step: Step, made: dict[str, str]) -> NewTask:
    """The task of a step; those it depends on are made already. One that depends on none is ready."""
    record: JSONObject = {"depends_on": [made[name] for name in step.depends_on]}
    if step.outputs is not None:
        record["metadata"] = {"outputs": step.outputs}
    return NewTask(
        intent_id,
        step.name,
        description=step.description,
        status="pending" if step.depends_on else "ready",
        assigned_agent=step.agent,
        memory_policy=step.memory_policy or None,
        record=record,
    )


# The bytes of a YAML file as a tree of which every part knows its line and column.
#
# Only what a workflow needs is read: one document of texts, numbers, lists and mappings. Tags, anchors, aliases and
# repeated keys are problems, so nothing is made but plain values and nothing grows; the nesting is bounded and read
# without recursion.


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value, and the text it was written as."""

    at: Mark
    value: Any
    text: str

    @property
    def is_null(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    at: Mark
    items: "list[Node]" = field(default_factory=list)
    is_null: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Pairs:
    """A mapping: each key with its position and its value."""

    at: Mark
    pairs: "dict[str, tuple[Mark, Node]]" = field(default_factory=dict)
    is_null: ClassVar[bool] = False


Node = Scalar | Items | Pairs


class Unreadable(Exception):
    """The file cannot be read any further."""

    def __init__(self, at: Mark, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(at.line, at.column, "", message)


def read_tree(raw: bytes) -> tuple[Node | None, list[Problem]]:
    """The tree, or None where there is none, and what is wrong with it as YAML."""
    building = _Building()
    try:
        for event in _events(_text_of(raw)):
            building.take(event)
    except Unreadable as end:
        return None, [*building.problems, end.problem]
    if building.root is None:
        return None, [*building.problems, Problem(1, 1, "", "The file is empty.")]
    return building.root, building.problems


def plain(node: Node) -> Any:
    """What the node holds, without places."""
    if isinstance(node, Pairs):
        return {key: plain(each) for key, (_, each) in node.pairs.items()}
    return [plain(each) for each in node.items] if isinstance(node, Items) else node.value


def quoted(text: str) -> str:
    """A name of the file as a message may repeat it: short, and nothing in it that one cannot see."""
    cut = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return repr(cut) if cut.isprintable() else ascii(cut)


def part(name: str) -> str:
    """A name of the file as a part of the path to a field."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else quoted(name)


def _text_of(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise Unreadable(Mark(1, 1), f"The file is larger than {MAX_BYTES:,} bytes; a workflow file is not.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = raw[: problem.start].decode("utf-8", "replace")
        raise Unreadable(_mark_behind(before), "The file is not UTF-8 from here on.") from None
    if unfit := UNFIT.search(text):
        message = f"The character U+{ord(unfit[0]):04X} has no place in a workflow file."
        raise Unreadable(_mark_behind(text[: unfit.start()]), message)
    return text


def _mark_behind(before: str) -> Mark:
    lines = lines_of(before)
    return Mark(len(lines), len(lines[-1]) + 1)


def _events(text: str) -> Iterator[object]:
    """The events of the parser; what it cannot make sense of is said in its words, with the place."""
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.YAMLError as problem:
        at = _mark_in(text, getattr(problem, "problem_mark", None))
        raise Unreadable(at, _words(problem, text, at)) from None


def lines_of(text: str) -> list[str]:
    """The lines as the parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _mark_in(text: str, mark: Any) -> Mark:
    """Where the parser stopped, at most the end of the text."""
    if mark is None or mark.line >= len(lines_of(text)):
        return _mark_behind(text)
    return Mark(mark.line + 1, mark.column + 1)


def _words(problem: yaml.YAMLError, text: str, at: Mark) -> str:
    line = lines_of(text)[at.line - 1]
    if "\t" in line[: at.column]:
        return "There is a tab here; YAML is indented with spaces."
    words = " ".join(part for name in ("context", "problem") if (part := getattr(problem, name, None)))
    return f"This is not YAML: {words}."


class _Building:
    """The tree so far, with what is open."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[Items | Pairs] = []
        self._key: tuple[Mark, str] | None = None  # of the mapping that was opened last, until its value follows
        self._documents = 0

    def take(self, event: Any) -> None:
        at = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise Unreadable(at, "A second document begins here; a workflow file is one.")
        if isinstance(event, yaml.NodeEvent):
            self._refuse_extras(event, at)
            self._add(_node(event, at))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _refuse_extras(self, event: Any, at: Mark) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._report(at, "There is an alias (*) here; a workflow file says everything in its place.")
        elif event.anchor is not None:
            self._report(at, "There is an anchor (&) here; a workflow file says everything in its place.")
        if getattr(event, "tag", None) is not None:
            self._report(at, "There is a tag (!) here; the values in a workflow file are plain.")
        if isinstance(event, yaml.ScalarEvent) and UNFIT.search(event.value):
            self._report(at, "There is an escaped character here that a workflow file must not have.")

    def _report(self, at: Mark, message: str) -> None:
        self.problems.append(Problem(at.line, at.column, "", message))

    def _add(self, node: Node) -> None:
        """The node is where the file has it; a collection is open from now on."""
        if not self._open:
            self.root = node
        elif isinstance(parent := self._open[-1], Items):
            parent.items.append(node)
        elif self._key is None:
            self._key = _key(node)
        else:
            self._add_pair(parent, self._key, node)
        if isinstance(node, Items | Pairs):
            if len(self._open) == MAX_DEPTH:
                raise Unreadable(node.at, f"The file is nested deeper than {MAX_DEPTH} levels here.")
            self._open.append(node)

    def _add_pair(self, parent: Pairs, key: tuple[Mark, str], node: Node) -> None:
        self._key = None
        (at, name), first = key, parent.pairs.get(key[1])
        if first:
            self._report(at, f"The key {quoted(name)} is on line {first[0].line} already.")
        else:
            parent.pairs[name] = (at, node)


def _key(node: Node) -> tuple[Mark, str]:
    if not isinstance(node, Scalar):
        raise Unreadable(node.at, "A list or a mapping cannot be a key.")
    return node.at, node.text


def _node(event: object, at: Mark) -> Node:
    if isinstance(event, yaml.SequenceStartEvent):
        return Items(at)
    if isinstance(event, yaml.MappingStartEvent):
        return Pairs(at)
    text = getattr(event, "value", "")
    return Scalar(at, _value(event, text), text)


def _value(event: Any, text: str) -> object:
    """The value of a scalar as YAML means it: a number, a truth, nothing, or else its text."""
    if isinstance(event, yaml.AliasEvent) or not event.implicit[0] or len(text) > LONGEST_NUMBER:
        return text
    tag = RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    if tag == NULL:
        return None
    if tag == TRUTH:
        return CONSTRUCTOR.construct_yaml_bool(yaml.ScalarNode(tag, text))
    return _number(text) if tag == NUMBER else text


def _number(text: str) -> int | str:
    try:
        number: int = CONSTRUCTOR.construct_yaml_int(yaml.ScalarNode(NUMBER, text))
    except ValueError:
        return text
    return number


# What a part of a workflow file must be: a text, a number, a truth, a list or a mapping.
#
# Whatever does not fit is noted with its place, and reading goes on, so that one look finds everything.


@dataclass(frozen=True, slots=True)
class Named:
    """A name, and its position."""

    at: Mark
    name: str


@dataclass(slots=True)
class Findings:
    """What is wrong so far, and what is merely passed over."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def wrong(self, at: Mark, where: str, message: str) -> None:
        self.problems.append(Problem(at.line, at.column, where, message))

    def passed_over(self, at: Mark, where: str, message: str) -> None:
        self.warnings.append(Problem(at.line, at.column, where, message))

    # --- what a node must be: None, and noted, when it is something else; None when it is null ----------------------

    def mapping(self, node: Node | None, where: str) -> Pairs | None:
        if node is None or isinstance(node, Pairs):
            return node
        self._unless_null(node, where, "must be a mapping of names to values")
        return None

    def items(self, node: Node | None, where: str) -> list[Node]:
        if isinstance(node, Items):
            if len(node.items) > MAX_LISTED:
                self.wrong(node.at, where, f"lists {len(node.items):,}; {MAX_LISTED} at most")
            return node.items[:MAX_LISTED]
        if node is not None:
            self._unless_null(node, where, "must be a list")
        return []

    def text(self, node: Node | None, where: str, *, most: int) -> str:
        named = self.name(node, where, most=most)
        return named.name if named else ""

    def name(self, node: Node | None, where: str, *, most: int) -> Named | None:
        """A short text that one can see all of."""
        if node is None or node.is_null:
            return None
        if not isinstance(node, Scalar):
            self.wrong(node.at, where, "must be a text")
            return None
        if problem := name_problem(node.text, most):
            self.wrong(node.at, where, problem)
            return None
        return Named(node.at, node.text)

    def prose(self, node: Node | None, where: str) -> str:
        """A text of any number of lines."""
        if node is None or node.is_null:
            return ""
        if not isinstance(node, Scalar) or len(node.text) > MAX_PROSE:
            self.wrong(node.at, where, f"must be a text of at most {MAX_PROSE:,} characters")
            return ""
        return node.text

    def names(self, node: Node | None, where: str, *, most: int) -> list[Named]:
        """The names of a list, each once."""
        found: dict[str, Named] = {}
        for place, each in enumerate(self.items(node, where)):
            named = self.name(each, f"{where}[{place}]", most=most)
            if named and named.name in found:
                self.passed_over(named.at, f"{where}[{place}]", f"names {quoted(named.name)} a second time")
            elif named:
                found[named.name] = named
            elif each.is_null:
                self.wrong(each.at, f"{where}[{place}]", "is empty")
        return list(found.values())

    def number(self, node: Node | None, where: str, *, most: int) -> int | None:
        if node is None or node.is_null:
            return None
        value = node.value if isinstance(node, Scalar) else ""
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        self.wrong(node.at, where, f"must be a whole number from 1 to {most:,}")
        return None

    def truth(self, node: Node | None, where: str) -> bool | None:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        if node is not None:
            self._unless_null(node, where, "must be true or false")
        return None

    def _unless_null(self, node: Node, where: str, message: str) -> None:
        if not node.is_null:
            self.wrong(node.at, where, message)

    # --- keys ------------------------------------------------------------------------------------------------------

    def only(self, pairs: Pairs, where: str, known: Collection[str]) -> None:
        """Any other key is a problem."""
        for key, (at, _) in pairs.pairs.items():
            if key not in known:
                self.wrong(at, where, f"has no key {quoted(key)}; known are {', '.join(known)}")

    def mostly(self, pairs: Pairs, where: str, known: Collection[str]) -> None:
        """Any other key is passed over."""
        for key, (at, _) in pairs.pairs.items():
            if key not in known:
                self.passed_over(at, where, f"has the key {quoted(key)}, which means nothing here")


def name_problem(text: str, most: int) -> str:
    """Why the text is not fit to be a name, or nothing."""
    if not text.strip():
        return "is empty"
    if len(text) > most:
        return f"has {len(text):,} characters; {most} at most"
    if not text.isprintable():
        return "has an invisible character"
    return "has . or .. as a part of a path" if {".", ".."} & set(text.replace("\\", "/").split("/")) else ""


def value_at(pairs: Pairs | None, key: str) -> Node | None:
    """What the mapping has under the key."""
    found = pairs.pairs.get(key) if pairs else None
    return found[1] if found else None


# The steps of a workflow: who does what, after what, and with which memory policy (RFC-0015 6.5, 7; R87).


@dataclass(frozen=True, slots=True)
class Place:
    """The place and form of the steps, the agents that may do them (None: any), and their policy."""

    field: str
    theirs: bool
    declared: set[str] | None
    policy: JSONObject


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A step as it was read, and the places of what it names."""

    step: Step
    at: Mark
    where: str
    title: str
    needs: list[Named]


def read_steps(node: Node | None, place: Place, found: Findings) -> list[Step]:
    """The steps, each after those it depends on."""
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
    node = value_at(block, key)
    if node is None or node.is_null:
        found.wrong(node.at if node else block.at, f"{where}.{key}", "is missing")
        return None
    return found.name(node, f"{where}.{key}", most=most)


def _drafted(block: Pairs, name: Named, agent: Named | None, where: str, place: Place, found: Findings) -> _Drafted:
    if agent and place.declared is not None and agent.name not in place.declared:
        key = "assign" if place.theirs else "agent"
        found.wrong(agent.at, f"{where}.{key}", f"names {quoted(agent.name)}, which is none of the agents")
    title = found.text(value_at(block, "title"), f"{where}.title", most=MAX_NAME) if place.theirs else ""
    step = Step(
        name=name.name,
        agent=agent.name if agent else "",
        description=found.prose(value_at(block, "description"), f"{where}.description") or title,
        outputs=_outputs(value_at(block, "outputs"), f"{where}.outputs", found),
        memory_policy={**place.policy, **_policy(value_at(block, "memory_policy"), f"{where}.memory_policy", found)},
    )
    needs = found.names(value_at(block, "depends_on"), f"{where}.depends_on", most=MAX_NAME)
    return _Drafted(step, name.at, where, title, needs)


def _outputs(node: Node | None, where: str, found: Findings) -> object:
    """Names of outputs, or names with their types; None when there are none."""
    if node is None or node.is_null:
        return None
    if isinstance(node, Pairs):
        return plain(node)
    if not isinstance(node, Items):
        found.wrong(node.at, where, "must be a list of names, or a mapping of names to types")
        return None
    return [each.name for each in found.names(node, where, most=MAX_NAME)]


def _policy(node: Node | None, where: str, found: Findings) -> JSONObject:
    """The keys that the step overrides."""
    block = found.mapping(node, where)
    if block is None:
        return {}
    found.mostly(block, where, (*TRUTHS, *NUMBERS))
    truths = {key: found.truth(value_at(block, key), f"{where}.{key}") for key in TRUTHS}
    numbers = {key: found.number(value_at(block, key), f"{where}.{key}", most=MOST) for key in NUMBERS}
    return {key: value for key, value in {**truths, **numbers}.items() if value is not None}


# --- what depends on what --------------------------------------------------------------------------------------------
def _named_once(drafted: list[_Drafted], found: Findings) -> dict[str, _Drafted]:
    steps: dict[str, _Drafted] = {}
    for each in drafted:
        if first := steps.get(each.step.name):
            found.wrong(each.at, f"{each.where}.task", f"has the name of the step on line {first.at.line}")
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
    _report_cycles({name: needs[name] for name in needs if waits[name]}, steps, found)
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
            found.wrong(named.at, f"{each.where}.depends_on", f"names {quoted(named.name)}, which is not a step")
    return list(dict.fromkeys(needed))


def _report_cycles(stuck: dict[str, list[str]], steps: dict[str, _Drafted], found: Findings) -> None:
    """Report each cycle among the steps once, where it was entered."""
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
            told = " → ".join(quoted(part) for part in cycle[:8]) + (" …" if len(cycle) > 8 else "")
            found.wrong(each.needs[0].at, f"{each.where}.depends_on", f"depends on itself: {told}")


# A workflow file, understood: the form of RFC-0015 7, and the published client's form with a memory block.


def parse(raw: bytes) -> Parsed:
    """The workflow of the file, or everything that is wrong with it."""
    root, problems = read_tree(raw)
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
    about = found.mapping(value_at(root, "info"), "info") if theirs else root
    memory = _memory(root, found)
    agents = _agents(root, memory.capacity, found)
    declared = None if theirs and "agents" not in root.pairs else {each.agent_id for each in agents}
    place = Place("workflow" if theirs else "plan", theirs, declared, memory.policy)
    steps = read_steps(value_at(root, place.field), place, found)
    if declared is None:
        agents = [AgentBlock(name, memory.capacity) for name in dict.fromkeys(each.agent for each in steps)]
    return Workflow(
        name=_name(root, about, "info.name" if theirs else "name", found),
        version=found.text(value_at(about, "version"), "version", most=MAX_NAME),
        description=found.prose(value_at(about, "description"), "description"),
        namespaces=memory.namespaces,
        memory_policy=memory.policy,
        agents=tuple(agents),
        steps=tuple(steps),
    )


def _name(root: Pairs, about: Pairs | None, where: str, found: Findings) -> str:
    node = value_at(about, "name")
    name = found.text(node, where, most=MAX_NAME)
    if not name and (node is None or node.is_null):
        found.wrong(node.at if node else about.at if about else root.at, where, "is missing")
    return name


# --- the memory block ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Memory:
    """What the memory block says (R83 to R85)."""

    namespaces: tuple[str, ...]
    policy: JSONObject
    capacity: int | None


def _memory(root: Pairs, found: Findings) -> _Memory:
    block = found.mapping(value_at(root, "memory"), "memory")
    if block:
        found.only(block, "memory", MEMORY)
    where = "memory.semantic_namespaces"
    names = found.names(value_at(block, "semantic_namespaces"), where, most=addresses.MAX_SHARED_NAMESPACE)
    return _Memory(tuple(each.name for each in names), _defaults(block, found), _episodic(block, found))


def _defaults(block: Pairs | None, found: Findings) -> JSONObject:
    """The policy of every task that does not override it (R84)."""
    where = "memory.working_memory"
    working = found.mapping(value_at(block, "working_memory"), where)
    if working:
        found.only(working, where, WORKING)
    archive = found.truth(value_at(working, "archive_on_completion"), f"{where}.archive_on_completion")
    entries = found.number(value_at(working, "max_entries_per_task"), f"{where}.max_entries_per_task", most=MOST)
    given = {"archive_on_completion": archive, "max_entries": entries}
    return {key: value for key, value in given.items() if value is not None}


def _episodic(block: Pairs | None, found: Findings) -> int | None:
    """The capacity of every agent that has none of its own (R85)."""
    where = "memory.episodic_memory"
    episodic = found.mapping(value_at(block, "episodic_memory"), where)
    if episodic:
        found.only(episodic, where, EPISODIC)
    policy = found.name(value_at(episodic, "eviction_policy"), f"{where}.eviction_policy", most=MAX_NAME)
    if policy and policy.name not in EVICTION:
        found.wrong(policy.at, f"{where}.eviction_policy", f"must be {', '.join(EVICTION)}; this host has no other")
    return found.number(value_at(episodic, "capacity_per_agent"), f"{where}.capacity_per_agent", most=MOST)


# --- agents ----------------------------------------------------------------------------------------------------------
def _agents(root: Pairs, capacity: int | None, found: Findings) -> list[AgentBlock]:
    block = found.mapping(value_at(root, "agents"), "agents")
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
    episodic = found.mapping(value_at(block, "episodic_memory"), own)
    if episodic:
        found.mostly(episodic, own, AGENT_EPISODIC)
    pinned = found.names(value_at(episodic, "pinned_namespaces"), f"{own}.pinned_namespaces", most=addresses.MAX_NAME)
    found.names(value_at(block, "capabilities"), f"{where}.capabilities", most=MAX_NAME)
    return AgentBlock(
        name,
        found.number(value_at(episodic, "capacity"), f"{own}.capacity", most=MOST) or capacity,
        tuple(each.name for each in pinned) if value_at(episodic, "pinned_namespaces") else None,
        at.line,
        at.column,
    )
