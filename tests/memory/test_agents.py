"""Agents: what a manifest may say, who sees it, what it leaves its agent, and that its prompt goes nowhere."""

import ast
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import adapter, agents, ledger, memory_health, retention_sweep
from memory.host import ids, registrations, registry, vault
from memory.host.errors import CapabilityNotProvided, Conflict, Forbidden
from memory.host.models import ArtifactKind, AuditRecord, Installation
from memory.host.node_types import MEMORY_READ, MEMORY_WRITE
from memory.models.entry import MemoryEntry, Tombstone
from openwop_console.process import recovery
from openwop_console.runtime import nodes
from tests import building
from tests.conformance import schemas

pytestmark = pytest.mark.django_db
AGENT = "private.acme.triage"
PROMPT = "You are the triage agent of Acme, and nobody may read this sentence."
WIRE = "/v1/host/console/agents"


def manifest(**more: Any) -> dict[str, Any]:
    given = {"agentId": AGENT, "persona": "Triage", "modelClass": "general", "systemPrompt": PROMPT, **more}
    return {key: value for key, value in given.items() if value is not None}


def put(client: Client, body: Any, *, agent_id: str = "", slug: str = "acme", role: str = "owner") -> Any:
    named = agent_id or (body.get("agentId", AGENT) if isinstance(body, dict) else AGENT)
    said = json.dumps(body)
    return client.put(f"{WIRE}/{named}", said, content_type="application/json", **building.headers(slug, role))


def listed(client: Client, slug: str = "acme", role: str = "viewer") -> list[dict[str, Any]]:
    answer = client.get("/v1/agents", **building.headers(slug, role))
    assert answer.status_code == 200, answer.content
    schemas.check("agent-inventory-response", answer.json())
    assert answer.json()["total"] == len(answer.json()["agents"])
    return list(answer.json()["agents"])


def seen(client: Client, agent_id: str = AGENT) -> dict[str, Any]:
    answer = client.get(f"/v1/agents/{agent_id}", **building.headers(role="viewer"))
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


# --- installing -------------------------------------------------------------------------------------------------------


def test_an_installed_manifest_is_in_the_inventory_with_what_it_declares(client: Client) -> None:
    whole = manifest(
        label="Desk",
        description="Reads tickets.",
        toolAllowlist=[MEMORY_READ, "mcp:search"],
        memoryShape={"longTerm": True, "scratchpad": False},
        confidence={"defaultThreshold": 0.8},
        packName="private.acme.desk",
        packVersion="2.0.1",
    )
    answer = put(client, whole)
    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "agentId": AGENT,
        "persona": "Triage",
        "label": "Desk",
        "description": "Reads tickets.",
        "modelClass": "general",
        "packName": "private.acme.desk",
        "packVersion": "2.0.1",
        "toolAllowlist": [MEMORY_READ, "mcp:search"],
        "hasHandoffSchemas": False,
        "memoryShape": {"longTerm": True, "scratchpad": False},
        "confidenceThreshold": 0.8,
    }
    assert seen(client) == answer.json() == listed(client)[0]


def test_a_manifest_that_says_little_is_a_pack_of_its_own_without_tools(client: Client) -> None:
    entry = put(client, manifest()).json()
    assert (entry["label"], entry["packName"], entry["packVersion"]) == ("Triage", AGENT, "1.0.0")
    assert entry["toolAllowlist"] == []
    assert not {"memoryShape", "degraded", "memoryDegraded", "degradedMemoryDimensions", "description"} & set(entry)


def test_agents_are_listed_by_their_ids_the_same_on_every_database(client: Client) -> None:
    names = [
        "private.acme.b",
        "private.acme.a-b",
        "private.acme.aB",
        "private.acme.a_b",
        "private.acme.aa",
        "core.acme",
    ]
    for name in names[:-1]:
        building.install_agent("acme", {"agentId": name})
    assert [entry["agentId"] for entry in listed(client)] == sorted(names[:-1])


