"""Heartbeats: observations of this host, their evaluation at each tick, and the runs that a change starts."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction

from memory import agents, ledger_search, redaction
from memory.host import audit, event_log, heartbeats, ids, registrations, runs, sql, tenancy
from memory.host.errors import Invalid, Refusal
from memory.host.heartbeats import Finding, HeartbeatOrder, Verdict
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import Heartbeat
from memory.host.paging import Page
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter
from openwop_console.runtime import expressions, schedules
from openwop_console.runtime.run_operations import RunRequest

ENDS = {"run.started": "started", "run.completed": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}
LONGEST_EXPRESSION = 1000
SETTLING = timedelta(seconds=2)  # an event is committed shortly after its timestamp
FARTHEST = timedelta(days=1)
Predicate = JSONMapping
log = logging.getLogger(__name__)
BUSY = "run_already_active"


# The observations that a heartbeat's predicate can name.
#
# An observation is a small JSON object, equal for equal states of the host; the principal must have the permission to
# read the observed data.


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of observation: the fields its predicate may have, those it must have, and the permission it needs."""

    look: Callable[[TenantScope, Predicate, datetime, datetime], JSONObject]
    scope: str
    names: tuple[str, ...]
    required: tuple[str, ...] = ()


def _runs(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> JSONObject:
    """Counts of runs started and ended since ``since``, at most one day back, of one workflow or of all."""
    counted = event_log.counts(
        scope.tenant_id,
        tuple(ENDS),
        since=max(since, now - FARTHEST) - SETTLING,
        until=now - SETTLING,
        workflow_id=predicate.get("workflowId", ""),
    )
    return {word: counted.get(kind, 0) for kind, word in ENDS.items()}


def _memory(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> JSONObject:
    """The number of live entries under a ref, with a tag, or both; exact up to 10,000."""
    wanted = LedgerFilter(memory_ref=predicate.get("memoryRef", ""), tag=predicate.get("tag", ""))
    page = ledger_search.ledger_page(scope, wanted, size=1, now=now)
    return {"live": page.total, "liveIsExact": page.total_is_exact}


def _agent(scope: TenantScope, predicate: Predicate, since: datetime, now: datetime) -> JSONObject:
    """Whether the agent is installed, and which dimensions of its memory are degraded on this host."""
    entries = agents.entries(scope, registrations.advertised_capabilities())
    found = next((entry for entry in entries if entry.agent_id == predicate["agentId"]), None)
    dimensions = list((found and found.degraded_dimensions) or ())
    return {"installed": found is not None, "degraded": bool(dimensions), "dimensions": dimensions}


KINDS = {
    "runs": Kind(_runs, "runs:read", ("workflowId",)),
    "memory": Kind(_memory, "memory:read", ("memoryRef", "tag")),
    "agent": Kind(_agent, "manifest:read", ("agentId",), ("agentId",)),
}


def problems_of(predicate: Predicate) -> list[dict[str, str]]:
    """Problems of a predicate, by field."""
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


def _expression_problems(expression: object) -> list[dict[str, str]]:
    if not isinstance(expression, str) or not expression or len(expression) > LONGEST_EXPRESSION:
        return [_problem("expression", f"must be a JMESPath expression of at most {LONGEST_EXPRESSION} characters")]
    problem = expressions.problem_of_expression(expression)
    return [_problem("expression", problem)] if problem else []


def _problem(name: str, message: str) -> dict[str, str]:
    return {"field": f"predicate.{name}"[:110], "message": message}


def scope_needed(predicate: Predicate) -> str:
    """The permission that this observation requires."""
    return KINDS[predicate["observe"]].scope


def observe(scope: TenantScope, predicate: Predicate, *, since: datetime, now: datetime) -> JSONObject:
    """Observe what the predicate names at ``now``; counts of events begin after ``since``. Checks the permission."""
    kind = KINDS[predicate["observe"]]
    scope.check(kind.scope)
    return kind.look(scope, predicate, since, now)


def state_of(expression: str, observation: Mapping[str, object], deadline: float) -> object:
    """Evaluate the expression on the observation; the result is the heartbeat's state."""
    return expressions.evaluate_until(expression, observation, deadline)


# Operations on heartbeats, and one tick of a heartbeat: observe, evaluate, and start a run on a change.
#
# An evaluation only reads. It runs in its own thread for at most five seconds; a longer one is cancelled, in the
# database too, and reported as a timeout, and the state does not change. While the run of the last change is active, a
# further change is recorded but starts no run.


@transaction.atomic
def create(scope: TenantScope, order: HeartbeatOrder, *, now: datetime) -> Heartbeat:
    """Create a heartbeat that waits for its first tick. Audited."""
    scope.check("schedules:manage")
    heartbeat = heartbeats.create_heartbeat(scope.tenant_id, _allowed(scope, order), now=now)
    _audit(scope, "created", heartbeat, now)
    return heartbeat


@transaction.atomic
def change(scope: TenantScope, name: str, changes: JSONObject, *, now: datetime) -> Heartbeat:
    """Apply the changes. Any change but ``enabled`` makes the heartbeat act as this principal. Audited."""
    scope.check("schedules:manage")
    heartbeat = heartbeats.locked(scope.tenant_id, name)
    order = replace(heartbeats.order_of(heartbeat), **changes)
    if changes.keys() - {"enabled"}:
        order = _allowed(scope, replace(order, principal=scope.principal.id))
    heartbeats.change(heartbeat, order, now=now)
    _audit(scope, "changed", heartbeat, now)
    return heartbeat


@transaction.atomic
def remove(scope: TenantScope, name: str, *, now: datetime) -> None:
    """Delete the heartbeat; the tenant's log and the runs it has started remain. Audited."""
    scope.check("schedules:manage")
    heartbeat = heartbeats.locked(scope.tenant_id, name)
    heartbeats.remove(heartbeat)
    _audit(scope, "removed", heartbeat, now)


def read(scope: TenantScope, name: str) -> Heartbeat:
    scope.check("schedules:read")
    return heartbeats.find(scope.tenant_id, name)


def page(scope: TenantScope, *, after: str, size: int) -> Page[Heartbeat]:
    """A page of heartbeats by name, after ``after``."""
    scope.check("schedules:read")
    return heartbeats.page(scope.tenant_id, after=after, size=size)


def _allowed(scope: TenantScope, order: HeartbeatOrder) -> HeartbeatOrder:
    """Return the order with redacted inputs, once its predicate is valid and readable, its run startable, and its name
    and predicate free of secrets."""
    errors = problems_of(order.predicate)
    if errors:
        raise Invalid("The heartbeat is not valid.", errors=errors)
    scope.check(scope_needed(order.predicate))
    if order.workflow_id:
        schedules.check_startable(scope, RunRequest(order.workflow_id, inputs=order.inputs))
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    for name, text in {"name": order.name, "predicate": order.predicate}.items():
        if clean(text) != text:
            raise Invalid("The heartbeat is not valid.", errors=[{"field": name, "message": "holds a secret"}])
    return replace(order, inputs=clean(order.inputs))


def _audit(scope: TenantScope, what: str, heartbeat: Heartbeat, now: datetime) -> None:
    target = ids.wire("hbt", heartbeat.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=f"heartbeat.{what}", target=target, now=now)


# --- one tick ---------------------------------------------------------------------------------------------------------
@dataclass
class _Evaluation:
    """One evaluation in its thread; ``given_up`` ends the artificial wait of a conformance test."""

    look: Callable[[], JSONMapping]
    expression: str
    deadline: float
    finding: Finding = field(default_factory=lambda: Finding(heartbeats.TIMEOUT))
    given_up: threading.Event = field(default_factory=threading.Event)

    def run(self, slow_s: float) -> None:
        try:
            self.given_up.wait(slow_s)
            with sql.ending_at(self.deadline):
                seen = self.look()
            state = state_of(self.expression, seen, self.deadline)
            self.finding = Finding(heartbeats.OK, state)
        except expressions.TooLong:
            self.finding = Finding(heartbeats.TIMEOUT)
        except (expressions.Senseless, expressions.TooLarge, Refusal):
            # The heartbeat's own fault, or its principal's: no failure of the host.
            self.finding = Finding(heartbeats.ERROR)
        except Exception:
            if time.monotonic() > self.deadline:
                return
            log.exception("The evaluation of a heartbeat has failed")
            self.finding = Finding(heartbeats.ERROR)
        finally:
            connection.close()


def beat(
    tenant_id: UUID,
    heartbeat_id: UUID,
    *,
    next_at: datetime | None,
    clock: Callable[[], datetime],
    given: Mapping[str, object] | None = None,
    slow_s: float = 0,
) -> tuple[Verdict, bool] | None:
    """Process one tick; return its verdict and whether it started a run, or None when the tick was skipped.

    ``given`` replaces the observation and ``slow_s`` delays the evaluation by that many seconds: both are for a
    conformance suite.
    """
    begun = heartbeats.begin(tenant_id, heartbeat_id, next_at=next_at, now=clock())
    if begun is None:
        return None
    seen_at = clock()

    def look() -> JSONMapping:
        return given if given is not None else _observed(begun, seen_at)

    finding = _evaluated(look, begun.predicate["expression"], slow_s)
    return _concluded(begun, finding, seen_at=seen_at, now=clock())


def _observed(begun: Heartbeat, now: datetime) -> JSONObject:
    scope = tenancy.scope_without_request(begun.tenant_id, begun.principal, now=now)
    return observe(scope, begun.predicate, since=begun.observed_at or begun.created_at, now=now)


def _evaluated(look: Callable[[], Mapping[str, object]], expression: str, slow_s: float) -> Finding:
    """Evaluate in a thread within MAX_RUNTIME_MS. A late thread is abandoned and ends by itself soon after."""
    budget = heartbeats.MAX_RUNTIME_MS / 1000
    evaluation = _Evaluation(look, expression, time.monotonic() + budget)
    thread = threading.Thread(target=evaluation.run, args=(slow_s,), name="heartbeat", daemon=True)
    thread.start()
    thread.join(budget)
    evaluation.given_up.set()
    return Finding(heartbeats.TIMEOUT) if thread.is_alive() else evaluation.finding


@transaction.atomic
def _concluded(begun: Heartbeat, finding: Finding, *, seen_at: datetime, now: datetime) -> tuple[Verdict, bool] | None:
    """Record the verdict and start the run of a change, in one transaction."""
    verdict = heartbeats.conclude(begun, finding, seen_at=seen_at, now=now)
    if verdict is None:
        return None
    if verdict.transition is None or not verdict.heartbeat.workflow_id:
        return verdict, False
    run_id, code = _started(verdict.heartbeat, now)
    heartbeats.note_run(verdict.heartbeat, run_id=run_id, code=code)
    return verdict, run_id is not None


def is_busy(heartbeat: Heartbeat) -> bool:
    """Whether the run of the heartbeat's last change is still active."""
    last = heartbeat.last_run_id
    return last is not None and runs.find(heartbeat.tenant_id, last).status not in runs.ENDS


def _started(heartbeat: Heartbeat, now: datetime) -> tuple[UUID | None, str]:
    if is_busy(heartbeat):
        return None, BUSY
    origin = {"heartbeat": heartbeat.name}
    request = RunRequest(heartbeat.workflow_id, inputs=heartbeat.inputs, metadata={"origin": origin})
    return schedules.start(heartbeat.tenant_id, heartbeat.principal, request, now=now)
