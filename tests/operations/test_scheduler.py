"""The due loop: it goes on whatever a tick does, and however many loops there are, each tick is made once."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import DatabaseError, connection
from django_q.models import OrmQ

from memory import memory_policy
from memory.host import heartbeats, runs, scheduling, webhooks
from memory.host.models import Heartbeat, HostTimer, Run, Schedule, WebhookDelivery
from memory.host.scheduling import QUIET_START, Timer
from memory.models.passes import MemoryPolicy, PassSchedule
from memory.passes import nights, pass_schedules
from memory.passes.pass_schedules import PassTimes
from openwop_console.process import scheduler
from openwop_console.process.scheduler import TIMERS, Scheduler
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import building, hooks
from tests.fixtures_console import ConsoleProcess

pytestmark = pytest.mark.engines
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def queued() -> list[str]:
    return [row.func() for row in OrmQ.objects.order_by("id")]


@pytest.mark.django_db(transaction=True)
def test_a_tick_that_fails_is_logged_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[datetime] = []
    enough = threading.Event()

    def tick(self: Scheduler, now: datetime) -> None:
        heard.append(now)
        if len(heard) == 1:
            raise ValueError("this tick failed")
        enough.set()

    monkeypatch.setattr(Scheduler, "tick", tick)
    monkeypatch.setattr(scheduler, "AFTER_A_FAILURE", 0.01)
    with scheduler.running():
        assert enough.wait(5)
    assert "this tick failed" in caplog.text
    assert all(now.tzinfo is UTC for now in heard)


@pytest.mark.django_db(transaction=True)
def test_after_its_block_the_loop_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheduler, "tick", lambda self, now: None)
    with scheduler.running():
        pass
    assert "scheduler" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.django_db
def test_a_timer_of_the_host_is_queued_after_a_quiet_start_and_then_on_its_beat() -> None:
    scheduling.sync_timers([Timer("sweep", "memory.tasks.sweep", 1)], now=NOW - QUIET_START)
    loop = Scheduler()
    for minutes, count in ((-0.1, 0), (0, 1), (0.9, 1), (1, 2), (1.1, 2), (30.5, 3), (30.9, 3), (31, 4)):
        loop.tick(NOW + timedelta(minutes=minutes))
        assert queued() == ["memory.tasks.sweep"] * count
    assert HostTimer.objects.get().next_at == NOW + timedelta(minutes=32)


@pytest.mark.django_db
def test_the_host_has_its_own_timers_and_no_other_and_a_start_does_not_ring_them_again() -> None:
    scheduling.sync_timers([Timer("of an earlier release", "os.system", 1)], now=NOW - QUIET_START)
    scheduling.sync_timers(TIMERS, now=NOW - QUIET_START)
    assert Scheduler().tick(NOW) == len(TIMERS)
    scheduling.sync_timers(TIMERS, now=NOW + timedelta(seconds=1))
    assert Scheduler().tick(NOW + timedelta(seconds=31)) == 0
    assert set(queued()) == {timer.task for timer in TIMERS}
    assert {timer.name for timer in TIMERS} == set(HostTimer.objects.values_list("name", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_was_put_off_while_the_clock_was_ahead_comes_when_it_is_right_again(is_restarted: bool) -> None:
    """A day ahead and back, without a storm of what was missed; a console that starts afterwards corrects it too."""
    acme, day = building.scope(), timedelta(days=1)
    building.install("acme", building.definition("noop", building.node("start", "core.noop")))
    order = scheduling.ScheduleOrder("hourly", "noop", acme.principal.id, cron="0 * * * *")
    scheduling.create_schedule(acme.tenant_id, order, now=NOW)
    beat = heartbeats.HeartbeatOrder("beat", acme.principal.id, 300, {})
    heartbeats.create_heartbeat(acme.tenant_id, beat, now=NOW)
    pass_schedules.set_schedule(acme, PassTimes(kind="compact", memory_ref="notes", cron="30 * * * *"), now=NOW)
    memory_policy.begin_nights(building.tenant("globex").id, now=NOW)
    scheduling.sync_timers(TIMERS, now=NOW)

    def waiting() -> list[timedelta]:
        rows = (Schedule, Heartbeat, PassSchedule)
        ticks = [each.objects.of(acme.tenant_id).values_list("next_at", flat=True).get() for each in rows]
        found = [tick - NOW for tick in ticks if tick]
        night = MemoryPolicy.objects.get(tenant_id=building.tenant("globex").id).next_night_at
        assert night
        return [*found, night - NOW, max(HostTimer.objects.values_list("next_at", flat=True)) - NOW]

    before, loop = waiting(), Scheduler()
    loop.tick(NOW)
    loop.tick(NOW + day + timedelta(minutes=1))
    nights.order_nights(queue=lambda _: None, now=NOW + day + timedelta(minutes=1))
    assert all(each > day for each in waiting()), waiting()
    tasks = len(queued())
    loop = Scheduler() if is_restarted else loop
    for second in range(0, 60, 10):
        loop.tick(NOW + timedelta(minutes=1, seconds=second))
    late = timedelta(minutes=61)
    assert all(now <= max(then, late) for now, then in zip(waiting(), before, strict=True)), waiting()
    assert len(queued()) - tasks <= 2 * len(TIMERS)
    assert loop._look_at_commitments(NOW + timedelta(minutes=3)) == 0
    assert loop._round.looked == NOW + timedelta(minutes=3)


@pytest.mark.django_db
def test_the_start_of_a_loop_moves_no_first_night_and_passes_over_a_zone_that_is_no_more() -> None:
    """A newcomer's first night is at least an hour away, also when the console starts right before the night."""
    soon = NOW.replace(hour=1, minute=50)
    memory_policy.begin_nights(building.tenant("acme").id, now=soon)
    memory_policy.begin_nights(building.tenant("globex").id, now=soon + timedelta(days=9))
    memory_policy.begin_nights(building.tenant("initech").id, now=soon + timedelta(days=9))
    rows = MemoryPolicy.objects.written_by(memory_policy.WRITER)
    rows.filter(tenant_id=building.tenant("globex").id).update(timezone="Atlantis/Poseidonis")
    first = MemoryPolicy.objects.get(tenant_id=building.tenant("acme").id).next_night_at
    order = scheduling.ScheduleOrder("hourly", "noop", building.scope().principal.id, cron="0 * * * *")
    building.install("acme", building.definition("noop", building.node("start", "core.noop")))
    scheduling.create_schedule(building.tenant("acme").id, order, now=NOW + timedelta(days=9))
    Schedule.objects.written_by(scheduling.WRITER).update(timezone="Atlantis/Poseidonis")
    Scheduler().tick(soon + timedelta(minutes=1))
    nights_of = dict(MemoryPolicy.objects.values_list("tenant_id", "next_night_at"))
    assert nights_of[building.tenant("acme").id] == first
    assert nights_of[building.tenant("initech").id] == first


