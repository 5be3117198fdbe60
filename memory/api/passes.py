"""Passes, their schedules, the night report and look-alikes over HTTP: the console's extension of the OpenWOP face."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import tasks
from memory.host import ids, scheduling
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    SHA256,
    STRING,
    TEXT,
    TIME,
    After,
    Answer,
    Closed,
    Members,
    Nothing,
    SoughtRef,
    Text,
    Whole,
    checked,
    closed,
    listed,
    nullable,
    operation,
    page_answer,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.models import Pass, PassSchedule, PassState, Trigger, Verb
from memory.passes import lookalikes, nights, orders, pass_schedules
from memory.passes.lookalikes import MOST_AT_ONCE, Choice, Pair
from memory.passes.nights import Night, NightFigures
from memory.passes.orders import KINDS, RequestedPass
from memory.passes.pass_reports import Summary
from memory.passes.pass_schedules import PassTimes
from memory.reasons import MAX_REASON
from memory.wire import instant

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

# Of every pass, over a ref or over traces, whatever became of it. ``outcome`` is numbers, codes and ids.
WORK: Members[Pass] = {
    "id": (TEXT, lambda row: ids.wire("pass", row.id)),
    "state": (words(PassState.values), lambda row: row.state),
    "trigger": (words(Trigger.values), lambda row: row.trigger),
    "dryRun": (FLAG, lambda row: row.dry_run),
    "options": (OBJECT, lambda row: row.options),
    "done": (COUNT, lambda row: row.done),
    "total": (COUNT, lambda row: row.total),
    "doing": (STRING, lambda row: row.doing),
    "code": (nullable(TEXT), lambda row: row.code or None),
    "outcome": (OBJECT, lambda row: row.outcome),
    "runId": (TEXT, lambda row: ids.wire("run", row.run_id)),
    "requestedBy": (TEXT, lambda row: row.requested_by),
    "createdAt": (TIME, lambda row: instant(row.created_at)),
    "finishedAt": (nullable(TIME), lambda row: instant(row.finished_at)),
}


def _known_options(row: Pass | PassSchedule) -> JSONObject:
    return {name: value for name, value in row.options.items() if name in OPTIONS}


# A pass over memory.
OF_MEMORY: Members[Pass] = {
    "options": (OBJECT, _known_options),
    "outcome": (OBJECT, lambda row: {name: value for name, value in row.outcome.items() if name != "details"}),
    "kind": (TEXT, lambda row: row.kind),
    "memoryRef": (STRING, lambda row: row.memory_ref),
    "stopping": (FLAG, lambda row: row.stopping),
    "details": (nullable(OBJECT), lambda row: row.outcome.get("details")),
}
PASS = Answer[Pass]("Pass", **WORK | OF_MEMORY)
PASSES = page_answer("Passes", "passes", PASS, "pass")
RESTORED = closed("RestoredPass", restoredNow=COUNT, removed=COUNT, restored=COUNT, restorable=COUNT, lost=COUNT)
SCHEDULE = Answer[PassSchedule](
    "PassSchedule",
    id=(TEXT, lambda row: ids.wire("psc", row.id)),
    kind=(TEXT, lambda row: row.kind),
    memoryRef=(STRING, lambda row: row.memory_ref),
    cron=(TEXT, lambda row: row.cron),
    timezone=(TEXT, lambda row: row.timezone),
    options=(OBJECT, _known_options),
    enabled=(FLAG, lambda row: row.enabled),
    principal=(TEXT, lambda row: row.written_by),
    createdAt=(TIME, lambda row: instant(row.created_at)),
    nextTick=(nullable(TIME), lambda row: instant(row.next_at)),
    nextTicks=(
        listed(TIME) | {"maxItems": scheduling.SHOWN_TICKS},
        lambda row: [instant(tick) for tick in scheduling.list_next_ticks(row)],
    ),
    lastPassId=(nullable(TEXT), lambda row: ids.wire("pass", row.last_pass_id)),
)
SCHEDULES = page_answer("PassSchedules", "schedules", SCHEDULE, "psc")
MOST = 2**31 - 1
READ, RUN = "memory:read", "passes:run"
TAG = "passes"
BASE = "v1/host/console"


class PassOptions(Closed):
    """What a pass is to keep to; each kind refuses those that are not its own."""

    tokenBudget = Whole(required=False, min_value=1, max_value=MOST)
    targetTokens = Whole(required=False, min_value=1, max_value=MOST)
    indexEmitted = serializers.BooleanField(required=False)
    includeArchives = serializers.BooleanField(required=False)
    includeExpiring = serializers.BooleanField(required=False)
    maxInputEntries = Whole(required=False, min_value=1, max_value=MOST)
    maxOutputBytes = Whole(required=False, min_value=1, max_value=MOST)
    full = serializers.BooleanField(required=False)


OPTIONS = frozenset(PassOptions().fields)


class OrderPass(Closed):
    """The closed body of an order: a kind of pass over one ref, for real or as a dry run."""

    kind = serializers.ChoiceField(choices=sorted(KINDS))
    memoryRef = Text()
    dryRun = serializers.BooleanField(required=False)
    options = PassOptions(required=False)

    def wanted(self) -> RequestedPass:
        given = self.validated_data
        return RequestedPass(
            given["kind"], given["memoryRef"], dict(given.get("options", {})), given.get("dryRun", False)
        )


class PassesQuery(Closed):
    """The newest first, of one kind or ref when it is named; ``after`` is what ``next`` gave."""

    kind = serializers.ChoiceField(choices=sorted(KINDS), required=False)
    memoryRef = SoughtRef()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("pass")


class PassSchedulesQuery(PassesQuery):
    """In the order of their making, of one kind or ref when it is named."""

    after = After("psc")


class RestorePass(Closed):
    """Why what the pass removed is restored; kept in the audit log."""

    reason = Text(max_length=MAX_REASON)


class KeepPassSchedule(Closed):
    """The closed body of a schedule. Its kind and ref name it: a ref has one schedule of a kind."""

    kind = serializers.ChoiceField(choices=sorted(KINDS))
    memoryRef = Text()
    cron = Text(max_length=120)
    timezone = Text(required=False, max_length=64)
    options = PassOptions(required=False)
    enabled = serializers.BooleanField(required=False)

    def times(self) -> PassTimes:
        given = self.validated_data
        return PassTimes(
            kind=given["kind"],
            memory_ref=given["memoryRef"],
            cron=given["cron"],
            timezone=given.get("timezone", "UTC"),
            options=dict(given.get("options", {})),
            enabled=given.get("enabled", True),
        )


@operation("listPasses", method="GET", scope=READ, query=PassesQuery, gives={200: PASSES}, tag=TAG)
@operation("orderPass", method="POST", scope=RUN, takes=OrderPass, gives={202: PASS}, tag=TAG)
@api_view(["GET", "POST"])
def pass_list(request: Request) -> Response:
    """A new pass waits for a worker; without ``options`` it keeps to the host's own."""
    if request.method == "POST":
        return _ordered(request)
    given, size = _place(request, PassesQuery)
    kinds = (given["kind"],) if "kind" in given else ()
    page = orders.page(
        scope_of(request), kinds=kinds, memory_ref=given.get("memoryRef", ""), before=given.get("after"), size=size
    )
    return Response(PASSES.document(page))


