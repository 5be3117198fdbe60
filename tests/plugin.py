"""``-p tests.plugin``: which database the tests run on, decided before Django's settings are read.

``OPENWOP_TEST_DB`` is ``sqlite`` (the default) or ``postgres``. For the latter one throw-away PostgreSQL is brought up,
which all workers of pytest-xdist share, unless ``OPENWOP_TEST_PG_URL`` names a server whose user may create databases
and set ``session_replication_role``.
"""

import gc
import os
import shutil
import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import postgres

SQLITE, POSTGRES = "sqlite", "postgres"
PG_URL = "OPENWOP_TEST_PG_URL"
# Where tests are only listed, no server is started, and none is asked.
NO_SERVER = "postgresql://nobody@localhost:1/none"
# A folder that all workers of pytest-xdist share.
SHARED = "OPENWOP_TEST_SHARED"
# What `make test` selects on PostgreSQL.
MARKED = "engines or only_db"
KEPT = {
    "OPENWOP_ENV",
    "OPENWOP_DATA_DIR",
    "OPENWOP_TEST_DB",
    "OPENWOP_TEST_THOROUGH",
    "OPENWOP_TEST_SEED",
    PG_URL,
    SHARED,
}


def engine() -> str:
    """The engine that this process tests."""
    return os.environ.get("OPENWOP_TEST_DB", SQLITE)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """The settings, read next, are those of a test on a data folder and a database of its own."""
    if engine() not in {SQLITE, POSTGRES}:
        raise pytest.UsageError(f"OPENWOP_TEST_DB must be {SQLITE} or {POSTGRES}, not {engine()!r}")
    _make_data_folder(early_config)
    os.environ |= {"OPENWOP_ENV": "test", "DJANGO_ALLOW_ASYNC_UNSAFE": "true"}
    for name in [name for name in os.environ if name.startswith("OPENWOP_") and name not in KEPT]:
        del os.environ[name]
    os.environ.pop("DATABASE_URL", None)
    # Hundreds of clients speak plain HTTP to consoles here, and httpx reads every certificate of a file for each of
    # them: 35 ms. In a folder it looks one up when it needs it.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = os.environ.get("SSL_CERT_DIR") or ssl.get_default_verify_paths().openssl_capath
    # The addresses of the seams are there; the fixture ``closed_seams`` shuts them, and a test opens them again.
    os.environ["OPENWOP_TEST_SEAM_ENABLED"] = "true"
    if _wants_postgres(early_config):
        _start_postgres(early_config)
    if engine() == POSTGRES:
        os.environ["DATABASE_URL"] = os.environ.get(PG_URL, NO_SERVER)


def _make_data_folder(config: pytest.Config) -> None:
    folder = Path(tempfile.mkdtemp(prefix="openwop-test-"))
    (folder / "static").mkdir()
    os.environ["OPENWOP_DATA_DIR"] = str(folder)
    os.environ.setdefault(SHARED, str(folder))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def _wants_postgres(config: pytest.Config) -> bool:
    """Whether the tests of this process, or of the workers that it will start, need a server, and none was named."""
    options = config.known_args_namespace
    return engine() == POSTGRES and PG_URL not in os.environ and not (options.help or options.collectonly)


def _start_postgres(config: pytest.Config) -> None:
    try:
        server = postgres.start(in_memory=True)
    except postgres.NoPostgres as reason:
        raise pytest.UsageError(str(reason)) from reason
    os.environ[PG_URL] = server.url
    config.add_cleanup(server.stop)


def pytest_report_header() -> str:
    return f"database: {engine()}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of a module without a marked test nothing would run on PostgreSQL: to import it takes longer than to read it."""
    if engine() != POSTGRES or config.option.markexpr != MARKED or not collection_path.match("test_*.py"):
        return None
    source = collection_path.read_text()
    return True if "engines" not in source and "only_db" not in source else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test marked ``only_db`` runs on that engine alone."""
    elsewhere = [item for item in items if not _runs_here(item.iter_markers("only_db"))]
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in set(elsewhere)]


def pytest_collection() -> None:
    """What is imported and collected stays to the end: to look for garbage in it was a fifth of the time to collect."""
    gc.disable()


def pytest_collection_finish() -> None:
    """In the tests it is not looked through either, which took an eighth of their time. What apps register is imported
    before a test replaces something of it."""
    from memory.host import registrations  # not before the settings are those of a test

    registrations.complete()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


def _runs_here(markers: Iterable[pytest.Mark]) -> bool:
    return all(marker.args == (engine(),) for marker in markers)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """That nothing of what was asked for runs on this engine is no failure: it ran on the other."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and engine() == POSTGRES and session.config.option.markexpr:
        session.exitstatus = pytest.ExitCode.OK
