"""Cancel, pause and resume, one run or many (openwop-host 3.7 and 3.8)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids, runs
from memory.host.http import checked, operation
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime import replay
from openwop_console.runtime import runs as run_service
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import (
    BulkCancel,
    CancelRun,
    ForkRun,
    PauseRun,
    ResumeRun,
    cancelled_document,
)


@operation("cancelRun", scope="runs:cancel", takes=CancelRun, gives={200: schemas.RUN_STATUS}, tag="runs")
@api_view(["POST"])
def run_cancel(request: Request, run_id: str) -> Response:
    reason = checked(CancelRun, request.data).validated_data.get("reason", "")
    found = run_service.cancel_run(scope_of(request), ids.parse("run", run_id), reason=reason, now=timezone.now())
    return Response({"runId": ids.wire("run", found.id), "status": found.status})


@operation("bulkCancelRuns", scope="runs:cancel", takes=BulkCancel, gives={200: schemas.BULK_CANCELLED}, tag="runs")
@api_view(["POST"])
def runs_bulk_cancel(request: Request) -> Response:
    given = checked(BulkCancel, request.data).validated_data
    outcomes = run_service.cancel_runs(
        scope_of(request), given["runIds"], reason=given.get("reason", ""), now=timezone.now()
    )
    return Response({"results": [cancelled_document(outcome) for outcome in outcomes]})


@operation("pauseRun", scope="runs:cancel", takes=PauseRun, gives={202: schemas.RUN_PAUSED}, tag="runs")
@api_view(["POST"])
def run_pause(request: Request, run_id: str) -> Response:
    given = checked(PauseRun, request.data).validated_data
    drain, reason = given.get("drainPolicy") != runs.IMMEDIATE, given.get("reason", "")
    now = timezone.now()
    found = run_service.pause_run(scope_of(request), ids.parse("run", run_id), drain=drain, reason=reason, now=now)
    body = {"runId": ids.wire("run", found.id), "status": found.status, "pausedAt": instant(now)}
    return Response(body, status=202)


@operation("resumeRun", scope="runs:cancel", takes=ResumeRun, gives={202: schemas.RUN_RESUMED}, tag="runs")
@api_view(["POST"])
def run_resume(request: Request, run_id: str) -> Response:
    reason = checked(ResumeRun, request.data).validated_data.get("reason", "")
    now = timezone.now()
    found = run_service.resume_run(scope_of(request), ids.parse("run", run_id), reason=reason, now=now)
    body = {"runId": ids.wire("run", found.id), "status": found.status, "resumedAt": instant(now)}
    return Response(body, status=202)


@operation("forkRun", scope="runs:create", takes=ForkRun, gives={201: schemas.FORKED}, tag="runs")
@api_view(["POST"])
def run_fork(request: Request, run_id: str) -> Response:
    order = checked(ForkRun, request.data).order()
    made = replay.fork(scope_of(request), ids.parse("run", run_id), order, now=timezone.now())
    return Response(_forked_document(made, run_id, request), status=201)


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
