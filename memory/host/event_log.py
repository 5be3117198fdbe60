"""The event log: appends events to streams, numbered from 0 without a gap, and reads them.

The row of the stream is the lock. A terminal event closes its stream in the same statements, so it is the last event
under any concurrency; an append to a closed stream is refused.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q

from memory.host import ids, outbox, sql
from memory.host.errors import StreamClosed
from memory.host.events import Event, RunCancelled, RunCompleted, RunFailed, payload_of
from memory.host.json_types import JSONObject
from memory.host.models import Run, RunEvent, Stream

WRITER = "memory.host.event_log"
PAGE = 1000
BEGINNING = UUID(int=0)
LOOKED_AT = 5000
TEXTS = (
    "SELECT id, node_id, CAST(payload AS text) FROM host_runevent WHERE tenant_id = %s AND id > %s ORDER BY id LIMIT %s"
)
LATEST = timedelta(minutes=1)
AT_ONCE = 4  # events that PostgreSQL numbers and inserts in one statement; more are copied
ENDINGS = frozenset({RunCompleted.type, RunFailed.type, RunCancelled.type})

TAKE = (
    "UPDATE host_stream SET next_sequence = next_sequence + %s, closed_at = %s "
    "WHERE tenant_id = %s AND id = %s AND closed_at IS NULL"
)
NUMBERS = f"RETURNING next_sequence, {outbox.IS_WATCHED} AS watched"
TAKE_NUMBERS = f"{TAKE} {NUMBERS}"
COLUMNS = ("tenant_id", "id", "stream_id", "type", "node_id", "timestamp", "payload", "subject_id", "sequence")
INSERT_INTO = f"INSERT INTO host_runevent ({', '.join(COLUMNS)}) "
FACT = f"{INSERT_INTO}SELECT %s, %s, %s, %s, %s, %s, %s, %s, next_sequence - %s FROM numbered"  # noqa: S608
ANNOUNCED = f"{outbox.INSERT_INTO} SELECT %s, %s FROM numbered WHERE watched"  # noqa: S608
SELECT = (
    "SELECT id, sequence, type, node_id, {timestamp}, payload FROM host_runevent "
    "WHERE tenant_id = %s AND stream_id = %s AND sequence > %s ORDER BY sequence LIMIT %s"
)
LENGTH = "SELECT next_sequence FROM host_stream WHERE tenant_id = %s AND id = %s"
LENGTHS = "SELECT id, next_sequence FROM host_stream WHERE (tenant_id, id) IN (VALUES {pairs})"


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log stores it."""

    event_id: UUID
    run_id: UUID
    sequence: int
    type: str
    node_id: str
    timestamp: datetime
    payload: JSONObject


def open_stream(tenant_id: UUID, stream_id: UUID) -> None:
    """Create an empty stream; its first event gets the sequence 0."""
    Stream(tenant_id=tenant_id, id=stream_id).insert(by=WRITER)


def exists(tenant_id: UUID, stream_id: UUID) -> bool:
    """Whether the tenant has a stream with this id."""
    return bool(Stream.objects.of(tenant_id).filter(id=stream_id).exists())


def hold(tenant_id: UUID, stream_ids: Collection[UUID]) -> None:
    """Lock these streams against other appends until the transaction ends.

    Call it once, with all of them, before appending to several streams: they are locked in the order of their ids.
    """
    rows = Stream.objects.of(tenant_id).select_for_update().filter(id__in=stream_ids)
    list(rows.order_by("id").values_list("id", flat=True))


Follower = Callable[[UUID, UUID, Sequence[Event], datetime], None]
_followers: list[Follower] = []


def on_append(follower: Follower) -> None:
    """Call ``follower`` with the tenant, stream and events of every append, inside its transaction."""
    _followers.append(follower)


def append(tenant_id: UUID, stream_id: UUID, *events: Event, now: datetime) -> int:
    """Append ``events`` to the stream in order and return the sequence of the last one.

    Runs in the caller's transaction, so the event and the change it records commit together. Raises ``StreamClosed``
    after a terminal event, and for a stream of another tenant.
    """
    return _insert_rows(
        tenant_id, stream_id, _rows(tenant_id, stream_id, events, now), closing=events[-1].terminal, now=now
    )


