"""Schedules and heartbeats over HTTP: the console's extension of the OpenWOP face, over time."""

from typing import Any

from django.urls import path, register_converter
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import cron, ids, scheduling
from memory.host.events import payload_of
from memory.host.heartbeats import HeartbeatOrder, Verdict
from memory.host.http import COUNT, FLAG, OBJECT, TEXT, TIME, Closed, Instant, Text, checked, operation, query_of
from memory.host.json_types import JSONObject
from memory.host.models import Heartbeat, MissedFirePolicy, Schedule, ScheduleTick
from memory.host.paging import DEFAULT_LIMIT
from memory.host.scheduling import ScheduleOrder
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime.timed import heartbeats, schedules
from openwop_console.runtime.timed.schedules import POLICY

Schema = JSONObject
TIME_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
LONGEST_INTERVAL_S = 90 * 86_400
NOT_A_NAME = "must be letters, digits, '.', '_' and '-', at most 128"
READ, MANAGE = "schedules:read", "schedules:manage"
TAG = "schedules"


def _object(*optional: str, **properties: Schema) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _page_schema(name: str, item: Schema) -> Schema:
    return _object(**{name: {"type": "array", "items": item}, "total": COUNT, "next": TEXT_OR_NULL})


SCHEDULE = _object(
    "agentId",
    "cron",
    "timezone",
    "at",
    name=TEXT,
    workflowId=TEXT,
    agentId=TEXT,
    inputs=OBJECT,
    cron=TEXT,
    timezone=TEXT,
    at=TIME,
    missedFirePolicy={"enum": ["skip", "fire-once"]},
    enabled=FLAG,
    principal=TEXT,
    createdAt=TIME,
    nextTick=TIME_OR_NULL,
    nextTicks={"type": "array", "items": TIME, "maxItems": 5},
)


SCHEDULES = _page_schema("schedules", SCHEDULE)


TICK = _object(
    "runId",
    "code",
    tickAt=TIME,
    firedAt=TIME,
    outcome={"enum": ["fired", "skipped", "refused"]},
    runId=TEXT,
    code=TEXT,
    missed=COUNT,
    missedIsExact=FLAG,
)


TICKS = _page_schema("ticks", TICK)


HEARTBEAT = _object(
    heartbeatId=TEXT,
    name=TEXT,
    intervalSec={"type": "integer", "minimum": 60},
    predicate=OBJECT,
    workflowId=TEXT_OR_NULL,
    inputs=OBJECT,
    enabled=FLAG,
    principal=TEXT,
    createdAt=TIME,
    nextTick=TIME_OR_NULL,
    lastEvaluatedAt=TIME_OR_NULL,
    lastStatus={"enum": ["ok", "timeout", "error", None]},
    lastState={"oneOf": [{"type": "null"}, _object(sha256=TEXT, state={})]},
    lastRunId=TEXT_OR_NULL,
    lastCode=TEXT_OR_NULL,
)


HEARTBEATS = _page_schema("heartbeats", HEARTBEAT)


FIRED = _object(runsFired=COUNT)


EVALUATED = _object(heartbeatId=TEXT, status={"enum": ["ok", "timeout", "error"]}, changed=FLAG)


CHANGED = _object(**{"heartbeatId": TEXT, "from": OBJECT, "to": OBJECT})


BEAT = _object(
    evaluated={"type": "array", "items": EVALUATED, "maxItems": 1},
    stateChanged={"type": "array", "items": CHANGED, "maxItems": 1},
    enqueuedRuns={"enum": [0, 1]},
)


class ScheduleChanges(Closed):
    """What a PATCH may hold. ``cron`` takes the place of ``at``, and the other way round."""

    workflowId = Text(required=False, max_length=128)
    inputs = serializers.DictField(required=False)
    agentId = Text(required=False, min_length=3, max_length=256, allow_null=True)
    cron = Text(required=False, max_length=120)
    timezone = Text(required=False, max_length=64)
    at = Instant(required=False)
    missedFirePolicy = serializers.ChoiceField(
        choices=MissedFirePolicy.values, required=False, error_messages={"invalid_choice": POLICY}
    )
    enabled = serializers.BooleanField(required=False)

    def changes(self) -> dict[str, Any]:
        given: dict[str, Any] = dict(self.validated_data)
        other = {"at": None} if "cron" in given else {"cron": ""} if "at" in given else {}
        if "cron" in given:
            given["cron"] = " ".join(given["cron"].split())
        if "agentId" in given:
            given["agentId"] = given["agentId"] or ""
        return other | {_OF_SCHEDULE.get(name, name): value for name, value in given.items() if name != "name"}


_OF_SCHEDULE: dict[str, str] = {"workflowId": "workflow_id", "agentId": "agent_id", "missedFirePolicy": "missed"}


class CreateSchedule(ScheduleChanges):
    """The closed body of a new schedule: ``cron`` in ``timezone`` (UTC when it is not given), or ``at``."""

    name = serializers.RegexField(rf"\A{scheduling.NAME.pattern}\Z", error_messages={"invalid": NOT_A_NAME})
    workflowId = Text(max_length=128)

    def order(self, principal: str) -> ScheduleOrder:
        return ScheduleOrder(name=self.validated_data["name"], principal=principal, **self.changes())


