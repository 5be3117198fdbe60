"""``manage.py console`` itself: the real processes, on both databases."""

import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import httpx
import psutil
import pytest
from django.conf import settings

from openwop_console import supervision

pytestmark = pytest.mark.engines

# Where the database has no part, once is enough.
once = pytest.mark.only_db("sqlite")


def one_line(text: str) -> str:
    assert len(text.splitlines()) == 1, text
    return text


def test_it_answers_until_sigterm_leaves_nothing_behind_and_starts_again_also_after_a_crash(empty_console_process):
    empty_console_process.start()
    assert f"Console: {empty_console_process.url}/\n" in empty_console_process.output
    assert len(empty_console_process.processes()) >= 4  # this one, web, the worker and its children

    assert empty_console_process.terminate() == 0

    assert empty_console_process.left_behind() == []
    assert "Traceback" not in empty_console_process.output

    empty_console_process.start()
    empty_console_process.kill()
    empty_console_process.start()
    assert empty_console_process.terminate() == 0


@once
def test_when_the_supervisor_alone_is_killed_the_others_follow_and_the_next_console_starts_at_once(console_process):
    console_process.start()
    supervisor, *_ = console_process.processes()

    supervisor.kill()
    supervisor.wait(5)

    console_process.start()
    assert console_process.left_behind() == []
    assert console_process.terminate() == 0


@once
def test_a_second_console_on_the_same_data_is_refused_and_the_first_goes_on(console_process):
    console_process.start()

    second = console_process.manage("console", "--bind", "127.0.0.1:1")

    assert second.returncode == 1
    assert "another console (process " in one_line(second.stderr)
    with urlopen(f"{console_process.url}/healthz") as answer:
        assert answer.status == 200


def started_worker(console_process, *options):
    return subprocess.Popen(
        [sys.executable, "manage.py", "console", "--only", "worker", *options],
        cwd=settings.BASE_DIR,
        env=console_process.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_web_and_worker_can_be_started_apart_and_share_one_data_folder(console_process):
    console_process.start("--only", "web", "--web-processes", "1", "--web-threads", "1")
    (web,) = console_process.child("granian").children()
    few, most = web.rlimit(psutil.RLIMIT_NOFILE)
    assert few >= min(most, supervision.CONNECTIONS) or few == psutil.RLIM_INFINITY
    console_process.manage("create_tenant", "acme")
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        run = client.post("/v1/runs", json={"workflowId": "conformance-noop"}).json()["runId"]
        time.sleep(2)
        assert client.get(f"/v1/runs/{run}").json()["status"] == "pending"

        worker = started_worker(console_process, "--workers", "1")
        try:
            deadline = time.monotonic() + 60
            while client.get(f"/v1/runs/{run}").json()["status"] != "completed":
                assert time.monotonic() < deadline
                time.sleep(0.2)
            again = console_process.manage("console", "--only", "worker")
            assert again.returncode == 1
            assert "runs the worker on the data folder" in one_line(again.stderr)
        finally:
            worker.terminate()
            told, _ = worker.communicate(timeout=30)
        assert worker.returncode == 0, told
        assert "Console: worker started\n" in told
        assert client.get("/healthz").status_code == 200
    both = console_process.manage("console", "--bind", "127.0.0.1:1")
    assert "runs the web on the data folder" in one_line(both.stderr)
    assert console_process.terminate() == 0


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
def test_an_option_that_would_do_nothing_is_refused(console_process, options, words):
    refused = console_process.manage("console", *options)

    assert refused.returncode == 1
    assert words in one_line(refused.stderr)


@once
def test_a_port_that_is_taken_is_refused(console_process):
    with socket.create_server(("127.0.0.1", console_process.port)):
        refused = console_process.manage("console", "--bind", f"127.0.0.1:{console_process.port}")

    assert refused.returncode == 1
    assert f"cannot listen on 127.0.0.1:{console_process.port}" in one_line(refused.stderr)


@once
def test_what_is_no_address_is_refused(console_process):
    refused = console_process.manage("console", "--bind", "everywhere")

    assert refused.returncode == 1
    assert "'everywhere' is not an address" in one_line(refused.stderr)


@once
def test_a_data_folder_that_cannot_be_written_is_refused(console_process):
    console_process.data_folder.mkdir()
    (console_process.data_folder / "secret_key").write_text("kept")
    (console_process.data_folder / "console.lock").mkdir()

    refused = console_process.manage("console")

    assert refused.returncode == 1
    assert f"the data folder {console_process.data_folder} cannot be written to" in one_line(refused.stderr)


@once
def test_a_database_that_cannot_be_reached_is_refused(console_process):
    nowhere = "postgresql://nobody:hidden@127.0.0.1:1/none"

    refused = console_process.manage("console", "--bind", f"127.0.0.1:{console_process.port}", DATABASE_URL=nowhere)

    assert refused.returncode == 1
    assert "the database cannot be used" in one_line(refused.stderr)
    assert "hidden" not in refused.stderr


@once
def test_when_the_worker_dies_the_console_ends_and_says_so(console_process):
    console_process.start()
    console_process.processes()

    console_process.child("qcluster").kill()

    assert console_process.wait() == 1
    assert "the worker process ended" in console_process.output
    assert console_process.left_behind() == []


@once
def test_when_the_web_server_dies_the_console_ends_and_says_so(console_process):
    console_process.start()
    console_process.processes()

    console_process.child("granian").kill()

    assert console_process.wait() == 1
    assert "the web process ended" in console_process.output
    assert console_process.left_behind() == []


@once
def test_a_web_process_that_dies_is_replaced(console_process):
    console_process.start("--web-processes", "2")
    granian = console_process.child("granian")
    one = granian.children()[0]

    one.kill()

    deadline = time.monotonic() + 20
    while (
        len([child for child in granian.children() if child.status() != psutil.STATUS_ZOMBIE]) < 2 or one.is_running()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert console_process.terminate() == 0


QUEUE_A_NAP = "from django_q.tasks import async_task; async_task('time.sleep', {})"
COUNT_THE_QUEUE = "from django_q.models import OrmQ; print('queued:', OrmQ.objects.count())"


def test_a_task_in_hand_at_sigterm_is_finished_first(console_process):
    console_process.start()
    console_process.manage("shell", "-c", QUEUE_A_NAP.format(5))
    time.sleep(2)
    began = time.monotonic()

    assert console_process.terminate() == 0

    assert time.monotonic() - began > 1
    assert "queued: 0" in console_process.manage("shell", "-c", COUNT_THE_QUEUE).stdout


@once
def test_asked_a_second_time_by_ctrl_c_it_does_not_wait_for_the_task_in_hand_which_stays_queued(console_process):
    console_process.start()
    console_process.manage("shell", "-c", QUEUE_A_NAP.format(50))
    time.sleep(2)
    supervisor, *_ = console_process.processes()

    supervisor.send_signal(signal.SIGINT)
    time.sleep(1.5)
    assert supervisor.is_running()
    supervisor.send_signal(signal.SIGINT)

    assert console_process.wait(5) == 0
    assert console_process.left_behind() == []
    assert "queued: 1" in console_process.manage("shell", "-c", COUNT_THE_QUEUE).stdout
