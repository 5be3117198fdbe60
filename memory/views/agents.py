"""Agents: what their memory looks like, what this host gives them of what they ask for, and what belongs to them."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import agents, artifact_stops, commitments, ledger_search, memory_health
from memory.agents import AgentRow
from memory.commitments.lifecycle import CommitmentFilter
from memory.host import access, audit_access, exports, ids, pages, proposal_links, registrations, tenancy
from memory.host.errors import NotFound
from memory.host.pages import Tab
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter
from memory.models import Pass
from memory.openintent import work
from memory.openintent.access import READ
from memory.passes import archive_reports
from memory.wire import instant

REGISTERED = 100  # agents of OpenIntent that the list shows
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
    "expiring",
    "retired",
    "entriesAreMore",
    "lastWrite",
    "lastDistillation",
    "lastConsolidation",
    "commitmentsArmed",
    "proposalsPending",
)


@pages.parameters("format")
@require_safe
def agent_list(request: HttpRequest) -> HttpResponseBase:
    """Every installed agent with the health of its memory, and the newest that registered over OpenIntent."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = agents.agent_rows(scope, registrations.advertised_capabilities(), now=now)
    if file_format := pages.file_format(request):
        return exports.listing(file_format, "agents", map(_row, found), columns=COLUMNS)
    registered, more = work.coordinators.newest_agents(scope, limit=REGISTERED) if scope.can(READ) else ([], False)
    context = {
        "nav": "agents",
        "now": now,
        "registered": registered,
        "more_registered": more,
        "agents": sorted(found, key=lambda row: row.entry.health != "degraded"),
        **pages.files(request),
    }
    return pages.render(request, "memory/agents.html", context)


def _row(row: AgentRow) -> dict[str, object]:
    entry, dimensions, use = row.entry, row.entry.degraded_dimensions, row.use
    return {
        "agentId": entry.agent_id,
        "label": entry.label,
        "packName": entry.pack_name,
        "packVersion": entry.pack_version,
        "health": entry.health,
        "degradedMemoryDimensions": None if dimensions is None else list(dimensions),
        "degraded": list(entry.degraded),
        "toolAllowlist": list(entry.tool_allowlist),
        "entries": use.entries,
        "expiring": use.expiring,
        "retired": use.retired,
        "entriesAreMore": use.has_more,
        "lastWrite": instant(use.last_write),
        "lastDistillation": _pass_id(row.distilled),
        "lastConsolidation": _pass_id(row.consolidated),
        "commitmentsArmed": row.armed,
        "proposalsPending": row.pending,
    }


def _pass_id(found: Pass | None) -> str | None:
    return ids.wire("pass", found.id) if found else None


def _tabs(scope: TenantScope, row: AgentRow) -> list[Tab]:
    """Each with the number of what it lists, where that is known without counting a large list."""
    agent_id, use = row.entry.agent_id, row.use

    def tab(name: str, label: str, everything: str = "", count: int | None = None, **query: str) -> Tab:
        url = reverse("agent-tab", args=[agent_id, name])
        whole = everything and reverse(everything, query=query or {"agent": agent_id})
        return Tab(name, label, url, count, everything=whole)

    found = [Tab("", "Requirements", reverse("agent", args=[agent_id]))]
    if scope.can("memory:read"):
        counted = commitments.lifecycle.count_by_state(scope, CommitmentFilter(agent_id=agent_id))
        found += [
            tab("memory", "Memory", "memory", None if use.has_more else use.entries),
            tab("archives", "Archives", count=archive_reports.count_outcomes(scope, among=use.refs)),
            tab("commitments", "Commitments", "commitments", sum(counted.values())),
        ]
    if scope.can("proposals:read"):
        newest = proposal_links.of_agent(scope, agent_id, limit=pages.PAGE)
        found.append(tab("proposals", "Proposals", "proposals", len(newest) if len(newest) < pages.PAGE else None))
    if scope.can(audit_access.SCOPE):
        found.append(tab("audit", "Audit", "audit", target=row.installed.ref))
    return found


def _found(request: HttpRequest, agent_id: str) -> tuple[TenantScope, datetime, AgentRow]:
    scope, now, document = tenancy.scope_of(request), timezone.now(), registrations.advertised_capabilities()
    for row in agents.agent_rows(scope, document, only=agent_id, now=now):
        return scope, now, row
    raise NotFound("There is no installed agent by that id.")


