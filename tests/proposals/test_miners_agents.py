"""Agents that no longer do what their manifests say: what is asked for, what is given up, and what is left alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proposals.learning.miners.traces import Finding, InstalledAgent, NodeTrace, Origin, RunTrace, Traces
from tests import mining
from tests.budgets import tries
from tests.mining import NOW, READ, RECALL, REMEMBER, WRITE, agent, found, node, run

KIND = "agent-pack"
CLERK = "private.acme.clerk"
FILES = "openwop:workspace.read"


def refused(*tools: str, **changes: Any) -> NodeTrace:
    given = {"state": "failed", "error_code": "tool_not_allowed", "tools": tools, "agent_id": CLERK}
    return node("x", REMEMBER, **{**given, **changes})


def used(*tools: str, **changes: Any) -> NodeTrace:
    return node("y", RECALL, **{"tools": tools, "agent_id": CLERK, **changes})


def runs(count: int, *nodes: NodeTrace, **changes: Any) -> tuple[RunTrace, ...]:
    return tuple(run(n, "flow", *nodes, **changes) for n in range(1, count + 1))


def seen(*traced: RunTrace, agents: tuple[InstalledAgent, ...] = (), **manifest: Any) -> Traces:
    return Traces(runs=traced, agents=agents or (agent(**manifest),))


def only(traces: Traces) -> Finding:
    [finding] = found(traces, KIND)
    return finding


def manifest_in(finding: Finding, at: int = 0) -> dict[str, Any]:
    manifest: dict[str, Any] = finding.artifact["agents"][at]
    return manifest


def test_a_tool_that_was_refused_in_three_runs_is_asked_for() -> None:
    finding = only(seen(*runs(3, refused(READ, WRITE)), toolAllowlist=[READ]))
    assert manifest_in(finding)["toolAllowlist"] == [READ, WRITE]
    assert (finding.artifact["name"], finding.artifact["version"]) == (CLERK, "1.1.0")
    assert (finding.agent_id, len(finding.source_run_ids)) == (CLERK, 3)
    assert f'was refused "{WRITE}" in 3 runs' in finding.rationale


def test_how_many_of_the_runs_agents_have_started_themselves_is_said() -> None:
    first, second, third = runs(3, refused(WRITE))
    own = [replace(each, origin=Origin.AGENT) for each in (first, second)]
    finding = only(seen(*own, replace(third, origin=Origin.KEY), toolAllowlist=[]))
    assert "; 2 of 3 started by agents themselves)." in finding.rationale
    by_others = only(seen(first, second, third, toolAllowlist=[]))
    assert "themselves" not in by_others.rationale
    assert by_others.pattern == finding.pattern


def test_tools_that_twenty_runs_have_not_used_are_given_up() -> None:
    finding = only(seen(*runs(20, used(READ)), toolAllowlist=[WRITE, READ, FILES]))
    assert manifest_in(finding)["toolAllowlist"] == [READ]
    assert finding.artifact["version"] == "1.0.1"
    assert "none of 20 runs" in finding.rationale


def test_an_agent_that_remembers_across_runs_says_so() -> None:
    finding = only(
        seen(*runs(3, used(READ)), memoryShape={"longTerm": False, "scratchpad": True}, toolAllowlist=[READ])
    )
    assert manifest_in(finding)["memoryShape"] == {"longTerm": True, "scratchpad": True}
    assert finding.artifact["version"] == "1.1.0"


def test_an_agent_that_never_remembers_no_longer_says_so() -> None:
    finding = only(seen(*runs(20, used()), memoryShape={"longTerm": True}))
    assert manifest_in(finding)["memoryShape"] == {"longTerm": False}
    assert finding.artifact["version"] == "1.0.1"


def test_all_changes_of_an_agent_are_one_revision() -> None:
    traced = (*runs(20, used(READ)), *(replace(each, run_id=f"other{each.run_id}") for each in runs(3, refused(WRITE))))
    finding = only(seen(*traced, toolAllowlist=[READ, FILES], memoryShape={"longTerm": False}))
    assert manifest_in(finding)["toolAllowlist"] == [READ, WRITE]
    assert manifest_in(finding)["memoryShape"] == {"longTerm": True}
    assert finding.artifact["version"] == "1.1.0"


def test_a_pack_keeps_its_name_its_needs_and_its_other_agents() -> None:
    pack: dict[str, Any] = {
        "packName": "private.acme.desk",
        "packVersion": "2.3.4",
        "peerDependencies": {"memory": "supported"},
    }
    other = agent("private.acme.porter", "2.3.4", **pack)
    mine = replace(agent(version="2.3.4", toolAllowlist=[], **pack), taken=("2.4.0",))
    artifact = only(seen(*runs(3, refused(WRITE)), agents=(mine, other))).artifact
    assert (artifact["name"], artifact["version"]) == ("private.acme.desk", "2.5.0")
    assert artifact["peerDependencies"] == {"memory": "supported"}
    assert [each["agentId"] for each in artifact["agents"]] == [CLERK, "private.acme.porter"]
    assert all("packName" not in each and "peerDependencies" not in each for each in artifact["agents"])


def test_two_agents_of_one_pack_that_have_drifted_are_one_revision() -> None:
    agents = tuple(agent(name, packName="private.acme.desk", toolAllowlist=[]) for name in (CLERK, "private.acme.two"))
    nodes = (refused(WRITE), refused(READ, agent_id="private.acme.two"))
    finding = only(seen(*runs(3, *nodes), agents=agents))
    assert [each["toolAllowlist"] for each in finding.artifact["agents"]] == [[WRITE], [READ]]


LATE = (replace(agent(toolAllowlist=[]), installed_at=NOW),)
LOOKALIKES: dict[str, Traces] = {
    "refused twice": seen(*runs(2, refused(WRITE)), toolAllowlist=[]),
    "refused thrice in one run": seen(run(1, "flow", *[refused(WRITE)] * 3), toolAllowlist=[]),
    "another failure": seen(*runs(5, refused(WRITE, error_code="node_failed")), toolAllowlist=[]),
    "another agent was refused": seen(*runs(5, refused(WRITE, agent_id="private.acme.b")), toolAllowlist=[]),
    "nobody was refused": seen(*runs(5, refused(WRITE, agent_id="")), toolAllowlist=[]),
    "refused before it was installed so": seen(*runs(5, refused(WRITE)), agents=LATE),
    "allowed by now": seen(*runs(5, refused(WRITE)), toolAllowlist=[WRITE]),
    "an agent that is not installed": Traces(runs=runs(5, refused(WRITE))),
    "refused in workflows of the host": seen(*runs(5, refused(WRITE), builtin=True), toolAllowlist=[]),
    "nineteen runs without a tool": seen(*runs(19, used(READ)), toolAllowlist=[READ, WRITE]),
    "twenty runs, one with the tool": seen(
        *runs(20, used(READ)), run(99, "f", used(WRITE)), toolAllowlist=[READ, WRITE]
    ),
    "twenty runs of the host's own": seen(*runs(20, used(READ), builtin=True), toolAllowlist=[WRITE]),
    "twenty runs that skipped the agent": seen(*runs(20, used(READ, state="skipped")), toolAllowlist=[WRITE]),
    "a tool that was wanted beside one that was refused": seen(
        *runs(2, refused(READ, WRITE)),
        *(replace(r, run_id=f"b{r.run_id}") for r in runs(20, used())),
        toolAllowlist=[READ],
    ),
    "memory that nothing is said of": seen(*runs(20, used(READ)), toolAllowlist=[READ]),
    "memory that was used twice": seen(*runs(2, used(READ)), memoryShape={"longTerm": False}, toolAllowlist=[READ]),
    "memory that is declared and used": seen(
        *runs(20, used(READ)), memoryShape={"longTerm": True}, toolAllowlist=[READ]
    ),
    "memory that is declared and hardly needed yet": seen(*runs(19, used()), memoryShape={"longTerm": True}),
    "files are no memory": seen(*runs(20, used(FILES)), memoryShape={"longTerm": False}, toolAllowlist=[FILES]),
    "a version that is none": seen(*runs(3, refused(WRITE)), agents=(agent(version="one", toolAllowlist=[]),)),
}


@pytest.mark.parametrize("traces", LOOKALIKES.values(), ids=LOOKALIKES.keys())
def test_an_agent_that_works_as_its_manifest_says_is_left_alone(traces: Traces) -> None:
    assert found(traces, KIND) == []


def test_the_same_sight_has_one_pattern_and_another_sight_or_version_another() -> None:
    first = seen(*runs(3, refused(WRITE)), toolAllowlist=[])
    again = seen(*runs(9, refused(WRITE)), toolAllowlist=[])
    other = seen(*runs(3, refused(READ)), toolAllowlist=[])
    revised = seen(*runs(3, refused(WRITE)), agents=(agent(version="1.2.0", toolAllowlist=[]),))
    patterns = [only(each).pattern for each in (first, again, other, revised)]
    assert patterns[0] == patterns[1]
    assert len(set(patterns)) == 3


@pytest.mark.parametrize("text", ["\u202etool", "a\nb", '"quoted"', "x" * 250, "{{a}}"])
def test_the_name_of_a_tool_is_shown_on_one_line_without_marks(text: str) -> None:
    rationale = only(seen(*runs(20, used(READ)), toolAllowlist=[READ, text])).rationale
    assert not set(rationale) & {"\u202e", "\n"}
    assert len(rationale) < 400


def test_what_an_agent_was_told_is_in_no_rationale() -> None:
    finding = only(seen(*runs(3, refused(WRITE)), toolAllowlist=[], systemPrompt="canary {{x}}", persona="canary"))
    assert "canary" not in finding.rationale + finding.title + finding.artifact["description"]
    assert manifest_in(finding)["systemPrompt"] == "canary {{x}}"


TOOLS = st.lists(st.sampled_from([READ, WRITE, FILES]), max_size=2)


@tries(40)
@given(st.lists(st.tuples(TOOLS, st.booleans()), max_size=26), st.booleans(), st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(work: list[tuple[list[str], bool]], declared: bool, seed: int) -> None:
    nodes = [refused(*tools) if failed else used(*tools) for tools, failed in work]
    traced = tuple(run(at, "flow", each, created_at=NOW - timedelta(hours=1)) for at, each in enumerate(nodes))
    shape: dict[str, Any] = {"memoryShape": {"longTerm": declared}, "toolAllowlist": [READ, FILES]}
    traces = seen(*traced, agents=(agent(**shape), agent("private.acme.two", **shape)))
    assert mining.as_bytes(found(traces)) == mining.as_bytes(found(mining.shuffled(traces, seed)))
