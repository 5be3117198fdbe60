"""``idempotency``: a repeated create is one run, also when several ask at the same moment (openwop-host 4.4)."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

REPLAY = "openwop-Idempotent-Replay"
BODY = {"workflowId": "conformance-noop"}


def create(client: httpx.Client, key: str, **more: object) -> httpx.Response:
    return client.post("/v1/runs", json={**BODY, **more}, headers={"Idempotency-Key": key})


@pytest.fixture
def key() -> str:
    return f"suite-{uuid.uuid4()}"


def test_the_same_key_and_body_is_the_same_run_and_the_replay_says_so(host: Host, key: str) -> None:
    with host.client() as client:
        first, second = create(client, key), create(client, key)
    assert first.status_code in {200, 201}
    assert second.status_code in {200, 201}
    assert first.json()["runId"] == second.json()["runId"]
    assert first.headers.get(REPLAY, "false") == "false"
    assert second.headers[REPLAY] == "true"


def test_the_same_key_and_another_body_is_a_conflict_without_a_run(host: Host, key: str) -> None:
    with host.client() as client:
        create(client, key)
        refused = create(client, key, tags=["other"])
    assert (refused.status_code, refused.json()["error"]) == (409, "idempotency_key_mismatch")
    assert "runId" not in refused.text
    schemas.check("error-envelope", refused.json())


@pytest.mark.console
def test_ten_at_once_make_one_run(host: Host, key: str) -> None:
    def ask(_: int) -> httpx.Response:
        with host.client() as client:
            return create(client, key)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(ask, range(10)))
    made = [answer for answer in answers if answer.status_code == 201]
    late = [answer for answer in answers if answer.status_code != 201]
    assert len({answer.json()["runId"] for answer in made}) == 1
    assert [answer.headers.get(REPLAY, "false") for answer in made].count("false") == 1
    for answer in late:
        assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_in_flight")
        assert answer.json()["details"]["retryAfter"] > 0
    assert len(made) >= 8, "most of those who come at once get the answer"


def test_tenants_do_not_share_keys(host: Host, key: str) -> None:
    with host.client() as ours, host.client("globex/owner") as theirs:
        first, second = create(ours, key), create(theirs, key)
    assert first.json()["runId"] != second.json()["runId"]
    assert REPLAY not in second.headers


def test_a_validation_error_is_not_remembered(host: Host, key: str) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs", json={}, headers={"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
        assert create(client, key).status_code == 201


def test_a_read_takes_no_notice_of_a_key(host: Host, key: str) -> None:
    with host.client() as client:
        for _ in range(2):
            answer = client.get("/v1/workflows/conformance-noop", headers={"Idempotency-Key": key})
            assert (answer.status_code, REPLAY in answer.headers) == (200, False)
