"""``scheduling`` (RFC 0052): one run a tick, at most one after an outage, nothing beyond the horizon."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

TICK = "/v1/host/sample/scheduling/tick"
SCHEDULES = "/v1/host/console/schedules"


@pytest.fixture
def client(seamed: Host) -> Iterator[httpx.Client]:
    with seamed.client() as client:
        yield client


def test_the_capability_is_advertised_and_closed(seamed: Host) -> None:
    document = seamed.stranger.get("/.well-known/openwop").json()
    schemas.check("capabilities", document)
    block = {"supported": True, "cron": True, "delayed": True, "maxFutureHorizon": "P90D"}
    assert document["scheduling"] == document["capabilities"]["scheduling"] == block


@pytest.mark.parametrize("again", range(3))
def test_a_single_tick_fires_exactly_one_run(client: httpx.Client, again: int) -> None:
    answer = client.post(TICK, json={"scenario": "single-tick"})
    assert (answer.status_code, answer.json()) == (200, {"runsFired": 1})


@pytest.mark.parametrize("missed", [1, 5, 1000])
def test_a_missed_window_is_one_run_and_not_the_backlog(client: httpx.Client, missed: int) -> None:
    answer = client.post(TICK, json={"scenario": "missed-window", "missedTicks": missed})
    assert (answer.status_code, answer.json()) == (200, {"runsFired": 1})
    left = [row["name"] for row in client.get(SCHEDULES).json()["schedules"]]
    assert not [name for name in left if name.startswith("conformance-")], "the seam leaves a schedule behind"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scenario": "double-tick"},
        {"scenario": "missed-window", "missedTicks": 0},
        {"scenario": "missed-window", "missedTicks": "many"},
        {"scenario": "single-tick", "extra": 1},
        [],
    ],
)
def test_a_malformed_body_is_refused(client: httpx.Client, body: Any) -> None:
    refused = client.post(TICK, json=body)
    assert refused.status_code == 400
    schemas.check("error-envelope", refused.json())


def test_what_lies_beyond_the_horizon_is_refused(client: httpx.Client) -> None:
    at = (datetime.now(UTC) + timedelta(days=91)).isoformat()
    refused = client.post(SCHEDULES, json={"name": "far", "workflowId": "conformance-noop", "at": at})
    assert (refused.status_code, refused.json()["error"]) == (400, "schedule_horizon_exceeded")
    assert refused.json()["details"]["maxFutureHorizon"] == "P90D"
    schemas.check("error-envelope", refused.json())


@pytest.mark.console
def test_a_delayed_run_is_started_on_time_by_the_console_itself(host: Host) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    with host.client() as client:
        made = client.post(SCHEDULES, json={"name": "soon", "workflowId": "conformance-noop", "at": at})
        assert made.status_code == 201, made.text
        ticks: list[dict[str, Any]] = []
        deadline = datetime.now(UTC) + timedelta(seconds=20)
        while not ticks:
            assert datetime.now(UTC) < deadline
            ticks = client.get(f"{SCHEDULES}/soon/ticks").json()["ticks"]
        assert ticks[0]["tickAt"] <= ticks[0]["firedAt"]
        assert host.finished(client, ticks[0]["runId"])["status"] == "completed"
        assert client.delete(f"{SCHEDULES}/soon").status_code == 204


def test_the_seam_is_shut_unless_it_is_opened(host: Host) -> None:
    with host.client() as client:
        assert client.post(TICK, json={"scenario": "single-tick"}).status_code == 404
