"""``distillation-index-roundtrip``: the index a next session loads is a workspace file (RFC 0062 B.5, RFC 0059)."""

from typing import Any

from tests.conformance import dreaming, schemas
from tests.conformance.conftest import Host
from tests.conformance.dreaming import DISTILL, INDEX, SOURCES


def updates(host: Host, run_id: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in host.events(run_id) if event["type"] == "workspace.updated"]


def test_the_index_can_be_read_back_and_names_the_archive(seamed: Host) -> None:
    made = dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, indexEmitted=True)
    assert made["indexUpdated"] is made["event"]["distillation"]["indexUpdated"] is True
    index = dreaming.index(seamed)
    told = made["indexFile"]
    assert set(told) == {"version", "archiveChecksum", "entryCount", "updatedAt"}
    assert {name: index[name] for name in told} == told
    assert told["archiveChecksum"] == made["archiveChecksum"]
    assert told["entryCount"] >= 1


def test_the_write_of_the_index_is_on_the_log_of_the_same_run_before_the_compaction_that_tells_of_it(
    seamed: Host,
) -> None:
    made = dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, indexEmitted=True)
    found = updates(seamed, made["runId"])
    for payload in found:
        schemas.check_payload("workspaceUpdated", payload)
    current = dreaming.file(seamed)
    assert current is not None
    assert {"path": INDEX, "version": current["version"]} in found
    told = dreaming.types(seamed, made["runId"])
    assert told.index("workspace.updated") < told.index("memory.compacted") < told.index("run.completed")


def test_each_distillation_makes_a_new_version_and_the_version_before_stays(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    first = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES, indexEmitted=True)
    before = dreaming.file(seamed)
    second = dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES[:3], indexEmitted=True)
    after = dreaming.file(seamed)
    assert before is not None
    assert after is not None
    assert after["version"] > before["version"]
    assert first["archiveChecksum"] in before["content"]
    assert second["archiveChecksum"] in after["content"]
    with seamed.client() as client:
        kept = client.get(f"/v1/host/workspace/files/{INDEX}", params={"version": before["version"]}).json()
    assert kept["content"] == before["content"]


def test_there_is_a_sibling_for_people(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.asked(seamed, DISTILL, memoryRef=ref, sources=SOURCES, indexEmitted=True)
    sibling = dreaming.file(seamed, "MEMORY-INDEX.md")
    assert sibling is not None
    assert ref in sibling["content"]


def test_who_asks_for_no_index_gets_none(seamed: Host) -> None:
    before = dreaming.file(seamed)
    made = dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, indexEmitted=False)
    assert made["indexUpdated"] is False
    assert "indexFile" not in made
    assert updates(seamed, made["runId"]) == []
    assert dreaming.file(seamed) == before


def test_the_index_holds_nothing_of_what_was_distilled(seamed: Host) -> None:
    dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, indexEmitted=True)
    shown = str(dreaming.file(seamed)) + str(dreaming.file(seamed, "MEMORY-INDEX.md"))
    for word in ("vinegar", "Fremantle", "goodwill"):
        assert word not in shown
