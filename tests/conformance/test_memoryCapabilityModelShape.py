"""The shape of what is advertised about memory, and the profile derived from it (RFC 0080 A and D)."""

from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host


@pytest.fixture
def document(host: Host) -> dict[str, Any]:
    found: dict[str, Any] = host.stranger.get("/.well-known/openwop").json()
    schemas.check("capabilities", found)
    return found


def test_memory_is_claimed_at_the_root_with_blocks_of_the_right_shape(document: dict[str, Any]) -> None:
    memory = document["memory"]
    assert memory["supported"] is True
    assert memory.get("writable", True) is True
    assert memory["maxEntrySizeBytes"] >= 1
    assert set(memory["search"]["modes"]) <= {"semantic", "filter"}
    assert memory["retention"] == {"ttl": True, "forget": True}
    assert "memoryBackends" not in memory


def test_attribution_is_true_or_not_there(document: dict[str, Any]) -> None:
    assert document["memory"].get("attribution", {"supported": True})["supported"] is True


def test_durable_memory_is_claimed_by_its_one_name(document: dict[str, Any]) -> None:
    assert document["agents"]["memoryBackends"] == ["long-term"]


def test_the_profile_openwop_memory_follows_from_the_document(document: dict[str, Any]) -> None:
    memory, agents = document["memory"], document["agents"]
    assert memory["supported"] is True
    assert memory.get("writable") is not False
    assert "long-term" in agents["memoryBackends"]
    assert {"protocolVersion", "supportedEnvelopes", "schemaVersions", "limits"} <= set(document)
    assert "openwop-memory" not in str(document.get("profiles", ""))


def test_a_body_of_more_than_two_mebibytes_is_refused(host: Host) -> None:
    most = 2 * 1024 * 1024
    with host.client() as client:
        refused = client.post("/v1/runs", content=b" " * (most + 1), headers={"Content-Type": "application/json"})
    assert refused.status_code == 413
    schemas.check("error-envelope", refused.json())
