"""Chains of nodes that workflows repeat: which become a pack, which do not, and what of them is left open."""

import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proposals.learning import miners
from proposals.learning.miners.traces import Finding, NodeTrace, RunTrace, Traces
from tests import mining
from tests.budgets import tries
from tests.mining import COMPOSE, READ, RECALL, REMEMBER, WRITE, found, node, run

KIND = "workflow-chain-pack"


def triage(template: str = "triage", ref: str = "cases", **changes: Any) -> tuple[NodeTrace, ...]:
    """Recall, compose, remember, wired from node to node."""
    known = {"known": {"type": "connection", "nodeId": "one", "outputKey": "text"}}
    ticket = {"ticket": {"type": "variable", "variableName": "ticket"}}
    text = {"content": {"type": "connection", "nodeId": "two", "outputKey": "text"}}
    return (
        node("one", RECALL, {"memoryRef": ref, "limit": 3}, tools=(READ,), **changes),
        node("two", COMPOSE, {"template": template}, inputs={**known, **ticket}, **changes),
        node("three", REMEMBER, {"memoryRef": ref, "tags": ["case"]}, inputs=text, tools=(WRITE,), **changes),
    )


def repeated(*kinds: tuple[NodeTrace, ...], times: int = 2, **changes: Any) -> Traces:
    """Each row of nodes in a workflow of its own, that many times."""
    runs = [run(n, f"flow-{at}", *nodes, **changes) for at, nodes in enumerate(kinds) for n in range(times)]
    return Traces(runs=tuple(runs))


def only(traces: Traces) -> Finding:
    [finding] = found(traces, KIND)
    return finding


def chain_in(finding: Finding) -> dict[str, Any]:
    chain: dict[str, Any] = finding.artifact["chains"][0]
    return chain


def test_a_chain_of_two_workflows_becomes_a_pack_and_what_differs_a_parameter() -> None:
    finding = only(repeated(triage("triage", "cases"), triage("billing", "bills")))
    chain = chain_in(finding)
    assert [each["typeId"] for each in chain["dag"]["nodes"]] == [RECALL, COMPOSE, REMEMBER]
    assert [each["config"] for each in chain["dag"]["nodes"]] == [
        {"limit": 3, "memoryRef": "{{params.memoryRef}}"},
        {"template": "{{params.template}}"},
        {"memoryRef": "{{params.memoryRef}}", "tags": ["case"]},
    ]
    assert chain["dag"]["edges"] == [{"from": "recall", "to": "compose"}, {"from": "compose", "to": "remember"}]
    assert chain["parameters"]["required"] == ["memoryRef", "template", "ticket"]
    assert finding.artifact["name"].startswith("private.")
    assert "4 completed runs" in finding.rationale
    assert '"flow-0" and "flow-1"' in finding.rationale
    assert "What differs, or comes from outside, is left open: 3 parameters." in finding.rationale


def test_ports_lead_from_node_to_node_and_what_came_from_outside_is_given() -> None:
    first, compose, last = chain_in(only(repeated(triage(), triage("b"))))["dag"]["nodes"]
    assert compose["inputs"]["known"] == {"type": "connection", "nodeId": "recall", "outputKey": "text"}
    assert compose["inputs"]["ticket"] == {"type": "variable", "variableName": "ticket"}
    assert last["inputs"]["content"] == {"type": "connection", "nodeId": "compose", "outputKey": "text"}
    assert first["inputs"] == {}


def test_the_memory_that_an_agent_brought_is_in_the_config_because_the_agent_is_not() -> None:
    rows = [
        (node("a", RECALL, tools=(READ,), agent_id="private.acme.a", memory_ref=ref), node("b", COMPOSE))
        for ref in ("notes", "notes")
    ]
    assert chain_in(only(repeated(*rows)))["dag"]["nodes"][0]["config"] == {"memoryRef": "notes"}
    unknown = [(replace(one, memory_ref=""), other) for one, other in rows]
    assert chain_in(only(repeated(*unknown)))["dag"]["nodes"][0]["config"] == {"memoryRef": "{{params.memoryRef}}"}


def test_the_longest_chain_is_proposed_and_none_of_its_parts_beside_it() -> None:
    part = triage()[:2]
    assert len(chain_in(only(repeated(triage(), triage("b"), part, part, times=5)))["dag"]["nodes"]) == 3


def test_of_a_long_row_eight_nodes_are_proposed_once() -> None:
    row = tuple(node(f"n{at}", f"vendor.acme.step{at}") for at in range(11))
    assert [len(chain_in(each)["dag"]["nodes"]) for each in found(repeated(row, row), KIND)] == [8]


