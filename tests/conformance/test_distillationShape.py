"""``distillation-shape``: what is advertised of distillation, and the form of what it tells (RFC 0062 A)."""

import re
from typing import Any

import pytest

from tests.conformance import dreaming, schemas
from tests.conformance.conftest import Host
from tests.conformance.dreaming import DISTILL, SOURCES

ANSWERED = {"event", "archiveChecksum", "indexUpdated", "runId"}


def test_the_block_is_of_its_shape_and_what_it_builds_on_is_advertised_too(host: Host) -> None:
    document = dreaming.advertised(host)
    schemas.check("capabilities", document)
    block = document["memory"]["distillation"]
    assert block["supported"] is True
    assert block["maxTokenBudget"] >= 1
    assert re.fullmatch(r"P\d+D", block["archiveRetention"])
    assert block["tokenizerName"] == "o200k_base"
    assert block["scheduled"] <= document["scheduling"]["supported"]
    assert block["indexEmitted"] <= document["workspace"]["supported"]
    assert document["memory"]["compaction"]["trigger"] == "host-managed"
    assert document["capabilities"]["memory"] == document["memory"]


def test_the_event_is_that_of_a_compaction_with_its_figures(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref, tokenBudget=8000, sources=SOURCES, indexEmitted=True)
    assert set(made) == ANSWERED | {"indexFile"}
    event = made["event"]
    schemas.check_payload("memoryCompacted", event)
    assert (event["memoryRef"], event["sourceCount"], event["trigger"]) == (ref, len(SOURCES), "host-managed")
    assert set(event["distillation"]) == {"tokenBudget", "tokensUsed", "indexUpdated"}
    assert event["distillation"]["tokenBudget"] == 8000
    assert event["byteSize"] > 0
    assert re.fullmatch("[0-9a-f]{64}", made["archiveChecksum"])


def test_its_output_is_an_entry_of_the_ref_that_no_node_wrote(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES)
    [entry] = [each for each in dreaming.listed(seamed, ref) if each["id"] == made["event"]["outputId"]]
    schemas.check("memory-entry", entry)
    assert len(entry["content"].encode()) == made["event"]["byteSize"]
    events = seamed.events(made["runId"])
    written = [event["payload"] for event in events if event["type"] == "memory.written"]
    assert entry["id"] in [payload["memoryId"] for payload in written]
    assert not [payload for payload in written if "nodeId" in payload]
    for event in events:
        schemas.check("run-event", event)
    assert events[-1]["type"] == "run.completed"


def test_no_event_says_a_word_of_what_was_distilled(seamed: Host) -> None:
    made = dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, indexEmitted=True)
    told = str(seamed.events(made["runId"]))
    for word in ("vinegar", "Fremantle", "goodwill"):
        assert word not in told


def test_a_ref_that_holds_nothing_gets_a_small_corpus_first(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref)
    assert made["event"]["sourceCount"] == len(dreaming.listed(seamed, ref)) - 1 >= 3


def test_the_entries_of_a_ref_that_holds_some_are_its_sources_and_stay(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    planted = dreaming.seed(seamed, ref, *SOURCES)
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref)
    assert made["event"]["sourceCount"] == len(SOURCES)
    assert sorted(made["event"]["sourceIds"]) == sorted(planted)
    assert set(planted) < {entry["id"] for entry in dreaming.listed(seamed, ref)}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"memoryRef": ""},
        {"memoryRef": ["x"]},
        {"memoryRef": "x", "tokenBudget": 0},
        {"memoryRef": "x", "tokenBudget": "much"},
        {"memoryRef": "x", "sources": []},
        {"memoryRef": "x", "sources": "text"},
        {"memoryRef": "x", "sources": [{"text": "no content"}]},
        {"memoryRef": "x", "sources": [{"content": 5}]},
        {"memoryRef": "x", "sources": [None]},
        {"memoryRef": "x", "indexEmitted": "perhaps"},
        {"memoryRef": "x", "budget": 5},
        "text",
    ],
)
def test_a_body_that_makes_no_sense_is_refused_in_the_envelope(seamed: Host, body: Any) -> None:
    dreaming.refused(dreaming.ask(seamed, DISTILL, body), 400, "validation_error")
