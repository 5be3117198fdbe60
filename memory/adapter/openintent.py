"""Lists of entries as RFC-0015 has them (4.1, 4.2): those that have an address, and those that runs wrote without one.

Each list has one order: the latest change first, then the id; of a search, the best first. Totals are exact up to
10,000 entries (``Counted``). Which index leads is decided here, as SQLite keeps no statistics: what a search asks
about, the address when a key is named, a tag that few entries have, the task, the intent, the agent, the namespace.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, partial
from typing import Any, NamedTuple
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import (
    BooleanField,
    CharField,
    Count,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Substr
from django.db.models.lookups import Exact

from memory.adapter import fulltext
from memory.adapter.console import COUNTED
from memory.addresses import MAX_NAME, PREFIX, SEALED, TASK_LIFETIME, Tier, canonical, size_of
from memory.host import ids, sql
from memory.host.expiry import has_expired
from memory.host.models import VaultKey
from memory.host.tenancy import MemoryScope
from memory.models.address import AddressQuerySet, EntryAddress
from memory.models.entry import PLAIN, EntryQuerySet, EntryTag, MemoryEntry
from memory.text.search_words import Sought

# How many entries of a tenant have a rare tag: it is counted no further than the first of these that will do.
FEW = (1000, 5000, 20_000)
# Of so many entries of a list it is looked up whether they have the tags, to count those that do.
LOOKED_AT = 50_000
SHARED = Q(tier=Tier.SEMANTIC)
# True of every entry, and in no index: else SQLite would rather go through an index that has all it is asked for.
BY_KEY = Q(version__gte=1)
LEADING = ("task_id", "intent_id", "agent_id", "namespace")
Key = tuple[datetime, UUID]
# Times and booleans, which SQLite stores as other types, come last.
ADDRESS = (
    "tier", "agent_id", "namespace", "key", "version", "task_id", "intent_id", "priority", "sensitivity", "ttl",
    "created_by", "curated_by", "size", "sealed", "vault_key_id",
)  # fmt: skip
TRUTHS, TIMES = ("pinned", "hidden"), ("created_at", "updated_at", "accessed_at")
ENTRY, ENDS = ("memory_ref", "content", "node_id", "agent_id"), ("expires_at", "retired_at")
# The columns of a row after its id, in this order.
OWN, OF_ENTRY = (*ADDRESS, *TRUTHS, *TIMES), (*ENTRY, "run_id", "tags", *ENDS)
FIRST_OF_ENTRY = 1 + len(OWN)
BEHIND_ENTRY = FIRST_OF_ENTRY + len(OF_ENTRY)
READINGS = 2
SOURCE = (
    "FROM memory_entryaddress a JOIN memory_memoryentry e ON e.tenant_id = a.tenant_id AND e.id = a.id "
    "WHERE a.tenant_id = %s AND "
)
IS_STATED = (
    "EXISTS (SELECT 1 FROM memory_entryorigin s WHERE s.tenant_id = a.tenant_id AND s.entry_id = a.id AND s.current)"
)
# Many rows on PostgreSQL: each through its key, as in ``Listing``.
KEYED = "SELECT * FROM {0} WHERE tenant_id = {1} AND id >= {2}.id AND id <= {2}.id ORDER BY id LIMIT 1"
LED = (
    "FROM unnest(%s::uuid[]) AS wanted(id) "
    f"CROSS JOIN LATERAL ({KEYED.format('memory_entryaddress', '%s', 'wanted')}) AS a "
    f"CROSS JOIN LATERAL ({KEYED.format('memory_memoryentry', 'a.tenant_id', 'a')}) AS e"
)
EPISODIC = (
    "SELECT COUNT(*) FROM memory_entryaddress "
    "WHERE tenant_id = %s AND agent_id = %s AND tier = 'episodic' AND pinned IN (FALSE, TRUE)"
)
WITH_TEXTS = 100  # entries in memory at a time: each may have a text of many kilobytes
# An explicit expiry wins over a lifetime (R12).
BOUND = Q(tier=Tier.WORKING) | Q(ttl=TASK_LIFETIME, entry__expires_at=None)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reader may see: ``condition`` builds the SQL. Conditions of one ``form`` differ in ``agent_id`` alone; a
    form of None may differ in anything."""

    condition: Callable[[], Q] = Q
    form: Hashable = ()
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for. ``seen`` is what the reader may see, ``owned`` leaves shared memory out; "" and None ask for
    nothing. ``prefix`` is what a namespace begins with. An entry has all of ``tags``, and one of ``tags_any``; ``rare``
    are those among them that few entries have, of which it has one (``rare_tags``). Of a search it is one of ``among``,
    and has all of ``phrases``. The canonical form of its value has all of ``holding``, or is sealed."""

    tenant_id: UUID
    seen: Seen = Seen()
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
    among: tuple[UUID, ...] = ()
    phrases: tuple[str, ...] = ()
    holding: tuple[str, ...] = ()


class Counted(NamedTuple):
    """How many entries a list has; a lower bound when the count stopped early."""

    entries: int
    is_exact: bool = True


class Held(Exists):
    """Whether there is such a row, asked of each row that the other conditions leave. PostgreSQL would make it a join,
    and with no statistics of a tenant yet compare each of its rows with each other."""

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, template="EXISTS(%(subquery)s OFFSET 0)", **more)


class Aside(Func):
    """A column that must not lead an index: SQLite would take the first index that offers itself."""

    arity = 1
    template = "%(expressions)s"

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, template="+%(expressions)s", **more)


@dataclass(frozen=True)
class Listing:
    """The entries of a selection. ``rows`` holds lapsed ones too; without any (``lapsing``) no entry is looked at for
    its end. Of a ``short`` one the whole is read at once, which tells how many they are. ``shape`` and ``values`` are
    those of its statements (``sql.statement_of_shape``). ``untagged`` is the list without the ``tags`` by which a long
    one is narrowed: it has one of each group. ``led_by`` are the tags that lead to a list on PostgreSQL, and
    ``query`` is then about the ``tagged`` entry."""

    query: Callable[[], AddressQuerySet | EntryQuerySet]
    moment: str
    short: bool
    tenant_id: UUID
    now: datetime
    lapsing: bool
    shape: tuple[Hashable, ...] | None
    values: Sequence[object]
    tags: Sequence[tuple[str, ...]] = ()
    untagged: "Listing | None" = None
    led_by: Sequence[str] = ()
    _told: dict[str, int] = field(default_factory=dict)

    def keys(self, first: int, last: int) -> list[Key]:
        """When each was changed, and its id, in the order of the list, from ``first`` to before ``last``."""
        try:
            statement, given = self._every("keys", self.moment, "id")
        except EmptyResultSet:  # the ORM knows without asking that nothing fits
            self._told["whole"] = 0
            return []
        # Of a short list all is found first, wherever its order may be at hand.
        source = f"SELECT listed.* FROM ({statement}) AS listed"  # noqa: S608
        if self.short:
            counted = "(SELECT COUNT(*) FROM listed)"
            source = f"WITH listed AS MATERIALIZED ({statement}) SELECT listed.*, {counted} FROM listed"  # noqa: S608
        found = sql.rows(f"{source} ORDER BY 1 DESC, 2 LIMIT %s OFFSET %s", [*given, last - first, first])
        if self.short and (found or not first):
            self._told["whole"] = found[0][2] if found else 0
        return [(sql.as_utc(moment), sql.as_uuid(entry_id)) for moment, entry_id, *_ in found]

    def count(self) -> Counted:
        """How many there are: all up to ``COUNTED``, among the first ``LOOKED_AT`` where tags are to be looked up, less
        the few that have lapsed and are not swept yet."""
        if self.short:
            return Counted(self._told["whole"] if "whole" in self._told else len(self.ids()))
        source, most = (self.untagged, LOOKED_AT) if self.untagged else (self, COUNTED)
        statement, given = source.written("count", lambda: source.rows.order_by().values("id"))
        if self.tags:
            tags, named = _having(self.tenant_id, self.tags, "seen.id")
            fitting = f"SELECT 1 FROM seen WHERE {tags} LIMIT %s"  # noqa: S608
            ((seen, found),) = sql.rows(
                f"WITH seen(id) AS MATERIALIZED ({statement} LIMIT %s) "  # noqa: S608
                f"SELECT (SELECT COUNT(*) FROM seen), (SELECT COUNT(*) FROM ({fitting}) AS fitting)",
                [*given, most + 1, *named, COUNTED + 1],
            )
        else:
            counted = f"SELECT COUNT(*) FROM ({statement} LIMIT %s) AS seen"  # noqa: S608
            ((seen,),) = sql.rows(counted, [*given, most + 1])
            found = seen
        is_exact = seen <= most and found <= COUNTED
        if self.lapsing:
            lapsed = MemoryEntry.objects.of(self.tenant_id).expired(self.now)
            found = max(found - self.rows.filter(id__in=lapsed.values("id")).count(), 0)
        return Counted(min(int(found), COUNTED), is_exact)

    def written(self, part: str, query: Callable[[], Any]) -> sql.Statement:
        """The statement of a part of what is asked, and its parameters."""
        return sql.statement_of_shape(self.shape and (part, self.lapsing, *self.shape), self.values, query)

    def ids(self) -> list[UUID]:
        try:
            return [sql.as_uuid(entry_id) for (entry_id,) in sql.rows(*self._every("ids", "id"))]
        except EmptyResultSet:
            return []

    def positions(self, most: int) -> list[int]:
        """The positions of ``most`` of them in the ledger, in no order."""
        position = "entry__position" if isinstance(self.rows, AddressQuerySet) else "position"
        try:
            statement, given = self._every("positions", position)
        except EmptyResultSet:
            return []
        return [found for (found,) in sql.rows(f"{statement} LIMIT %s", [*given, most])]

    def _every(self, part: str, *columns: str) -> sql.Statement:
        """The statement of these columns of all entries, in no order. Where tags lead, each of their entries is read by
        its key before anything else is asked of it: of a tenant that its statistics do not know PostgreSQL would
        compare every tag with every entry, and of a large one go through all that an agent has for each tag."""
        statement, given = self.written(part, lambda: self._live.order_by().values_list(*columns))
        if not self.led_by:
            return statement, given
        marks, table = ", ".join(["%s"] * len(self.led_by)), self.rows.model._meta.db_table
        # In the order of the index, and no more than can have come since they were counted: without the tags PostgreSQL
        # would expect many of them, and read all.
        found = f"SELECT id FROM memory_entrytag WHERE tenant_id = %s AND tag IN ({marks}) ORDER BY tag, id"  # noqa: S608
        tagged = f"SELECT DISTINCT id FROM ({found} LIMIT {2 * FEW[-1]}) AS few"  # noqa: S608
        own = f'FROM ({KEYED.format(table, "%s", "tagged")}) AS "{table}"'
        one = statement.replace(f'FROM "{table}"', own, 1)
        each = f"SELECT found.* FROM ({tagged}) AS tagged CROSS JOIN LATERAL ({one}) AS found"  # noqa: S608
        tenant = sql.key(self.tenant_id)
        return each, [tenant, *self.led_by, tenant, *given]

    @cached_property
    def rows(self) -> AddressQuerySet | EntryQuerySet:
        return self.query()

    @property
    def _live(self) -> AddressQuerySet | EntryQuerySet:
        return self.rows.unexpired(self.now) if self.lapsing else self.rows


def list_addressed(wanted: Selection, *, lapsing: bool = True, now: datetime) -> Listing:
    """The addressed entries of the selection, without retired ones. ``lapsing`` is ``has_lapsed_entries``, for a caller
    that has asked already."""
    short = bool(wanted.among or wanted.rare) or _names_address(wanted)
    led_by = wanted.rare if sql.is_postgres() and not (wanted.among or _names_address(wanted)) else ()
    tags = () if short else _groups_of(wanted.tags, wanted.tags_any)
    untagged = list_addressed(replace(wanted, tags=(), tags_any=()), lapsing=lapsing, now=now) if tags else None
    wanted, shape, values = _shaped("addressed", wanted, now)
    about = wanted.tenant_id, now, lapsing, shape, values, tags, untagged, led_by
    return Listing(partial(_addressed, wanted), "updated_at", short, *about)


def _addressed(wanted: Selection) -> AddressQuerySet:
    apart = _among(wanted, EntryAddress) or _at_address(wanted)
    near = apart or _under_rare_tag(wanted, EntryAddress)
    leads = "" if near else next((name for name in LEADING if getattr(wanted, name)), "")
    exact = [_exact(name, getattr(wanted, name), leads) for name in (*LEADING, "key") if getattr(wanted, name)]
    pinned = Q() if wanted.pinned is None else Q(pinned=wanted.pinned, tier=Tier.EPISODIC)
    where = [*exact, *_limits(wanted, "namespace", "updated_at"), near & BY_KEY if near else Q(), _of_tier(wanted)]
    rows: AddressQuerySet = EntryAddress.objects.filter(
        *where,
        wanted.seen.condition(),
        pinned,
        *_tagged(wanted, all_of=apart is not None),
        *_with_phrases(wanted, "entry__search_text"),
        *(Q(entry__content__contains=each) | Q(sensitivity__in=SEALED) for each in wanted.holding),
        tenant_id=wanted.tenant_id,
        hidden=False,
    )
    return rows


def _shaped(
    kind: str, wanted: Selection, now: datetime
) -> tuple[Selection, tuple[Hashable, ...] | None, Sequence[object]]:
    """The selection with its texts marked, the shape of the statements that list it, and the values in which those of
    one shape differ. What is looked for in the middle of a text has no shape, nor what is looked up first."""
    apart = wanted.prefix or wanted.key or wanted.among or wanted.phrases or wanted.holding
    if wanted.seen.form is None or apart:
        return wanted, None, ()
    named: dict[str, Any] = {name: sql.Text.of(getattr(wanted, name)) for name in LEADING if getattr(wanted, name)}
    tags, tags_any = (tuple[str, ...](map(sql.Text.of, each)) for each in (wanted.tags, wanted.tags_any))
    groups: list[tuple[str, ...]] = [*((tag,) for tag in tags), tags_any]
    rarest = groups.index(wanted.rare) if wanted.rare else -1
    marked = replace(wanted, **named, tags=tags, tags_any=tags_any, rare=groups[rarest] if wanted.rare else ())
    times = [each for each in (now, wanted.after, wanted.before) if each is not None]
    lengths = (wanted.after is None, wanted.before is None, len(tags), len(tags_any), rarest)
    shape = (kind, wanted.seen.form, wanted.tier, wanted.owned, wanted.pinned, *named, *lengths)
    seen_by = [wanted.seen.agent_id] if wanted.seen.agent_id else []
    return marked, shape, [wanted.tenant_id, *times, *seen_by, *named.values(), *tags, *tags_any]


def has_plain(tenant_id: UUID, agent_id: str) -> bool:
    """Whether the agent has any entry without an address; mostly it has none, which is known quickly."""
    unaddressed = f"NOT (substr(memory_ref, 1, {len(PREFIX)}) = '{PREFIX}') AND retired_at IS NULL"
    # The order leads PostgreSQL to their own index: it takes what is rare for what is everywhere, and would read all.
    of_agent = f"tenant_id = %s AND agent_id = %s AND {unaddressed} ORDER BY created_at DESC, id"
    statement = f"SELECT 1 FROM memory_memoryentry WHERE {of_agent} LIMIT 1"  # noqa: S608
    return bool(sql.rows(statement, [sql.key(tenant_id), agent_id]))


def list_plain(wanted: Selection, *, lapsing: bool = True, now: datetime) -> Listing:
    """What the agent wrote in runs, without an address, as if the ref were the namespace and the id the key. Such
    entries are episodic, of no task, and never pinned."""
    short = bool(wanted.among or wanted.rare)
    led_by = wanted.rare if sql.is_postgres() and not wanted.among else ()
    tags = () if short else _groups_of(wanted.tags, wanted.tags_any)
    untagged = list_plain(replace(wanted, tags=(), tags_any=()), lapsing=lapsing, now=now) if tags else None
    wanted, shape, values = _shaped("plain", wanted, now)
    about = wanted.tenant_id, now, lapsing, shape, values, tags, untagged, led_by
    return Listing(partial(_plain_rows, wanted), "created_at", short, *about)


def _plain_rows(wanted: Selection) -> EntryQuerySet:
    apart = _among(wanted, MemoryEntry)
    near = apart or _under_rare_tag(wanted, MemoryEntry)
    tagged = _tagged(wanted, all_of=apart is not None)
    own = _exact("agent_id", wanted.agent_id, "" if near else "agent_id")
    where = [PLAIN, near or Q(), own, *_limits(wanted, "memory_ref", "created_at"), *tagged]
    rows: EntryQuerySet = MemoryEntry.objects.of(wanted.tenant_id).filter(*where, *_with_phrases(wanted, "search_text"))
    if wanted.namespace:
        rows = rows.filter(Exact(Substr("memory_ref", 1, MAX_NAME), wanted.namespace))
    if wanted.key:
        entry_id = ids.parse("mem", wanted.key)
        rows = rows.filter(id=entry_id) if entry_id else rows.none()
    return rows


def search_listed(
    addressed: Sequence[Selection], plain: Selection | None, words: Sought, *, first: int, last: int, now: datetime
) -> tuple[dict[UUID, float], int]:
    """The entries of the selections that the query is about, the best first (``fulltext.rank``), from the place
    ``first`` to before ``last``, each with its score; and how many there are."""
    tenant_id = addressed[0].tenant_id

    def listings(**more: Any) -> list[Listing]:
        found = [list_addressed(replace(each, **more), now=now) for each in addressed]
        return [*found, list_plain(replace(plain, **more), now=now)] if plain else found

    def among(positions: list[int]) -> list[int]:
        there = _entries_at(tenant_id, positions)
        fits = listings(among=tuple(there), phrases=words.phrases) if there else []
        return [there[entry_id] for each in fits for entry_id in each.ids()]

    def every(most: int) -> list[int]:
        return [position for each in listings() for position in each.positions(most)]

    chosen = fulltext.Chosen(among, every)
    positions, total = fulltext.ranked_slice(tenant_id, chosen, words, first=first, last=last)
    ids_at = {position: entry_id for entry_id, position in _entries_at(tenant_id, list(positions)).items()}
    return {ids_at[position]: score for position, score in positions.items() if position in ids_at}, total


def _entries_at(tenant_id: UUID, positions: list[int]) -> dict[UUID, int]:
    """The entries at these positions."""
    condition, given = sql.among("position", positions)
    statement = f"SELECT id, position FROM memory_memoryentry WHERE tenant_id = %s AND {condition}"  # noqa: S608
    return {sql.as_uuid(entry_id): position for entry_id, position in sql.rows(statement, [sql.key(tenant_id), given])}


def plain_rows(tenant_id: UUID, wanted: list[UUID]) -> dict[UUID, EntryAddress]:
    """The entries of these ids that have no address, at the address that RFC-0015 sees them at."""
    rows = MemoryEntry.objects.of(tenant_id).defer("search_text").in_bulk_by_id(wanted)
    return {entry_id: _as_addressed(entry) for entry_id, entry in rows.items()}


def plain_entry(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryAddress | None:
    """One entry that has an agent and no address, as ``plain_rows`` gives it; None when it cannot be read."""
    rows = MemoryEntry.objects.of(tenant_id).unexpired(now).filter(PLAIN, id=entry_id)
    found = rows.exclude(agent_id="").first()
    return _as_addressed(found) if found else None


def is_plain(row: EntryAddress) -> bool:
    """Whether the entry has only the address that ``plain_rows`` made up: OpenIntent may read it, not change it."""
    return not row.entry.memory_ref.startswith(PREFIX)


def _as_addressed(entry: MemoryEntry) -> EntryAddress:
    """An address that is not stored; the entry's content is given as a value."""
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
    """``name`` equals ``value``; through its index where that leads (for tasks and intents, entries without any are in
    no index)."""
    if name != leads:
        return Q(Exact(Aside(name), value))
    return Q(~Q(**{name: ""}), **{name: value}) if name in ("task_id", "intent_id") else Q(**{name: value})


