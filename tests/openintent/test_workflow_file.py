"""The YAML file of RFC-0015 7: what it makes, as agents see it; and all that is wrong with one, told at its line."""

import json
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.host import vault
from memory.host.errors import Forbidden, Invalid
from memory.host.models import AuditRecord
from memory.models import Agent, Intent, Namespace, Task
from memory.openintent import workflow_file
from memory.openintent.workflow_file import Parsed
from tests import building
from tests.budgets import cpu_within
from tests.openintent.conftest import Served

SEED = """\
name: quarterly-compliance
version: "1.0"

memory:
  semantic_namespaces:
    - company_policies
    - compliance_rules
    - billing_domain
  working_memory:
    archive_on_completion: true
    max_entries_per_task: 50
  episodic_memory:
    capacity_per_agent: 500
    eviction_policy: lru

agents:
  billing-agent:
    capabilities: [billing, invoicing]
    permissions: private
    episodic_memory:
      capacity: 200
      pinned_namespaces: [learned_patterns]
  data-agent:
    capabilities: [data-analysis, sql]
    permissions: private

plan:
  - task: gather-financial-data
    agent: data-agent
    memory_policy:
      archive_on_completion: true
      inherit_from_parent: false
    outputs: [financial_summary]
  - task: process-billing
    agent: billing-agent
    depends_on: [gather-financial-data]
    memory_policy:
      archive_on_completion: true
      max_entries: 100
    outputs: [billing_report]
"""


def parsed(text: str) -> Parsed:
    return workflow_file.parse(text.encode())


def told(text: str) -> list[tuple[int, int, str]]:
    """Every problem: its line, its column, and what it says."""
    return [(each.line, each.column, each.sentence) for each in parsed(text).problems]


# --- as agents see it -----------------------------------------------------------------------------------------------


class Workflow:
    """A file whose agents and namespaces nobody has used yet, imported by the command."""

    def __init__(self, served: Served, folder: Path, text: str = SEED) -> None:
        self.served, self.data, self.billing = served, served.agent("data"), served.agent("billing")
        self.namespace = served.agent("company_policies")
        swaps = {"data-agent": self.data, "billing-agent": self.billing, "company_policies": self.namespace}
        for old, new in swaps.items():
            text = text.replace(old, new)
        self.file = folder / "workflow.yaml"
        self.file.write_text(text)

    def imported(self, *words: str) -> dict[str, Any]:
        """What the command says that it made."""
        out = StringIO()
        call_command("import_workflow", str(self.file), "--tenant", building.tenant().slug, *words, stdout=out)
        document: dict[str, Any] = json.loads(out.getvalue())
        return document

    def refused(self, *words: str) -> tuple[str, list[str]]:
        """Why the command ended, and the lines that it said before. It says nothing on its standard output."""
        out, err = StringIO(), StringIO()
        given = ("--tenant", building.tenant().slug, *words)
        with pytest.raises(CommandError) as end:
            call_command("import_workflow", str(self.file), *given, stdout=out, stderr=err)
        assert (end.value.returncode, out.getvalue()) == (1, "")
        return str(end.value), err.getvalue().splitlines()


def test_R83_declared_namespaces_exist_and_the_workflow_s_agents_may_read_them(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path)
    shut = {"permissions": {"default": "none", "allow": []}}
    with served.http("root", role="operator") as root:
        assert root.patch(f"/api/v1/memory/namespaces/{workflow.namespace}", json=shut).status_code == 200
    made = workflow.imported()
    assert {each["namespace"]: each["created"] for each in made["namespaces"]}[workflow.namespace] is False
    for agent in (workflow.data, workflow.billing):
        with served.http(agent) as http:
            assert http.get(f"/api/v1/memory/namespaces/{workflow.namespace}").status_code == 200
    with served.http(served.agent("stranger")) as http:
        assert http.get(f"/api/v1/memory/namespaces/{workflow.namespace}").status_code == 403


