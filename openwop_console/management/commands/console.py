"""``manage.py console``: the whole host in one foreground process group."""

import contextlib
import signal
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection, connections
from django.utils import timezone

from memory.host.json_types import JSONObject
from openwop_console import health
from openwop_console.demo import model
from openwop_console.process import bind_address, data_folder, recovery, supervisor

WEB, WORKER = "web", "worker"
SECONDS_TO_START = 60
SECONDS_FOR_AN_EARLIER_ONE = 15
# The options that belong to one part, which the other one refuses.
BIND, PORT = "--bind", "127.0.0.1:8000"
OF_PART = {WEB: (BIND, "--web-processes", "--web-threads"), WORKER: ("--workers",)}

Locks = dict[str, IO[str]]


class Command(BaseCommand):
    """Web and worker run until Ctrl-C or SIGTERM; both then end, and no work is lost."""

    help = "Run web and worker together, or one of them, in the foreground."
    requires_system_checks: list[str] = []  # they import every view, which the web process does

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=(WEB, WORKER), help="run one part; the other one is started apart")
        parser.add_argument(BIND, metavar="HOST:PORT", help=f"where to listen (default: {PORT})")
        counts = {
            "--web-processes": (settings.OPENWOP_WEB_PROCESSES, "web processes"),
            "--web-threads": (settings.OPENWOP_WEB_THREADS, "requests that each web process computes at a time"),
            "--workers": (settings.OPENWOP_WORKERS, "worker processes"),
        }
        for name, (default, words) in counts.items():
            parser.add_argument(name, type=int, metavar="N", help=f"{words} (default: {default})")
        parser.add_argument("--demo", action="store_true", help="fill a demo tenant first, if there is none")

    def handle(self, *args: object, only: str | None, demo: bool, **options: Any) -> None:
        parts = (only,) if only else (WEB, WORKER)
        environment = _environment(parts, options)
        for number in supervisor.stop_signals():
            signal.signal(number, signal.default_int_handler)
        # Interrupted before there are children, nothing runs and nothing is half done.
        with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as held:
            folder = settings.OPENWOP_DATA_DIR
            with _alone(folder):
                locks = {part: held.enter_context(_locked(folder, part)) for part in parts}
                address = _free_address(options["bind"] or PORT) if WEB in parts else None
                instance = data_folder.instance_of(folder)
                _prepare(instance, parts, demo=demo)
            environment |= {"OPENWOP_INSTANCE": instance} | (_demo_environment() if demo else {})
            self._serve(address, locks, environment, demo=demo)

    def _serve(
        self, address: bind_address.Address | None, locks: Locks, environment: dict[str, str], *, demo: bool
    ) -> None:
        """What was asked for has run and is gone."""
        request = supervisor.StopRequest()
        request.listen()
        children: list[supervisor.Child] = []
        try:
            if address:
                own = environment | {"OPENWOP_INSTANCE": _web_of(environment["OPENWOP_INSTANCE"])}
                processes = int(environment["OPENWOP_WEB_PROCESSES"])
                children.append(supervisor.start_web(address, locks[WEB], own, processes=processes))
            if WORKER in locks:
                children.append(supervisor.start_worker(locks[WORKER], environment))
            if WORKER in locks and demo:
                port = model.port_of(settings.OPENWOP_DATA_DIR)
                children.append(supervisor.start_model(port, locks[WORKER], environment))
            dead = self._run(address, children, request, demo=demo)
        finally:
            supervisor.stop(children, request)
        if dead:
            raise CommandError(f"the {dead.name} process ended (status {dead.process.returncode}), so the console did")

    def _run(
        self,
        address: bind_address.Address | None,
        children: list[supervisor.Child],
        request: supervisor.StopRequest,
        *,
        demo: bool,
    ) -> supervisor.Child | None:
        """The child that ended by itself; None when the end was asked for."""
        if address is None:
            self._print_line("Console: worker started")
        elif supervisor.wait_until_ready(address, children, request, seconds=SECONDS_TO_START):
            self._announce(address, demo=demo)
        elif not request.made and not any(child.has_ended for child in children):
            raise CommandError(f"{address.url}healthz did not answer within {SECONDS_TO_START} seconds")
        dead = supervisor.watch(children, request)
        if dead is None:
            self._print_line("Console: ending when running work is done; Ctrl-C again ends it at once.")
        return dead

    def _announce(self, address: bind_address.Address, *, demo: bool) -> None:
        """The operator knows where to go, and in the demo how to sign in."""
        self._print_line(f"Console: {address.url}")
        login = settings.OPENWOP_DATA_DIR / "demo-login.txt"
        if demo and login.exists():
            self._print_line(login.read_text().rstrip())

    def _print_line(self, line: str) -> None:
        # The reader may be gone (`manage.py console | head`): the console runs on, and ends as it should.
        with contextlib.suppress(BrokenPipeError):
            self.stdout.write(line)
            self.stdout.flush()


