"""Memory as an operator reads it: what the pages and the console API start from."""

import json
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import starmap
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    UUIDField,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast
from django.db.models.lookups import Exact
from django.db.models.sql.datastructures import BaseTable

from memory.adapter.runs import PRESENT, UNEXPIRED
from memory.addresses import PREFIX
from memory.host import ids, sql
from memory.host.expiry import has_expired
from memory.host.models import Run, TenantOwned
from memory.host.tenancy import TenantScope
from memory.models import EntryOrigin
from memory.models.address import EntryAddress, in_order
from memory.models.entry import EntryTag, LedgerDay, LedgerHead, MemoryEntry, Tombstone
from memory.origins import Origin

COUNTED = 10_000
FEW = 20_000
ENTRIES, TAGS = MemoryEntry._meta.db_table, EntryTag._meta.db_table
EXPORTED = 2000
OF_RUNS = ("tenant_id", "id", "workflow_id", "system", "external")  # what says who wrote, and nothing that can be long
Owned = TypeVar("Owned", bound=TenantOwned)


def visible_entries(scope: TenantScope, *, now: datetime) -> QuerySet[MemoryEntry]:
    """Every unexpired entry that the principal may see, retired ones included: the base of the console's lists."""
    scope.check("memory:read")
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.in_scope(scope).unexpired(now)
    return rows


def with_tag(rows: QuerySet[MemoryEntry], scope: TenantScope, tag: str) -> QuerySet[MemoryEntry]:
    """The rows with ``tag``, for a query that another condition leads."""
    return rows.filter(id__in=EntryTag.objects.of(scope.tenant_id).filter(tag=tag).values("id"))


class Span(NamedTuple):
    """A range of ids, which is a range of time: from ``first`` to before ``below``; None is no limit."""

    first: UUID | None = None
    below: UUID | None = None

    def lookups(self, column: str) -> dict[str, UUID]:
        """The limits as lookups on ``column``."""
        limits = {f"{column}__gte": self.first, f"{column}__lt": self.below}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def behind(self, after: UUID | None) -> "Span":
        """What of it is older than ``after``."""
        limits = [limit for limit in (self.below, after) if limit is not None]
        return Span(self.first, min(limits, default=None))


def creation_window(since: datetime | None, until: datetime | None) -> tuple[Q, Span]:
    """The condition for entries written from ``since`` to before ``until``, and the span of ids that contains them: an
    id is made within moments of the write."""
    times = Q() if since is None else Q(created_at__gte=since)
    if until is not None:
        times &= Q(created_at__lt=until)
    first = ids.first_of(since, off=-ids.NEAR) if since else None
    return times, Span(first, ids.first_of(until, off=ids.NEAR) if until else None)


class Tagged(BaseTable):
    """The entries of a tag, in place of the table of entries: PostgreSQL reads the tag's ids in their order, and each
    entry by its key. Of a join it takes either side first, and then reads a ledger down to its oldest entry for a tag
    that it takes for a common one."""

    def __init__(self, scope: TenantScope, tag: str, span: Span) -> None:
        super().__init__(ENTRIES, ENTRIES)
        tenant = sql.key(scope.tenant_id)
        limits = [(f" AND {TAGS}.id {sign} %s", end) for sign, end in ((">=", span.first), ("<", span.below)) if end]
        tags = f"SELECT id FROM {TAGS} WHERE tenant_id = %s AND tag = %s{''.join(limit for limit, _ in limits)}"  # noqa: S608
        entry = f"SELECT * FROM {ENTRIES} WHERE tenant_id = %s AND id >= tagged.id AND id <= tagged.id"  # noqa: S608
        self._source = f'({tags}) AS tagged CROSS JOIN LATERAL ({entry} ORDER BY id LIMIT 1) AS "{ENTRIES}"'
        self._given = (tenant, tag, *(end for _, end in limits), tenant)

    def as_sql(self, compiler: object, connection: object) -> tuple[str, tuple[Any, ...]]:
        return self._source, self._given


def is_rare_tag(scope: TenantScope, tag: str) -> bool:
    """Whether at most ``FEW`` entries have the tag, so that reading them all is never slow."""
    rows = EntryTag.objects.of(scope.tenant_id).filter(tag=tag).order_by("tag", "id")
    return bool(rows.values("id")[: FEW + 1].count() <= FEW)


