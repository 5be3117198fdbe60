"""The queue: no task is delivered twice while it runs, and one whose worker died is taken over by its lease."""

import ast
import pydoc
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage
from django_q.tasks import async_task

from memory import passes
from memory.host import runs
from memory.passes import orders
from memory.passes.orders import RequestedPass
from memory.tasks import TASKS
from openwop_console.process import scheduler
from openwop_console.process.queue import ADVANCE, DueRuns, Queue
from openwop_console.runtime import run_operations, tasks
from openwop_console.runtime.run_operations import RunRequest
from tests import building
from tests.fixtures_queue import Drain

SECONDS = {"": settings.TASK_TIMEOUT, "settings.PASS_TIMEOUT": settings.PASS_TIMEOUT}


def queued_tasks() -> Iterator[tuple[str, float]]:
    """Every task that the product queues, as the source names it, with the seconds that it may take."""
    packages = ("memory", "proposals", "openwop_console")
    paths = (path for package in packages for path in (settings.BASE_DIR / package).rglob("*.py"))
    for path in (path for path in paths if "async_task(" in path.read_text()):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "async_task":
                given = {each.arg: ast.unparse(each.value) for each in node.keywords}
                yield ast.unparse(node.args[0]).strip("'"), SECONDS[given.get("timeout", "")]


def test_a_task_is_not_delivered_again_while_it_waits_for_two_others_and_runs() -> None:
    found = dict(queued_tasks())
    assert {"memory.tasks.forget", "task", "timer.task"} <= found.keys()
    assert found["task"] == settings.PASS_TIMEOUT > settings.TASK_TIMEOUT
    named = {*(name for name in found if name.startswith("memory.")), *(timer.task for timer in scheduler.TIMERS)}
    assert all(
        callable(pydoc.locate(name)) for name in ["memory.tasks.carry_out_pass", *named, *TASKS.values(), ADVANCE]
    )
    assert {name for name, seconds in found.items() if 3 * seconds >= Conf.RETRY} == set()
    assert Conf.QUEUE_LIMIT <= Conf.WORKERS


def queued() -> list[str]:
    """The tasks that a worker may fetch now."""
    return [row.func().rpartition(".")[2] for row in OrmQ.objects.filter(lock__lte=timezone.now()).order_by("id")]


def fetch() -> None:
    """A worker has fetched all that is queued."""
    OrmQ.objects.update(lock=timezone.now() + timedelta(seconds=Conf.RETRY))


@pytest.mark.engines
@pytest.mark.django_db
def test_what_a_dead_worker_held_is_queued_again_when_its_lease_ends(drain: Drain) -> None:
    now, acme = timezone.now(), building.scope()
    before = now - passes.LEASE.lasts
    run = run_operations.create_run(acme, RunRequest("conformance-noop"), now=before)
    row = orders.order(acme, RequestedPass("compact", "notes"), now=before)
    fetch()
    assert runs.claim(acme.tenant_id, run.id, holder="dead/1", now=before)
    assert passes.claim(acme.tenant_id, row.id, holder="dead/2", now=before)
    assert runs.due(now=runs.LEASE.end(before) - timedelta(seconds=1)) == []
    assert [due.run_id for due in runs.due(now=now)] == [run.id]
    assert passes.unclaimed(now=passes.LEASE.end(before) - timedelta(seconds=1)) == []

    scheduler.Scheduler().tick(now)
    assert "carry_out_pass" in queued()
    drain()
    assert runs.find(acme.tenant_id, run.id).status == "completed"
    ended = passes.find(acme.tenant_id, row.id)
    assert ended
    assert ended.state in passes.OVER
    assert ended.attempts == 2


@pytest.mark.engines
@pytest.mark.django_db
def test_a_run_is_no_task_of_the_queue_and_is_handed_out_again_when_no_worker_claims_it() -> None:
    acme, now = building.scope(), timezone.now()
    run = run_operations.create_run(acme, RunRequest("conformance-noop"), now=now)
    assert queued() == []
    due = DueRuns()
    for seconds, count in ((0, 1), (0.25, 0), (30, 0), (30.25, 1), (60.25, 0), (60.5, 1)):
        at = now + timedelta(seconds=seconds)
        assert due.take(runs.due(now=at), now=at) == [(acme.tenant_id, run.id, now)] * count
    late = now + timedelta(seconds=61)
    assert runs.claim(acme.tenant_id, run.id, holder="a/1", now=late)
    assert due.take(runs.due(now=late), now=late) == []
    runs.hand_back(runs.find(acme.tenant_id, run.id), now=late)
    assert [each.ready_at for each in due.take(runs.due(now=late), now=late)] == [late]


@pytest.mark.engines
@pytest.mark.django_db
def test_the_queue_gives_what_is_queued_and_the_runs_that_are_due_once(monkeypatch: pytest.MonkeyPatch) -> None:
    acme, now = building.scope(), timezone.now()
    for _ in range(Conf.WORKERS + 1):
        run_operations.create_run(acme, RunRequest("conformance-noop"), now=now)
    async_task("memory.tasks.sweep")
    monkeypatch.setattr(Queue, "_wait", lambda self: None)
    broker: Any = Queue()
    given = [[SignedPackage.loads(task) | {"ack_id": ack_id} for ack_id, task in broker.dequeue()] for _ in range(3)]
    assert [[task["func"] for task in each] for each in given] == [
        ["memory.tasks.sweep", *[ADVANCE] * Conf.WORKERS],
        [ADVANCE],
        [],
    ]
    advancing = [task for each in given for task in each if task["func"] == ADVANCE]
    assert {task["ack_id"] for task in advancing} == {None}, "there is no row to remove"
    for task in advancing:
        tasks.advance(*task["args"])
    assert runs.due(now=timezone.now()) == []
