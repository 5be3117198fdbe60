"""``/v1/runs`` and ``/v1/workflows``: serializer -> scope -> one call -> response (openwop-host, section 3)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import run_timeline
from memory.host import ids
from memory.host.http import checked, operation, query_of
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from openwop_console.runtime import runs
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import (
    CreateRun,
    RunsQuery,
    created_document,
    run_document,
    runs_document,
)


@operation(
    "createRun",
    scope="runs:create",
    takes=CreateRun,
    headers=("X-Dedup", "X-Force-Engine-Version"),
    gives={201: schemas.RUN_CREATED},
    tag="runs",
)
@api_view(["POST"])
def run_list(request: Request) -> Response:
    order = checked(CreateRun, request.data).order(request.headers)
    run = runs.create_run(scope_of(request), order, now=timezone.now())
    return Response(created_document(run, request), status=201)


@operation("listRuns", scope="runs:read", query=RunsQuery, gives={200: schemas.RUNS}, tag="runs")
@api_view(["GET"])
def console_runs(request: Request) -> Response:
    """The tenant's runs, the newest first. ``total`` counts what matches: exactly, or as a lower bound."""
    query = checked(RunsQuery, query_of(request))
    given = query.validated_data
    limit = given.get("limit", DEFAULT_LIMIT)
    return Response(
        runs_document(run_timeline.run_page(scope_of(request), query.wanted(), before=given.get("after"), size=limit))
    )


@operation("getRun", scope="runs:read", gives={200: schemas.RUN}, tag="runs")
@api_view(["GET"])
def run(request: Request, run_id: str) -> Response:
    state = runs.read_run(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return Response(run_document(state, origin=request.build_absolute_uri("/").rstrip("/")))


@operation("getWorkflow", scope="manifest:read", gives={200: schemas.WORKFLOW}, tag="workflows")
@api_view(["GET"])
def workflow(request: Request, workflow_id: str) -> Response:
    return Response(runs.read_workflow(scope_of(request), workflow_id))