def copy_recorded(tenant_id: UUID, stream_id: UUID, recorded: Sequence[Recorded], *, now: datetime) -> int:
    """Append copies of the events that ``read_kinds`` returned for another stream, with their payloads and times.

    A replay regenerates no time of a recorded event (RFC 0057 D). The copies have no subject: a copy is not a second
    fact, and the author of an entry stays the run that wrote it.
    """
    tenant, stream = sql.key(tenant_id), sql.key(stream_id)
    rows = [
        [
            *(tenant, sql.key(ids.new_id()), stream, each.type, each.node_id),
            *(sql.time_parameter(each.timestamp), sql.document(each.payload), None),
        ]
        for each in recorded
    ]
    return _insert_rows(tenant_id, stream_id, rows, closing=recorded[-1].type in ENDINGS, now=now)


def _insert_rows(tenant_id: UUID, stream_id: UUID, rows: list[list[Any]], *, closing: bool, now: datetime) -> int:
    """Insert the rows under the next sequences of the stream; with ``closing`` the stream accepts no later events."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("an event is appended in the transaction of the change it tells of")
    if sql.changes_at_once() and len(rows) <= AT_ONCE:
        return _insert_at_once(tenant_id, stream_id, rows, closing=closing, now=now)
    closed_at = sql.time_parameter(now) if closing else None
    taken = sql.rows(TAKE_NUMBERS, [len(rows), closed_at, sql.key(tenant_id), sql.key(stream_id)])
    if not taken:
        raise StreamClosed
    ((following, is_watched),) = taken
    if is_watched:
        outbox.enqueue_events(tenant_id, [values[1] for values in rows])
    numbered = [[*values, sequence] for sequence, values in enumerate(rows, following - len(rows))]
    sql.insert(RunEvent, COLUMNS, numbered, by=WRITER)
    return int(following) - 1


def _insert_at_once(tenant_id: UUID, stream_id: UUID, rows: list[list[object]], *, closing: bool, now: datetime) -> int:
    """PostgreSQL: number and insert the rows in one statement."""
    found = sql.rows(*_with_rows(tenant_id, stream_id, rows, "SELECT next_sequence FROM numbered", [], closing, now))
    if not found:
        raise StreamClosed
    return int(found[0][0]) - 1


def with_facts(
    tenant_id: UUID,
    stream_id: UUID,
    events: Sequence[Event],
    change: str,
    parameters: list[object],
    *,
    only_if: sql.Statement | None = None,
    now: datetime,
) -> sql.Statement:
    """Build one PostgreSQL statement, with its parameters, that makes ``change`` and appends the events in order.

    ``change`` inserts from ``numbered``. It has one row when the stream accepted the events, with ``next_sequence``
    after the last of them, and none when the stream is closed or another tenant's; a caller that gets no row back
    raises ``StreamClosed``. It has none either when the condition ``only_if`` does not hold; with one, the caller tells
    the followers once it has a row.
    """
    if only_if is None:
        tell_followers(tenant_id, stream_id, events, now=now)
    rows = [_row(tenant_id, stream_id, event, now) for event in events]
    return _with_rows(tenant_id, stream_id, rows, change, parameters, events[-1].terminal, now, only_if)


def _with_rows(
    tenant_id: UUID,
    stream_id: UUID,
    rows: list[list[object]],
    change: str,
    parameters: list[object],
    closing: bool,
    now: datetime,
    only_if: sql.Statement | None = None,
) -> sql.Statement:
    closed_at = sql.time_parameter(now) if closing else None
    condition, of_condition = only_if or ("TRUE", [])
    parts = [f"WITH numbered AS ({TAKE} AND {condition} {NUMBERS})"]
    given = [len(rows), closed_at, sql.key(tenant_id), sql.key(stream_id), *of_condition]
    for place, row in enumerate(rows):
        parts += [f"fact{place} AS ({FACT})", f"told{place} AS ({ANNOUNCED})"]
        given += [*row, len(rows) - place, *row[:2]]
    return f"{', '.join(parts)} {change}", [*given, *parameters]


def tell_followers(tenant_id: UUID, stream_id: UUID, events: Sequence[Event], *, now: datetime) -> None:
    for follower in _followers:
        follower(tenant_id, stream_id, events, now)


def _rows(tenant_id: UUID, stream_id: UUID, events: Sequence[Event], now: datetime) -> list[list[Any]]:
    """Tell the followers of the events and return the rows to insert for them."""
    tell_followers(tenant_id, stream_id, events, now=now)
    return [_row(tenant_id, stream_id, event, now) for event in events]


def _row(tenant_id: UUID, stream_id: UUID, event: Event, now: datetime) -> list[Any]:
    return [
        sql.key(tenant_id),
        sql.key(ids.new_id()),
        sql.key(stream_id),
        event.type,
        event.node,
        sql.time_parameter(now),
        sql.document(payload_of(event)),
        sql.key(event.subject),
    ]


def read(tenant_id: UUID, stream_id: UUID, *, after: int = -1, limit: int = PAGE) -> list[Recorded]:
    """Return up to ``limit`` events after the sequence ``after``, in order; none for a stream of another tenant."""
    statement = SELECT.format(timestamp=sql.time_column("timestamp"))
    rows = sql.rows(statement, [sql.key(tenant_id), sql.key(stream_id), after, limit])
    return [
        Recorded(sql.as_uuid(row[0]), stream_id, row[1], row[2], row[3], sql.at(row[4]), sql.as_document(row[5]))
        for row in rows
    ]


def read_kinds(
    tenant_id: UUID,
    stream_id: UUID,
    kinds: Mapping[str, Collection[str]],
    *,
    since: datetime | None = None,
    offset: int = 0,
    limit: int = PAGE,
) -> tuple[list[Recorded], int]:
    """Return a page of the events of these types, oldest first, and their total number.

    ``kinds`` maps each type to the accepted values of ``kind`` in its payload; an empty collection accepts all.
    """
    wanted = Q(*(_of_type(*each) for each in kinds.items()), _connector=Q.OR)
    rows = RunEvent.objects.of(tenant_id).filter(wanted, stream_id=stream_id) if kinds else RunEvent.objects.none()
    rows = rows.filter(timestamp__gt=since) if since else rows
    page = rows.order_by("sequence")[offset : offset + limit]
    columns = page.values_list("id", "stream_id", "sequence", "type", "node_id", "timestamp", "payload")
    return [Recorded(*row) for row in columns], rows.count()


def _of_type(name: str, values: Collection[str]) -> Q:
    return Q(type=name, payload__kind__in=list(values)) if values else Q(type=name)


def read_many(tenant_id: UUID, event_ids: Collection[UUID]) -> dict[UUID, Recorded]:
    """Return these events by id, without those of other tenants."""
    rows = RunEvent.objects.of(tenant_id).filter(id__in=list(event_ids))
    columns = rows.values_list("id", "stream_id", "sequence", "type", "node_id", "timestamp", "payload")
    return {row[0]: Recorded(*row) for row in columns}


def list_events_about(tenant_id: UUID, subject_id: UUID) -> list[RunEvent]:
    """Return every event about one memory entry or proposal, oldest first."""
    return list(RunEvent.objects.of(tenant_id).filter(subject_id=subject_id).order_by("id"))


def node_payloads(tenant_id: UUID, stream_id: UUID, node_id: str, kind: str, *, before: int) -> list[JSONObject]:
    """Return the payloads of one node's events of one type before the sequence ``before``, in order."""
    rows = RunEvent.objects.of(tenant_id).filter(stream_id=stream_id, node_id=node_id, type=kind, sequence__lt=before)
    return list(rows.order_by("sequence").values_list("payload", flat=True))