def newest_with_tag(
    rows: QuerySet[MemoryEntry], scope: TenantScope, tag: str, *, span: Span, leads: bool = True
) -> QuerySet[MemoryEntry]:
    """The rows with ``tag``, newest first, read from the table of tags in its order. Unless the tag ``leads``,
    PostgreSQL may begin with another condition on the entries."""
    if leads and sql.is_postgres():
        led = rows.order_by(RawSQL("tagged.id", [], output_field=UUIDField()).desc())
        led.query.alias_map[led.query.get_initial_alias()] = Tagged(scope, tag, span)
        return led
    within = span.lookups("tagged__id")
    return rows.filter(tagged__tenant_id=scope.tenant_id, tagged__tag=tag, **within).order_by("-tagged__id")


def newest_at_address(
    rows: QuerySet[MemoryEntry], scope: TenantScope, *, span: Span, **exact: str
) -> QuerySet[MemoryEntry]:
    """The rows with such an address, newest first, read from the table of addresses in its order."""
    within = span.lookups("addressed__id")
    found = rows.filter(*_at(exact, "addressed__"), addressed__tenant_id=scope.tenant_id, **within)
    return found.order_by("-addressed__id")


def at_address(rows: QuerySet[MemoryEntry], scope: TenantScope, **exact: str) -> QuerySet[MemoryEntry]:
    """The rows with an address of that ``tier``, ``namespace`` or ``sensitivity``, as far as given. Rare values are
    listed first; common ones are checked row by row, with another condition leading."""
    if not any(exact.values()):
        return rows
    at, found = _at(exact), EntryAddress.objects.of(scope.tenant_id)
    # SQLite would go through an index that has every column, were it not for the order.
    if found.filter(*at[:2]).order_by("id").values("id")[: FEW + 1].count() <= FEW:
        return rows.filter(id__in=found.filter(*at).order_by("id").values("id")[:FEW])
    wanted = {name: value for name, value in exact.items() if value}
    return rows.filter(Exists(found.filter(id=OuterRef("id"), **wanted)))


def _at(exact: Mapping[str, str], address: str = "") -> list[Q | Exact]:
    """The address condition; its first two parts are what an index leads to, by the most selective column."""
    leads = next(name for name in ("sensitivity", "namespace", "tier") if exact[name])
    has_one = Q(**{f"{address}sensitivity__gt": ""}) if leads == "sensitivity" else Q()
    rest = {f"{address}{name}": value for name, value in exact.items() if value and name != leads}
    return [Exact(in_order(f"{address}{leads}"), exact[leads]), has_one, Q(**rest)]


def has_stated_origin(scope: TenantScope, **exact: object) -> bool:
    """Whether the last write of any entry has this stated origin; answered from an index."""
    return bool(_last_origins(scope.tenant_id, exact).exists())


def has_observed_write(scope: TenantScope, *, node_id: str) -> bool:
    """Whether a node of that name wrote any entry of the tenant, as observed by this host."""
    return bool(MemoryEntry.objects.of(scope.tenant_id).has_value("node_id", node_id))


def with_stated_origin(rows: QuerySet[MemoryEntry], scope: TenantScope, **exact: object) -> QuerySet[MemoryEntry]:
    """The rows whose last write has this stated origin, for a query that another condition leads."""
    return _shown_to(scope, rows).filter(id__in=_last_origins(scope.tenant_id, exact).values("entry_id"))


def newest_with_stated_origin(
    rows: QuerySet[MemoryEntry], scope: TenantScope, *, span: Span, **exact: object
) -> QuerySet[MemoryEntry]:
    """The rows whose last write has this stated origin, newest first, read from the table of origins."""
    within = span.lookups("origins__entry_id")
    wanted = {f"origins__{name}": value for name, value in exact.items()}
    found = _shown_to(scope, rows).filter(origins__tenant_id=scope.tenant_id, origins__current=True, **wanted, **within)
    return found.order_by("-origins__entry_id")