@pytest.mark.django_db
@pytest.mark.parametrize("is_restarted", [False, True])
def test_waits_of_runs_leases_and_deliveries_of_a_clock_ahead_are_as_long_as_they_were_meant(
    is_restarted: bool,
) -> None:
    """Whatever began a day ahead goes on as if it began now; what was meant for a later time stays."""
    acme, ahead = building.scope(), NOW + timedelta(days=1)
    nodes = [building.node("slow", "core.delay", {"delayMs": 60_000})]
    building.install("acme", building.definition("minute", *nodes))
    half_day = [building.node("slow", "core.delay", {"delayMs": 43_200_000})]
    building.install("acme", building.definition("half-day", *half_day))
    failing = building.definition("failing", building.node("fails", "core.fail"))
    building.install("acme", {**failing, "settings": {"maxRetries": 2, "retryDelayMs": 5_000}})
    gate = building.node("gate", "core.approvalGate", {"timeoutMs": 120_000})
    building.install("acme", building.definition("asking", gate))
    hasty = building.definition("hasty", *half_day)
    building.install("acme", {**hasty, "settings": {"timeout": 180_000}})

    def begin(name: str, at: datetime, *, looks: bool = True) -> Run:
        run = run_operations.create_run(acme, RunRequest(name), now=at)
        return building.advance_at(run, at) if looks else run

    def rests(run: Run, since: datetime = NOW) -> timedelta:
        ready_at = Run.objects.of(run.tenant_id).values_list("ready_at", flat=True).get(id=run.id)
        assert ready_at
        return ready_at - since

    loop = Scheduler()
    loop.tick(NOW)
    meant = begin("half-day", NOW)
    unseen, minute, retried = begin("half-day", ahead, looks=False), begin("minute", ahead), begin("failing", ahead)
    asking, hasty_one, older = begin("asking", ahead), begin("hasty", ahead), begin("failing", NOW)
    building.advance_at(older, ahead)
    held = begin("minute", ahead, looks=False)
    assert runs.claim(held.tenant_id, held.id, holder="dead/1", now=ahead)
    hooks.subscribe("memory.written")
    building.write(acme, building.open_run(acme), "Marta prefers tea.")
    webhooks.fan_out(now=ahead)
    [delivery] = WebhookDelivery.objects.of(acme.tenant_id)
    assert webhooks.claim(delivery, holder="test/1", now=ahead)
    place = (delivery.tenant_id, delivery.id)
    webhooks.record_attempt(*place, holder="test/1", status=None, code="timeout", now=ahead)
    if not is_restarted:
        loop.tick(ahead)
    (Scheduler() if is_restarted else loop).tick(NOW)
    [delivery] = WebhookDelivery.objects.of(acme.tenant_id)
    assert delivery.next_at == NOW + webhooks.GAPS[0]
    assert rests(meant) == timedelta(hours=12)
    assert rests(held) == runs.LEASE.lasts
    woken = (unseen, minute, retried, older, asking, hasty_one)
    assert [rests(each) for each in woken] == [timedelta()] * len(woken), "a worker looks again"
    assert [rests(building.advance_at(each, NOW)).seconds for each in (asking, hasty_one)] == [120, 180]
    assert building.advance_at(older, NOW).status == "failed", "its last attempt"
    assert building.advance_at(minute, NOW).status == "running"
    assert rests(minute) == timedelta(minutes=1)
    assert building.advance_at(minute, NOW + timedelta(minutes=1)).status == "completed"
    building.advance_at(retried, NOW)
    assert rests(retried) <= timedelta(seconds=10)