def _of_tier(wanted: Selection) -> Q:
    return Q(tier=wanted.tier) if wanted.tier else ~SHARED if wanted.owned else Q()


def _limits(wanted: Selection, name: str, moment: str) -> list[Q]:
    """The prefix of the namespace, and the range of the last change. Case-sensitive, without wildcards."""
    begins = Q(Exact(Substr(name, 1, len(wanted.prefix)), wanted.prefix)) if wanted.prefix else Q()
    after = Q(**{f"{moment}__gt": wanted.after}) if wanted.after else Q()
    return [begins, after, Q(**{f"{moment}__lt": wanted.before}) if wanted.before else Q()]


def _tagged(wanted: Selection, *, all_of: bool) -> list[Held]:
    """Entries with the tags; unless ``all_of`` them are asked for, without the rare ones, by which the entries were
    selected."""
    tags = EntryTag.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("id"))
    every = [Held(tags.filter(tag=tag)) for tag in wanted.tags if all_of or (tag,) != wanted.rare]
    one_of = bool(wanted.tags_any) and (all_of or wanted.tags_any != wanted.rare)
    return [*every, Held(tags.filter(tag__in=wanted.tags_any))] if one_of else every


def _with_phrases(wanted: Selection, text: str) -> list[Q]:
    """Entries with the phrases, which are in search form like the stored text."""
    return [Q(**{f"{text}__contains": phrase}) for phrase in wanted.phrases]


