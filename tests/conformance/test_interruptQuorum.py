"""``conformance-interrupt-quorum``: three approvals, or the majority against (openwop-host 2.2 and 3.9)."""

from typing import Any

import httpx
import pytest

from tests.conformance.asking import answer, refusal, waiting
from tests.conformance.conftest import Host


def say(client: httpx.Client, run_id: str, action: str, number: int, *, beside: bool = False) -> httpx.Response:
    """One voice; the voter stands in the value, or beside it."""
    value: dict[str, Any] = {"action": action}
    if beside:
        return answer(client, run_id, "gate", value, voter=f"approver-{number}")
    return answer(client, run_id, "gate", value | {"voter": f"approver-{number}"})


@pytest.mark.parametrize("beside", [False, True])
def test_three_different_voters_complete_the_run(host: Host, beside: bool) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        for number in (1, 2):
            voted = say(client, run_id, "accept", number, beside=beside)
            assert (voted.status_code, voted.json()["status"]) == (200, "waiting-approval")
        assert say(client, run_id, "accept", 3, beside=beside).status_code == 200
        assert host.finished(client, run_id)["status"] == "completed"
    received = [event["payload"] for event in host.events(run_id) if event["type"] == "approval.received"]
    assert [each["action"] for each in received] == ["accept"] * 3
    assert received[-1]["decidedBy"] == "quorum:3-of-3"


def test_repeating_a_decision_is_heard_and_counts_once(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        for _ in range(4):
            voted = say(client, run_id, "accept", 1)
            assert (voted.status_code, voted.json()["status"]) == (200, "waiting-approval")


def test_two_rejections_of_three_fail_the_run(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        assert say(client, run_id, "reject", 1).json()["status"] == "waiting-approval"
        assert say(client, run_id, "reject", 2).status_code == 200
        assert host.finished(client, run_id)["status"] == "failed"


@pytest.mark.engines
def test_without_voters_one_key_is_one_voice(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        for _ in range(3):
            assert answer(client, run_id, "gate", {"action": "accept"}).json()["status"] == "waiting-approval"


@pytest.mark.parametrize("voter", ["", 7, "x" * 129])
def test_a_voter_that_is_none_is_refused(host: Host, voter: object) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-quorum")["runId"]
        assert refusal(answer(client, run_id, "gate", {"action": "accept", "voter": voter}))[0] == 400


def test_a_counted_approval_has_no_token(host: Host) -> None:
    with host.client() as client:
        assert "interruptToken" not in waiting(client, "conformance-interrupt-quorum")["interrupt"]