def test_what_is_no_manifest_is_refused_by_its_fields_and_not_echoed(client: Client) -> None:
    for wrong, field in (
        ({"agentId": "roster"}, "agentId"),
        ({"agentId": "org-chart"}, "agentId"),
        ({"agentId": "host:triage"}, "agentId"),
        ({"agentId": "private.acme." + "x" * 256}, "agentId"),
        ({"persona": None}, "persona"),
        ({"modelClass": "chat"}, "modelClass"),
        ({"systemPrompt": None}, "systemPrompt"),
        ({"systemPromptRef": "prompts/x.md"}, "systemPromptRef"),
        ({"systemPrompt": None, "systemPromptRef": "prompts/x.md"}, "systemPromptRef"),
        ({"handoff": {"taskSchemaRef": "schemas/task.json"}}, "handoff.taskSchemaRef"),
        ({"handoff": {"returnSchemaRef": "schemas/return.json"}}, "handoff.returnSchemaRef"),
        ({"evalSuiteRef": "evals/x.json"}, "evalSuiteRef"),
        ({"memoryShape": {"longTerm": "true"}}, "memoryShape.longTerm"),
        ({"memoryShape": {"forever": True}}, "memoryShape.forever"),
        ({"confidence": {"defaultThreshold": 1.5}}, "confidence.defaultThreshold"),
        ({"requiresCapabilities": [""]}, "requiresCapabilities[0]"),
        ({"toolAllowlist": "openwop:memory.read"}, "toolAllowlist"),
        ({"packVersion": "1"}, "packVersion"),
        ({"packVersion": "1.0.0\n"}, "packVersion"),
        ({"packName": "acme"}, "packName"),
        ({"surprise": PROMPT}, "surprise"),
    ):
        answer = put(client, manifest(**wrong), agent_id=str(wrong.get("agentId", AGENT)))
        assert (answer.status_code, answer.json()["error"]) == (422, "validation_error"), (wrong, field)
        schemas.check("error-envelope", answer.json())
        assert field in [error["field"] for error in answer.json()["details"]["errors"]], (wrong, field)
        assert "nobody may read" not in answer.content.decode(), (wrong, field)
        assert listed(client) == [], (wrong, field)


def test_a_refusal_says_what_the_schema_asks_for(client: Client) -> None:
    wrong = {"confidence": {"defaultThreshold": 1.5}, "requiresCapabilities": [""], "agentId": "roster"}
    errors = put(client, manifest(**wrong), agent_id="roster").json()["details"]["errors"]
    assert {error["field"]: error["message"] for error in errors} == {
        "agentId": "is a reserved name",
        "confidence.defaultThreshold": "is more than 1",
        "requiresCapabilities[0]": "is empty",
    }


@pytest.mark.parametrize("body", [[], "x", manifest(agentId="private.acme.other"), {}])
def test_a_body_that_is_not_the_manifest_of_its_address_is_400(client: Client, body: Any) -> None:
    answer = put(client, body, agent_id=AGENT)
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")


def test_the_prompt_is_nowhere_but_in_the_installation(client: Client) -> None:
    told = [put(client, manifest()), put(client, manifest(systemPrompt=PROMPT + "!"))]
    headers = building.headers()
    told += [client.get(f"/v1/{path}", **headers) for path in ("agents", f"agents/{AGENT}", "openapi.json")]
    assert [each.status_code for each in told[:2]] == [200, 409]
    assert not [each for each in told if "nobody may read" in each.content.decode()]
    assert "nobody may read" not in str(list(AuditRecord.objects.values()))


@pytest.mark.engines
def test_a_secret_in_a_manifest_is_kept_as_its_mark(client: Client) -> None:
    vault.store_secret(building.tenant().id, "crm-key", "s3cr3t-of-the-crm", now=timezone.now())
    assert (
        put(client, manifest(persona="Uses s3cr3t-of-the-crm", systemPrompt="Say s3cr3t-of-the-crm.")).status_code
        == 200
    )
    assert seen(client)["persona"] == "Uses [REDACTED:crm-key]"
    assert "s3cr3t-of-the-crm" not in Installation.objects.get(kind=ArtifactKind.AGENT).text


@pytest.mark.engines
def test_the_same_manifest_again_changes_nothing_and_another_one_needs_another_version(client: Client) -> None:
    assert put(client, manifest(memoryShape={})).status_code == 200
    assert put(client, dict(reversed(manifest(memoryShape={}).items()))).status_code == 200
    refused = put(client, manifest(persona="Other"))
    assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
    assert put(client, manifest(persona="Other", packVersion="1.0.1")).json()["persona"] == "Other"
    assert put(client, manifest(memoryShape={})).status_code == 409
    assert [entry["packVersion"] for entry in listed(client)] == ["1.0.1"]
    acts = AuditRecord.objects.filter(action="agent.installed").order_by("seq").values_list("target", flat=True)
    assert list(acts) == [f"agent:{AGENT}@1.0.0", f"agent:{AGENT}@1.0.1"]


