"""A branch is a run of its own: it goes on from its source's record, with effects, and its source is not touched."""

import pytest

from tests.conformance.conftest import Host


@pytest.mark.engines
def test_a_branch_from_the_start_has_effects_of_its_own_and_leaves_its_source_as_it_was(host: Host) -> None:
    source = host.run("conformance-agent-memory-roundtrip")
    before = host.events(source["runId"])
    with host.client() as client:
        made = client.post(f"/v1/runs/{source['runId']}:fork", json={"mode": "branch", "fromSeq": 0})
        assert (made.status_code, made.json()["mode"], made.json()["fromSeq"]) == (201, "branch", 0)
        branch = host.finished(client, made.json()["runId"])
        assert client.get(f"/v1/runs/{source['runId']}").json() == source
    assert branch["status"] == "completed"
    assert branch["variables"]["memoryReadback"]["id"] != source["variables"]["memoryReadback"]["id"]
    assert host.events(source["runId"]) == before
    assert [event["type"] for event in host.events(branch["runId"])] == [event["type"] for event in before]


def test_a_branch_from_the_middle_begins_with_its_source_s_log(host: Host) -> None:
    source = host.run("conformance-multi-node")["runId"]
    before = host.events(source)
    middle = next(event["sequence"] for event in before if event["type"] == "node.started" and event["nodeId"] == "b")
    with host.client() as client:
        body = {"mode": "branch", "fromSeq": middle, "runOptionsOverlay": {"tags": ["again"]}}
        branch = host.finished(client, client.post(f"/v1/runs/{source}:fork", json=body).json()["runId"])
    events = host.events(branch["runId"])
    assert (branch["status"], branch["tags"], branch["forkMode"]) == ("completed", ["again"], "branch")
    assert [(e["type"], e["payload"]) for e in events[:middle]] == [(e["type"], e["payload"]) for e in before[:middle]]
    assert [event["sequence"] for event in events] == list(range(len(events)))
    assert {event["runId"] for event in events} == {branch["runId"]}
    assert {event["eventId"] for event in events}.isdisjoint(event["eventId"] for event in before)
