"""``/v1/host/console/archives`` and ``.../memory-policy``: the stored bytes, and how memory is kept."""

import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import memory_policy
from memory.host import audit, ids, vault
from memory.models import Archive
from memory.passes import archives
from tests import archiving, building
from tests.fixtures_queue import Drain

pytestmark = pytest.mark.django_db
ARCHIVES, POLICY = "/v1/host/console/archives", "/v1/host/console/memory-policy"


def address(row: Archive) -> str:
    return f"{ARCHIVES}/{ids.wire('arc', row.id)}"


def put(client: Client, body: Any, **headers: Any) -> Any:
    return client.put(POLICY, json.dumps(body), content_type="application/json", **(headers or building.headers()))


def test_the_stored_bytes_come_out_exactly_with_their_digest(client: Client) -> None:
    made, headers = archiving.distilled("acme", "one", "zwölf \u2028 €"), building.headers(role="viewer")
    answer = client.get(address(made), **headers)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.content == bytes(made.body)
    assert answer["X-Content-SHA256"] == hashlib.sha256(answer.content).hexdigest() == made.sha256
    again = client.get(address(made), HTTP_IF_NONE_MATCH=answer["ETag"], **headers)
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", f'"{made.sha256}"')
    assert client.get(address(made), HTTP_IF_NONE_MATCH='"other"', **headers).status_code == 200


def test_a_withdrawn_archive_is_410_with_the_reason_and_what_came_after(client: Client) -> None:
    old, new = archiving.distilled("acme", "old"), archiving.distilled("acme", "new")
    archives.withdraw(old.tenant_id, [old.id], archives.FORGOTTEN, now=timezone.now())
    answer = client.get(address(old), **building.headers())
    assert answer.status_code == 410
    assert answer.json()["error"] == "gone"
    assert answer.json()["details"] == {"reason": "forgotten", "successor": ids.wire("arc", new.id)}


def test_an_archive_is_withdrawn_and_its_ref_distilled_anew_by_who_may_run_passes(client: Client, drain: Drain) -> None:
    made = archiving.distilled("acme", "one", "two")
    body = {"reason": "wrong tone", "distillAnew": True}
    path = f"{address(made)}:withdraw"
    answer = client.post(path, body, content_type="application/json", **building.headers())
    assert (answer.status_code, answer.json()["state"]) == (200, "withdrawn"), answer.content
    drain()
    rows = client.get(ARCHIVES, {"memoryRef": "notes"}, **building.headers()).json()["archives"]
    assert [row["state"] for row in rows] == ["current", "withdrawn"]


def test_archives_are_listed_newest_first_filtered_and_paged_to_their_end(client: Client) -> None:
    made = [archiving.distilled("acme", f"note {number}") for number in range(3)]
    archiving.distilled("acme", "elsewhere", memory_ref="other")
    archives.withdraw(made[0].tenant_id, [made[0].id], archives.RETENTION, now=timezone.now())
    headers = building.headers(role="viewer")

    def page(**query: Any) -> Any:
        return client.get(ARCHIVES, query, **headers).json()

    first = page(memoryRef="notes", limit=2)
    assert [row["id"] for row in first["archives"]] == [ids.wire("arc", row.id) for row in reversed(made[1:])]
    assert [row["state"] for row in first["archives"]] == ["current", "superseded"]
    assert (first["memoryRef"], first["total"]) == ("notes", 3)
    (last,) = page(memoryRef="notes", limit=2, after=first["next"])["archives"]
    assert (last["state"], last["withdrawnBecause"]) == ("withdrawn", "retention")
    assert page(memoryRef="notes", limit=3)["next"] is None
    assert page()["total"] == 4
    assert page(memoryRef="../notes") == {"memoryRef": "../notes", "archives": [], "total": 0, "next": None}


def test_a_key_bound_to_agents_is_shown_no_archive(client: Client) -> None:
    made, bound = archiving.distilled("acme", "one"), building.headers(role="agent", agents=("acme.writer",))
    assert client.get(ARCHIVES, **bound).json()["total"] == 0
    assert client.get(address(made), **bound).status_code == 404
    assert client.get(address(made), **building.headers(role="agent")).status_code == 200