@pytest.mark.engines
def test_a_removed_agent_is_gone_and_can_come_back(client: Client) -> None:
    put(client, manifest())
    headers = building.headers()
    assert client.delete(f"{WIRE}/{AGENT}", **headers).status_code == 204
    assert listed(client) == []
    again = client.delete(f"{WIRE}/{AGENT}", **headers)
    never = client.delete(f"{WIRE}/private.acme.never", **headers)
    assert (again.status_code, never.status_code) == (404, 404)
    removed = AuditRecord.objects.get(action="agent.removed")
    assert (removed.target, removed.actor.startswith("key_")) == (f"agent:{AGENT}@1.0.0", True)
    assert put(client, manifest()).status_code == 200
    assert [entry["agentId"] for entry in listed(client)] == [AGENT]
    assert registry.by_ref(building.tenant().id, f"agent:{AGENT}@1.0.0").superseded_at is None


def test_only_who_manages_agents_installs_and_removes_them(client: Client) -> None:
    for role in ("viewer", "author", "agent", "reviewer", "auditor"):
        refused = put(client, manifest(), role=role)
        assert refused.json()["details"]["requiredScope"] == "agents:manage"
        assert client.delete(f"{WIRE}/{AGENT}", **building.headers(role=role)).status_code == 403
    bound = building.headers(role="operator", agents=(AGENT,))
    own = client.put(f"{WIRE}/{AGENT}", json.dumps(manifest()), content_type="application/json", **bound)
    assert (own.status_code, own.json()["details"]) == (403, {"rule": "agent-binding"})
    assert put(client, manifest(), role="operator").status_code == 200


# --- who sees it ------------------------------------------------------------------------------------------------------


def test_an_agent_of_another_tenant_is_not_installed_here(client: Client) -> None:
    building.install_agent("globex", {"agentId": "private.globex.spy"})
    building.install_agent("acme", {"agentId": AGENT})
    assert [entry["agentId"] for entry in listed(client)] == [AGENT]
    headers = building.headers()
    foreign, unknown, reserved = (
        client.get(f"/v1/agents/{name}", **headers) for name in ("private.globex.spy", "private.acme.never", "roster")
    )
    assert foreign.status_code == unknown.status_code == reserved.status_code == 404
    assert foreign.json() == unknown.json() == reserved.json()
    assert client.delete(f"{WIRE}/private.globex.spy", **headers).json()["error"] == "not_found"
    assert [entry["agentId"] for entry in listed(client, "globex")] == ["private.globex.spy"]


def test_the_inventory_needs_a_credential_and_its_permission(client: Client) -> None:
    for path in ("/v1/agents", f"/v1/agents/{AGENT}"):
        assert client.get(path).status_code == 401
        refused = client.get(path, **building.headers(role="auditor"))
        assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "manifest:read")


# --- what it lacks ----------------------------------------------------------------------------------------------------


def test_a_required_peer_that_is_not_there_refuses_and_an_optional_one_degrades(client: Client) -> None:
    peers = {"memory": ">=1", "aiProviders.toolCalling": "*", "mcp": "*"}
    refused = put(client, manifest(peerDependencies=peers, peerDependenciesMeta={"mcp": {"optional": True}}))
    assert (refused.status_code, refused.json()["error"]) == (422, "pack_peer_dependency_missing")
    assert refused.json()["details"] == {"missing": ["aiProviders.toolCalling"]}
    assert listed(client) == []
    optional = {name: {"optional": True} for name in peers}
    asked = ["mcp", "host.workspace", "host.telepathy", "multiAgent.executionModel.verifier"]
    taken = put(client, manifest(peerDependencies=peers, peerDependenciesMeta=optional, requiresCapabilities=asked))
    assert taken.json()["degraded"] == [
        "aiProviders.toolCalling",
        "mcp",
        "host.telepathy",
        "multiAgent.executionModel.verifier",
    ]
    assert seen(client)["degraded"] == taken.json()["degraded"]


