"""``OPENWOP_MEMORY_BACKEND=ephemeral`` really is: what such a host remembered is gone when it starts again."""

import json
import time
from pathlib import Path
from typing import Any

import httpx

from openwop_console.process import data_folder
from tests.conformance.conftest import Host, key_of
from tests.fixtures_console import ConsoleProcess

ROUND_TRIP = "conformance-agent-memory-roundtrip"
EPHEMERAL = {"OPENWOP_MEMORY_BACKEND": "ephemeral"}
REMEMBER = """
from tests import building
print(building.remember("acme", "kept by a durable host").entries[0])
"""
MANIFEST = {
    "agentId": "private.acme.keeper",
    "persona": "Keeper",
    "modelClass": "general",
    "systemPrompt": "You keep things.",
    "memoryShape": {"longTerm": True},
}


def remember(host: Host) -> str:
    """The id of an entry that a run wrote and read back."""
    snapshot = host.run(ROUND_TRIP)
    assert snapshot["status"] == "completed", snapshot
    memory_id: str = snapshot["variables"]["memoryReadback"]["id"]
    return memory_id


def write(host: Host) -> str:
    """The id of an entry that the web process itself wrote."""
    with host.client() as client:
        written = client.post("/v1/host/console/memory", json={"memoryRef": "notes", "content": "for now"})
    assert written.status_code == 201, written.text
    return str(written.json()["id"])


def kept(host: Host) -> set[str]:
    with host.client() as client:
        page = client.get("/v1/host/console/memory?limit=1000").json()
    assert page["total"] == len(page["entries"])
    return {entry["id"] for entry in page["entries"]}


def fate(host: Host, memory_id: str) -> int:
    with host.client() as client:
        return client.get(f"/v1/host/console/memory/{memory_id}").status_code


def health(host: Host) -> dict[str, Any]:
    with host.client() as client:
        entry: dict[str, Any] = client.get(f"/v1/agents/{MANIFEST['agentId']}").json()
    return {key: value for key, value in entry.items() if "egraded" in key}


def advertised(host: Host) -> Any:
    return httpx.get(f"{host.url}/.well-known/openwop").json()


def backends(host: Host) -> Any:
    return advertised(host)["agents"].get("memoryBackends")


def dreamt(host: Host, kind: str) -> tuple[str, str]:
    """How a pass over a ref ended that this host was asked for."""
    with host.client() as client:
        asked = client.post("/v1/host/console/passes", json={"kind": kind, "memoryRef": "conformance/agent-memory"})
        assert asked.status_code == 202, asked.text
        while (found := client.get(f"/v1/host/console/passes/{asked.json()['id']}").json())["finishedAt"] is None:
            time.sleep(0.1)
    return found["state"], found["code"]


def test_what_an_ephemeral_host_remembered_is_gone_when_it_starts_again_and_older_memory_is_not(
    console_process: ConsoleProcess, tmp_path: Path
) -> None:
    file = tmp_path / "keeper.json"
    file.write_text(json.dumps(MANIFEST))
    console_process.make_tables()
    durable = console_process.shell(REMEMBER)
    assert console_process.manage("install_agent", str(file), "--tenant", "acme").returncode == 0

    console_process.start("--workers", "1", **EPHEMERAL)
    host = Host(console_process.url, {"acme/owner": key_of(console_process, "acme", "owner")})
    assert kept(host) == {durable}
    first, second = remember(host), write(host)
    assert kept(host) == {durable, first, second}
    assert backends(host) is None
    assert health(host) == {"memoryDegraded": True, "degradedMemoryDimensions": ["long-term-durability"]}
    assert "distillation" not in advertised(host)["memory"]
    assert {"memoryConsolidation", "commitments"}.isdisjoint(advertised(host)["agents"])
    assert dreamt(host, "distill") == dreamt(host, "consolidate") == ("refused", "capability_not_provided")
    console_process.kill()

    console_process.start("--only", "web")
    assert (kept(host), fate(host, first), fate(host, second), fate(host, durable)) == ({durable}, 404, 404, 200)
    assert (backends(host), health(host)) == (["long-term"], {})
    assert console_process.terminate() == 0


def test_each_of_two_hosts_on_one_database_has_a_name_of_its_own_that_lasts(tmp_path: Path) -> None:
    """By it they tell apart what ends with them: ``test_agents`` tests that on both engines."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    names = [data_folder.instance_of(each) for each in (ours, theirs, ours, theirs)]
    assert names[:2] == names[2:]
    assert names[0] != names[1]
