"""Databases with every table and no row, migrated once for all workers of a test run, and copied.

To migrate takes longer than all else that a console, or a worker of pytest-xdist, begins with.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from django.conf import settings
from psycopg import sql

from tests import plugin

TEMPLATE = "openwop_template"


def copy_file(target: Path) -> None:
    """A migrated SQLite file at ``target``."""
    with _shared() as folder:
        file = folder / "template" / "console.sqlite3"
        if not file.exists():
            _migrate({"OPENWOP_DATA_DIR": str(file.parent)})
            assert not file.with_name("console.sqlite3-wal").exists()
    shutil.copy(file, target)


def copy_database(name: str) -> None:
    """A migrated PostgreSQL database called ``name``. The server copies a template only while nobody uses it."""
    with _shared() as folder:
        made = folder / "template.made"
        if not made.exists():
            execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", TEMPLATE)
            execute("CREATE DATABASE {}", TEMPLATE)
            _migrate({"OPENWOP_DATA_DIR": str(folder / "template"), "DATABASE_URL": url_of(TEMPLATE)})
            made.touch()
        execute("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)


def url_of(name: str) -> str:
    """The URL of that database on the tests' PostgreSQL server."""
    server, _, rest = os.environ[plugin.PG_URL].rpartition("/")
    _, mark, options = rest.partition("?")
    return f"{server}/{name}{mark}{options}"


def execute(statement: LiteralString, *names: str) -> None:
    """Run the statement on the tests' PostgreSQL server, outside any transaction."""
    with psycopg.connect(os.environ[plugin.PG_URL], autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def _shared() -> Iterator[Path]:
    """The folder of the whole test run, for one worker at a time."""
    folder = Path(os.environ[plugin.SHARED])
    with (folder / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _migrate(environment: dict[str, str]) -> None:
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("OPENWOP_", "DATABASE_URL"))}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=settings.BASE_DIR,
        env=ours | environment,
        check=True,
        timeout=300,
    )