def test_a_capability_is_there_when_it_is_claimed() -> None:
    for key, there in (
        ("memory", True),
        ("host.memory", True),
        ("memory.search", True),
        ("memory.retention", True),
        ("memory.retention.forget", True),
        ("memory.compaction", False),
        ("agents.memoryBackends", True),
        ("agents.memoryBackends.long-term", True),
        ("agents.memoryBackends.short", False),
        ("agents.memoryBackends.long-term.more", False),
        ("agents", False),
        ("limits.maxNodeExecutions", True),
        ("workspace.off", False),
        ("workspace.none", False),
        ("workspace.on.deeper", False),
        ("", False),
    ):
        document = {
            "memory": {"supported": True, "search": {"supported": True}, "retention": {"ttl": False, "forget": True}},
            "agents": {"memoryBackends": ["long-term"]},
            "limits": {"maxNodeExecutions": 1000},
            "workspace": {"supported": True, "on": True, "off": False, "none": []},
        }
        assert memory_health.advertises(document, key) is there, (key, there)


def test_ephemeral_and_read_only_hosts_degrade_what_asks_for_more(client: Client, settings: Settings) -> None:
    shapes = {
        "private.acme.long": {"longTerm": True},
        "private.acme.pad": {"scratchpad": True},
        "private.acme.talk": {"conversation": True, "longTerm": False},
        "private.acme.none": {"scratchpad": False},
        "private.acme.silent": None,
    }
    for name, shape in shapes.items():
        put(client, manifest(agentId=name, memoryShape=shape))

    def lacking() -> dict[str, list[str]]:
        found = {entry["agentId"]: entry for entry in listed(client)}
        for entry in found.values():
            assert entry.get("memoryDegraded", False) is bool(entry.get("degradedMemoryDimensions"))
            assert entry == seen(client, entry["agentId"])
        return {
            name.rsplit(".", 1)[1]: entry["degradedMemoryDimensions"]
            for name, entry in found.items()
            if "memoryDegraded" in entry
        }

    assert lacking() == {}
    settings.OPENWOP_MEMORY_BACKEND = "ephemeral"
    assert lacking() == {"long": ["long-term-durability"]}
    settings.OPENWOP_MEMORY_WRITABLE = False
    assert lacking() == {"long": ["write", "long-term-durability"], "pad": ["write"], "talk": ["write"]}
    settings.OPENWOP_MEMORY_BACKEND = "long-term"
    assert lacking() == {"long": ["write"], "pad": ["write"], "talk": ["write"]}


def test_only_a_literal_true_asks_for_a_dimension() -> None:
    truthy_and_not: list[Any] = [False, None, "true", 1, {}, [True]]
    for value in truthy_and_not:
        assert memory_health.degraded_dimensions({"longTerm": value}, {}) == []
    assert memory_health.degraded_dimensions({"longTerm": True}, {}) == ["read", "write", "long-term-durability"]


def test_the_inventory_is_derived_from_the_very_document_that_discovery_serves(client: Client) -> None:
    served = client.get("/.well-known/openwop").json()
    building.install_agent("acme", {"agentId": AGENT, "memoryShape": {"longTerm": True}})
    found = agents.entries(building.scope(), served)
    assert found == agents.entries(building.scope(), registrations.advertised_capabilities())
    lesser = {**served, "agents": {"manifestRuntime": {"supported": True}}}
    [entry] = agents.entries(building.scope(), lesser)
    assert entry.degraded_dimensions == ("long-term-durability",)


# --- a host that does not write, and one that does not keep -----------------------------------------------------------


def test_a_read_only_host_writes_nothing_and_still_retires_and_forgets(settings: Settings) -> None:
    kept = building.remember("acme", "from before", subject="Marta")
    owner = building.scope()
    settings.OPENWOP_MEMORY_WRITABLE = False
    building.install("acme", building.definition("late", building.remember_node("too late")))
    run = building.execute(owner, "late")
    assert (run.status, run.error["code"]) == ("failed", "capability_not_provided")
    assert building.contents(owner) == ["from before"]
    with pytest.raises(CapabilityNotProvided):
        building.write(owner, building.open_run(owner), "direct")
    entry_id = ids.parse("mem", kept.entries[0])
    assert entry_id
    ledger.retirement.retire_entry(owner, entry_id, reason="old", now=timezone.now())
    assert building.contents(owner) == []
    assert ledger.erase.remove_entries(owner.tenant_id, (entry_id,), reason="forgotten", now=timezone.now()) == 1


