"""When a row with an end time is over: one rule, as an ORM condition, as SQL text, and for a value.

Reads of memory ask it in ``memory.adapter``: runs in ``runs``, pages in ``console``.
"""

from datetime import datetime, timedelta

from django.db.models import Q

# The clocks of two consoles may differ by this much; a time further off than that was written while a clock was ahead.
SKEW = timedelta(minutes=10)
# The same conditions for hand-written SQL, with the time as their one parameter.
UNEXPIRED = "({column} IS NULL OR {column} > %s)"
EXPIRED = "{column} <= %s"


def unexpired(now: datetime, column: str = "expires_at") -> Q:
    """True until the instant in ``column``, to the millisecond, whatever housekeeping has removed."""
    return Q(**{column: None}) | Q(**{f"{column}__gt": now})


def expired(now: datetime) -> Q:
    return Q(expires_at__lte=now)


def has_expired(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now
