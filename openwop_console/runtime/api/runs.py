"""``/v1/runs`` and ``/v1/workflows``: serializer -> scope -> one call -> response (openwop-host, section 3).

Creates, reads, cancels, pauses, resumes and forks runs, reads their artifacts, and takes the answers to their
interrupts, by permission or by signed token.
"""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import run_search
from memory.host import ids
from memory.host.http import checked, operation, query_of
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.paging import DEFAULT_LIMIT
from memory.host.runs import IMMEDIATE
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime import interrupt_answers, replay, run_operations
from openwop_console.runtime.api import serializers
from openwop_console.runtime.api.serializers import (
    INTERRUPT_ASKED,
    BulkCancel,
    CancelRun,
    CreateRun,
    ForkRun,
    PauseRun,
    ResolveByToken,
    ResolveInterrupt,
    ResumeRun,
    RunsQuery,
    artifact_document,
    cancelled_document,
    created_document,
    run_document,
)

UNCACHED = {"Cache-Control": "private, no-store"}


@operation(
    "createRun",
    scope="runs:create",
    takes=CreateRun,
    headers=("X-Dedup", "X-Force-Engine-Version"),
    gives={201: serializers.RUN_CREATED},
    tag="runs",
)
@api_view(["POST"])
def run_list(request: Request) -> Response:
    order = checked(CreateRun, request.data).order(request.headers)
    run = run_operations.create_run(scope_of(request), order, now=timezone.now())
    return Response(created_document(run, request), status=201, headers=_place_of(run))


@operation("listRuns", scope="runs:read", query=RunsQuery, gives={200: serializers.RUNS}, tag="runs")
@api_view(["GET"])
def console_runs(request: Request) -> Response:
    """The tenant's runs, the newest first. ``total`` counts what matches: exactly, or as a lower bound."""
    query = checked(RunsQuery, query_of(request))
    given = query.validated_data
    limit = given.get("limit", DEFAULT_LIMIT)
    return Response(
        serializers.RUNS.document(
            run_search.run_page(scope_of(request), query.wanted(), before=given.get("after"), size=limit)
        )
    )