def _among(wanted: Selection, model: type[EntryAddress | MemoryEntry]) -> Q | None:
    """The entries that a search asks about; None when it asks about none."""
    if not wanted.among:
        return None
    condition, given = sql.among(f"{model._meta.db_table}.id", [sql.key(each) for each in wanted.among])
    # A hint to SQLite that these are few; otherwise it may scan everything the reader sees.
    few = f"({condition})" if sql.is_postgres() else f"likelihood({condition}, 0.0001)"
    return Q(RawSQL(few, [given], output_field=BooleanField()))  # noqa: S611


def _at_address(wanted: Selection) -> Q | None:
    """The one or two entries at the address that the selection names (RFC-0015 1.2)."""
    if not _names_address(wanted):
        return None
    rows = EntryAddress.objects.of(wanted.tenant_id).filter(namespace=wanted.namespace, key=wanted.key, hidden=False)
    own = rows.filter(~SHARED, agent_id=wanted.agent_id).values_list("id", flat=True)
    return Q(id__in=[*own, *rows.filter(SHARED).values_list("id", flat=True)])


def _names_address(wanted: Selection) -> bool:
    return bool(wanted.key and wanted.namespace and (wanted.agent_id or wanted.tier == Tier.SEMANTIC))


def rare_tags(tenant_id: UUID, tags: tuple[str, ...], tags_any: tuple[str, ...]) -> tuple[str, ...]:
    """The rarest of ``tags``, or all of ``tags_any``, when only a few entries of the tenant have it."""
    groups = _groups_of(tags, tags_any)
    for most in FEW if groups else ():
        fewest, rarest = min(zip(_counts_of_tags(tenant_id, groups, most), groups, strict=True))
        if fewest <= most:
            return rarest
    return ()


