"""What is confidential stands nowhere in clear, what was deleted nowhere at all (RFC-0015 9.2, 9.3; R92, R93, R96)."""

import base64
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from openintent import OpenIntentClient
from openintent.exceptions import OpenIntentError
from psycopg import sql as sql_text

from memory import adapter, ledger, retention_sweep
from memory.adapter import openintent
from memory.adapter.runs import Injection
from memory.addresses import Address, Tier
from memory.host import sql, vault
from memory.host.models import VaultKey
from memory.ledger.entries import AddressedValue
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from tests import building
from tests.fixtures_console import ConsoleProcess
from tests.openintent.conftest import Served

SEALED = ("confidential", "restricted")
NUMBERS = itertools.count(1)


def forms(text: str) -> set[bytes]:
    """The text as it stands, in small letters, for another machine, and in base64 at every alignment."""
    plain = text.encode()
    encoded = {base64.b64encode(b"\0" * shift + plain)[4 if shift else 0 : -4] for shift in range(3)}
    wide = {text.encode(f"utf-16-{order}") for order in ("le", "be")}
    return {plain, text.lower().encode(), plain.hex().encode(), *wide, *encoded}


def everything(process: ConsoleProcess) -> Iterator[tuple[str, bytes]]:
    """Every file of the data folder, what the console has said, and every column of a database elsewhere."""
    yield "what the console said", process.output.encode()
    for path in sorted(Path(process.data_folder).rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()
    if url := process.environment.get("DATABASE_URL"):
        with psycopg.connect(url) as found:
            tables = found.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (table,) in tables:
                rows = found.execute(sql_text.SQL("SELECT t::text FROM {} t").format(sql_text.Identifier(table)))
                yield table, "\n".join(row[0] for row in rows).encode()


def places_of(process: ConsoleProcess, text: str) -> list[str]:
    wanted = forms(text)
    return [name for name, found in everything(process) if any(form in found for form in wanted)]


def until(found: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.only_db("sqlite")
@pytest.mark.console
def test_R96_within_a_minute_a_deleted_value_is_in_no_file_of_the_host_while_it_runs(served: Served) -> None:
    """Entries are changed and deleted among others that stay: SQLite moves those about, and leaves copies behind."""
    agent = served.agent()
    sizes = random.Random(96).choices([5, 60, 400, 3000], k=200)
    entries = [
        {"namespace": "ns", "key": f"k{n}", "value": {"v": f"HERON{n:04d}X" + "y" * size}, "tags": [f"t{n}"]}
        for n, size in enumerate(sizes)
    ]
    with served.client(agent) as client:
        client._client.post("/api/v1/memory/batch", json={"entries": entries}).raise_for_status()
        ids = {each.key: each.id for each in client.list_memory(agent, limit=1000)}
        made = [ids[f"k{n}"] for n in range(200)]
        for number, entry_id in enumerate(made[::6]):
            client.update_memory(entry_id, 1, value={"v": f"EGRET{number:04d}X" + "z" * 900})
        for entry_id in made[::4]:
            client.delete_memory(entry_id)
        kept = {each.value["v"][:10] for each in client.list_memory(agent, limit=1000)}
    gone = {f"HERON{n:04d}X" for n in range(200)} - kept
    deadline = time.monotonic() + 120
    while left := traces(served.process, gone):
        assert time.monotonic() < deadline, left
        served.process.shell(SCRUB)
        time.sleep(1)
    assert traces(served.process, kept) == kept


# What the host's own schedule orders once a minute.
SCRUB = "from django_q.tasks import async_task; async_task('memory.tasks.scrub')"


def traces(process: ConsoleProcess, wanted: set[str]) -> set[str]:
    """Those that stand in a file of the host, in capitals or in small letters."""
    files = [path for path in Path(process.data_folder).rglob("*") if path.is_file()]
    found = b"".join(path.read_bytes() for path in files if path.exists())
    birds = (b"HERON", b"EGRET", b"heron", b"egret")  # one pass for all texts
    return wanted & {trace.decode().upper() for bird in birds for trace in re.findall(bird + rb"\d{4}[Xx]", found)}


@pytest.mark.console
def test_R93_a_sealed_value_is_in_no_byte_that_the_host_keeps(served: Served) -> None:
    agent, shared = served.agent(), served.agent("shared")
    canaries = {each: f"PELICAN{each.upper()}4711" for each in SEALED}
    with served.client(agent, role="owner") as client:
        intent = client.create_intent("Secrets").id
        task = client.create_task(intent, "Keep them")
        use_everywhere(served, client, {"task_id": task.id, "intent_id": intent}, shared, canaries)
        client._client.patch(
            f"/api/v1/tasks/{task.id}", headers={"If-Match": str(task.version)}, json={"status": "completed"}
        ).raise_for_status()
        assert "PELICANOPEN" in str(client.get_events(intent))
    passes_over(served, agent, shared)
    for text in canaries.values():
        with served.http(agent, role="owner") as http:
            for address in ("/v1/host/console/memory", "/v1/host/console/audit", f"/api/v1/intents/{intent}/events"):
                answer = http.get(address, params={"q": text})
                assert text.lower() not in answer.text.replace(f"q={text}", "").lower()
    for text in canaries.values():
        assert places_of(served.process, text) == []
    assert places_of(served.process, "PELICANOPEN") != []


def use_everywhere(
    served: Served, client: OpenIntentClient, scope: dict[str, Any], shared: str, canaries: dict[str, str]
) -> None:
    """Sealed values are made, changed, read, listed, refused, put in batches and asked for again; and one open one."""
    agent = client.agent_id
    http = client._client
    for sensitivity, text in canaries.items():
        for tier in ("working", "episodic", "semantic"):
            namespace = f"{shared}.{sensitivity}" if tier == "semantic" else f"{tier}.{sensitivity}"
            value = {"note": text, "nested": [{text: 1}]}
            given = {"memory_type": tier, "sensitivity": sensitivity, "scope": scope if tier == "working" else None}
            made = client.create_memory(agent, namespace, "k", value, **given)
            client.update_memory(made.id, 1, value={"again": f"{text} again"})
            assert client.get_memory(made.id).value == {"again": f"{text} again"}
            body = {"agent_id": agent, "namespace": namespace, "key": "k", "value": value, **given}
            assert http.post("/api/v1/memory", json=body).status_code == 409
            stale = http.patch(f"/api/v1/memory/{made.id}", headers={"If-Match": "1"}, json={"value": {"s": text}})
            assert stale.status_code == 409
            retried = {"Idempotency-Key": f"key-{next(NUMBERS)}"}
            assert http.post("/api/v1/memory", json={**body, "key": "retried"}, headers=retried).status_code == 201
        rows = [{"namespace": "batch", "key": sensitivity, "value": {"b": text}, "sensitivity": sensitivity}]
        assert http.post("/api/v1/memory/batch", json={"entries": rows}).status_code == 200
        turned = client.create_memory(agent, "turned", sensitivity, {"n": 1})
        client.update_memory(turned.id, 1, sensitivity=sensitivity, value={"t": text})
        gone = client.create_memory(agent, "gone", sensitivity, {"g": text}, sensitivity=sensitivity)
        client.delete_memory(gone.id)
    client.create_memory(agent, "open", "k", {"note": "PELICANOPEN"}, scope=scope)
    assert any("PELICAN" in str(each.value) for each in client.list_memory(agent))


def passes_over(served: Served, agent: str, shared: str) -> None:
    """A night over the refs that hold sealed values; whatever came of it."""
    refs = [f"openintent/semantic/{shared}.{each}" for each in SEALED] + [f"openintent/episodic/{agent}"]
    options: dict[str, dict[str, Any]] = {"distill": {"tokenBudget": 1000}, "consolidate": {}, "compact": {}}
    with served.http(role="owner") as http:
        asked = [
            http.post("/v1/host/console/passes", json={"kind": kind, "memoryRef": ref, "options": given})
            for kind, given in options.items()
            for ref in refs
        ]
        waiting = [answer.json()["id"] for answer in asked if answer.status_code < 300]
        for each in waiting:
            until(lambda each=each: ended(http, each))


def ended(http: httpx.Client, pass_id: str) -> bool:
    return http.get(f"/v1/host/console/passes/{pass_id}").json().get("state") not in {"waiting", "running"}


# --- what a pass, a context and a proposal are made of --------------------------------------------------------------


def caller() -> Caller:
    return Caller(building.scope(), "billing-01")


def remembered(key: str, value: dict[str, Any], **more: Any) -> EntryAddress:
    place = {"tier": Tier.SEMANTIC, "agent_id": "billing-01", "namespace": "shared", "key": key, **more}
    return entries.create(caller(), AddressedValue(Address(**place), value), now=timezone.now())


@pytest.mark.django_db
def test_R93_no_pass_takes_a_sealed_value_and_no_context_its_place() -> None:
    now = timezone.now()
    open_one = remembered("open", {"note": "everybody may know the heron"})
    for each in ("a", "b"):
        remembered(each, {"note": "the pelican"}, sensitivity="restricted")
    place = building.ref(building.scope(), "openintent/semantic/shared")
    assert [row.id for chunk in adapter.passes.corpus(place, now=now) for row in chunk] == [open_one.id]
    assert [row.id for chunk in adapter.passes.corpus_since(place, -1, now=now) for row in chunk] == [open_one.id]
    assert adapter.passes.count_live(place, now=now).entries == 1
    everyone = list(MemoryEntry.objects.values_list("id", flat=True))
    assert adapter.passes.live_among(place, everyone, now=now) == {open_one.id}
    assert [row.id for row in adapter.passes.corpus_entries(place, everyone, now=now)] == [open_one.id]
    assert len(adapter.passes.outline(place, derived=[""], now=now)) == 1
    for wanted in (Injection(token_budget=1000), Injection(rank="relevance", query="sealed")):
        assert [row.id for row in adapter.runs.list_entries(place, now=now, wanted=wanted)] == [open_one.id]
    listed = adapter.runs.list_entries(place, now=now)
    assert sorted({row.content for row in listed if row.id != open_one.id}) == ['{"sealed": "restricted"}']
    hidden = ledger.retirement.retire_entries(
        building.tenant().id, [ledger.retirement.EntryToRetire(row, "merged") for row in everyone], now=now
    )
    assert hidden == [open_one.id]


@pytest.mark.django_db
def test_R93_what_becomes_confidential_is_in_clear_no_more_and_the_other_way_round(client: Any) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent"), "HTTP_X_AGENT_ID": "a"}
    body = {"namespace": "ns", "key": "k", "value": {"v": "pelican"}}
    made = client.post("/api/v1/memory", body, content_type="application/json", **headers).json()
    address = f"/api/v1/memory/{made['id']}"

    def change(version: int, **fields: Any) -> Any:
        return client.patch(
            address, fields, content_type="application/json", HTTP_IF_MATCH=str(version), **headers
        ).json()

    assert change(1, sensitivity="confidential")["value"] == {"v": "pelican"}
    assert "pelican" not in everything_stored()
    assert change(2, sensitivity="internal")["value"] == {"v": "pelican"}
    assert EntryAddress.objects.get().sealed is None


def everything_stored() -> str:
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found += [str(bytes(v) if isinstance(v, memoryview) else v) for row in cursor.fetchall() for v in row]
    return "\n".join(found)


# --- the seal -------------------------------------------------------------------------------------------------------


def write_sealed(row: Any, sealed: bytes) -> None:
    EntryAddress.objects.written_by("memory.ledger").filter(id=row).update(sealed=sealed)


def two_sealed(client: Any, headers: dict[str, Any]) -> list[str]:
    made = [
        client.post(
            "/api/v1/memory",
            {"namespace": "ns", "key": key, "value": {"v": f"pelican {key}"}, "sensitivity": "restricted"},
            content_type="application/json",
            **headers,
        ).json()["id"]
        for key in ("a", "b")
    ]
    return [str(each) for each in made]


@pytest.mark.django_db
@pytest.mark.parametrize("tampering", ["flipped", "swapped", "cut", "empty"])
def test_R93_a_seal_that_was_tampered_with_is_refused_clearly_and_hides_nothing_else(
    client: Any, tampering: str
) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent"), "HTTP_X_AGENT_ID": "a"}
    first, second = two_sealed(client, headers)
    rows = list(EntryAddress.objects.order_by("id"))
    bytes_of = [bytes(row.sealed) for row in rows if row.sealed]
    flipped = bytes_of[0][:-1] + bytes([bytes_of[0][-1] ^ 1])
    kinds = {"flipped": flipped, "swapped": bytes_of[1], "cut": bytes_of[0][:5], "empty": b""}
    write_sealed(rows[0].id, kinds[tampering])
    answer = client.get(f"/api/v1/memory/{first}", **headers)
    assert (answer.status_code, answer.json()["error"]) == (410, "GONE")
    assert "does not open" in answer.json()["message"]
    assert client.get(f"/api/v1/memory/{second}", **headers).json()["value"] == {"v": "pelican b"}
    listed = client.get("/api/v1/agents/a/memory", **headers).json()
    assert {each["id"]: each["value"] for each in listed} == {first: {}, second: {"v": "pelican b"}}
    assert [each["id"] for each in listed if each.get("value_unreadable")] == [first]
    assert client.delete(f"/api/v1/memory/{first}", **headers).status_code == 200


@pytest.mark.django_db
def test_R93_one_broken_seal_holds_up_no_rotation_and_the_command_counts_it(
    client: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent"), "HTTP_X_AGENT_ID": "a"}
    first, second = two_sealed(client, headers)
    other = building.scope("globex")
    place = Address(Tier.WORKING, "g", "n", "k", sensitivity="restricted")
    kept = entries.create(Caller(other, "g"), AddressedValue(place, {"g": 1}), now=timezone.now())
    row = EntryAddress.objects.get(id=first[4:])
    assert row.sealed
    write_sealed(row.id, bytes(row.sealed)[:-1] + bytes([bytes(row.sealed)[-1] ^ 1]))
    monkeypatch.setattr(sql, "CHUNK", 1)
    for _ in range(2):
        call_command("rotate_vault_key")
        said = capsys.readouterr()
        assert "2 secrets are sealed under a fresh key" in said.out
        assert "1 were tampered with" in said.err
    assert client.get(f"/api/v1/memory/{second}", **headers).json()["value"] == {"v": "pelican b"}
    assert ledger.entries.value_of(ledger.addressed.lock_address(kept.tenant_id, kept.id)) == {"g": 1}
    assert client.get(f"/api/v1/memory/{first}", **headers).status_code == 410
    assert set(VaultKey.objects.values_list("id", flat=True)) == {
        row.vault_key_id,
        EntryAddress.objects.get(id=second[4:]).vault_key_id,
    }
    assert client.delete(f"/api/v1/memory/{first}", **headers).status_code == 200
    assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (2, ())
    assert VaultKey.objects.count() == 1


@pytest.mark.django_db
def test_R93_who_reads_beside_a_rotation_is_given_the_value(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent"), "HTTP_X_AGENT_ID": "a"}
    first, _ = two_sealed(client, headers)
    reading = sql.rows
    rotated: list[Any] = []

    def then_rotated(statement: str, parameters: Any) -> Any:
        found = reading(statement, parameters)
        if any(each in statement for each in (openintent.SOURCE, openintent.LED)) and not rotated:
            rotated.append(vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()))
        return found

    for address in (f"/api/v1/memory/{first}", "/api/v1/agents/a/memory"):
        rotated.clear()
        monkeypatch.setattr(sql, "rows", then_rotated)
        answer = client.get(address, **headers)
        monkeypatch.undo()
        assert answer.status_code == 200, answer.content
        assert len(rotated) == 1
        found = {each["id"]: each for each in ([answer.json()] if "id" in answer.json() else answer.json())}
        assert found[first]["value"] == {"v": "pelican a"}


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R93_who_locks_an_entry_behind_a_rotation_is_given_the_value() -> None:
    made = remembered("k", {"v": "pelican"}, sensitivity="restricted")
    begun, seen = threading.Event(), []

    def read() -> None:
        begun.wait()
        with transaction.atomic():
            seen.append(ledger.entries.value_of(ledger.addressed.lock_address(made.tenant_id, made.id)))
        connection.close()

    waiting = threading.Thread(target=read)
    waiting.start()
    with transaction.atomic():
        vault.rotate(reseal=ledger.entries.reseal, now=timezone.now())
        begun.set()
        time.sleep(0.5)
    waiting.join()
    assert seen == [{"v": "pelican"}]


@pytest.mark.console
def test_R93_all_sealed_values_are_read_while_the_vault_s_key_is_rotated(served: Served) -> None:
    agents = [served.agent() for _ in range(4)]
    over, problems, made = threading.Event(), [], []

    def work(agent: str) -> None:
        try:
            with served.client(agent) as client:
                kept = {}
                for number in itertools.count():
                    entry = client.create_memory(
                        agent, "ns", f"k{number}", {"n": number}, memory_type="episodic", sensitivity="confidential"
                    )
                    kept[entry.id] = number
                    some = random.choice(list(kept))
                    assert client.get_memory(some).value == {"n": kept[some]}
                    if over.is_set():
                        assert all(client.get_memory(row).value == {"n": n} for row, n in kept.items())
                        made.append(len(kept))
                        return
        except (OpenIntentError, httpx.HTTPError, AssertionError) as problem:
            problems.append((agent, problem, getattr(problem, "response", None)))

    working = [threading.Thread(target=work, args=(agent,)) for agent in agents]
    for each in working:
        each.start()
    for _ in range(3):
        rotated = served.process.manage("rotate_vault_key")
        assert rotated.returncode == 0, rotated.stderr
    over.set()
    for each in working:
        each.join()
    assert problems == []
    assert len(made) == 4


# --- sensitivity ----------------------------------------------------------------------------------------------------


def test_R92_an_entry_is_classified(served: Served) -> None:
    agent = served.agent()
    value = {"deep": {"ünï": [1, 2**70, None]}}
    with served.client(agent) as client:
        for sensitivity in ("public", "internal", "confidential", "restricted", None):
            given = {"sensitivity": sensitivity} if sensitivity else {}
            made = client.create_memory(agent, "ns", f"of {sensitivity}", value, **given)
            assert made.sensitivity == sensitivity
            found, listed = client.get_memory(made.id), client.list_memory(agent)[0]
            assert (found.sensitivity, found.value) == (sensitivity, value)
            assert (listed.key, listed.sensitivity, listed.value) == (made.key, sensitivity, value)


def test_R92_a_class_that_there_is_not_is_refused(served: Served) -> None:
    with served.http(served.agent()) as http:
        for wrong in ("secret", 3, ["public"], {"a": 1}):
            body = {"namespace": "ns", "key": "k", "value": {}, "sensitivity": wrong}
            answer = http.post("/api/v1/memory", json=body)
            assert answer.status_code == 400, (wrong, answer.text)
            assert [each["field"] for each in answer.json()["errors"]] == ["sensitivity"], wrong


# --- secrets of the vault -------------------------------------------------------------------------------------------

SECRET = "hunter2-tr0ub4dor"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "named", "said"),
    [
        ({"scope": {"task_id": f"run of {SECRET}"}}, "a", "scope.task_id"),
        ({"scope": {"intent_id": SECRET}}, "a", "scope.intent_id"),
        ({"agent_id": f"x{SECRET}"}, f"x{SECRET}", "X-Agent-ID"),
        ({"agent_id": f"x{SECRET}"}, "a", "agent_id"),
    ],
)
def test_SR1_a_secret_is_no_name_of_anything_and_is_not_said_again(
    client: Any, fields: dict[str, Any], named: str, said: str
) -> None:
    vault.store_secret(building.tenant().id, "API", SECRET, now=timezone.now())
    headers = {"HTTP_X_API_KEY": building.key("acme", "owner"), "HTTP_X_AGENT_ID": named}
    body = {"namespace": "ns", "key": "k", "value": {}, **fields}
    answer = client.post("/api/v1/memory", body, content_type="application/json", **headers)
    assert answer.status_code == 400, answer.content
    assert [each["field"] for each in answer.json()["errors"]] == [said]
    assert SECRET not in answer.content.decode() + everything_stored()


@pytest.mark.django_db
def test_SR1_no_agent_is_stored_under_a_secret(client: Any) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "owner"), "HTTP_X_AGENT_ID": "a", "HTTP_IF_MATCH": "1"}
    body = {"namespace": "ns", "key": "k", "value": {"v": 1}, "memory_type": "semantic"}
    assert client.post("/api/v1/memory", body, content_type="application/json", **headers).status_code == 201
    intent = client.post("/api/v1/intents", {"title": "x"}, content_type="application/json", **headers).json()["id"]
    vault.store_secret(building.tenant().id, "API", SECRET, now=timezone.now())
    rules = {"permissions": {"allow": [{"agent": f"x{SECRET}", "access": "read"}]}}
    as_secret = headers | {"HTTP_X_AGENT_ID": SECRET}
    about = f"intents/{intent}"
    refused = [
        ("POST", "agents/register", {"agent_id": SECRET}, headers, "agent_id"),
        ("PATCH", "memory/namespaces/ns", rules, headers, "permissions.allow"),
        ("POST", f"{about}/agents", {"agent_id": SECRET}, headers, "agent_id"),
        ("POST", f"{about}/acl/entries", {"principal_id": SECRET}, headers, "principal_id"),
        ("POST", "coordinators", {"intent_id": intent, "agent_id": SECRET}, headers, "agent_id"),
        ("POST", "tasks", {"intent_id": intent, "name": "x", "assigned_agent": SECRET}, headers, "assigned_agent"),
        ("POST", "intents", {"title": "x"}, as_secret, "X-Agent-ID"),
        ("POST", f"{about}/events", {"event_type": "comment", "payload": {}}, as_secret, "X-Agent-ID"),
    ]
    for method, path, given, sender, field in refused:
        answer = client.generic(method, f"/api/v1/{path}", json.dumps(given), content_type="application/json", **sender)
        assert answer.status_code == 400, (path, answer.content)
        assert [each["field"] for each in answer.json()["errors"]] == [field]
        assert SECRET not in answer.content.decode() + everything_stored()


