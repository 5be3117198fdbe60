"""The seams of the passes go through the passes that everybody asks for, and answer as those end."""

import hashlib
import time
from base64 import b64encode
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import passes
from memory.host import vault
from memory.host.models import Run, Secret, SecretScope
from memory.models import Archive, Pass
from memory.models.entry import MemoryEntry
from memory.passes import compaction, orders
from memory.passes.orders import RequestedPass
from openwop_console.test_seams import memory
from tests import building

pytestmark = pytest.mark.django_db
COMPACT = "/v1/test/memory/compact"
SPOKEN = "The provider was called with [REDACTED:conformance-canary] and answered at once."


@pytest.fixture(autouse=True)
def open_seams(settings: Settings) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True


@pytest.fixture
def two_entries() -> None:
    building.remember("acme", "one", "two")


def compact(client: Client, **more: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post(COMPACT, {"memoryRef": "notes", **more}, "application/json", **building.headers())
    return answer.status_code, answer.json() if answer.content else {}


def test_a_pass_that_a_worker_took_first_is_waited_for(
    client: Client, two_entries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out = orders.run_pass

    def too_late(*args: Any, **options: Any) -> None:
        carry_out(*args, **options)

    monkeypatch.setattr(orders, "run_pass", too_late)
    status, found = compact(client)
    assert (status, found["outputContent"]) == (200, "one\ntwo")


def test_a_pass_that_takes_too_long_is_503(client: Client, two_entries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "run_pass", lambda *_, **__: None)
    monkeypatch.setattr(memory, "PATIENCE_S", 0.01)
    monkeypatch.setattr(memory, "LOOK_EVERY", 0.001)
    status, found = compact(client)
    assert (status, found["error"]) == (503, "busy")
    assert Pass.objects.get(kind="compact").state == "waiting"


def test_a_pass_that_finds_another_at_work_on_its_ref_waits_its_turn(
    client: Client, two_entries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope, waited = building.scope(), []
    other = orders.order(scope, RequestedPass("consolidate", "notes"), now=timezone.now())
    assert passes.claim(scope.tenant_id, other.id, holder="busy/1", now=timezone.now())

    def until_the_other_is_over(seconds: float) -> None:
        waited.append(Pass.objects.get(kind="compact").state)
        passes.LEASE.release_held_by("busy", now=timezone.now())

    monkeypatch.setattr(memory, "time", SimpleNamespace(sleep=until_the_other_is_over, monotonic=time.monotonic))
    status, found = compact(client)
    assert (status, found["outputContent"], waited) == (200, "one\ntwo", ["waiting"])


def test_a_pass_that_fails_is_a_500_that_tells_nothing(
    client: Client, two_entries: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "condensed", lambda *_, **__: 1 / 0)
    status, found = compact(client)
    assert (status, found["error"]) == (500, "internal_error")


def test_a_read_only_host_offers_none_of_it(client: Client, two_entries: None, settings: Settings) -> None:
    settings.OPENWOP_MEMORY_WRITABLE = False
    status, found = compact(client)
    assert (status, found["error"]) == (501, "capability_not_provided")
    for seam in ("distill", "consolidate"):
        body = {"memoryRef": "elsewhere"}
        answer = client.post(f"/v1/host/sample/memory/{seam}", body, "application/json", **building.headers())
        assert answer.status_code == 501


def test_a_request_that_is_repeated_with_its_key_is_carried_out_once(client: Client, two_entries: None) -> None:
    headers = building.headers() | {"HTTP_IDEMPOTENCY_KEY": "k-1"}
    first, second = (client.post(COMPACT, {"memoryRef": "notes"}, "application/json", **headers) for _ in range(2))
    assert first.json() == second.json()
    assert Pass.objects.filter(kind="compact").count() == 1


def test_what_is_planted_is_written_by_the_host_in_a_run_that_is_over(client: Client) -> None:
    entries = [{"id": "a", "content": "one", "tags": ["x"]}, {"id": "b", "content": "two"}]
    body = {"memoryRef": "notes", "entries": entries}
    answer = client.post("/v1/test/memory/seed", body, "application/json", **building.headers())
    assert (answer.status_code, answer.json()["seeded"]) == (201, 2)
    run = Run.objects.of(building.tenant().id).get()
    assert (run.status, run.system) == ("completed", True)
    assert building.contents(building.scope()) == ["two", "one"]


def test_a_canary_is_a_secret_of_the_run_that_writes_it_and_a_leak_would_be_told(client: Client) -> None:
    scope = building.scope()
    ref = building.ref(scope, "notes")
    memory.plant(ref, [], canary=True, now=timezone.now())
    memory.plant(ref, [], canary=True, now=timezone.now())
    secret = Secret.objects.of(scope.tenant_id).get()
    assert (secret.scope, secret.name) == (SecretScope.RUN, "conformance-canary")
    assert building.contents(scope) == [SPOKEN, SPOKEN]
    value = vault.unseal(secret)
    assert memory.leaks(scope.tenant_id, ["fine", f"it is {value}"])
    assert memory.leaks(scope.tenant_id, [value.encode().hex(), b64encode(value.encode()).decode()])
    assert not memory.leaks(scope.tenant_id, ["fine", value[:-1]])
    assert not memory.leaks(building.tenant("globex").id, [value])


def test_a_consolidation_writes_the_canary_anew_and_what_it_wrote_is_looked_through(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned: list[str] = []
    leaks = memory.leaks

    def looked_through(tenant_id: Any, texts: Any) -> bool:
        scanned.extend(texts)
        return leaks(tenant_id, scanned)

    monkeypatch.setattr(memory, "leaks", looked_through)
    body = {"memoryRef": "notes", "includeSecretCanary": True}
    answer = client.post("/v1/host/sample/memory/consolidate", body, "application/json", **building.headers())
    assert (answer.status_code, answer.json()["secretLeaked"]) == (200, False)
    [made] = MemoryEntry.objects.filter(derived="merged", content=SPOKEN)
    assert {"conformance-canary", "conformance-restated"} <= set(made.tags)
    [text] = [each for each in scanned if SPOKEN in each]
    assert "conformance-restated" in text


def test_a_refused_body_plants_nothing(client: Client) -> None:
    for body in ({"memoryRef": "notes", "tokenBudget": 0}, {"memoryRef": "../notes"}):
        client.post("/v1/host/sample/memory/distill", body, "application/json", **building.headers())
    assert building.contents(building.scope()) == []
    assert passes.latest(building.tenant().id, kinds=("distill",), limit=1) == []


def test_a_ref_that_holds_archives_alone_is_planted_before_it_is_distilled(client: Client) -> None:
    def distil(**more: Any) -> tuple[int, dict[str, Any]]:
        body = {"memoryRef": "desk/distilled", "tokenBudget": 4000, **more}
        answer = client.post("/v1/host/sample/memory/distill", body, "application/json", **building.headers())
        return answer.status_code, answer.json()

    status, _ = distil(sources=["The Pro plan costs $59 per month.", "Refunds take five days."])
    assert status == 200
    assert set(MemoryEntry.objects.filter(memory_ref="desk/distilled").values_list("derived", flat=True)) == {
        "distilled"
    }
    status, found = distil()
    assert (status, found["indexUpdated"]) == (200, True), found
    assert MemoryEntry.objects.filter(memory_ref="desk/distilled").exclude(derived="distilled").exists()


DISTILL = "/v1/host/sample/memory/distill"


def distilled(client: Client, memory_ref: str, **more: Any) -> dict[str, Any]:
    body = {"memoryRef": memory_ref, "tokenBudget": 4000, **more}
    answer = client.post(DISTILL, body, "application/json", **building.headers())
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_distillation_without_sources_reads_the_live_entries_that_were_seeded_and_names_them(client: Client) -> None:
    entries = [{"id": "a", "content": "The Pro plan costs $59."}, {"id": "b", "content": "Refunds take five days."}]
    body = {"memoryRef": "desk/seeded", "entries": entries}
    seeded = client.post("/v1/test/memory/seed", body, "application/json", **building.headers()).json()
    found = distilled(client, "desk/seeded")
    assert sorted(found["event"]["sourceIds"]) == sorted(seeded["plantedIds"])
    live = MemoryEntry.objects.filter(memory_ref="desk/seeded").exclude(derived="distilled")
    assert sorted(live.values_list("content", flat=True)) == sorted(each["content"] for each in entries)


def test_a_ref_without_live_entries_is_planted_with_the_default_corpus(client: Client) -> None:
    found = distilled(client, "desk/empty")
    live = MemoryEntry.objects.filter(memory_ref="desk/empty").exclude(derived="distilled")
    assert set(live.values_list("content", flat=True)) == set(memory.RECENT)
    assert len(found["event"]["sourceIds"]) == len(memory.RECENT)


def test_an_index_is_emitted_unless_it_is_declined(client: Client) -> None:
    advertised = client.get("/.well-known/openwop").json()["memory"]["distillation"]
    assert distilled(client, "desk/left-out")["indexUpdated"] is advertised["indexEmitted"]
    assert distilled(client, "desk/declined", indexEmitted=False)["indexUpdated"] is False


def test_the_checksum_is_of_the_archive_document_and_the_size_of_the_text_that_agents_read(client: Client) -> None:
    found = distilled(client, "desk/sized")
    [archive] = Archive.objects.all()
    assert hashlib.sha256(bytes(archive.body)).hexdigest() == found["archiveChecksum"]
    [text] = MemoryEntry.objects.filter(memory_ref="desk/sized", derived="distilled").values_list("content", flat=True)
    assert found["event"]["byteSize"] == len(text.encode())
