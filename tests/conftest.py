"""Fixtures that any test may ask for; what each is for stands where it is defined."""

from typing import Any

import pytest
from django.db import connection

from openwop_console.testing import flush

pytest_plugins = ["tests.fixtures_browser", "tests.fixtures_console", "tests.fixtures_queue", "tests.in_process"]


@pytest.fixture(scope="session", autouse=True)
def transactional_tests_may_empty_what_is_append_only():
    """Between transactional tests every table is emptied, history too; and the database goes at the end, even when a
    thread of a test still has a connection to it."""
    with pytest.MonkeyPatch.context() as patching:
        operations = type(connection.ops)
        patching.setattr(operations, "execute_sql_flush", flush.past_the_triggers(operations.execute_sql_flush))
        if connection.vendor == "postgresql":
            patching.setattr(type(connection.creation), "_destroy_test_db", _drop_by_force)
        yield


def _drop_by_force(creation: Any, name: str, verbosity: int) -> None:
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {connection.ops.quote_name(name)} WITH (FORCE)")
