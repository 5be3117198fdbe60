"""How many of the entries that match a filter have each value: what stands beside the choices of the ledger.

Counted of the first ``SAMPLED`` matches, so that a count costs the same in a ledger of any size. Where there are more,
a count is a lower bound ("312+") and values that only older entries have are missing.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from memory import search
from memory.adapter import Sampled
from memory.addresses import PREFIX
from memory.host import sql
from memory.host.tenancy import TenantScope
from memory.search import LedgerFilter

SAMPLED = 1_000
AGES = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
# The columns whose values are counted as they are. Each facet has the name of the field of the filter that it sets.
COLUMNS = {
    "agent": "agent_id",
    "node": "node_id",
    "memory_ref": "memory_ref",
    "subject": "subject",
    "system": "system",
    "sensitivity": "sensitivity",
}
COUNTED = (*COLUMNS, "tag", "tier")


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each value was found; of more entries than were looked at when ``is_bound``."""

    of: Mapping[str, int] = field(default_factory=dict)
    is_bound: bool = False


def counts(scope: TenantScope, wanted: LedgerFilter, *, now: datetime) -> dict[str, Counts]:
    """What stands behind every value of each facet, whatever is chosen of that facet itself; with ``state`` and
    ``age``."""
    wanted = wanted.with_fields()
    every = _sample(scope, replace(wanted, state="all"), now)
    here = every if wanted.state == "all" else [each for each in every if _state(each) == wanted.state]
    if wanted.state == "retired" and len(every) > SAMPLED:
        here = _sample(scope, wanted, now)
    is_bound = len(every) > SAMPLED
    states = Counter(map(_state, every[:SAMPLED]))
    found = {"state": Counts(states | Counter(all=states.total()), is_bound)}
    for name in COUNTED:
        among = here
        if getattr(wanted, name):
            unset: dict[str, Any] = {name: ""}
            among = _sample(scope, replace(wanted, **unset), now)
        found[name] = Counts(_counted(name, among[:SAMPLED]), is_bound if among is here else len(among) > SAMPLED)
    ever = here if not wanted.since else _sample(scope, replace(wanted, since=None), now)
    found["age"] = Counts(_ages(ever[:SAMPLED], now), is_bound or len(ever) > SAMPLED)
    return found


def _sample(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> list[Sampled]:
    return search.sample(scope, wanted, size=SAMPLED + 1, now=now)


def _counted(name: str, among: list[Sampled]) -> Counter[str]:
    """How many have each value. Whole columns are counted, and what a text stands for is read once for each text."""
    found: Counter[str] = Counter()
    if name == "tag":
        for tags, entries in Counter(each.tags for each in among).items():
            found.update(dict.fromkeys(sql.as_document(tags), entries))
    elif name == "tier":
        for memory_ref, entries in Counter(each.memory_ref for each in among).items():
            if memory_ref.startswith(PREFIX):
                found[memory_ref.removeprefix(PREFIX).partition("/")[0]] += entries
    else:
        found.update(map(attrgetter(COLUMNS[name]), among))
    for nothing in ("", None):
        found.pop(nothing, None)  # type: ignore[arg-type]  # of a column that may be null
    return found


def _state(each: Sampled) -> str:
    return "present" if each.retired_at is None else "retired"


def _ages(among: list[Sampled], now: datetime) -> Counter[str]:
    made = sorted(each.created_at for each in among)
    return Counter({name: len(made) - bisect_left(made, sql.least_text(now - ago)) for name, ago in AGES.items()})
