"""``heartbeat`` (RFC 0060): an unchanged tick says nothing, a change starts at most one run, time is bounded."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

TICK = "/v1/host/sample/heartbeat/tick"


@pytest.fixture
def client(seamed: Host) -> Iterator[httpx.Client]:
    with seamed.client() as client:
        yield client


def tick(client: httpx.Client, state: dict[str, Any], heartbeat: str = "conformance-hb-spam", **more: Any) -> Any:
    answer = client.post(TICK, json={"heartbeatId": heartbeat, "observedState": state, **more})
    assert answer.status_code == 200, answer.text
    document = answer.json()
    for evaluated in document["evaluated"]:
        schemas.check("heartbeat-evaluated", evaluated)
        assert evaluated["heartbeatId"] == heartbeat
    for changed in document["stateChanged"]:
        schemas.check("heartbeat-state-changed", changed)
    return document


def test_the_capability_is_advertised_and_closed(seamed: Host) -> None:
    document = seamed.stranger.get("/.well-known/openwop").json()
    schemas.check("capabilities", document)
    block = {"supported": True, "minIntervalSec": 60, "maxRuntimeMs": 5000}
    assert document["heartbeat"] == document["capabilities"]["heartbeat"] == block


@pytest.mark.parametrize("again", range(3))
def test_only_a_transition_is_told_and_starts_one_run(client: httpx.Client, again: int) -> None:
    first, second, third = (tick(client, {"unread": unread}) for unread in (0, 0, 3))
    assert [len(each["evaluated"]) for each in (first, second, third)] == [1, 1, 1]
    assert (second["evaluated"][0]["changed"], second["stateChanged"], second["enqueuedRuns"]) == (False, [], 0)
    assert (third["evaluated"][0]["changed"], len(third["stateChanged"]), third["enqueuedRuns"]) == (True, 1, 1)


def test_an_evaluation_over_its_time_is_ended_and_changes_nothing(client: httpx.Client) -> None:
    tick(client, {"unread": 0}, "conformance-hb-slow")
    late = tick(client, {"unread": 7}, "conformance-hb-slow", simulateSlowMs=6000)
    assert late["evaluated"][0] == {"heartbeatId": "conformance-hb-slow", "status": "timeout", "changed": False}
    assert (late["stateChanged"], late["enqueuedRuns"]) == ([], 0)
    assert tick(client, {"unread": 0}, "conformance-hb-slow")["stateChanged"] == []


def test_the_tenant_s_own_log_says_so_and_another_tenant_s_does_not(seamed: Host, client: httpx.Client) -> None:
    tick(client, {"unread": 1}, "conformance-hb-log")
    told = [event["type"] for event in client.get("/v1/host/console/events").json()["events"]]
    assert {"heartbeat.evaluated", "heartbeat.stateChanged"} <= set(told)
    with seamed.client("globex/owner") as globex:
        assert "heartbeat" not in globex.get("/v1/host/console/events").text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"heartbeatId": "x"},
        {"heartbeatId": "", "observedState": {}},
        {"heartbeatId": "x", "observedState": "unread"},
        {"heartbeatId": "x", "observedState": {}, "simulateSlowMs": -1},
        {"heartbeatId": "x", "observedState": {}, "extra": 1},
    ],
)
def test_a_malformed_body_is_refused(client: httpx.Client, body: Any) -> None:
    refused = client.post(TICK, json=body)
    assert refused.status_code == 400
    schemas.check("error-envelope", refused.json())


def test_the_seam_is_shut_unless_it_is_opened(host: Host) -> None:
    with host.client() as client:
        assert client.post(TICK, json={"heartbeatId": "x", "observedState": {}}).status_code == 404
