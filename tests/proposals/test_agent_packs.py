"""Packs of agents: what one may be here, what its agents are once it is applied, and what they are when it has gone."""

import json
from typing import Any

import pytest
import rfc8785
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import agents
from memory.host import ids, registry
from memory.host.errors import Conflict, Unprocessable
from memory.host.models import ArtifactKind, Installation, Resolution, Run
from memory.host.node_types import MEMORY_READ, MEMORY_WRITE
from openwop_console.runtime import replay
from openwop_console.runtime.replay import ForkRequest
from proposals import lifecycle
from proposals.models import Kind, Proposal
from tests import building, proposing
from tests.conformance import schemas
from tests.proposing import agent_pack

pytestmark = pytest.mark.django_db
CLERK = proposing.AGENT["agentId"]
PORTER = "private.acme.porter"
OFFICE = proposing.PACK["name"]
WRITES = {"toolAllowlist": [MEMORY_READ, MEMORY_WRITE]}


def proposed(*agents: dict[str, Any], **changes: Any) -> Proposal:
    return proposing.propose(text=agent_pack(*agents, **changes), kind=Kind.AGENT_PACK)


def applied(*agents: dict[str, Any], **changes: Any) -> Proposal:
    return proposing.applied(text=agent_pack(*agents, **changes), kind=Kind.AGENT_PACK)


def listed(slug: str = "acme") -> dict[str, Any]:
    """The inventory by agent, which is as its schema says."""
    answer = Client().get("/v1/agents", **building.headers(slug, "viewer")).json()
    schemas.check("agent-inventory-response", answer)
    return {entry["agentId"]: entry for entry in answer["agents"]}


def executed(agent_id: str, *more: dict[str, Any], type_id: str = "vendor.console.remember") -> Run:
    name = f"acts-{ids.new_id().hex}"
    settings = {"content": "learned", "memoryRef": "notes"}
    first = building.node("act", type_id, settings, agent={"agentId": agent_id})
    building.install("acme", building.definition(name, first, *more))
    return building.execute(building.scope(), name)


def outcome_of(agent_id: str) -> tuple[str, str]:
    run = executed(agent_id)
    return run.status, (run.error or {}).get("code", "")


NOT_ALLOWED = ("failed", "tool_not_allowed")
COMPLETED = ("completed", "")


def used(run: Run) -> list[str]:
    return [use.installation.ref for use in registry.used_by(run)]


def uninstalled(proposal: Proposal) -> None:
    """The applied pack is archived, and uninstalled with that, as the policy of its kind is now."""
    proposing.policy(proposal.kind, uninstall_on_archive=True)
    lifecycle.archive(building.scope(), proposal.id, reason="it is not needed", now=timezone.now())


# --- what a pack may be -----------------------------------------------------------------------------------------------

WHOLE: dict[str, Any] = {
    "label": "Office clerk",
    "description": "Files what comes in.",
    "toolAllowlist": [MEMORY_READ, "mcp:search"],
    "requiresCapabilities": ["host.workspace"],
    "memoryShape": {"longTerm": True, "scratchpad": False},
    "confidence": {"defaultThreshold": 0.5},
    "promptLibraryRef": "office",
    "handoff": {},
}
AROUND: dict[str, Any] = {
    "kind": "node",
    "description": "The office.",
    "author": "Acme",
    "license": "Apache-2.0",
    "homepage": "https://acme.example/office",
    "repository": "https://acme.example/office.git",
    "keywords": ["office"],
    "engines": {"openwop": ">=1.0 <2.0.0", "node": ">=20"},
    "runtime": {"language": "remote", "entry": "https://acme.example", "minRuntimeVersion": "1", "requires": []},
    "dependencies": {},
    "nodes": [],
}


