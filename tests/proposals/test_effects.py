"""What came of a proposal: a pack of agents is held against the agents that runs resolve today, however they came."""

import json
from typing import Any

import pytest

from memory.host.models import Installation
from memory.host.tenancy import TenantScope
from proposals import review
from proposals.impact import Effect
from proposals.models import Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db
CLERK, PORTER = "private.acme.clerk", "private.acme.porter"
BOTH = {"toolAllowlist": ["openwop:memory.read", "openwop:memory.write"]}


def effect_of(proposal: Proposal, by: TenantScope | None = None) -> Effect:
    return review.detail(by or building.scope(), proposal.id).effect


def alone(agent: str = CLERK, slug: str = "acme", **more: Any) -> Installation:
    """The agent is installed by itself, with both tools."""
    return building.install_agent(slug, {"agentId": agent, **BOTH, "packVersion": "0.9.0", **more})


def pack(*agents: str, **changes: Any) -> Proposal:
    text = proposing.agent_pack(*({"agentId": each} for each in agents), **changes)
    return proposing.propose(text=text, kind="agent-pack")


def acted(agent: str = CLERK) -> Any:
    """A run that acts as the agent and so resolves it."""
    node = building.node("act", "core.noop", agent={"agentId": agent})
    building.install("acme", building.definition("acting", node))
    return building.execute(building.scope(), "acting")


def test_agents_that_are_installed_by_themselves_stand_where_their_pack_would() -> None:
    alone(PORTER)
    alone(CLERK)
    stands = effect_of(pack(CLERK, PORTER)).stands
    assert stands
    assert stands.label == f"agent:{CLERK}@0.9.0, agent:{PORTER}@0.9.0"
    assert stands.alone == [f"agent:{CLERK}@0.9.0", f"agent:{PORTER}@0.9.0"]
    document = json.loads(stands.text)
    assert [each["agentId"] for each in document["agents"]] == [CLERK, PORTER], "in the order of the proposal"
    assert document["agents"][0]["toolAllowlist"] == BOTH["toolAllowlist"]
    assert not [each for each in document["agents"] if each.keys() & {"packName", "packVersion"}]


def test_an_installed_pack_stands_byte_for_byte_and_with_the_agents_that_come_to_it() -> None:
    first = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    wider = pack(CLERK, PORTER, version="1.1.0")
    stands = effect_of(wider).stands
    assert stands
    assert (stands.label, stands.agents) == (first.installed_ref, [])
    assert stands.text == review.detail(building.scope(), first.id).current.text
    alone(PORTER)
    stands = effect_of(wider).stands
    assert stands
    assert stands.label == f"{first.installed_ref}, agent:{PORTER}@0.9.0"
    assert [each["agentId"] for each in json.loads(stands.text)["agents"]] == [CLERK, PORTER]


def test_what_the_pack_replaced_is_known_when_it_is_installed_and_nothing_else_was() -> None:
    alone()
    alone(PORTER)
    made = proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    found = effect_of(made)
    assert found.replaced
    assert found.replaced.alone == [f"agent:{CLERK}@0.9.0"]
    next_one = proposing.applied(text=proposing.agent_pack(version="1.1.0"), kind="agent-pack")
    replaced = effect_of(next_one).replaced
    assert replaced
    assert (replaced.label, replaced.alone) == (made.installed_ref, [])


def test_runs_that_acted_as_the_agent_by_itself_used_another_version() -> None:
    alone()
    before = acted()
    made = pack(CLERK)
    assert [use.run_id for use in effect_of(made).other_uses] == [before.id]
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    proposing.advance(gate)
    after = acted()
    found = effect_of(made)
    assert [use.run_id for use in found.uses] == [after.id]
    assert [use.run_id for use in found.other_uses] == [before.id]


def test_agents_of_another_tenant_stand_nowhere_here() -> None:
    alone(slug="globex")
    made = pack(CLERK)
    assert effect_of(made).stands is None