def test_R84_the_file_s_working_memory_is_the_policy_of_every_task_that_says_nothing(
    served: Served, tmp_path: Path
) -> None:
    text = SEED.replace("archive_on_completion: true\n    max_entries_per_task: 50", "max_entries_per_task: 1")
    workflow = Workflow(served, tmp_path, text)
    made = workflow.imported()
    assert made["memory_policy"] == {"max_entries": 1}
    with served.http("root", role="operator") as root:
        given = {"intent_id": made["intent_id"], "name": "later", "assigned_agent": workflow.data}
        task = root.post("/api/v1/tasks", json=given).json()
    scope = {"task_id": task["id"]}
    served.remembers(workflow.data, "one", scope=scope)
    with served.http(workflow.data) as http:
        more = {"namespace": "ns", "key": "two", "value": {}, "scope": scope}
        answer = http.post("/api/v1/memory", json=more)
    assert (answer.status_code, answer.json()["error"]) == (429, "CAPACITY_EXCEEDED")
    assert answer.json()["max_capacity"] == 1


def test_R85_an_agent_without_a_capacity_of_its_own_has_the_file_s(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path)
    workflow.imported()
    with served.http(workflow.data) as http:
        summary = http.get(f"/api/v1/agents/{workflow.data}/memory/summary").json()
    assert summary["episodic"]["capacity"] == 500


def test_R85_another_eviction_policy_is_refused_at_its_line(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path, SEED.replace("lru", "fifo"))
    _, lines = workflow.refused()
    assert f"{workflow.file}:14:22: memory.episodic_memory.eviction_policy must be lru; this host has no other" in lines


def test_R86_an_agent_s_own_capacity_counts_and_what_it_writes_in_pinned_namespaces_is_pinned(
    served: Served, tmp_path: Path
) -> None:
    workflow = Workflow(served, tmp_path)
    workflow.imported()
    with served.http(workflow.billing) as http:
        summary = http.get(f"/api/v1/agents/{workflow.billing}/memory/summary").json()
    assert summary["episodic"]["capacity"] == 200
    learned = served.remembers(workflow.billing, "a", memory_type="episodic", namespace="learned_patterns")
    other = served.remembers(workflow.billing, "b", memory_type="episodic", namespace="elsewhere")
    assert (learned["pinned"], other["pinned"]) == (True, False)
    with served.client(workflow.billing) as client:
        assert {each.key: each.pinned for each in client.list_memory(workflow.billing)} == {"a": True, "b": False}


def test_R87_each_step_is_a_task_with_its_agent_what_it_follows_and_the_policy_it_overrides(
    served: Served, tmp_path: Path
) -> None:
    workflow = Workflow(served, tmp_path)
    made = workflow.imported()
    with served.client(workflow.data) as client:
        first, second = client.list_tasks(made["intent_id"])
        assert client.get_intent(made["intent_id"]).title == "quarterly-compliance"
    assert (first.name, first.assigned_agent) == ("gather-financial-data", workflow.data)
    assert (second.name, second.assigned_agent) == ("process-billing", workflow.billing)
    assert (first.depends_on, second.depends_on) == ([], [first.id])
    assert first.memory_policy
    assert second.memory_policy
    assert (first.memory_policy.max_entries, second.memory_policy.max_entries) == (50, 100)
    assert first.memory_policy.inherit_from_parent is False
    assert [each["id"] for each in made["tasks"]] == [first.id, second.id]
    assert (first.metadata, second.metadata) == ({"outputs": ["financial_summary"]}, {"outputs": ["billing_report"]})


@pytest.mark.engines
def test_a_second_import_is_a_new_intent_and_a_dry_run_is_none(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path, SEED.replace("quarterly-compliance", served.agent("flow")))
    looked = workflow.imported("--dry-run")
    assert (looked["dry_run"], looked["intent_id"], looked["earlier_intents"]) == (True, None, 0)
    first, second = workflow.imported(), workflow.imported()
    assert second["intent_id"] != first["intent_id"]
    assert second["earlier_intents"] == 1
    assert [each["created"] for each in looked["agents"]] == [True, True]
    assert [each["created"] for each in second["agents"]] == [False, False]