def test_a_read_only_host_advertises_that_and_no_fixture_that_writes(client: Client, settings: Settings) -> None:
    assert "writable" not in client.get("/.well-known/openwop").json()["memory"]
    settings.OPENWOP_MEMORY_WRITABLE = False
    document = client.get("/.well-known/openwop").json()
    schemas.check("capabilities", document)
    assert document["memory"]["writable"] is False
    assert document["capabilities"]["memory"]["writable"] is False
    assert not [name for name in document["fixtures"] if "memory" in name]


@pytest.mark.engines
def test_what_a_host_without_durable_memory_wrote_ends_with_it_and_nothing_else_does(settings: Settings) -> None:
    durable = building.remember("acme", "for long")
    settings.OPENWOP_MEMORY_INSTANCE = "host-a"
    ours = building.remember("acme", "for now", tags=["x"])
    globex = building.remember("globex", "for now, too")
    settings.OPENWOP_MEMORY_INSTANCE = "host-b"
    theirs = building.remember("acme", "of another host")

    assert recovery.end_ephemeral("host-a", timezone.now()) == 2

    left = {ids.wire("mem", row) for row in MemoryEntry.objects.values_list("id", flat=True)}
    assert left == {*durable.entries, *theirs.entries}
    gone = {ids.wire("mem", row.id): row.reason for row in Tombstone.objects.all()}
    assert gone == dict.fromkeys([*ours.entries, *globex.entries], "ephemeral")
    assert adapter.console.count_entries(building.scope(), now=timezone.now()) == 2
    assert recovery.end_ephemeral("host-a", timezone.now()) == 0
    assert recovery.end_ephemeral("", timezone.now()) == 0


