"""``manage.py console``: the whole host in one foreground process group."""

import contextlib
import signal
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection, connections
from django.utils import timezone

from memory import retention
from openwop_console import data_folder, listening, schedules, supervision, ticking
from openwop_console.runtime import clock

SECONDS_TO_START = 60
SECONDS_FOR_AN_EARLIER_ONE = 15
MIGRATION_LOCK = 5_270_900_001


class Command(BaseCommand):
    """Web and worker run until Ctrl-C or SIGTERM; both then end, and no work is lost."""

    help = "Run web and worker together, in the foreground."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", metavar="HOST:PORT", help="where to listen")
        parser.add_argument("--workers", type=int, default=settings.OPENWOP_WORKERS, help="worker processes")
        parser.add_argument("--demo", action="store_true", help="fill a demo tenant first, if there is none")

    def handle(self, *args: Any, bind: str, workers: int, demo: bool, **options: Any) -> None:
        if workers < 1:
            raise CommandError("--workers must be at least 1")
        for number in supervision.stop_signals():
            signal.signal(number, signal.default_int_handler)
        # Interrupted before there are children, nothing runs and nothing is half done.
        with contextlib.suppress(KeyboardInterrupt), _one_console(settings.OPENWOP_DATA_DIR) as lock:
            address = _free_address(bind)
            instance = data_folder.instance_of(settings.OPENWOP_DATA_DIR)
            _prepare(instance, demo=demo)
            environment = {"OPENWOP_INSTANCE": instance, "OPENWOP_WORKERS": str(workers)}
            self._serve(address, lock, environment, demo=demo)

    def _serve(self, address: listening.Address, lock: IO[str], environment: dict[str, str], *, demo: bool) -> None:
        """Web and worker have run and are gone."""
        request = supervision.StopRequest()
        request.listen()
        children: list[supervision.Child] = []
        try:
            children.append(supervision.start_web(address, lock, environment))
            children.append(supervision.start_worker(lock, environment))
            dead = self._run(address, children, request, demo=demo)
        finally:
            supervision.stop(children, request)
        if dead:
            raise CommandError(f"the {dead.name} process ended (status {dead.process.returncode}), so the console did")

    def _run(
        self,
        address: listening.Address,
        children: list[supervision.Child],
        request: supervision.StopRequest,
        *,
        demo: bool,
    ) -> supervision.Child | None:
        """The child that ended by itself; None when the end was asked for."""
        if supervision.wait_until_ready(address, children, request, seconds=SECONDS_TO_START):
            self._announce(address, demo=demo)
        elif not request.made and not any(child.ended for child in children):
            raise CommandError(f"{address.url}healthz did not answer within {SECONDS_TO_START} seconds")
        with ticking.running():
            dead = supervision.watch(children, request)
        if dead is None:
            self._say("Console: ending when running work is done; Ctrl-C again ends it at once.")
        return dead

    def _announce(self, address: listening.Address, *, demo: bool) -> None:
        """The operator knows where to go, and in the demo how to sign in."""
        self._say(f"Console: {address.url}")
        login = settings.OPENWOP_DATA_DIR / "demo-login.txt"
        if demo and login.exists():
            self._say(login.read_text().rstrip())

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


@contextlib.contextmanager
def _one_console(folder: Path) -> Iterator[IO[str]]:
    """The lock of ``folder``. An earlier console that was killed may take a moment to be gone entirely."""
    try:
        lock = _lock_patiently(folder, until=time.monotonic() + SECONDS_FOR_AN_EARLIER_ONE)
    except data_folder.FolderInUse as held:
        raise CommandError(f"another console (process {held.holder}) runs on the data folder {folder}") from held
    except OSError as refused:
        raise CommandError(f"the data folder {folder} cannot be written to ({refused.strerror})") from refused
    with lock:
        yield lock


def _lock_patiently(folder: Path, *, until: float) -> IO[str]:
    while True:
        try:
            return data_folder.lock(folder)
        except data_folder.FolderInUse as held:
            if held.holder_lives or time.monotonic() > until:
                raise
        time.sleep(supervision.POLL)


def _free_address(bind: str) -> listening.Address:
    try:
        address = listening.parse(bind)
        listening.require_free(address)
    except (listening.NotAnAddress, listening.AddressTaken) as refused:
        raise CommandError(f"--bind: {refused}") from refused
    return address


def _prepare(instance: str, *, demo: bool) -> None:
    """The database is up to date, the static files are collected, what a dead console held is free again, and what
    a console without durable memory remembered is gone."""
    _require_database()
    with _migrating_alone():
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        schedules.install()
    call_command("collectstatic", interactive=False, verbosity=0)
    clock.recover(instance, timezone.now())
    retention.end_ephemeral(instance, now=timezone.now())
    if demo:
        call_command("seed_demo", verbosity=0)
    connections.close_all()


def _require_database() -> None:
    try:
        connection.ensure_connection()
    except Error as refused:
        raise CommandError(f"the database cannot be used: {' '.join(str(refused).split())}") from refused


@contextlib.contextmanager
def _migrating_alone() -> Iterator[None]:
    """Two hosts that start at the same moment on one PostgreSQL migrate it one after the other."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
