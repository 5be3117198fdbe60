"""Lists of entries as RFC-0015 has them (4.1, 4.2): those that have an address, and those that runs wrote without one.

Each list has one order: the latest change first, then the id. Totals are exact. Which index leads is decided here, as
SQLite keeps no statistics: the address when a key is named, a tag that few entries have, the task, the intent, the
agent, the namespace.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import Exists, Func, OuterRef, Q
from django.db.models.functions import Substr
from django.db.models.lookups import Exact

from memory.addresses import MAX_NAME, PREFIX, Tier, canonical, size_of
from memory.host import ids, sql
from memory.models.address import AddressQuerySet, EntryAddress
from memory.models.entry import PLAIN, EntryQuerySet, EntryTag, MemoryEntry

# How many entries of a tenant have a rare tag: it is counted no further than the first of these, where that will do.
FEW = (1000, 20_000)
SHARED = Q(tier=Tier.SEMANTIC)
# True of every entry, and in no index: else SQLite would rather go through an index that has all it is asked for.
BY_KEY = Q(version__gte=1)
LEADING = ("task_id", "intent_id", "agent_id", "namespace")
Key = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for. ``seen`` is what the reader may see, ``owned`` leaves shared memory out; "" and None ask for
    nothing. ``prefix`` is what a namespace begins with. An entry has all of ``tags``, and one of ``tags_any``; ``rare``
    are those among them that few entries have, of which it has one (``rare_tags``)."""

    tenant_id: UUID
    seen: Q = field(default_factory=Q)
    tier: str = ""
    owned: bool = False
    agent_id: str = ""
    task_id: str = ""
    intent_id: str = ""
    namespace: str = ""
    prefix: str = ""
    key: str = ""
    pinned: bool | None = None
    after: datetime | None = None
    before: datetime | None = None
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()


class Aside(Func):
    """A column that leads no index: SQLite would take the first that offers itself."""

    arity = 1
    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **more)


@dataclass(frozen=True)
class Listing:
    """The entries of a selection. ``rows`` holds lapsed ones too; of a ``short`` one the whole is read at once,
    which tells how many they are."""

    rows: AddressQuerySet | EntryQuerySet
    moment: str
    short: bool
    tenant_id: UUID
    now: datetime
    _told: dict[str, int] = field(default_factory=dict)

    def keys(self, first: int, last: int) -> list[Key]:
        """When each was changed, and its id, in the order of the list, from ``first`` to before ``last``."""
        try:
            statement, given = self._live.order_by().values_list(self.moment, "id").query.sql_with_params()
        except EmptyResultSet:  # the ORM knows without asking that nothing fits
            self._told["whole"] = 0
            return []
        # Of a short list all is found first, wherever its order may be at hand.
        source = f"SELECT listed.* FROM ({statement}) AS listed"  # noqa: S608
        if self.short:
            source = f"WITH listed AS MATERIALIZED ({statement}) SELECT listed.*, COUNT(*) OVER () FROM listed"  # noqa: S608
        found = sql.rows(f"{source} ORDER BY 1 DESC, 2 LIMIT %s OFFSET %s", [*given, last - first, first])
        if self.short and (found or not first):
            self._told["whole"] = found[0][2] if found else 0
        return [(sql.as_utc(moment), sql.as_uuid(entry_id)) for moment, entry_id, *_ in found]

    def count(self) -> int:
        """How many there are: all, less the few that have lapsed and are not swept yet."""
        if self.short:
            return self._told["whole"] if "whole" in self._told else int(self._live.count())
        lapsed = MemoryEntry.objects.of(self.tenant_id).expired(self.now)
        gone = self.rows.filter(id__in=lapsed.values("id")).count() if lapsed.exists() else 0
        return int(self.rows.count()) - int(gone)

    def ids(self) -> list[UUID]:
        return list(self._live.values_list("id", flat=True))

    @property
    def _live(self) -> AddressQuerySet | EntryQuerySet:
        return self.rows.unexpired(self.now)


