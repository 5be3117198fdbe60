"""An inbox with something of everything: kinds, states, gates, ages, duplicates, synthesizers, hostile titles."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memory.host.tenancy import TenantScope
from proposals import lifecycle, policies
from proposals.drafts import Change
from proposals.models import Gate, Kind, PolicyChange, Proposal
from tests import building, proposing

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x hx-get="/v1/runs" hx-trigger="load">',
    '=HYPERLINK("https://evil.example","pay")',
    "Pay \u202eecived\u202c now",
    "{{ settings.SECRET_KEY }} {% include 'x' %}",
)
MODELS = ("host:rule-miner/1", "host:rule-miner/2", "acme/drafter-large")
TITLES = (
    "Say what was promised, and by when, in the triage summary",
    "Call the customer back before the weekend begins",
    "Shorter hand-over notes for the night shift",
    "Give the billing agent read access to the refunds ledger",
    "Weekly review of unanswered tickets",
    "Ask for the order number first",
    "Chain lookup, compose and remember for every renewal that comes in between two quarterly reviews of the account",
    "Stop repeating the greeting",
)


def policy(kind: str, *, now: datetime, **changes: Any) -> None:
    """From now on gates over this kind are opened under a policy with these changes; whoever has to has confirmed."""
    asked = policies.request_change(building.scope(), kind, changes, now=now)
    if isinstance(asked, PolicyChange):
        policies.decide_change(building.scope(), asked.id, confirmed=True, now=now)


def gate_over(proposal: Proposal, *, now: datetime) -> Gate:
    found = lifecycle.ask_to_apply(building.scope(role="reviewer"), proposal.id, now=now).gate
    assert found
    return found


def vote(proposal: Proposal, gate: Gate, decision: str = "granted", *, now: datetime, reason: str = "") -> None:
    voter = building.scope(role="reviewer")
    pins: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256}
    lifecycle.decide(voter, proposal.id, decision=decision, reason=reason, now=now, **pins)


def overridden(proposal: Proposal, gate: Gate, *, now: datetime) -> None:
    pins: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256}
    lifecycle.override(building.scope(), proposal.id, reason="incident 42: triage is down", now=now, **pins)


def at(number: int, moment: datetime, author: TenantScope | None = None, **more: Any) -> Proposal:
    """The ``number``-th proposal of its kind, made at that moment; each is another artifact."""
    kind = more.pop("kind", Kind.PROMPT_TEMPLATE)
    words = {"title": TITLES[number % len(TITLES)], **more}
    draft = proposing.draft(_artifact(kind, number), kind=kind, **words)
    return lifecycle.create(author or building.scope(role="agent"), draft, now=moment)


def _artifact(kind: str, number: int) -> str:
    if kind == Kind.PROMPT_TEMPLATE:
        return proposing.artifact(templateId=f"desk.t{number}", text=f"Do {number}.\nFor {{{{ticket}}}}.")
    if kind == Kind.AUTOMATION:
        return proposing.automation(cron=f"{number % 60} {number % 24} * * 1")
    if kind == Kind.AGENT_PACK:
        return proposing.agent_pack({"agentId": f"private.acme.a{number}"}, name=f"private.acme.pack{number}")
    return proposing.chain_pack(name=f"private.acme.chains{number}")


def crowded(count: int = 60, *, quorum: int = 2, now: datetime | None = None) -> list[Proposal]:
    """``count`` proposals, the oldest first, that stand everywhere; automations wait for ``quorum`` grants."""
    moment = now or timezone.now()
    policy(Kind.AUTOMATION, quorum=quorum, now=moment)
    made = [_made(number, count, moment) for number in range(count)]
    return [proposing.fresh(each) for each in made]


def _made(number: int, count: int, now: datetime) -> Proposal:
    kinds = [Kind.PROMPT_TEMPLATE, Kind.AUTOMATION, Kind.PROMPT_TEMPLATE, Kind.AGENT_PACK, Kind.WORKFLOW_CHAIN_PACK]
    then = now - timedelta(days=45) * ((count - 1 - number) / count) ** 2 - timedelta(minutes=3)
    said = HOSTILE if number % 12 == 7 else TITLES
    made = at(
        number,
        then,
        kind=kinds[number % 5],
        title=said[number % len(said)],
        synthesizer_model=MODELS[number % 7 % 3] if number % 4 else "",
        agent_id="private.acme.support-triage" if number % 8 == 4 else "",
    )
    _moved_on(made, number, now)
    return made


def _moved_on(made: Proposal, number: int, now: datetime) -> None:
    step = number % 10
    if step in (1, 6):
        change = Change(title=f"{made.title[:150]}, again", note="clearer")
        lifecycle.revise(building.scope(role="author"), made.id, change, now=now)
    if step in (0, 2, 3, 6):
        gate = gate_over(proposing.fresh(made), now=now - timedelta(days=20) if step == 3 else now)
        if step == 6:
            vote(made, gate, now=now)
    if step == 4:
        vote(made, gate_over(made, now=now), "changes-requested", reason="too long", now=now)
    if step == 5:
        overridden(made, gate_over(made, now=now), now=now)
    if step == 7:
        lifecycle.reject(building.scope(), made.id, reason="not needed", now=now)
    if step == 8:
        lifecycle.archive(building.scope(), made.id, reason="old", now=now)


def rolled_back(*, now: datetime) -> Proposal:
    """A rollback to the first of two versions that were installed."""
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.applied(text=proposing.artifact(version="1.1.0"))
    return lifecycle.propose(building.scope(), "prompt:triage.summary@1.0.0", now=now)


def restated(*, now: datetime) -> Proposal:
    """A proposal that restates what is installed under another name."""
    proposing.applied(text=proposing.artifact(version="1.2.0"))
    draft = proposing.draft(proposing.artifact(templateId="triage.digest"), title="The same again")
    return lifecycle.create(building.scope(role="author"), draft, now=now)
