"""``conformance-interrupt-external-event``: somebody outside tells the run, with a token (openwop-host 3.8, 3.9)."""

from typing import Any

import pytest

from tests.conformance.asking import answer, asked, refusal, waiting
from tests.conformance.conftest import Host

NODE = "wait-for-external"
EVENT = {"orderId": "fixture-order-1", "status": "completed"}
ANOTHER = {"orderId": "wrong-order", "status": "completed"}


@pytest.mark.parametrize("value", [EVENT, {"correlation": EVENT, "payload": {"sum": 3}}])
def test_whoever_holds_the_token_tells_the_run_once(host: Host, value: dict[str, Any]) -> None:
    with host.client() as client, host.stranger as stranger:
        snapshot = waiting(client, "conformance-interrupt-external-event")
        assert (snapshot["status"], snapshot["currentNodeId"]) == ("waiting-external", NODE)
        asked(snapshot)
        url = snapshot["interrupt"]["callbackUrl"]
        assert url == f"{host.url}/v1/interrupts/{snapshot['interrupt']['interruptToken']}"
        told = stranger.post(url, json={"resumeValue": value})
        assert (told.status_code, told.json()["nodeId"]) == (200, NODE)
        ended = host.finished(client, snapshot["runId"])
        assert (ended["status"], ended["variables"]["event"]["event"]) == ("completed", value)
        assert refusal(stranger.post(url, json={"resumeValue": value})) == (409, "interrupt_already_resolved")
        assert refusal(stranger.get(url)) == (409, "interrupt_already_resolved")
    assert "fixture-order-1" not in str(host.events(snapshot["runId"]))


@pytest.mark.parametrize("value", [ANOTHER, {}, {"correlation": ANOTHER}, {**EVENT, "status": True}])
def test_an_event_that_is_another_s_is_refused_and_the_run_waits_on(host: Host, value: dict[str, Any]) -> None:
    with host.client() as client, host.stranger as stranger:
        snapshot = waiting(client, "conformance-interrupt-external-event")
        run_id, url = snapshot["runId"], snapshot["interrupt"]["callbackUrl"]
        assert refusal(stranger.post(url, json={"resumeValue": value})) == (422, "correlation_mismatch")
        assert refusal(answer(client, run_id, NODE, value)) == (422, "correlation_mismatch")
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "waiting-external"
        assert stranger.post(url, json={"resumeValue": EVENT}).status_code == 200
        assert host.finished(client, run_id)["status"] == "completed"


def test_a_principal_may_tell_the_run_as_well(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-interrupt-external-event")["runId"]
        assert answer(client, run_id, NODE, EVENT).status_code == 200
        assert host.finished(client, run_id)["status"] == "completed"
