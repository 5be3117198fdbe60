"""Pages of a list: the rows after a cursor, up to a limit, and the cursor of the next page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db.models import QuerySet

from memory.host import ids, sql
from memory.host.models import TenantOwned

DEFAULT_LIMIT = 50

Row = TypeVar("Row")
Other = TypeVar("Other")
Owned = TypeVar("Owned", bound=TenantOwned)
Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a list, the total, and the cursor of the next page.

    The cursor is an id, a name or a time, as the list is ordered; None at the end.
    """

    rows: list[Row]
    total: int
    after: Any = None

    def with_rows(self, rows: "list[Other]") -> "Page[Other]":
        """Return the same page with these rows."""
        return Page(rows, self.total, self.after)


def behind(rows: Rows, after: object, order: str = "-id") -> Rows:
    """Order the queryset and keep the rows after the one whose order column is ``after``; all without one."""
    column, comparison = order.removeprefix("-"), "lt" if order.startswith("-") else "gt"
    found = rows.filter(**{f"{column}__{comparison}": after}) if after else rows
    return found.order_by(order)


def cut(rows: Sequence[Row], size: int) -> tuple[list[Row], Row | None]:
    """Return the first ``size`` rows, and the last of them when there are more.

    ``rows`` were queried with one more than ``size``.
    """
    return list(rows[:size]), rows[size - 1] if len(rows) > size else None


def read_page(rows: QuerySet[Any, Row], after: object, size: int, *, order: str = "-id") -> Page[Row]:
    """Return the page of a queryset after the cursor ``after``."""
    shown, last = cut(list(behind(rows, after, order)[: size + 1]), size)
    return Page(shown, rows.count(), getattr(last, order.removeprefix("-")) if last else None)


def read_all(rows: QuerySet[Owned]) -> Iterator[list[Owned]]:
    """Yield all rows, newest first, a chunk at a time, for exports of any size."""
    after: UUID | None = None
    while chunk := list(behind(rows, after)[: sql.CHUNK]):
        yield chunk
        after = chunk[-1].id


def cursor(prefix: str, row_id: UUID | None) -> str | None:
    """Return the wire cursor for the rows after this id; None at the end of the list."""
    return ids.wire(prefix, row_id) if row_id else None
