"""Runs with branches: what may begin, what is skipped, what is tried again, and what ends a run."""

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from memory.host import event_log, interrupts, node_types, runs
from memory.host.errors import Conflict, Invalid
from memory.host.models import Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome
from openwop_console.runtime import engine, expressions, replay, run_operations, steps, workflows
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.budgets import cpu_within, keeps_less_than
from tests.building import advance_at, node, payloads, types_of

pytestmark = pytest.mark.django_db


def graph(workflow_id: str, nodes: list[dict], *edges: tuple, settings: dict | None = None, **more: Any) -> dict:
    """A definition; an edge is ``(source, target, {more})``."""
    made = [
        {"id": f"e{number}", "sourceNodeId": edge[0], "targetNodeId": edge[1], **(edge[2] if len(edge) > 2 else {})}
        for number, edge in enumerate(edges)
    ]
    return {**building.definition(workflow_id, *nodes), "edges": made, "settings": settings or {}, **more}


def started(definition: dict, **request: Any) -> Run:
    building.install("acme", definition)
    order = RunRequest(definition["id"], **request)
    return run_operations.create_run(building.scope(), order, now=timezone.now())


def happened(run: Run, kind: str) -> list[str]:
    return [event.node_id for event in event_log.read(run.tenant_id, run.id) if event.type == kind]


def noop(node_id: str, **more: Any) -> dict:
    return node(node_id, "core.noop", **more)


def test_branches_go_on_while_one_of_them_sleeps() -> None:
    nodes = [noop("start"), node("slow", "core.delay", {"delayMs": 20_000}), noop("quick"), noop("after"), noop("join")]
    edges = [("start", "slow"), ("start", "quick"), ("quick", "after"), ("slow", "join"), ("after", "join")]
    run, now = started(graph("sleepy", nodes, *edges)), timezone.now()
    resting = advance_at(run, now)
    assert (resting.status, resting.holder) == ("running", "")
    assert happened(run, "node.completed") == ["start", "quick", "after"]
    assert advance_at(run, now + timedelta(seconds=21)).status == "completed"
    assert happened(run, "node.completed")[-2:] == ["slow", "join"]


def test_two_delays_side_by_side_take_as_long_as_the_longer_one() -> None:
    nodes = [node("a", "core.delay", {"delayMs": 5000}), node("b", "core.delay", {"delayMs": 5000}), noop("end")]
    run, now = started(graph("pair", nodes, ("a", "end"), ("b", "end"))), timezone.now()
    advance_at(run, now)
    assert advance_at(run, now + timedelta(milliseconds=5100)).status == "completed"


CONDITIONS = [
    ({"type": "equals", "left": "color", "right": "red"}, True),
    ({"type": "equals", "left": "output.color", "right": "red"}, True),
    ({"type": "equals", "left": "flag", "right": 1}, False),
    ({"type": "equals", "left": "missing", "right": None}, True),
    ({"type": "notEquals", "left": "color", "right": "blue"}, True),
    ({"type": "contains", "left": "tags", "right": "urgent"}, True),
    ({"type": "contains", "left": "color", "right": "re"}, True),
    ({"type": "contains", "left": "color", "right": 3}, False),
    ({"type": "equals", "left": "tags.1", "right": "vip"}, True),
    ({"type": "equals", "left": "tags.2", "right": "vip"}, False),
    ({"type": "equals", "left": "color.length", "right": 3}, False),
    ({"type": "regex", "left": "color", "right": "^r.d$"}, True),
    ({"type": "regex", "left": "tags", "right": "x"}, False),
    ({"type": "expression", "expression": "amount > `10` && contains(tags, 'urgent')"}, True),
    ({"type": "expression", "expression": "variables.amount < `10`"}, False),
    ({"type": "expression", "expression": "length(color, color)"}, False),
]


