"""What needs an operator now: the lists of the first page, each None when a permission is missing. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from memory import adapter, forget_requests, inventory, masking
from memory.host import interrupts, pages, suspensions
from memory.host.models import Interrupt
from memory.host.pages import ChainSeen
from memory.host.tenancy import TenantScope
from memory.inventory import AgentRow
from memory.models import ForgetRequest, ForgetState
from proposals import inbox, overrides, policy_review, rules
from proposals.inbox import InboxPage
from proposals.models import PolicyChange, Vote

DAYS = 14
AGENTS_DRAWN = 8
QUESTIONS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Writes:
    """The entries an agent wrote on each day, oldest day first; "" is nobody's in particular."""

    agent: str
    points: list[tuple[date, int]]

    @property
    def total(self) -> int:
        return sum(number for _, number in self.points)


@dataclass(frozen=True, slots=True)
class Answers:
    """Questions of runs that nobody has answered: the oldest with their titles, and how many there are in all."""

    oldest: list[tuple[Interrupt, str]]
    total: int


@dataclass(frozen=True, slots=True)
class Attention:
    """The first page: what waits, oldest first, and how much agents have written lately."""

    votes: InboxPage | None
    policies: list[PolicyChange] | None
    answers: Answers | None
    forgets: list[ForgetRequest] | None
    agents: list[AgentRow] | None
    residue: list[ForgetRequest]
    overridden: list[Vote]
    chain: ChainSeen | None
    writes: list[Writes]
    days: list[date]

    @property
    def anomalies(self) -> int:
        return len(self.residue) + len(self.overridden) + bool(self.chain_is_broken)

    @property
    def chain_is_broken(self) -> bool:
        return self.chain is not None and self.chain.state == "broken"


def of(scope: TenantScope, document: Mapping[str, Any], *, now: datetime) -> Attention:
    """What needs this principal, as far as its permissions let it see."""
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    reads = scope.can("proposals:read")
    may_vote = scope.can(rules.scope_for("decide")) and reads
    forgets = forget_requests.unfinished(scope) if scope.can("memory:forget") else None
    return Attention(
        votes=inbox.awaiting_me(scope, now=now) if may_vote else None,
        policies=policy_review.awaiting_me(scope) if reads else None,
        answers=_answers(scope) if scope.can(interrupts.SCOPE) and scope.can("runs:read") else None,
        forgets=forgets,
        agents=_degraded(scope, document, now) if scope.can("agents:read") else None,
        residue=[each for each in forgets or [] if each.state == ForgetState.RESIDUE],
        overridden=overrides.lately(scope, since=now - timedelta(days=DAYS)) if reads else [],
        chain=pages.last_verdict(scope.tenant_id),
        writes=_writes(scope, days, now) if scope.can("memory:read") else [],
        days=days,
    )


def _answers(scope: TenantScope) -> Answers:
    rows = suspensions.waiting(scope.tenant_id)
    oldest = [(each, masking.of_run(each.run).data(each.data).get("title", "")) for each in rows[:QUESTIONS_SHOWN]]
    return Answers(oldest, rows.count())


def _degraded(scope: TenantScope, document: Mapping[str, Any], now: datetime) -> list[AgentRow]:
    return [row for row in inventory.agent_rows(scope, document, now=now) if row.entry.health == "degraded"]


def _writes(scope: TenantScope, days: list[date], now: datetime) -> list[Writes]:
    """The agents that wrote most, and the others together."""
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    counts: dict[str, dict[date, int]] = {}
    for day, agent, number in adapter.writes_by_day(scope, since=since):
        counts.setdefault(agent, {})[day] = number
    ranked = sorted(counts, key=lambda agent: (-sum(counts[agent].values()), agent))
    drawn = [Writes(agent, [(day, counts[agent].get(day, 0)) for day in days]) for agent in ranked[:AGENTS_DRAWN]]
    rest = ranked[AGENTS_DRAWN:]
    if rest:
        together = [(day, sum(counts[agent].get(day, 0) for agent in rest)) for day in days]
        drawn.append(Writes(f"{len(rest)} other agents", together))
    return drawn