def list_addressed(wanted: Selection, *, now: datetime) -> Listing:
    """The addressed entries of the selection; a retired one is in no list."""
    near = _at_address(wanted) or _under_rare_tag(wanted)
    leads = "" if near else next((name for name in LEADING if getattr(wanted, name)), "")
    exact = [_exact(name, getattr(wanted, name), leads) for name in (*LEADING, "key") if getattr(wanted, name)]
    pinned = Q() if wanted.pinned is None else Q(pinned=wanted.pinned, tier=Tier.EPISODIC)
    where = [*exact, *_limits(wanted, "namespace", "updated_at"), near & BY_KEY if near else Q(), _of_tier(wanted)]
    rows = EntryAddress.objects.filter(
        *where, wanted.seen, pinned, *_tagged(wanted), tenant_id=wanted.tenant_id, hidden=False
    )
    return Listing(rows, "updated_at", bool(near), wanted.tenant_id, now)


def has_plain(tenant_id: UUID, agent_id: str) -> bool:
    """Whether anything without an address is the agent's; mostly nothing is, and that is soon known."""
    unaddressed = f"NOT (substr(memory_ref, 1, {len(PREFIX)}) = %s) AND retired_at IS NULL"
    # The order leads PostgreSQL to their own index: it takes what is rare for what is everywhere, and would read all.
    of_agent = f"tenant_id = %s AND agent_id = %s AND {unaddressed} ORDER BY created_at DESC, id"
    statement = f"SELECT 1 FROM memory_memoryentry WHERE {of_agent} LIMIT 1"  # noqa: S608
    return bool(sql.rows(statement, [sql.key(tenant_id), agent_id, PREFIX]))


def plain_listed(wanted: Selection, *, now: datetime) -> Listing:
    """What the agent remembered in runs, without an address, as if the ref were the namespace and the id the key.

    Such entries are episodic, of no task, and never pinned.
    """
    near = _under_rare_tag(wanted)
    own = _exact("agent_id", wanted.agent_id, "" if near else "agent_id")
    where = [PLAIN, near or Q(), own, *_limits(wanted, "memory_ref", "created_at"), *_tagged(wanted)]
    rows = MemoryEntry.objects.of(wanted.tenant_id).filter(*where)
    if wanted.namespace:
        rows = rows.filter(Exact(Substr("memory_ref", 1, MAX_NAME), wanted.namespace))
    if wanted.key:
        entry_id = ids.parse("mem", wanted.key)
        rows = rows.filter(id=entry_id) if entry_id else rows.none()
    return Listing(rows, "created_at", bool(near), wanted.tenant_id, now)


def plain_rows_of(tenant_id: UUID, wanted: list[UUID]) -> dict[UUID, EntryAddress]:
    """The entries without an address of these ids, at the address that each has in the eyes of RFC-0015."""
    rows = MemoryEntry.objects.of(tenant_id).defer("search_text").in_bulk_by_id(wanted)
    return {entry_id: _as_addressed(entry) for entry_id, entry in rows.items()}