def test_an_edge_is_taken_when_its_condition_holds_of_the_outputs_or_the_variables() -> None:
    for condition, holds in CONDITIONS:
        with building.undone():
            ports = {name: building.from_input(name) for name in ("color", "flag", "tags")}
            nodes = [noop("look", inputs=ports), noop("then"), noop("end")]
            edges = [("look", "then", {"condition": condition}), ("then", "end")]
            inputs = {"color": "red", "flag": True, "tags": ["urgent", "vip"], "amount": 12}
            run = building.advance(started(graph("choice", nodes, *edges), inputs=inputs))
            assert run.status == "completed", (condition, holds)
            assert happened(run, "node.skipped") == ([] if holds else ["then", "end"]), (condition, holds)


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "expression", "expression": "a ||"},
        {"type": "expression"},
        {"type": "regex", "left": "a", "right": "("},
        {"type": "regex", "left": "a"},
        {"type": "equals"},
        {"left": "a"},
    ],
)
def test_a_condition_that_cannot_be_read_is_refused_at_installation(condition: dict) -> None:
    document = graph("bad", [noop("a"), noop("b")], ("a", "b", {"condition": condition}))
    with pytest.raises(Invalid) as refused:
        workflows.check(document)
    assert refused.value.details["errors"][0]["field"] == "$.edges[0].condition"


def test_conditions_that_would_take_minutes_to_read_are_refused_in_a_moment() -> None:
    letters = "".join(map(chr, range(0x1000, 0x3000, 27)))
    conditions = [{"type": "regex", "left": "a", "right": f"[{letters}]{{1,60}}{n}"} for n in range(1_000)]
    edges = [("a", "b", {"condition": condition}) for condition in conditions]
    with cpu_within(3), pytest.raises(Invalid) as refused:
        workflows.check(graph("bad", [noop("a"), noop("b")], *edges))
    assert {each["field"] for each in refused.value.details["errors"]} <= {
        f"$.edges[{at}].condition" for at in range(1_000)
    }


def test_no_long_expression_is_kept_after_it_was_read() -> None:
    def read(first: int, last: int) -> None:
        conditions = [{"type": "expression", "expression": f"a{'[]' * 900}.b{n}"} for n in range(first, last)]
        edges = [("a", "b", {"condition": condition}) for condition in conditions]
        workflows.check(graph("many", [noop("a"), noop("b")], *edges))

    read(0, 1)  # what any reading keeps is there
    with keeps_less_than(2):
        read(1, 9)


def test_a_text_too_long_for_the_regular_expression_of_a_condition_fails_the_run_in_a_moment() -> None:
    condition = {"type": "regex", "left": "text", "right": "[ab]*a[ab]{200}c"}
    run = started(
        graph("long", [noop("a"), noop("b")], ("a", "b", {"condition": condition})), inputs={"text": "ab" * 500_000}
    )
    with cpu_within(3):
        run = building.advance(run)
    assert (run.status, run.error["code"]) == ("failed", "expression_too_heavy")


def failing(node_id: str) -> dict:
    return node(node_id, "core.fail")


RULES = [
    # rule, good sources, failing sources, skipped sources -> what becomes of the run, and whether the node runs
    ("all_success", 2, 0, 0, "completed", True),
    ("all_success", 1, 1, 0, "failed", False),
    ("all_success", 1, 0, 1, "completed", False),
    ("any_success", 1, 1, 0, "completed", True),
    ("any_success", 0, 2, 0, "failed", False),
    ("any_success", 0, 0, 2, "completed", False),
    ("all_complete", 1, 1, 0, "completed", True),
    ("all_complete", 0, 2, 0, "completed", True),
    ("all_complete", 0, 0, 2, "completed", True),
    ("none_failed", 1, 0, 1, "completed", True),
    ("none_failed", 1, 1, 0, "failed", False),
    ("any_failed", 1, 1, 0, "completed", True),
    ("any_failed", 2, 0, 0, "completed", False),
]


def test_trigger_rules_decide_what_begins() -> None:
    for rule, good, bad, skipped, status, runs_it in RULES:
        with building.undone():
            never = {"condition": {"type": "equals", "left": "x", "right": "never"}}
            sources = [noop(f"good{n}") for n in range(good)] + [failing(f"bad{n}") for n in range(bad)]
            lost = [noop(f"skipped{n}") for n in range(skipped)]
            edges: list[tuple] = [("root", each["id"], never) for each in lost]
            edges += [("root", each["id"]) for each in sources]
            edges += [(each["id"], "join", {"triggerRule": rule}) for each in [*sources, *lost]]
            run = building.advance(started(graph("rules", [noop("root"), *sources, *lost, noop("join")], *edges)))
            assert (run.status, "join" in happened(run, "node.started")) == (status, runs_it), (
                rule,
                good,
                bad,
                skipped,
                status,
                runs_it,
            )