def _environment(parts: Sequence[str], options: JSONObject) -> dict[str, str]:
    """What the children are told of the numbers that were given; refused when they belong to the other part."""
    found = {}
    for part, names in OF_PART.items():
        for name in names:
            given = options[name.removeprefix("--").replace("-", "_")]
            if given is not None and part not in parts:
                raise CommandError(f"{name} belongs to the {part}, which --only {parts[0]} does not start")
            if name == BIND:
                continue
            setting = f"OPENWOP_{name.removeprefix('--').replace('-', '_').upper()}"
            if given is not None and given < 1:
                raise CommandError(f"{name} must be at least 1")
            found[setting] = str(getattr(settings, setting) if given is None else given)
    return found


def _demo_environment() -> dict[str, str]:
    """The demo's web and worker may connect to the demo's model, which listens on this machine alone."""
    return {"OPENWOP_OUTBOUND_ALLOW": ",".join([*settings.OPENWOP_OUTBOUND_ALLOW, model.HOST])}


def _web_of(instance: str) -> str:
    """The name under which the web processes of ``instance`` hold work, so that a worker does not take it for its own
    of an earlier start."""
    return f"{instance}-{WEB}"


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Web and worker of one folder that are started at the same moment prepare it one after the other."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(data_folder.alone(folder))
        except OSError as refused:
            raise CommandError(f"the data folder {folder} cannot be written to ({refused.strerror})") from refused
        yield


def _locked(folder: Path, part: str) -> IO[str]:
    """The lock on a part. An earlier console that was killed may take a moment to be gone entirely."""
    until = time.monotonic() + SECONDS_FOR_AN_EARLIER_ONE
    while True:
        try:
            return data_folder.lock(folder, part)
        except data_folder.FolderInUse as held:
            if held.holder_lives or time.monotonic() > until:
                raise CommandError(
                    f"another console (process {held.holder}) runs the {part} on the data folder {folder}"
                ) from held
        time.sleep(supervisor.POLL)


def _free_address(bind: str) -> bind_address.Address:
    try:
        address = bind_address.parse(bind)
        bind_address.require_free(address)
    except (bind_address.NotAnAddress, bind_address.AddressTaken) as refused:
        raise CommandError(f"--bind: {refused}") from refused
    return address


def _prepare(instance: str, parts: Sequence[str], *, demo: bool) -> None:
    """The database is up to date, the static files are collected, what a dead console held is free again, and what
    a console without durable memory remembered is gone, unless its other part still runs."""
    _require_database()
    from openwop_console.management.commands.migrate import alone  # it imports what few commands need

    with alone():
        if health.unapplied_migrations():
            call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
    if WEB in parts:
        call_command("collectstatic", interactive=False, verbosity=0)
        recovery.recover(_web_of(instance), timezone.now())
    if WORKER in parts:
        recovery.recover(instance, timezone.now())
    if not any(data_folder.is_locked(settings.OPENWOP_DATA_DIR, part) for part in OF_PART if part not in parts):
        recovery.end_ephemeral(instance, timezone.now())
    if demo:
        call_command("seed_demo", verbosity=0)
    connections.close_all()


def _require_database() -> None:
    try:
        connection.ensure_connection()
    except Error as refused:
        raise CommandError(f"the database cannot be used: {' '.join(str(refused).split())}") from refused