def newest_on_any(scope: TenantScope, lists: Sequence[QuerySet[MemoryEntry]]) -> QuerySet[MemoryEntry]:
    """The rows that are on any of the lists, newest first, among the first ``COUNTED + 1`` of each. One query with an
    OR would look through the whole ledger."""
    parts, given = [], list[Any]()
    for number, each in enumerate(lists):
        statement, parameters = each.values("id")[: COUNTED + 1].query.sql_with_params()
        parts.append(f"SELECT part{number}.id FROM ({statement}) AS part{number}")  # noqa: S608
        given += parameters
    ids_of = " UNION ".join(parts)
    among = f"= ANY(ARRAY({ids_of}))" if sql.is_postgres() else f"IN ({ids_of})"
    listed = RawSQL(f"({ENTRIES}.id {among})", given, output_field=BooleanField())  # noqa: S611  # of the ORM's statements
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id).filter(listed).order_by("-id")
    return rows


def _last_origins(tenant_id: UUID, exact: dict[str, object]) -> QuerySet[EntryOrigin]:
    return EntryOrigin.objects.of(tenant_id).filter(current=True, **exact)


def _shown_to(scope: TenantScope, rows: QuerySet[MemoryEntry]) -> QuerySet[MemoryEntry]:
    """Without entries that are confidential to this principal: their stated origins are not found either."""
    return rows if scope.can("memory:retire") else rows.filter(sealed=False)


def with_origins(scope: TenantScope, rows: list[MemoryEntry]) -> list[MemoryEntry]:
    """The rows with the stated origins of their last writes, in one query where any can have one."""
    wanted = [row.id for row in rows if row.run.may_state or row.memory_ref.startswith(PREFIX)]
    if wanted:
        found = _origins_of(scope, wanted)
        for row in rows:
            row.origin = found.get(row.id)
    return rows


def _origins_of(scope: TenantScope, entry_ids: list[UUID]) -> dict[UUID, Origin]:
    """The stated origins of the last writes of these, unless confidential to the principal."""
    rows: list[EntryOrigin] = _origins_asked(scope.can("memory:retire")).objects(scope.tenant_id, entry_ids)
    return {row.entry_id: row.origin for row in rows}


@cache
def _origins_asked(sealed: bool) -> sql.CompiledQuery:
    """With those of sealed entries, or without."""
    tenant_id, entry_ids = UUID(int=0), [UUID(int=1)]
    rows = _last_origins(tenant_id, {} if sealed else {"entry__sealed": False})
    return sql.CompiledQuery(rows.filter(sql.is_among("entry_id", entry_ids)), tenant_id, entry_ids)


def with_addresses(scope: TenantScope, rows: list[MemoryEntry]) -> list[MemoryEntry]:
    """The rows with their addresses, in one query; sealed values are not loaded."""
    wanted = [row.id for row in rows if row.memory_ref.startswith(PREFIX)]
    if wanted:
        found = _addresses_of(scope, wanted)
        for row in rows:
            row.address = found.get(row.id)
    return rows


def _addresses_of(scope: TenantScope, entry_ids: list[UUID]) -> dict[UUID, EntryAddress]:
    """The addresses of these entries, without the sealed values."""
    return {row.id: row for row in _addresses_asked().objects(scope.tenant_id, entry_ids)}


@cache
def _addresses_asked() -> sql.CompiledQuery:
    tenant_id, entry_ids = UUID(int=0), [UUID(int=1)]
    rows = EntryAddress.objects.of(tenant_id).defer("sealed", "vault_key")
    return sql.CompiledQuery(rows.filter(sql.is_among("id", entry_ids)), tenant_id, entry_ids)


class Sampled(NamedTuple):
    """An entry as facets count it: a raw row with its tags as JSON and its time as text. ``system`` and ``sensitivity``
    are empty or None where not stated."""

    agent_id: str
    node_id: str
    memory_ref: str
    subject: str
    principal: str
    tags: str
    created_at: str
    retired_at: object
    sealed: bool
    sensitivity: str | None
    system: str | None


