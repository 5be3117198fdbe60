"""The wire forms of schedules and heartbeats; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory.host import ids, scheduling, ticks
from memory.host.events import payload_of
from memory.host.heartbeats import HeartbeatOrder, Verdict
from memory.host.models import Heartbeat, MissedFirePolicy, Schedule, ScheduleTick
from memory.host.scheduling import ScheduleOrder
from memory.host.serializing import Closed, Instant, Text
from memory.wire import instant
from openwop_console.runtime.timed.timetable import POLICY

LONGEST_INTERVAL_S = 90 * 86_400
NOT_A_NAME = "must be letters, digits, '.', '_' and '-', at most 128"


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
    missedTicks = serializers.IntegerField(required=False, min_value=1, max_value=ticks.COUNTED)


class TickHeartbeat(Closed):
    """The body of the seam of heartbeats: one tick, with what it observes."""

    heartbeatId = Text(max_length=128)
    observedState = serializers.DictField()
    simulateSlowMs = serializers.IntegerField(required=False, min_value=0, max_value=60_000)


def schedule_document(schedule: Schedule) -> dict[str, Any]:
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


def tick_document(tick: ScheduleTick) -> dict[str, Any]:
    """``missed`` is how many ticks before it got no run of their own."""
    without = "skipped" if tick.code == scheduling.SKIPPED else "refused"
    return {
        "tickAt": instant(tick.tick_at),
        "firedAt": instant(tick.fired_at),
        "outcome": "fired" if tick.run_id else without,
        **({"runId": ids.wire("run", tick.run_id)} if tick.run_id else {"code": tick.code}),
        "missed": tick.missed,
        "missedIsExact": tick.missed < ticks.COUNTED,
    }


def heartbeat_document(heartbeat: Heartbeat) -> dict[str, Any]:
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


def verdict_document(verdict: Verdict, heartbeat_id: str, *, started: bool) -> dict[str, Any]:
    """What one tick of a seam came to; the facts name the heartbeat as the caller does."""
    facts = [verdict.evaluated, *([verdict.transition] if verdict.transition else [])]
    told = [payload_of(fact) | {"heartbeatId": heartbeat_id} for fact in facts]
    return {"evaluated": told[:1], "stateChanged": told[1:], "enqueuedRuns": int(started)}