def test_a_pack_that_says_everything_is_one_by_the_contract_and_is_taken() -> None:
    whole = agent_pack(WHOLE, {"agentId": PORTER}, **AROUND)
    schemas.check("node-pack-manifest", json.loads(whole))
    assert proposing.propose(text=whole, kind=Kind.AGENT_PACK).state == "draft"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nodes of its own": ({"nodes": [{"typeId": "a.b", "version": "1", "category": "data", "role": "pure"}]}, "nodes"),
    "a connector": ({"connector": {}}, "connector"),
    "a signature in the archive": ({"signing": {"method": "manual"}}, "signing"),
    "other packs": ({"dependencies": {"core.x.y": "*"}}, "dependencies"),
    "code": ({"runtime": {"language": "javascript", "entry": "index.mjs"}}, "runtime.language"),
    "code that asks for the network": (
        {"runtime": {"language": "remote", "entry": "x", "requires": ["net.outbound"]}},
        "runtime.requires",
    ),
    "a runtime without an entry": ({"runtime": {"language": "remote"}}, "runtime.entry"),
    "engines without openwop": ({"engines": {"node": ">=20"}}, "engines.openwop"),
    "a name without a tier": ({"name": "acme.office"}, "name"),
    "a name with a line break": ({"name": OFFICE + "\n"}, "name"),
    "a version with a line break": ({"version": "1.0.0\n"}, "version"),
    "digits of another script": ({"version": "\u0661.0.0"}, "version"),
    "a version that is too long": ({"version": "1.0.0-" + "a" * 60}, "version"),
    "another kind": ({"kind": "workflow-chain"}, "kind"),
    "no agents": ({"agents": []}, "agents"),
    "an unknown member": ({"surprise": "canary"}, ""),
    "what the host has not": (
        {"peerDependencies": {"aiProviders.toolCalling": "*"}},
        "peerDependencies.aiProviders.toolCalling",
    ),
}
BAD_AGENTS: dict[str, tuple[dict[str, Any], str]] = {
    "a prompt in the archive": ({"systemPromptRef": "prompts/canary.md"}, "systemPromptRef"),
    "a task schema in the archive": ({"handoff": {"taskSchemaRef": "a.json"}}, "handoff.taskSchemaRef"),
    "a return schema in the archive": ({"handoff": {"returnSchemaRef": "a.json"}}, "handoff.returnSchemaRef"),
    "an evaluation in the archive": ({"evalSuiteRef": "a.json"}, "evalSuiteRef"),
    "prompts of a library": ({"promptOverrides": {}}, "promptOverrides"),
    "an id without a tier": ({"agentId": "host:clerk"}, "agentId"),
    "an id with a line break": ({"agentId": CLERK + "\n"}, "agentId"),
    "a model class": ({"modelClass": "chat"}, "modelClass"),
    "a memory shape": ({"memoryShape": {"longTerm": "yes"}}, "memoryShape.longTerm"),
    "a threshold": ({"confidence": {"defaultThreshold": 2}}, "confidence.defaultThreshold"),
    "a pack of its own": ({"packName": "private.acme.else"}, ""),
}


def refused_by(text: str) -> list[str]:
    """The paths that the refusal names; it has no word of the artifact."""
    with pytest.raises(Unprocessable) as refused:
        proposing.propose(text=text, kind=Kind.AGENT_PACK)
    assert refused.value.details["kind"] == "agent-pack"
    assert "canary" not in str(refused.value.details)
    assert Proposal.objects.count() == 0
    return [error["field"] for error in refused.value.details["errors"]]


@pytest.mark.parametrize("name", BAD)
def test_what_this_host_could_not_carry_out_is_refused_by_name(name: str) -> None:
    change, path = BAD[name]
    assert f"artifact.{path}".rstrip(".") in refused_by(agent_pack(**change))


@pytest.mark.parametrize("name", BAD_AGENTS)
def test_an_agent_that_is_none_by_itself_is_none_in_a_pack(name: str) -> None:
    change, path = BAD_AGENTS[name]
    place = f"artifact.agents[1].{path}".rstrip(".")
    assert place in refused_by(agent_pack({"agentId": PORTER}, change))


@pytest.mark.parametrize("missing", ["agentId", "persona", "modelClass", "systemPrompt"])
def test_an_agent_has_an_id_a_persona_a_model_class_and_a_prompt(missing: str) -> None:
    pack = json.loads(agent_pack())
    del pack["agents"][0][missing]
    assert refused_by(json.dumps(pack)) == [f"artifact.agents[0].{missing}"]


def test_two_agents_of_one_id_are_refused_at_the_second() -> None:
    assert refused_by(agent_pack({}, {"agentId": PORTER}, {})) == ["artifact.agents[2].agentId"]


