"""``openwop-audit-log-integrity``: the chain, its checkpoints and the verdict, as a stranger can recompute them."""

import base64
import hashlib
from itertools import pairwise
from typing import Any

import httpx
import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from memory import tasks
from tests.conformance import schemas
from tests.conformance.conftest import KEYS, Host
from tests.peopled import MANIFEST
from tests.tampering import merkle_root


def get(host: Host, path: str, key: str = "acme/auditor", **query: Any) -> httpx.Response:
    with host.client(key) as client:
        return client.get(path, params=query)


@pytest.fixture(autouse=True)
def every_key_is_on_record(host: Host) -> None:
    """The log of each tenant begins with its keys, which in process are made when they are used."""
    for name in KEYS:
        host.client(name).close()


def checkpointed(host: Host) -> dict[str, Any]:
    """The verdict over the whole log after the host's own task has signed it."""
    tasks.checkpoint_audit()
    found: dict[str, Any] = get(host, "/v1/audit/verify").json()
    return found


def test_the_profile_is_advertised_with_a_key_and_the_pace(host: Host) -> None:
    document = host.stranger.get("/.well-known/openwop").json()
    block = document["auth"]["auditLogIntegrity"]
    assert document["auth"]["profiles"] == ["openwop-audit-log-integrity"]
    assert document["capabilities"]["auth"] == document["auth"]
    assert (block["hashChain"], block["checkpointSignatureAlgorithm"]) == (True, "ed25519")
    assert isinstance(load_der_public_key(base64.b64decode(block["checkpointPublicKey"])), Ed25519PublicKey)
    assert (block["checkpointIntervalEntries"], block["checkpointIntervalSeconds"]) == (1000, 300)
    assert len(block) == 5


@pytest.mark.parametrize("last", [100, 1_000_000])
def test_a_range_beyond_the_end_is_valid_and_lists_every_checkpoint_at_the_advertised_pace(
    host: Host, last: int
) -> None:
    checkpointed(host)
    answer = get(host, "/v1/audit/verify", fromSeq=0, toSeq=last)
    assert answer.status_code == 200
    schemas.check("audit-verify-result", answer.json())
    assert (answer.json()["chainValid"], answer.json()["anomalies"]) == (True, [])
    numbers = [each["atSequence"] for each in answer.json()["checkpoints"]]
    assert numbers
    assert numbers == sorted(numbers)
    assert all(after - before <= 1000 for before, after in pairwise([0, *numbers]))


def test_the_verdict_is_the_schema_s_and_covers_the_whole_log(host: Host) -> None:
    found = checkpointed(host)
    schemas.check("audit-verify-result", found)
    assert (found["fromSeq"], found["chainValid"], found["checkpointsValid"]) == (0, True, True)
    assert found["anomalies"] == []
    assert [each["atSequence"] for each in found["checkpoints"]] == sorted(
        each["atSequence"] for each in found["checkpoints"]
    )
    assert found["checkpoints"][-1]["atSequence"] <= found["toSeq"]


def test_a_stranger_recomputes_the_chain_and_verifies_the_signature(host: Host) -> None:
    with host.client("acme/owner") as owner:
        assert owner.put(f"/v1/host/console/agents/{MANIFEST['agentId']}", json=MANIFEST).is_success
        installed = owner.get("/v1/host/console/artifacts").json()["artifacts"][0]["ref"]
        stopped = owner.post(f"/v1/host/console/artifacts/{installed}:disable", json={"reason": "incident 7"})
    assert stopped.status_code == 200, stopped.text
    found = checkpointed(host)
    records = get(host, "/v1/host/console/audit", limit=1000).json()["records"][::-1]
    before = None
    for record in records:
        assert record["prevHash"] == before
        unhashed = record.pop("unhashed", [])
        hashed = {name: value for name, value in record.items() if name != "entryHash"}
        hashed["details"] = {name: value for name, value in record["details"].items() if name not in unhashed}
        before = hashlib.sha256(rfc8785.dumps(hashed)).hexdigest()
        assert record["entryHash"] == before
    assert "incident 7" in [record["details"].get("reason") for record in records]
    block = host.stranger.get("/.well-known/openwop").json()["auth"]["auditLogIntegrity"]
    key = load_der_public_key(base64.b64decode(block["checkpointPublicKey"]))
    assert isinstance(key, Ed25519PublicKey)
    previous = -1
    for checkpoint in found["checkpoints"]:
        leaves = [record["entryHash"] for record in records[previous + 1 : checkpoint["atSequence"] + 1]]
        assert checkpoint["merkleRoot"] == merkle_root(leaves)
        previous = checkpoint["atSequence"]
        signature, root = base64.b64decode(checkpoint["signature"]), bytes.fromhex(checkpoint["merkleRoot"])
        assert (len(signature), len(root), checkpoint["merkleRoot"].islower()) == (64, 32, True)
        key.verify(signature, root)


