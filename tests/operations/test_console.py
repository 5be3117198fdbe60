"""``manage.py console`` itself: the real processes, on both databases."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar
from urllib.request import urlopen

import psutil
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from openwop_console.management.commands.console import Command
from openwop_console.process import supervisor as process_supervisor
from tests.fixtures_console import ConsoleProcess, fresh_database

Found = TypeVar("Found")


# Where the database has no part, once is enough.
once = pytest.mark.only_db("sqlite")


def until(found: Callable[[], Found | None], seconds: float = 20) -> Found:
    """What is found, as soon as it is."""
    deadline = time.monotonic() + seconds
    while (thing := found()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return thing


def one_line(text: str) -> str:
    assert len(text.splitlines()) == 1, text
    return text


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A host that begins on a database without tables, as a new user's; tests end its console, each in another way."""
    with fresh_database(empty=True) as url:
        process = ConsoleProcess(tmp_path_factory.mktemp("console") / "data", url, empty=True)
        try:
            process.start("--web-processes", "2")
            yield process
        finally:
            process.end()


@pytest.fixture
def running(started: ConsoleProcess) -> ConsoleProcess:
    """Its console, started unless it runs."""
    if not started.runs:
        started.start()
    return started


def test_it_makes_its_tables_answers_and_runs_web_and_worker(running):
    assert f"Console: {running.url}/\n" in running.output
    assert len(running.processes()) >= 4  # this one, web, the worker and its children
    with urlopen(f"{running.url}/healthz") as answer:
        assert answer.status == 200


@once
def test_two_hundred_threads_share_two_pools_of_memory(running):
    """Eight for each core each kept the most that their threads had: 400 MB that nothing used."""
    assert {each.environ().get("MALLOC_ARENA_MAX") for each in running.child("granian").children()} == {"2"}


@once
def test_a_second_console_on_the_same_data_is_refused_and_the_first_goes_on(running, refused):
    assert "another console (process " in refused("--bind", "127.0.0.1:1", folder=running.data_folder)
    with urlopen(f"{running.url}/healthz") as answer:
        assert answer.status == 200


@once
def test_a_web_process_that_dies_is_replaced(running):
    granian = running.child("granian")
    one, *others = granian.children()

    one.kill()

    deadline = time.monotonic() + 20
    while one.is_running() or len(
        [child for child in granian.children() if child.status() != psutil.STATUS_ZOMBIE]
    ) <= len(others):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.engines
@once
def test_when_the_supervisor_alone_is_killed_the_others_follow_and_the_next_console_starts_at_once(running):
    """A web process that is being replaced at that moment ends, too."""
    supervisor, *_ = running.processes()
    granian = running.child("granian")
    before = granian.children()
    before[0].kill()
    replacement = until(lambda: next((child for child in granian.children() if child not in before), None))
    replacement.suspend()  # Django is not loaded yet, so nothing has tied it to its parent
    running.processes()

    supervisor.kill()
    granian.wait(5)
    replacement.resume()

    running.start()
    replacement.wait(20)
    assert running.left_behind() == []


# The parent is gone before its child has come to the call that ties the two.
FORK_LATE = """
import os, time
os.register_at_fork(after_in_child=lambda: time.sleep(0.5))
from openwop_console.process import supervisor
supervisor.tie_descendants()
if os.fork() == 0:
    time.sleep(10)
    print("The child lives on.")
os._exit(0)
"""


@once
def test_a_child_whose_parent_died_before_it_was_tied_ends_at_once():
    # The child has the output open: it is read to its end when the child is gone.
    ran = subprocess.run([sys.executable, "-c", FORK_LATE], capture_output=True, text=True, timeout=20, check=True)

    assert ran.stdout == ran.stderr == ""


@once
def test_tasks_are_done_after_the_processes_that_waited_for_them_were_killed(running):
    first, *waiting = running.child("qcluster").children(recursive=True)

    first.terminate()  # alone it goes on; what it started has no such shield
    for process in waiting:
        process.kill()

    with running.client("acme") as owner:
        sent = owner.post("/v1/host/console/forget/previews", json={"subject": "Marta Kowalska"})
        preview = f"/v1/host/console/forget/previews/{sent.json()['previewId']}"
        until(lambda: owner.get(preview).json()["state"] == "ready" or None, seconds=40)


@once
def test_when_the_worker_ends_the_console_ends_and_says_so_though_all_its_processes_were_signalled(running):
    running.processes()
    worker = running.child("qcluster")

    for process in (*worker.children(recursive=True), worker):
        process.terminate()

    assert running.wait() == 1
    assert "the worker process ended" in running.output
    assert running.left_behind() == []


QUEUE_A_NAP = "from django_q.tasks import async_task; async_task('time.sleep', 50)"
COUNT_NAPS = """
from django.utils import timezone
from django_q.models import OrmQ
naps = [row for row in OrmQ.objects.all() if row.func() == "time.sleep"]
print(len(naps), "taken" if any(row.lock > timezone.now() for row in naps) else "waiting")
"""


