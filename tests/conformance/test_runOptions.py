"""The closed body of ``POST /v1/runs``, ``configurable``, deduplication, and what this host does not offer (3.2)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_what_was_asked_for_comes_back_in_the_snapshot(host: Host) -> None:
    asked: dict[str, Any] = {
        "configurable": {"model": "m-1", "own": [1]},
        "tags": ["ui"],
        "metadata": {"console.view": "inbox"},
    }
    snapshot = host.run("conformance-noop", inputs={"extra": {"a": None}}, scopeId="s-1", **asked)
    schemas.check("run-snapshot", snapshot)
    assert {name: snapshot[name] for name in asked} == asked
    assert snapshot["inputs"] == {"extra": {"a": None}}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"configurable": {"recursionLimit": 0}}, 400, "validation_error"),
        ({"configurable": {"temperature": "hot"}}, 400, "validation_error"),
        ({"configurable": {"distillation.tokenBudget": "x"}}, 400, "validation_error"),
        ({"configurable": {"mockProvider": {"id": "stream-text"}}}, 403, "mock_provider_forbidden"),
        ({"metadata": {"a": "x" * 50_001}}, 400, "validation_error"),
        ({"callbackUrl": "not an address"}, 400, "validation_error"),
        ({"callbackUrl": "https://example.com/hook"}, 501, "capability_not_provided"),
        ({"residency": "eu"}, 501, "capability_not_provided"),
        ({"mode": "eval"}, 501, "capability_not_provided"),
        ({"mode": "other"}, 400, "validation_error"),
        ({"surprise": 1}, 400, "validation_error"),
    ],
)
def test_what_cannot_be_had_is_refused_and_no_run_is_made(host: Host, body: dict, status: int, code: str) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs", json={"workflowId": "conformance-noop", **body})
    schemas.check("error-envelope", refused.json())
    assert (refused.status_code, refused.json()["error"]) == (status, code)
    assert "runId" not in refused.json()


def test_an_engine_version_is_not_for_a_caller_to_choose(host: Host) -> None:
    with host.client() as client:
        refused = client.post(
            "/v1/runs", json={"workflowId": "conformance-noop"}, headers={"X-Force-Engine-Version": "0"}
        )
    assert (refused.status_code, refused.json()["error"]) == (403, "force_engine_version_forbidden")


def test_a_deduplication_in_other_words_is_refused_and_a_run_says_where_it_is(host: Host) -> None:
    body = {"workflowId": "conformance-noop", "scopeId": "import-8"}
    with host.client() as client:
        for said in ("true", "", "enforce,enforce"):
            refused = client.post("/v1/runs", json=body, headers={"X-Dedup": said})
            assert (refused.status_code, refused.json()["error"]) == (400, "validation_error"), said
        made = client.post("/v1/runs", json=body, headers={"X-Dedup": "Enforce"})
        assert made.headers["Location"] == f"/v1/runs/{made.json()['runId']}"
        assert client.get(made.headers["Location"]).json()["runId"] == made.json()["runId"]


@pytest.mark.console
def test_of_five_at_once_in_one_scope_one_runs_and_the_others_hear_which(host: Host) -> None:
    body = {"workflowId": "conformance-cancellable", "scopeId": "import-7"}

    def create(_: int) -> tuple[int, dict]:
        with host.client() as client:
            answer = client.post("/v1/runs", json=body, headers={"X-Dedup": "enforce"})
            return answer.status_code, answer.json()

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(create, range(5)))
    [made] = [answer for status, answer in answers if status == 201]
    refused = [answer for status, answer in answers if status == 409]
    assert len(refused) == 4
    assert {answer["error"] for answer in refused} == {"run_already_active"}
    assert {answer["details"]["activeRunId"] for answer in refused} == {made["runId"]}
    with host.client() as client:
        client.post(f"/v1/runs/{made['runId']}/cancel")
        host.finished(client, made["runId"], seconds=5)
        later = client.post("/v1/runs", json=body, headers={"X-Dedup": "enforce"})
        assert later.status_code == 201
        client.post(f"/v1/runs/{later.json()['runId']}/cancel")


def test_a_workflow_is_read_as_runs_of_it_would_pin_it(host: Host) -> None:
    with host.client("acme/viewer") as client:
        found = client.get("/v1/workflows/conformance-multi-node").json()
        schemas.check("workflow-definition", found)
        assert [node["id"] for node in found["nodes"]] == ["a", "b", "c"]
        unknown = client.get("/v1/workflows/nope")
    schemas.check("error-envelope", unknown.json())
    assert (unknown.status_code, unknown.json()["error"]) == (404, "workflow_not_found")


def test_an_artifact_route_asks_for_the_credential_before_it_looks(host: Host) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client("acme/viewer") as client:
        assert client.get(f"/v1/runs/{run_id}/artifacts").json() == {"artifacts": [], "total": 0}
        unknown = client.get(f"/v1/runs/{run_id}/artifacts/art_none")
        assert (unknown.status_code, unknown.json()["error"]) == (404, "artifact_not_found")
        client.headers.pop("Authorization")
        assert client.get(f"/v1/runs/{run_id}/artifacts/art_none").status_code == 401
        assert client.get("/v1/runs/run_none/artifacts/art_none").status_code == 401