def test_the_command_says_what_it_made_in_the_words_of_the_file(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path)
    workflow.file.write_text(workflow.file.read_text().replace(workflow.billing, clerk := f"{workflow.billing}-Clerk"))
    made = workflow.imported()
    assert (made["name"], made["version"]) == ("quarterly-compliance", "1.0")
    assert made["agents"] == [
        {"agent_id": clerk, "created": True, "capacity": 200, "pinned_namespaces": ["learned_patterns"]},
        {"agent_id": workflow.data, "created": True, "capacity": 500, "pinned_namespaces": None},
    ]
    assert made["memory_policy"]["max_entries"] == 50
    gather, bill = made["tasks"]
    assert (gather["name"], gather["agent"], gather["depends_on"]) == ("gather-financial-data", workflow.data, [])
    assert (bill["name"], bill["agent"], bill["depends_on"]) == ("process-billing", clerk, [gather["name"]])
    assert (gather["outputs"], bill["outputs"]) == (["financial_summary"], ["billing_report"])
    assert bill["memory_policy"]["max_entries"] == 100


def test_every_problem_has_a_line_of_its_own_and_nothing_is_made(served: Served, tmp_path: Path) -> None:
    text = SEED.replace("agent: data-agent", "agent: nobody").replace("capacity: 200", "capacity: many")
    workflow = Workflow(served, tmp_path, text.replace("working_memory", "wrking_memory"))
    end, lines = workflow.refused()
    assert [line.split(": ", 1)[0] for line in lines] == [f"{workflow.file}:{at}" for at in ("9:3", "21:17", "29:12")]
    assert end == f"{workflow.file} has 3 problems; nothing was made."
    with served.http(workflow.data) as http:
        assert http.get(f"/api/v1/memory/namespaces/{workflow.namespace}").status_code == 404


def test_the_command_acts_as_an_operator_and_refuses_who_may_not(served: Served, tmp_path: Path) -> None:
    workflow = Workflow(served, tmp_path)
    for name, role in (("olga", "operator"), ("vera", "viewer")):
        building.operator(role=role, email=f"{name}@flows.example")
    end, _ = workflow.refused("--as", "vera@flows.example")
    assert "agents:manage" in end
    assert workflow.imported("--as", "olga@flows.example")["intent_id"]
    workflow.file = tmp_path / "none.yaml"
    assert "cannot be read" in workflow.refused()[0]


# --- what a file may be ----------------------------------------------------------------------------------------------


def test_the_rfc_s_own_sample_is_understood() -> None:
    workflow = parsed(SEED).workflow
    assert workflow
    assert (workflow.name, workflow.version) == ("quarterly-compliance", "1.0")
    assert workflow.namespaces == ("company_policies", "compliance_rules", "billing_domain")
    assert [(each.agent_id, each.capacity, each.pinned_namespaces) for each in workflow.agents] == [
        ("billing-agent", 200, ("learned_patterns",)),
        ("data-agent", 500, None),
    ]
    assert workflow.steps[0].memory_policy == {
        "archive_on_completion": True,
        "max_entries": 50,
        "inherit_from_parent": False,
    }
    assert not parsed(SEED).warnings


def test_the_published_client_s_form_is_understood_with_a_memory_block() -> None:
    workflow = parsed(
        'openintent: "1.0"\ninfo: {name: Research, version: "2.0", description: Find out}\n'
        "memory:\n  working_memory: {max_entries_per_task: 5}\n"
        "workflow:\n"
        "  report: {title: Report, assign: writer, depends_on: [Look around], outputs: {text: string}}\n"
        "  research: {title: Look around, assign: scout, memory_policy: {max_entries: 9}}\n"
    ).workflow
    assert workflow
    assert (workflow.name, workflow.version, workflow.description) == ("Research", "2.0", "Find out")
    assert [each.agent_id for each in workflow.agents] == ["scout", "writer"]
    assert [(each.name, each.agent, each.depends_on) for each in workflow.steps] == [
        ("research", "scout", ()),
        ("report", "writer", ("research",)),
    ]
    assert [each.memory_policy["max_entries"] for each in workflow.steps] == [9, 5]
    assert workflow.steps[1].outputs == {"text": "string"}


