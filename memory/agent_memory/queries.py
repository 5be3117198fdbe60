"""Lists of memory (RFC-0015 4; R37, R43, R50 to R63, R74): what was asked for, and the visible entries that fit.

Visibility is ``tiers.visible`` and part of the query: nothing is filtered afterwards, so totals count what may be seen.
An agent's list has the entries, too, that it wrote through OpenWOP: they are episodic, and only to be read here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memory import adapter, tiers, work
from memory.adapter import Listing, Selection
from memory.addresses import Tier
from memory.agent_memory import entries
from memory.agent_memory.asked import Wanted, parse
from memory.host import ids
from memory.tiers import Caller

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

# Up to here lists are read from their beginning to be put into one order; further on it is asked first which are empty.
DEEP = 5000

__all__ = ["Page", "Wanted", "ids_matching", "page", "parse"]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, and how long all of it is. Those of its rows that are of ``inherited_from``, a task, are seen
    through a task under it."""

    rows: "list[EntryAddress]"
    total: int
    limit: int
    offset: int
    inherited_from: str = ""


def page(caller: Caller, wanted: Wanted, *, now: datetime) -> Page:
    """The entries that the caller may see and that fit, the latest change first; the owner has accessed them (R37)."""
    parent = _parent_of(caller, wanted)
    selections = _selections(caller, wanted, parent, now)
    listings = [adapter.listed(each, now=now) for each in selections]
    plain = _plain(caller, wanted, selections[0].rare)
    if plain is not None:
        listings.append(adapter.plain_listed(plain, now=now))
    found, total = _merged(listings, wanted.offset, wanted.limit)
    rows = _rows(caller.tenant_id, [entry_id for _, entry_id in found], plain is not None)
    entries.refresh(caller, [row for row in rows if not adapter.is_plain(row)], now=now)
    return Page(rows, total, wanted.limit, wanted.offset, parent)


def ids_matching(caller: Caller, wanted: Wanted, *, now: datetime) -> list[UUID]:
    """Every entry that the caller sees and that fits, whatever page was asked for: none that a parent's task lends, and
    none of OpenWOP's, for nobody changes those here."""
    found = [adapter.listed(each, now=now) for each in _selections(caller, wanted, "", now)]
    return [entry_id for listing in found for entry_id in listing.ids()]


def _selections(caller: Caller, wanted: Wanted, parent: str, now: datetime) -> list[Selection]:
    """What is asked of addressed entries, as selections that have no entry in common."""
    if not (wanted.agent_id or wanted.task_id or wanted.memory_type):  # C6: one's own, and what is shared
        own = replace(_selection(caller, replace(wanted, agent_id=caller.agent_id), now), owned=True)
        return [own, _selection(caller, replace(wanted, memory_type=Tier.SEMANTIC), now)]
    whole = _selection(caller, wanted, now)
    if not parent:
        return [whole]
    lent = replace(wanted, memory_type=Tier.WORKING, agent_id="", task_id=parent)
    return [whole, _selection(caller, lent, now)]


def _selection(caller: Caller, wanted: Wanted, now: datetime) -> Selection:
    own = wanted.agent_id == caller.agent_id
    shared = wanted.listed and own and wanted.memory_type == Tier.SEMANTIC
    begins = wanted.namespace.endswith("*")
    return Selection(
        tenant_id=caller.tenant_id,
        seen=tiers.visible(caller, tier=wanted.memory_type or "", own=own, now=now),
        tier=wanted.memory_type or "",
        agent_id="" if shared else wanted.agent_id,  # R43: all that this agent may read
        task_id=wanted.task_id,
        intent_id=wanted.intent_id,
        namespace="" if begins else wanted.namespace,
        prefix=wanted.namespace[:-1] if begins else "",
        key=wanted.key,
        pinned=wanted.pinned,
        after=wanted.updated_after,
        before=wanted.updated_before,
        tags=wanted.tags,
        tags_any=wanted.tags_any,
        rare=adapter.rare_tags(caller.tenant_id, wanted.tags, wanted.tags_any),
    )


def _plain(caller: Caller, wanted: Wanted, rare: tuple[str, ...]) -> Selection | None:
    """What is asked of the entries that the agent wrote through OpenWOP; None when none of them can fit."""
    agent_id = wanted.agent_id or caller.agent_id
    named = wanted.agent_id or not (wanted.task_id or wanted.memory_type)
    fits = wanted.memory_type in (None, Tier.EPISODIC) and not (wanted.task_id or wanted.intent_id or wanted.pinned)
    if not (named and fits and (caller.operates or agent_id == caller.agent_id)):
        return None
    if not adapter.has_plain(caller.tenant_id, agent_id):
        return None
    begins = wanted.namespace.endswith("*")
    return Selection(
        tenant_id=caller.tenant_id,
        agent_id=agent_id,
        namespace="" if begins else wanted.namespace,
        prefix=wanted.namespace[:-1] if begins else "",
        key=wanted.key,
        after=wanted.updated_after,
        before=wanted.updated_before,
        tags=wanted.tags,
        tags_any=wanted.tags_any,
        rare=rare,
    )


def _parent_of(caller: Caller, wanted: Wanted) -> str:
    """The task whose working memory the task of the query inherits (RFC-0015 6.5); "" when there is none to be seen."""
    if not wanted.task_id or wanted.memory_type not in (None, Tier.WORKING):
        return ""
    task = work.task(caller.tenant_id, wanted.task_id) if wanted.agent_id in ("", caller.agent_id) else None
    parent_id = task.parent_task_id if task else None
    return ids.wire("task", parent_id) if task and parent_id and work.inherits(task) else ""


def _merged(listings: Sequence[Listing], offset: int, limit: int) -> tuple[list[tuple[datetime, UUID]], int]:
    """A part of all the lists in one order, and how long they are together."""
    last = offset + limit
    filled = [each for each in listings if each.keys(0, 1)] if last > DEEP else listings
    if len(filled) == 1:
        found = filled[0].keys(offset, last + 1)
        ends = len(found) <= limit and bool(found or not offset)
        return found[:limit], offset + len(found) if ends else filled[0].count()
    heads = [each.keys(0, last + 1) for each in filled]
    counts = [len(head) if len(head) <= last else each.count() for each, head in zip(filled, heads, strict=True)]
    together = sorted((key for head in heads for key in head), key=lambda key: key[1])
    together.sort(key=lambda key: key[0], reverse=True)
    return together[offset:last], sum(counts)


def _rows(tenant_id: UUID, wanted: list[UUID], with_plain: bool) -> "list[EntryAddress]":
    """The entries of these ids in their order; one that has gone meanwhile is left out."""
    found = adapter.rows_of(tenant_id, wanted)
    missing = [entry_id for entry_id in wanted if entry_id not in found]
    if with_plain and missing:
        found |= adapter.plain_rows_of(tenant_id, missing)
    return [found[entry_id] for entry_id in wanted if entry_id in found]
