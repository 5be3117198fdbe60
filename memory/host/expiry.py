"""When a row that has an end is over: one rule, as a condition of the ORM, as text of SQL, and for a value."""

from datetime import datetime

from django.db.models import Q

# The same conditions for SQL by hand, with the time as their one parameter.
UNEXPIRED = "({column} IS NULL OR {column} > %s)"
EXPIRED = "{column} <= %s"


def unexpired(now: datetime, column: str = "expires_at") -> Q:
    """True up to the very instant in ``column``, to the millisecond, whatever housekeeping has removed."""
    return Q(**{column: None}) | Q(**{f"{column}__gt": now})


def expired(now: datetime, column: str = "expires_at") -> Q:
    return Q(**{f"{column}__lte": now})


def has_expired(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now
