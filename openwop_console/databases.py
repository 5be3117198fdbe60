"""Database options, chosen by measurement."""

import contextlib
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from memory.host.json_types import JSONObject

# Milliseconds that a request waits for a lock or a connection before it is refused with 503. A worker waits longer.
REQUEST_PATIENCE_MS = 1500
WORKER_PATIENCE_MS = 20_000
# SQLite's file and the files next to it: the write-ahead log and its index, and the turnstile (``sqlite``).
SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal", "-turn")


def sqlite_options(*, is_web: bool) -> JSONObject:
    """Return SQLite's options; FULL, because NORMAL would lose the last acknowledged writes on a power cut in WAL
    mode."""
    patience = REQUEST_PATIENCE_MS if is_web else WORKER_PATIENCE_MS
    return {
        "transaction_mode": "IMMEDIATE",
        "timeout": patience / 1000,
        "init_command": (
            f"PRAGMA busy_timeout={patience};"
            "PRAGMA journal_mode=WAL;"
            "PRAGMA synchronous=FULL;"
            "PRAGMA secure_delete=ON;"
            "PRAGMA cache_size=-20000;"
        ),
    }


POSTGRES = {"server_side_binding": True, "prepare_threshold": 3, "connect_timeout": 5}
# The web process only: a request waits for a row lock no longer than for anything else, and a server that vanished
# from the network is detected.
POSTGRES_WEB = {
    "connect_timeout": 2,
    "options": f"-c lock_timeout={REQUEST_PATIENCE_MS}",
    "tcp_user_timeout": REQUEST_PATIENCE_MS,
}
# The web process only: django-q2 forks, and its children would share the pool's sockets. Attempts to connect end soon,
# or the pool would keep waiting for minutes after the server is back. A request may wait for a connection twice: the
# throttle of sign-ins goes on without its count.
POOL = {"min_size": 1, "timeout": 0.8, "reconnect_timeout": 5}


def sqlite_file(folder: Path) -> JSONObject:
    """Return the settings of the default database: a SQLite file in the data folder."""
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "console.sqlite3")}


def with_options(given: dict[str, Any], *, base: Path, folder: Path, web_threads: int = 0) -> dict[str, object]:
    """Complete the settings of the database ``given``; raises ``ImproperlyConfigured`` for any but SQLite and
    PostgreSQL.

    A web process computes in ``web_threads`` threads and shares a pool of one connection for each, and one for the
    notifier.
    """
    if given["NAME"] == ":memory:":
        raise ImproperlyConfigured("DATABASE_URL: web and worker share the database, so SQLite must be a file")
    if given["ENGINE"] == "django.db.backends.sqlite3":
        file = base / given["NAME"]  # the same file for every working directory
        return given | {
            "ENGINE": "openwop_console.sqlite",
            "NAME": str(file),
            "CONN_MAX_AGE": None,
            "OPTIONS": sqlite_options(is_web=web_threads > 0)
            | {"factory": partial(open_private, folder)}
            | given.get("OPTIONS", {}),
            # A file for tests too: the in-memory default shares its cache, and threads get "table is locked" at once.
            "TEST": {"NAME": str(folder / "test.sqlite3")},
        }
    if given["ENGINE"] == "django.db.backends.postgresql":
        own = {**POSTGRES_WEB, "pool": _pool(web_threads)} if web_threads else {}
        options = POSTGRES | own | given.get("OPTIONS", {})
        return given | {
            "ENGINE": "openwop_console.postgresql",
            "CONN_MAX_AGE": 0 if web_threads else 60,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": options,
        }
    raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgresql://")


def open_private(folder: Path, database: str, *values: Any, **named: Any) -> sqlite3.Connection:
    """Open a SQLite file, creating it with mode 0600 on first use.

    The data ``folder`` is created with it; any other folder must exist.
    """
    if Path(database).parent == folder:
        with contextlib.suppress(OSError):  # opening the file raises a clearer error
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    keep_private(Path(database))
    return sqlite3.Connection(database, *values, **named)


def _pool(web_threads: int) -> JSONObject:
    from openwop_console import postgresql  # SQLite needs no driver of PostgreSQL

    return POOL | {"max_size": web_threads + 1, "connection_class": postgresql.Connection}


def keep_private(file: Path) -> None:
    """Limit the SQLite ``file`` and the files SQLite puts next to it, which take its mode, to their owner.

    A file that belongs to another user keeps the mode that user gave it.
    """
    with contextlib.suppress(OSError):
        file.touch(mode=0o600, exist_ok=False)
    for suffix in SQLITE_SUFFIXES:
        with contextlib.suppress(OSError):
            file.with_name(file.name + suffix).chmod(0o600)
