"""How long, how often and how many: what a run may ask for, clamped to what this host advertises."""

from dataclasses import dataclass
from datetime import timedelta

from memory.host.json_types import JSONObject
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
        wait: timedelta = self.first_delay * 2 ** min(attempt - 1, MAX_RETRIES)
        return min(wait, LONGEST_RETRY_DELAY)


def executions_of(run: Run) -> int:
    """How many nodes the run may begin: its ``recursionLimit``, at most the host's."""
    return min(_count(run.configurable.get("recursionLimit")) or MAX_NODE_EXECUTIONS, MAX_NODE_EXECUTIONS)


def duration_of(run: Run, definition: JSONObject) -> timedelta | None:
    """How long the run may take from its start. A run of the host itself takes as long as people need."""
    if run.system:
        return None
    asked = [_count(run.configurable.get("runTimeoutMs")), _count(definition["settings"].get("timeout"))]
    return timedelta(milliseconds=min([*(ms for ms in asked if ms), MAX_RUN_DURATION_MS]))


def timeout_of(node: JSONObject) -> timedelta | None:
    """How long the node may take from its start, retries included; None when it may take as long as the run."""
    asked = _count(node.get("settings", {}).get("timeout"))
    return timedelta(milliseconds=min(asked, MAX_RUN_DURATION_MS)) if asked else None


def retries_of(definition: JSONObject, node: JSONObject) -> Patience:
    """The node's own ``maxRetries`` and ``retryDelayMs``, else the workflow's, else none."""
    settings = {**definition["settings"], **node.get("settings", {})}
    delay = _count(settings.get("retryDelayMs")) or RETRY_DELAY_MS
    return Patience(
        min(_count(settings.get("maxRetries")), MAX_RETRIES),
        min(timedelta(milliseconds=min(delay, MAX_RUN_DURATION_MS)), LONGEST_RETRY_DELAY),
    )


def _count(value: object) -> int:
    """The whole number above 0 that ``value`` is, as JSON may write it (``3``, ``3.0``, ``3e0``); 0 when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return 0
    return int(value) if isinstance(value, int) or value.is_integer() else 0
