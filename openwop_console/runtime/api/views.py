"""``/v1/runs`` and ``/v1/workflows``: serializer -> scope -> one call -> response (openwop-host, section 3)."""

import time
from typing import Any

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.event_log import Recorded
from memory.host.serializing import checked, query_of
from memory.host.tenancy import TenantScope, scope_of
from openwop_console import turns
from openwop_console.runtime import intake
from openwop_console.runtime.api.serializers import (
    CreateRun,
    PollQuery,
    ResolveInterrupt,
    created_document,
    event_document,
    run_document,
)

DEFAULT_WAIT = 15
LOOK_EVERY = 0.1


@api_view(["POST"])
def run_list(request: Request) -> Response:
    order = checked(CreateRun, request.data).order(request.headers)
    run = intake.create_run(scope_of(request), order, now=timezone.now())
    return Response(created_document(run, request), status=201)


@api_view(["GET"])
def run(request: Request, run_id: str) -> Response:
    return Response(run_document(intake.read_run(scope_of(request), ids.parse("run", run_id))))


@api_view(["GET"])
def run_events(request: Request, run_id: str) -> Response:
    events, complete = intake.read_events(scope_of(request), ids.parse("run", run_id), after=-1)
    return Response(_events_document(events, complete))


@api_view(["GET"])
def run_events_poll(request: Request, run_id: str) -> Response:
    given = checked(PollQuery, query_of(request)).validated_data
    wait = given.get("timeout", DEFAULT_WAIT)
    events, complete = _await(scope_of(request), run_id, given.get("lastSequence", -1), wait)
    return Response(_events_document(events, complete))


def _await(scope: TenantScope, run_id: str, after: int, wait: int) -> tuple[list[Recorded], bool]:
    """The events behind ``after`` as soon as there are any, the run has ended, or the time is up."""
    deadline = time.monotonic() + wait
    while True:
        events, complete = intake.read_events(scope, ids.parse("run", run_id), after=after)
        if events or complete or time.monotonic() >= deadline:
            return events, complete
        with turns.aside():
            time.sleep(LOOK_EVERY)


@api_view(["POST"])
def run_interrupt(request: Request, run_id: str, node_id: str) -> Response:
    given = checked(ResolveInterrupt, request.data).validated_data
    found = intake.resolve_interrupt(
        scope_of(request), ids.parse("run", run_id), node_id, given["resumeValue"], now=timezone.now()
    )
    return Response({"runId": run_id, "nodeId": node_id, "status": found.status})


@api_view(["GET"])
def workflow(request: Request, workflow_id: str) -> Response:
    return Response(intake.read_workflow(scope_of(request), workflow_id))


def _events_document(events: list[Recorded], complete: bool) -> dict[str, Any]:
    return {"events": [event_document(event) for event in events], "isComplete": complete}
