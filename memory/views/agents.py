"""Agents: what their memory looks like, and what this host gives them of what they ask for."""

import json

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import agents as memory_agents
from memory import artifact_stops, capabilities
from memory.agents import AgentRow
from memory.host import exports, pages, registrations, tenancy
from memory.host.errors import NotFound
from memory.wire import instant

COLUMNS = (
    "agentId",
    "label",
    "packName",
    "packVersion",
    "health",
    "degradedMemoryDimensions",
    "degraded",
    "toolAllowlist",
    "entries",
    "lastWrite",
    "commitmentsArmed",
)


@pages.parameters("format")
@require_safe
def agents(request: HttpRequest) -> HttpResponseBase:
    """Every installed agent with the health of its memory."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = memory_agents.agent_rows(scope, registrations.advertised_capabilities(), now=now)
    if request.GET.get("format") in exports.FORMATS:
        return exports.listing(request.GET["format"], "agents", map(_row, found), columns=COLUMNS)
    context = {
        "nav": "agents",
        "now": now,
        "agents": sorted(found, key=lambda row: row.entry.health != "degraded"),
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }
    return pages.render(request, "memory/agents.html", context)


def _row(row: AgentRow) -> dict[str, object]:
    entry, dimensions = row.entry, row.entry.degraded_dimensions
    return {
        "agentId": entry.agent_id,
        "label": entry.label,
        "packName": entry.pack_name,
        "packVersion": entry.pack_version,
        "health": entry.health,
        "degradedMemoryDimensions": None if dimensions is None else list(dimensions),
        "degraded": list(entry.degraded),
        "toolAllowlist": list(entry.tool_allowlist),
        "entries": row.entries,
        "lastWrite": instant(row.last_write),
        "commitmentsArmed": row.armed,
    }


@pages.parameters("format")
@require_safe
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One agent: the eight dimensions, each with where it is advertised and what it means when it is missing."""
    scope, now, document = tenancy.scope_of(request), timezone.now(), registrations.advertised_capabilities()
    rows = memory_agents.agent_rows(scope, document, now=now)
    found = next((row for row in rows if row.entry.agent_id == agent_id), None)
    if found is None:
        raise NotFound("There is no installed agent by that id.")
    shape = found.entry.memory_shape
    declared = None if shape is None else dict(shape)
    if request.GET.get("format") == "json":
        return exports.document(_row(found) | {"memoryShape": declared})
    standings = capabilities.dimension_states(shape, document)
    context = {
        "nav": "agents",
        "now": now,
        "agent": found,
        "may_stop": artifact_stops.denial(scope) is None,
        "standings": standings,
        "lacking": [each for each in standings if each.verdict == "degraded"],
        "shape": "" if declared is None else json.dumps(declared, indent=2),
        "raw": json.dumps({name: document.get(name) for name in ("memory", "agents", "multiAgent")}, indent=2),
        "as_json": pages.address(request, format="json"),
    }
    return pages.render(request, "memory/agent.html", context)
