"""Needs you, the first page: the lists of what waits for an operator, and how much agents write. Reads only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from memory import adapter, agents, commitments, ledger_imports, redaction, run_search
from memory.agents import AgentRow
from memory.forget import execution, plans
from memory.host import access, interrupts, pages, sql
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt
from memory.host.pages import ChainSeen
from memory.host.tenancy import TenantScope
from memory.models import ForgetRequest, ForgetState
from memory.passes import lookalikes, pass_reports
from openwop_console import health
from proposals import inbox, lifecycle, rules
from proposals import policies as approval_policies
from proposals.models import PolicyChange

DAYS = 14
AGENTS_DRAWN = 8
SHOWN = 10
# The number up to which a waiting list is counted.
COUNTED = 99
FAILED_WITHIN, LOST_WITHIN, OVERRIDDEN_WITHIN = timedelta(days=7), timedelta(days=7), timedelta(days=14)
# A spike: so many times the usual number of a day, and at least so many; where at least so many days have one.
SPIKE_TIMES, SPIKE_LEAST, SPIKE_AFTER = 5, 50, 3
SECTIONS = {
    "needs_you": (
        "votes",
        "drafts",
        "changes",
        "policies",
        "answers",
        "failed",
        "losses",
        "imports",
        "possible",
        "forgets",
        "confirmations",
        "previews",
        "suspects",
        "duplicates",
        "overridden",
        "degraded",
    ),
    "agents": ("degraded",),
    "proposals": ("votes", "drafts", "changes"),
    "nights": ("losses", "possible", "duplicates"),
    "commitments": ("possible",),
    "look_alikes": ("duplicates",),
    "forget": ("forgets", "confirmations", "previews", "suspects"),
}


@dataclass(frozen=True, slots=True)
class Writes:
    """An agent's entries per day, oldest day first; the agent "" is for entries that name none."""

    agent: str
    points: list[tuple[date, int]]

    @property
    def total(self) -> int:
        return sum(number for _, number in self.points)

    @property
    def usual(self) -> int:
        """Return the median of the days before the last one on which something was written; 0 for fewer than three."""
        written = [number for _, number in self.points[:-1] if number]
        return int(median(written)) if len(written) >= SPIKE_AFTER else 0


@dataclass(frozen=True, slots=True)
class Spike:
    """The entries of an agent on the last day, and how many are usual on a day with any."""

    agent: str
    entries: int
    usual: int

    @property
    def is_one(self) -> bool:
        return self.usual > 0 and self.entries >= max(SPIKE_TIMES * self.usual, SPIKE_LEAST)

    @property
    def times(self) -> int:
        return self.entries // self.usual


@dataclass(frozen=True, slots=True)
class WaitingList:
    """The oldest rows of a waiting list, and their number, counted up to ``COUNTED``."""

    rows: list[Any]
    total: int
    inexact: bool

    @property
    def count(self) -> str:
        return f"{self.total}+" if self.inexact else str(self.total)


@dataclass(frozen=True, slots=True)
class NeedsYou:
    """The first page: what waits, oldest first, and how much agents have written recently.

    The navigation counts the rows that the page lists; ``host`` and ``chain`` stand above (decision 164).
    """

    waiting: dict[str, WaitingList | None]
    titles: dict[UUID, str]
    subjects: dict[UUID, str]
    sentences: dict[UUID, str | None]
    policies: list[PolicyChange] | None
    degraded: list[AgentRow] | None
    residue: list[ForgetRequest]
    host: list[str]
    chain: ChainSeen | None
    writes: list[Writes]
    days: list[date]

    @property
    def is_quiet(self) -> bool:
        """Return whether there is nothing to do for this principal."""
        return not (any(each.total for each in self.waiting.values() if each) or self.policies or self.degraded)

    @property
    def totals(self) -> list[tuple[date, int]]:
        """Return the entries of all agents together, by day."""
        return [(day, sum(each.points[place][1] for each in self.writes)) for place, day in enumerate(self.days)]

    @property
    def spikes(self) -> list[Spike]:
        """Return the agents that wrote far more on the last day than on the days before it, those with most first."""
        found = [Spike(each.agent, each.points[-1][1], each.usual) for each in self.writes]
        return sorted((each for each in found if each.is_one), key=lambda each: -each.entries)

    @property
    def by_section(self) -> dict[str, str]:
        """Return what ``nav_counts`` does, from what was counted already."""
        found = {name: (each.total, each.inexact) for name, each in self.waiting.items() if each}
        return _by_section(found, self.policies, len(self.degraded or []))

    @property
    def chain_is_broken(self) -> bool:
        return self.chain is not None and self.chain.state == "broken"


