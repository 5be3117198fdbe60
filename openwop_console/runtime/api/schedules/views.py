"""``/v1/host/console/schedules`` and ``.../heartbeats``: serializer -> scope -> one call -> response."""

from typing import Any

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime.api.schedules import schemas
from openwop_console.runtime.api.schedules import serializers as wire
from openwop_console.runtime.timed import timetable, watching

DEFAULT_LIMIT = 50
READ, MANAGE = "schedules:read", "schedules:manage"
TIME = "schedules"


@operation("listSchedules", method="GET", scope=READ, query=wire.NamesQuery, gives={200: schemas.SCHEDULES}, tag=TIME)
@operation(
    "createSchedule",
    method="POST",
    scope=f"{MANAGE} runs:create",
    takes=wire.CreateSchedule,
    gives={201: schemas.SCHEDULE},
    tag=TIME,
)
@api_view(["GET", "POST"])
def schedule_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        order = checked(wire.CreateSchedule, request.data).order(scope.principal.id)
        return Response(wire.schedule_document(timetable.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    rows, total = timetable.page(scope, after=after, size=size + 1)
    return Response(_page("schedules", [wire.schedule_document(row) for row in rows], size, total))


@operation("getSchedule", method="GET", scope=READ, gives={200: schemas.SCHEDULE}, tag=TIME)
@operation(
    "changeSchedule",
    method="PATCH",
    scope=f"{MANAGE} runs:create",
    takes=wire.ScheduleChanges,
    gives={200: schemas.SCHEDULE},
    tag=TIME,
)
@operation("deleteSchedule", method="DELETE", scope=MANAGE, gives={204: None}, tag=TIME)
@api_view(["GET", "PATCH", "DELETE"])
def schedule(request: Request, name: str) -> Response:
    scope = scope_of(request)
    if request.method == "DELETE":
        timetable.remove(scope, name, now=timezone.now())
        return Response(status=204)
    if request.method == "PATCH":
        changes = checked(wire.ScheduleChanges, request.data).changes()
        return Response(wire.schedule_document(timetable.change(scope, name, changes, now=timezone.now())))
    return Response(wire.schedule_document(timetable.read(scope, name)))


@operation("listScheduleTicks", scope=READ, query=wire.TicksQuery, gives={200: schemas.TICKS}, tag=TIME)
@api_view(["GET"])
def schedule_ticks(request: Request, name: str) -> Response:
    given = checked(wire.TicksQuery, query_of(request)).validated_data
    size = given.get("limit", DEFAULT_LIMIT)
    rows, total = timetable.ticks_of(scope_of(request), name, before=given.get("before"), size=size + 1)
    following = instant(rows[size - 1].tick_at) if len(rows) > size else None
    return Response({"ticks": [wire.tick_document(row) for row in rows[:size]], "total": total, "next": following})


@operation("listHeartbeats", method="GET", scope=READ, query=wire.NamesQuery, gives={200: schemas.HEARTBEATS}, tag=TIME)
@operation(
    "createHeartbeat",
    method="POST",
    scope=MANAGE,
    takes=wire.CreateHeartbeat,
    gives={201: schemas.HEARTBEAT},
    tag=TIME,
)
@api_view(["GET", "POST"])
def heartbeat_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        order = checked(wire.CreateHeartbeat, request.data).order(scope.principal.id)
        return Response(wire.heartbeat_document(watching.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    rows, total = watching.page(scope, after=after, size=size + 1)
    return Response(_page("heartbeats", [wire.heartbeat_document(row) for row in rows], size, total))


@operation("getHeartbeat", method="GET", scope=READ, gives={200: schemas.HEARTBEAT}, tag=TIME)
@operation(
    "changeHeartbeat",
    method="PATCH",
    scope=MANAGE,
    takes=wire.HeartbeatChanges,
    gives={200: schemas.HEARTBEAT},
    tag=TIME,
)
@operation("deleteHeartbeat", method="DELETE", scope=MANAGE, gives={204: None}, tag=TIME)
@api_view(["GET", "PATCH", "DELETE"])
def heartbeat(request: Request, name: str) -> Response:
    scope = scope_of(request)
    if request.method == "DELETE":
        watching.remove(scope, name, now=timezone.now())
        return Response(status=204)
    if request.method == "PATCH":
        changes = checked(wire.HeartbeatChanges, request.data).changes()
        return Response(wire.heartbeat_document(watching.change(scope, name, changes, now=timezone.now())))
    return Response(wire.heartbeat_document(watching.read(scope, name)))


def _place(request: Request) -> tuple[str, int]:
    given = checked(wire.NamesQuery, query_of(request)).validated_data
    return given.get("after", ""), given.get("limit", DEFAULT_LIMIT)


def _page(name: str, documents: list[dict[str, Any]], size: int, total: int) -> dict[str, Any]:
    """At most ``size`` of the documents, of how many, and the name behind which the others come."""
    shown = documents[:size]
    return {name: shown, "total": total, "next": shown[-1]["name"] if len(documents) > size else None}
