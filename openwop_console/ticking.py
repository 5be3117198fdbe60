"""The console's clock: several times a second the runtime hears what time it is."""

import contextlib
import logging
import threading
from collections.abc import Iterator

from django.db import close_old_connections, connection
from django.utils import timezone

from openwop_console.runtime import clock

logger = logging.getLogger(__name__)

EVERY = 0.25
AFTER_A_FAILURE = 5.0


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Inside the block the runtime's clock ticks, in a thread of its own."""
    stopping = threading.Event()
    ticking = threading.Thread(target=_tick_until, args=(stopping,), name="ticking", daemon=True)
    ticking.start()
    try:
        yield
    finally:
        stopping.set()
        ticking.join(timeout=2)


def _tick_until(stopping: threading.Event) -> None:
    try:
        while not stopping.wait(EVERY if _tick_once() else AFTER_A_FAILURE):
            pass
    finally:
        connection.close()


def _tick_once() -> bool:
    """Whether the tick went well. One that did not is logged, and tried again: the console goes on."""
    try:
        close_old_connections()
        clock.tick(timezone.now())
    except Exception:
        logger.exception("A tick of the clock failed; the next one comes in %s seconds", AFTER_A_FAILURE)
        return False
    return True
