"""The clock that the processes of a console go by: PostgreSQL's, when this host's differs from it.

Leases, waits and deadlines are judged by whichever console looks at them, so all consoles on a database must mean the
same time. Between two looks at the database's clock the time goes on by the host's steady one, which is never set.
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.utils import timezone

from memory.host import ids

Clock = Callable[[], datetime]

log = logging.getLogger(__name__)
EVERY_S = 60.0
# A smaller difference is that of clocks which are kept on time, and a slower answer tells nothing.
NEAR, SLOWEST_S = timedelta(seconds=1), 0.5
# The steady clock also counts while the host sleeps; only Linux has it.
STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

# While the host's clock is wrong: the database's time, and the steady clock then.
_followed: tuple[datetime, float] | None = None
_looked: float | None = None


def now() -> datetime:
    """Return the time: the host's, or the database's if this host's clock is wrong."""
    if _followed is None:
        return datetime.now(UTC)
    at, began = _followed
    return at + timedelta(seconds=time.clock_gettime(STEADY) - began)


def follow_database() -> None:
    """Have this process compare its clock with its database's at each new connection, at most once a minute."""
    timezone.now = now
    connection_created.connect(_connected, dispatch_uid=__name__)


def _connected(connection: BaseDatabaseWrapper, **_: Any) -> None:
    global _looked  # noqa: PLW0603
    steady = time.clock_gettime(STEADY)
    if connection.vendor == "postgresql" and (_looked is None or steady - _looked >= EVERY_S):
        _looked = steady
        look(connection)


def look(connection: BaseDatabaseWrapper) -> None:
    """Compare the clocks, and go by the database's from now on if they differ by more than ``NEAR``."""
    global _followed  # noqa: PLW0603
    asked = time.clock_gettime(STEADY)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (there,) = cursor.fetchone()
    answered, here = time.clock_gettime(STEADY), datetime.now(UTC)
    if answered - asked > SLOWEST_S:
        return
    ahead, was = here - there, _followed
    _followed = (there, answered) if abs(ahead) > NEAR else None
    ids.go_by(now if _followed else None)
    if bool(was) != bool(_followed):
        seconds = round(ahead.total_seconds())
        how = "goes by the database's; set this host's right" if _followed else "goes by this host's again"
        log.warning("The clock of this host is %s s ahead of the database's; the console %s.", seconds, how)