def sample_rows(
    scope: TenantScope,
    rows: Callable[[], QuerySet[MemoryEntry]],
    *,
    shape: tuple[Hashable, ...] | None = None,
    values: Sequence[object] = (),
) -> list[Sampled]:
    """The rows in their order, with sensitivity and stated origin, unless confidential to the principal. ``shape`` and
    ``values`` are those of the query (``sql.statement_of_shape``)."""
    retires = scope.can("memory:retire")

    def sampled() -> QuerySet[MemoryEntry, Any]:
        # Most tenants have neither, which is asked once and not for each row.
        addresses, origins = EntryAddress.objects.of(scope.tenant_id), _last_origins(scope.tenant_id, {})
        at, origin = addresses.filter(id=OuterRef("id")), origins.filter(entry_id=OuterRef("id"))
        # Written out, as in the index of these: PostgreSQL does not look for a parameter there.
        classed = Q(RawSQL("(sensitivity > '')", [], output_field=BooleanField()))
        has_classes, has_origins = Exists(addresses.filter(classed)), Exists(origins)
        texts = (Cast("tags", TextField()), Cast("created_at", TextField()))
        beside = (
            Case(When(has_classes, then=Subquery(at.values("sensitivity")[:1]))),
            Case(
                When(
                    has_origins if retires else has_origins & Q(sealed=False),
                    then=Subquery(origin.values("system")[:1]),
                )
            ),
        )
        columns = ("agent_id", "node_id", "memory_ref", "subject", "principal", *texts, "retired_at", "sealed", *beside)
        return rows().values_list(*columns)

    try:
        return list(
            map(
                Sampled._make, sql.rows(*sql.statement_of_shape(shape and ("sample", retires, *shape), values, sampled))
            )
        )
    except EmptyResultSet:
        return []


class Exported(NamedTuple):
    """An entry as files contain it: ids in wire form, tags and times as the database casts them to text. A raw row,
    since building objects costs more than everything else."""

    id: str
    run_id: str
    tag_list: str
    made_at: str
    ends_at: str | None
    hidden_at: str | None
    memory_ref: str
    content: str
    subject: str
    node_id: str
    agent_id: str
    principal: str
    sealed: bool
    position: int
    address: EntryAddress | None = None
    origin: Origin | None = None

    @property
    def entry_id(self) -> UUID:
        return sql.as_uuid(self.id[4:])

    @property
    def tags(self) -> list[str]:
        found: list[str] = sql.as_document(self.tag_list)
        return found

    @property
    def created_at(self) -> str:
        return sql.wire_instant(self.made_at)

    @property
    def expires_at(self) -> str:
        """Empty where there is none, as is ``retired_at``."""
        return sql.wire_instant(self.ends_at) if self.ends_at else ""

    @property
    def retired_at(self) -> str:
        return sql.wire_instant(self.hidden_at) if self.hidden_at else ""


TOLD = ("memory_ref", "content", "subject", "node_id", "agent_id", "principal", "sealed", "position")


def export_rows(scope: TenantScope, rows: QuerySet[MemoryEntry]) -> list[Exported]:
    """The rows in their order, with their addresses and the stated origins of their last writes."""
    as_text = [Cast(name, TextField()) for name in ("tags", "created_at", "expires_at", "retired_at")]
    columns: list[Any] = [sql.wire_id("mem", "id"), sql.wire_id("run", "run_id"), *as_text, *TOLD]
    try:
        found = [*starmap(Exported, sql.rows(*rows.values_list(*columns).query.sql_with_params()))]
    except EmptyResultSet:
        return []
    keyed = [row.entry_id for row in found if row.memory_ref.startswith(PREFIX)]
    known = _addresses_of(scope, keyed) if keyed else {}
    stated = _origins_of(scope, [row.entry_id for row in found]) if has_stated_origin(scope) else {}
    if not known and not stated:
        return found
    keys = [row.entry_id for row in found]
    return [row._replace(address=known.get(own), origin=stated.get(own)) for own, row in zip(keys, found, strict=True)]


def export_all(scope: TenantScope, *, now: datetime) -> Iterator[list[Exported]]:
    """Every readable entry in ledger order, read in chunks."""
    scope.check("memory:read")
    rows, position = MemoryEntry.objects.in_scope(scope).live(now).order_by("position"), 0
    while chunk := export_rows(scope, rows.filter(position__gt=position)[:EXPORTED]):
        yield chunk
        position = chunk[-1].position