def test_what_a_manifest_refuses_by_itself_is_refused_in_a_pack_whatever_its_schema_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agents, "problems_in", lambda manifest: [("persona", "is not liked")])
    assert refused_by(agent_pack()) == ["artifact.agents[0].persona"]


def test_a_required_capability_that_has_gone_since_the_draft_stops_the_application(settings: Settings) -> None:
    made = proposed(peerDependencies={"memory.compaction": "*"})
    settings.OPENWOP_MEMORY_WRITABLE = False
    with pytest.raises(Unprocessable):
        proposing.ask(made)
    assert listed() == {}


# --- what its agents are ----------------------------------------------------------------------------------------------


def test_the_agents_are_in_the_inventory_when_the_pack_is_applied_and_not_before() -> None:
    made = proposed(WHOLE, {"agentId": PORTER})
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    assert listed() == {}
    proposing.advance(gate)
    found = listed()
    assert sorted(found) == [CLERK, PORTER]
    assert found[CLERK] == {
        "agentId": CLERK,
        "persona": "Clerk",
        "label": "Office clerk",
        "description": "Files what comes in.",
        "modelClass": "general",
        "packName": OFFICE,
        "packVersion": "1.0.0",
        "toolAllowlist": [MEMORY_READ, "mcp:search"],
        "hasHandoffSchemas": False,
        "memoryShape": {"longTerm": True, "scratchpad": False},
        "confidenceThreshold": 0.5,
    }
    assert listed("globex") == {}


def test_a_part_is_the_manifest_in_its_canonical_form_and_the_pack_stays_as_it_was_written() -> None:
    text = json.dumps(json.loads(agent_pack()), indent=3)
    done = proposing.applied(text=text, kind=Kind.AGENT_PACK)
    pack = registry.by_ref(done.tenant_id, f"agent-pack:{OFFICE}@1.0.0")
    assert pack
    assert (done.installed_ref, pack.text) == (pack.ref, text)
    [part] = registry.parts_of(pack)
    named = {**proposing.AGENT, "packName": OFFICE, "packVersion": "1.0.0"}
    assert (part.ref, part.text) == (f"agent:{CLERK}@1.0.0", rfc8785.dumps(named).decode())


def test_an_optional_capability_that_the_host_has_not_degrades_every_agent_of_the_pack() -> None:
    optional = {"aiProviders.toolCalling": {"optional": True}}
    applied({}, {"agentId": PORTER}, peerDependencies={"aiProviders.toolCalling": "*"}, peerDependenciesMeta=optional)
    assert [entry["degraded"] for entry in listed().values()] == [["aiProviders.toolCalling"]] * 2


def test_the_tools_of_an_agent_are_those_of_its_pack_and_none_when_that_has_gone() -> None:
    assert outcome_of(CLERK) == COMPLETED
    applied()
    assert outcome_of(CLERK) == NOT_ALLOWED
    second = applied(WRITES, version="1.1.0")
    assert outcome_of(CLERK) == COMPLETED
    uninstalled(second)
    assert listed() == {}
    assert outcome_of(CLERK) == NOT_ALLOWED


def test_an_agent_that_the_next_version_leaves_out_is_gone() -> None:
    applied(WRITES, {"agentId": PORTER, **WRITES})
    applied(WRITES, version="1.1.0")
    assert {name: entry["packVersion"] for name, entry in listed().items()} == {CLERK: "1.1.0"}
    assert outcome_of(PORTER) == NOT_ALLOWED


def test_rolled_back_a_pack_has_the_agents_that_it_had() -> None:
    applied(WRITES, {"agentId": PORTER, **WRITES})
    applied(version="1.1.0")
    ref = f"agent-pack:{OFFICE}@1.0.0"
    made = lifecycle.propose(building.scope(role="agent"), ref, rationale="Porters are missed.", now=timezone.now())
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    assert proposing.advance(gate).status == "completed"
    assert {name: entry["packVersion"] for name, entry in listed().items()} == {CLERK: "1.0.0", PORTER: "1.0.0"}
    assert outcome_of(CLERK) == COMPLETED


