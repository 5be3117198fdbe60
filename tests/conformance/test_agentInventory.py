"""``GET /v1/agents``: the installed agents of the caller's tenant, closed, and no word of a prompt (RFC 0072)."""

from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

AGENT = "vendor.acme.support.inventory-probe"
CANARY = "PROMPT-CANARY-5f1d"
MANIFEST = {
    "agentId": AGENT,
    "persona": "Inventory probe",
    "modelClass": "general",
    "systemPrompt": f"You are a probe. {CANARY}",
    "toolAllowlist": ["openwop:memory.read"],
    "memoryShape": {"longTerm": True},
    "requiresCapabilities": ["host.memory", "aiProviders.toolCalling"],
}


@pytest.fixture
def agent(host: Host) -> dict[str, Any]:
    """The probe as the wire installed it in Acme."""
    with host.client() as client:
        installed = client.put(f"/v1/host/console/agents/{AGENT}", json=MANIFEST)
    assert installed.status_code == 200, installed.text
    return dict(installed.json())


def inventory(host: Host, key: str = "acme/owner") -> list[dict[str, Any]]:
    with host.client(key) as client:
        answer = client.get("/v1/agents")
    assert answer.status_code == 200
    schemas.check("agent-inventory-response", answer.json())
    agents: list[dict[str, Any]] = answer.json()["agents"]
    assert answer.json()["total"] == len(agents)
    assert [entry["agentId"] for entry in agents] == sorted(entry["agentId"] for entry in agents)
    return agents


def test_the_gate_is_advertised_for_the_tenant(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    assert document["agents"]["manifestRuntime"] == {"supported": True, "installScope": "tenant"}


def test_an_installed_agent_is_listed_and_found_alike(host: Host, agent: dict[str, Any]) -> None:
    assert agent in inventory(host)
    with host.client() as client:
        assert client.get(f"/v1/agents/{AGENT}").json() == agent


def test_unmet_requirements_are_said_once_and_met_ones_not(host: Host, agent: dict[str, Any]) -> None:
    assert agent["degraded"] == ["aiProviders.toolCalling"]
    assert "memoryDegraded" not in agent


def test_no_prompt_is_on_the_wire(host: Host, agent: dict[str, Any]) -> None:
    with host.client() as client:
        seen = [client.get(path).text for path in ("/v1/agents", f"/v1/agents/{AGENT}", "/.well-known/openwop")]
    assert CANARY not in "".join(seen)
    assert not {"systemPrompt", "requiresCapabilities", "handoff"} & set(agent)


def test_another_tenant_neither_lists_nor_finds_it(host: Host, agent: dict[str, Any]) -> None:
    assert AGENT not in [entry["agentId"] for entry in inventory(host, "globex/owner")]
    with host.client("globex/owner") as client:
        foreign, unknown = client.get(f"/v1/agents/{AGENT}"), client.get("/v1/agents/vendor.acme.support.nobody")
    assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json())
    assert foreign.status_code == 404
    schemas.check("error-envelope", foreign.json())
    for reserved in ("roster", "org-chart"):
        with host.client() as client:
            assert client.get(f"/v1/agents/{reserved}").status_code == 404


def test_the_inventory_needs_a_credential(host: Host) -> None:
    for path in ("/v1/agents", f"/v1/agents/{AGENT}"):
        assert host.stranger.get(path).status_code == 401


def test_a_run_acts_as_the_agent_it_names(host: Host, agent: dict[str, Any]) -> None:
    snapshot = host.run("console-agent-dispatch", agentId=AGENT)
    assert (snapshot["status"], snapshot["agent"]) == ("completed", {"agentId": AGENT})
    events = host.events(snapshot["runId"])
    assert [event["payload"]["agentId"] for event in events if event["type"].startswith("agent.")] == [AGENT, AGENT]
