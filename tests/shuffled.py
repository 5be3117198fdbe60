"""``-p tests.shuffled``: the tests in a random order, files and what is in them, by a clock 13 months later.

``OPENWOP_TEST_SEED`` names an order; each run prints its own. The clock is that of the process (``time-machine``),
not of consoles and servers, so it goes with ``-m "not console"``.
"""

import os
import random
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest
import time_machine

SEED = "OPENWOP_TEST_SEED"
LATER = timedelta(days=395)


def pytest_configure(config: pytest.Config) -> None:
    """All workers of pytest-xdist have one seed. Modules, some of which keep times, are imported by the later clock."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10_000)))
    clock = time_machine.travel(datetime.now(UTC) + LATER, tick=True)
    clock.start()
    config.add_cleanup(clock.stop)


def pytest_report_header() -> str:
    return f"shuffled: {SEED}={os.environ[SEED]}, {LATER.days} days later"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a module's fixtures make is made once, as ever: the tests of a file stay together.

    The library that makes ids has a clock of its own, so they go by the process's.
    """
    from memory.host import clock, ids  # not before the settings are those of a test

    ids.go_by(clock.now)
    chance = random.Random(os.environ[SEED])
    files = [list(each) for _, each in groupby(items, key=lambda item: item.path)]
    chance.shuffle(files)
    for each in files:
        chance.shuffle(each)
    items[:] = [item for each in files for item in each]
