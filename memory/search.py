"""Filters and full text over the ledger, on top of the adapter: what the ledger page and the console API ask.

Pages go by keyset, newest first. The total is exact for the whole ledger (a maintained count) and up to 10,000 matches
of a filter; beyond, the page says "10,000+".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import QuerySet

from memory import adapter
from memory.host import ids
from memory.host.tenancy import TenantScope
from memory.matching import search_form

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

MAX_WORDS = 8
CHUNK = 500
SHOWN = (
    "id",
    "memory_ref",
    "content",
    "tags",
    "subject",
    "run_id",
    "node_id",
    "agent_id",
    "created_at",
    "expires_at",
    "retired_at",
    "retired_reason",
    "tokens",
    "sha256",
    "redactions",
    "secret_shapes",
    "run__workflow_id",
    "run__status",
    "run__system",
)
STATES = ("present", "retired", "all")


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """What to show. Empty means everything; ``run`` is a wire id, and one that is none matches nothing."""

    agent: str = ""
    run: str = ""
    node: str = ""
    tag: str = ""
    memory_ref: str = ""
    text: str = ""
    state: str = "present"

    @property
    def is_empty(self) -> bool:
        return self == LedgerFilter()


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """One page: its entries, how many there are in all, and the id to continue after."""

    entries: "list[MemoryEntry]"
    total: int
    total_is_exact: bool
    first: int
    after: UUID | None

    @property
    def last(self) -> int:
        return self.first + len(self.entries) - 1

    @property
    def is_inexact(self) -> bool:
        return not self.total_is_exact


def ledger_page(
    scope: TenantScope, wanted: LedgerFilter, *, after: UUID | None = None, seen: int = 0, size: int = 50, now: datetime
) -> LedgerPage:
    """The page of ``size`` entries behind ``after``; ``seen`` is how many came before it."""
    matching = _matching(scope, wanted, now)
    found = _behind(matching, after, size + 1)
    total, exact = _total(scope, wanted, matching, now)
    more = found[size - 1].id if len(found) > size else None
    return LedgerPage(found[:size], total, exact, seen + 1, more)


def every(scope: TenantScope, wanted: LedgerFilter, *, now: datetime) -> Iterator["MemoryEntry"]:
    """All that match, newest first, however many; read in chunks, for a file."""
    matching, after = _matching(scope, wanted, now), None
    while chunk := _behind(matching, after, CHUNK):
        yield from chunk
        after = chunk[-1].id


def _behind(matching: "QuerySet[MemoryEntry]", after: UUID | None, size: int) -> "list[MemoryEntry]":
    rows = matching if after is None else matching.filter(id__lt=after)
    return list(rows.select_related("run").only(*SHOWN).order_by("-id")[:size])


def _total(
    scope: TenantScope, wanted: LedgerFilter, matching: "QuerySet[MemoryEntry]", now: datetime
) -> tuple[int, bool]:
    if wanted.is_empty and scope.principal.agent_ids is None:
        return adapter.total(scope, now=now), True
    counted = matching.order_by().values("id")[: adapter.COUNTED + 1].count()
    return min(counted, adapter.COUNTED), counted <= adapter.COUNTED


def _matching(scope: TenantScope, wanted: LedgerFilter, now: datetime) -> "QuerySet[MemoryEntry]":
    rows = adapter.live(scope, now=now)
    if wanted.state != "all":
        rows = rows.filter(retired_at__isnull=wanted.state != "retired")
    if wanted.run:
        run_id = ids.parse("run", wanted.run)
        rows = rows.filter(run_id=run_id) if run_id else rows.none()
    if wanted.tag:
        rows = adapter.tagged(rows, scope, wanted.tag)
    exact = {"agent_id": wanted.agent, "node_id": wanted.node, "memory_ref": wanted.memory_ref}
    rows = rows.filter(**{field: value for field, value in exact.items() if value})
    for word in search_form(wanted.text).split()[:MAX_WORDS]:
        rows = rows.filter(search_text__contains=word)
    return rows
