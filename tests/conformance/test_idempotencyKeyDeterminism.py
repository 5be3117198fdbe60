"""The same key gives the same run, however the body is spelled, and no other key does (openwop-host 4.4)."""

import json
from uuid import uuid4

from tests.conformance.conftest import Host

BODY = {"workflowId": "conformance-idempotent", "inputs": {"nonce": "n-1", "more": {"b": 1, "a": 2}}}


def test_the_order_of_keys_and_the_white_space_of_a_body_do_not_matter(host: Host) -> None:
    key = str(uuid4())
    other = {"inputs": {"more": {"a": 2, "b": 1}, "nonce": "n-1"}, "workflowId": "conformance-idempotent"}
    with host.client() as client:
        headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
        first = client.post("/v1/runs", content=json.dumps(BODY), headers=headers)
        again = client.post("/v1/runs", content=json.dumps(other, indent=3), headers=headers)
    assert first.status_code == 201, first.text
    assert again.json() == first.json()
    assert (first.headers.get("openwop-Idempotent-Replay"), again.headers["openwop-Idempotent-Replay"]) == (
        None,
        "true",
    )


def test_another_key_is_another_run(host: Host) -> None:
    with host.client() as client:
        made = {
            client.post("/v1/runs", json=BODY, headers={"Idempotency-Key": str(uuid4())}).json()["runId"]
            for _ in range(3)
        }
    assert len(made) == 3


def test_a_run_without_its_nonce_is_refused_and_the_refusal_is_not_kept(host: Host) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    with host.client() as client:
        refused = client.post("/v1/runs", json={"workflowId": "conformance-idempotent"}, headers=headers)
        assert refused.status_code == 400
        made = client.post("/v1/runs", json=BODY, headers=headers)
    assert made.status_code == 201
    assert "openwop-Idempotent-Replay" not in made.headers
