"""Reviewable learning over the wire (openwop-host 1): the shapes, and that the suite's own key activates nothing."""

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

ROOT = "/v1/host/sample/proposals"
PROMPT = {
    "templateId": "conformance.summary",
    "version": "1.0.0",
    "kind": "system",
    "text": "Summarise {{ticket}} in two sentences.",
    "variables": [{"name": "ticket", "type": "string", "required": True}],
}


@pytest.fixture
def proposal(host: Host) -> str:
    with host.client("acme/author") as client:
        body = {"kind": "prompt-template", "artifact": PROMPT, "title": "Shorter", "rationale": "It was too long."}
        made = client.post("/v1/host/console/proposals", json=body)
        assert made.status_code == 201, made.text
        found: str = made.json()["id"]
        return found


def test_the_capability_block_is_closed_and_true(host: Host) -> None:
    block = httpx.get(f"{host.url}/.well-known/openwop").json()["agents"]["proposals"]
    assert set(block) == {"artifactKinds", "duplicationDetection", "activation"}
    assert block["activation"] in {"approval-gate", "direct-rbac"}
    assert set(block["artifactKinds"]) <= {"agent-pack", "workflow-chain-pack", "prompt-template", "automation"}


def test_a_proposal_reads_as_the_schema_says_in_the_list_and_alone(host: Host, proposal: str) -> None:
    with host.client("acme/author") as client:
        listed = client.get(ROOT).json()["proposals"]
        alone = client.get(f"{ROOT}/{proposal}").json()
    for document in [*listed, alone]:
        schemas.check("proposal", document)
    assert proposal in {document["id"] for document in listed}
    assert (alone["state"], alone["artifact"], alone["activation"]) == ("draft", PROMPT, None)


def test_a_key_without_the_activation_scope_gets_exactly_403_whatever_it_names(host: Host, proposal: str) -> None:
    with host.client("acme/author") as client:
        for named in (proposal, "prop_none"):
            refused = client.post(f"{ROOT}/{named}/apply")
            schemas.check("error-envelope", refused.json())
            assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
        assert client.get(f"{ROOT}/{proposal}").json()["state"] == "draft"


def test_what_is_not_applied_reaches_nothing_a_run_or_client_resolves(host: Host, proposal: str) -> None:
    with host.client() as client:
        assert "conformance.summary" not in client.get("/v1/agents").text
        assert client.get("/v1/host/console/artifacts/prompt:conformance.summary@1.0.0").status_code == 404


def test_a_foreign_proposal_is_as_unknown_as_one_that_never_was(host: Host, proposal: str) -> None:
    with host.client("globex/owner") as client:
        foreign, missing = client.get(f"{ROOT}/{proposal}"), client.get(f"{ROOT}/prop_{'0' * 32}")
    assert (foreign.status_code, foreign.json()) == (missing.status_code, missing.json())
    assert foreign.status_code == 404
