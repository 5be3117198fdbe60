"""A log of OpenIntent is a run of OpenWOP, there as open as at its own address; and nobody steers it (R27, R91)."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from memory.host.errors import Forbidden
from memory.host.tenancy import TenantScope
from memory.openintent import work
from memory.openintent.work import grants
from memory.openintent.work.rows import NewIntent
from openwop_console.runtime import run_operations, streams
from tests import building
from tests.openintent.conftest import Served
from tests.openintent.test_events import task_of

HOUR = timedelta(hours=1)
TAG = "hiv-positive"
DOORS = ("", "/events", "/events/poll?timeout=0", "/artifacts", "/artifacts/art_0")
STEERED = {
    "/cancel": {},
    ":pause": {},
    ":resume": {},
    ":fork": {"mode": "replay"},
    "/interrupts/openintent": {"resumeValue": 1},
}


def run_of(served: Served, intent_id: str) -> str:
    return intent_id.replace("intent_", "run_")


def a_log(served: Served, owner: str) -> tuple[str, str]:
    """An intent of the owner's with a restricted entry in a task of it, and that task."""
    client = served.acting(owner)
    intent_id, task_id = task_of(client)
    scope = {"task_id": task_id, "intent_id": intent_id}
    client.create_memory(owner, "patients", "ann", {"n": 1}, scope=scope, tags=[TAG], sensitivity="restricted")
    return intent_id, task_id


def answers(client: httpx.Client, run_id: str) -> dict[str, int]:
    return {door: client.get(f"/v1/runs/{run_id}{door}").status_code for door in DOORS}


def test_R91_the_run_behind_an_intent_is_closed_to_an_agent_without_a_part_in_it(served: Served) -> None:
    owner, stranger = served.agent("owner"), served.agent("stranger")
    intent_id, _ = a_log(served, owner)
    run_id = run_of(served, intent_id)
    with served.http(stranger, bound=True) as client:
        assert client.get(f"/api/v1/intents/{intent_id}/events").status_code == 403
        assert answers(client, run_id) == dict.fromkeys(DOORS, 403)
        refused = client.get(f"/v1/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
        assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
        assert TAG not in refused.text
    with served.http(owner, bound=True) as client:
        assert client.get(f"/v1/runs/{run_id}").status_code == 200
        assert client.get(f"/v1/runs/{run_id}/events").status_code == 200
    for role in ("operator", "viewer"):
        with served.http(role=role) as client:
            assert client.get(f"/v1/runs/{run_id}/events").status_code == 200


def test_R91_a_grant_on_one_task_opens_that_task_and_not_the_run(served: Served) -> None:
    """The events of OpenWOP there name each task and namespace; at the log's own address they are told apart."""
    owner, reader = served.agent("owner"), served.agent("reader")
    intent_id, task_id = a_log(served, owner)
    grant = {"principal_id": reader, "principal_type": "agent", "permission": "read", "task_id": task_id}
    with served.http(owner) as client:
        assert client.post(f"/api/v1/intents/{intent_id}/acl/entries", json=grant).status_code < 300
    with served.http(reader, bound=True) as client:
        assert client.get(f"/api/v1/intents/{intent_id}/events").status_code == 200
        assert client.get(f"/v1/runs/{run_of(served, intent_id)}/events").status_code == 403


def test_nobody_steers_a_log(served: Served) -> None:
    """Not its owner either: it is as long as its intent is known."""
    intent_id, _ = a_log(served, served.agent("owner"))
    run_id = run_of(served, intent_id)
    with served.http(role="owner") as client:
        answered = {door: client.post(f"/v1/runs/{run_id}{door}", json=body) for door, body in STEERED.items()}
        assert {door: each.status_code for door, each in answered.items()} == dict.fromkeys(STEERED, 409) | {
            "/interrupts/openintent": 404
        }
        assert answered["/cancel"].json()["details"] == {"runStatus": "running"}
        (result,) = client.post("/v1/runs:bulk-cancel", json={"runIds": [run_id]}).json()["results"]
        assert result["error"]["code"] == "conflict"
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "running"


def test_no_tag_of_an_addressed_entry_is_on_the_log(served: Served) -> None:
    """They are in the note beside it, for who may read that."""
    owner = served.agent("owner")
    intent_id, _ = a_log(served, owner)
    (entry,) = served.acting(owner).list_memory(owner)
    served.acting(owner).update_memory(entry.id, 1, tags=[TAG, "closed"])
    with served.http(role="operator") as client:
        told = client.get(f"/v1/runs/{run_of(served, intent_id)}/events").json()["events"]
    written: list[dict[str, Any]] = [each["payload"] for each in told if each["type"] == "memory.written"]
    assert [each["tags"] for each in written] == [[], []]
    with served.http(owner) as client:
        noted = client.get(f"/api/v1/intents/{intent_id}/events", params={"event_type": "memory.updated"}).json()
    assert noted[0]["data"]["tags"] == [TAG, "closed"]


def read(scope: TenantScope, run_id: Any) -> int:
    return len(streams.whole_log(scope, run_id, now=timezone.now())[0])


@pytest.mark.django_db
def test_R65_the_run_behind_an_agent_s_stream_is_for_that_agent_and_for_operators() -> None:
    run_id = work.rows.agent(building.tenant().id, "billing-01", by="host", now=timezone.now()).run_id
    with pytest.raises(Forbidden) as refused:
        read(building.scope(role="agent", agents=("shipping-01",)), run_id)
    assert refused.value.details["rule"] == "agent-stream"
    for agents in (("billing-01",), ("shipping-01", "billing-01")):
        assert read(building.scope(role="agent", agents=agents), run_id) == 1
    assert read(building.scope(role="operator"), run_id) == 1


@pytest.mark.django_db
def test_R27_a_stream_of_the_run_ends_with_the_part_in_the_intent() -> None:
    scope, now = building.scope(), timezone.now()
    intent = work.intents.create_intent(scope, NewIntent("Invoices"), actor="billing-01", now=now)
    log = f"intent_{intent.id.hex}"
    grants.grant(scope, log, grants.NewGrant("reader-01", expires_at=now + HOUR), actor="billing-01", now=now)
    reader = building.scope(role="agent", agents=("reader-01",))
    assert run_operations.still_readable(reader, intent.id, now=now)
    assert not run_operations.still_readable(reader, intent.id, now=now + 2 * HOUR)
