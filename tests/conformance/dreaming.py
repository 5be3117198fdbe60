"""Asking a host to compact, distil and consolidate, as the public suite does: over the seams, with one key."""

import json
from typing import Any
from uuid import uuid4

import httpx

from tests.conformance import schemas
from tests.conformance.conftest import Host

DISTILL = "/v1/host/sample/memory/distill"
CONSOLIDATE = "/v1/host/sample/memory/consolidate"
SEED = "/v1/test/memory/seed"
COMPACT = "/v1/test/memory/compact"
INDEX = "MEMORY-INDEX.json"
SOURCES = [
    "The pump seal of machines made before week 31 swells in vinegar.",
    "Customers who descale with vinegar report a loud pump.",
    "Citric acid leaves the pump seal as it is.",
    "A swollen seal is replaced once under warranty, as goodwill.",
    "Machines for Fremantle were built from old stock until week 40.",
]


def fresh_ref() -> str:
    """A ref that nobody has used yet."""
    return f"conformance/{uuid4().hex}"


def ask(host: Host, path: str, body: Any, *, key: str = "acme/owner") -> httpx.Response:
    with host.client(key) as client:
        return client.post(path, json=body)


def asked(host: Host, path: str, **body: Any) -> dict[str, Any]:
    """What a seam answers when it did what it was asked; the event on the log of its run is the one it tells of."""
    answer = ask(host, path, body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    told = document.get("event", document.get("payload"))
    assert told in [event["payload"] for event in host.events(document["runId"])]
    return document


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The envelope of a refusal."""
    assert (answer.status_code, answer.json()["error"]) == (status, code), answer.text
    schemas.check("error-envelope", answer.json())
    found: dict[str, Any] = answer.json().get("details", {})
    return found


def seed(host: Host, memory_ref: str, *contents: str, key: str = "acme/owner") -> list[str]:
    """Entries under the ref; their ids, in that order."""
    entries = [{"id": f"seed-{number}", "content": content} for number, content in enumerate(contents)]
    answer = ask(host, SEED, {"memoryRef": memory_ref, "entries": entries}, key=key)
    assert answer.status_code == 201, answer.text
    found: list[str] = answer.json()["plantedIds"]
    return found


def listed(host: Host, memory_ref: str, *, key: str = "acme/owner") -> list[dict[str, Any]]:
    """The entries that can be read under the ref."""
    with host.client(key) as client:
        answer = client.get("/v1/host/console/memory", params={"memoryRef": memory_ref, "limit": 1000})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def archives(host: Host, memory_ref: str) -> list[str]:
    """The bytes of the archives of the ref."""
    with host.client() as client:
        found = client.get("/v1/host/console/archives", params={"memoryRef": memory_ref}).json()["archives"]
        return [client.get(f"/v1/host/console/archives/{each['id']}").text for each in found]


def types(host: Host, run_id: str) -> list[str]:
    """What the log of a run tells, in its order."""
    return [event["type"] for event in host.events(run_id)]


def file(host: Host, path: str = INDEX) -> dict[str, Any] | None:
    """A workspace file as it is now, None when there is none."""
    with host.client() as client:
        answer = client.get(f"/v1/host/workspace/files/{path}")
    assert answer.status_code in {200, 404}, answer.text
    return dict(answer.json()) if answer.status_code == 200 else None


def index(host: Host) -> dict[str, Any]:
    """The memory index as the next session would load it."""
    found = file(host)
    assert found is not None
    schemas.check("workspace-file", found)
    return dict(json.loads(found["content"]))


def advertised(host: Host) -> dict[str, Any]:
    found: dict[str, Any] = host.stranger.get("/.well-known/openwop").json()
    return found
