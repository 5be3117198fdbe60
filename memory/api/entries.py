"""Entries over HTTP, with their provenance, and the external runs that write them (RFC 0080 B)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import adapter, external_runs, ledger_search, provenance
from memory.api import serializers
from memory.host import ids
from memory.host.errors import NotFound
from memory.host.http import checked, operation, query_of
from memory.host.models import RunStatus
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import TenantScope, scope_of
from memory.ledger import retirement
from memory.wire import agent_named, instant

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry


@operation(
    "listMemory",
    method="GET",
    scope="memory:read",
    query=serializers.MemoryQuery,
    gives={200: serializers.MEMORY_PAGE},
    tag="memory",
)
@operation(
    "writeMemoryEntry",
    method="POST",
    scope="memory:write",
    takes=serializers.EntryWrite,
    headers=("X-Agent-ID",),
    gives={201: serializers.WRITTEN},
    tag="memory",
)
@api_view(["GET", "POST"])
def memory_list(request: Request) -> Response:
    if request.method == "POST":
        return _write(request)
    query = checked(serializers.MemoryQuery, query_of(request))
    given = query.validated_data
    if wanted := query.injection():
        place, narrowed = given["memoryRef"], {name: given[name] for name in ("tag", "limit") if name in given}
        found = ledger_search.within_budget(scope_of(request), place, wanted, now=timezone.now(), **narrowed)
        return Response(serializers.page_document(found, place))
    page = ledger_search.ledger_page(
        scope_of(request),
        query.filter(),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    return Response(serializers.page_document(page, given.get("memoryRef", "")))


def _write(request: Request) -> Response:
    body = checked(serializers.EntryWrite, request.data)
    given, draft = body.validated_data, replace(body.draft(), agent_id=agent_named(request.headers))
    written = external_runs.write_entry(
        scope_of(request), given["memoryRef"], draft, given.get("origin"), now=timezone.now()
    )
    return Response({"id": ids.wire("mem", written.id)}, status=201)


@operation(
    "openExternalRun",
    scope="memory:write",
    headers=("X-Agent-ID",),
    takes=serializers.ExternalRunOpen,
    gives={201: serializers.EXTERNAL_RUN},
    tag="memory",
)
@api_view(["POST"])
def external_run_list(request: Request) -> Response:
    scope, origin = scope_of(request), checked(serializers.ExternalRunOpen, request.data).origin()
    agent = agent_named(request.headers) or scope.principal.first_agent
    run = external_runs.find_or_open(scope, agent, origin, now=timezone.now())
    return Response(serializers.EXTERNAL_RUN.document(run), status=201)


@operation(
    "endExternalRun",
    scope="memory:write",
    takes=serializers.ExternalRunEnd,
    gives={200: serializers.EXTERNAL_RUN},
    tag="memory",
)
@api_view(["POST"])
def external_run_end(request: Request, run_id: str) -> Response:
    scope, status = scope_of(request), checked(serializers.ExternalRunEnd, request.data).validated_data.get("status")
    key = ids.parse("run", run_id)
    run = external_runs.end(scope, key, status or RunStatus.COMPLETED, now=timezone.now())
    return Response(serializers.EXTERNAL_RUN.document(run))


@operation(
    "retireMemoryEntry",
    scope="memory:retire",
    takes=serializers.EntryReason,
    gives={200: serializers.RETIREMENT},
    tag="memory",
)
@api_view(["POST"])
def memory_retire(request: Request, memory_id: str) -> Response:
    """Runs that start from now on do not read it; what is retired already stays as it is."""
    return _retired_or_restored(request, memory_id, retirement.retire_entry)


@operation(
    "restoreMemoryEntry",
    scope="memory:retire",
    takes=serializers.EntryReason,
    gives={200: serializers.RETIREMENT},
    tag="memory",
)
@api_view(["POST"])
def memory_restore(request: Request, memory_id: str) -> Response:
    """Runs that start from now on read it again."""
    return _retired_or_restored(request, memory_id, retirement.restore_entry)


def _retired_or_restored(request: Request, memory_id: str, act: Callable[..., "MemoryEntry"]) -> Response:
    scope, now = scope_of(request), timezone.now()
    scope.check("memory:retire")
    given = checked(serializers.EntryReason, request.data).validated_data
    row = _find(scope, memory_id, now)
    return Response(serializers.RETIREMENT.document(act(scope, row.id, reason=given.get("reason", ""), now=now)))


@operation("getMemoryEntry", scope="memory:read runs:read", gives={200: serializers.MEMORY_ENTRY}, tag="memory")
@api_view(["GET"])
def memory_entry(request: Request, memory_id: str) -> Response:
    scope = scope_of(request)
    row = _find(scope, memory_id, timezone.now())
    found = serializers.PROVENANCE.document(provenance.provenance_of_entry(scope, row))
    hidden = {"retiredAt": instant(row.retired_at)} if row.retired_at else {}
    return Response({"memoryRef": row.memory_ref, "entry": serializers.entry_of(row), "provenance": found, **hidden})


def _find(scope: TenantScope, memory_id: str, now: datetime) -> "MemoryEntry":
    scope.check("memory:read")
    entry_id = ids.parse("mem", memory_id)
    row = adapter.console.find_entry(scope, entry_id, now=now) if entry_id else None
    if row is None:
        raise NotFound("There is no memory entry by that id.")
    return row