def test_a_failure_that_nothing_handles_ends_the_run_at_once_and_what_had_begun_is_cancelled() -> None:
    nodes = [node("wait", "core.delay", {"delayMs": 30_000}), noop("first"), failing("boom"), noop("never")]
    run = building.advance(started(graph("early", nodes, ("first", "boom"), ("boom", "never"))))
    assert (run.status, run.error["code"]) == ("failed", "node_failed")
    assert (happened(run, "node.cancelled"), happened(run, "node.skipped")) == (["wait"], [])
    assert types_of(run)[-1] == "run.failed"


def test_a_disabled_node_is_passed_by() -> None:
    run = building.advance(
        started(graph("off", [noop("a"), noop("b", disabled=True), noop("c")], ("a", "b"), ("b", "c")))
    )
    assert (run.status, happened(run, "node.skipped")) == ("completed", ["b"])
    assert happened(run, "node.completed") == ["a", "c"]


def flaky(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    """``core.noop`` fails that often before it succeeds."""
    calls = count()

    def sometimes(ctx: NodeContext) -> Outcome:
        ctx.memory.write("notes", f"attempt {ctx.attempt}")
        if next(calls) < failures:
            raise NodeFailure("provider_busy", "The provider was busy.")
        return Done()

    monkeypatch.setitem(node_types._types, "core.noop", sometimes)


def test_a_node_is_tried_again_after_a_wait_that_doubles_to_a_bound_and_only_its_last_effects_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flaky(monkeypatch, 3)
    monkeypatch.setattr(run_operations, "LONGEST_RETRY_DELAY", timedelta(seconds=10))
    document = graph("again", [noop("a", settings={"maxRetries": 3, "retryDelayMs": 4000})])
    run, now = started(document), timezone.now()
    assert advance_at(run, now).status == "running"
    assert advance_at(run, now + timedelta(seconds=3)).status == "running"
    assert happened(run, "node.retried") == ["a"]
    assert advance_at(run, now + timedelta(seconds=5)).status == "running"
    assert advance_at(run, now + timedelta(seconds=14)).status == "running"
    assert advance_at(run, now + timedelta(seconds=25)).status == "completed"
    retried = [event.payload for event in event_log.read(run.tenant_id, run.id) if event.type == "node.retried"]
    assert [(each["attempt"], each["delayMs"]) for each in retried] == [(1, 4000), (2, 8000), (3, 10_000)]
    assert building.contents(building.scope()) == ["attempt 4"]


def test_a_node_that_fails_to_the_end_says_how_often_it_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    flaky(monkeypatch, 9)
    run, now = started(graph("never", [noop("a")], settings={"maxRetries": 1, "retryDelayMs": 1})), timezone.now()
    advance_at(run, now)
    ended = advance_at(run, now + timedelta(seconds=1))
    assert (ended.status, ended.error["code"]) == ("failed", "provider_busy")
    failed = next(event for event in event_log.read(run.tenant_id, run.id) if event.type == "node.failed")
    assert failed.payload["attempts"] == 2
    assert building.contents(building.scope()) == []


def test_a_node_that_sleeps_past_its_timeout_has_failed() -> None:
    slow = node("slow", "core.delay", {"delayMs": 60_000}, settings={"timeout": 2000})
    run, now = started(graph("late", [slow])), timezone.now()
    advance_at(run, now)
    assert [row[1] for row in runs.due(now=now + timedelta(seconds=2))] == [run.id]
    ended = advance_at(run, now + timedelta(seconds=2))
    assert (ended.status, ended.error["code"]) == ("failed", "node_timeout")


def test_a_run_that_lasts_too_long_has_failed_and_says_what_was_breached() -> None:
    document = graph("long", [node("slow", "core.delay", {"delayMs": 60_000})])
    run, now = started(document, configurable={"runTimeoutMs": 1500}), timezone.now()
    advance_at(run, now)
    ended = advance_at(run, now + timedelta(seconds=2))
    assert (ended.status, ended.error["code"]) == ("failed", "run_timeout")
    breached = next(event for event in event_log.read(run.tenant_id, run.id) if event.type == "cap.breached")
    assert (breached.payload["kind"], breached.payload["limit"]) == ("run-duration", 1500)
    assert breached.payload["observed"] > 1500


def test_a_run_executes_no_more_nodes_than_its_recursion_limit_or_the_host_s(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [noop(f"n{number}") for number in range(4)]
    edges = [(f"n{number}", f"n{number + 1}") for number in range(3)]
    run = building.advance(started(graph("many", nodes, *edges), configurable={"recursionLimit": 3}))
    assert (run.status, run.error["code"]) == ("failed", "recursion_limit_exceeded")
    assert happened(run, "node.completed") == ["n0", "n1", "n2"]
    breached = next(event for event in event_log.read(run.tenant_id, run.id) if event.type == "cap.breached")
    assert breached.payload == {"kind": "node-executions", "limit": 3, "observed": 4, "nodeId": "n3"}
    monkeypatch.setattr(run_operations, "MAX_NODE_EXECUTIONS", 2)
    capped = building.advance(started(graph("many", nodes, *edges), configurable={"recursionLimit": 3}))
    assert payloads(capped, "cap.breached")[0]["limit"] == 2


def test_an_expression_port_looks_at_variables_inputs_and_nodes() -> None:
    expression = "join(' ', [variables.greeting, inputs.name, nodes.say.word])"
    say = noop("say", inputs={"word": {"type": "static", "value": "again"}})
    use = noop("use", inputs={"line": {"type": "expression", "expression": expression}})
    document = graph("ports", [say, use], ("say", "use"))
    document["variables"] = [{"name": "greeting", "type": "string", "defaultValue": "Hello"}]
    run = building.advance(started(document, inputs={"name": "Ada"}))
    state = run_operations.read_run(building.scope(), run.id, now=timezone.now())
    assert state.steps["use"].outputs == {"line": "Hello Ada again"}


def test_an_expression_says_which_nodes_it_reads_or_that_it_may_read_any() -> None:
    for expression, nodes in (
        ("nodes.a.text", {"a"}),
        ('nodes."a b".list[0].x', {"a b"}),
        ("nodes.a.list[1:3]", {"a"}),
        ("nodes.a[0].x || nodes.b[?x].y | z", {"a", "b"}),
        ("{left: nodes.a, right: inputs.x}", {"a"}),
        ("max_by(nodes.a.list, &size).nodes", None),
        ("join(' ', [variables.greeting, inputs.name])", set()),
        ("nodes", None),
        ("nodes.*.x", None),
        ("nodes.{x: a}", None),
        ("*.a", None),
        ("values(@)", None),
        ("@.nodes.a", None),
        ("nodes | a", None),
        ("[?a]", None),
        ("[]", None),
    ):
        assert expressions.nodes_read(expression) == nodes, (expression, nodes)


def test_a_paused_run_begins_nothing_and_goes_on_where_it_stood() -> None:
    acme = building.scope()
    run, now = started(graph("two", [noop("a"), noop("b")], ("a", "b"))), timezone.now()
    run_operations.pause_run(acme, run.id, now=now)
    assert advance_at(run, now + timedelta(seconds=1)).status == "paused"
    assert happened(run, "node.started") == []
    with pytest.raises(Conflict) as again:
        run_operations.pause_run(acme, run.id, now=now)
    assert again.value.details["runStatus"] == "paused"
    run_operations.resume_run(acme, run.id, now=now)
    assert advance_at(run, now + timedelta(seconds=1)).status == "completed"
    with pytest.raises(Conflict):
        run_operations.resume_run(acme, run.id, now=now)


def test_a_pause_that_drains_finishes_the_node_it_had_begun_before_it_is_paused() -> None:
    acme = building.scope()
    nodes = [node("slow", "core.delay", {"delayMs": 5000}), noop("next")]
    run, now = started(graph("drain", nodes, ("slow", "next"))), timezone.now()
    advance_at(run, now)
    run_operations.pause_run(acme, run.id, now=now + timedelta(seconds=1))
    advance_at(run, now + timedelta(seconds=2))
    assert "run.paused" not in types_of(run)
    advance_at(run, now + timedelta(seconds=6))
    assert types_of(run)[-2:] == ["node.completed", "run.paused"]
    run_operations.resume_run(acme, run.id, now=now + timedelta(seconds=60))
    assert advance_at(run, now + timedelta(seconds=61)).status == "completed"


def test_an_immediate_pause_leaves_the_node_asleep_and_the_time_does_not_count() -> None:
    acme = building.scope()
    document = graph("stop", [node("slow", "core.delay", {"delayMs": 5000})])
    run, now = started(document, configurable={"runTimeoutMs": 8000}), timezone.now()
    advance_at(run, now)
    run_operations.pause_run(acme, run.id, drain=False, now=now + timedelta(seconds=1))
    assert types_of(run)[-1] == "run.paused"
    assert advance_at(run, now + timedelta(seconds=30)).status == "paused"
    run_operations.resume_run(acme, run.id, now=now + timedelta(seconds=60))
    assert advance_at(run, now + timedelta(seconds=61)).status == "completed"


def test_a_paused_run_is_cancelled_like_any_other() -> None:
    acme = building.scope()
    run, now = started(graph("both", [noop("a")])), timezone.now()
    run_operations.pause_run(acme, run.id, now=now)
    run_operations.cancel_run(acme, run.id, now=now)
    assert advance_at(run, now + timedelta(seconds=1)).status == "cancelled"


@pytest.mark.parametrize(
    ("configurable", "field"),
    [
        ({"recursionLimit": 0}, "configurable.recursionLimit"),
        ({"runTimeoutMs": "soon"}, "configurable.runTimeoutMs"),
        ({"temperature": 3}, "configurable.temperature"),
        ({"promptOverrides": {"a": 1}}, "configurable.promptOverrides.a"),
        ({"tone": 7}, "configurable.tone"),
    ],
)
def test_what_cannot_be_configured_is_refused_with_its_path(configurable: dict, field: str) -> None:
    document = graph("schema", [noop("a")])
    document["configurableSchema"] = {"type": "object", "properties": {"tone": {"type": "string"}}}
    with pytest.raises(Invalid) as refused:
        started(document, configurable=configurable)
    assert refused.value.details["errors"][0]["field"] == field


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 7},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"$ref": "#/$defs/nope"},
        {"properties": {"tone": {"pattern": "(?<=a)b"}}},
    ],
)
def test_a_configurable_schema_that_is_none_or_points_elsewhere_is_refused(schema: dict) -> None:
    document = graph("schema", [noop("a")]) | {"configurableSchema": schema}
    with pytest.raises(Invalid):
        workflows.check(document)
    with pytest.raises(Invalid):
        run_operations.check_configurable({"tone": "x"}, document)


