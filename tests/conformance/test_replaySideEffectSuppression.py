"""``conformance-replay-side-effect``: an act on the world is not done twice, and its replay fails closed."""

from tests.conformance import schemas
from tests.conformance.conftest import Host

EFFECTS: dict[str, str | int] = {"memoryRef": "conformance/effects", "limit": 1}


def test_a_replay_of_an_act_without_a_record_fails_closed_and_does_not_act(host: Host) -> None:
    source = host.run("conformance-replay-side-effect")
    assert source["status"] == "completed"
    with host.client() as client:
        acted = client.get("/v1/host/console/memory", params=EFFECTS).json()["total"]
        made = client.post(f"/v1/runs/{source['runId']}:fork", json={"mode": "replay"}).json()
        replay = host.finished(client, made["runId"])
        assert client.get("/v1/host/console/memory", params=EFFECTS).json()["total"] == acted
    assert (replay["status"], replay["error"]["code"]) == ("failed", "replay_source_missing")
    failed = next(event for event in host.events(made["runId"]) if event["type"] == "node.failed")
    schemas.check_payload("nodeFailed", failed["payload"])
    assert (failed["nodeId"], failed["payload"]["error"]["code"]) == ("effect", "replay_source_missing")


def test_a_branch_acts_again(host: Host) -> None:
    source = host.run("conformance-replay-side-effect")["runId"]
    with host.client() as client:
        acted = client.get("/v1/host/console/memory", params=EFFECTS).json()["total"]
        made = client.post(f"/v1/runs/{source}:fork", json={"mode": "branch", "fromSeq": 0}).json()
        assert host.finished(client, made["runId"])["status"] == "completed"
        assert client.get("/v1/host/console/memory", params=EFFECTS).json()["total"] == acted + 1
