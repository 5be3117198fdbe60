"""``POST /v1/runs:bulk-cancel`` (openwop-host 3.7): one answer an id, in the order asked for."""

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_each_id_has_its_answer_in_order_and_asking_again_changes_nothing(host: Host) -> None:
    finished = host.run("conformance-noop")["runId"]
    with host.client() as client:
        waiting = client.post("/v1/runs", json={"workflowId": "conformance-cancellable"}).json()["runId"]
        body = {"runIds": [waiting, "nope", finished], "reason": "no longer needed"}
        answer = client.post("/v1/runs:bulk-cancel", json=body)
        assert answer.status_code == 200
        first, unknown, ended = answer.json()["results"]
        assert (first["runId"], first["ok"]) == (waiting, True)
        assert first["status"] in {"cancelling", "cancelled"}
        assert (unknown["runId"], unknown["ok"], unknown["error"]["code"]) == ("nope", False, "not_found")
        assert ended == {"runId": finished, "ok": True, "status": "completed"}
        assert host.finished(client, waiting, seconds=5)["status"] == "cancelled"
        again = client.post("/v1/runs:bulk-cancel", json={"runIds": [waiting]}).json()["results"]
        assert again == [{"runId": waiting, "ok": True, "status": "cancelled"}]


def test_a_foreign_run_is_as_unknown_as_one_that_never_was(host: Host) -> None:
    with host.client("globex/owner") as globex, host.client() as acme:
        foreign = globex.post("/v1/runs", json={"workflowId": "conformance-cancellable"}).json()["runId"]
        missing = f"run_{'0' * 32}"
        results = acme.post("/v1/runs:bulk-cancel", json={"runIds": [foreign, missing]}).json()["results"]
        assert results[0]["error"] == results[1]["error"]
        assert globex.get(f"/v1/runs/{foreign}").json()["status"] in {"pending", "running"}
        globex.post(f"/v1/runs/{foreign}/cancel")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"runIds": []},
        {"runIds": [1, {}]},
        {"runIds": [1]},
        {"runIds": [True]},
        {"runIds": "run_1"},
        {"runIds": [""]},
    ],
)
def test_a_body_that_is_none_is_refused(host: Host, body: dict) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs:bulk-cancel", json=body)
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")


def test_more_than_a_hundred_ids_are_refused_with_the_number_that_is_allowed(host: Host) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs:bulk-cancel", json={"runIds": ["run_x"] * 101})
    schemas.check("error-envelope", refused.json())
    assert (refused.status_code, refused.json()["details"]["maxRunIds"]) == (400, 100)


def test_a_viewer_cancels_nothing(host: Host) -> None:
    with host.client("acme/viewer") as client:
        refused = client.post("/v1/runs:bulk-cancel", json={"runIds": ["run_x"]})
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "runs:cancel")