def find_entry(scope: TenantScope, entry_id: UUID, *, now: datetime) -> MemoryEntry | None:
    """One unexpired entry with its run and its address, retired or not."""
    found = list(visible_entries(scope, now=now).select_related("run").filter(id=entry_id)[:1])
    return with_addresses(scope, found)[0] if found else None


def neighbours(
    scope: TenantScope, entry: MemoryEntry, *, now: datetime
) -> tuple[MemoryEntry | None, MemoryEntry | None]:
    """The unexpired entries of the same ref written just before and just after this one, retired or not."""
    rows = visible_entries(scope, now=now).filter(memory_ref=entry.memory_ref)
    before, after = rows.filter(id__lt=entry.id).order_by("-id"), rows.filter(id__gt=entry.id).order_by("id")
    return before.first(), after.first()


def entries_by_id(scope: TenantScope, entry_ids: list[UUID], *, now: datetime) -> dict[UUID, MemoryEntry]:
    """The unexpired entries among ``entry_ids``, with their addresses."""
    found = with_addresses(scope, list(visible_entries(scope, now=now).filter(id__in=entry_ids)))
    return {row.id: row for row in found}


def principals_of(scope: TenantScope, entry_ids: Sequence[UUID], *, now: datetime) -> set[str]:
    """Whose credentials made the last writes of these."""
    rows = visible_entries(scope, now=now).filter(sql.is_among("id", list(entry_ids)))
    return set(rows.values_list("principal", flat=True))


def entries_with_writers(scope: TenantScope, entry_ids: list[UUID], *, now: datetime) -> dict[UUID, MemoryEntry]:
    """The same with their runs and the stated origins of their last writes, for who shows the writers."""
    found = entries_by_id(scope, entry_ids, now=now)
    known = Run.objects.of(scope.tenant_id).only(*OF_RUNS).in_bulk_by_id({row.run_id for row in found.values()})
    for row in found.values():
        row.run = known[row.run_id]
    with_origins(scope, list(found.values()))
    return found


def rows_naming_live_entries(
    rows: QuerySet[Owned], scope: TenantScope, *columns: str, now: datetime
) -> QuerySet[Owned]:
    """The rows of another table that reference, in each of these columns, an entry that a pass may remove: live, not
    protected, not sealed, and visible to the principal."""
    scope.check("memory:read")
    entries = MemoryEntry.objects.in_scope(scope).live(now).filter(protected=False, sealed=False)
    found = [Exists(entries.filter(id=OuterRef(column))) for column in columns]
    return rows.filter(*found)


def tombstones(scope: TenantScope, entry_ids: list[UUID]) -> dict[UUID, Tombstone]:
    """The tombstones of those among ``entry_ids`` that were removed."""
    scope.check("memory:read")
    return {row.id: row for row in Tombstone.objects.of(scope.tenant_id).filter(id__in=entry_ids)}


def removed_between(scope: TenantScope, since: datetime, until: datetime) -> QuerySet[Tombstone]:
    """The tombstones of entries removed from ``since`` to before ``until``."""
    scope.check("memory:read")
    rows: QuerySet[Tombstone] = Tombstone.objects.of(scope.tenant_id)
    return rows.filter(removed_at__gte=since, removed_at__lt=until)


def entry_states(scope: TenantScope, entry_ids: Sequence[UUID], *, now: datetime) -> dict[UUID, str]:
    """What became of each of these entries: ``live``, ``retired``, ``expired``, or why it was removed.

    An id that was never an entry here has none.
    """
    scope.check("memory:read")
    found: dict[UUID, str] = {}
    for part in sql.in_chunks(entry_ids):
        found |= {row: stone.reason for row, stone in tombstones(scope, part).items()}
        rows = MemoryEntry.objects.of(scope.tenant_id).filter(id__in=part)
        for row, retired_at, expires_at in rows.values_list("id", "retired_at", "expires_at"):
            found[row] = "expired" if has_expired(expires_at, now) else "retired" if retired_at else "live"
    return found


