"""Values of hand-written SQL in the form each engine stores them; the statements stay in the three hot modules.

``adapter``, ``ledger`` and ``event_log`` write SQL by hand (performance.md, section 2). This module only converts.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import connection


def is_postgres() -> bool:
    return connection.vendor == "postgresql"


def key(value: UUID | None) -> Any:
    """An id as a parameter."""
    return value if value is None or is_postgres() else value.hex


def instant(value: datetime | None) -> Any:
    """A time as a parameter: what Django's own field stores."""
    if value is None or is_postgres():
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def document(value: Any) -> str:
    """JSON as a parameter; cast it with ``{json}`` of ``placeholders``."""
    return orjson.dumps(value).decode()


def json_cast() -> str:
    """The suffix that turns a text parameter into the column's JSON type."""
    return "::jsonb" if is_postgres() else ""


def as_uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(hex=value)


def at(value: Any) -> datetime:
    """A time column that is never null; SQLite gives it without its zone, which is UTC."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def as_instant(value: Any) -> datetime | None:
    return None if value is None else at(value)


def as_document(value: Any) -> Any:
    return orjson.loads(value) if isinstance(value, str | bytes) else value