@pytest.mark.parametrize("code", ["", None])
def test_a_failure_without_a_code_of_its_own_has_the_host_s(code: str | None) -> None:
    run = building.advance(started(graph("fails", [node("a", "core.fail", {"code": code})])))
    assert (run.status, run.error["code"]) == ("failed", "node_failed")


def test_a_node_with_an_artifact_type_leaves_an_artifact() -> None:
    brief = noop("brief", artifactType="brief", inputs={"text": {"type": "static", "value": "Ship it."}})
    run = building.advance(started(graph("makes", [brief, noop("other")])))
    [artifact] = run_operations.read_artifacts(building.scope(), run.id, now=timezone.now())
    assert (artifact.artifact_type, artifact.content) == ("brief", {"text": "Ship it."})
    [told] = [event for event in event_log.read(run.tenant_id, run.id) if event.type == "artifact.created"]
    assert told.payload["artifactId"] == artifact.artifact_id


def gate(node_id: str = "gate", **more: Any) -> dict:
    return node(node_id, "core.approvalGate", **more)


@pytest.mark.parametrize("rule", ["any_failed", "all_complete"])
def test_a_run_whose_gate_is_out_of_its_nodes_time_goes_on_to_its_end(rule: str) -> None:
    nodes = [gate(settings={"timeout": 1000}), noop("after")]
    run, now = started(graph("gate-late", nodes, ("gate", "after", {"triggerRule": rule}))), timezone.now()
    assert advance_at(run, now).status == "waiting-approval"
    assert advance_at(run, now + timedelta(seconds=2)).status == "completed"
    assert happened(run, "node.failed") == ["gate"]


