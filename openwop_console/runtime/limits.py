"""How long, how often and how many: what a run may ask for, clamped to what this host advertises."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memory.host.models import Run

MAX_NODE_EXECUTIONS = 1000
MAX_RUN_DURATION_MS = 30 * 24 * 3_600_000
MAX_RETRIES = 10
RETRY_DELAY_MS = 1000
LONGEST_RETRY_DELAY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a node is tried again, and the wait before the first retry; each later one waits twice as long."""

    retries: int
    first_delay: timedelta

    def delay_before(self, attempt: int) -> timedelta:
        """The wait behind the failed ``attempt``, which counts from 1."""
        wait: timedelta = self.first_delay * 2 ** (attempt - 1)
        return min(wait, LONGEST_RETRY_DELAY)


def executions_of(run: Run) -> int:
    """How many nodes the run may begin: its ``recursionLimit``, at most the host's."""
    asked = run.configurable.get("recursionLimit")
    return min(asked, MAX_NODE_EXECUTIONS) if _is_count(asked) else MAX_NODE_EXECUTIONS


def duration_of(run: Run, definition: dict[str, Any]) -> timedelta | None:
    """How long the run may take from its start. A run of the host itself takes as long as people need."""
    if run.system:
        return None
    asked = [run.configurable.get("runTimeoutMs"), definition["settings"].get("timeout")]
    return timedelta(milliseconds=min([*(ms for ms in asked if _is_count(ms)), MAX_RUN_DURATION_MS]))


def timeout_of(node: dict[str, Any]) -> timedelta | None:
    """How long the node may take from its start, retries included; None when it may take as long as the run."""
    asked = node.get("settings", {}).get("timeout")
    return timedelta(milliseconds=asked) if _is_count(asked) else None


def retries_of(definition: dict[str, Any], node: dict[str, Any]) -> Patience:
    """The node's own ``maxRetries`` and ``retryDelayMs``, else the workflow's, else none."""
    settings = {**definition["settings"], **node.get("settings", {})}
    retries = settings.get("maxRetries", 0)
    delay = settings.get("retryDelayMs", RETRY_DELAY_MS)
    return Patience(
        min(retries, MAX_RETRIES) if _is_count(retries) else 0,
        timedelta(milliseconds=delay if _is_count(delay) else RETRY_DELAY_MS),
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
