"""A client's options for a new run, checked before the run is created (openwop-host 3.2), and the limits they set."""

import json
from dataclasses import dataclass, field
from datetime import timedelta

from memory.host.errors import CapabilityNotProvided, Forbidden, ForceEngineVersionForbidden, Invalid
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from openwop_console.runtime import json_schemas

MAX_METADATA_BYTES = 50_000
# Fields that the contract's closed request body has and this host does not support: refused, never ignored.
NOT_OFFERED = {
    "callback_url": "runs.callbackUrl",
    "residency": "residency",
    "mode": "agents.evalSuite",
    "eval_suite": "agents.evalSuite",
}
FIELD = "configurable"
CONFIGURABLE = {
    "type": "object",
    "properties": {
        "recursionLimit": {"type": "integer", "minimum": 1},
        "runTimeoutMs": {"type": "integer", "minimum": 1},
        "model": {"type": "string", "minLength": 1},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "maxTokens": {"type": "integer", "minimum": 1},
        "promptOverrides": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
MAX_NODE_EXECUTIONS = 1000
MAX_RUN_DURATION_MS = 30 * 24 * 3_600_000
MAX_RETRIES = 10
RETRY_DELAY_MS = 1000
LONGEST_RETRY_DELAY = timedelta(minutes=5)


class MockProviderForbidden(Forbidden):
    code = "mock_provider_forbidden"
    message = "This host has no mock provider."


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A client's request to create a run. ``dedup`` refuses a second active run of one ``scope_id``."""

    workflow_id: str
    inputs: JSONObject = field(default_factory=dict)
    agent_id: str = ""
    tenant_slug: str = ""
    scope_id: str = ""
    dedup: bool = False
    engine_version: str = ""
    callback_url: str = ""
    residency: str = ""
    mode: str = ""
    eval_suite: str = ""
    configurable: JSONObject = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)


def check(scope: TenantScope, request: RunRequest) -> None:
    """Refuse options that this principal may not use or this host does not support."""
    if request.tenant_slug not in ("", scope.principal.tenant_slug):
        raise Forbidden("A run is created in the tenant of its credential.", rule="tenant")
    if request.engine_version:
        raise ForceEngineVersionForbidden
    for name, capability in NOT_OFFERED.items():
        if getattr(request, name):
            raise CapabilityNotProvided(capability=capability)
    if request.dedup and not request.scope_id:
        message = "is required with X-Dedup: enforce"
        raise Invalid("A run is deduplicated by its scope.", errors=[{"field": "scopeId", "message": message}])
    if len(json.dumps(request.metadata)) > MAX_METADATA_BYTES:
        raise Invalid(errors=[{"field": "metadata", "message": f"has at most {MAX_METADATA_BYTES} bytes"}])


def check_configurable(configurable: JSONObject, definition: JSONObject) -> None:
    """Refuse, with field paths, values that violate the reserved keys or the workflow's ``configurableSchema``."""
    if "mockProvider" in configurable:
        raise MockProviderForbidden
    own = definition.get("configurableSchema", {})
    if problem := json_schemas.problem_of(own):
        raise Invalid("The run cannot be configured.", errors=[{"field": "configurableSchema", "message": problem}])
    errors = [
        error for schema in (CONFIGURABLE, own) for error in json_schemas.problems(schema, configurable, field=FIELD)
    ]
    if errors:
        raise Invalid("The run cannot be configured like that.", errors=errors)


@dataclass(frozen=True, slots=True)
class Patience:
    """A node's retry policy: the number of retries and the first delay, which doubles with each further retry."""

    retries: int
    first_delay: timedelta

    def delay_before(self, attempt: int) -> timedelta:
        """The delay after the failed ``attempt``, counted from 1; at most LONGEST_RETRY_DELAY."""
        wait: timedelta = self.first_delay * 2 ** min(attempt - 1, MAX_RETRIES)
        return min(wait, LONGEST_RETRY_DELAY)


def executions_of(run: Run) -> int:
    """The maximum node executions of the run: its ``recursionLimit``, capped by the host's."""
    return min(_count(run.configurable.get("recursionLimit")) or MAX_NODE_EXECUTIONS, MAX_NODE_EXECUTIONS)


def duration_of(run: Run, definition: JSONObject) -> timedelta | None:
    """The run's time limit from its start; None for a run of the host itself, which waits for people."""
    if run.system:
        return None
    asked = [_count(run.configurable.get("runTimeoutMs")), _count(definition["settings"].get("timeout"))]
    return timedelta(milliseconds=min([*(ms for ms in asked if ms), MAX_RUN_DURATION_MS]))


def timeout_of(node: JSONObject) -> timedelta | None:
    """The node's time limit from its start, retries included; None when only the run's limit applies."""
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
    """``value`` as a positive integer, however JSON writes it (``3``, ``3.0``, ``3e0``); 0 when it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return 0
    return int(value) if isinstance(value, int) or value.is_integer() else 0