def _groups_of(tags: tuple[str, ...], tags_any: tuple[str, ...]) -> list[tuple[str, ...]]:
    """An entry has one tag of each."""
    return [*((tag,) for tag in tags), *([tags_any] if tags_any else [])]


def _having(tenant_id: UUID, groups: Sequence[tuple[str, ...]], entry: str) -> sql.Statement:
    """That the entry of the id in this column has one tag of each group, with its parameters."""
    tests, given = ["1 = 1"], list[Any]()
    for group in groups:
        marks = ", ".join(["%s"] * len(group))
        tags = f"SELECT 1 FROM memory_entrytag t WHERE t.tenant_id = %s AND t.id = {entry} AND t.tag IN ({marks})"  # noqa: S608
        tests.append(f"EXISTS ({tags} LIMIT 1 OFFSET 0)")  # as ``Held`` asks
        given += [sql.key(tenant_id), *group]
    return " AND ".join(tests), given


def _counts_of_tags(tenant_id: UUID, groups: Sequence[tuple[str, ...]], most: int) -> tuple[int, ...]:
    """How often entries have one of the tags of each group; more than ``most`` are many. The order leads PostgreSQL to
    the index, where without the tags' frequency it would read the tags of every tenant for the first of these."""
    counts, given = [], list[Any]()
    for group in groups:
        marks = ", ".join(["%s"] * len(group))
        rows = f"SELECT 1 FROM memory_entrytag WHERE tenant_id = %s AND tag IN ({marks}) ORDER BY tag, id"  # noqa: S608
        counts.append(f"(SELECT COUNT(*) FROM ({rows} LIMIT {most + 1}) AS counted)")  # noqa: S608
        given += [sql.key(tenant_id), *group]
    (found,) = sql.rows(f"SELECT {', '.join(counts)}", given)
    return tuple(found)