def waiting_lists(scope: TenantScope, *, now: datetime) -> dict[str, Callable[[], Any] | None]:
    """Return how to query the rows that wait for this principal, by list, oldest first; None without the permission.

    Each is read through an index, and only as far as the page or its count needs, whatever the size of the ledger.
    """
    reads, erases = scope.can("proposals:read"), scope.can("memory:forget")
    retires = scope.can("memory:retire") and scope.can("memory:read")
    every: dict[str, tuple[bool, Callable[[], Any]]] = {
        "votes": (
            reads and scope.can(rules.scope_for("decide")),
            lambda: inbox.with_expiry(scope, inbox.awaiting_vote(scope, now=now)).order_by("id"),
        ),
        "drafts": (reads and scope.can(rules.scope_for("apply")), lambda: inbox.drafts(scope).order_by("id")),
        "changes": (
            reads and scope.can(rules.scope_for("revise")),
            lambda: inbox.changes_requested(scope).order_by("id"),
        ),
        "answers": (
            scope.can(interrupts.SCOPE) and scope.can("runs:read"),
            lambda: interrupts.awaiting(scope, now=now),
        ),
        "failed": (
            scope.can("runs:create") and scope.can("runs:read"),
            lambda: run_search.failed_since(scope, now - FAILED_WITHIN),
        ),
        "losses": (retires, lambda: pass_reports.recent_losses(scope, since=now - LOST_WITHIN)),
        "imports": (
            all(map(scope.can, ledger_imports.SCOPES)),
            lambda: ledger_imports.awaiting_confirmation(scope, now=now),
        ),
        "possible": (retires, lambda: commitments.lifecycle.list_possible(scope).order_by("id")),
        "forgets": (erases, lambda: plans.unfinished(scope)),
        "confirmations": (erases, lambda: plans.awaiting_second(scope, now=now)),
        "previews": (erases, lambda: plans.previews_to_decide(scope, now=now)),
        "suspects": (erases, lambda: plans.with_undecided(scope)),
        "duplicates": (scope.can("passes:run"), lambda: lookalikes.open_pairs(scope, now=now)),
        "overridden": (reads, lambda: lifecycle.recent_overrides(scope, since=now - OVERRIDDEN_WITHIN)),
    }
    return {name: query if is_allowed else None for name, (is_allowed, query) in every.items()}


def counted(scope: TenantScope, *, now: datetime) -> dict[str, tuple[int, bool]]:
    """Count the rows of each waiting list, up to ``COUNTED``, and whether there are more, in one statement.

    The statement is kept for each shape of rights: to compile it takes ten times as long as to run it.
    """
    principal = scope.principal
    asked = tuple(map(rules.scope_for, ("decide", "apply", "revise")))
    roles = tuple(access.roles_of(scope.tenant_id, principal.id)) if scope.can(asked[0]) else ()
    own = principal.id == principal.person
    numbers = sql.counts_of_shape(
        (principal.scopes, principal.agent_ids is None, asked, roles, own),
        (scope.tenant_id, principal.id, principal.person, now),
        lambda: {name: query() for name, query in waiting_lists(scope, now=now).items() if query},
        up_to=COUNTED + 1,
    )
    return {name: (min(number, COUNTED), number > COUNTED) for name, number in numbers.items()}


def what_waits(scope: TenantScope, document: Mapping[str, object], *, now: datetime) -> NeedsYou:
    """Return what needs this principal, as far as its permissions let it see."""
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    reads = scope.can("proposals:read")
    numbers = counted(scope, now=now)
    found = {
        name: WaitingList(list(query()[:SHOWN]) if numbers[name][0] else [], *numbers[name]) if query else None
        for name, query in waiting_lists(scope, now=now).items()
    }
    asked, forgets, previews = found["answers"], found["forgets"], found["previews"]
    return NeedsYou(
        waiting=found,
        titles={each.id: _title_of(each) for each in asked.rows} if asked else {},
        subjects={each.id: ", ".join(execution.terms_of(scope, each)) for each in previews.rows} if previews else {},
        sentences=commitments.lifecycle.sentences(scope, found["possible"].rows, now=now) if found["possible"] else {},
        policies=approval_policies.awaiting_me(scope) if reads else None,
        degraded=agents.degraded_rows(scope, document) if scope.can("agents:read") else None,
        host=health.problems(now=now) if scope.can("passes:run") else [],
        residue=[each for each in forgets.rows if each.state == ForgetState.RESIDUE] if forgets else [],
        chain=pages.last_verdict(scope.tenant_id),
        writes=_writes(scope, days) if scope.can("memory:read") else [],
        days=days,
    )


def _title_of(asked: Interrupt) -> str:
    """Return the title of the interrupt, or its first question, with secrets masked."""
    data = redaction.mask_of_run(asked.run).data(asked.data)
    first: JSONObject = next(iter(data.get("questions", ())), {})
    return str(data.get("title") or first.get("question", ""))


def nav_counts(scope: TenantScope, *, now: datetime) -> dict[str, str]:
    """Return the number of waiting items for each section of the navigation."""
    policies = approval_policies.awaiting_me(scope) if scope.can("proposals:read") else None
    degraded = agents.count_degraded(scope) if scope.can("agents:read") else 0
    return _by_section(counted(scope, now=now), policies, degraded)


def _by_section(
    found: dict[str, tuple[int, bool]], policies: list[PolicyChange] | None, degraded: int
) -> dict[str, str]:
    every = found | {"policies": (len(policies or []), False), "degraded": (degraded, False)}
    return {section: _sum([every[name] for name in names if name in every]) for section, names in SECTIONS.items()}


def _sum(counts: list[tuple[int, bool]]) -> str:
    """Add up the counts for the navigation: empty for zero, and with a plus sign where there is more."""
    total = sum(number for number, _ in counts)
    more = any(inexact for _, inexact in counts) or total > COUNTED
    return f"{min(total, COUNTED)}+" if more else str(total or "")


def _writes(scope: TenantScope, days: list[date]) -> list[Writes]:
    """Return the writes of the agents that wrote most, and of the others together."""
    counts: dict[str, dict[date, int]] = {}
    for day, agent, number in adapter.statistics.writes_by_day(scope, since=days[0]):
        counts.setdefault(agent, {})[day] = number
    ranked = sorted(counts, key=lambda agent: (-sum(counts[agent].values()), agent))
    drawn = [Writes(agent, [(day, counts[agent].get(day, 0)) for day in days]) for agent in ranked[:AGENTS_DRAWN]]
    rest = ranked[AGENTS_DRAWN:]
    if rest:
        together = [(day, sum(counts[agent].get(day, 0) for agent in rest)) for day in days]
        drawn.append(Writes(f"{len(rest)} other agents", together))
    return drawn
