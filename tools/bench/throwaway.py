"""Each engine is measured in a process of its own, on a database that exists for it alone.

The configured database and data folder are never opened: the process gets its own ``DATABASE_URL`` and
``OPENWOP_DATA_DIR``, and no other ``OPENWOP_`` variable.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from django.conf import settings
from psycopg import sql

from tests import postgres, templates
from tools.bench.outcomes import Outcome

SERVER = "OPENWOP_TEST_PG_URL"


class BenchFailed(Exception):
    """The process of an engine ended without a result."""


def measure(engine: str, arguments: list[str]) -> list[Outcome]:
    """The outcomes of the bench with ``arguments``, run inside a database of its own."""
    with tempfile.TemporaryDirectory(prefix="openwop-bench-") as folder, _database(engine, Path(folder)) as url:
        answers = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "tools.bench", "--answer-to", str(answers)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENWOP_")}
        own = {"DATABASE_URL": url, "OPENWOP_DATA_DIR": folder}
        asked = [*command, "--engine", engine, *arguments]
        ended = subprocess.run(asked, env=kept | own, cwd=settings.BASE_DIR, check=False)  # noqa: S603
        if ended.returncode != 0:
            raise BenchFailed(f"The measurement on {engine} failed; its reason stands above.")
        return [Outcome(**document) for document in json.loads(answers.read_text())]


@contextmanager
def _database(engine: str, folder: Path) -> Iterator[str]:
    if engine == "sqlite":
        file = folder / "bench.sqlite3"
        if templates.kept_file().exists():  # else the process migrates it, which takes 6 s of CPU
            shutil.copy(templates.kept_file(), file)
        yield f"sqlite:///{file}"
    elif SERVER in os.environ:
        with _created_on(os.environ[SERVER]) as url:
            yield url
    else:
        server = postgres.start()
        try:
            yield server.url
        finally:
            server.stop()


@contextmanager
def _created_on(server: str) -> Iterator[str]:
    """A database of its own on a running server, gone afterwards."""
    name = f"openwop_bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{quote(name)}"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