def _under_rare_tag(wanted: Selection, model: type[EntryAddress | MemoryEntry]) -> Q | None:
    """The entries with one of the rare tags; None when there are no rare tags. On PostgreSQL no condition, since the
    ``Listing`` reads these entries alone."""
    if not wanted.rare:
        return None
    if sql.is_postgres():
        return Q(RawSQL("TRUE", [], output_field=BooleanField()))
    return Q(id__in=EntryTag.objects.of(wanted.tenant_id).filter(tag__in=wanted.rare).values("id"))


class AccessOf(Func):
    """The access that a list of ``{"agent", "access"}`` gives one agent; null when no rule names it."""

    output_field = CharField()

    def __init__(self, rules: str, agent_id: str) -> None:
        super().__init__(F(rules), Value(agent_id, output_field=TextField()))

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(
            compiler,
            connection,
            template="(SELECT json_extract(rule.value, '$.access') FROM json_each(%(expressions)s LIMIT 1)",
            arg_joiner=") AS rule WHERE json_extract(rule.value, '$.agent') = ",
            **more,
        )

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(
            compiler,
            connection,
            template="(SELECT rule.value ->> 'access' FROM jsonb_array_elements(%(expressions)s LIMIT 1)",
            arg_joiner=") AS rule(value) WHERE rule.value ->> 'agent' = ",
            **more,
        )


