"""Agents: what their memory looks like, and what this host gives them of what they ask for."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import capabilities, inventory
from memory.host import advertised, exports, pages, tenancy
from memory.host.errors import NotFound
from memory.inventory import AgentRow
from memory.wire import instant

COLUMNS = ("agentId", "label", "health", "degraded", "entries", "lastWrite")


@require_safe
def agents(request: HttpRequest) -> HttpResponseBase:
    """Every installed agent with the health of its memory."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = inventory.agent_rows(scope, advertised.document(), now=now)
    if request.GET.get("format") in exports.FORMATS:
        return exports.listing(request.GET["format"], "agents", map(_row, found), columns=COLUMNS)
    context = {
        "nav": "agents",
        "now": now,
        "agents": found,
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }
    return pages.render(request, "memory/agents.html", context)


def _row(agent: AgentRow) -> dict[str, Any]:
    return {
        "agentId": agent.agent_id,
        "label": agent.label,
        "health": agent.health,
        "degraded": agent.degraded,
        "entries": agent.entries,
        "lastWrite": instant(agent.last_write) if agent.last_write else None,
    }


@require_safe
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One agent: the eight dimensions, each with where it is advertised and what it means when it is missing."""
    scope, now, document = tenancy.scope_of(request), timezone.now(), advertised.document()
    rows = inventory.agent_rows(scope, document, now=now)
    found = next((row for row in rows if row.agent_id == agent_id), None)
    if found is None:
        raise NotFound("There is no installed agent by that id.")
    if request.GET.get("format") == "json":
        return exports.document(_row(found) | {"memoryShape": dict(found.memory_shape)})
    shape = None if found.degraded is None else found.memory_shape
    context = {
        "nav": "agents",
        "now": now,
        "agent": found,
        "standings": capabilities.standings(shape, document),
        "shape": json.dumps(dict(found.memory_shape), indent=2) if shape is not None else "",
        "raw": json.dumps({name: document.get(name) for name in ("memory", "agents", "multiAgent")}, indent=2),
        "as_json": pages.address(request, format="json"),
    }
    return pages.render(request, "memory/agent.html", context)
