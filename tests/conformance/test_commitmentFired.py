"""``agents.commitments`` (RFC 0068 C): content-free, with its provenance, once a condition, in the memory's tenant."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

FIRE = "/v1/host/sample/commitment/fire"
REF = "mem://conformance/commitments"
ALLOWED = {"commitmentId", "memoryRef", "memoryId", "condition", "enqueuedRunId"}


@pytest.fixture
def client(seamed: Host) -> Iterator[httpx.Client]:
    with seamed.client() as client:
        yield client


def fire(client: httpx.Client, condition: str = "predicate", ref: str = REF) -> dict[str, Any]:
    answer = client.post(FIRE, json={"memoryRef": ref, "condition": condition, "includeIntentionCanary": True})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_capability_is_advertised_with_both_conditions(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    schemas.check("capabilities", document)
    block = {"supported": True, "fireConditions": ["time", "predicate"]}
    assert document["agents"]["commitments"] == document["capabilities"]["agents"]["commitments"] == block


@pytest.mark.parametrize("condition", ["predicate", "time"])
def test_a_commitment_fires_once_and_its_event_says_ids_alone(client: httpx.Client, condition: str) -> None:
    told = fire(client, condition)
    event = told["event"]
    schemas.check_payload("commitmentFired", event)
    assert set(event) <= ALLOWED
    assert (event["memoryRef"], event["condition"], told["fireCount"]) == (REF, condition, 1)
    assert told["intentionCanary"] not in json.dumps(event)


def test_asked_again_it_is_the_same_commitment_and_no_new_event(client: httpx.Client) -> None:
    first, again = fire(client), fire(client)
    assert (again["event"], again["fireCount"], again["runId"]) == (first["event"], 1, first["runId"])


def test_the_event_stands_on_a_durable_log_that_ends_behind_it(seamed: Host, client: httpx.Client) -> None:
    told = fire(client)
    events = seamed.events(told["runId"])
    for event in events:
        schemas.check("run-event", event)
    assert [event["type"] for event in events] == ["run.started", "commitment.fired", "run.completed"]
    assert events[1]["payload"] == told["event"]
    assert told["intentionCanary"] not in json.dumps(events)


def test_another_tenant_sees_neither_the_event_nor_the_commitment(seamed: Host, client: httpx.Client) -> None:
    told = fire(client)
    with seamed.client("globex/owner") as globex:
        assert globex.get(f"/v1/runs/{told['runId']}/events").status_code == 404
        known = told["event"]["commitmentId"]
        assert globex.get(f"/v1/host/console/commitments/{known}").status_code == 404
        assert fire(globex)["event"]["commitmentId"] != known


def test_a_replay_of_the_firing_s_run_fires_nothing(client: httpx.Client) -> None:
    told = fire(client)
    client.post(f"/v1/runs/{told['runId']}:fork", json={"mode": "replay"})
    known = client.get(f"/v1/host/console/commitments/{told['event']['commitmentId']}").json()
    assert (known["fireCount"], len(known["firings"])) == (1, 1)


def test_an_unknown_condition_is_refused(client: httpx.Client) -> None:
    answer = client.post(FIRE, json={"memoryRef": REF, "condition": "mood"})
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    schemas.check("error-envelope", answer.json())


def test_the_seam_is_shut_unless_it_is_opened_and_never_open_to_strangers(host: Host, seamed: Host) -> None:
    with host.client() as closed:
        assert closed.post(FIRE, json={"memoryRef": REF, "condition": "time"}).status_code == 404
    assert seamed.stranger.post(FIRE, json={"memoryRef": REF, "condition": "time"}).status_code == 401
