"""Builders of proposals. Ada reviews, Ben writes, and an agent of Acme submits; all through the lifecycle."""

import json
from typing import Any

from django.utils import timezone

from memory.host import audit, ids, runs
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from proposals import lifecycle, policies
from proposals.drafts import ProposalDraft
from proposals.lifecycle import Activation
from proposals.models import Gate, PolicyChange, Proposal
from proposals.policies import Policy
from tests import building

TEMPLATE: dict[str, Any] = {
    "templateId": "triage.summary",
    "version": "1.1.0",
    "kind": "system",
    "text": "Summarise {{ticket}} in two sentences.",
    "variables": [{"name": "ticket", "type": "string", "required": True}],
}

AGENT: dict[str, Any] = {
    "agentId": "private.acme.clerk",
    "persona": "Clerk",
    "modelClass": "general",
    "systemPrompt": "You file what comes in.",
    "toolAllowlist": ["openwop:memory.read"],
}
PACK: dict[str, Any] = {
    "name": "private.acme.office",
    "version": "1.0.0",
    "engines": {"openwop": ">=1.0 <2.0.0"},
    "runtime": {"language": "remote", "entry": "https://agents.acme.example/office"},
}

CHAIN: dict[str, Any] = {
    "chainId": "private.acme.followUp",
    "version": "1.0.0",
    "label": "Follow up",
    "description": "Notes whom to call, and when.",
    "parameters": {
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "Whom to call.", "maxLength": 80},
            "days": {"type": "integer", "minimum": 1, "default": 3},
        },
        "required": ["customer"],
        "additionalProperties": False,
    },
    "dag": {
        "nodes": [
            {
                "id": "write",
                "typeId": "vendor.console.compose",
                "config": {"text": "Call {{params.customer}} in {{params.days}} days."},
            },
            {"id": "keep", "typeId": "vendor.console.remember", "config": {"memoryRef": "notes"}},
        ],
        "edges": [{"from": "write.text", "to": "keep.content"}],
    },
}
CHAINS: dict[str, Any] = {
    "name": "private.acme.desk",
    "version": "1.0.0",
    "kind": "workflow-chain",
    "engines": {"openwop": ">=1.0 <2.0.0"},
}


def artifact(**changes: Any) -> str:
    """The text of a valid prompt template."""
    return json.dumps({**TEMPLATE, **changes})


def agent_pack(*agents: dict[str, Any], **changes: Any) -> str:
    """The text of a valid pack of agents: of each given, with what it does not say filled in; or of one clerk."""
    return json.dumps({**PACK, "agents": [{**AGENT, **agent} for agent in agents or ({},)], **changes})


def chain_pack(*chains: dict[str, Any], **changes: Any) -> str:
    """The text of a valid pack of chains: of each given, with what it does not say filled in; or of one that notes."""
    return json.dumps({**CHAINS, "chains": [{**CHAIN, **chain} for chain in chains or ({},)], **changes})


def automation(**changes: Any) -> str:
    """The text of a valid automation: every Monday at seven, unless ``changes`` say otherwise."""
    time = {} if changes.keys() & {"cron", "fireAt"} else {"cron": "0 7 * * 1"}
    return json.dumps({"workflowId": "conformance-noop", **time, **changes})


def draft(text: str | None = None, **more: Any) -> ProposalDraft:
    given = {"kind": "prompt-template", "title": "Shorter summary", "rationale": "Runs were corrected.", **more}
    return ProposalDraft(artifact=artifact() if text is None else text, **given)


def propose(author: TenantScope | None = None, text: str | None = None, **more: Any) -> Proposal:
    """A draft, by an agent of Acme unless ``author`` says otherwise."""
    return lifecycle.create(author or building.scope(role="agent"), draft(text, **more), now=timezone.now())


def ask(proposal: Proposal, by: TenantScope | None = None) -> Activation:
    """The gate over the current revision is open."""
    return lifecycle.ask_to_apply(by or building.scope(role="reviewer"), proposal.id, now=timezone.now())


def decide(
    proposal: Proposal, gate: Gate, by: TenantScope | None = None, decision: str = "granted", **more: Any
) -> Gate:
    """A vote about exactly what the gate has pinned, unless ``more`` says otherwise."""
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, **more}
    voter = by or building.scope(role="reviewer")
    return lifecycle.decide(voter, proposal.id, decision=decision, now=timezone.now(), **given)


def advance(gate: Gate) -> Run:
    """The activation run as it is after a worker had it."""
    return building.advance(runs.find(gate.tenant_id, gate.run_id))


def applied(text: str | None = None, **more: Any) -> Proposal:
    """A proposal that went all the way."""
    made = propose(text=text, **more)
    gate = ask(made).gate
    assert gate
    decide(made, gate)
    run = advance(gate)
    assert run.status == "completed", run.error
    return fresh(made)


def fresh(proposal: Proposal) -> Proposal:
    """The proposal as it is stored now."""
    found: Proposal = Proposal.objects.of(proposal.tenant_id).get(id=proposal.id)
    return found


def opened(proposal: Proposal) -> Gate:
    """The gate that a reviewer asked for."""
    gate = ask(proposal).gate
    assert gate
    return gate


def policy(kind: str = "prompt-template", slug: str = "acme", **changes: Any) -> Policy:
    """The kind's policy has these changes, which one owner asked for and another confirmed."""
    asker, other = building.scope(slug), building.scope(slug)
    asked = policies.request_change(asker, kind, changes, now=timezone.now())
    assert isinstance(asked, PolicyChange)
    policies.decide_change(other, asked.id, confirmed=True, now=timezone.now())
    return policies.policy_of_kind(asker.tenant_id, kind)


def actions(proposal: Proposal) -> list[str]:
    """What the audit says about this proposal, oldest first."""
    target = ids.wire("prop", proposal.id)
    return [record.action for record in reversed(audit.newest(proposal.tenant_id)) if record.target == target]


def page_of(proposal: Proposal) -> str:
    """The address of its page."""
    return f"/proposals/{ids.wire('prop', proposal.id)}"