def read_streams(
    tenant_id: UUID, stream_ids: Collection[UUID], kinds: Collection[str]
) -> Iterator[tuple[UUID, str, str, JSONObject]]:
    """Yield the stream, type, node and payload of every event of these types, each stream in sequence order."""
    rows = RunEvent.objects.of(tenant_id).filter(stream_id__in=list(stream_ids), type__in=kinds)
    rows_of_type = rows.order_by("stream_id", "sequence").values_list("stream_id", "type", "node_id", "payload")
    yield from rows_of_type.iterator(chunk_size=2000)


def length(tenant_id: UUID, stream_id: UUID) -> int:
    """Return the number of events in the stream."""
    found = sql.rows(LENGTH, [sql.key(tenant_id), sql.key(stream_id)])
    return int(found[0][0]) if found else 0


def lengths(streams: Collection[tuple[UUID, UUID]]) -> dict[UUID, int]:
    """Count the events of each stream in one query; ``streams`` are (tenant, stream) pairs of any tenants."""
    if not streams:
        return {}
    pairs = ", ".join(["(%s, %s)"] * len(streams))
    found = sql.rows(LENGTHS.format(pairs=pairs), [sql.key(each) for pair in streams for each in pair])
    return {sql.as_uuid(row[0]): int(row[1]) for row in found}


