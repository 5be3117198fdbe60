"""Reads and writes the steps of runs; their only writer."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, TextField, Value
from django.db.models.functions import Cast, StrIndex
from django.db.models.lookups import GreaterThan

from memory.host import runs, sql
from memory.host.events import Failure
from memory.host.expiry import SKEW
from memory.host.json_types import JSONObject
from memory.host.models import Run, Tenant
from openwop_console.runtime.models import Step, StepState

WRITER = "openwop_console.runtime.steps"
IN_FLIGHT = frozenset({StepState.STARTED, StepState.SLEEPING, StepState.WAITING})


def steps_of_run(tenant_id: UUID, run_id: UUID, *, values: bool = True) -> dict[str, Step]:
    """The steps of a run by node id, in the order they began; unreached nodes have none.

    Without ``values``, outputs and variables, which may be megabytes per run, are loaded on first access.
    """
    return {step.node_id: step for step in _of_run(values).fetch(sql.key(tenant_id), sql.key(run_id))}


@cache
def _of_run(values: bool) -> sql.PositionalQuery[Step]:
    anyone = UUID(int=0)
    rows = Step.objects.of(anyone).filter(run_id=anyone).order_by("id")
    return sql.PositionalQuery(rows if values else rows.defer("outputs", "variables"))


def load_outputs(known: Mapping[str, Step], node_ids: Iterable[str]) -> None:
    """Load the outputs of these nodes, in one query, where ``known`` has their steps without."""
    without = [step for node_id in node_ids if (step := known.get(node_id)) and "outputs" in step.get_deferred_fields()]
    for part in sql.in_chunks(without):
        rows = Step.objects.of(part[0].tenant_id).filter(id__in=[step.id for step in part])
        outputs = dict(rows.values_list("id", "outputs"))
        for step in part:
            step.outputs = outputs[step.id]


def at_node(tenant_id: UUID, run_id: UUID, node_id: str) -> Step | None:
    """The step of a run at one node; None when the run has not reached it."""
    found: Step | None = Step.objects.of(tenant_id).filter(run_id=run_id, node_id=node_id).first()
    return found


def any_says(tenant_id: UUID, run_id: UUID, words: str) -> bool:
    """Whether the text occurs in the stored outputs or variables of the run's steps; searched as text, not parsed."""
    said = (StrIndex(Cast(name, TextField()), Value(words)) for name in ("outputs", "variables"))
    in_outputs, in_variables = (GreaterThan(place, 0) for place in said)
    return bool(Step.objects.of(tenant_id).filter(in_outputs | in_variables, run_id=run_id).exists())


def begin(run: Run, node_id: str, *, timeout: timedelta | None = None, attempt: int = 1, now: datetime) -> Step:
    """Create the node's step as started; its deadline is ``timeout`` from now."""
    deadline = now + timeout if timeout else None
    return Step(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=node_id,
        state=StepState.STARTED,
        attempt=attempt,
        started_at=now,
        deadline_at=deadline,
    ).insert(by=WRITER)


def skip(run: Run, node_id: str, *, now: datetime) -> None:
    """Create the node's step as skipped."""
    Step(tenant_id=run.tenant_id, run_id=run.id, node_id=node_id, state=StepState.SKIPPED, started_at=now).insert(
        by=WRITER
    )


def take_over(run: Run, step: Step, *, now: datetime) -> None:
    """Copy a step of the source run into ``run``, its branch."""
    Step(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=step.node_id,
        state=step.state,
        attempt=step.attempt,
        outputs=step.outputs,
        variables=step.variables,
        error=step.error,
        on_record=step.on_record,
        started_at=now,
    ).insert(by=WRITER)


def settle(step: Step, state: str, *, wake_at: datetime | None = None) -> None:
    """Set the step's state and wake time, and clear its error."""
    step.state, step.wake_at, step.error = state, wake_at, None
    step.save(by=WRITER, update_fields=["state", "wake_at", "error"])


def finish(step: Step, *, outputs: JSONObject, variables: JSONObject) -> None:
    """Mark the node as done, with its outputs and the variables it set."""
    step.state, step.wake_at, step.error = StepState.DONE, None, None
    step.outputs, step.variables, step.on_record = outputs, variables, True
    step.save(by=WRITER, update_fields=["state", "wake_at", "error", "outputs", "variables", "on_record"])


def retry(step: Step, failure: Failure, *, at: datetime) -> None:
    """Record the failed attempt and put the step to sleep until the next one at ``at``."""
    step.state, step.wake_at, step.attempt = StepState.SLEEPING, at, step.attempt + 1
    step.error = {"code": failure.code, "message": failure.message}
    step.save(by=WRITER, update_fields=["state", "wake_at", "attempt", "error"])


def fail(step: Step, failure: Failure) -> None:
    """Mark the node as failed for good."""
    step.state, step.wake_at = StepState.FAILED, None
    step.error = {"code": failure.code, "message": failure.message}
    step.save(by=WRITER, update_fields=["state", "wake_at", "error"])


def has_sleeping(run: Run) -> bool:
    """Whether a node of the run has begun and waits for its time."""
    return Step.objects.of(run.tenant_id).filter(run_id=run.id, state=StepState.SLEEPING).exists()


def correct_ahead(*, longest_retry: timedelta, now: datetime) -> int:
    """Bring forward the nodes of resting runs that began while a clock was ahead, and retries that wait for longer than
    any does; return how many."""
    of_resting = {"tenant_id__in": Tenant.objects.values("id"), "run_id__in": runs.resting(now=now).values("id")}
    begun = Step.objects.filter(state__in=IN_FLIGHT, started_at__gt=now + SKEW, **of_resting)
    corrected = 0
    for step in begun.defer("outputs", "variables"):
        ahead = step.started_at - now
        step.started_at = now
        step.wake_at, step.deadline_at = (at and at - ahead for at in (step.wake_at, step.deadline_at))
        step.save(by=WRITER, update_fields=["started_at", "wake_at", "deadline_at"])
        corrected += 1
    late = {"state": StepState.SLEEPING, "error__isnull": False, "wake_at__gt": now + longest_retry + SKEW}
    return corrected + Step.objects.written_by(WRITER).filter(**late, **of_resting).update(wake_at=now)


def waits_until_run_is_ready() -> Q:
    """Match the runs of which a node waits, or may take, until the time at which a worker looks at the run next."""
    rows = Step.objects.filter(tenant_id=OuterRef("tenant_id"), run_id=OuterRef("id"), state__in=IN_FLIGHT)
    return Q(Exists(rows.filter(Q(wake_at=OuterRef("ready_at")) | Q(deadline_at=OuterRef("ready_at")))))


def postpone(run: Run, by: timedelta) -> None:
    """Extend the deadlines of the locked run's in-flight nodes by that time; wake times do not change."""
    rows = Step.objects.written_by(WRITER).filter(tenant_id=run.tenant_id, run_id=run.id, state__in=IN_FLIGHT)
    rows.filter(deadline_at__isnull=False).update(deadline_at=F("deadline_at") + by)
