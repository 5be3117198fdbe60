"""Pages of a list: the rows behind a cursor, at most so many, and the cursor behind which the list goes on."""

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
    """Some rows of a list, how many there are in all, and the cursor behind which the next page begins: an id, a name
    or a time, as the list is ordered; None at its end."""

    rows: list[Row]
    total: int
    after: Any = None

    def of(self, rows: "list[Other]") -> "Page[Other]":
        """The same page, each of its rows as something else."""
        return Page(rows, self.total, self.after)


def behind(rows: Rows, after: object, order: str = "-id") -> Rows:
    """The rows of a queryset in this order, behind the one whose value in its column is ``after``; all without one."""
    column, comparison = order.removeprefix("-"), "lt" if order.startswith("-") else "gt"
    found = rows.filter(**{f"{column}__{comparison}": after}) if after else rows
    return found.order_by(order)


def cut(rows: Sequence[Row], size: int) -> tuple[list[Row], Row | None]:
    """The first ``size`` of rows of which one more was asked for, and the last of these where that one is there."""
    return list(rows[:size]), rows[size - 1] if len(rows) > size else None


def read_page(rows: QuerySet[Any, Row], after: object, size: int, *, order: str = "-id") -> Page[Row]:
    """One page of a queryset, behind the cursor ``after``."""
    shown, last = cut(list(behind(rows, after, order)[: size + 1]), size)
    return Page(shown, rows.count(), getattr(last, order.removeprefix("-")) if last else None)


def read_all(rows: QuerySet[Owned]) -> Iterator[list[Owned]]:
    """All rows, the newest first, a chunk at a time: for a file, however many there are."""
    after: UUID | None = None
    while chunk := list(behind(rows, after)[: sql.CHUNK]):
        yield chunk
        after = chunk[-1].id


def cursor(prefix: str, row_id: UUID | None) -> str | None:
    """How a client asks for what comes behind the row of this id; null at the end of the list."""
    return ids.wire(prefix, row_id) if row_id else None
