"""What this host can observe of itself for a heartbeat: a predicate is data, and names one of these.

An observation is a small JSON object, the same for the same state of the host; the principal must be allowed to read
what is looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory import inventory, search
from memory.host import advertised, event_log
from memory.host.tenancy import TenantScope
from memory.search import LedgerFilter
from openwop_console.runtime import conditions

ENDS = {"run.started": "started", "run.completed": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}
LONGEST_EXPRESSION = 1000
SETTLING = timedelta(seconds=2)  # an event is committed a moment after the time it bears
FARTHEST = timedelta(days=1)
Predicate = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One thing to observe: what its predicate may name, which of that it must, and the permission it needs."""

    look: Callable[[TenantScope, Predicate, datetime, datetime], dict[str, Any]]
    scope: str
    names: tuple[str, ...]
    required: tuple[str, ...] = ()


def _runs(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> dict[str, Any]:
    """How many runs have started and ended since the last good look, of one workflow or of all; a day back at most."""
    counted = event_log.counts(
        scope.tenant_id,
        tuple(ENDS),
        since=max(since, now - FARTHEST) - SETTLING,
        until=now - SETTLING,
        workflow_id=predicate.get("workflowId", ""),
    )
    return {word: counted.get(kind, 0) for kind, word in ENDS.items()}


def _memory(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> dict[str, Any]:
    """How many live entries there are under a ref, with a tag, or both; exact up to 10,000."""
    wanted = LedgerFilter(memory_ref=predicate.get("memoryRef", ""), tag=predicate.get("tag", ""))
    page = search.ledger_page(scope, wanted, size=1, now=now)
    return {"live": page.total, "liveIsExact": page.total_is_exact}


def _agent(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> dict[str, Any]:
    """Whether the agent is installed, and which dimensions of its memory this host does not give it."""
    entries = inventory.entries(scope, advertised.document())
    found = next((entry for entry in entries if entry.agent_id == predicate["agentId"]), None)
    dimensions = list((found and found.degraded_dimensions) or ())
    return {"installed": found is not None, "degraded": bool(dimensions), "dimensions": dimensions}


KINDS = {
    "runs": Kind(_runs, "runs:read", ("workflowId",)),
    "memory": Kind(_memory, "memory:read", ("memoryRef", "tag")),
    "agent": Kind(_agent, "manifest:read", ("agentId",), ("agentId",)),
}


def problems_of(predicate: Predicate) -> list[dict[str, str]]:
    """What is wrong with a predicate, by field."""
    kind = KINDS.get(str(predicate.get("observe")))
    if kind is None:
        return [_problem("observe", f"must be one of {', '.join(KINDS)}")]
    known = {"observe", "expression", *kind.names}
    return [
        *(_problem(name, "is not known of this observation") for name in predicate if name not in known),
        *(_problem(name, "must be a text") for name in kind.names if not _is_text(predicate, name, kind)),
        *_expression_problems(predicate.get("expression")),
    ]


def _is_text(predicate: Predicate, name: str, kind: Kind) -> bool:
    value = predicate.get(name)
    if value is None:
        return name not in predicate and name not in kind.required
    return isinstance(value, str) and 0 < len(value) <= 256


def _expression_problems(expression: Any) -> list[dict[str, str]]:
    if not isinstance(expression, str) or not expression or len(expression) > LONGEST_EXPRESSION:
        return [_problem("expression", f"must be a JMESPath expression of at most {LONGEST_EXPRESSION} characters")]
    problem = conditions.problem_of_expression(expression)
    return [_problem("expression", problem)] if problem else []


def _problem(name: str, message: str) -> dict[str, str]:
    return {"field": f"predicate.{name}"[:110], "message": message}


def scope_needed(predicate: Predicate) -> str:
    """The permission without which nobody looks at this."""
    return KINDS[predicate["observe"]].scope


def observe(scope: TenantScope, predicate: Predicate, *, since: datetime, now: datetime) -> dict[str, Any]:
    """What the predicate looks at, as it is at ``now``; counts of what happened begin behind ``since``."""
    kind = KINDS[predicate["observe"]]
    scope.check(kind.scope)
    return kind.look(scope, predicate, since, now)


def state_of(expression: str, observation: Mapping[str, Any], deadline: float) -> Any:
    """What the expression makes of the observation: the heartbeat's state."""
    return conditions.evaluate_until(expression, observation, deadline)