def _head(scope: TenantScope, row: AgentRow, tab: str, now: datetime) -> dict[str, object]:
    """What stands above the tabs of an agent."""
    tabs = _tabs(scope, row)
    return {
        "nav": "agents",
        "now": now,
        "agent": row,
        "may_stop": artifact_stops.denial(scope) is None,
        "tabs": tabs,
        "tab": next((each for each in tabs if each.name == tab), None),
    }


@pages.parameters("format")
@require_safe
def agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One agent: the eight dimensions, each with where it is advertised and what it means when it is missing."""
    scope, now, found = _found(request, agent_id)
    document, shape = registrations.advertised_capabilities(), found.entry.memory_shape
    declared = None if shape is None else dict(shape)
    if pages.file_format(request) == "json":
        return exports.document(_row(found) | {"memoryShape": declared})
    standings = memory_health.dimension_states(shape, document)
    context = {
        **_head(scope, found, "", now),
        "standings": standings,
        "lacking": [each for each in standings if each.verdict == "degraded"],
        "shape": "" if declared is None else json.dumps(declared, indent=2),
        "raw": json.dumps({name: document.get(name) for name in ("memory", "agents", "multiAgent")}, indent=2),
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/agent.html", context)


@pages.parameters("after", "seen")
@require_safe
def agent_tab(request: HttpRequest, agent_id: str, tab: str) -> HttpResponse:
    """The newest of what belongs to an agent: its memory, archives, commitments, proposals or audit records."""
    scope, now, found = _found(request, agent_id)
    if tab not in PARTS:
        raise NotFound("An agent has no such tab.")
    needed, prefix, part = PARTS[tab]
    scope.check(needed)
    context = _head(scope, found, tab, now) | part(scope, found, pages.Cursor.from_request(request, prefix), now)
    return pages.render(request, "memory/agent_tab.html", context)


def _memory(scope: TenantScope, row: AgentRow, cursor: pages.Cursor, now: datetime) -> dict[str, object]:
    wanted = LedgerFilter(agent=row.entry.agent_id)
    page = ledger_search.ledger_page(scope, wanted, after=cursor.after, seen=cursor.seen, size=pages.PAGE, now=now)
    return {"page": page, **cursor.links(len(page.entries), page.after)}


def _archives(scope: TenantScope, row: AgentRow, cursor: pages.Cursor, now: datetime) -> dict[str, object]:
    page = archive_reports.list_outcomes(scope, among=row.use.refs, before=cursor.after, limit=pages.PAGE)
    titled = archive_reports.with_titles(scope, page, now=now)
    return {"page": titled, "refs": sorted(row.use.refs), **cursor.links(len(page.rows), page.after)}


def _commitments(scope: TenantScope, row: AgentRow, cursor: pages.Cursor, now: datetime) -> dict[str, object]:
    wanted = CommitmentFilter(agent_id=row.entry.agent_id)
    listed = commitments.lifecycle.page(scope, wanted, after=cursor.after, size=pages.PAGE, now=now)
    shown = {"rows": listed.rows, "wanted": wanted, "open_states": commitments.lifecycle.OPEN}
    return {"listed": listed, **shown, **cursor.links(len(listed.rows), listed.after)}


def _proposals(scope: TenantScope, row: AgentRow, _cursor: pages.Cursor, _now: datetime) -> dict[str, object]:
    return {"proposals": proposal_links.of_agent(scope, row.entry.agent_id, limit=pages.PAGE)}


def _audit(scope: TenantScope, row: AgentRow, _cursor: pages.Cursor, now: datetime) -> dict[str, object]:
    refs = agents.audit_refs(scope, row.entry.agent_id)
    records = audit_access.list_records_about(scope, refs, limit=pages.PAGE, now=now)
    return {"records": records, "names": access.names_of(scope.tenant_id, {each.actor for each in records})}


Part = Callable[[TenantScope, AgentRow, pages.Cursor, datetime], dict[str, Any]]
# Of each tab the permission it needs, what its cursor is, and what it shows.
PARTS: dict[str, tuple[str, str, Part]] = {
    "memory": ("memory:read", "mem", _memory),
    "archives": ("memory:read", "arc", _archives),
    "commitments": ("memory:read", "cmt", _commitments),
    "proposals": ("proposals:read", "prop", _proposals),
    "audit": (audit_access.SCOPE, "aud", _audit),
}
