"""Which tenants' commitments need a look. It is asked every second, so it costs a place in an index for each tenant of
a part, whatever waits there and whatever has fired."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from memory import adapter
from memory.commitments import conditions, rows
from memory.host import event_log, sql
from memory.host.models import Tenant
from memory.models import Commitment, Condition

PART = sql.CHUNK


class Look(NamedTuple):
    """Tenants that need a look, of one part of all; ``after`` is where the next part begins, None behind the last."""

    tenants: list[UUID]
    after: UUID | None


def wanting_a_look(*, since: datetime, whole: bool, after: UUID | None = None, now: datetime) -> Look:
    """Of at most 500 tenants behind ``after``: those whose ledger has news, who have a commitment due, or whose runs
    ended since then while one waits; with ``whole`` all that have one which may fire, or may come back."""
    asked = _of_open("due", Q(due_at__lte=now), by="due_at") | _of_open("waiting", Q(condition=Condition.PREDICATE))
    if whole:
        asked |= _of_open("open", Q()) | {"lost": _first(rows.MAY_RETURN)}
    page = Tenant.objects.annotate(**asked).order_by("id").values("id", *asked)
    part = list((page.filter(id__gt=after) if after else page)[:PART])
    found = adapter.tenants_with_news([each["id"] for each in part], now=now)
    found += [each["id"] for each in part if any(each[name] for name in asked if not name.startswith("waiting"))]
    waiting = [each["id"] for each in part if any(each[name] for name in asked if name.startswith("waiting"))]
    found += event_log.tenants_where(conditions.ENDS, among=waiting, since=since) if waiting else []
    return Look(list(dict.fromkeys(found)), part[-1]["id"] if len(part) == PART else None)


def _of_open(name: str, of: Q, *, by: str = "id") -> dict[str, Subquery]:
    return {f"{name}_{state}": _first(of & Q(state=state), by=by) for state in rows.OPEN}


def _first(of: Q, *, by: str = "id") -> Subquery:
    """The first of these commitments of the tenant of the row outside, in the order of the index.

    A mere question whether there is one is answered by PostgreSQL from a table of all tenants' commitments.
    """
    return Subquery(Commitment.objects.filter(of, tenant_id=OuterRef("id")).order_by(by).values("id")[:1])
