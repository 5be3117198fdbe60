"""``/v1/host/console/memory`` and ``/forget``: the doors for programs, with the same refusals as the pages."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.host import audit, ids, vault
from memory.host.models import AuditRecord, Run
from memory.models.entry import MemoryEntry
from tests import building
from tests.conformance import schemas
from tests.fixtures_queue import Drain

pytestmark = pytest.mark.django_db
MARTA = "marta.kowalska@example.com"


def send(client: Client, path: str, body: Any, **headers: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json", **headers)


def test_a_page_of_the_ledger_honours_every_filter_and_pages_to_its_end(client: Client) -> None:
    building.remember("acme", *[f"note {number}" for number in range(5)], tags=["crm"])
    building.remember("acme", "elsewhere", memory_ref="other")
    headers = building.headers(role="viewer")

    def page(**query: Any) -> Any:
        return client.get("/v1/host/console/memory", query, **headers).json()

    first = page(memoryRef="notes", limit=3)
    assert (len(first["entries"]), first["total"], first["totalIsExact"]) == (3, 5, True)
    for entry in first["entries"]:
        schemas.check("memory-entry", entry)
    rest = page(memoryRef="notes", limit=3, after=first["next"])
    assert (len(rest["entries"]), rest["next"]) == (2, None)
    assert page(memoryRef="notes", limit=5)["next"] is None, "a page that holds the last entry is the last"
    assert page(tag="crm")["total"] == 5
    assert {entry["memoryRef"] for entry in page()["entries"]} == {"notes", "other"}, "without a ref each says its own"
    assert page(q="elsewhere")["total"] == 1
    assert page(nodeId="remember-2")["total"] == 1
    assert page(memoryRef="../notes")["entries"] == page(memoryRef="unknown")["entries"] == []


def test_an_entry_says_which_node_of_which_run_wrote_it(client: Client) -> None:
    kept = building.remember("acme", "who wrote this?")
    found = client.get(f"/v1/host/console/memory/{kept.entries[0]}", **building.headers()).json()
    [listed] = client.get("/v1/host/console/memory", **building.headers()).json()["entries"]
    written_by = (f"run_{kept.run.id.hex}", "remember-1", "acme.writer")
    assert tuple(listed[name] for name in ("runId", "nodeId", "agentId")) == written_by
    assert found["provenance"]["verdict"] == "node"
    [write] = found["provenance"]["writes"]
    assert (write["nodeId"], write["runId"]) == ("remember-1", f"run_{kept.run.id.hex}")
    assert found["provenance"]["sha256Now"] == found["provenance"]["sha256WhenWritten"]


@pytest.mark.engines
def test_an_entry_is_retired_and_restored_by_those_who_may(client: Client) -> None:
    (mem_id,) = building.remember("acme", "the code is 4711").entries
    address, operator = f"/v1/host/console/memory/{mem_id}", building.headers(role="operator")
    assert send(client, f"{address}:retire", {}, **building.headers(role="reviewer")).status_code == 403
    assert send(client, f"{address}:retire", {}, **building.headers("globex")).status_code == 404
    assert send(client, f"{address}:retire", {"reason": "x" * 501}, **operator).status_code == 400
    assert building.contents(building.scope()) == ["the code is 4711"]
    for _ in range(2):
        retired = send(client, f"{address}:retire", {"reason": "no longer so"}, **operator)
        assert (retired.status_code, retired.json()["id"]) == (200, mem_id)
        assert retired.json()["retiredAt"] is not None
    assert building.contents(building.scope()) == []
    assert client.get(address, **operator).json()["retiredAt"] == retired.json()["retiredAt"]
    audited = AuditRecord.objects.filter(target=mem_id, action__startswith="memory.").values_list("action", flat=True)
    assert list(audited) == ["memory.retired"]
    restored = send(client, f"{address}:restore", {}, **operator)
    assert (restored.status_code, restored.json()["retiredAt"]) == (200, None)
    assert "retiredAt" not in client.get(address, **operator).json()
    assert building.contents(building.scope()) == ["the code is 4711"]


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": "x"}, {"limit": 2**63}, {"state": "gone"}, {"surprise": 1}])
def test_a_query_that_is_none_is_400(client: Client, query: dict[str, Any]) -> None:
    answer = client.get("/v1/host/console/memory", query, **building.headers())
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")


@pytest.mark.parametrize("memory_id", ["mem_x", "x", "mem_" + "0" * 32, "run_" + "0" * 32, "%00", "..%2F"])
def test_an_id_that_is_none_is_404(client: Client, memory_id: str) -> None:
    assert client.get(f"/v1/host/console/memory/{memory_id}", **building.headers()).status_code == 404


def test_forgetting_over_the_wire_previews_confirms_runs_and_receipts(client: Client, drain: Drain) -> None:
    building.remember("acme", f"from {MARTA}", "unrelated")
    headers = building.headers()
    asked = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **headers)
    assert (asked.status_code, asked.json()["state"], asked.json()["stores"]) == (202, "building", {})
    body = {"previewId": asked.json()["previewId"], "subject": MARTA, "reason": "ticket 17"}
    early = send(client, "/v1/host/console/forget", body, **headers)
    assert (early.status_code, early.json()["details"]["state"]) == (409, "building")
    drain()
    preview = client.get(f"/v1/host/console/forget/previews/{body['previewId']}", **headers).json()
    assert (preview["state"], preview["stores"]["memory entries"]["erase"]) == ("ready", 1)
    confirmed = send(client, "/v1/host/console/forget", body, **headers)
    assert (confirmed.status_code, confirmed.json()["state"]) == (202, "confirmed")
    drain()
    over = client.get(f"/v1/host/console/forget/previews/{body['previewId']}", **headers).json()
    assert (over["state"], over["suspects"]) == ("forgotten", [])
    done = client.get(f"/v1/host/console/forget/{confirmed.json()['forgetId']}", **headers).json()
    assert done["state"] == "forgotten"
    assert done["receipt"]["stores"]["memory entries"]["erased"] == 1
    assert (done["receipt"]["archivesWithdrawn"], done["archives"]) == ([], [])
    assert [row.content for row in MemoryEntry.objects.all()] == ["unrelated"]


def test_a_confirmation_of_a_changed_world_is_409_and_says_what_changed(client: Client, drain: Drain) -> None:
    building.remember("acme", MARTA)
    headers = building.headers()
    preview = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **headers).json()
    drain()
    building.remember("acme", MARTA)
    body = {"previewId": preview["previewId"], "subject": MARTA, "reason": "ticket"}
    refused = send(client, "/v1/host/console/forget", body, **headers)
    assert refused.status_code == 409
    assert refused.json()["details"]["changed"]["memory entries"]["erase"] == 1


def test_suspects_come_by_page_with_their_words_and_are_decided_with_the_confirmation(
    client: Client, drain: Drain
) -> None:
    run = building.remember("acme", *[f"number {n}: call jo{MARTA} about the boat" for n in range(3)])
    headers = building.headers()
    asked = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **headers).json()
    drain()
    path = f"/v1/host/console/forget/previews/{asked['previewId']}"
    first = client.get(path, {"limit": 2}, **headers).json()
    rest = client.get(path, {"after": first["next"]}, **headers).json()
    total = sum(each["suspected"] for each in first["stores"].values())
    assert (len(first["suspects"]), len(rest["suspects"]), rest["next"]) == (2, total - 2, None)
    assert first["suspects"][0]["context"] == {
        "before": "number 0: call jo", "mention": MARTA, "after": " about the boat",
    }  # fmt: skip
    assert first["suspects"][0]["foundIn"] == run.entries[0]
    gone, spared = (each["row"] for each in first["suspects"])
    body = {"previewId": asked["previewId"], "subject": MARTA, "reason": "r", "suspected": [gone], "spared": [spared]}
    unknown = send(client, "/v1/host/console/forget", {**body, "suspected": ["0" * 32]}, **headers)
    assert (unknown.status_code, "not a suspected row of this preview" in unknown.content.decode()) == (400, True)
    confirmed = send(client, "/v1/host/console/forget", body, **headers).json()
    drain()
    done = client.get(f"/v1/host/console/forget/{confirmed['forgetId']}", **headers).json()
    counts = done["receipt"]["stores"]["memory entries"]
    assert (counts["erased"], counts["spared"], counts["undecided"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("subject", "mention"),
    [("Marta Kowalska", "Marta_Kowalska"), ("Marta Kowalska", "marta.kowalska"), (MARTA, MARTA.replace("@", " [at] "))],
)
def test_a_name_in_an_identifier_and_an_address_in_words_are_suspects_with_their_words(
    client: Client, drain: Drain, subject: str, mention: str
) -> None:
    building.remember("acme", f"The boat of {mention} is late")
    headers = building.headers()
    asked = send(client, "/v1/host/console/forget/previews", {"subject": subject}, **headers).json()
    drain()
    ready = client.get(f"/v1/host/console/forget/previews/{asked['previewId']}", **headers).json()
    context = next(each["context"] for each in ready["suspects"] if each["store"] == "memory entries")
    assert context == {"before": "The boat of ", "mention": mention, "after": " is late"}


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer", "operator", "auditor"])
def test_only_an_owner_s_key_forgets(client: Client, role: str) -> None:
    answer = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **building.headers(role=role))
    assert (answer.status_code, answer.json()["details"]["requiredScope"]) == (403, "memory:forget")


def test_globex_sees_nothing_of_acme_by_any_call(client: Client) -> None:
    kept = building.remember("acme", f"secret of acme {MARTA}")
    acme, globex = building.headers("acme"), building.headers("globex")
    preview = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **acme).json()
    assert client.get("/v1/host/console/memory", {"state": "all"}, **globex).json()["total"] == 0
    foreign = [f"memory/{kept.entries[0]}", f"forget/{preview['previewId']}"]
    for path in foreign:
        assert client.get(f"/v1/host/console/{path}", **globex).status_code == 404
    body = {"previewId": preview["previewId"], "subject": MARTA, "reason": "theirs"}
    assert send(client, "/v1/host/console/forget", body, **globex).status_code == 404
    assert MemoryEntry.objects.count() == 1


def test_a_key_bound_to_agents_reads_what_they_wrote_and_nothing_else(client: Client) -> None:
    kept = building.remember("acme", "of acme.writer")
    own = building.headers(role="agent", agents=("acme.writer",))
    other = building.headers(role="agent", agents=("acme.other",))
    assert client.get("/v1/host/console/memory", **own).json()["total"] == 1
    assert client.get("/v1/host/console/memory", **other).json() == {
        "memoryRef": None, "entries": [], "total": 0, "totalIsExact": True, "next": None,
    }  # fmt: skip
    assert client.get(f"/v1/host/console/memory/{kept.entries[0]}", **other).status_code == 404


def test_a_run_of_the_host_itself_is_not_cancelled_from_outside(client: Client, drain: Drain) -> None:
    building.remember("acme", MARTA)
    headers = building.headers()
    preview = send(client, "/v1/host/console/forget/previews", {"subject": MARTA}, **headers).json()
    drain()
    body = {"previewId": preview["previewId"], "subject": MARTA, "reason": "ticket"}
    send(client, "/v1/host/console/forget", body, **headers)
    work = Run.objects.get(workflow_id="host-forget")
    answer = send(client, f"/v1/runs/run_{work.id.hex}/cancel", {}, **building.headers(role="author"))
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")


def test_a_secret_goes_in_is_redacted_by_name_and_never_comes_out(client: Client) -> None:
    headers = building.headers()
    path = "/v1/host/console/secrets/crm-api-key"

    def put(body: Any, **given: Any) -> Any:
        return client.put(path, json.dumps(body), content_type="application/json", **(given or headers))

    assert put({"value": "tok-123456789"}).status_code == 204
    acme = building.scope()
    run = building.open_run(acme)
    assert vault.resolve(run, "crm-api-key", now=timezone.now()) == "tok-123456789"
    assert client.get(path, **headers).status_code == 405
    named = send(client, "/v1/runs", {"workflowId": "conformance-noop", "agentId": "a tok-123456789"}, **headers)
    assert (named.status_code, named.json()["details"]["errors"][0]["field"]) == (400, "agentId")
    refused = put({"value": "x"}, **building.headers(role="operator"))
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "secrets:manage")
    for body in ({}, {"value": ""}, {"value": "x", "scope": "platform"}, {"value": "x", "scope": "user"}, {"v": 1}):
        assert put(body).status_code == 400
    assert client.delete(path, **building.headers("globex")).status_code == 404
    assert client.delete(path, **headers).status_code == 204
    assert client.delete(path, **headers).status_code == 404
    assert [row.action for row in audit.newest(acme.tenant_id, limit=3) if row.action.startswith("secret")]


def test_what_the_host_wrote_at_the_end_of_a_run_says_so_over_the_api_and_on_its_page(client: Client) -> None:
    building.execute(building.scope(), "conformance-noop")
    entry = MemoryEntry.objects.get(memory_ref="runs/conformance-noop")
    assert not entry.node_id
    wire_id = ids.wire("mem", entry.id)
    told = client.get(f"/v1/host/console/memory/{wire_id}", **building.headers()).json()
    assert told["provenance"]["verdict"] == "host"
    client.force_login(building.operator())
    page = " ".join(client.get(f"/memory/{wire_id}").content.decode().split())
    assert "Host writer: run summary" in page
    assert "the host itself wrote this at the end of that run" in page
    assert "nattributed" not in page
    listed = client.get("/memory", {"ref": "runs/conformance-noop"}).content.decode()
    assert "nattributed" not in listed
