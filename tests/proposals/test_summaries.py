"""What a reviewer reads first: what a new version would change, in words and by its kind."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from proposals import summaries
from proposals.models import Kind

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

PROMPT = {
    "templateId": "triage.summary",
    "version": "1.0.0",
    "kind": "system",
    "text": "Summarise {{ticket}} in two sentences.",
    "variables": [{"name": "ticket", "type": "string", "required": True}],
}
AGENT = {
    "agentId": "private.acme.triage",
    "persona": "Triage",
    "modelClass": "reasoning",
    "systemPrompt": "Sort what comes in.",
    "toolAllowlist": ["memory.read", "memory.write"],
    "memoryShape": {"scratchpad": True, "longTerm": False},
}
PACK = {
    "name": "private.acme.desk",
    "version": "1.0.0",
    "engines": {"openwop": ">=1"},
    "runtime": {"language": "remote", "entry": "none"},
    "agents": [AGENT],
}
CHAIN = {
    "chainId": "private.acme.recallThenWrite",
    "version": "1.0.0",
    "label": "Recall, then write",
    "description": "x",
    "parameters": {"type": "object", "properties": {"ref": {"type": "string"}}},
    "dag": {
        "nodes": [{"id": "a", "typeId": "core.noop"}, {"id": "b", "typeId": "vendor.console.recall"}],
        "edges": [{"from": "a", "to": "b"}],
    },
}
CHAINS = {
    "name": "private.acme.chains",
    "version": "1.0.0",
    "kind": "workflow-chain",
    "engines": {"openwop": ">=1"},
    "chains": [CHAIN],
}
NIGHTLY = {"workflowId": "digest", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "inputs": {"desk": "north"}}


def told(kind: str, old: Any, new: Any) -> list[str]:
    """The lines as ``tone: words``."""
    before = json.dumps(old) if old is not None else ""
    found = summaries.summary(kind, before, json.dumps(new), now=NOW)
    return [f"{line.tone}: {line.words}" for line in found.lines]


def test_a_prompt_tells_its_variables_before_its_words() -> None:
    new = {
        **PROMPT,
        "version": "1.1.0",
        "text": "Summarise {{ticket}} for {{reader}} in one sentence, {{tone}}.",
        "variables": [
            {"name": "ticket", "type": "string", "required": False},
            {"name": "reader", "type": "string", "required": True},
        ],
    }
    assert told(Kind.PROMPT_TEMPLATE, PROMPT, new) == [
        "gain: Variables: reader",
        "change: Version: 1.0.0 → 1.1.0",
        "change: Variable ticket is not required any more",
        "change: Text: +5 \N{MINUS SIGN}2 words",
        "note: Used in the text and declared by no variable: tone",
    ]


def test_an_agent_tells_what_it_may_do_now_and_what_it_keeps() -> None:
    changed = {
        **AGENT,
        "toolAllowlist": ["memory.read", "files.write"],
        "memoryShape": {"scratchpad": False, "longTerm": True},
        "modelClass": "writing",
    }
    runtime = {**PACK["runtime"], "requires": ["net.outbound"]}  # type: ignore[dict-item]
    assert told(Kind.AGENT_PACK, PACK, {**PACK, "version": "1.1.0", "runtime": runtime, "agents": [changed]}) == [
        "gain: Tools of private.acme.triage: files.write",
        "gain: Memory of private.acme.triage: what lasts across runs",
        "gain: Permissions of the pack: net.outbound",
        "loss: Tools of private.acme.triage: memory.write",
        "loss: Memory of private.acme.triage: a scratchpad",
        "change: Version: 1.0.0 → 1.1.0",
        "change: Model class of private.acme.triage: reasoning → writing",
    ]


def test_an_agent_that_comes_and_one_that_goes_are_named() -> None:
    other = {**AGENT, "agentId": "private.acme.writer"}
    lines = told(Kind.AGENT_PACK, PACK, {**PACK, "agents": [other]})
    assert "gain: Agents: private.acme.writer" in lines
    assert "loss: Agents: private.acme.triage" in lines
    assert "gain: Tools of private.acme.writer: memory.read, memory.write" in lines


def test_a_chain_tells_its_nodes_and_the_tools_they_use() -> None:
    nodes = [{"id": "a", "typeId": "core.noop"}, {"id": "c", "typeId": "vendor.console.remember"}]
    chain = {**CHAIN, "parameters": {}, "dag": {"nodes": nodes, "edges": [{"from": "a", "to": "c"}]}}
    assert told(Kind.WORKFLOW_CHAIN_PACK, CHAINS, {**CHAINS, "version": "1.1.0", "chains": [chain]}) == [
        "gain: Tools used by private.acme.recallThenWrite: openwop:memory.write",
        "gain: Nodes of private.acme.recallThenWrite: vendor.console.remember (c)",
        "loss: Tools used by private.acme.recallThenWrite: openwop:memory.read",
        "loss: Nodes of private.acme.recallThenWrite: vendor.console.recall (b)",
        "loss: Parameters of private.acme.recallThenWrite: ref",
        "change: Version: 1.0.0 → 1.1.0",
        "change: private.acme.recallThenWrite goes another way: its edges changed",
    ]


def test_a_node_that_became_another_and_one_that_is_set_otherwise_are_told_and_a_new_chain_whole() -> None:
    nodes = [
        {"id": "a", "typeId": "vendor.console.summarize"},
        {"id": "b", "typeId": "vendor.console.recall", "config": {"limit": 3}},
    ]
    chain = {**CHAIN, "dag": {"nodes": nodes, "edges": [{"from": "a", "to": "b"}]}}
    fresh = {**CHAIN, "chainId": "private.acme.other"}
    lines = told(Kind.WORKFLOW_CHAIN_PACK, CHAINS, {**CHAINS, "chains": [chain, fresh]})
    assert "change: Node a is another: core.noop → vendor.console.summarize" in lines
    assert "change: Node b (vendor.console.recall) is set otherwise" in lines
    assert "note: private.acme.other is: core.noop → vendor.console.recall" in lines


def test_an_agent_s_threshold_is_told_from_none_on() -> None:
    sure = {**AGENT, "confidence": {"defaultThreshold": 0.8}}
    assert told(Kind.AGENT_PACK, PACK, {**PACK, "agents": [sure]}) == [
        "change: Confidence threshold of private.acme.triage: none → 0.8"
    ]


def test_an_automation_is_told_in_words_with_its_next_five_runs() -> None:
    found = summaries.summary(Kind.AUTOMATION, "", json.dumps(NIGHTLY), now=NOW)
    words = "Starts digest: At 09:00 on Monday through Friday (Europe/Berlin)"
    assert [line.words for line in found.lines] == [words, "Inputs: desk"]
    days = [(tick.day, tick.hour) for tick in found.ticks]
    assert days == [(23, 9), (24, 9), (25, 9), (26, 9), (27, 9)]
    moved = {**NIGHTLY, "cron": "0 30 7 * * *", "missedTickPolicy": "skip", "inputs": {"desk": "south"}}
    assert told(Kind.AUTOMATION, NIGHTLY, moved) == [
        "change: When: At 09:00 on Monday through Friday (Europe/Berlin) → At 07:30 every day (Europe/Berlin)",
        "change: When ticks were missed: the latest missed tick fires once → missed ticks are skipped",
        "change: Input desk has another value",
    ]


def test_what_happens_once_ticks_once_and_what_is_over_never() -> None:
    once = {"workflowId": "digest", "fireAt": "2026-12-01T08:00:00+01:00"}
    found = summaries.summary(Kind.AUTOMATION, "", json.dumps(once), now=NOW)
    assert [tick.isoformat() for tick in found.ticks] == ["2026-12-01T08:00:00+01:00"]
    over = json.dumps({**once, "fireAt": "2026-01-01T08:00:00Z"})
    assert summaries.summary(Kind.AUTOMATION, "", over, now=NOW).ticks == ()


@pytest.mark.parametrize("kind", Kind.values)
@pytest.mark.parametrize(
    "text", ["[]", "not json", '{"forgotten":"[forgotten]"}', "{}", '{"agents": 3, "chains": [7]}']
)
def test_what_is_no_artifact_is_said_to_be_none_and_never_an_error(kind: str, text: str) -> None:
    found = summaries.summary(kind, "", text, now=NOW)
    assert all(line.words for line in found.lines)
    assert found.ticks == ()


def test_the_same_twice_does_the_same() -> None:
    assert told(Kind.AGENT_PACK, PACK, PACK) == ["note: The two do the same."]


def test_long_names_and_many_changes_are_shortened_and_counted() -> None:
    agents = [{**AGENT, "agentId": f"private.acme.a{number}" + "x" * 200} for number in range(90)]
    lines = told(Kind.AGENT_PACK, None, {**PACK, "agents": agents})
    assert len(lines) == 61
    assert lines[-1].endswith("more changes.")
    assert max(map(len, lines[1:])) < 300


def test_what_was_not_there_before_is_worth_knowing_and_no_change() -> None:
    assert "note: Version: 1.0.0" in told(Kind.PROMPT_TEMPLATE, None, PROMPT)
    assert "change: Version: 1.0.0 → 1.1.0" in told(Kind.PROMPT_TEMPLATE, PROMPT, {**PROMPT, "version": "1.1.0"})


def test_what_is_said_beside_the_texts_stands_among_their_lines() -> None:
    line = summaries.change("Replaces agent:x@1.0.0, which is installed by itself")
    found = summaries.summary(Kind.AGENT_PACK, "", json.dumps(PACK), also=[line], now=NOW)
    assert line in found.lines
    assert [each.tone for each in found.lines] == sorted(
        (each.tone for each in found.lines), key=("gain", "loss", "change", "note").index
    )
