"""``conformance-agent-memory-roundtrip``: what a node writes, it reads back, attributed (RFC 0004, RFC 0057)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_a_node_reads_back_what_it_wrote(host: Host) -> None:
    snapshot = host.run("conformance-agent-memory-roundtrip")
    assert snapshot["status"] == "completed"
    schemas.check("run-snapshot", snapshot)
    schemas.check("memory-entry", snapshot["variables"]["memoryReadback"])
    assert snapshot["runId"] in snapshot["variables"]["memoryReadback"]["content"]


def test_the_write_is_attributed_to_its_node_without_its_content(host: Host) -> None:
    snapshot = host.run("conformance-agent-memory-roundtrip")
    events = host.events(snapshot["runId"])
    [written] = [event for event in events if event["type"] == "memory.written"]
    entry = snapshot["variables"]["memoryReadback"]
    schemas.check_payload("memoryWritten", written["payload"])
    assert written["payload"]["memoryId"] == entry["id"]
    assert written["payload"]["nodeId"] == written["nodeId"] == "probe"
    assert written["payload"]["agentId"] == "core.conformance-memory"
    assert entry["content"] not in str(events)


def test_a_later_run_still_finds_it(host: Host) -> None:
    first = host.run("conformance-agent-memory-roundtrip")["variables"]["memoryReadback"]["id"]
    listed = host.run("conformance-agent-memory-ttl")["variables"]["memoryList"]
    assert first in [entry["id"] for entry in listed]