class HeartbeatChanges(Closed):
    """What a PATCH may hold. An interval below the host's own is as long as that."""

    intervalSec = serializers.IntegerField(required=False, min_value=1, max_value=LONGEST_INTERVAL_S)
    predicate = serializers.DictField(required=False)
    workflowId = Text(required=False, max_length=128, allow_null=True)
    inputs = serializers.DictField(required=False)
    enabled = serializers.BooleanField(required=False)

    def changes(self) -> dict[str, Any]:
        given: dict[str, Any] = dict(self.validated_data)
        if "workflowId" in given:
            given["workflowId"] = given["workflowId"] or ""
        return {_OF_HEARTBEAT.get(name, name): value for name, value in given.items() if name != "name"}


_OF_HEARTBEAT: dict[str, str] = {"workflowId": "workflow_id", "intervalSec": "interval_s"}


class CreateHeartbeat(HeartbeatChanges):
    """The closed body of a new heartbeat."""

    name = serializers.RegexField(rf"\A{scheduling.NAME.pattern}\Z", error_messages={"invalid": NOT_A_NAME})
    intervalSec = serializers.IntegerField(min_value=1, max_value=LONGEST_INTERVAL_S)
    predicate = serializers.DictField()

    def order(self, principal: str) -> HeartbeatOrder:
        return HeartbeatOrder(name=self.validated_data["name"], principal=principal, **self.changes())


class NamesQuery(Closed):
    """A page by name: behind ``after``, which is what ``next`` gave."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = Text(required=False, max_length=300)


class TicksQuery(Closed):
    """A page of ticks, the latest first: those before ``before``, which is what ``next`` gave."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    before = Instant(required=False)


class TickSchedules(Closed):
    """The body of the seam of schedules: one tick, or the window in which ``missedTicks`` of them were missed."""

    scenario = serializers.ChoiceField(choices=("single-tick", "missed-window"))
    missedTicks = serializers.IntegerField(required=False, min_value=1, max_value=cron.COUNTED)


class TickHeartbeat(Closed):
    """The body of the seam of heartbeats: one tick, with what it observes."""

    heartbeatId = Text(max_length=128)
    observedState = serializers.DictField()
    simulateSlowMs = serializers.IntegerField(required=False, min_value=0, max_value=60_000)


def schedule_document(schedule: Schedule) -> JSONObject:
    coming = [instant(tick) for tick in scheduling.coming(schedule)]
    time = {"at": instant(schedule.at)} if schedule.at else {"cron": schedule.cron, "timezone": schedule.timezone}
    return {
        "name": schedule.name,
        "workflowId": schedule.workflow_id,
        **({"agentId": schedule.agent_id} if schedule.agent_id else {}),
        "inputs": schedule.inputs,
        **time,
        "missedFirePolicy": schedule.missed,
        "enabled": schedule.enabled,
        "principal": schedule.principal,
        "createdAt": instant(schedule.created_at),
        "nextTick": coming[0] if coming else None,
        "nextTicks": coming,
    }


def tick_document(tick: ScheduleTick) -> JSONObject:
    """``missed`` is how many ticks before it got no run of their own."""
    without = "skipped" if tick.code == scheduling.SKIPPED else "refused"
    return {
        "tickAt": instant(tick.tick_at),
        "firedAt": instant(tick.fired_at),
        "outcome": "fired" if tick.run_id else without,
        **({"runId": ids.wire("run", tick.run_id)} if tick.run_id else {"code": tick.code}),
        "missed": tick.missed,
        "missedIsExact": tick.missed < cron.COUNTED,
    }


def heartbeat_document(heartbeat: Heartbeat) -> JSONObject:
    seen = heartbeat.prior_state
    return {
        "heartbeatId": ids.wire("hbt", heartbeat.id),
        "name": heartbeat.name,
        "intervalSec": heartbeat.interval_s,
        "predicate": heartbeat.predicate,
        "workflowId": heartbeat.workflow_id or None,
        "inputs": heartbeat.inputs,
        "enabled": heartbeat.enabled,
        "principal": heartbeat.principal,
        "createdAt": instant(heartbeat.created_at),
        "nextTick": instant(heartbeat.next_at) if heartbeat.next_at else None,
        "lastEvaluatedAt": instant(heartbeat.last_at) if heartbeat.last_at else None,
        "lastStatus": heartbeat.last_status or None,
        "lastState": {"sha256": seen["sha256"], "state": seen["state"]} if seen else None,
        "lastRunId": ids.wire("run", heartbeat.last_run_id) if heartbeat.last_run_id else None,
        "lastCode": heartbeat.last_code or None,
    }