def test_a_range_is_echoed_and_one_that_is_none_refused(host: Host) -> None:
    found = get(host, "/v1/audit/verify", fromSeq=1, toSeq=2).json()
    schemas.check("audit-verify-result", found)
    assert (found["fromSeq"], found["toSeq"], found["chainValid"]) == (1, 2, True)
    assert get(host, "/v1/audit/verify", toSeq=10**18).json()["toSeq"] < 10**9, "it ends with the log"
    for query in (
        {"fromSeq": "x"},
        {"fromSeq": "-1"},
        {"fromSeq": "1.0"},
        {"toSeq": ""},
        {"fromSeq": 3, "toSeq": 2},
        {"fromSeq": 10**9},
    ):
        refused = get(host, "/v1/audit/verify", **query)
        assert (refused.status_code, refused.json()["error"]) == (400, "validation_error"), query
        schemas.check("error-envelope", refused.json())
        assert refused.json()["details"]["errors"]


@pytest.mark.parametrize(
    "path",
    ["/v1/audit/verify", "/v1/host/console/audit", "/v1/host/console/audit/checkpoints", "/v1/host/console/events"],
)
def test_the_log_is_for_those_who_may_read_it(host: Host, path: str) -> None:
    assert get(host, path).status_code == get(host, path, "acme/owner").status_code == 200
    for key in ("acme/viewer", "acme/author"):
        refused = get(host, path, key)
        assert (refused.status_code, refused.json()["details"]["requiredScope"]) == (403, "audit:read")
    assert host.stranger.get(path).status_code == 401


@pytest.mark.engines
def test_records_are_listed_page_by_page_and_each_tenant_sees_its_own(host: Host) -> None:
    first = get(host, "/v1/host/console/audit", limit=2).json()
    second = get(host, "/v1/host/console/audit", limit=2, before=first["next"]).json()
    numbers = [each["seq"] for each in first["records"] + second["records"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == 4
    assert first["total"] == numbers[0] + 1
    assert get(host, "/v1/host/console/audit", before=0).json()["next"] is None
    theirs = get(host, "/v1/host/console/audit", "globex/owner").json()["records"]
    assert {each["tenant"] for each in theirs}.isdisjoint(each["tenant"] for each in first["records"])


def test_proofs_are_for_keeping_elsewhere_and_taking_them_is_on_record(host: Host) -> None:
    checkpointed(host)
    proofs = get(host, "/v1/host/console/audit/checkpoints").json()
    block = host.stranger.get("/.well-known/openwop").json()["auth"]["auditLogIntegrity"]
    assert proofs["publicKeys"][0]["publicKey"] == block["checkpointPublicKey"]
    assert proofs["checkpoints"][-1]["keyId"] == proofs["publicKeys"][0]["keyId"]
    newest = get(host, "/v1/host/console/audit", limit=2).json()["records"]
    assert "audit.exported" in {each["action"] for each in newest}


def test_every_denial_is_an_event_of_the_tenant_s_own_log(host: Host) -> None:
    with host.client("acme/viewer") as viewer:
        assert viewer.get("/v1/host/console/forget/fgt_x").status_code in {403, 404}
        assert viewer.post("/v1/runs", json={"workflowId": "conformance-noop"}).status_code == 403
    page = get(host, "/v1/host/console/events").json()
    assert page["total"] == len(page["events"]) > 0
    for event in page["events"]:
        schemas.check("run-event", event)
        if event["type"] == "authorization.decided":
            schemas.check_payload("authorizationDecided", event["payload"])
    assert [each["sequence"] for each in page["events"]] == list(range(page["total"]))
    assert get(host, "/v1/host/console/events", after=page["total"] - 1).json()["events"] == []
