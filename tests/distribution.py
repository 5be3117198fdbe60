"""How the workers of pytest-xdist share the tests: a file at a time, and those that use one console together.

What takes longest begins first, so that no worker is left alone with it at the end.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import plugin, templates

# Fixtures that lead to the one console which all the tests of a session share that are marked ``console``.
SHARED_CONSOLE = "the shared console"
LEADING_TO_IT = {"host", "served", "shared_console"}
# Tests of processes mostly wait. They stand between others, so that the other workers compute meanwhile.
FIRST = (
    "tests/pages/test_journey.py",
    "tests/pages/test_ten_jobs.py",
    "tests/faces/test_fuzz.py",
    "tests/operations/test_kill.py",
    "tests/pages/test_jobs_browser.py",
    "tests/memory/test_forgetting",
    "tests/operations/test_serving.py",
    "tests/memory/test_matching.py",
    "tests/pages/test_review",
    "tests/operations/test_availability.py",
    "tests/proposals/test_doors.py",
    "tests/pages/test_inbox",
    "tests/operations/test_scheduler.py",
    "tests/pages/test_every_page.py",
    "tests/pages/test_plans_at_scale.py",
    "tests/operations/test_backup.py",
    "tests/faces/test_query_parameters.py",
    "tests/memory/test_passes_properties.py",
    "tests/operations/test_console.py",
    "tests/openintent/test_access_matrix.py",
    "tests/faces/test_strictness.py",
    "tests/operations/test_ephemeral.py",
    "tests/pages/test_order_of_refusals.py",
    "tests/pages/test_forget_pages.py",
    "tests/operations/test_demo.py",
    "tests/pages/test_consolidation_page.py",
    "tests/memory/test_replay.py",
    "tests/operations/test_webhooks.py",
    "tests/pages/test_without_scripts.py",
    "tests/pages/test_passkeys.py",
    "tests/operations/test_bench.py",
    "tests/openintent/test_archival.py",
    "tests/faces/test_passwords.py",
    "tests/operations/test_streams.py",
    "tests/proposals/test_races.py",
    "tests/proposals/test_stops.py",
    "tests/operations/",
    "tests/proposals/test_exact_bytes.py",
    "tests/openintent/test_nobody_appoints_itself.py",
    "tests/pages/test_offers.py",
)
# What is open for the shared console, and how many tests that share it are still to come.
_open: dict[str, ExitStack] = {SHARED_CONSOLE: ExitStack()}
_left: Counter[str] = Counter()


class Files(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist is not typed
    """A unit of work is a file without its tests of a shared console, or all those tests of one shared console."""

    def remove_node(self, node: Any) -> str | None:
        """The test that ran when its worker ended has failed, as one that hangs until the worker ends with its stacks.

        It is not begun again by the worker in its place, as pytest-xdist would: it would hang as long, twelve times.
        """
        units = self.assigned_work[node].values()
        for unit in units:
            for nodeid, is_completed in unit.items():
                if not is_completed:
                    unit[nodeid] = True
                    super().remove_node(node)
                    return nodeid
        super().remove_node(node)
        return None

    def _split_scope(self, nodeid: str) -> str:
        return self._consoles.get(nodeid) or nodeid.partition("::")[0]

    @cached_property
    def _consoles(self) -> dict[str, str]:
        """What the workers wrote down before they said that they had collected. (``--dist loadgroup`` tells it in the
        names of the tests, which pytest 9 no longer lets pytest-xdist 3.8 change.)"""
        written: dict[str, str] = json.loads(_told().read_text())
        return written


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Before the workers begin: what they all copy is made while they collect."""
    templates.begin()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Files | None:
    """Of ``--dist loadfile``."""
    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of a shared console first, then the files of ``FIRST``, then all others as they were found."""
    items.sort(key=_turn)
    if worker := getattr(config, "workerinput", {}).get("workerid"):
        told = _told().with_suffix(f".{worker}")
        told.write_text(json.dumps({item.nodeid: group for item in items if (group := _console_of(item))}))
        told.replace(_told())


def _told() -> Path:
    return Path(os.environ[plugin.SHARED]) / "consoles.json"


def pytest_collection_finish(session: pytest.Session) -> None:
    _left.update(map(_console_of, session.items))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A console that nobody waits for goes on looking for work four times a second, so it ends with its last test."""
    group = _console_of(item)
    _left[group] -= 1
    if group and not _left[group]:
        _open.pop(group, ExitStack()).close()


@pytest.fixture(scope="session")
def until_the_last() -> Iterator[ExitStack]:
    """What is to be closed after the last test of the shared console."""
    yield _open[SHARED_CONSOLE]
    for left_open in _open.values():
        left_open.close()


def _turn(item: pytest.Item) -> tuple[int, str]:
    group = _console_of(item)
    turn = next((place for place, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))
    return (-1, group) if group else (turn, "")


def _console_of(item: pytest.Item) -> str:
    """The name of the console that the test shares with others; nothing when it has its own, or none."""
    if not item.get_closest_marker("console"):
        return ""
    return SHARED_CONSOLE if LEADING_TO_IT.intersection(getattr(item, "fixturenames", ())) else ""
