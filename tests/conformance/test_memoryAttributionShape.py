"""The shape of write attribution: the capability, and the event that is content-free (RFC 0057)."""

from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_attribution_is_advertised_with_the_constant_true(host: Host) -> None:
    block = host.stranger.get("/.well-known/openwop").json()["memory"]["attribution"]
    assert block == {"supported": True, "emitsWriteEvents": True}


@pytest.mark.parametrize(
    "payload",
    [
        {"memoryRef": "r", "memoryId": "mem_1"},
        {"memoryRef": "r", "memoryId": "mem_1", "nodeId": "n", "agentId": "core.x", "tags": ["a"]},
    ],
)
def test_a_payload_needs_the_ref_and_the_id_and_nothing_else(payload: dict[str, Any]) -> None:
    schemas.check_payload("memoryWritten", payload)


def test_every_write_event_of_this_host_has_that_shape_and_no_field_beside_it(host: Host) -> None:
    events = host.events(host.run("conformance-agent-memory-ttl")["runId"])
    written = [event for event in events if event["type"] == "memory.written"]
    assert len(written) == 2
    for event in written:
        schemas.check("run-event", event)
        schemas.check_payload("memoryWritten", event["payload"])
        assert set(event["payload"]) <= {"memoryRef", "memoryId", "nodeId", "agentId", "tags"}
