"""Answers to what runs wait for: by those who may, and by whoever holds a signed token (openwop-host 3.8)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.http import checked, operation
from memory.host.tenancy import scope_of
from openwop_console.runtime import interrupts, runs
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import ResolveByToken, ResolveInterrupt, asked_document

UNCACHED = {"Cache-Control": "private, no-store"}


@operation(
    "resolveInterrupt",
    scope="approvals:respond",
    takes=ResolveInterrupt,
    gives={200: schemas.INTERRUPT_RESOLVED},
    tag="interrupts",
)
@api_view(["POST"])
def run_interrupt(request: Request, run_id: str, node_id: str) -> Response:
    given = checked(ResolveInterrupt, request.data).validated_data
    value, voter = given["resumeValue"], given.get("voter", "")
    run = runs.resolve_interrupt(
        scope_of(request), ids.parse("run", run_id), node_id, value, voter=voter, now=timezone.now()
    )
    return Response({"runId": ids.wire("run", run.id), "nodeId": node_id, "status": run.status})


@operation("inspectInterruptByToken", method="GET", scope=None, gives={200: schemas.INTERRUPT_ASKED}, tag="interrupts")
@operation(
    "resolveInterruptByToken",
    method="POST",
    scope=None,
    takes=ResolveByToken,
    gives={200: schemas.INTERRUPT_RESOLVED},
    tag="interrupts",
)
@api_view(["GET", "POST"])
def interrupt_token(request: Request, token: str) -> Response:
    if request.method == "GET":
        return Response(asked_document(interrupts.inspect(token, now=timezone.now())), headers=UNCACHED)
    interrupts.require_genuine(token, now=timezone.now())
    value = checked(ResolveByToken, request.data).validated_data["resumeValue"]
    asked = interrupts.resolve_by_token(token, value, now=timezone.now())
    run_id = ids.wire("run", asked.run.id)
    answer = {"runId": run_id, "nodeId": asked.interrupt.node_id, "status": asked.run.status}
    return Response(answer, headers=UNCACHED)
