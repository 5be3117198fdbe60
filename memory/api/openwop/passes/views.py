"""``/v1/host/console/passes`` and ``.../pass-schedules``: passes asked for, watched, stopped and kept to a time."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import background, pass_schedules, tasks
from memory.api.openwop.passes import schemas
from memory.api.openwop.passes import serializers as wire
from memory.host import ids
from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import scope_of

DEFAULT_LIMIT = 50
READ, RUN = "memory:read", "passes:run"
TAG = "passes"


@operation("listPasses", method="GET", scope=READ, query=wire.PassesQuery, gives={200: schemas.PASSES}, tag=TAG)
@operation("orderPass", method="POST", scope=RUN, takes=wire.OrderPass, gives={202: schemas.PASS}, tag=TAG)
@api_view(["GET", "POST"])
def pass_list(request: Request) -> Response:
    """A new pass waits for a worker; without ``options`` it keeps to the host's own."""
    if request.method == "POST":
        return _ordered(request)
    given, size = _place(request, wire.PassesQuery)
    kinds = (given["kind"],) if "kind" in given else ()
    rows, total = background.page(
        scope_of(request), kinds=kinds, memory_ref=given.get("memoryRef", ""), before=given.get("after"), size=size + 1
    )
    listed = [wire.pass_document(row) for row in rows[:size]]
    return Response({"passes": listed, "total": total, "next": listed[-1]["id"] if len(rows) > size else None})


@transaction.atomic
def _ordered(request: Request) -> Response:
    """On record and queued together, or neither."""
    wanted = checked(wire.OrderPass, request.data).wanted()
    row = background.order_now(scope_of(request), wanted, now=timezone.now())
    tasks.enqueue_pass(row)
    return Response(wire.pass_document(row), status=202)


def _place(request: Request, query: type[wire.PassesQuery]) -> tuple[dict[str, Any], int]:
    """What is asked for, and how many at most."""
    given: dict[str, Any] = checked(query, query_of(request)).validated_data
    return given, given.get("limit", DEFAULT_LIMIT)


@operation("getPass", scope=READ, gives={200: schemas.PASS}, tag=TAG)
@api_view(["GET"])
def one_pass(request: Request, pass_id: str) -> Response:
    return Response(wire.pass_document(background.find(scope_of(request), ids.parse("pass", pass_id))))


@operation("stopPass", scope=RUN, gives={202: schemas.PASS}, tag=TAG)
@api_view(["POST"])
def stop(request: Request, pass_id: str) -> Response:
    """The pass leaves off at its next step; what it has done stands."""
    checked(wire.Nothing, request.data)
    row = background.stop(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    return Response(wire.pass_document(row), status=202)


@operation("repeatPass", scope=RUN, gives={202: schemas.PASS}, tag=TAG)
@api_view(["POST"])
@transaction.atomic
def again(request: Request, pass_id: str) -> Response:
    """One that was refused, failed or was cancelled is asked for once more, as another pass."""
    checked(wire.Nothing, request.data)
    row = background.again(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    tasks.enqueue_pass(row)
    return Response(wire.pass_document(row), status=202)


@operation(
    "listPassSchedules",
    method="GET",
    scope=READ,
    query=wire.PassSchedulesQuery,
    gives={200: schemas.SCHEDULES},
    tag=TAG,
)
@operation(
    "keepPassSchedule", method="PUT", scope=RUN, takes=wire.KeepPassSchedule, gives={200: schemas.SCHEDULE}, tag=TAG
)
@api_view(["GET", "PUT"])
def schedule_list(request: Request) -> Response:
    """A PUT makes the schedule of that kind over that ref, or changes the one there is."""
    scope = scope_of(request)
    if request.method == "PUT":
        times = checked(wire.KeepPassSchedule, request.data).times()
        return Response(wire.schedule_document(pass_schedules.keep(scope, times, now=timezone.now())))
    given, size = _place(request, wire.PassSchedulesQuery)
    asked = {"kind": given.get("kind", ""), "memory_ref": given.get("memoryRef", "")}
    rows, total = pass_schedules.page(scope, **asked, after=given.get("after"), size=size + 1)
    listed = [wire.schedule_document(row) for row in rows[:size]]
    return Response({"schedules": listed, "total": total, "next": listed[-1]["id"] if len(rows) > size else None})


@operation("getPassSchedule", method="GET", scope=READ, gives={200: schemas.SCHEDULE}, tag=TAG)
@operation("deletePassSchedule", method="DELETE", scope=RUN, gives={204: None}, tag=TAG)
@api_view(["GET", "DELETE"])
def schedule(request: Request, schedule_id: str) -> Response:
    scope, found = scope_of(request), ids.parse("psc", schedule_id)
    if request.method == "DELETE":
        pass_schedules.remove(scope, found, now=timezone.now())
        return Response(status=204)
    return Response(wire.schedule_document(pass_schedules.find(scope, found)))
