"""Seams that start runs: a tick of a schedule or heartbeat at the pace that a suite sets, and an agent's dispatch.

A tick uses the same claim as every tick, on a row of the caller's tenant; only the elapsed time and the observed state
are supplied. A dispatch is a run (RFC 0070), ordered through the usual intake, and the seam waits for its end.
"""

import time
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import agents
from memory.api import serializers
from memory.host import heartbeats, ids, registrations, request_slots, runs
from memory.host.errors import Busy
from memory.host.heartbeats import HeartbeatOrder
from memory.host.http import checked, operation
from memory.host.json_types import JSONObject
from memory.host.models import Heartbeat, Run, RunStatus
from memory.host.scheduling import ScheduleOrder
from memory.host.tenancy import TenantScope, scope_of
from openwop_console.runtime import heartbeat_evaluation, run_operations
from openwop_console.runtime import schedules as timed_schedules
from openwop_console.runtime.api import schedules
from openwop_console.runtime.run_operations import RunRequest
from openwop_console.test_seams import seam

WORKFLOW = "conformance-noop"
GIVEN = {"observe": "given", "expression": "@"}
LOOKS = 3
PATIENCE_S = 2
LOOK_EVERY = 0.05


@operation(
    "seamSchedulingTick",
    scope="schedules:manage runs:create",
    takes=schedules.TickSchedules,
    gives={200: schedules.FIRED},
    tag="seams",
)
@api_view(["POST"])
@seam
def scheduling_tick(request: Request) -> Response:
    given = checked(schedules.TickSchedules, request.data).validated_data
    minutes = given.get("missedTicks", 1) if given["scenario"] == "missed-window" else 1
    return Response({"runsFired": _fired(scope_of(request), minutes, now=timezone.now())})


@transaction.atomic
def _fired(scope: TenantScope, minutes: int, *, now: datetime) -> int:
    """Return the number of runs when a schedule that ticks every minute was not checked for ``minutes``, and is then
    checked several times."""
    name = f"conformance-{ids.new_id().hex}"
    order = ScheduleOrder(name=name, workflow_id=WORKFLOW, principal=scope.principal.id, cron="* * * * *")
    schedule = timed_schedules.create(scope, order, now=now - timedelta(minutes=minutes))
    fired = sum(timed_schedules.fire(scope.tenant_id, schedule.id, now=now) for _ in range(LOOKS))
    timed_schedules.remove(scope, name, now=now)
    return fired


@operation(
    "seamHeartbeatTick",
    scope="schedules:manage runs:create",
    takes=schedules.TickHeartbeat,
    gives={200: schedules.BEAT},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def heartbeat_tick(request: Request) -> Response:
    given = checked(schedules.TickHeartbeat, request.data).validated_data
    heartbeat = _at_rest(_heartbeat_of(scope_of(request), given["heartbeatId"], now=timezone.now()))
    with request_slots.aside():
        came = heartbeat_evaluation.beat(
            heartbeat.tenant_id,
            heartbeat.id,
            next_at=heartbeat.next_at,
            clock=timezone.now,
            given=given["observedState"],
            slow_s=given.get("simulateSlowMs", 0) / 1000,
        )
    if came is None:
        return Response({"evaluated": [], "stateChanged": [], "enqueuedRuns": 0})
    verdict, started = came
    return Response(schedules.verdict_document(verdict, given["heartbeatId"], started=started))


def _heartbeat_of(scope: TenantScope, name: str, *, now: datetime) -> Heartbeat:
    """Return the heartbeat of that name, or create a disabled one that observes the given state."""
    scope.check("schedules:manage")
    scope.check("runs:create")
    order = HeartbeatOrder(
        name=name,
        principal=scope.principal.id,
        interval_s=heartbeats.MIN_INTERVAL_S,
        predicate=GIVEN,
        workflow_id=WORKFLOW,
        enabled=False,
    )
    return heartbeats.by_name(scope.tenant_id, name) or heartbeats.create_heartbeat(scope.tenant_id, order, now=now)


def _at_rest(heartbeat: Heartbeat) -> Heartbeat:
    """Wait up to two seconds for the run of the heartbeat's last change to end."""
    deadline = time.monotonic() + PATIENCE_S
    while heartbeat_evaluation.is_busy(heartbeat) and time.monotonic() < deadline:
        with request_slots.aside():
            time.sleep(LOOK_EVERY)
    return heartbeat


# The dispatch of an agent, and the events of its log.

DISPATCHES = "console-agent-dispatch"
DISPATCH_WAIT_S = 10


@operation(
    "seamDispatchAgent",
    scope="runs:create",
    takes=serializers.DispatchAgent,
    gives={200: serializers.DISPATCHED},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def dispatch(request: Request, agent_id: str) -> Response:
    given, scope = checked(serializers.DispatchAgent, request.data).validated_data, scope_of(request)
    agents.entry(scope, agent_id, registrations.advertised_capabilities())
    order = RunRequest(DISPATCHES, inputs={"task": given.get("task")}, agent_id=agent_id)
    run = _wait_until_ended(scope, run_operations.create_run(scope, order, now=timezone.now()))
    events, _ = run_operations.read_events(scope, run, after=-1)
    return Response(_document(run, [(event.type, event.payload) for event in events]))


def _wait_until_ended(scope: TenantScope, run: Run) -> Run:
    """Return the run once it has ended or waits for input; raises ``Busy`` after ``DISPATCH_WAIT_S``."""
    deadline = time.monotonic() + DISPATCH_WAIT_S
    while run.status not in runs.ENDS | runs.WAITING:
        if time.monotonic() >= deadline:
            raise Busy("No worker had time for the agent.", retryAfterMs=1000)
        with request_slots.aside():
            time.sleep(LOOK_EVERY)
        run = runs.find(scope.tenant_id, run.id)
    return run


def _document(run: Run, events: list[tuple[str, JSONObject]]) -> JSONObject:
    agent_events = [
        {"type": kind, "agentId": payload["agentId"]} for kind, payload in events if kind.startswith("agent.")
    ]
    words = {RunStatus.COMPLETED: "completed", **dict.fromkeys(runs.WAITING, "escalated")}
    return {"status": words.get(run.status, "failed"), "runId": ids.wire("run", run.id), "events": agent_events}