def texts(tenant_id: UUID) -> Iterator[list[str]]:
    """Yield the node id and payload of all the tenant's events as text, oldest first, in lists of ``LOOKED_AT``."""
    after = BEGINNING
    while rows := sql.rows(TEXTS, [sql.key(tenant_id), sql.key(after), LOOKED_AT]):
        yield [f"{node_id}\n{payload}" for _, node_id, payload in rows]
        after = sql.as_uuid(rows[-1][0])


def tenants_where(kinds: Collection[str], *, among: Collection[UUID], since: datetime) -> list[UUID]:
    """Return the tenants among ``among`` that have an event of one of these types after ``since``."""
    rows = RunEvent.objects.filter(tenant_id__in=list(among), type__in=kinds, id__gte=ids.first_of(since - LATEST))
    return list(rows.filter(timestamp__gt=since).order_by().values_list("tenant_id", flat=True).distinct())


def streams_with(tenant_id: UUID, kinds: Collection[str], *, since: datetime) -> list[tuple[UUID, str, datetime]]:
    """Return the stream, type and time of every event of these types from a minute before ``since`` on, in order."""
    rows = RunEvent.objects.of(tenant_id).filter(type__in=kinds, id__gte=ids.first_of(since - LATEST))
    return list(rows.order_by("id").values_list("stream_id", "type", "timestamp"))


def counts(
    tenant_id: UUID, kinds: Collection[str], *, since: datetime, until: datetime, workflow_id: str = ""
) -> dict[str, int]:
    """Count the events per type after ``since`` up to ``until``, of all runs or of those of ``workflow_id``."""
    rows = RunEvent.objects.of(tenant_id).filter(type__in=kinds, timestamp__gt=since, timestamp__lte=until)
    rows = rows.filter(id__gte=ids.first_of(since - LATEST))  # an id is made about when its event happens
    if workflow_id:
        run = Run.objects.filter(tenant_id=OuterRef("tenant_id"), id=OuterRef("stream_id"), workflow_id=workflow_id)
        rows = rows.filter(Exists(run))
    return dict(rows.order_by().values_list("type").annotate(found=Count("id")))


def append_to_tenant(tenant_id: UUID, *events: Event, now: datetime) -> int:
    """Append ``events`` to the tenant's own log, in the caller's transaction; return the last sequence."""
    if any(event.terminal for event in events):
        raise RuntimeError("a terminal event ends a run; the log of a tenant does not end")
    _open_tenant_log(tenant_id)
    return append(tenant_id, tenant_id, *events, now=now)


def _open_tenant_log(tenant_id: UUID) -> None:
    if exists(tenant_id, tenant_id):
        return
    try:
        with transaction.atomic():
            open_stream(tenant_id, tenant_id)
    except IntegrityError:
        pass  # another process opened it first


def read_tenant_log(tenant_id: UUID, *, after: int = -1, limit: int = PAGE) -> list[Recorded]:
    """Return up to ``limit`` events after the sequence ``after``, in order; none when the log is not open yet."""
    return read(tenant_id, tenant_id, after=after, limit=limit)


def tenant_log_length(tenant_id: UUID) -> int:
    """Return the number of events in the tenant's own log."""
    return length(tenant_id, tenant_id)
