"""The real ``manage.py console``, as its own processes on its own data."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import httpx
import psutil
import pytest
from django.conf import settings

from openwop_console.process import supervisor
from tests import plugin, templates

if TYPE_CHECKING:
    from tests.collecting import Collector

# Commands that one process runs one after the other: to start Django takes longer than each of them.
QUICK = {
    "backup",
    "create_tenant",
    "create_operator",
    "create_api_key",
    "createcachetable",
    "deactivate_operator",
    "install_workflow",
    "install_agent",
    "import_workflow",
    "restore",
    "rotate_vault_key",
    "run_pass",
    "set_operator_role",
    "shell",
    "synthesize",
}
# Variables that are read when Django starts: a command that is given one of them needs a start of its own.
SETTINGS = ("DATABASE_", "DJANGO_", "OPENWOP_", "OTEL_")
RUN_COMMANDS = """
import contextlib, io, json, os, sys, traceback
from django.core.management import execute_from_command_line
from django.db import connections
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "openwop_console.settings")
answers = sys.stdout
for line in sys.stdin:
    request = json.loads(line)
    out, err, code = io.StringIO(), io.StringIO(), 0
    typed, sys.stdin = sys.stdin, io.StringIO(request["typed"])
    os.environ |= request["environment"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            execute_from_command_line(["manage.py", *request["words"]])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            code = traceback.print_exc() or 1
        connections.close_all()
    sys.stdin = typed
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


class ConsoleProcess:
    """One host's data, and the console that runs on it, or does not."""

    def __init__(self, data_folder: Path, database_url: str | None, *, empty: bool = False) -> None:
        self.data_folder = data_folder
        self._begins_empty = empty or database_url is not None
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        ours = {key: value for key, value in os.environ.items() if not key.startswith(("OPENWOP_", "DJANGO_"))}
        # One web process starts sooner than two; tests of races between processes ask for two.
        self.environment = ours | {"OPENWOP_DATA_DIR": str(data_folder), "OPENWOP_WEB_PROCESSES": "1"}
        if database_url:
            self.environment["DATABASE_URL"] = database_url
        self._log = data_folder.with_suffix(".log")
        self._supervisor: psutil.Popen | None = None
        self._commands: subprocess.Popen[str] | None = None
        self._one_command_at_a_time = threading.Lock()
        self._seen: dict[int, psutil.Process] = {}

    @property
    def output(self) -> str:
        """What the console has said so far, on both streams."""
        return self._log.read_text() if self._log.exists() else ""

    def start(self, *options: str, **environment: str) -> None:
        """The console answers on ``url``, unless its options are for a worker alone; ``environment`` is added to its
        own."""
        self.make_tables()
        serves = "worker" not in options
        where = ("--bind", f"127.0.0.1:{self.port}") if serves else ()
        with self._log.open("ab") as log:
            self._supervisor = psutil.Popen(
                [sys.executable, "manage.py", "console", *where, *options],
                cwd=settings.BASE_DIR,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # A killed test run leaves no console behind.
                preexec_fn=partial(supervisor.die_with_parent, os.getpid()),
            )
        ready = "Console: http" if serves else "Console: worker started"
        announced = self.output.count(ready)
        deadline = time.monotonic() + 300  # with the migrations, on a machine that is busy
        while self.output.count(ready) == announced:
            assert self._supervisor.poll() is None, f"the console ended: {self.output}"
            assert time.monotonic() < deadline, f"the console does not get ready: {self.output}"
            time.sleep(0.05)
        if serves:
            with urlopen(f"{self.url}/healthz", timeout=5) as answer:
                assert answer.status == 200

    def make_tables(self) -> None:
        """The database has its tables, unless it is to begin empty: commands may come before the console."""
        if not self._begins_empty and not self.data_folder.exists():
            self.data_folder.mkdir(mode=0o700)
            templates.copy_file(self.data_folder / "console.sqlite3")

    @property
    def runs(self) -> bool:
        """Whether its supervisor does."""
        return self._supervisor is not None and self._supervisor.poll() is None

    def processes(self) -> list[psutil.Process]:
        """The supervisor and all that descends from it, whatever group it is in."""
        assert self._supervisor
        family = [self._supervisor, *self._supervisor.children(recursive=True)]
        self._seen |= {process.pid: process for process in family}
        return family

    def child(self, words: str) -> psutil.Process:
        """The supervisor's own child whose command has ``words`` in it."""
        assert self._supervisor
        return next(child for child in self._supervisor.children() if words in " ".join(child.cmdline()))

    def terminate(self) -> int:
        """SIGTERM to the supervisor; its exit status once it is gone."""
        assert self._supervisor
        self.processes()
        self._supervisor.terminate()
        return self.wait()

    def wait(self, seconds: float = 30) -> int:
        """The supervisor's exit status once it is gone."""
        assert self._supervisor
        status: int = self._supervisor.wait(seconds)
        return status

    def kill(self) -> None:
        """SIGKILL to every process at once, as a power cut would; none is left."""
        family = self.processes()
        for signal_to in (psutil.Process.suspend, psutil.Process.kill):
            for process in family:
                # The kernel ends the children of one that is gone, perhaps before this comes to them.
                with suppress(psutil.NoSuchProcess):
                    signal_to(process)
        assert self._supervisor
        self._supervisor.wait(10)
        assert self.left_behind(seconds=10) == []

    def end(self) -> None:
        """Stop whatever still runs."""
        if self._commands:
            self._commands.kill()
            self._commands.communicate()
            self._commands = None
        if self.runs:
            self.kill()

    def left_behind(self, seconds: float = 3) -> list[psutil.Process]:
        """Processes seen before that still live after ``seconds``."""
        return psutil.wait_procs(list(self._seen.values()), timeout=seconds)[1]

    def manage(self, *words: str, typed: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """``manage.py`` on the same data, run to its end; ``typed`` is its standard input."""
        if words[0] in QUICK and not any(name.startswith(SETTINGS) for name in environment):
            with self._one_command_at_a_time:
                return self._run_quickly(words, typed, environment)
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=settings.BASE_DIR,
            env=self.environment | environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def shell(self, script: str) -> str:
        """The last line that the script printed, run in this host's Django."""
        answer = self.manage("shell", "--no-imports", "-c", script)
        assert answer.returncode == 0, answer.stderr
        return (answer.stdout.strip().splitlines() or [""])[-1]

    def key(self, tenant: str, role: str, *agents: str) -> str:
        """A fresh API key; the tenant is made when it is not there."""
        self.manage("create_tenant", tenant)
        bound = [word for agent in agents for word in ("--agent", agent)]
        made = self.manage("create_api_key", "--tenant", tenant, "--role", role, *bound)
        assert made.returncode == 0, made.stderr
        assert made.stdout.count("\n") == 1, "the key is the only line on standard output"
        return made.stdout.strip()

    def client(self, tenant: str, role: str = "owner") -> httpx.Client:
        """A client of the console with a fresh key."""
        return httpx.Client(base_url=self.url, headers={"X-API-Key": self.key(tenant, role)}, timeout=60)

    def _run_quickly(
        self, words: tuple[str, ...], typed: str, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """The same in a process that is started once and runs every quick command of this host."""
        if self._commands is None:
            self._commands = subprocess.Popen(
                [sys.executable, "-c", RUN_COMMANDS],
                cwd=settings.BASE_DIR,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._commands.stdin
        assert self._commands.stdout
        request = {"words": words, "typed": typed, "environment": environment}
        print(json.dumps(request), file=self._commands.stdin, flush=True)
        code, out, err = json.loads(self._commands.stdout.readline())
        return subprocess.CompletedProcess(["manage.py", *words], code, out, err)


def _free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        port: int = asking.getsockname()[1]
        return port


@pytest.fixture
def console_process(tmp_path: Path) -> Iterator[ConsoleProcess]:
    """A console that is not started yet, on a fresh data folder and a fresh database of this worker's engine."""
    with fresh_database() as url:
        process = ConsoleProcess(tmp_path / "data", url)
        yield process
        process.end()


@pytest.fixture(scope="session")
def shared_console(
    tmp_path_factory: pytest.TempPathFactory, until_the_last: ExitStack, shared_collector: "Collector"
) -> ConsoleProcess:
    """One console that runs for the tests of both protocols, of all clients, and of what agents do there: each has
    tenants or agents of its own. It may connect to servers on 127.0.0.1, and tells a collector what it does."""
    database = until_the_last.enter_context(fresh_database())
    process = ConsoleProcess(tmp_path_factory.mktemp("shared") / "data", database)
    until_the_last.callback(process.end)
    telemetry = {"OTEL_EXPORTER_OTLP_ENDPOINT": shared_collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    process.start("--web-processes", "2", OPENWOP_OUTBOUND_ALLOW="127.0.0.1", **telemetry)
    return process


@pytest.fixture(scope="session")
def shared_collector(until_the_last: ExitStack) -> "Collector":
    """The collector of OpenTelemetry that the shared console tells."""
    from tests import collecting  # its libraries take as long to import as a test takes

    return until_the_last.enter_context(collecting.collecting())


@contextmanager
def fresh_database(*, empty: bool = False) -> Iterator[str | None]:
    """A new PostgreSQL database, dropped at the end, with the tables there unless it is to be ``empty``; on SQLite
    none, since the data folder has its own."""
    if plugin.engine() == plugin.SQLITE:
        yield None
        return
    name = f"console_{uuid.uuid4().hex}"
    if empty:
        templates.execute("CREATE DATABASE {}", name)
    else:
        templates.copy_database(name)
    yield templates.url_of(name)
    templates.execute("DROP DATABASE {} WITH (FORCE)", name)