def test_a_run_with_another_open_gate_still_waits_when_one_is_out_of_its_nodes_time() -> None:
    nodes = [gate(settings={"timeout": 1000}), gate("other"), noop("after")]
    run, now = started(graph("two-gates", nodes, ("gate", "after", {"triggerRule": "any_failed"}))), timezone.now()
    advance_at(run, now)
    assert advance_at(run, now + timedelta(seconds=2)).status == "waiting-approval"
    run_operations.resolve_interrupt(building.scope(), run.id, "other", {"action": "accept"}, now=now)
    assert advance_at(run, now + timedelta(seconds=3)).status == "completed"


@pytest.mark.parametrize("name", ["timeout", "maxRetries", "retryDelayMs"])
def test_a_time_or_a_count_beyond_all_numbers_is_refused_at_installation(name: str) -> None:
    with pytest.raises(Invalid):
        workflows.check(graph("huge", [noop("a", settings={name: 10**20})]))
    with pytest.raises(Invalid):
        workflows.check(graph("huge", [noop("a")], settings={name: 10**20}))


def test_a_time_that_is_longer_than_any_run_is_as_long_as_the_longest() -> None:
    longest = {"timeout": 2**53 - 1, "maxRetries": 2**53 - 1, "retryDelayMs": 2**53 - 1}
    run = building.advance(started(graph("clamped", [node("a", "core.fail", settings=longest)], settings=longest)))
    assert [each["delayMs"] for each in payloads(run, "node.retried")] == [300_000]


