"""Databases with every table and no row, migrated once for all workers of a test run, and copied.

To migrate takes 6 s of CPU, longer than all else that a console, or a worker of pytest-xdist, begins with. The file of
SQLite is kept for later test runs too, in the cache folder of pytest.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from django.conf import settings
from psycopg import sql

from tests import plugin

TEMPLATE = "openwop_template"
KEPT = settings.BASE_DIR / ".pytest_cache" / "tables"
PACKAGES = ("memory", "openwop_console", "proposals")
IMPORTED = re.compile(rf"^(?:from|import) ((?:{'|'.join(PACKAGES)})[\w.]+)", re.MULTILINE)


def copy_file(target: Path) -> None:
    """A migrated SQLite file at ``target``."""
    shutil.copy(_migrated_file(), target)


def _migrated_file() -> Path:
    with _shared() as folder:
        file = folder / "template" / "console.sqlite3"
        if not file.exists():
            _take_kept(file)
    return file


def _take_kept(file: Path) -> None:
    """A migrated ``file`` as an earlier test run kept it, if nothing has changed since that makes tables."""
    kept = kept_file()
    if kept.exists():
        file.parent.mkdir()
        shutil.copy(kept, file)
        return
    _migrate({"OPENWOP_DATA_DIR": str(file.parent)})
    assert not file.with_name("console.sqlite3-wal").exists()
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    # Another test run sees a whole file or none.
    shutil.copy(file, kept.with_suffix(f".{os.getpid()}")).rename(kept)


def kept_file() -> Path:
    """Where a test run keeps the migrated file of these migrations; perhaps none has yet."""
    return KEPT / f"{digest()}.sqlite3"


def digest() -> str:
    """Of the migrations, of the modules of this project that they import, and of the versions of the libraries."""
    migrations = sorted(file for package in PACKAGES for file in (settings.BASE_DIR / package).rglob("migrations/*.py"))
    imported = {name for file in migrations for name in IMPORTED.findall(file.read_text())}
    modules = (settings.BASE_DIR / f"{name.replace('.', '/')}.py" for name in sorted(imported))
    over = hashlib.sha256(sys.version.encode())
    for file in [*migrations, *modules, settings.BASE_DIR / "requirements-dev.lock"]:
        over.update(f"{file.relative_to(settings.BASE_DIR)}\n".encode() + file.read_bytes())
    return over.hexdigest()


def copy_database(name: str) -> None:
    """A migrated PostgreSQL database called ``name``. The server copies a template only while nobody uses it."""
    with _shared() as folder:
        _migrate_database(folder)
        execute("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)


def empty_database(url: str, *, tables: bool = True) -> None:
    """Replace the database of ``url``, which ``copy_database`` made, with a new one without rows, or without tables."""
    name = url.rpartition("/")[2].partition("?")[0]
    execute("DROP DATABASE {} WITH (FORCE)", name)
    if tables:
        copy_database(name)
    else:
        execute("CREATE DATABASE {}", name)


def _migrate_database(folder: Path) -> None:
    made = folder / "template.made"
    if not made.exists():
        execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", TEMPLATE)
        execute("CREATE DATABASE {}", TEMPLATE)
        _migrate({"OPENWOP_DATA_DIR": str(folder / "template"), "DATABASE_URL": url_of(TEMPLATE)})
        made.touch()


def begin() -> None:
    """Migrates the template in the background: the workers of pytest-xdist need it only once they have collected."""
    threading.Thread(target=_migrate_engine, daemon=True).start()


def _migrate_engine() -> None:
    if plugin.engine() == plugin.SQLITE:
        _migrated_file()
        return
    with _shared() as folder:
        _migrate_database(folder)


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
        [sys.executable, "manage.py", "migrate", "--verbosity=0", "--skip-checks"],
        cwd=settings.BASE_DIR,
        env=ours | environment,
        check=True,
        timeout=300,
    )
