"""What this host says of itself to agents of OpenIntent: public, and only what it honours (contract 2.2)."""

from typing import Any

import pytest
from django.test import override_settings

from memory.openintent.api import discovery
from tests.awaiting import awaited
from tests.openintent.conftest import Served

# Behind each word stands a request that answers; an id that is not there is told apart by its code.
PROOFS: dict[str, tuple[str, str, Any]] = {
    "memory": ("GET", "/api/v1/memory/mem_{none}", None),
    "memory-query": ("GET", "/api/v1/memory?agent_id={agent}&tags=a&limit=1", None),
    "memory-search": ("GET", "/api/v1/memory?q=refunds", None),
    "memory-filter": ("GET", '/api/v1/memory?filter={{"done":true}}', None),
    "memory-namespaces": ("GET", "/api/v1/memory/namespaces", None),
    "memory-summary": ("GET", "/api/v1/agents/{agent}/memory/summary", None),
    "memory-batch": ("POST", "/api/v1/memory/batch", {"entries": [{"namespace": "n", "key": "b", "value": {}}]}),
    "intents": ("POST", "/api/v1/intents", {"title": "Seen"}),
    "tasks": ("GET", "/api/v1/tasks/task_{none}", None),
    "agents": ("POST", "/api/v1/agents/register", {"agent_id": "{agent}"}),
    "coordinators": ("GET", "/api/v1/intents/{intent}/coordinators", None),
    "events": ("GET", "/api/v1/intents/{intent}/events", None),
    "event-streams": ("GET", "/api/v1/intents/intent_{none}/subscribe", None),
    "optimistic-concurrency": ("PATCH", "/api/v1/memory/{entry}", {"pinned": False}),
}
GONE = {"memory", "tasks", "event-streams"}


@pytest.mark.console
def test_the_published_client_discovers_the_host_sync_and_async(served: Served) -> None:
    with served.client(served.agent()) as client:
        found = client.discover()
    assert {"memory", "memory-query", "memory-batch", "memory-namespaces"} <= set(found["capabilities"])
    assert (found["protocol"], found["memory"]["tiers"]) == (
        "OpenIntent Coordination Protocol",
        ["working", "episodic", "semantic"],
    )

    async def ask() -> tuple[Any, Any]:
        async with served.async_client(served.agent()) as client:
            return await client.discover(), await client.get_server_config()

    again, config = awaited(ask())
    assert again == found
    assert config == {"protocol_version": found["version"], "suspension": {"default_retry_policy": None}}


@pytest.mark.parametrize("name", ["openintent.json", "openintent-compat.json"])
def test_discovery_is_public_and_cacheable(served: Served, name: str) -> None:
    stranger = served.plain()
    answer = stranger.get(f"/.well-known/{name}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=300"
    etag = answer.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        same = stranger.get(f"/.well-known/{name}", headers={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert stranger.get(f"/.well-known/{name}", headers={"If-None-Match": 'W/"other"'}).status_code == 200


def test_the_config_of_the_server_is_for_who_has_a_key(served: Served) -> None:
    assert served.plain().get("/api/v1/server/config").status_code == 401


def test_what_is_advertised_is_proved_below_and_nothing_else_is(served: Served) -> None:
    told = served.plain().get("/.well-known/openintent.json").json()["capabilities"]
    assert set(told) == set(PROOFS)
    compared = served.plain().get("/.well-known/openintent-compat.json").json()
    assert compared["features"] == dict.fromkeys(told, True)
    assert compared["rfcCompliance"]["RFC-0015"] == "full"


def test_behind_each_word_stands_an_address_that_answers(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        names = {
            "agent": agent,
            "none": "0" * 32,
            "intent": client.create_intent("Proof").id,
            "entry": client.create_memory(agent, "ns", "k", {}).id,
        }
    with served.http(agent) as http:
        for word, (method, address, body) in PROOFS.items():
            filled = {
                key: value.format(**names) if isinstance(value, str) else value for key, value in (body or {}).items()
            }
            answer = http.request(method, address.format(**names), json=filled if body else None)
            expected = 404 if word in GONE else 428 if word == "optimistic-concurrency" else None
            assert answer.status_code == expected if expected else answer.status_code < 300, (word, answer.text)
            if word in GONE:
                assert answer.json()["error"] == "ENTRY_NOT_FOUND", word
                assert "There is no" in answer.json()["message"], word


def test_a_host_that_only_reads_does_not_advertise_what_writes() -> None:
    with override_settings(OPENWOP_MEMORY_WRITABLE=False, OPENWOP_MEMORY_BACKEND="ephemeral"):
        told = discovery.document()
        assert "memory-batch" not in told["capabilities"]
        assert (told["memory"]["writable"], told["memory"]["durable"]) == (False, False)
        assert discovery.compatibility()["rfcCompliance"]["RFC-0015"] == "partial"