def test_who_may_not_read_memory_reads_no_archive(client: Client) -> None:
    made, auditor = archiving.distilled("acme", "one"), building.headers(role="auditor")
    for url in (ARCHIVES, address(made), POLICY):
        answer = client.get(url, **auditor)
        assert (answer.status_code, answer.json()["details"]["requiredScope"]) == (403, "memory:read")


@pytest.mark.parametrize("archive_id", ["arc_x", "x", "arc_" + "0" * 32, "mem_" + "0" * 32, "%00", "..%2F"])
def test_an_id_that_is_none_is_404(client: Client, archive_id: str) -> None:
    assert client.get(f"{ARCHIVES}/{archive_id}", **building.headers()).status_code == 404


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": "x"}, {"surprise": 1}])
def test_a_query_that_is_none_is_400(client: Client, query: dict[str, Any]) -> None:
    assert client.get(ARCHIVES, query, **building.headers()).status_code == 400


def test_a_policy_is_read_by_whoever_reads_memory_and_changed_by_owners(client: Client) -> None:
    assert client.get(POLICY, **building.headers(role="viewer")).json() == {
        "archiveDays": 30,
        "restoreDays": 30,
        "staleDays": 90,
        "timezone": "UTC",
        "commitmentWorkflow": "",
        "distiller": "extractive",
        "targetTokens": 0,
        "endpointUrl": "",
        "endpointModel": "",
        "endpointSecret": "",
        "embeddingUrl": "",
        "embeddingModel": "",
        "embeddingSecret": "",
        "nightly": False,
        "nightAt": "03:00",
        "distillAbove": 4000,
        "forgetSecondPerson": False,
    }
    refused = put(client, {"archiveDays": 60}, **building.headers(role="operator"))
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "policies:manage")
    vault.store_secret(building.tenant().id, "model-key", "sk-4711-4711", now=timezone.now())
    endpoint = {"endpointUrl": "http://10.0.0.7:8080/v1", "endpointModel": "small", "endpointSecret": "model-key"}
    changed = put(client, {"archiveDays": 60, "timezone": "Europe/Paris", "distiller": "endpoint", **endpoint})
    assert (changed.status_code, changed.json()["restoreDays"]) == (200, 30)
    assert put(client, {"staleDays": 7}).json() == {**changed.json(), "staleDays": 7}
    assert memory_policy.policy_of(building.tenant().id).endpoint_secret == "model-key"
    assert memory_policy.policy_of(building.tenant("globex").id) == memory_policy.Policy()
    (record, *_) = audit.newest(building.tenant().id, limit=1)
    assert (record.action, record.details) == ("memory.policy-changed", {"changed": ["stale_days"]})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"archiveDays": 0}, "archiveDays"),
        ({"archiveDays": 3651}, "archiveDays"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"commitmentWorkflow": "nobody-s"}, "commitmentWorkflow"),
        ({"distiller": "magic"}, "distiller"),
        ({"distiller": "endpoint"}, "endpointUrl"),
        ({"distiller": "endpoint", "endpointUrl": "http://x/v1"}, "endpointModel"),
        ({"endpointUrl": "http://ada:secret@x/v1"}, "endpointUrl"),
        ({"endpointUrl": "https://x/v1?key=secret"}, "endpointUrl"),
        ({"endpointUrl": "http://[::1"}, "endpointUrl"),
        ({"endpointUrl": "http://x:99999/"}, "endpointUrl"),
        ({"endpointUrl": "file:///etc/passwd"}, "endpointUrl"),
        ({"endpointSecret": 7}, "endpointSecret"),
        ({"endpointSecret": "nobody-s"}, "endpointSecret"),
        ({"archiveDays": "30"}, "archiveDays"),
        ({"staleDays": True}, "staleDays"),
        ({"nightly": "yes"}, "nightly"),
        ({"nightAt": "24:00"}, "nightAt"),
        ({"distillAbove": -1}, "distillAbove"),
        ({"forgetSecondPerson": True}, "forgetSecondPerson"),  # there is one owner at most
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_policy_that_is_none_is_refused_and_nothing_changes(client: Client, body: Any, field: str) -> None:
    answer = put(client, body)
    assert answer.status_code == 400
    assert field in {error["field"] for error in answer.json()["details"]["errors"]}
    assert memory_policy.policy_of(building.tenant().id) == memory_policy.Policy()