PLAN = "name: x\nagents: {a: , b: }\nplan:\n"
WRONG: list[tuple[str, list[tuple[int, int, str]]]] = [
    ("", [(1, 1, "The file is empty.")]),
    ("# nothing\n", [(1, 1, "The file is empty.")]),
    ("- a\n", [(1, 1, "A workflow file is a mapping that begins with its name.")]),
    ("version: 1\nplan: []\n", [(1, 1, "name is missing")]),
    ("plan: []\nname:\n", [(2, 6, "name is missing")]),
    ("name: [x", [(1, 9, "This is not YAML: while parsing a flow sequence did not find expected ',' or ']'.")]),
    ("name: [x]\n", [(1, 7, "name must be a text")]),
    ("name: x\n\tplan: []\n", [(2, 1, "There is a tab here; YAML is indented with spaces.")]),
    ("name: x\nname: y\n", [(2, 1, "The key 'name' is on line 1 already.")]),
    ("name: x\n---\nname: y\n", [(2, 1, "A second document begins here; a workflow file is one.")]),
    ("name: x\nplan: []\0", [(2, 9, "The character U+0000 has no place in a workflow file.")]),
    ("name: x\n\u202e\x85", [(2, 2, "The character U+0085 has no place in a workflow file.")]),
    ("name: !!python/name:os.system x", [(1, 7, "There is a tag (!) here; the values in a workflow file are plain.")]),
    ("name: x\n[a]: 1\n", [(2, 1, "A list or a mapping cannot be a key.")]),
    ("name: x\nmemory: 3\n", [(2, 9, "memory must be a mapping of names to values")]),
    (
        "name: x\nmemory:\n  semantic: [a]\n",
        [(3, 3, "memory has no key 'semantic'; known are semantic_namespaces, working_memory, episodic_memory")],
    ),
    ("name: x\nmemory:\n  semantic_namespaces: a\n", [(3, 24, "memory.semantic_namespaces must be a list")]),
    (
        "name: x\nmemory:\n  semantic_namespaces: [ok, '', ../up, [y]]\n",
        [
            (3, 29, "memory.semantic_namespaces[1] is empty"),
            (3, 33, "memory.semantic_namespaces[2] has . or .. as a part of a path"),
            (3, 40, "memory.semantic_namespaces[3] must be a text"),
        ],
    ),
    (
        "name: x\nmemory:\n  working_memory:\n    archive_on_completion: 1\n    max_entries_per_task: 0\n",
        [
            (4, 28, "memory.working_memory.archive_on_completion must be true or false"),
            (5, 27, "memory.working_memory.max_entries_per_task must be a whole number from 1 to 1,000,000"),
        ],
    ),
    (
        "name: x\nmemory:\n  episodic_memory: {capacity_per_agent: true, eviction_policy: fifo, more: 1}\n",
        [
            (3, 41, "memory.episodic_memory.capacity_per_agent must be a whole number from 1 to 1,000,000"),
            (3, 64, "memory.episodic_memory.eviction_policy must be lru; this host has no other"),
            (3, 70, "memory.episodic_memory has no key 'more'; known are capacity_per_agent, eviction_policy"),
        ],
    ),
    (
        "name: x\nagents:\n  a: {episodic_memory: {capacity: -1, pinned_namespaces: p}}\n",
        [
            (3, 35, "agents.a.episodic_memory.capacity must be a whole number from 1 to 1,000,000"),
            (3, 58, "agents.a.episodic_memory.pinned_namespaces must be a list"),
        ],
    ),
    (PLAN + "- {task: t, agent: c}\n", [(4, 20, "plan[0].agent names 'c', which is none of the agents")]),
    (PLAN + "- {agent: a}\n- {task: t}\n", [(4, 3, "plan[0].task is missing"), (5, 3, "plan[1].agent is missing")]),
    (
        PLAN + "- {task: t, agent: a}\n- {task: t, agent: b}\n",
        [(5, 10, "plan[1].task has the name of the step on line 4")],
    ),
    (
        PLAN + "- {task: t, agent: a, depends_on: [u]}\n",
        [(4, 36, "plan[0].depends_on names 'u', which is not a step")],
    ),
    (
        PLAN + "- {task: t, agent: a, depends_on: [t]}\n",
        [(4, 36, "plan[0].depends_on depends on itself: 't' → 't'")],
    ),
    (
        PLAN
        + "- {task: z, agent: a, depends_on: [t]}\n- {task: t, agent: a, depends_on: [u]}\n"
        + "- {task: u, agent: b, depends_on: [t]}\n",
        [(5, 36, "plan[1].depends_on depends on itself: 't' → 'u' → 't'")],
    ),
    (
        PLAN + "- {task: t, agent: a, memory_policy: {max_entries: lots, inherit_from_parent: maybe}}\n",
        [
            (4, 52, "plan[0].memory_policy.max_entries must be a whole number from 1 to 1,000,000"),
            (4, 79, "plan[0].memory_policy.inherit_from_parent must be true or false"),
        ],
    ),
    (
        PLAN + "- {task: t, agent: a, outputs: 3}\n",
        [(4, 32, "plan[0].outputs must be a list of names, or a mapping of names to types")],
    ),
]