@pytest.mark.parametrize(
    ("expression", "amount"),
    [
        ("ceil(to_number(amount)) > `100`", "inf"),
        ("to_number(amount)", "nan"),
        ("amount[::0]", [1]),
        ("&amount", 1),
    ],
)
def test_an_expression_that_makes_no_sense_of_the_values_finds_nothing(expression: str, amount: Any) -> None:
    ports = {"found": {"type": "expression", "expression": expression}}
    when = {"condition": {"type": "expression", "expression": expression}}
    document = graph("senseless", [noop("a", inputs=ports | {"amount": building.from_input("amount")}), noop("b")])
    document["edges"] = graph("x", [], ("a", "b", when))["edges"]
    run = building.advance(started(document, inputs={"amount": amount}))
    assert (run.status, happened(run, "node.skipped")) == ("completed", ["b"])
    assert steps.steps_of_run(run.tenant_id, run.id)["a"].outputs["found"] is None


@pytest.mark.parametrize("expression", ["(" * 900, "!" * 999 + "a"])
def test_an_expression_that_is_nested_without_end_is_refused_at_installation(expression: str) -> None:
    port = {"x": {"type": "expression", "expression": expression}}
    with pytest.raises(Invalid) as refused:
        workflows.check(graph("deep", [noop("a", inputs=port)]))
    assert refused.value.details["errors"][0]["field"] == "$.nodes[0].inputs.x"


@pytest.mark.parametrize("text", ['`"\\u0000"`', '`"\\ud800"`', '`{"\\u0000": [1]}`'])
def test_an_input_that_no_database_keeps_fails_its_node(text: str) -> None:
    run = building.advance(started(graph("nul", [noop("a", inputs={"x": {"type": "expression", "expression": text}})])))
    assert (run.status, run.error["code"]) == ("failed", "expression_invalid")


GROWING = "|".join(["[@,@]"] * 60)


@pytest.mark.parametrize("expression", [GROWING, "v[*].[" + "@|".join(["join('', [@,@])|"] * 40) + "@]"])
def test_a_port_whose_expression_grows_without_end_fails_its_node(expression: str) -> None:
    port = {"x": {"type": "expression", "expression": expression}}
    document = graph("grows", [noop("a", inputs=port, settings={"maxRetries": 3})])
    run = building.advance(started(document, inputs={"v": ["abc"] * 1000}))
    assert (run.status, run.error["code"]) == ("failed", "expression_too_heavy")
    assert happened(run, "node.retried") == []


def test_a_run_with_a_condition_that_is_too_heavy_to_judge_has_failed() -> None:
    when = {"condition": {"type": "expression", "expression": GROWING}}
    nodes = [node("slow", "core.delay", {"delayMs": 60_000}), noop("a"), noop("b")]
    run = building.advance(started(graph("heavy", nodes, ("a", "b", when)), inputs={"v": "x"}))
    assert (run.status, run.error["code"]) == ("failed", "expression_too_heavy")
    assert happened(run, "node.cancelled") == ["slow"]


def test_expressions_are_given_up_when_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expressions, "PATIENCE_S", -1)
    port = {"x": {"type": "expression", "expression": "v"}}
    run = building.advance(started(graph("slow", [noop("a", inputs=port)]), inputs={"v": "x"}))
    assert run.error["code"] == "expression_too_heavy"


