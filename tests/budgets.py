"""How much a test tries, and how long what it tries may take."""

import gc
import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis import settings

# Little in ``make test``, much in ``make test-all``.
THOROUGH = bool(os.environ.get("OPENWOP_TEST_THOROUGH"))
# What a million rounds of an empty loop take, in seconds of CPU, on the machine whose seconds the limits of tests are.
USUAL = 0.025


def examples(number: int) -> int:
    """As many examples of a property in a thorough run, a quarter of them in a quick one."""
    return number if THOROUGH else max(number // 4, 3)


def tries(number: int = 100, **more: Any) -> "settings":
    """How often a property is tried: ``examples(number)``, each as long as it takes, since a slow machine is no
    failure."""
    from hypothesis import settings  # half a second, which most tests do without

    return settings(max_examples=examples(number), deadline=None, **more)


@contextmanager
def cpu_within(seconds: float) -> Iterator[None]:
    """What is done in it takes less CPU time than that. On a machine that is slower than usual, or is slowed by others
    just now, it may take longer in proportion."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds or took < seconds * _slowness(), f"{took:.2f} s of CPU, not {seconds}"


def _slowness() -> float:
    began = time.process_time()
    for _ in range(1_000_000):
        pass
    return max((time.process_time() - began) / USUAL, 1)


@contextmanager
def keeps_less_than(megabytes: float) -> Iterator[None]:
    """When what is done in it is over, less memory than that is left of what Python has taken for it."""
    gc.collect()
    tracemalloc.start()
    try:
        yield
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] / 1_000_000
    finally:
        tracemalloc.stop()
    assert kept < megabytes, f"{kept:.1f} MB are kept, not {megabytes}"