def meets_condition(row: EntryAddress, condition: Q) -> bool:
    """Whether the condition is true of the entry."""
    return bool(EntryAddress.objects.of(row.tenant_id).filter(condition, id=row.id).exists())


def filter_meeting(tenant_id: UUID, entries: Sequence[UUID], condition: Q) -> list[UUID]:
    """The entries of which the condition is true, in their order."""
    rows = EntryAddress.objects.of(tenant_id).filter(condition)
    found = {row for part in sql.in_chunks(entries) for row in rows.filter(id__in=part).values_list("id", flat=True)}
    return [row for row in entries if row in found]


def count_by_namespace(tenant_id: UUID, names: "QuerySet[Any] | Sequence[str]", *, now: datetime) -> dict[str, int]:
    """How many live entries each of these semantic namespaces holds; empty ones are left out."""
    rows = EntryAddress.objects.of(tenant_id).live(now).filter(tier="semantic", namespace__in=names)
    return dict(rows.values("namespace").annotate(entries=Count("id")).values_list("namespace", "entries"))


def addressed_rows(tenant_id: UUID, wanted: Sequence[UUID]) -> dict[UUID, EntryAddress]:
    """The addressed entries of these ids, each with its entry and, where it is sealed, the key of its seal."""
    if not wanted:
        return {}
    keys = [sql.key(each) for each in wanted]
    if sql.is_postgres():
        return _read(tenant_id, LED, [keys, sql.key(tenant_id)])
    condition, among = sql.among("a.id", keys)
    return _read(tenant_id, f"{SOURCE}{condition}", [sql.key(tenant_id), among])