def count_entries(
    scope: TenantScope, *, state: str = "present", agent_id: str = "", node_id: str = "", now: datetime
) -> int:
    """How many entries the tenant has, or an agent, a node or both: ``present`` (readable now), ``retired`` or ``all``.
    From the maintained counts, less what has expired and is not swept yet."""
    wanted = {name: value for name, value in (("agent_id", agent_id), ("node_id", node_id)) if value}
    if not wanted:
        return _total_of_all(scope, state, now)
    every, present = _counted_by_writer(scope, wanted)
    lapsed = MemoryEntry.objects.of(scope.tenant_id).expired(now).filter(**wanted)
    if state == "all":
        return every - int(lapsed.count())
    counted = present if state == "present" else every - present
    return counted - int(lapsed.filter(retired_at__isnull=state == "present").count())


LAPSED = "SELECT COUNT(*) FROM memory_memoryentry WHERE tenant_id = %s AND expires_at <= %s"
PARTS = {"present": "retired_at IS NULL", "retired": "retired_at IS NOT NULL", "all": "TRUE"}


def _total_of_all(scope: TenantScope, state: str, now: datetime) -> int:
    tenant = sql.key(scope.tenant_id)
    lapsed = f"{LAPSED} AND {PARTS[state]}"
    statement = f"SELECT entries, retired, ({lapsed}) FROM memory_ledgerhead WHERE tenant_id = %s"  # noqa: S608
    found = sql.rows(statement, [tenant, sql.time_parameter(now), tenant])
    present, retired, gone = found[0] if found else (0, 0, 0)
    return int({"present": present, "retired": retired, "all": present + retired}[state] - gone)


def _counted_by_writer(scope: TenantScope, wanted: dict[str, str]) -> tuple[int, int]:
    """How many entries an agent or a node wrote, and how many of them are not retired."""
    found = LedgerDay.objects.of(scope.tenant_id).filter(**wanted).aggregate(every=Sum("entries"), live=Sum("live"))
    return int(found["every"] or 0), int(found["live"] or 0)


def is_every_row_visible(scope: TenantScope, *, now: datetime) -> bool:
    """Whether every row of the tenant is readable now: none retired, expired or another agent's."""
    head = LedgerHead.objects.of(scope.tenant_id).first()
    hidden = scope.principal.agent_ids is not None or head is None or head.retired
    return not hidden and not has_lapsed_entries(scope.tenant_id, now=now)


def has_lapsed_entries(tenant_id: UUID, *, now: datetime) -> bool:
    """Whether entries of the tenant have lapsed and are not swept yet."""
    return bool(_lapsed_asked().fetch(tenant_id, now))


@cache
def _lapsed_asked() -> sql.CompiledQuery:
    """For one tenant at one time. The order leads PostgreSQL to the index of ends: of a time that it does not know it
    expects that a third of all entries ended before, and would read those of every tenant for the first."""
    tenant_id, now = UUID(int=0), datetime.min.replace(tzinfo=UTC)
    first = MemoryEntry.objects.of(tenant_id).expired(now).order_by("expires_at").values_list("tenant_id")[:1]
    return sql.CompiledQuery(first, tenant_id, now)


# Of an agent's newest entries, how many tell which memory it writes to; and how long before its end one is expiring.
RECENT = 20
EXPIRES_SOON = timedelta(days=7)


class AgentUse(NamedTuple):
    """What an agent has in memory: readable entries, those of them that expire within ``EXPIRES_SOON``, retired ones.

    Counted among its newest ``COUNTED`` entries; ``has_more`` says that there are others. ``refs`` are those of its
    ``RECENT`` newest entries.
    """

    entries: int
    expiring: int
    retired: int
    has_more: bool
    last_write: datetime | None
    refs: frozenset[str]


