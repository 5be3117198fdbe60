"""``memory-consolidation-shape``: what is advertised of consolidation, and what a pass tells (RFC 0068 A and B)."""

import re
from typing import Any

import pytest

from tests import sse
from tests.conformance import dreaming, schemas
from tests.conformance.conftest import Host
from tests.conformance.dreaming import CONSOLIDATE


def test_the_block_is_of_its_shape_on_a_host_with_long_term_memory(host: Host) -> None:
    document = dreaming.advertised(host)
    schemas.check("capabilities", document)
    assert document["agents"]["memoryConsolidation"] == {"supported": True, "schedule": "on-demand"}
    assert "long-term" in document["agents"]["memoryBackends"]


def test_a_first_pass_over_duplicates_and_a_superseded_value_reduces(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, CONSOLIDATE, memoryRef=ref)
    assert set(made) == {"event", "secretLeaked", "runId"}
    event = made["event"]
    schemas.check_payload("agentMemoryConsolidated", event)
    entries = dreaming.listed(seamed, ref)
    assert (event["memoryRef"], event["trigger"]) == (ref, "on-demand")
    assert event["outputCount"] == len(entries) < event["inputCount"]
    assert not set(event["mergedIds"]) & {entry["id"] for entry in entries}
    shown = str(entries)
    assert "$59" in shown
    assert "$49" not in shown
    assert made["secretLeaked"] is False


def test_the_event_is_durable_content_free_and_before_the_end_of_its_run(seamed: Host) -> None:
    made = dreaming.asked(seamed, CONSOLIDATE, memoryRef=dreaming.fresh_ref())
    events = seamed.events(made["runId"])
    for event in events:
        schemas.check("run-event", event)
    told = [event["type"] for event in events]
    assert told.count("agent.memory.consolidated") == 1
    assert told[-1] == "run.completed"
    assert "nodeId" not in str([event["payload"] for event in events if event["type"] == "memory.written"])
    for word in ("Pro plan", "Invoices", "Polish"):
        assert word not in str(events)
    with seamed.client() as client:
        streamed = sse.types(sse.read(client, made["runId"], streamMode="debug"))
    assert streamed == told


def test_entries_that_differ_in_an_amount_a_name_or_a_negation_stay_apart(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    said = [
        "Ana Torres prefers calls in the morning.",
        "Ana Torvald prefers calls in the morning.",
        "The gift card of order 4711 was refunded.",
        "The gift card of order 4712 was refunded.",
        "The loan machine was returned.",
        "The loan machine was not returned.",
    ]
    dreaming.seed(seamed, ref, *said)
    made = dreaming.asked(seamed, CONSOLIDATE, memoryRef=ref)
    assert made["event"]["inputCount"] == made["event"]["outputCount"] == len(said)
    assert {entry["content"] for entry in dreaming.listed(seamed, ref)} == set(said)


def test_a_canary_is_planted_and_does_not_leak(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, CONSOLIDATE, memoryRef=ref, includeSecretCanary=True)
    entries = dreaming.listed(seamed, ref)
    assert made["secretLeaked"] is False
    written = {e["payload"]["memoryId"] for e in seamed.events(made["runId"]) if e["type"] == "memory.written"}
    assert [each for each in entries if each["id"] in written and "[REDACTED:conformance-canary]" in each["content"]]
    assert not re.search("canary-[0-9a-f]{8}", str([made, entries, seamed.events(made["runId"])]))


def test_old_marks_and_shapes_of_secrets_do_not_come_through_a_merge(seamed: Host) -> None:
    ref, key = dreaming.fresh_ref(), "AKIA" + "ABCDEFGH12345678"
    dreaming.seed(seamed, ref, *["The case was filed with <REDACTED:crm-key> today."] * 2)
    dreaming.seed(seamed, ref, *[f"Somebody pasted {key} into the chat."] * 2)
    made = dreaming.asked(seamed, CONSOLIDATE, memoryRef=ref)
    assert (made["event"]["inputCount"], made["event"]["outputCount"]) == (4, 2)
    written = [e["payload"]["memoryId"] for e in seamed.events(made["runId"]) if e["type"] == "memory.written"]
    derived = [entry["content"] for entry in dreaming.listed(seamed, ref) if entry["id"] in written]
    assert len(derived) == len(written) == 2
    assert "<REDACTED:" not in str(derived)
    assert key not in str(derived)


def test_nothing_of_another_ref_or_tenant_is_touched(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    twice = ["The kettle is in shop 4.", "The kettle is in shop 4."]
    dreaming.seed(seamed, ref, *twice)
    dreaming.seed(seamed, f"{ref}/other", *twice)
    dreaming.seed(seamed, ref, *twice, key="globex/owner")
    before = dreaming.listed(seamed, f"{ref}/other"), dreaming.listed(seamed, ref, key="globex/owner")
    assert dreaming.asked(seamed, CONSOLIDATE, memoryRef=ref)["event"]["outputCount"] == 1
    assert (dreaming.listed(seamed, f"{ref}/other"), dreaming.listed(seamed, ref, key="globex/owner")) == before


@pytest.mark.parametrize(
    "body", [{}, {"memoryRef": None}, {"memoryRef": "x", "includeSecretCanary": "perhaps"}, {"memoryRef": "x", "y": 1}]
)
def test_a_body_that_makes_no_sense_is_refused_in_the_envelope(seamed: Host, body: Any) -> None:
    dreaming.refused(dreaming.ask(seamed, CONSOLIDATE, body), 400, "validation_error")