def test_an_agent_that_was_installed_by_itself_is_replaced_and_one_of_another_pack_is_not() -> None:
    building.install_agent("acme", {"agentId": CLERK, **WRITES, "packVersion": "0.9.0"})
    applied()
    assert listed()[CLERK]["packName"] == OFFICE
    assert outcome_of(CLERK) == NOT_ALLOWED
    other = proposed(WRITES, name="private.acme.rival", version="7.0.0")
    with pytest.raises(Conflict) as refused:
        proposing.ask(other)
    assert refused.value.details["installedArtifactRef"] == f"agent-pack:{OFFICE}@1.0.0"


def test_an_agent_that_says_it_belongs_to_another_pack_is_not_taken_over() -> None:
    rival = {"agentId": CLERK, **WRITES, "packName": "private.acme.rival", "packVersion": "0.9.0"}
    there = building.install_agent("acme", rival)
    with pytest.raises(Conflict) as refused:
        proposing.ask(proposed())
    assert refused.value.details["installedArtifactRef"] == f"agent:{CLERK}@0.9.0"
    assert "another pack" in refused.value.message
    assert (listed()[CLERK]["packName"], there is None) == ("private.acme.rival", False)
    building.install_agent("acme", rival | {"packName": OFFICE, "packVersion": "0.9.1"})
    applied()
    assert listed()[CLERK]["packVersion"] == "1.0.0"


def test_a_manifest_by_itself_does_not_take_the_place_of_what_a_gate_has_let_in() -> None:
    applied()
    with pytest.raises(Conflict) as refused:
        building.install_agent("acme", {"agentId": CLERK, **WRITES, "packVersion": "2.0.0"})
    assert refused.value.details["installedArtifactRef"] == f"agent-pack:{OFFICE}@1.0.0"
    assert outcome_of(CLERK) == NOT_ALLOWED


# --- that it was used -------------------------------------------------------------------------------------------------


def test_a_run_notes_the_agents_it_acts_as_once_and_at_the_first_of_their_nodes() -> None:
    applied(WRITES)
    again = building.node("again", "core.noop", agent={"agentId": CLERK})
    nobody = building.node("nobody", "core.noop")
    stranger = building.node("stranger", "core.noop", agent={"agentId": "private.acme.stranger"})
    run = executed(CLERK, again, nobody, stranger)
    assert run.status == "completed"
    assert [(use.installation.ref, use.node_id) for use in registry.used_by(run)] == [(f"agent:{CLERK}@1.0.0", "act")]


def test_a_run_with_an_agent_of_its_own_has_used_it() -> None:
    applied()
    building.install("acme", building.definition("plain", building.node("only", "core.noop")))
    assert used(building.execute(building.scope(), "plain", agent_id=CLERK)) == [f"agent:{CLERK}@1.0.0"]


def test_a_node_that_may_not_do_what_it_does_has_used_nobody() -> None:
    applied()
    assert used(executed(CLERK)) == []


def test_a_replay_notes_no_use_and_a_branch_does() -> None:
    applied(WRITES)
    run = executed(CLERK)
    before = Resolution.objects.count()
    forks = {}
    for mode, from_seq in (("replay", None), ("branch", 0)):
        request = ForkRequest(mode, from_seq)
        forks[mode] = building.advance(replay.fork(building.scope(), run.id, request, now=timezone.now()))
        assert forks[mode].status == "completed", forks[mode].error
    assert used(forks["replay"]) == []
    assert used(forks["branch"]) == used(run) == [f"agent:{CLERK}@1.0.0"]
    assert Resolution.objects.count() == before + 1


def test_a_node_without_an_agent_asks_nothing_about_agents() -> None:
    applied(WRITES)
    settings = {"content": "learned", "memoryRef": "notes"}
    building.install("acme", building.definition("bare", building.node("act", "vendor.console.remember", settings)))
    with CaptureQueriesContext(connection) as asked:
        run = building.execute(building.scope(), "bare")
    assert run.status == "completed"
    tables = (Installation._meta.db_table, Resolution._meta.db_table)
    engine = [each["sql"] for each in asked.captured_queries if any(table in each["sql"] for table in tables)]
    assert [sql for sql in engine if "'workflow'" not in sql and ArtifactKind.WORKFLOW not in sql] == []
