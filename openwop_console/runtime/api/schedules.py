"""Schedules and heartbeats over HTTP: the console's extension of the OpenWOP face, over time."""

from django.urls import path, register_converter
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import cron, ids, scheduling
from memory.host.events import payload_of
from memory.host.heartbeats import HeartbeatOrder, Verdict
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    TIME,
    Answer,
    Closed,
    Instant,
    Omittable,
    Text,
    checked,
    closed,
    listed,
    nullable,
    operation,
    page_answer,
    query_of,
)
from memory.host.json_types import JSONObject
from memory.host.models import Heartbeat, MissedFirePolicy, Schedule, ScheduleTick
from memory.host.paging import DEFAULT_LIMIT
from memory.host.scheduling import NOT_A_POLICY, ScheduleOrder
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime import heartbeat_evaluation, schedules

LONGEST_INTERVAL_S = 90 * 86_400
NOT_A_NAME = "must be letters, digits, '.', '_' and '-', at most 128"
READ, MANAGE = "schedules:read", "schedules:manage"
TAG = "schedules"


SCHEDULE = Answer[Schedule](
    name=(TEXT, lambda row: row.name),
    workflowId=(TEXT, lambda row: row.workflow_id),
    agentId=(Omittable(TEXT), lambda row: row.agent_id or None),
    inputs=(OBJECT, lambda row: row.inputs),
    at=(Omittable(TIME), lambda row: instant(row.at)),
    cron=(Omittable(TEXT), lambda row: None if row.at else row.cron),
    timezone=(Omittable(TEXT), lambda row: None if row.at else row.timezone),
    missedFirePolicy=({"enum": ["skip", "fire-once"]}, lambda row: row.missed),
    enabled=(FLAG, lambda row: row.enabled),
    principal=(TEXT, lambda row: row.principal),
    createdAt=(TIME, lambda row: instant(row.created_at)),
    nextTick=(nullable(TIME), lambda row: instant(row.next_at)),
    nextTicks=(
        listed(TIME) | {"maxItems": scheduling.SHOWN_TICKS},
        lambda row: [instant(tick) for tick in scheduling.list_next_ticks(row)],
    ),
)
SCHEDULES = page_answer("", "schedules", SCHEDULE)


def _outcome(tick: ScheduleTick) -> str:
    without = "skipped" if tick.code == scheduling.SKIPPED else "refused"
    return "fired" if tick.run_id else without


# ``missed`` is how many ticks before it got no run of their own.
TICK = Answer[ScheduleTick](
    tickAt=(TIME, lambda tick: instant(tick.tick_at)),
    firedAt=(TIME, lambda tick: instant(tick.fired_at)),
    outcome=({"enum": ["fired", "skipped", "refused"]}, _outcome),
    runId=(Omittable(TEXT), lambda tick: ids.wire("run", tick.run_id)),
    code=(Omittable(TEXT), lambda tick: None if tick.run_id else tick.code),
    missed=(COUNT, lambda tick: tick.missed),
    missedIsExact=(FLAG, lambda tick: tick.missed < cron.COUNTED),
)
TICKS = closed(ticks=listed(TICK), total=COUNT, next=nullable(TIME))
HEARTBEAT = Answer[Heartbeat](
    heartbeatId=(TEXT, lambda heartbeat: ids.wire("hbt", heartbeat.id)),
    name=(TEXT, lambda heartbeat: heartbeat.name),
    intervalSec=({"type": "integer", "minimum": 60}, lambda heartbeat: heartbeat.interval_s),
    predicate=(OBJECT, lambda heartbeat: heartbeat.predicate),
    workflowId=(nullable(TEXT), lambda heartbeat: heartbeat.workflow_id or None),
    inputs=(OBJECT, lambda heartbeat: heartbeat.inputs),
    enabled=(FLAG, lambda heartbeat: heartbeat.enabled),
    principal=(TEXT, lambda heartbeat: heartbeat.principal),
    createdAt=(TIME, lambda heartbeat: instant(heartbeat.created_at)),
    nextTick=(nullable(TIME), lambda heartbeat: instant(heartbeat.next_at)),
    lastEvaluatedAt=(nullable(TIME), lambda heartbeat: instant(heartbeat.last_at)),
    lastStatus=({"enum": ["ok", "timeout", "error", None]}, lambda heartbeat: heartbeat.last_status or None),
    lastState=(
        {"oneOf": [{"type": "null"}, closed(sha256=TEXT, state={})]},
        lambda heartbeat: (
            {name: heartbeat.prior_state[name] for name in ("sha256", "state")} if heartbeat.prior_state else None
        ),
    ),
    lastRunId=(nullable(TEXT), lambda heartbeat: ids.wire("run", heartbeat.last_run_id)),
    lastCode=(nullable(TEXT), lambda heartbeat: heartbeat.last_code or None),
)
HEARTBEATS = page_answer("", "heartbeats", HEARTBEAT)
FIRED = closed(runsFired=COUNT)
EVALUATED = closed(heartbeatId=TEXT, status={"enum": ["ok", "timeout", "error"]}, changed=FLAG)
CHANGED = closed(**{"heartbeatId": TEXT, "from": OBJECT, "to": OBJECT})
BEAT = closed(
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
        choices=MissedFirePolicy.values, required=False, error_messages={"invalid_choice": NOT_A_POLICY}
    )
    enabled = serializers.BooleanField(required=False)

    def changes(self) -> JSONObject:
        given: JSONObject = dict(self.validated_data)
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

    def changes(self) -> JSONObject:
        given: dict[str, object] = dict(self.validated_data)
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


def verdict_document(verdict: Verdict, heartbeat_id: str, *, started: bool) -> JSONObject:
    """What one tick of a seam came to; the facts name the heartbeat as the caller does."""
    facts = [verdict.evaluated, *([verdict.transition] if verdict.transition else [])]
    payloads = [payload_of(fact) | {"heartbeatId": heartbeat_id} for fact in facts]
    return {"evaluated": payloads[:1], "stateChanged": payloads[1:], "enqueuedRuns": int(started)}


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
        return Response(SCHEDULE.document(schedules.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    page = schedules.page(scope, after=after, size=size)
    return Response(SCHEDULES.document(page))


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
        return Response(SCHEDULE.document(schedules.change(scope, name, changes, now=timezone.now())))
    return Response(SCHEDULE.document(schedules.read(scope, name)))


@operation("listScheduleTicks", scope=READ, query=TicksQuery, gives={200: TICKS}, tag=TAG)
@api_view(["GET"])
def schedule_ticks(request: Request, name: str) -> Response:
    given = checked(TicksQuery, query_of(request)).validated_data
    size = given.get("limit", DEFAULT_LIMIT)
    page = schedules.ticks_of(scope_of(request), name, before=given.get("before"), size=size)
    return Response({"ticks": TICK.documents(page.rows), "total": page.total, "next": instant(page.after)})


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
        return Response(HEARTBEAT.document(heartbeat_evaluation.create(scope, order, now=timezone.now())), status=201)
    after, size = _place(request)
    page = heartbeat_evaluation.page(scope, after=after, size=size)
    return Response(HEARTBEATS.document(page))


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
        heartbeat_evaluation.remove(scope, name, now=timezone.now())
        return Response(status=204)
    if request.method == "PATCH":
        changes = checked(HeartbeatChanges, request.data).changes()
        return Response(HEARTBEAT.document(heartbeat_evaluation.change(scope, name, changes, now=timezone.now())))
    return Response(HEARTBEAT.document(heartbeat_evaluation.read(scope, name)))


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
