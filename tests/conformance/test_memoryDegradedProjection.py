"""A host that lacks what an agent's memory asks for says so in the inventory, and hides nothing (RFC 0080 C).

Each answer is compared with what the host advertises in that very configuration.
"""

from typing import Any

import httpx
import pytest
from pytest_django.fixtures import Settings

from tests import building
from tests.conformance import schemas
from tests.conformance.conftest import Host

SHAPES: dict[str, dict[str, bool] | None] = {
    "vendor.acme.memory.brain": {"longTerm": True},
    "vendor.acme.memory.pad": {"scratchpad": True},
    "vendor.acme.memory.talk": {"conversation": True, "longTerm": False},
    "vendor.acme.memory.none": {"scratchpad": False, "conversation": False, "longTerm": False},
    "vendor.acme.memory.silent": None,
}
ASKED = {"longTerm": {"read", "write", "long-term-durability"}, "scratchpad": {"read", "write"}}
ASKED["conversation"] = ASKED["scratchpad"]
WITHOUT_TOOLS = "vendor.acme.memory.none"
ORDER = ["read", "write", "long-term-durability"]
CONFIGURATIONS = {
    "ephemeral": {"OPENWOP_MEMORY_BACKEND": "ephemeral", "OPENWOP_MEMORY_INSTANCE": "this console"},
    "read-only": {"OPENWOP_MEMORY_WRITABLE": False},
}


def manifest(agent_id: str) -> dict[str, Any]:
    shape = SHAPES[agent_id]
    whole = {"agentId": agent_id, "persona": agent_id, "modelClass": "general", "systemPrompt": "You remember."}
    tools = [] if agent_id == WITHOUT_TOOLS else ["openwop:memory.write"]
    return {**whole, "toolAllowlist": tools, **({"memoryShape": shape} if shape else {})}


def expected(shape: dict[str, bool] | None, document: dict[str, Any]) -> list[str]:
    """What the RFC's own words make of the served document, written down once more."""
    given = set()
    if document["memory"]["supported"] is True:
        given |= {"read"} | ({"write"} if document["memory"].get("writable") is not False else set())
    if "long-term" in document["agents"].get("memoryBackends", []):
        given.add("long-term-durability")
    asked = {name for key, names in ASKED.items() if (shape or {}).get(key) is True for name in names}
    return [name for name in ORDER if name in asked - given]


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_the_inventory_says_what_follows_from_the_document(
    settings: Settings, seamed: Host, configuration: dict[str, Any]
) -> None:
    for name, value in configuration.items():
        setattr(settings, name, value)
    host = seamed
    with host.stranger as stranger:
        document = stranger.get("/.well-known/openwop").json()
    schemas.check("capabilities", document)
    with host.client() as client:
        for agent_id in SHAPES:
            assert client.put(f"/v1/host/console/agents/{agent_id}", json=manifest(agent_id)).status_code == 200
        listed = client.get("/v1/agents").json()
        schemas.check("agent-inventory-response", listed)
        assert [entry["agentId"] for entry in listed["agents"]] == sorted(SHAPES)
        for entry in listed["agents"]:
            lacking = expected(SHAPES[entry["agentId"]], document)
            assert entry.get("degradedMemoryDimensions", []) == lacking
            assert entry.get("memoryDegraded", False) is bool(lacking)
            assert client.get(f"/v1/agents/{entry['agentId']}").json() == entry
        dispatched = client.post("/v1/host/sample/agents/vendor.acme.memory.brain/dispatch", json={"task": "hello"})
    _dispatched_although_degraded(dispatched)
    _writes_as_advertised(host, document)
    for fixture in document["fixtures"]:
        if "memory" in fixture:
            assert host.run(fixture)["status"] == "completed", fixture


def _dispatched_although_degraded(answer: httpx.Response) -> None:
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "completed"
    told = answer.json()["events"]
    assert [event["type"] for event in told] == ["agent.reasoned", "agent.decided"]
    assert {event["agentId"] for event in told} == {"vendor.acme.memory.brain"}


def _writes_as_advertised(host: Host, document: dict[str, Any]) -> None:
    """A host that calls itself read-only keeps nothing, and says why the node failed; another writes.

    On either, an agent without tools does not come so far.
    """
    node = building.node("remember", "vendor.console.remember", {"content": "kept", "memoryRef": "degraded/probe"})
    building.install("acme", building.definition("remember-once", node))
    refused = host.run("remember-once", agentId=WITHOUT_TOOLS)
    assert (refused["status"], refused["error"]["code"]) == ("failed", "tool_not_allowed")
    snapshot = host.run("remember-once", agentId="vendor.acme.memory.brain")
    with host.client() as client:
        total = client.get("/v1/host/console/memory?memoryRef=degraded/probe").json()["total"]
    if document["memory"].get("writable") is False:
        assert (snapshot["status"], snapshot["error"]["code"]) == ("failed", "capability_not_provided")
        assert total == 0
    else:
        assert (snapshot["status"], total) == ("completed", 1)