def plain(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryAddress | None:
    """One entry that has an agent and no address, as ``plain_rows_of`` gives it; None when it cannot be read."""
    rows = MemoryEntry.objects.of(tenant_id).unexpired(now).filter(PLAIN, id=entry_id)
    found = rows.exclude(agent_id="").first()
    return _as_addressed(found) if found else None


def is_plain(row: EntryAddress) -> bool:
    """Whether the entry has no address but the one that ``plain_rows_of`` gave it: OpenIntent only reads it."""
    return not row.entry.memory_ref.startswith(PREFIX)


def _as_addressed(entry: MemoryEntry) -> EntryAddress:
    """An address that is stored nowhere; the entry's content has the form of a value."""
    value = {"content": entry.content}
    entry.content = canonical(value)
    row = EntryAddress(
        tenant_id=entry.tenant_id,
        id=entry.id,
        tier=Tier.EPISODIC,
        agent_id=entry.agent_id,
        namespace=entry.memory_ref[:MAX_NAME],
        key=ids.wire("mem", entry.id),
        created_by=entry.agent_id,
        created_at=entry.created_at,
        updated_at=entry.created_at,
        accessed_at=entry.created_at,
        size=size_of(value),
    )
    row.entry = entry
    return row


def _exact(name: str, value: str, leads: str) -> Q:
    """``name`` is ``value``; by its index where it leads, which of tasks and intents has no entry that is of none."""
    if name != leads:
        return Q(Exact(Aside(name), value))
    return Q(~Q(**{name: ""}), **{name: value}) if name in ("task_id", "intent_id") else Q(**{name: value})


def _of_tier(wanted: Selection) -> Q:
    return Q(tier=wanted.tier) if wanted.tier else ~SHARED if wanted.owned else Q()


def _limits(wanted: Selection, name: str, moment: str) -> list[Q]:
    """How the namespace begins, and between which times the last change lies. Case counts, and no sign is special."""
    begins = Q(Exact(Substr(name, 1, len(wanted.prefix)), wanted.prefix)) if wanted.prefix else Q()
    after = Q(**{f"{moment}__gt": wanted.after}) if wanted.after else Q()
    return [begins, after, Q(**{f"{moment}__lt": wanted.before}) if wanted.before else Q()]


def _tagged(wanted: Selection) -> list[Exists]:
    """An entry has the tags; of those that are rare it is known already, as it was found by them."""
    tags = EntryTag.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("id"))
    every = [Exists(tags.filter(tag=tag)) for tag in wanted.tags if (tag,) != wanted.rare]
    one_of = bool(wanted.tags_any) and wanted.tags_any != wanted.rare
    return [*every, Exists(tags.filter(tag__in=wanted.tags_any))] if one_of else every


def _at_address(wanted: Selection) -> Q | None:
    """The one or two entries that have the address, when the selection names one (RFC-0015 1.2)."""
    if not (wanted.key and wanted.namespace and (wanted.agent_id or wanted.tier == Tier.SEMANTIC)):
        return None
    rows = EntryAddress.objects.of(wanted.tenant_id).filter(namespace=wanted.namespace, key=wanted.key, hidden=False)
    own = rows.filter(~SHARED, agent_id=wanted.agent_id).values_list("id", flat=True)
    return Q(id__in=[*own, *rows.filter(SHARED).values_list("id", flat=True)])


def rare_tags(tenant_id: UUID, tags: tuple[str, ...], tags_any: tuple[str, ...]) -> tuple[str, ...]:
    """The rarest of ``tags``, or all of ``tags_any``, when no more than a few entries of the tenant have it."""
    groups = [(tag,) for tag in tags] + ([tags_any] if tags_any else [])
    for most in FEW if groups else ():
        fewest, rarest = min((_count_of_tags(tenant_id, group, most), group) for group in groups)
        if fewest <= most:
            return rarest
    return ()


def _count_of_tags(tenant_id: UUID, tags: tuple[str, ...], most: int) -> int:
    """How many times entries have one of the tags; ``most`` and one more are many."""
    marks = ", ".join(["%s"] * len(tags))
    source = f"SELECT 1 FROM memory_entrytag WHERE tenant_id = %s AND tag IN ({marks}) LIMIT %s"  # noqa: S608
    statement = f"SELECT COUNT(*) FROM ({source}) AS counted"  # noqa: S608
    ((found,),) = sql.rows(statement, [sql.key(tenant_id), *tags, most + 1])
    return int(found)


def _under_rare_tag(wanted: Selection) -> Q | None:
    """What carries one of the rare tags; None when there are none."""
    rows = EntryTag.objects.of(wanted.tenant_id).filter(tag__in=wanted.rare)
    return Q(id__in=rows.values("id")) if wanted.rare else None
