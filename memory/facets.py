"""How many of the entries that match a filter have each value: what stands beside the choices of the ledger.

Counted of the first ``SAMPLED`` matches, so that a count costs the same in a ledger of any size. Where there are more,
a count is a lower bound ("312+") and values that only older entries have are missing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from memory import search
from memory.adapter import Sampled
from memory.host.tenancy import TenantScope
from memory.search import LedgerFilter

SAMPLED = 1_000
AGES = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
# What each facet counts, by the field of the filter that it sets.
COUNTED: dict[str, Callable[[Sampled], Iterable[str]]] = {
    "agent": lambda each: [each.agent],
    "node": lambda each: [each.node],
    "tag": lambda each: each.tags,
    "memory_ref": lambda each: [each.ref],
    "subject": lambda each: [each.subject],
    "system": lambda each: [each.system],
    "tier": lambda each: [each.tier],
    "sensitivity": lambda each: [each.sensitivity],
}


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
    found = {"state": _counted(every, is_bound, lambda each: ["all", _state(each)])}
    for name, values in COUNTED.items():
        if getattr(wanted, name):
            unset: dict[str, Any] = {name: ""}
            among = _sample(scope, replace(wanted, **unset), now)
            found[name] = _counted(among, len(among) > SAMPLED, values)
        else:
            found[name] = _counted(here, is_bound, values)
    ever = here if not wanted.since else _sample(scope, replace(wanted, since=None), now)
    found["age"] = _counted(ever, is_bound or len(ever) > SAMPLED, lambda each: _ages(each, now))
    return found


def _sample(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> list[Sampled]:
    return search.sample(scope, wanted, size=SAMPLED + 1, now=now)


def _counted(among: list[Sampled], is_bound: bool, values: Callable[[Sampled], Iterable[str]]) -> Counts:
    found = Counter(value for each in among[:SAMPLED] for value in values(each) if value)
    return Counts(found, is_bound)


def _state(each: Sampled) -> str:
    return "retired" if each.is_retired else "present"


def _ages(each: Sampled, now: datetime) -> Iterable[str]:
    return (name for name, ago in AGES.items() if each.created_at >= now - ago)