def test_a_long_text_passes_through_an_expression() -> None:
    port = {"x": {"type": "expression", "expression": "join(' and ', [inputs.v, nodes.a.v])"}}
    nodes = [noop("a", inputs={"v": building.from_input("v")}), noop("b", inputs=port)]
    run = building.advance(started(graph("long-text", nodes, ("a", "b")), inputs={"v": "x" * 200_000}))
    assert run.status == "completed"


def test_an_input_without_a_value_is_the_nodes_failure_by_name_and_is_not_tried_again() -> None:
    port = {"x": {"type": "variable", "variableName": "nowhere"}}
    run = building.advance(started(graph("missing", [noop("a", inputs=port, settings={"maxRetries": 3})])))
    assert (run.status, run.error["code"]) == ("failed", "input_missing")
    assert happened(run, "node.retried") == []


def interrupted(monkeypatch: pytest.MonkeyPatch, meanwhile: Any) -> None:
    """``meanwhile`` happens between the step that fails and the record of its failure."""
    real, looks = engine._lock_held_run, count(1)

    def held(*run: Any) -> Run:
        if next(looks) == 2:
            meanwhile()
        return real(*run)

    monkeypatch.setattr(engine, "_lock_held_run", held)


def test_a_run_that_is_paused_while_its_first_node_fails_has_not_begun_it(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = building.scope()
    nodes = [failing("f"), noop("b")]
    run, now = started(graph("raced", nodes, ("f", "b", {"triggerRule": "any_failed"}))), timezone.now()
    interrupted(monkeypatch, lambda: run_operations.pause_run(acme, run.id, drain=False, now=now))
    assert (advance_at(run, now).status, types_of(run)) == ("paused", ["run.paused"])
    run_operations.resume_run(acme, run.id, now=now)
    assert advance_at(run, now).status == "completed"
    assert types_of(run)[1:5] == ["run.resumed", "run.started", "node.started", "node.failed"]


@pytest.mark.engines
@pytest.mark.parametrize(("drain", "policy"), [(True, "drain-current-node"), (False, "immediate")])
def test_a_pause_before_the_first_step_is_on_the_log_and_so_is_its_end(drain: bool, policy: str) -> None:
    acme = building.scope()
    run, now = started(graph("early", [noop("a")])), timezone.now()
    run_operations.pause_run(acme, run.id, drain=drain, reason="not yet", now=now)
    assert run_operations.read_run(acme, run.id, now=now).run.status == "paused"
    run_operations.resume_run(acme, run.id, reason="now", now=now + timedelta(seconds=9))
    assert advance_at(run, now + timedelta(seconds=10)).status == "completed"
    told, _ = run_operations.read_events(acme, run, after=-1)
    assert [each.sequence for each in told] == list(range(len(told)))
    assert [(each.type, each.payload) for each in told[:2]] == [
        ("run.paused", {"drainPolicy": policy, "reason": "not yet"}),
        ("run.resumed", {"reason": "now"}),
    ]
    assert told[2].type == "run.started"


def test_a_run_that_is_cancelled_while_its_first_node_fails_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    run, now = started(graph("ended", [failing("f")])), timezone.now()
    interrupted(monkeypatch, lambda: run_operations.cancel_run(building.scope(), run.id, now=now))
    assert (advance_at(run, now).status, types_of(run)) == ("cancelled", ["run.cancelled"])


def test_the_time_a_run_is_paused_does_not_count_against_its_nodes() -> None:
    acme = building.scope()
    slow = node("slow", "core.delay", {"delayMs": 5000}, settings={"timeout": 10_000})
    run, now = started(graph("patient", [slow])), timezone.now()
    advance_at(run, now)
    run_operations.pause_run(acme, run.id, drain=False, now=now + timedelta(seconds=1))
    run_operations.resume_run(acme, run.id, now=now + timedelta(seconds=60))
    assert advance_at(run, now + timedelta(seconds=61)).status == "completed"


def test_a_paused_gate_is_answered_in_the_time_it_had_left() -> None:
    acme = building.scope()
    run, now = started(graph("still", [gate(config={"timeoutSec": 10})])), timezone.now()
    advance_at(run, now)
    run_operations.pause_run(acme, run.id, drain=False, now=now + timedelta(seconds=4))
    advance_at(run, now + timedelta(seconds=30))
    run_operations.resume_run(acme, run.id, now=now + timedelta(seconds=64))
    assert advance_at(run, now + timedelta(seconds=69)).status == "waiting-approval"
    [asked] = interrupts.open_at(run)
    assert asked.timeout_at == now + timedelta(seconds=70)
    assert advance_at(run, now + timedelta(seconds=70)).error["code"] == "approval_timeout"


def test_a_gate_takes_answers_while_its_run_is_paused_however_long() -> None:
    acme = building.scope()
    run, now = started(graph("late-answer", [gate(config={"timeoutSec": 10})])), timezone.now()
    advance_at(run, now)
    run_operations.pause_run(acme, run.id, drain=False, now=now + timedelta(seconds=1))
    run_operations.resolve_interrupt(acme, run.id, "gate", {"action": "accept"}, now=now + timedelta(seconds=60))
    run_operations.resume_run(acme, run.id, now=now + timedelta(seconds=61))
    assert advance_at(run, now + timedelta(seconds=62)).status == "completed"


def test_every_attempt_counts_against_the_recursion_limit_and_counts_once() -> None:
    stubborn = node("a", "core.fail", settings={"maxRetries": 9, "retryDelayMs": 1})
    run, now = started(graph("tries", [stubborn]), configurable={"recursionLimit": 2}), timezone.now()
    for hour in range(3):
        ended = advance_at(run, now + timedelta(hours=hour))
    assert (ended.status, ended.error["code"]) == ("failed", "recursion_limit_exceeded")
    assert [each["attempt"] for each in payloads(run, "node.retried")] == [1, 2]
    assert payloads(run, "cap.breached")[0]["observed"] == 3


def test_a_gate_and_a_sleep_count_as_one_node_each() -> None:
    nodes = [gate(), node("slow", "core.delay", {"delayMs": 1000})]
    document = graph("once", nodes, ("gate", "slow"))
    run, now = started(document, configurable={"recursionLimit": 2}), timezone.now()
    advance_at(run, now)
    run_operations.resolve_interrupt(building.scope(), run.id, "gate", {"action": "accept"}, now=now)
    advance_at(run, now)
    ended = advance_at(run, now + timedelta(seconds=2))
    assert (ended.status, ended.executions) == ("completed", 2)


def test_a_node_under_way_at_a_fork_counts_once() -> None:
    nodes = [noop("a"), node("slow", "core.delay", {"delayMs": 1000}), noop("b")]
    document = graph("forked", nodes, ("a", "slow"), ("slow", "b"))
    run, now = started(document, configurable={"recursionLimit": 3}), timezone.now()
    advance_at(run, now)
    branch = replay.fork(building.scope(), run.id, ForkRequest("branch", 4), now=now)
    advance_at(branch, now)
    ended = advance_at(branch, now + timedelta(seconds=2))
    assert (ended.status, ended.executions) == ("completed", 3)


def test_a_limit_that_is_written_as_a_float_holds() -> None:
    document = graph("float", [noop("a"), noop("b")], ("a", "b"))
    run = building.advance(started(document, configurable={"recursionLimit": 1.0}))
    assert run.error["code"] == "recursion_limit_exceeded"


def test_times_that_are_written_as_floats_hold() -> None:
    slow = node("slow", "core.delay", {"delayMs": 60_000}, settings={"timeout": 2e3})
    run, now = started(graph("float-late", [slow])), timezone.now()
    advance_at(run, now)
    assert advance_at(run, now + timedelta(seconds=2)).error["code"] == "node_timeout"


def test_a_cancelled_run_names_who_asked_first() -> None:
    makers, others = building.scope(), building.scope()
    run, now = started(graph("whose", [node("slow", "core.delay", {"delayMs": 60_000})])), timezone.now()
    advance_at(run, now)
    run_operations.cancel_run(others, run.id, now=now)
    run_operations.cancel_run(makers, run.id, now=now)
    advance_at(run, now)
    assert payloads(run, "run.cancelled") == [{"cancelledBy": others.principal.id}]
    assert others.principal.id not in (makers.principal.id, run.principal)
    run = started(graph("host", [noop("a")]))
    runs.request_cancel(run, now=now)
    advance_at(run, timezone.now())
    assert payloads(run, "run.cancelled") == [{"cancelledBy": "host"}]