@pytest.mark.django_db(transaction=True)
def test_ten_loops_that_look_at_once_ring_each_timer_once() -> None:
    scheduling.sync_timers(TIMERS, now=NOW - QUIET_START)

    def look(number: int) -> int:
        try:
            return Scheduler().tick(NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(look, range(10))) == len(TIMERS)
    assert sorted(queued()) == sorted(timer.task for timer in TIMERS)


def test_what_cannot_be_fired_stops_nothing_else_and_is_given_up_unless_the_database_is_at_fault() -> None:
    fired: list[Any] = []
    given_up: list[Any] = []

    def fire(key: Any) -> bool:
        if isinstance(key, Exception):
            raise key
        fired.append(key)
        return True

    bug, outage = ValueError("a bug"), DatabaseError("an outage")
    assert scheduling.fire_each("Tick", [1, bug, outage, 2], fire, give_up=given_up.append) == 2
    assert (fired, given_up) == ([1, 2], [bug])


# One of each that was due at midnight, or is now; nothing else runs that could fire it.
DUE = """
from datetime import timedelta
from django.utils import timezone
from memory.passes import pass_schedules
from memory.host import heartbeats, scheduling
from memory.host.heartbeats import HeartbeatOrder
from memory.host.models import Heartbeat, Schedule
from memory.host.scheduling import ScheduleOrder
from memory.models import PassSchedule
from memory.passes.pass_schedules import PassTimes
from openwop_console.process.scheduler import TIMERS
from openwop_console.runtime import heartbeat_evaluation as timed, schedules
from tests import building
now, acme = timezone.now(), building.scope()
building.remember("acme", "A note.")
midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
order = ScheduleOrder("nightly", "conformance-noop", acme.principal.id, cron="0 0 * * *")
schedules.create(acme, order, now=now)
pass_schedules.set_schedule(acme, PassTimes("consolidate", "notes", "0 0 * * *"), now=now)
predicate = {"observe": "memory", "memoryRef": "notes", "expression": "live"}
timed.create(acme, HeartbeatOrder("beat", acme.principal.id, 3600, predicate), now=now)
Schedule.objects.written_by(scheduling.WRITER).update(next_at=midnight)
PassSchedule.objects.written_by(pass_schedules.WRITER).update(next_at=midnight)
Heartbeat.objects.written_by(heartbeats.WRITER).update(next_at=now)
scheduling.sync_timers(TIMERS, now=now - scheduling.QUIET_START + timedelta(seconds=15))
"""
DONE = """
import json
from memory.host.models import HostTimer, Run, RunEvent, ScheduleTick
from memory.models import Pass
from openwop_console.process.scheduler import TIMERS
print(json.dumps({
    "ticks": ScheduleTick.objects.count(),
    "runs": Run.objects.filter(workflow_id="conformance-noop", status="completed").count(),
    "passes": list(Pass.objects.filter(trigger="scheduled").values_list("state", flat=True)),
    "beats": RunEvent.objects.filter(type="heartbeat.evaluated").count(),
    # They were due at the same moment; each is now on its own beat.
    "timers": len(set(HostTimer.objects.values_list("next_at", flat=True))) == len({timer.minutes for timer in TIMERS}),
}))
"""


# To PostgreSQL two processes are what two threads are, which race for each sort of tick in the tests of that sort.
@pytest.mark.only_db("sqlite")
@pytest.mark.django_db
def test_two_clusters_of_workers_alone_fire_whatever_time_starts_each_tick_once(
    console_process: ConsoleProcess,
) -> None:
    console_process.make_tables()
    console_process.manage("createcachetable")
    console_process.shell(DUE)
    clusters = [
        psutil.Popen(
            [sys.executable, "manage.py", "qcluster"],
            cwd=settings.BASE_DIR,
            env=console_process.environment | {"OPENWOP_PROCESS": "worker", "OPENWOP_WORKERS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    family = [process for cluster in clusters for process in (cluster, *cluster.children(recursive=True))]
    try:
        expected = {"ticks": 1, "runs": 1, "passes": ["done"], "beats": 1, "timers": True}
        deadline = time.monotonic() + 120
        while (found := json.loads(console_process.shell(DONE))) != expected:
            assert time.monotonic() < deadline, found
            time.sleep(1)
        time.sleep(1)
        # A minute later, timers are on their beat again, one after another.
        assert json.loads(console_process.shell(DONE)) | {"timers": True} == expected
        family += [process for cluster in clusters for process in cluster.children(recursive=True)]
        for cluster in clusters:
            cluster.terminate()
        assert [cluster.wait(30) for cluster in clusters] == [0, 0]
    finally:
        for process in psutil.wait_procs(family, timeout=3)[1]:
            process.kill()
