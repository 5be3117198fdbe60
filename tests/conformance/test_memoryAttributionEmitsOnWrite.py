"""``memory.written`` stands on the log of the run that wrote: one an entry, by its node, and readable by its id."""

from typing import Any

from tests import building
from tests.conformance.conftest import Host

FIXTURES = {
    "conformance-agent-memory-roundtrip": 1,
    "conformance-agent-memory-redaction": 1,
    "conformance-agent-memory-ttl": 2,
    "conformance-agent-memory-cross-tenant": 1,
}


def test_each_write_of_a_run_is_on_its_log_once_by_the_node_that_wrote_it(host: Host) -> None:
    for fixture, writes in FIXTURES.items():
        snapshot = host.run(fixture)
        written = [event for event in host.events(snapshot["runId"]) if event["type"] == "memory.written"]
        assert len(written) == len({event["payload"]["memoryId"] for event in written}) == writes, fixture
        for event in written:
            assert event["runId"] == snapshot["runId"]
            assert event["payload"]["nodeId"] in snapshot["nodeStates"]


def test_a_write_comes_before_the_last_event_and_names_an_entry_that_is_there(host: Host) -> None:
    snapshot = host.run("conformance-agent-memory-roundtrip")
    events = host.events(snapshot["runId"])
    assert events[-1]["type"] == "run.completed"
    [written] = [event["payload"] for event in events if event["type"] == "memory.written"]
    with host.client() as client:
        found = client.get(f"/v1/host/console/memory/{written['memoryId']}").json()
    assert found["memoryRef"] == written["memoryRef"]
    assert found["provenance"]["verdict"] == "node"


def written_by(host: Host, run_id: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in host.events(run_id) if event["type"] == "memory.written"]


def test_a_noop_run_leaves_the_summary_of_the_host_before_its_last_event(host: Host) -> None:
    run_id = host.run("conformance-noop")["runId"]
    types = [event["type"] for event in host.events(run_id)]
    assert types[-2:] == ["memory.written", "run.completed"]
    [written] = written_by(host, run_id)
    assert (written["memoryRef"], "nodeId" in written) == ("runs/conformance-noop", False)
    with host.client() as client:
        assert client.get(f"/v1/host/console/memory/{written['memoryId']}").status_code == 200


def test_a_replay_tells_the_same_write_again_and_a_branch_writes_its_own(host: Host) -> None:
    source = host.run("conformance-noop")["runId"]
    found = {}
    with host.client() as client:
        for mode in ("replay", "branch"):
            made = client.post(f"/v1/runs/{source}:fork", json={"mode": mode, "fromSeq": 0}).json()["runId"]
            assert host.finished(client, made)["status"] == "completed"
            found[mode] = [each["memoryId"] for each in written_by(host, made)]
    recorded = [each["memoryId"] for each in written_by(host, source)]
    assert found["replay"] == recorded
    assert len(found["branch"]) == 1
    assert found["branch"] != recorded


def test_a_workflow_that_does_not_ask_for_a_summary_gets_none(host: Host) -> None:
    assert written_by(host, host.run("conformance-multi-node")["runId"]) == []


def test_a_workflow_that_asks_for_a_summary_gets_one_under_its_own_ref(host: Host) -> None:
    document = building.definition("summed", building.node("only", "core.noop"))
    building.install("acme", {**document, "settings": {"memory": {"runSummary": True}}})
    [written] = written_by(host, host.run("summed")["runId"])
    assert (written["memoryRef"], "nodeId" in written) == ("runs/summed", False)


def test_polling_gives_the_same_events(host: Host) -> None:
    run_id = host.run("conformance-agent-memory-roundtrip")["runId"]
    with host.client() as client:
        polled = client.get(f"/v1/runs/{run_id}/events/poll?timeout=1").json()["events"]
    assert [event for event in polled if event["type"] == "memory.written"] == [
        event for event in host.events(run_id) if event["type"] == "memory.written"
    ]
