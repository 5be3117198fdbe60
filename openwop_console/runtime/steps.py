"""Where a run stands: reading and writing its steps."""

from datetime import datetime
from typing import Any
from uuid import UUID

from memory.host.models import Run
from openwop_console.runtime.models import Step, StepState

WRITER = "openwop_console.runtime.steps"


def of_run(tenant_id: UUID, run_id: UUID) -> dict[str, Step]:
    """The steps of a run by node id; nodes that were not reached have none."""
    return {step.node_id: step for step in Step.objects.of(tenant_id).filter(run_id=run_id).order_by("id")}


def begin(run: Run, node_id: str, *, now: datetime) -> Step:
    """The node is being executed for the first time."""
    return Step(
        tenant_id=run.tenant_id, run_id=run.id, node_id=node_id, state=StepState.STARTED, started_at=now
    ).insert(by=WRITER)


def settle(step: Step, state: str, *, outputs: dict[str, Any] | None = None, wake_at: datetime | None = None) -> None:
    """The step is as it is now; outputs are kept when it is done."""
    step.state, step.wake_at = state, wake_at
    if outputs is not None:
        step.outputs = outputs
    step.save(by=WRITER, update_fields=["state", "wake_at", "outputs"])


def erase_outputs(step: Step, outputs: dict[str, Any]) -> None:
    """The step keeps these outputs instead. For forgetting alone."""
    step.outputs = outputs
    step.save(by=WRITER, update_fields=["outputs"])