def test_two_chains_that_share_little_are_both_proposed() -> None:
    other = (node("x", "vendor.acme.fetch"), node("y", "vendor.acme.parse"))
    assert len(found(repeated(triage(), triage("b"), other, other), KIND)) == 2


LOOKALIKES: dict[str, Traces] = {
    "two runs": repeated(triage(), triage("b"), times=1),
    "one workflow": repeated(triage(), times=20),
    "failed runs": repeated(triage(), triage("b"), status="failed"),
    "nodes that failed": repeated(triage(state="failed"), triage("b", state="failed")),
    "nodes that were skipped": repeated(triage(state="skipped"), triage("b", state="skipped")),
    "the host's own workflows": repeated(triage(), triage("b"), builtin=True),
    "no edges": repeated(triage(), triage("b"), edges=()),
    "edges that a condition decides": repeated(triage(), triage("b"), conditional=(("one", "two"), ("two", "three"))),
    "another way to the same node": repeated(
        triage(), triage("b"), edges=(("one", "two"), ("zero", "two"), ("two", "three"), ("zero", "three"))
    ),
    "a gate between": repeated(*[(node("a", RECALL), node("b", "core.approvalGate"), node("c", COMPOSE))] * 2),
    "the gate of proposals": repeated(
        *[(node("g", "core.openwop.governance.approvalGate"), node("i", "vendor.console.install-artifact"))] * 2
    ),
    "other types": repeated((node("a", RECALL), node("b", COMPOSE)), (node("a", RECALL), node("b", REMEMBER))),
    "another order": repeated((node("a", RECALL), node("b", COMPOSE)), (node("a", COMPOSE), node("b", RECALL))),
    "configs with other members": repeated(
        (node("a", RECALL, {"tag": "x"}), node("b", COMPOSE)), (node("a", RECALL, {"limit": 1}), node("b", COMPOSE))
    ),
    "nodes of two agents": repeated(*[(node("a", RECALL, agent_id="a"), node("b", COMPOSE, agent_id="b"))] * 2),
    "expressions, which only their workflow has": repeated(
        *[(node("a", RECALL), node("b", COMPOSE, inputs={"x": {"type": "expression", "expression": "nodes.z"}}))] * 2
    ),
    "ports that are none": repeated(*[(node("a", RECALL), node("b", COMPOSE, inputs={"x": "text"}))] * 2),
}


