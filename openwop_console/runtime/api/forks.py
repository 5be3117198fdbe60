"""``POST /v1/runs/{runId}:fork``: a replay or a branch of a run (openwop-host 3.8)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.operations import operation
from memory.host.serializing import checked
from memory.host.tenancy import scope_of
from openwop_console.runtime import replay
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import ForkRun


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