@operation("getRun", scope="runs:read", gives={200: serializers.RUN}, tag="runs")
@api_view(["GET"])
def run(request: Request, run_id: str) -> Response:
    state = run_operations.read_run(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return Response(run_document(state, origin=request.build_absolute_uri("/").rstrip("/")))


@operation("getWorkflow", scope="manifest:read", gives={200: serializers.WORKFLOW}, tag="workflows")
@api_view(["GET"])
def workflow(request: Request, workflow_id: str) -> Response:
    return Response(run_operations.read_workflow(scope_of(request), workflow_id))


@operation("listRunArtifacts", scope="artifacts:read", gives={200: serializers.ARTIFACTS}, tag="runs")
@api_view(["GET"])
def run_artifacts(request: Request, run_id: str) -> Response:
    found = run_operations.read_artifacts(scope_of(request), ids.parse("run", run_id), now=timezone.now())
    return Response({"artifacts": [artifact_document(run_id, artifact) for artifact in found], "total": len(found)})


@operation("getRunArtifact", scope="artifacts:read", gives={200: serializers.ARTIFACT}, tag="runs")
@api_view(["GET"])
def run_artifact(request: Request, run_id: str, artifact_id: str) -> Response:
    found = run_operations.read_artifact(scope_of(request), ids.parse("run", run_id), artifact_id, now=timezone.now())
    return Response(artifact_document(run_id, found))


@operation("cancelRun", scope="runs:cancel", takes=CancelRun, gives={200: serializers.RUN_STATUS}, tag="runs")
@api_view(["POST"])
def run_cancel(request: Request, run_id: str) -> Response:
    reason = checked(CancelRun, request.data).validated_data.get("reason", "")
    found = run_operations.cancel_run(scope_of(request), ids.parse("run", run_id), reason=reason, now=timezone.now())
    return Response({"runId": ids.wire("run", found.id), "status": found.status})


@operation("bulkCancelRuns", scope="runs:cancel", takes=BulkCancel, gives={200: serializers.BULK_CANCELLED}, tag="runs")
@api_view(["POST"])
def runs_bulk_cancel(request: Request) -> Response:
    given = checked(BulkCancel, request.data).validated_data
    outcomes = run_operations.cancel_runs(
        scope_of(request), given["runIds"], reason=given.get("reason", ""), now=timezone.now()
    )
    return Response({"results": [cancelled_document(outcome) for outcome in outcomes]})


@operation("pauseRun", scope="runs:cancel", takes=PauseRun, gives={202: serializers.RUN_PAUSED}, tag="runs")
@api_view(["POST"])
def run_pause(request: Request, run_id: str) -> Response:
    given = checked(PauseRun, request.data).validated_data
    drain, reason = given.get("drainPolicy") != IMMEDIATE, given.get("reason", "")
    found = run_operations.pause_run(
        scope_of(request), ids.parse("run", run_id), drain=drain, reason=reason, now=timezone.now()
    )
    body = {"runId": ids.wire("run", found.id), "status": found.status, "pausedAt": instant(found.paused_at)}
    return Response(body, status=202)


@operation("resumeRun", scope="runs:cancel", takes=ResumeRun, gives={202: serializers.RUN_RESUMED}, tag="runs")
@api_view(["POST"])
def run_resume(request: Request, run_id: str) -> Response:
    reason = checked(ResumeRun, request.data).validated_data.get("reason", "")
    now = timezone.now()
    found = run_operations.resume_run(scope_of(request), ids.parse("run", run_id), reason=reason, now=now)
    body = {"runId": ids.wire("run", found.id), "status": found.status, "resumedAt": instant(now)}
    return Response(body, status=202)


@operation("forkRun", scope="runs:create", takes=ForkRun, gives={201: serializers.FORKED}, tag="runs")
@api_view(["POST"])
def run_fork(request: Request, run_id: str) -> Response:
    order = checked(ForkRun, request.data).order()
    made = replay.fork(scope_of(request), ids.parse("run", run_id), order, now=timezone.now())
    return Response(_forked_document(made, run_id, request), status=201, headers=_place_of(made))


def _place_of(run: Run) -> dict[str, str]:
    return {"Location": f"/v1/runs/{ids.wire('run', run.id)}"}


def _forked_document(made: Run, source_id: str, request: Request) -> JSONObject:
    run_id = ids.wire("run", made.id)
    return {
        "runId": run_id,
        "sourceRunId": source_id,
        "mode": made.fork_mode,
        "status": made.status,
        "eventsUrl": request.build_absolute_uri(f"/v1/runs/{run_id}/events"),
        "fromSeq": made.from_seq,
    }


@operation(
    "resolveInterrupt",
    scope="approvals:respond",
    takes=ResolveInterrupt,
    gives={200: serializers.INTERRUPT_RESOLVED},
    tag="interrupts",
)
@api_view(["POST"])
def run_interrupt(request: Request, run_id: str, node_id: str) -> Response:
    given = checked(ResolveInterrupt, request.data).validated_data
    value, voter = given["resumeValue"], given.get("voter", "")
    run = run_operations.resolve_interrupt(
        scope_of(request), ids.parse("run", run_id), node_id, value, voter=voter, now=timezone.now()
    )
    return Response({"runId": ids.wire("run", run.id), "nodeId": node_id, "status": run.status})


@operation(
    "inspectInterruptByToken", method="GET", scope=None, gives={200: serializers.INTERRUPT_ASKED}, tag="interrupts"
)
@operation(
    "resolveInterruptByToken",
    method="POST",
    scope=None,
    takes=ResolveByToken,
    gives={200: serializers.INTERRUPT_RESOLVED},
    tag="interrupts",
)
@api_view(["GET", "POST"])
def interrupt_token(request: Request, token: str) -> Response:
    if request.method == "GET":
        return Response(
            INTERRUPT_ASKED.document(interrupt_answers.inspect(token, now=timezone.now())), headers=UNCACHED
        )
    interrupt_answers.require_genuine(token, now=timezone.now())
    value = checked(ResolveByToken, request.data).validated_data["resumeValue"]
    asked = interrupt_answers.resolve_by_token(token, value, now=timezone.now())
    run_id = ids.wire("run", asked.run.id)
    answer = {"runId": run_id, "nodeId": asked.interrupt.node_id, "status": asked.run.status}
    return Response(answer, headers=UNCACHED)