@pytest.mark.parametrize("traces", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_what_only_looks_like_a_chain_is_not_proposed(traces: Traces) -> None:
    assert found(traces, KIND) == []


def test_a_type_whose_name_merely_ends_like_a_gate_may_stand_in_a_chain() -> None:
    row = (node("a", "vendor.acme.aggregate"), node("b", "vendor.acme.delegate"))
    assert len(found(repeated(row, row), KIND)) == 1


def test_a_chain_that_is_installed_is_not_proposed_nor_is_a_part_of_it() -> None:
    traces = repeated(triage(), triage("b"))
    installed = (only(traces).artifact,)
    assert found(replace(traces, chains=installed), KIND) == []
    part = repeated(triage()[:2], triage("b")[:2])
    assert found(replace(part, chains=installed), KIND) == []
    longer = [(*triage(name), node("four", "vendor.acme.tell")) for name in ("a", "b")]
    wired = repeated(*longer)
    assert len(chain_in(only(replace(wired, chains=installed)))["dag"]["nodes"]) == 4


def test_a_chain_of_other_values_than_the_installed_one_is_proposed() -> None:
    rows = [(node("a", RECALL, {"tag": tag}), node("b", COMPOSE)) for tag in ("x", "x")]
    installed = only(repeated(*rows)).artifact
    other = [(node("a", RECALL, {"tag": "y"}), node("b", COMPOSE))] * 2
    assert len(found(replace(repeated(*other), chains=(installed,)), KIND)) == 1


def test_the_same_sight_has_one_pattern_and_another_sight_another() -> None:
    first = only(repeated(triage(), triage("b")))
    later = only(repeated(triage(), triage("b"), triage("c", "other"), times=4))
    assert (first.pattern, first.artifact["name"]) == (later.pattern, later.artifact["name"])
    assert only(repeated(triage()[:2], triage("b")[:2])).pattern != first.pattern


@pytest.mark.parametrize("text", mining.HOSTILE)
def test_hostile_values_become_no_placeholder_and_no_word_of_the_rationale(text: str) -> None:
    rows = [(node("a", RECALL, {"tag": text}), node("b", COMPOSE, {"text": name})) for name in ("x", "y")]
    findings = found(repeated(*rows), KIND)
    assert len(findings) == ("\x00" not in text)
    for finding in findings:
        chain = chain_in(finding)
        expected = "{{params.tag}}" if "params" in text else text
        assert chain["dag"]["nodes"][0]["config"] == {"tag": expected}
        assert text not in finding.rationale + finding.title


def test_a_value_that_cannot_be_kept_is_not_proposed() -> None:
    for bad in ("a\x00b", 2**60, float("nan"), "x" * 200_000, [[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]):
        row = (node("a", RECALL, {"tag": bad}), node("b", COMPOSE))
        assert found(repeated(row, row), KIND) == []


def test_names_of_members_that_are_no_names_still_make_parameters() -> None:
    rows = [(node("a", RECALL, {"1 {{é}}": name, "é": name + "2"}), node("b", COMPOSE)) for name in ("x", "y")]
    chain = chain_in(only(repeated(*rows)))
    assert sorted(chain["parameters"]["properties"]) == ["value", "value_1"]


def test_a_chain_that_leaves_nearly_everything_open_is_not_proposed() -> None:
    def row(value: str, members: int) -> tuple[NodeTrace, ...]:
        config = {f"m{at}": f"{value}{at}" for at in range(members)}
        return (node("a", RECALL, config), node("b", COMPOSE))

    assert len(chain_in(only(repeated(row("x", 50), row("y", 50))))["parameters"]["required"]) == 50
    assert found(repeated(row("x", 51), row("y", 51)), KIND) == []


def test_a_port_keeps_its_value_and_one_that_may_be_empty_asks_for_none() -> None:
    def row(language: str) -> tuple[NodeTrace, ...]:
        note = {"type": "variable", "variableName": "note", "optional": True}
        said = {"language": {"type": "static", "value": language}, "tone": {"type": "static", "value": "calm"}}
        return (node("a", RECALL, inputs={"note": note}), node("b", COMPOSE, inputs=said))

    chain = chain_in(only(repeated(row("en"), row("pl"))))
    first, second = chain["dag"]["nodes"]
    assert first["inputs"] == {"note": {"type": "variable", "variableName": "note", "optional": True}}
    assert second["inputs"]["language"] == {"type": "static", "value": "{{params.language}}"}
    assert second["inputs"]["tone"] == {"type": "static", "value": "calm"}
    assert chain["parameters"]["required"] == ["language"]


def test_a_row_of_runs_names_the_newest_and_says_how_many_there_were() -> None:
    finding = only(repeated(triage(), triage("b"), times=40))
    assert len(finding.source_run_ids) == 25
    assert "80 completed runs" in finding.rationale
    assert "newest 25" in finding.rationale


KINDS = st.sampled_from([RECALL, COMPOSE, REMEMBER, "core.approvalGate"])
ROWS = st.lists(st.tuples(KINDS, st.sampled_from(["x", "y", "{{z}}"])), min_size=2, max_size=5)


@tries(40)
@given(st.lists(ROWS, min_size=1, max_size=6), st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(kinds: list[list[tuple[str, str]]], seed: int) -> None:
    nodes = [tuple(node(f"n{at}", name, {"v": value}) for at, (name, value) in enumerate(row)) for row in kinds]
    traces = repeated(*nodes)
    assert mining.as_bytes(found(traces)) == mining.as_bytes(found(mining.shuffled(traces, seed)))


def steps_of(runs: list[RunTrace]) -> int:
    """How many calls it takes to look at the runs, once the patterns of the miners are compiled."""
    miners.mine(Traces(runs=tuple(runs[:1])), now=mining.NOW)
    calls = 0

    def count(_frame: Any, event: str, _what: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        miners.mine(Traces(runs=tuple(runs)), now=mining.NOW)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("workflows", [3, 10_000])
def test_four_times_the_runs_take_little_more_than_four_times_the_steps(workflows: int) -> None:
    def runs(count: int) -> list[RunTrace]:
        row = tuple(node(f"n{at}", f"vendor.acme.step{at}", {"v": at}) for at in range(6))
        return [run(number, f"flow-{number % workflows}", *row) for number in range(count)]

    assert steps_of(runs(1200)) < 6 * steps_of(runs(300))


def test_many_edges_make_no_more_rows_than_there_are_nodes() -> None:
    def dense(width: int) -> RunTrace:
        nodes = [node(f"n{at}", "vendor.acme.step") for at in range(width)]
        edges = tuple((f"n{a}", f"n{b}") for a in range(width) for b in range(a + 1, width))
        return run(1, "flow", *nodes, edges=edges)

    assert steps_of([dense(100)]) < 20_000
