"""``:fork`` over the wire: what it takes, what it answers, what it refuses (openwop-host 3.8)."""

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_a_replay_is_created_with_what_it_comes_from_and_runs_to_its_end(host: Host) -> None:
    source = host.run("conformance-noop")["runId"]
    with host.client() as client:
        answer = client.post(f"/v1/runs/{source}:fork", json={"mode": "replay"})
        assert answer.status_code == 201, answer.text
        document = answer.json()
        assert set(document) == {"runId", "sourceRunId", "mode", "status", "eventsUrl", "fromSeq"}
        assert (document["sourceRunId"], document["mode"], document["fromSeq"]) == (source, "replay", 0)
        assert document["status"] in {"pending", "running"}
        assert document["eventsUrl"] == f"{host.url}/v1/runs/{document['runId']}/events"
        assert document["runId"] != source
        snapshot = host.finished(client, document["runId"])
        original = client.get(f"/v1/runs/{source}").json()
    schemas.check("run-snapshot", snapshot)
    assert snapshot["status"] == "completed"
    assert (snapshot["sourceRunId"], snapshot["forkMode"], snapshot["fromSeq"]) == (source, "replay", 0)
    assert snapshot["owner"] == original["owner"]
    assert "sourceRunId" not in original


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "validation_error"),
        ({"mode": "rewind"}, 400, "validation_error"),
        ({"mode": "replay", "fromSeq": -1}, 400, "validation_error"),
        ({"mode": "replay", "fromSeq": "one"}, 400, "validation_error"),
        ({"mode": "replay", "surprise": 1}, 400, "validation_error"),
        ({"mode": "replay", "runOptionsOverlay": {"configurable": {"model": "x"}}}, 400, "validation_error"),
        ({"mode": "branch"}, 400, "validation_error"),
        ({"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {"inputs": {}}}, 400, "validation_error"),
        ({"mode": "replay", "fromSeq": 999_999}, 422, "invalid_from_seq"),
        ({"mode": "branch", "fromSeq": 999_999}, 422, "invalid_from_seq"),
    ],
)
def test_a_body_that_is_none_is_refused_in_the_envelope(host: Host, body: dict, status: int, code: str) -> None:
    source = host.run("conformance-noop")["runId"]
    with host.client() as client:
        refused = client.post(f"/v1/runs/{source}:fork", json=body)
    assert (refused.status_code, refused.json()["error"]) == (status, code)
    schemas.check("error-envelope", refused.json())


def test_an_empty_overlay_is_none_and_the_last_sequence_and_one_more_is_the_bound(host: Host) -> None:
    source = host.run("conformance-noop")["runId"]
    length = len(host.events(source))
    with host.client() as client:

        def status(**body: object) -> int:
            return client.post(f"/v1/runs/{source}:fork", json=body).status_code

        assert status(mode="replay", runOptionsOverlay={}) == 201
        assert status(mode="replay", fromSeq=length) == 201
        assert status(mode="replay", fromSeq=length + 1) == 422


def test_a_run_that_still_goes_is_a_conflict_for_a_replay(host: Host) -> None:
    with host.client() as client:
        source = client.post("/v1/runs", json={"workflowId": "conformance-approval"}).json()["runId"]
        refused = client.post(f"/v1/runs/{source}:fork", json={"mode": "replay"})
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        assert refused.json()["details"]["runStatus"] in {"pending", "running", "waiting-approval"}
        assert client.post(f"/v1/runs/{source}:fork", json={"mode": "branch", "fromSeq": 0}).status_code == 201


def test_unknown_and_foreign_runs_are_one_answer_and_a_viewer_does_not_fork(host: Host) -> None:
    source = host.run("conformance-noop")["runId"]
    unknown = "run_" + "0" * 32
    with host.client("globex/owner") as globex, host.client("acme/viewer") as viewer, host.client() as client:
        foreign = globex.post(f"/v1/runs/{source}:fork", json={"mode": "replay"})
        missing = client.post(f"/v1/runs/{unknown}:fork", json={"mode": "replay"})
        refused = viewer.post(f"/v1/runs/{source}:fork", json={"mode": "replay"})
        assert client.get(f"/v1/runs/{source}:fork").status_code == 405
        assert client.get(f"/v1/runs/{source}:spoon").status_code == 404
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert foreign.json()["message"] == missing.json()["message"]
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "runs:create")


def test_it_is_advertised_as_it_is_built(host: Host) -> None:
    with host.client() as client:
        document = client.get("/.well-known/openwop").json()
    block = {"supported": True, "modes": ["replay", "branch"], "sideEffectSuppression": "recorded-outcome"}
    assert document["replay"] == document["capabilities"]["replay"] == block
    assert "conformance-replay-side-effect" in document["fixtures"]