def agent_usage(scope: TenantScope, agent_ids: Sequence[str], *, now: datetime) -> dict[str, AgentUse]:
    """What each of these agents that has written has in memory: one statement, which reads as much of the agents' index
    in a ledger of any size."""
    scope.check("memory:read")
    if not agent_ids:
        return {}
    mine = "FROM memory_memoryentry e WHERE e.tenant_id = %s AND e.agent_id = a.agent"
    live = f"{UNEXPIRED} AND {PRESENT}"
    sums = (live, f"{live} AND e.expires_at <= %s", "e.retired_at IS NOT NULL")
    columns = ", ".join(f"CASE WHEN {each} THEN 1 ELSE 0 END AS n{at}" for at, each in enumerate(sums))
    # One text of four numbers: SQLite has no join that returns several columns of a limited query for each agent.
    packed = " || ',' || ".join(f"COALESCE({each}, 0)" for each in ("SUM(n0)", "SUM(n1)", "SUM(n2)", "COUNT(*)"))
    together = "json_agg(DISTINCT memory_ref)::text" if sql.is_postgres() else "json_group_array(DISTINCT memory_ref)"
    statement = (
        f"WITH a(agent) AS (VALUES {', '.join(['(%s)'] * len(agent_ids))}) SELECT a.agent, "  # noqa: S608
        f"(SELECT {packed} FROM (SELECT {columns} {mine} ORDER BY e.id DESC LIMIT %s) AS newest), "
        f"(SELECT {sql.time_column('e.created_at')} {mine} AND {live} ORDER BY e.id DESC LIMIT 1), "
        f"(SELECT {together} FROM (SELECT e.memory_ref {mine} ORDER BY e.id DESC LIMIT %s) AS recent) FROM a"
    )
    tenant, at, soon = sql.key(scope.tenant_id), sql.time_parameter(now), sql.time_parameter(now + EXPIRES_SOON)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*agent_ids, at, at, soon, tenant, COUNTED + 1, tenant, at, tenant, RECENT])
        rows = cursor.fetchall()
    return {agent: found for agent, *row in rows if (found := _agent_use(*row))}


def _agent_use(packed: str, last_write: str | None, refs: str | None) -> AgentUse | None:
    entries, expiring, retired, counted = map(int, packed.split(","))
    if not counted:
        return None
    newest = sql.as_instant(last_write)
    return AgentUse(entries, expiring, retired, counted > COUNTED, newest, frozenset(json.loads(refs or "[]")))


def agents_of_refs(scope: TenantScope, refs: Collection[str]) -> dict[str, list[str]]:
    """The agents among the writers of the ``RECENT`` newest entries of each of these refs, by name."""
    scope.check("memory:read")
    together = "json_agg(DISTINCT agent_id)::text" if sql.is_postgres() else "json_group_array(DISTINCT agent_id)"
    mine = "FROM memory_memoryentry e WHERE e.tenant_id = %s AND e.memory_ref = r.ref ORDER BY e.id DESC LIMIT %s"
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for part in sql.in_chunks(sorted(refs)):
            statement = (
                f"WITH r(ref) AS (VALUES {', '.join(['(%s)'] * len(part))}) SELECT r.ref, "  # noqa: S608
                f"(SELECT {together} FROM (SELECT e.agent_id {mine}) AS recent WHERE agent_id <> '') FROM r"
            )
            cursor.execute(statement, [*part, sql.key(scope.tenant_id), RECENT])
            found |= {ref: sorted(json.loads(named or "[]")) for ref, named in cursor.fetchall()}
    return found


def last_passes(tenant_id: UUID, refs: Collection[str], kinds: Collection[str]) -> list[UUID]:
    """The last pass of each of these kinds that was carried out over each of these refs; one index step for each."""
    last = (
        "(SELECT p.id FROM memory_pass p WHERE p.tenant_id = %s AND p.memory_ref = r.ref AND p.kind = %s "
        "AND p.state = 'done' AND NOT p.dry_run ORDER BY p.id DESC LIMIT 1)"
    )
    found: list[UUID] = []
    with connection.cursor() as cursor:
        for part in sql.in_chunks(sorted(refs)):
            named = ", ".join(["(%s)"] * len(part))
            statement = f"WITH r(ref) AS (VALUES {named}) SELECT {', '.join([last] * len(kinds))} FROM r"  # noqa: S608
            asked = [value for kind in kinds for value in (sql.key(tenant_id), kind)]
            cursor.execute(statement, [*part, *asked])
            found += [sql.as_uuid(each) for row in cursor.fetchall() for each in row if each]
    return found


VALUES = {"ref": ("memory_memoryentry", "memory_ref"), "namespace": ("memory_namespace", "name")}


def distinct_values(scope: TenantScope, name: str, *, limit: int) -> list[str]:
    """The first ``limit`` distinct values of one of ``VALUES``; one index step each. Of namespaces, the shared ones."""
    scope.check("memory:read")
    table, column = VALUES[name]
    return sql.distinct_values(table, column, scope.tenant_id, limit=limit)