@pytest.mark.parametrize(("text", "problems"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_line_and_column(text: str, problems: list[tuple[int, int, str]]) -> None:
    assert told(text) == problems
    assert parsed(text).workflow is None


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    whole = "".join(text.removeprefix("name: x\n") for text, _ in WRONG[14:16])
    lines = [line for line, _, _ in told(f"agents: []\n{whole}plan: 7\n")]
    assert lines == sorted(lines)
    assert len(lines) >= 4


def test_an_anchor_and_its_alias_are_refused_so_that_nothing_grows() -> None:
    grown = (f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghijk"))
    bomb = "a: &a [x, x]\n" + "".join(grown)
    found = told(f"name: x\n{bomb}")
    assert len(found) == 11 + 20
    assert {message.split(";")[0] for _, _, message in found} == {
        "There is an anchor (&) here",
        "There is an alias (*) here",
    }


MORE_WRONG: list[tuple[str, list[tuple[int, str]]]] = [
    (PLAN + "-\n- 3\n", [(4, "plan[0] is empty"), (5, "plan[1] must be a mapping of names to values")]),
    (PLAN + "- {task: t, agent: a, depends_on: [~]}\n", [(4, "plan[0].depends_on[0] is empty")]),
    (
        PLAN + "- {task: t, agent: a, memory_policy: {max_entries: 0x_}}\n",
        [(4, "plan[0].memory_policy.max_entries must be a whole number from 1 to 1,000,000")],
    ),
    (f"name: {'x' * 501}\n", [(1, "name has 501 characters; 500 at most")]),
    ('name: "a\\0"\n', [(1, "There is an escaped character here that a workflow file must not have.")]),
    ('name: "a\\u202Eb"\n', [(1, "name has an invisible character")]),
    ("name: x\ndescription: [y]\n", [(2, "description must be a text of at most 10,000 characters")]),
    ("name: x\nagents:\n  '': {}\n", [(3, "agents.'' is empty")]),
    ("name: x\nagents:\n" + "".join(f" a{n}:\n" for n in range(501)), [(3, "agents names 501; 500 at most")]),
    (
        "name: x\nmemory:\n semantic_namespaces:\n" + "".join(f"  - n{n}\n" for n in range(501)),
        [(4, "memory.semantic_namespaces lists 501; 500 at most")],
    ),
    (
        "info: {name: x}\nworkflow:\n" + "".join(f" p{n}: {{assign: a}}\n" for n in range(501)),
        [(3, "workflow has 501 phases; 500 at most")],
    ),
    (
        "info: {name: x}\nworkflow:\n '': {assign: a}\n p:\n",
        [(3, "workflow.'' is empty"), (4, "workflow.p.assign is missing")],
    ),
    ("info:\nworkflow: {p: {assign: a}}\n", [(1, "info.name is missing")]),
]


@pytest.mark.parametrize(("text", "problems"), MORE_WRONG, ids=range(len(MORE_WRONG)))
def test_less_likely_mistakes_are_told_as_well(text: str, problems: list[tuple[int, str]]) -> None:
    found = [(line, message) for line, _, message in told(text)]
    assert set(problems) <= set(found)
    assert {line for line, _ in found} == {line for line, _ in problems}


@pytest.mark.parametrize(
    "unit", ["[", "{a: ", "- ", "? ", "&a ", "!", "%", '"', "- a\n", "a: 1:1:1\n", "x" * 100, ": "]
)
def test_no_file_is_too_much(unit: str) -> None:
    with cpu_within(8):
        found = workflow_file.parse((unit * (workflow_file.MAX_BYTES // len(unit))).encode())
    assert found.problems


@pytest.mark.parametrize(
    ("raw", "line", "column"), [(b"name: x\n\xff", 2, 1), (b"name: \xc3\xa9\xe9", 1, 8), (b"\xff\xfen\0", 1, 1)]
)
def test_what_is_not_utf_8_is_told_where_it_begins(raw: bytes, line: int, column: int) -> None:
    (problem,) = workflow_file.parse(raw).problems
    assert (problem.line, problem.column, problem.message) == (line, column, "The file is not UTF-8 from here on.")


def test_a_file_that_is_too_large_or_too_deep_is_refused() -> None:
    (large,) = workflow_file.parse(b"#" * (workflow_file.MAX_BYTES + 1)).problems
    assert "larger than 262,144 bytes" in large.message
    (deep,) = parsed("a: " + "[" * 1000).problems
    assert "deeper than 24 levels" in deep.message


def test_what_means_nothing_outside_of_the_memory_block_is_passed_over() -> None:
    found = parsed(PLAN + "- {task: t, agent: a, color: red}\nextra: 1\nmemory: {semantic_namespaces: [n, n]}\n")
    assert found.workflow
    assert found.workflow.namespaces == ("n",)
    assert [(each.line, each.sentence) for each in found.warnings] == [
        (4, "plan[0] has the key 'color', which means nothing here"),
        (5, "The file has the key 'extra', which means nothing here"),
        (6, "memory.semantic_namespaces[1] names 'n' a second time"),
    ]


# --- carried out -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_import_is_on_the_audit_log_and_needs_the_right_to_manage_agents() -> None:
    workflow = parsed(SEED).workflow
    assert workflow
    with pytest.raises(Forbidden):
        workflow_file.import_workflow(building.scope(role="viewer"), workflow, now=timezone.now())
    with pytest.raises(Forbidden):
        workflow_file.plan_import(building.scope(role="agent"), workflow)
    assert not Intent.objects.exists()
    made = workflow_file.import_workflow(building.scope(role="operator"), workflow, now=timezone.now())
    record = AuditRecord.objects.get(action="workflow-file.imported")
    assert (record.target, record.details) == (made.intent_id, {"namespaces": 3, "agents": 2, "tasks": 2})
    assert building.verified(building.tenant().id).intact


@pytest.mark.django_db
def test_an_import_that_is_refused_midway_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = parsed(SEED).workflow
    assert workflow

    def refuse(*_: Any, **__: Any) -> None:
        raise Invalid("no")

    monkeypatch.setattr("memory.openintent.work.tasks.create_task", refuse)
    with pytest.raises(Invalid):
        workflow_file.import_workflow(building.scope(), workflow, now=timezone.now())
    for model in (Namespace, Agent, Intent, Task):
        assert not model.objects.exists()


DIAMOND = (("end", "left, right"), ("left", "top"), ("right", "top"), ("top", ""))


@pytest.mark.django_db
def test_what_a_file_leaves_open_stays_as_it_was() -> None:
    owner = building.scope()
    diamond = "".join(f"- {{task: {name}, agent: billing-agent, depends_on: [{needs}]}}\n" for name, needs in DIAMOND)
    for text in (SEED, f"name: other\nagents: {{billing-agent: }}\nplan:\n{diamond}"):
        workflow = parsed(text).workflow
        assert workflow
        workflow_file.import_workflow(owner, workflow, now=timezone.now())
    steps = Task.objects.filter(intent__title="other").order_by("id")
    assert [(each.name, len(each.record["depends_on"]), each.memory_policy) for each in steps] == [
        ("top", 0, None),
        ("left", 1, None),
        ("right", 1, None),
        ("end", 2, None),
    ]
    agent = Agent.objects.get(agent_id="billing-agent")
    assert (agent.capacity, agent.pinned_namespaces) == (200, ["learned_patterns"])


@pytest.mark.django_db
def test_the_command_tells_what_it_makes_and_what_it_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    building.tenant()
    file = tmp_path / "workflow.yaml"
    file.write_text(f"{SEED}color: red\n")
    call_command("import_workflow", str(file), tenant="acme", dry_run=True)
    assert not Intent.objects.exists()
    call_command("import_workflow", str(file), tenant="acme")
    heard = capsys.readouterr()
    looked, made = json.loads(f"[{heard.out.replace('}' + chr(10) + '{', '},{')}]")
    assert (looked["dry_run"], made["dry_run"]) == (True, False)
    assert made["warnings"][0]["line"] == 41
    assert heard.err.splitlines()[0] == f"{file}:41:1: warning: The file has the key 'color', which means nothing here"


@pytest.mark.django_db
def test_the_command_ends_at_a_file_that_is_wrong_or_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    building.operator(email="ada@acme.example")
    file = tmp_path / "workflow.yaml"
    file.write_text("name: x\nmemory: 3\n")
    with pytest.raises(CommandError, match="has 1 problem; nothing was made"):
        call_command("import_workflow", str(file), "--tenant", "acme", "--as", "ada@acme.example")
    assert capsys.readouterr().err.startswith(f"{file}:2:9: memory must be a mapping of names to values\n")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_workflow", str(tmp_path), tenant="acme")


@pytest.mark.django_db
def test_an_agent_whose_id_holds_a_secret_is_a_problem_with_a_place_before_anything_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = building.scope()
    vault.store_secret(owner.tenant_id, "crm", "pelican-4711", now=timezone.now())
    file = tmp_path / "workflow.yaml"
    file.write_text("name: x\nagents:\n  desk: {}\n  pelican-4711: {}\nplan:\n- {task: a, agent: desk}\n")
    for words in (["--dry-run"], []):
        with pytest.raises(CommandError, match="has 1 problem; nothing was made"):
            call_command("import_workflow", str(file), "--tenant", "acme", *words)
        heard = capsys.readouterr().err
        assert heard == f"{file}:4:3: The id of an agent holds a secret of the vault, which no id may\n"
    assert not Agent.objects.exists()


@pytest.mark.django_db
def test_a_namespace_that_could_not_be_a_ref_is_refused_by_the_domain() -> None:
    owner = building.scope()
    vault.store_secret(owner.tenant_id, "a-name-that-is-longer-than-its-value", "pelican-4711", now=timezone.now())
    workflow = parsed(f"name: x\nmemory: {{semantic_namespaces: [{'pelican-4711' * 16}]}}\n").workflow
    assert workflow
    with pytest.raises(Invalid, match="cannot be a namespace"):
        workflow_file.import_workflow(owner, workflow, now=timezone.now())
    assert not Intent.objects.exists()
