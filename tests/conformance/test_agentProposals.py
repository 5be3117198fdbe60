"""Reviewable learning over the wire (openwop-host 1): the shapes, and that the suite's own key activates nothing."""

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
    block = host.stranger.get("/.well-known/openwop").json()["agents"]["proposals"]
    assert set(block) == {"artifactKinds", "duplicationDetection", "activation"}
    assert block["activation"] in {"approval-gate", "direct-rbac"}
    assert block["duplicationDetection"] is True
    kinds = block["artifactKinds"]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {"agent-pack", "workflow-chain-pack", "prompt-template", "automation"}


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


def test_a_restatement_of_a_draft_is_told_by_its_reference_and_may_still_go_on(host: Host, proposal: str) -> None:
    with host.client("acme/author") as client:
        body = {"kind": "prompt-template", "artifact": {**PROMPT, "templateId": "conformance.summary.again"}}
        made = client.post("/v1/host/console/proposals", json=body).json()
        others = {each["id"] for each in client.get(ROOT).json()["proposals"]} - {made["id"]}
    schemas.check("proposal", made)
    assert made["duplicateOf"] in others
    assert made["state"] == "draft"


def test_the_sample_that_is_no_artifact_of_its_kind_is_refused_with_the_kind_and_paths(host: Host) -> None:
    with host.client("acme/author") as client:
        body = {"kind": "workflow-chain-pack", "artifact": {"name": "private.acme.sample", "version": "1.0.0"}}
        refused = client.post("/v1/host/console/proposals", json=body)
    schemas.check("error-envelope", refused.json())
    assert (refused.status_code, refused.json()["error"]) == (422, "validation_error")
    assert refused.json()["details"]["kind"] == "workflow-chain-pack"
    assert refused.json()["details"]["errors"]


def test_a_move_that_is_illegal_names_the_state_and_a_delete_answers_with_the_proposal(
    host: Host, proposal: str
) -> None:
    with host.client("acme/author") as client:
        archived = client.delete(f"{ROOT}/{proposal}")
        schemas.check("proposal", archived.json())
        assert (archived.status_code, archived.json()["state"]) == (200, "archived")
        refused = client.patch(f"{ROOT}/{proposal}", json={"title": "again"})
    assert (refused.status_code, refused.json()["details"]) == (409, {"state": "archived", "action": "revise"})


def test_who_may_ask_waits_at_the_gate_and_is_told_of_no_installation(host: Host, proposal: str) -> None:
    with host.client("acme/owner") as client:
        asked = client.post(f"{ROOT}/{proposal}/apply")
        again = client.post(f"{ROOT}/{proposal}/apply")
        assert (asked.status_code, again.status_code, asked.json()) == (202, 202, again.json())
        assert set(asked.json()) == {"state", "activation", "proposalId", "approvalId", "runId", "nodeId"}
        told = client.get(f"/v1/host/console/proposals/{proposal}").json()
        assert told["pendingApprovalId"] == asked.json()["approvalId"]
        assert client.post(f"{ROOT}/{proposal}/reject").json()["state"] == "rejected"