@transaction.atomic
def _ordered(request: Request) -> Response:
    """On record and queued together, or neither."""
    wanted = checked(OrderPass, request.data).wanted()
    row = orders.order_now(scope_of(request), wanted, now=timezone.now())
    tasks.enqueue_pass(row)
    return Response(PASS.document(row), status=202)


def _place(request: Request, query: type[PassesQuery]) -> tuple[JSONObject, int]:
    """What is asked for, and how many at most."""
    given: JSONObject = checked(query, query_of(request)).validated_data
    return given, given.get("limit", DEFAULT_LIMIT)


@operation("getPass", scope=READ, gives={200: PASS}, tag=TAG)
@api_view(["GET"])
def one_pass(request: Request, pass_id: str) -> Response:
    return Response(PASS.document(orders.find(scope_of(request), ids.parse("pass", pass_id))))


@operation("stopPass", scope=RUN, gives={202: PASS}, tag=TAG)
@api_view(["POST"])
def stop(request: Request, pass_id: str) -> Response:
    """The pass leaves off at its next step; what it has done stands."""
    checked(Nothing, request.data)
    row = orders.stop(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    return Response(PASS.document(row), status=202)


@operation("repeatPass", scope=RUN, gives={202: PASS}, tag=TAG)
@api_view(["POST"])
@transaction.atomic
def repeat_pass(request: Request, pass_id: str) -> Response:
    """One that was refused, failed or was cancelled is asked for once more, as another pass."""
    checked(Nothing, request.data)
    row = orders.repeat(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    tasks.enqueue_pass(row)
    return Response(PASS.document(row), status=202)


@operation("restorePass", scope="memory:retire memory:read", takes=RestorePass, gives={200: RESTORED}, tag=TAG)
@api_view(["POST"])
def restore_pass(request: Request, pass_id: str) -> Response:
    """What the pass removed is read again, up to 5,000 entries in one request; asking again goes on."""
    scope, reason = scope_of(request), checked(RestorePass, request.data).validated_data["reason"]
    done = orders.restore_pass(scope, ids.parse("pass", pass_id), reason=reason, now=timezone.now())
    taken = {"removed": done.taken.entries, "restored": done.taken.restored, "restorable": done.taken.restorable}
    return Response({"restoredNow": done.entries, **taken, "lost": done.taken.lost})


@operation(
    "listPassSchedules",
    method="GET",
    scope=READ,
    query=PassSchedulesQuery,
    gives={200: SCHEDULES},
    tag=TAG,
)
@operation("keepPassSchedule", method="PUT", scope=RUN, takes=KeepPassSchedule, gives={200: SCHEDULE}, tag=TAG)
@api_view(["GET", "PUT"])
def schedule_list(request: Request) -> Response:
    """A PUT makes the schedule of that kind over that ref, or changes the one there is."""
    scope = scope_of(request)
    if request.method == "PUT":
        times = checked(KeepPassSchedule, request.data).times()
        return Response(SCHEDULE.document(pass_schedules.set_schedule(scope, times, now=timezone.now())))
    given, size = _place(request, PassSchedulesQuery)
    asked = {"kind": given.get("kind", ""), "memory_ref": given.get("memoryRef", "")}
    page = pass_schedules.page(scope, **asked, after=given.get("after"), size=size)
    return Response(SCHEDULES.document(page))


@operation("getPassSchedule", method="GET", scope=READ, gives={200: SCHEDULE}, tag=TAG)
@operation("deletePassSchedule", method="DELETE", scope=RUN, gives={204: None}, tag=TAG)
@api_view(["GET", "DELETE"])
def schedule(request: Request, schedule_id: str) -> Response:
    scope, found = scope_of(request), ids.parse("psc", schedule_id)
    if request.method == "DELETE":
        pass_schedules.remove(scope, found, now=timezone.now())
        return Response(status=204)
    return Response(SCHEDULE.document(pass_schedules.find(scope, found)))


NIGHT = closed(
    "Night",
    night=TEXT,
    begins=TIME,
    ends=TIME,
    timezone=TEXT,
    **dict.fromkeys(NightFigures.__slots__, COUNT),
)
PASS_OF_NIGHT = Answer[Summary](
    "PassOfNight",
    **{"pass": (PASS, lambda row: PASS.document(row.work))},
    reason=(nullable(TEXT), lambda row: row.reason or None),
    removed=(COUNT, lambda row: row.taken.entries),
    restored=(COUNT, lambda row: row.taken.restored),
    restorable=(COUNT, lambda row: row.taken.restorable),
)
PASSES_OF_NIGHT = closed("PassesOfNight", night=NIGHT, passes=listed(PASS_OF_NIGHT), total=COUNT, next=nullable(TEXT))


class NightQuery(Closed):
    """The night that begins on a day, the last one when none is named, and the passes behind one of its figures."""

    night = serializers.DateField(required=False)
    show = serializers.ChoiceField(choices=sorted(nights.PASSES), required=False)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("pass")


def night_document(night: Night, figures: NightFigures) -> JSONObject:
    """The figures of one night."""
    return {
        "night": night.day.isoformat(),
        "begins": instant(night.begins),
        "ends": instant(night.ends),
        "timezone": night.timezone,
        **{name: getattr(figures, name) for name in NightFigures.__slots__},
    }


@operation("getNight", scope="memory:read", query=NightQuery, gives={200: PASSES_OF_NIGHT}, tag="passes")
@api_view(["GET"])
def night(request: Request) -> Response:
    """What one night did, and its passes, the newest first."""
    scope, now = scope_of(request), timezone.now()
    given = checked(NightQuery, query_of(request)).validated_data
    found = nights.night_of(scope, given.get("night"), now=now)
    after, size = given.get("after"), given.get("limit", DEFAULT_LIMIT)
    page = nights.page_of_passes(scope, found, given.get("show", "passes"), after=after, size=size, now=now)
    return Response(
        {
            "night": night_document(found, nights.figures(scope, found)),
            "passes": PASS_OF_NIGHT.documents(page.rows),
            "total": page.total,
            "next": cursor("pass", page.after),
        }
    )


ENTRY: "Answer[MemoryEntry]" = Answer(
    "LookAlikeEntry",
    id=(TEXT, lambda entry: ids.wire("mem", entry.id)),
    content=(STRING, lambda entry: entry.content),
    runId=(TEXT, lambda entry: ids.wire("run", entry.run_id)),
    nodeId=(nullable(TEXT), lambda entry: entry.node_id or None),
    agentId=(nullable(TEXT), lambda entry: entry.agent_id or None),
    createdAt=(TIME, lambda entry: instant(entry.created_at)),
    expiresAt=(nullable(TIME), lambda entry: instant(entry.expires_at)),
)
# A pair with what both entries say; ``mergedInto`` is the one whose text stays when they are merged.
LOOK_ALIKE = Answer[Pair](
    "LookAlike",
    id=(TEXT, lambda pair: pair.id),
    memoryRef=(TEXT, lambda pair: pair.older.memory_ref),
    sha256=(SHA256, lambda pair: pair.sha256),
    percent=(COUNT, lambda pair: pair.row.percent),
    alikeIn=(words(("words", "meaning")), lambda pair: "meaning" if pair.row.by_meaning else "words"),
    foundAt=(TIME, lambda pair: instant(pair.row.found_at)),
    older=(ENTRY, lambda pair: ENTRY.document(pair.older)),
    newer=(ENTRY, lambda pair: ENTRY.document(pair.newer)),
    mergedInto=(TEXT, lambda pair: ids.wire("mem", pair.stays.id)),
)
LOOK_ALIKES = page_answer("LookAlikes", "lookAlikes", LOOK_ALIKE, "dup")
DECIDED = closed("LookAlikesDecided", decision=words(Verb.values), decided=COUNT, passIds=listed(TEXT))
LOOK_ALIKE_TAG = "passes"
LOOK_ALIKE_BASE = "v1/host/console/look-alikes"


class LookAlikesQuery(Closed):
    """The newest first, of one ref or with one entry when it is named; ``after`` is what ``next`` gave."""

    memoryRef = SoughtRef()
    memoryId = After("mem")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("dup")


class ChosenLookAlike(Closed):
    """A pair as it was read: its id, and the ``sha256`` that it had."""

    id = Text(max_length=64)
    sha256 = Text(min_length=64, max_length=64)


class DecideLookAlikes(Closed):
    """The closed body of a decision: all of the pairs are decided so, or none."""

    decision = serializers.ChoiceField(choices=Verb.values)
    pairs = serializers.ListField(child=ChosenLookAlike(), min_length=1, max_length=MOST_AT_ONCE)


def choice_of(wire_id: str, sha256: str) -> Choice:
    """The pair of that id as it was read; an id that is none names no pair."""
    return Choice(ids.parse("dup", wire_id) or UUID(int=0), sha256)


@operation("listLookAlikes", scope="memory:read", query=LookAlikesQuery, gives={200: LOOK_ALIKES}, tag=LOOK_ALIKE_TAG)
@api_view(["GET"])
def look_alike_list(request: Request) -> Response:
    given: JSONObject = checked(LookAlikesQuery, query_of(request)).validated_data
    found = lookalikes.page(
        scope_of(request),
        memory_ref=given.get("memoryRef", ""),
        entry_id=given.get("memoryId"),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    return Response(LOOK_ALIKES.document(found))


@operation("decideLookAlikes", scope="passes:run", takes=DecideLookAlikes, gives={200: DECIDED}, tag=LOOK_ALIKE_TAG)
@api_view(["POST"])
def decisions(request: Request) -> Response:
    """Merging and replacing is a pass over each ref, done when this answers; what it took away can be restored."""
    given = checked(DecideLookAlikes, request.data).validated_data
    chosen = [choice_of(each["id"], each["sha256"]) for each in given["pairs"]]
    works = lookalikes.decide(scope_of(request), given["decision"], chosen, now=timezone.now())
    passed = [ids.wire("pass", work.id) for work in works]
    return Response({"decision": given["decision"], "decided": len(chosen), "passIds": passed})


urlpatterns = [
    path(LOOK_ALIKE_BASE, look_alike_list, name="api-look-alikes"),
    path(f"{LOOK_ALIKE_BASE}/decisions", decisions, name="api-look-alike-decisions"),
    path(f"{BASE}/nights", night, name="api-night"),
    path(f"{BASE}/passes", pass_list, name="api-passes"),
    path(f"{BASE}/passes/<str:pass_id>", one_pass, name="api-pass"),
    path(f"{BASE}/passes/<str:pass_id>/stop", stop, name="api-pass-stop"),
    path(f"{BASE}/passes/<str:pass_id>/again", repeat_pass, name="api-pass-again"),
    path(f"{BASE}/passes/<str:pass_id>/restore", restore_pass, name="api-pass-restore"),
    path(f"{BASE}/pass-schedules", schedule_list, name="api-pass-schedules"),
    path(f"{BASE}/pass-schedules/<str:schedule_id>", schedule, name="api-pass-schedule"),
]