WORKER = ("--only", "worker")


def started_worker(console_process, *options):
    return psutil.Popen(
        [sys.executable, "manage.py", "console", *WORKER, *options],
        cwd=settings.BASE_DIR,
        env=console_process.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# Each part locks a file of the data folder. What a worker that is gone had in hand is gone on with on both engines in
# test_kill.py.
@once
def test_web_and_worker_can_be_started_apart_and_share_one_data_folder(console_process, refused):
    console_process.start("--only", "web", "--web-processes", "1", "--web-threads", "1")
    (web,) = console_process.child("granian").children()
    few, most = web.rlimit(psutil.RLIMIT_NOFILE)
    assert few >= min(most, process_supervisor.CONNECTIONS) or few == psutil.RLIM_INFINITY
    with console_process.client("acme") as client:
        run = client.post("/v1/runs", json={"workflowId": "conformance-noop"}).json()["runId"]
        time.sleep(0.5)
        assert client.get(f"/v1/runs/{run}").json()["status"] == "pending"

        worker = started_worker(console_process, "--workers", "1")
        try:
            deadline = time.monotonic() + 60
            while client.get(f"/v1/runs/{run}").json()["status"] != "completed":
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert "runs the worker on the data folder" in refused(*WORKER, folder=console_process.data_folder)
            _asked_a_second_time_by_ctrl_c_it_does_not_wait_for_the_task_in_hand_which_stays_queued(
                worker, console_process
            )
        finally:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
            told, _ = worker.communicate(timeout=30)
        assert "Console: worker started\n" in told
        assert client.get("/healthz").status_code == 200
    assert "runs the web on the data folder" in refused("--bind", "127.0.0.1:1", folder=console_process.data_folder)
    _when_the_web_server_dies_the_console_ends_and_says_so(console_process)


def _when_the_web_server_dies_the_console_ends_and_says_so(console_process):
    console_process.processes()

    console_process.child("granian").kill()

    assert console_process.wait() == 1
    assert "the web process ended" in console_process.output
    assert console_process.left_behind() == []
    assert "Traceback" not in console_process.output


def _asked_a_second_time_by_ctrl_c_it_does_not_wait_for_the_task_in_hand_which_stays_queued(worker, console_process):
    console_process.shell(QUEUE_A_NAP)
    deadline = time.monotonic() + 20
    while console_process.shell(COUNT_NAPS) != "1 taken":
        assert time.monotonic() < deadline, "nobody takes the task"
    family = worker.children(recursive=True)

    worker.send_signal(signal.SIGINT)
    time.sleep(1.2)  # a second one within a second is the same one
    assert worker.is_running()
    worker.send_signal(signal.SIGINT)

    assert worker.wait(5) == 0
    assert psutil.wait_procs(family, timeout=3)[1] == []
    assert console_process.shell(COUNT_NAPS) == "1 taken"


@pytest.fixture
def refused(tmp_path, settings):
    """What the command says that refuses to start on the folder, by default an empty one."""

    def refused(*options, folder=tmp_path):
        settings.OPENWOP_DATA_DIR = folder
        handlers = {number: signal.getsignal(number) for number in process_supervisor.stop_signals()}
        try:
            with pytest.raises(CommandError) as refusal:
                call_command("console", *options)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return one_line(str(refusal.value))

    return refused


@once
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only", "worker", "--bind", "127.0.0.1:1"), "--bind belongs to the web"),
        (("--only", "worker", "--web-threads", "2"), "--web-threads belongs to the web"),
        (("--only", "web", "--workers", "2"), "--workers belongs to the worker"),
        (("--web-processes", "0"), "--web-processes must be at least 1"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(refused, options, words):
    assert words in refused(*options)


@once
def test_it_goes_on_when_whoever_read_what_it_says_is_gone():
    reading, writing = os.pipe()
    os.close(reading)
    with suppress(BrokenPipeError), open(writing, "w") as pipe:  # noqa: PTH123  # a number, not a path
        Command(stdout=pipe)._print_line("Console: ending")  # a whole console would show no more
        said = True
    assert said


@once
def test_a_port_that_is_taken_is_refused(refused):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        assert f"cannot listen on {taken}" in refused("--bind", taken)


@once
def test_what_is_no_address_is_refused(refused):
    assert "'everywhere' is not an address" in refused("--bind", "everywhere")


@once
def test_a_data_folder_that_cannot_be_written_is_refused(refused, tmp_path):
    (tmp_path / "console.lock").mkdir()
    assert f"the data folder {tmp_path} cannot be written to" in refused()


@pytest.mark.engines
@once
def test_a_database_that_cannot_be_reached_is_refused(console_process):
    nowhere = "postgresql://nobody:hidden@127.0.0.1:1/none"

    refused = console_process.manage("console", "--bind", f"127.0.0.1:{console_process.port}", DATABASE_URL=nowhere)

    assert refused.returncode == 1
    assert "the database cannot be used" in one_line(refused.stderr)
    assert "hidden" not in refused.stderr