@pytest.mark.django_db
def test_SR1_whoever_is_named_by_a_secret_changes_nothing_and_what_it_deletes_is_told_without_it(client: Any) -> None:
    headers = {"HTTP_X_API_KEY": building.key("acme", "owner"), "HTTP_X_AGENT_ID": "a"}
    body = {"namespace": "ns", "key": "k", "value": {"v": 1}}
    made = client.post("/api/v1/memory", body, content_type="application/json", **headers).json()
    vault.store_secret(building.tenant().id, "API", SECRET, now=timezone.now())
    address, other = f"/api/v1/memory/{made['id']}", headers | {"HTTP_X_AGENT_ID": SECRET, "HTTP_IF_MATCH": "1"}
    changed = client.patch(address, {"value": {"v": 2}}, content_type="application/json", **other)
    assert changed.status_code == 400
    assert client.delete(address, **other).status_code == 200
    assert SECRET not in changed.content.decode() + everything_stored()


@pytest.mark.django_db
def test_SR1_an_entry_says_how_many_secrets_were_replaced_in_it_and_goes_on_saying_so(client: Any) -> None:
    vault.store_secret(building.tenant().id, "API", SECRET, now=timezone.now())
    headers = {"HTTP_X_API_KEY": building.key("acme", "owner"), "HTTP_X_AGENT_ID": "a"}
    body = {"namespace": "ns", "key": f"of {SECRET}", "value": {"v": [SECRET, {SECRET: 1}]}, "tags": [f"t{SECRET}"]}
    made = client.post("/api/v1/memory", body, content_type="application/json", **headers).json()
    kept = remembered("plain", {"v": "pelican"})
    assert SECRET not in everything_stored()

    def replaced() -> dict[str, int]:
        return dict(EntryAddress.objects.values_list("key", "entry__redactions"))

    assert replaced() == {"of [REDACTED:API]": 4, "plain": 0}
    address = f"/api/v1/memory/{made['id']}"
    for version, (change, many) in enumerate([({"priority": "high"}, 4), ({"value": {"v": SECRET}}, 1)], 1):
        given = {"content_type": "application/json", "HTTP_IF_MATCH": str(version), **headers}
        assert client.patch(address, change, **given).status_code == 200
        assert replaced()["of [REDACTED:API]"] == many
    client.force_login(building.operator())
    pages = [client.get(f"/memory/mem_{each}").content.decode() for each in (made["id"][4:], kept.id.hex)]
    assert ["A secret was replaced when this was written" in page for page in pages] == [True, False]