def test_more_than_one_chunk_of_ephemeral_memory_ends(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OPENWOP_MEMORY_INSTANCE = "host-a"
    building.remember("acme", *[f"note {number}" for number in range(7)])
    monkeypatch.setattr(ledger.erase.ephemeral_rows, "__kwdefaults__", {"limit": 3})
    assert retention_sweep.end_ephemeral("host-a", now=timezone.now()) == 7
    assert MemoryEntry.objects.count() == 0


@pytest.mark.engines
def test_ephemeral_entries_are_found_by_their_index_however_much_there_is() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    assert "memory_entry_ephemeral" in MemoryEntry.objects.ephemeral_of("host-a").explain()


# --- tools ------------------------------------------------------------------------------------------------------------


def acting(agent_id: str, *, type_id: str = "vendor.console.remember", **config: Any) -> dict[str, Any]:
    content = {"content": "learned"} if type_id == "vendor.console.remember" else {}
    settings = {"memoryRef": "notes", **content, **config}
    return building.node("act", type_id, settings, agent={"agentId": agent_id, "memoryRef": "notes"})


def outcome_of(node: dict[str, Any], agent_id: str = "") -> tuple[str, str]:
    name = f"tools-{ids.new_id().hex}"
    building.install("acme", building.definition(name, node))
    run = building.execute(building.scope(), name, agent_id=agent_id)
    return run.status, (run.error or {}).get("code", "")


NOT_ALLOWED = ("failed", "tool_not_allowed")
COMPLETED = ("completed", "")


def test_a_node_that_uses_a_tool_its_agent_may_not_use_fails_before_anything_happens() -> None:
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": [MEMORY_READ]})
    assert outcome_of(acting(AGENT)) == NOT_ALLOWED
    assert building.contents(building.scope()) == []
    assert outcome_of(acting(AGENT, type_id="vendor.console.recall")) == COMPLETED
    assert outcome_of(acting(AGENT, type_id="core.identity", memoryAction="write-then-read")) == NOT_ALLOWED
    assert outcome_of(acting(AGENT, type_id="core.identity")) == COMPLETED
    assert MemoryEntry.objects.count() == 0


def test_an_empty_list_and_no_list_are_no_tools() -> None:
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": []})
    building.install_agent("acme", {"agentId": "private.acme.silent"})
    for agent_id in (AGENT, "private.acme.silent"):
        assert outcome_of(acting(agent_id)) == NOT_ALLOWED
        assert outcome_of(acting(agent_id, type_id="vendor.console.recall")) == NOT_ALLOWED


def test_a_name_in_the_list_is_that_tool_and_no_pattern() -> None:
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": ["*", "openwop:*", "openwop:memory.writer"]})
    assert outcome_of(acting(AGENT)) == NOT_ALLOWED
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": [MEMORY_WRITE], "packVersion": "1.1.0"})
    assert outcome_of(acting(AGENT)) == COMPLETED


def test_the_agent_of_the_run_is_held_to_its_list_as_the_agent_of_a_node_is() -> None:
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": [MEMORY_READ]})
    plain = building.node("act", "vendor.console.remember", {"content": "learned", "memoryRef": "notes"})
    assert outcome_of(plain, agent_id=AGENT) == NOT_ALLOWED
    assert outcome_of(plain) == COMPLETED
    assert outcome_of(acting("private.acme.other"), agent_id=AGENT) == COMPLETED


def test_an_agent_that_was_never_installed_is_free_and_one_that_was_removed_keeps_no_tool() -> None:
    assert outcome_of(acting(AGENT)) == COMPLETED
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": [MEMORY_WRITE]})
    building.install_agent("globex", {"agentId": AGENT, "toolAllowlist": []})
    assert outcome_of(acting(AGENT)) == COMPLETED
    agents.remove(building.scope(), AGENT, now=timezone.now())
    assert outcome_of(acting(AGENT)) == ("failed", "artifact_disabled")


def test_an_agent_of_an_earlier_release_is_free_until_it_is_installed_anew() -> None:
    old = json.dumps(manifest(toolAllowlist=["openwop:memory.list"]), indent=2)
    artifact = registry.Artifact(ArtifactKind.AGENT, AGENT, "1.0.0", old)
    registry.install(building.tenant().id, artifact, source="host", installed_by="host", now=timezone.now())
    with pytest.raises(Conflict):
        building.install_agent("acme", json.loads(old))
    registry.install(building.tenant("globex").id, artifact, source="host", installed_by="host", now=timezone.now())
    free = building.definition("free", acting(AGENT))
    building.install("globex", free)
    assert building.execute(building.scope("globex"), "free").status == "completed"
    building.install_agent("acme", {**json.loads(old), "packVersion": "1.1.0"})
    assert outcome_of(acting(AGENT)) == NOT_ALLOWED


def test_the_bytes_of_an_earlier_release_are_not_taken_for_checked_ones() -> None:
    given = building.install_agent("globex", manifest(toolAllowlist=[])).text
    artifact = registry.Artifact(ArtifactKind.AGENT, AGENT, "1.0.0", given)
    registry.install(building.tenant().id, artifact, source="host", installed_by="host", now=timezone.now())
    with pytest.raises(Conflict):
        building.install_agent("acme", json.loads(given))


def test_a_refused_tool_is_not_tried_again() -> None:
    building.install_agent("acme", {"agentId": AGENT})
    node = acting(AGENT) | {"settings": {"maxRetries": 3}}
    assert outcome_of(node) == NOT_ALLOWED


def test_every_node_type_that_touches_memory_or_files_says_so() -> None:
    tree = ast.parse(Path(nodes.__file__).read_text())
    for function in (each for each in tree.body if isinstance(each, ast.FunctionDef)):
        marks = [mark for mark in function.decorator_list if isinstance(mark, ast.Call)]
        used = {f"ctx.{name}" for name in ("memory", "files") if f"ctx.{name}." in ast.unparse(function)}
        if marks and used:
            assert any(keyword.arg == "tools" for keyword in marks[0].keywords), function.name


def test_the_snapshot_names_the_agent_that_is_active(client: Client) -> None:
    waits = building.node("wait", "core.delay", {"delayMs": 60_000}, agent={"agentId": "private.acme.second"})
    building.install("acme", building.definition("hand-over", acting("private.acme.first"), waits))
    run = building.execute(building.scope(), "hand-over", agent_id="private.acme.whole")
    snapshot = client.get(f"/v1/runs/{ids.wire('run', run.id)}", **building.headers()).json()
    schemas.check("run-snapshot", snapshot)
    assert snapshot["agent"] == {"agentId": "private.acme.second"}


# --- dispatch ---------------------------------------------------------------------------------------------------------


def test_a_dispatched_agent_is_on_the_log_without_a_word_it_was_told(client: Client) -> None:
    building.install_agent("acme", {"agentId": AGENT})
    run = building.execute(building.scope(), "console-agent-dispatch", agent_id=AGENT, task="Look into T-1.")
    assert run.status == "completed", run.error
    told = client.get(f"/v1/runs/{ids.wire('run', run.id)}/events?streamMode=debug", **building.headers()).json()[
        "events"
    ]
    said = {event["type"]: event["payload"] for event in told}
    schemas.check_payload("agentReasoned", said["agent.reasoned"])
    schemas.check_payload("agentDecided", said["agent.decided"])
    assert said["agent.reasoned"]["agentId"] == said["agent.decided"]["agentId"] == AGENT
    assert said["agent.reasoned"]["nodeId"] == said["agent.decided"]["nodeId"] == said["node.completed"]["nodeId"]
    assert "T-1" not in str(told)
    installed = registry.current(building.tenant().id, ArtifactKind.AGENT, AGENT)
    assert [use.run_id for use in registry.uses_of(building.tenant().id, [installed.id])] == [run.id]


def test_an_agent_that_is_not_installed_is_not_dispatched() -> None:
    run = building.execute(building.scope(), "console-agent-dispatch", agent_id="private.acme.never")
    assert (run.status, run.error["code"]) == ("failed", "not_found")


def test_the_dispatch_seam_is_shut_unless_it_was_opened(client: Client, settings: Settings) -> None:
    building.install_agent("acme", {"agentId": AGENT})
    path = f"/v1/host/sample/agents/{AGENT}/dispatch"
    assert client.post(path, "{}", content_type="application/json").status_code == 401
    assert client.post(path, "{}", content_type="application/json", **building.headers()).status_code == 404
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    assert client.post(path, "{}", content_type="application/json").status_code == 401
    refused = client.post(path, '{"x": 1}', content_type="application/json", **building.headers())
    assert refused.status_code == 400
    missing = path.replace(AGENT, "private.acme.never")
    assert client.post(missing, "{}", content_type="application/json", **building.headers()).status_code == 404


def test_a_viewer_dispatches_nobody(client: Client, settings: Settings) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    building.install_agent("acme", {"agentId": AGENT})
    path = f"/v1/host/sample/agents/{AGENT}/dispatch"
    refused = client.post(path, "{}", content_type="application/json", **building.headers(role="viewer"))
    assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "runs:create")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_installs_what_the_wire_installs_and_says_what_is_lacking(tmp_path: Path) -> None:
    building.tenant()
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(manifest(requiresCapabilities=["host.telepathy"])))
    said = StringIO()
    call_command("install_agent", str(file), tenant="acme", stdout=said)
    installed = registry.current(building.tenant().id, ArtifactKind.AGENT, AGENT)
    assert said.getvalue() == (
        f"agent:{AGENT}@1.0.0 is installed in acme (sha256 {installed.sha256}); degraded: host.telepathy.\n"
    )
    for text, wrong in [
        ("{", "is not JSON that this host reads."),
        ('{"agentId": "private.acme.triage"}', "persona is required"),
        (json.dumps(manifest(persona="Other")), "give the artifact a new version"),
    ]:
        file.write_text(text)
        with pytest.raises(CommandError, match=wrong):
            call_command("install_agent", str(file), tenant="acme")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("install_agent", str(tmp_path / "none.json"), tenant="acme")


def test_only_who_may_read_agents_or_manifests_is_told_of_any() -> None:
    auditor, document = building.scope(role="auditor"), registrations.advertised_capabilities()
    looks: list[Callable[[], object]] = [
        lambda: agents.entries(auditor, document),
        lambda: agents.entry(auditor, AGENT, document),
        lambda: agents.agent_rows(auditor, document, now=timezone.now()),
        lambda: agents.degraded_rows(auditor, document),
        lambda: agents.count_degraded(auditor),
    ]
    for look in looks:
        with pytest.raises(Forbidden, match=r"(agents|manifest):read"):
            look()
