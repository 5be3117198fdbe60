"""Fixtures that any test may ask for; what each is for stands where it is defined."""

import importlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection

from memory.host import request_slots
from tests import flush, templates

pytest_plugins = [
    "tests.distribution",
    "tests.fixtures_browser",
    "tests.fixtures_console",
    "tests.fixtures_queue",
    "tests.in_process",
]


@pytest.fixture(scope="session", autouse=True)
def the_test_database_is_copied_emptied_and_dropped():
    """The test database is a copy of a migrated one. Between transactional tests every table is emptied, history too;
    and the database goes at the end, even when a thread of a test still has a connection to it."""
    with pytest.MonkeyPatch.context() as patching:
        operations = type(connection.ops)
        patching.setattr(operations, "sql_flush", flush.filled_tables)
        # Nobody reads Django's own table of permissions, which it would fill again after each test.
        patching.setattr("django.core.management.commands.flush.emit_post_migrate_signal", lambda *_: None)
        patching.setattr(operations, "execute_sql_flush", flush.past_the_triggers(operations.execute_sql_flush))
        if connection.vendor == "postgresql":
            patching.setattr(type(connection.creation), "_destroy_test_db", _drop_by_force)
        patching.setattr(type(connection.creation), "_create_test_db", _copy_template)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_request_is_slow():
    """No request is noted as slow, which takes statements of its own: tests count them, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr("openwop_console.health.SLOW_S", float("inf"))
        yield


@pytest.fixture(scope="session", autouse=True)
def the_notifier_ends_with_its_last_reader():
    """Otherwise it would hold a connection to the database of a test that is over."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr("openwop_console.runtime.streams.LINGER", 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def closed_seams():
    """The seams are shut, as they are for operators, until a test opens them; their addresses are there throughout."""
    importlib.import_module("openwop_console.urls")
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(django_settings, "OPENWOP_TEST_SEAM_ENABLED", False)
        yield


@pytest.fixture(autouse=True)
def no_thread_of_another_test_goes_on() -> Iterator[None]:
    """A thread that serves a request of a test begins without the open connection that such a thread of an earlier
    test has left. The thread that notifies readers of streams, and its connection, end with the last reader: a later
    test, which may have no database, does not begin before."""
    while request_slots._kept:
        request_slots._kept.pop().close()
    yield
    for thread in threading.enumerate():
        if thread.name == "notifier":
            thread.join(timeout=5)
            assert not thread.is_alive(), "the notifier goes on although nobody waits"


def _copy_template(creation: Any, verbosity: int, autoclobber: bool, keepdb: bool = False) -> str:
    name: str = creation._get_test_db_name()
    if connection.vendor == "postgresql":
        templates.execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        templates.copy_database(name)
    else:
        templates.copy_file(Path(name))
    return name


def _drop_by_force(creation: Any, name: str, verbosity: int) -> None:
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {connection.ops.quote_name(name)} WITH (FORCE)")