def addressed_row(tenant_id: UUID, entry_id: UUID) -> EntryAddress | None:
    """The addressed entry of that id, which says whether its last write has an origin; or None."""
    found = _read(tenant_id, f", {IS_STATED} {SOURCE}a.id = %s", [sql.key(tenant_id), sql.key(entry_id)])
    return found.get(entry_id)


def _read(tenant_id: UUID, source: str, given: Sequence[object]) -> dict[UUID, EntryAddress]:
    """The rows and the keys of their seals. A key that is missing was rotated away meanwhile: the rows are then read
    once more, and have another."""
    for _ in range(READINGS):
        found = [_row(tenant_id, values) for values in sql.rows(f"SELECT {_columns()} {source}", given)]
        if _has_all_keys(found):
            break
    return {row.id: row for row in found}


def _has_all_keys(found: Sequence[EntryAddress]) -> bool:
    """Whether every sealed row has its key, not counting keys that no longer exist."""
    sealed = [row for row in found if row.vault_key_id is not None]
    opening = VaultKey.objects.in_bulk({row.vault_key_id for row in sealed}) if sealed else {}
    for row in sealed:
        row.vault_key = opening.get(row.vault_key_id)
    return all(row.vault_key is not None for row in sealed)


@cache
def _columns() -> str:
    own = [sql.time_column(f"a.{name}") if name in TIMES else f"a.{name}" for name in OWN]
    of_entry = [sql.time_column(f"e.{name}") if name in ENDS else f"e.{name}" for name in OF_ENTRY]
    return ", ".join(["a.id", *own, *of_entry])


def _row(tenant_id: UUID, values: Sequence[Any]) -> EntryAddress:
    own, of_entry, is_stated = values[1:FIRST_OF_ENTRY], values[FIRST_OF_ENTRY:BEHIND_ENTRY], values[BEHIND_ENTRY:]
    entry_id = sql.as_uuid(values[0])
    address, entry = dict(zip(OWN, own, strict=True)), dict(zip(OF_ENTRY, of_entry, strict=True))
    if address["vault_key_id"] is not None:
        address["vault_key_id"] = sql.as_uuid(address["vault_key_id"])
    for name in TRUTHS:
        address[name] = bool(address[name])
    for name in TIMES:
        address[name] = sql.at(address[name])
    entry["run_id"], entry["tags"] = sql.as_uuid(entry["run_id"]), sql.as_document(entry["tags"])
    for name in ENDS:
        entry[name] = sql.as_instant(entry[name])
    key = {"tenant_id": tenant_id, "id": entry_id}
    row: EntryAddress = sql.build_row(EntryAddress, key | address)
    row.__dict__["_state"].fields_cache["entry"] = sql.build_row(MemoryEntry, key | entry)
    row.is_stated = any(is_stated)
    return row


