"""Fixtures that any test may ask for; what each is for stands where it is defined."""

import pytest
from django.db import connection

from openwop_console.testing import flush

pytest_plugins = ["tests.fixtures_browser", "tests.fixtures_console", "tests.fixtures_queue", "tests.in_process"]


@pytest.fixture(scope="session", autouse=True)
def transactional_tests_may_empty_what_is_append_only():
    """Between transactional tests every table is emptied, history too."""
    with pytest.MonkeyPatch.context() as patching:
        operations = type(connection.ops)
        patching.setattr(operations, "execute_sql_flush", flush.past_the_triggers(operations.execute_sql_flush))
        yield
