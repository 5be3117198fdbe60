"""What a client may ask of a new run: checked before anything of the run exists (openwop-host 3.2)."""

import json
from dataclasses import dataclass, field

from memory.host.errors import CapabilityNotProvided, Forbidden, ForceEngineVersionForbidden, Invalid
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from openwop_console.runtime import json_schemas

MAX_METADATA_BYTES = 50_000
# What the closed body knows and this host does not do; asking for it is refused, never ignored.
NOT_OFFERED = {
    "callback_url": "webhooks",
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


class MockProviderForbidden(Forbidden):
    code = "mock_provider_forbidden"
    message = "This host has no mock provider."


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a client asks for when it creates a run. ``dedup`` refuses a second active run of one ``scope_id``."""

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
    """Refuse what this principal may not ask for, or this host does not offer."""
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
    """Refuse, with field paths, what the reserved keys or the workflow's own ``configurableSchema`` do not allow."""
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
