"""Answers that race each other, and answers that race a cancellation, at a real console with real workers."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.conformance.asking import answer, waiting
from tests.conformance.conftest import Host

pytestmark = pytest.mark.console

ACCEPT = {"action": "accept"}
TOGETHER = 10


def test_of_ten_answers_at_once_one_wins_and_the_others_are_told(host: Host) -> None:
    with host.client() as client, ThreadPoolExecutor(TOGETHER) as pool:
        for action in ("accept", "reject"):
            run_id = waiting(client, "conformance-approval")["runId"]
            sent = [pool.submit(answer, client, run_id, "gate", {"action": action}) for _ in range(TOGETHER)]
            statuses = Counter(each.result().status_code for each in sent)
            assert statuses == {200: 1, 409: TOGETHER - 1}
            host.finished(client, run_id)
            kinds = Counter(event["type"] for event in host.events(run_id))
            assert (kinds["interrupt.resolved"], kinds["approval.received"]) == (1, 1)


def test_a_token_that_is_used_ten_times_at_once_works_once(host: Host) -> None:
    with host.client() as client, httpx.Client() as stranger, ThreadPoolExecutor(TOGETHER) as pool:
        snapshot = waiting(client, "conformance-approval")
        url, body = snapshot["interrupt"]["callbackUrl"], {"resumeValue": ACCEPT}
        sent = [pool.submit(stranger.post, url, json=body, timeout=30) for _ in range(TOGETHER)]
        assert Counter(each.result().status_code for each in sent) == {200: 1, 409: TOGETHER - 1}
        assert host.finished(client, snapshot["runId"])["status"] == "completed"


def test_voices_at_once_are_all_counted(host: Host) -> None:
    with host.client() as client, ThreadPoolExecutor(3) as pool:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        values = [{**ACCEPT, "voter": f"approver-{number}"} for number in (1, 2, 3)]
        sent = [pool.submit(answer, client, run_id, "gate", value) for value in values]
        assert [each.result().status_code for each in sent] == [200, 200, 200]
        assert host.finished(client, run_id)["status"] == "completed"


@pytest.mark.parametrize("attempt", range(4))
def test_an_answer_that_races_a_cancellation_ends_one_way_or_the_other(host: Host, attempt: int) -> None:
    with host.client() as client, ThreadPoolExecutor(2) as pool:
        run_id = waiting(client, "conformance-approval")["runId"]
        calls = [
            lambda: answer(client, run_id, "gate", ACCEPT).status_code,
            lambda: client.post(f"/v1/runs/{run_id}/cancel", json={}).status_code,
        ]
        sent = [pool.submit(call) for call in (calls if attempt % 2 else reversed(calls))]
        statuses = [each.result() for each in sent]
        assert set(statuses) <= {200, 202, 409, 422}  # 422: the run is cancelled already
        assert {200, 202} & set(statuses)
        assert host.finished(client, run_id)["status"] in {"completed", "cancelled"}
