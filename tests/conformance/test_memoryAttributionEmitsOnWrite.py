"""``memory.written`` stands on the log of the run that wrote: one an entry, by its node, and readable by its id."""

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


def test_a_run_that_writes_nothing_says_nothing(host: Host) -> None:
    events = host.events(host.run("conformance-noop")["runId"])
    assert [event for event in events if event["type"] == "memory.written"] == []


def test_polling_gives_the_same_events(host: Host) -> None:
    run_id = host.run("conformance-agent-memory-roundtrip")["runId"]
    with host.client() as client:
        polled = client.get(f"/v1/runs/{run_id}/events/poll?timeout=1").json()["events"]
    assert [event for event in polled if event["type"] == "memory.written"] == [
        event for event in host.events(run_id) if event["type"] == "memory.written"
    ]