# What ends with a task: its working memory, and of the other tiers what lives as long as it (RFC-0015 1.1, 2.1).
@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of one agent in a task: ``live`` is readable working memory; ``over`` has lapsed, was retired, or is
    of another tier and bound to the task alone."""

    agent_id: str
    live: tuple[UUID, ...]
    over: tuple[UUID, ...]


def entries_of_task(tenant_id: UUID, task_id: str) -> list[UUID]:
    """All entries that end with the task."""
    return list(EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id).values_list("id", flat=True))


def is_used_by_others(tenant_id: UUID, task_id: str, *, but: str) -> bool:
    """Whether an entry of another agent than ``but`` ends with the task."""
    rows = EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id)
    return bool(rows.exclude(agent_id=but).exists())


def remaining_by_agent(tenant_id: UUID, task_id: str, *, now: datetime) -> list[Remaining]:
    """The same by agent, in the order in which they were made, without their texts."""
    rows = EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id).order_by("agent_id", "id")
    live: dict[str, list[UUID]] = {}
    over: dict[str, list[UUID]] = {}
    for agent_id, row, tier, hidden, ends in rows.values_list("agent_id", "id", "tier", "hidden", "entry__expires_at"):
        stays = tier == Tier.WORKING and not hidden and not has_expired(ends, now)
        (live if stays else over).setdefault(agent_id, []).append(row)
    return [Remaining(name, tuple(live.get(name, ())), tuple(over.get(name, ()))) for name in sorted({*live, *over})]


def addresses_of_rows(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[EntryAddress]:
    """The addresses with their entries, in the order of ``rows``."""
    for part in sql.in_chunks(rows, WITH_TEXTS):
        found = EntryAddress.objects.of(tenant_id).filter(id__in=part).select_related("entry").in_bulk_by_id(part)
        yield from (found[row] for row in part if row in found)


def entries_with_key(scope: MemoryScope) -> frozenset[UUID]:
    """The entries of the ref that have a key; only refs of OpenIntent have any."""
    if not scope.memory_ref.startswith(PREFIX):
        return frozenset()
    rows = EntryAddress.objects.of(scope.tenant_id).filter(hidden=False, entry__memory_ref=scope.memory_ref)
    return frozenset(rows.values_list("id", flat=True))


# Whether an entry is there: an expired or retired one is not. One of RFC-0015 is found by its id, with its address.
def readable(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryAddress | None:
    """The entry of that id and its address, in one query; None when it is expired, retired or unknown."""
    found = addressed_row(tenant_id, entry_id)
    return found if found is not None and is_live(found, now) else None


def is_live(row: EntryAddress, now: datetime) -> bool:
    """Whether the entry is neither retired nor expired."""
    return row.entry.retired_at is None and not has_expired(row.entry.expires_at, now)


# How much room addressed entries take, and which of them would go first (RFC-0015 2.2, 6.5, 9.4).
class Usage(NamedTuple):
    """How many live entries, and the bytes of their values."""

    entries: int
    size: int


def task_usage(tenant_id: UUID, task_id: str, *, now: datetime) -> Usage:
    """What the working memory of all agents uses in that task."""
    rows = EntryAddress.objects.of(tenant_id).filter(task_id=task_id, tier=Tier.WORKING).exclude(task_id="")
    found = rows.live(now).aggregate(entries=Count("id"), size=Sum("size"))
    return Usage(found["entries"], found["size"] or 0)


def count_episodic(tenant_id: UUID, agent_id: str, *, at_least: int, now: datetime) -> int:
    """How many live episodic entries the agent has; counted only as far as ``at_least``."""
    ((most,),) = sql.rows(EPISODIC, [sql.key(tenant_id), agent_id])
    return int(most) if most < at_least else int(_episodic(tenant_id, agent_id).live(now).count())


def count_pinned(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many of them are never evicted."""
    return int(_episodic(tenant_id, agent_id).filter(pinned=True).live(now).count())


def next_to_evict(
    tenant_id: UUID, agent_id: str, *, limit: int, but: Collection[UUID] = (), now: datetime
) -> list[UUID]:
    """The next entries to evict: those of the lowest priority, the least recently accessed first.

    Ordered by access first, priority would decide nothing: no two accesses are at the same time.
    """
    rows = _episodic(tenant_id, agent_id).filter(pinned=False).live(now).exclude(id__in=but)
    return list(rows.order_by("priority", "accessed_at", "id").values_list("id", flat=True)[:limit])


def _episodic(tenant_id: UUID, agent_id: str) -> AddressQuerySet:
    """All of them; the condition on ``pinned`` leads SQLite to the index of episodic entries alone."""
    of_agent = EntryAddress.objects.of(tenant_id).filter(agent_id=agent_id, tier=Tier.EPISODIC)
    return of_agent.filter(pinned__in=(False, True))