# --- gone -----------------------------------------------------------------------------------------------------------


def test_R96_a_second_delete_finds_nothing(served: Served) -> None:
    agent = served.agent()
    made = served.remembers(agent)
    with served.http(agent) as http:
        codes = [http.delete(f"/api/v1/memory/{made['id']}").status_code for _ in range(2)]
        assert codes == [200, 404]
        assert http.get(f"/api/v1/memory/{made['id']}").status_code == 404


NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MB = 1024 * 1024


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_R96_the_file_is_rebuilt_when_something_went_and_its_log_is_empty() -> None:
    made = remembered("k", {"v": "heron"})
    assert retention_sweep.scrub(now=NOON) is False
    ledger.erase.remove_entries(made.tenant_id, (made.id,), reason="deleted", now=NOON)
    assert retention_sweep.scrub(now=NOON) is True
    assert sql.rebuilt_at() == int(NOON.timestamp())
    wal = Path(f"{connection.settings_dict['NAME']}-wal")
    assert not wal.exists() or wal.stat().st_size == 0


def rebuilds(monkeypatch: pytest.MonkeyPatch, size: int, *looks: datetime) -> list[bool]:
    """At which of these looks a file of that size is rebuilt, which was rebuilt at noon."""
    last = [int(NOON.timestamp())]
    monkeypatch.setattr(sql, "file_bytes", lambda: size)
    monkeypatch.setattr(sql, "rebuilt_at", lambda: last[0])
    monkeypatch.setattr(sql, "rebuild", lambda at: last.__setitem__(0, at))
    monkeypatch.setattr(sql, "empty_log", bool)
    return [retention_sweep.scrub(now=at) for at in looks]


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db
@pytest.mark.parametrize("reason", ["deleted", "forgotten", "sealed"])
def test_R96_C22_of_a_large_file_what_may_name_nobody_goes_at_night_and_the_rest_at_once(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    soon, morning = NOON + timedelta(minutes=5), NOON + timedelta(hours=15)
    made = remembered("k", {"v": "heron"}, sensitivity="restricted" if reason == "sealed" else "")
    ledger.erase.remove_entries(made.tenant_id, (made.id,), reason=reason.replace("sealed", "deleted"), now=soon)
    looks = [soon + timedelta(minutes=2), soon + timedelta(minutes=4), morning, morning + timedelta(minutes=2)]
    assert rebuilds(monkeypatch, 3 * MB, *looks) == [True, False, False, False]
    expected = [False, False, True, False] if reason == "deleted" else [True, False, False, False]
    assert rebuilds(monkeypatch, 200 * MB, *looks) == expected
    assert rebuilds(monkeypatch, retention_sweep.MOST_REBUILT + 1, *looks) == [False] * 4


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db
def test_R96_a_file_is_not_rebuilt_where_the_disk_has_no_room_for_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made, soon = remembered("k", {"v": "heron"}), NOON + timedelta(minutes=5)
    ledger.erase.remove_entries(made.tenant_id, (made.id,), reason="forgotten", now=soon)
    monkeypatch.setattr(sql, "free_bytes", lambda: 2 * MB)
    assert rebuilds(monkeypatch, MB + 1, soon) == [False]
    assert rebuilds(monkeypatch, MB, soon) == [True]


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db
def test_R96_a_change_is_taken_out_of_the_file_too_and_one_that_seals_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, looks = remembered("k", {"v": "heron"}), (NOON + timedelta(minutes=7), NOON + timedelta(minutes=11))
    assert rebuilds(monkeypatch, MB, *looks) == [False, False]
    soon = NOON + timedelta(minutes=5)
    entries.update(caller(), made.id, 1, {"value": {"v": "egret"}}, now=soon)
    assert rebuilds(monkeypatch, MB, *looks) == [True, False]
    assert rebuilds(monkeypatch, 200 * MB, *looks) == [False, False]
    entries.update(caller(), made.id, 2, {"sensitivity": "restricted"}, now=soon)
    assert rebuilds(monkeypatch, 200 * MB, *looks) == [True, False]