def verdict_document(verdict: Verdict, heartbeat_id: str, *, started: bool) -> JSONObject:
    """What one tick of a seam came to; the facts name the heartbeat as the caller does."""
    facts = [verdict.evaluated, *([verdict.transition] if verdict.transition else [])]
    told = [payload_of(fact) | {"heartbeatId": heartbeat_id} for fact in facts]
    return {"evaluated": told[:1], "stateChanged": told[1:], "enqueuedRuns": int(started)}


@operation("listSchedules", method="GET", scope=READ, query=NamesQuery, gives={200: SCHEDULES}, tag=TAG)
@operation(
    "createSchedule",
    method="POST",
    scope=f"{MANAGE} runs:create",
    takes=CreateSchedule,
    gives={201: SCHEDULE},
    tag=TAG,
)
@api_view(["GET", "POST"])
def schedule_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        order = checked(CreateSchedule, request.data).order(scope.principal.id)
        return Response(schedule_document(schedules.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    page = schedules.page(scope, after=after, size=size)
    listed = [schedule_document(row) for row in page.rows]
    return Response({"schedules": listed, "total": page.total, "next": page.after})


@operation("getSchedule", method="GET", scope=READ, gives={200: SCHEDULE}, tag=TAG)
@operation(
    "changeSchedule",
    method="PATCH",
    scope=f"{MANAGE} runs:create",
    takes=ScheduleChanges,
    gives={200: SCHEDULE},
    tag=TAG,
)
@operation("deleteSchedule", method="DELETE", scope=MANAGE, gives={204: None}, tag=TAG)
@api_view(["GET", "PATCH", "DELETE"])
def schedule(request: Request, name: str) -> Response:
    scope = scope_of(request)
    if request.method == "DELETE":
        schedules.remove(scope, name, now=timezone.now())
        return Response(status=204)
    if request.method == "PATCH":
        changes = checked(ScheduleChanges, request.data).changes()
        return Response(schedule_document(schedules.change(scope, name, changes, now=timezone.now())))
    return Response(schedule_document(schedules.read(scope, name)))


@operation("listScheduleTicks", scope=READ, query=TicksQuery, gives={200: TICKS}, tag=TAG)
@api_view(["GET"])
def schedule_ticks(request: Request, name: str) -> Response:
    given = checked(TicksQuery, query_of(request)).validated_data
    size = given.get("limit", DEFAULT_LIMIT)
    page = schedules.ticks_of(scope_of(request), name, before=given.get("before"), size=size)
    following = instant(page.after) if page.after else None
    return Response({"ticks": [tick_document(row) for row in page.rows], "total": page.total, "next": following})


@operation("listHeartbeats", method="GET", scope=READ, query=NamesQuery, gives={200: HEARTBEATS}, tag=TAG)
@operation(
    "createHeartbeat",
    method="POST",
    scope=MANAGE,
    takes=CreateHeartbeat,
    gives={201: HEARTBEAT},
    tag=TAG,
)
@api_view(["GET", "POST"])
def heartbeat_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        order = checked(CreateHeartbeat, request.data).order(scope.principal.id)
        return Response(heartbeat_document(heartbeats.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    page = heartbeats.page(scope, after=after, size=size)
    listed = [heartbeat_document(row) for row in page.rows]
    return Response({"heartbeats": listed, "total": page.total, "next": page.after})


@operation("getHeartbeat", method="GET", scope=READ, gives={200: HEARTBEAT}, tag=TAG)
@operation(
    "changeHeartbeat",
    method="PATCH",
    scope=MANAGE,
    takes=HeartbeatChanges,
    gives={200: HEARTBEAT},
    tag=TAG,
)
@operation("deleteHeartbeat", method="DELETE", scope=MANAGE, gives={204: None}, tag=TAG)
@api_view(["GET", "PATCH", "DELETE"])
def heartbeat(request: Request, name: str) -> Response:
    scope = scope_of(request)
    if request.method == "DELETE":
        heartbeats.remove(scope, name, now=timezone.now())
        return Response(status=204)
    if request.method == "PATCH":
        changes = checked(HeartbeatChanges, request.data).changes()
        return Response(heartbeat_document(heartbeats.change(scope, name, changes, now=timezone.now())))
    return Response(heartbeat_document(heartbeats.read(scope, name)))


def _place(request: Request) -> tuple[str, int]:
    given = checked(NamesQuery, query_of(request)).validated_data
    return given.get("after", ""), given.get("limit", DEFAULT_LIMIT)


class ScheduleName:
    """A name of one part, or of those that the schedule of a workflow or an automation has."""

    regex = r"workflow/[^/]+/[^/]+|automation/[^/]+|[^/]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ScheduleName, "schedule_name")


BASE = "v1/host/console"


urlpatterns = [
    path(f"{BASE}/schedules", schedule_list, name="api-schedules"),
    path(f"{BASE}/schedules/<schedule_name:name>", schedule, name="api-schedule"),
    path(f"{BASE}/schedules/<schedule_name:name>/ticks", schedule_ticks, name="api-schedule-ticks"),
    path(f"{BASE}/heartbeats", heartbeat_list, name="api-heartbeats"),
    path(f"{BASE}/heartbeats/<str:name>", heartbeat, name="api-heartbeat"),
]
