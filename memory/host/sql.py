"""Values of hand-written SQL in the form each engine stores them; the statements stay in the three hot modules.

``adapter``, ``ledger`` and ``event_log`` write SQL by hand (performance.md, section 2). This module only converts,
hands their reads to the driver, and ends statements that take too long.
"""

import math
import re
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar
from uuid import UUID, SafeUUID

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import BooleanField, Model, Q, QuerySet, TextField, Value
from django.db.models.base import ModelState
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Cast, Concat, Replace
from django.db.models.query import get_related_populators

from memory.host.json_types import JSONObject

INSTRUCTIONS = 10_000
# Rows that one statement names or changes: SQLite built with its old limit takes 999 parameters, and other writers wait
# no longer than such a statement takes.
CHUNK = 500
Part = TypeVar("Part")
Found = TypeVar("Found")
Row = TypeVar("Row", bound=Model)
Slot = Callable[[Sequence[Any]], Any]
# Statements that count, by the shape of their lists: few, since roles make the shapes.
_of_shape: dict[Hashable, tuple[list[str], str, list[Slot]]] = {}
# Statements that list, in the same way.
_statements: dict[Hashable, tuple[str, list[tuple[int, object]]]] = {}
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_new, _set, _UNKNOWN = object.__new__, object.__setattr__, SafeUUID.unknown


@cache
def is_postgres() -> bool:
    """A process has one database for as long as it lives."""
    return connection.vendor == "postgresql"


def column_type(table: str, column: str) -> str:
    """The type of a column of PostgreSQL, without its length."""
    statement = "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
    return str(rows(statement, [table, column])[0][0])


def rows(statement: str, parameters: Sequence[Any]) -> list[Any]:
    """What a hand-written SELECT answers, straight from the driver.

    Django's cursor costs more than the query of a point read. It is used all the same where it has something to do:
    open or check the connection, refuse a broken transaction, or tell those who listen to queries.
    """
    django = connections[DEFAULT_DB_ALIAS]
    if django.execute_wrappers or django.queries_logged or django.needs_rollback or not _is_open(django):
        with django.cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())
    django.validate_thread_sharing()
    with django.wrap_database_errors:
        return list(django.connection.execute(_in_driver_style(statement), parameters).fetchall())


class Prepared(Generic[Row]):
    """A query for rows of a model that the ORM has written once, and that is asked with other parameters each time:
    writing it takes the ORM many times as long as the database takes to answer it.

    ``fetch`` gives the same objects as the queryset, with what its ``select_related`` names. It is for querysets whose
    every parameter is given anew.
    """

    def __init__(self, queryset: QuerySet[Row]) -> None:
        self._model = queryset.model
        self._compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self._statement, _ = self._compiler.as_sql()
        columns, described = self._compiler.select, self._compiler.klass_info
        self._own = slice(described["select_fields"][0], described["select_fields"][-1] + 1)
        self._names = [column[0].target.attname for column in columns[self._own]]
        self._converters = self._compiler.get_converters([column[0] for column in columns])
        self._related = get_related_populators(described, columns, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]  # the stubs are of Django 6

    def fetch(self, *parameters: Any) -> list[Row]:
        """The rows for parameters in the form of the engine, in the order in which the statement has them."""
        return [
            self._made(row)
            for row in self._compiler.apply_converters(rows(self._statement, parameters), self._converters)
        ]

    def _made(self, row: list[Any]) -> Row:
        made = self._model.from_db(DEFAULT_DB_ALIAS, self._names, row[self._own])
        for populator in self._related:
            populator.populate(row, made)
        return made


def fetch(queryset: QuerySet[Row]) -> list[Row]:
    """The objects of a queryset, with what its ``select_related`` names, made of rows as the driver gives them, since
    the ORM takes longer to make them than the database to find them. A field that ``only`` leaves out is read later."""
    compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    try:
        statement, given = compiler.as_sql()
    except EmptyResultSet:
        return []
    return _objects_of(compiler)(rows(statement, given))


def _objects_of(compiler: Any) -> Callable[[Iterable[Sequence[Any]]], list[Any]]:
    """What makes objects of the rows of a statement that this compiler has written."""
    described = compiler.klass_info
    own, related = _Maker(described, compiler.select), described.get("related_klass_infos", ())
    makers = [(_Maker(each, compiler.select), each["local_setter"], each["remote_setter"]) for each in related]
    annotated = [
        (name, place, compiler.select[place][0].output_field) for name, place in compiler.annotation_col_map.items()
    ]
    beside = [(name, place, _READ.get(field.get_internal_type(), _same)) for name, place, field in annotated]

    def objects(found: Iterable[Sequence[Any]]) -> list[Any]:
        every = []
        for row in found:
            one = own.make(row)
            for maker, to_other, to_one in makers:
                other = maker.make(row)
                to_other(one, other)
                to_one(other, one)
            for name, place, read in beside:
                setattr(one, name, read(row[place]))
            every.append(one)
        return every

    return objects


class _Maker:
    """Makes the object of one model out of its columns in a row."""

    def __init__(self, described: JSONObject, select: Sequence[Any]) -> None:
        self._model = described["model"]
        columns = [(select[place][0], place) for place in described["select_fields"]]
        self._columns = [(column.target.attname, place) for column, place in columns]
        types = [(column.target.attname, column.output_field.get_internal_type()) for column, _ in columns]
        self._read = [(name, _READ[kind]) for name, kind in types if kind in _READ]

    def make(self, row: Sequence[Any]) -> Any:
        values = {name: row[place] for name, place in self._columns}
        for name, read in self._read:
            if values[name] is not None:
                values[name] = read(values[name])
        return made(self._model, values)


def made(model: type[Any], values: Mapping[str, Any]) -> Any:
    """What the ORM would have made of the columns; another column of the row is read when somebody asks for it."""
    state = ModelState()
    state.adding, state.db = False, DEFAULT_DB_ALIAS
    row: Any = object.__new__(model)
    row.__dict__ |= {"_state": state, **values}
    return row


class Written:
    """A query that the ORM has written once, for other values each time.

    ``places`` are what the queryset was made with, each in the place of a value: ids, texts and times that nothing else
    in it is. A value may stand in it more than once, or not at all.
    """

    def __init__(self, queryset: QuerySet[Any, Any], *places: object) -> None:
        compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self._statement, given = compiler.as_sql()
        self._objects = _objects_of(compiler) if compiler.klass_info else None
        known = [_as_parameter(each) for each in places]
        self._slots = [(known.index(each), None) if each in known else (-1, each) for each in given]

    def fetch(self, *values: object) -> list[Any]:
        """The rows for these values, in the order of the places."""
        given = [_as_parameter(each) for each in values]
        return rows(self._statement, [given[place] if place >= 0 else fixed for place, fixed in self._slots])

    def objects(self, *values: object) -> list[Any]:
        """The same as the objects that ``sql.fetch`` makes."""
        assert self._objects is not None, "The query is one for values."
        return self._objects(self.fetch(*values))


class Text(str):
    """A text in a query, known again in its statement as this very object, whatever it says: someone else may have
    chosen a text that the query has for itself."""

    __slots__ = ()

    @classmethod
    def of(cls, text: str) -> "Text":
        return text if isinstance(text, Text) else cls(text)


def statement_of_shape(
    shape: Hashable, values: Sequence[object], query: Callable[[], QuerySet[Any, Any]]
) -> tuple[str, list[Any]]:
    """The statement and the parameters of what ``query`` makes, which is asked for it once for each ``shape``: the ORM
    takes ten times as long to write such a statement as the database takes to answer it.

    Queries of one shape differ in ``values`` alone: ids, times, and each ``Text``. A shape of None is of one query.
    """
    if found := _statements.get(shape):
        statement, slots = found
        return statement, [_as_parameter(values[place]) if place >= 0 else fixed for place, fixed in slots]
    statement, given = query().query.sql_with_params()
    if shape is not None:
        places = [place for each in given if (place := _place_of(each, values))]
        if len(places) == len(given):
            _statements[shape] = statement, places
    return statement, list(given)


def _place_of(parameter: object, values: Sequence[object]) -> tuple[int, object] | None:
    """Which of ``values`` a parameter is; -1 with the parameter itself when it is the same in every such query. None
    when that cannot be said: it looks like one of the values, or like two of them."""
    if isinstance(parameter, Text):
        return next(((place, None) for place, value in enumerate(values) if value is parameter), None)
    texts = [each for each in values if isinstance(each, Text)]
    if isinstance(parameter, str) and any(text in parameter for text in texts):
        return None
    others = [place for place, each in enumerate(values) if not isinstance(each, Text)]
    found = [place for place in others if parameter == _as_parameter(values[place])]
    if found:
        return (found[0], None) if len(found) == 1 else None
    return None if _as_moment(parameter) else (-1, parameter)


def _as_parameter(value: object) -> object:
    return key(value) if isinstance(value, UUID) else instant(value) if isinstance(value, datetime) else value


def read_in_parallel(read: Callable[[Part], Found], parts: Sequence[Part], readers: int) -> list[Found]:
    """What ``read`` answers for each of ``parts``, on as many connections at a time. In a transaction all are read
    there, which alone sees what it has written."""
    readers = min(readers, len(parts))
    if readers < 2 or connection.in_atomic_block:
        return [read(part) for part in parts]

    def share(of: int) -> list[Found]:
        try:
            return [read(part) for part in parts[of::readers]]
        finally:
            connection.close()  # this thread's own

    with ThreadPoolExecutor(readers) as pool:
        return [found for shared in pool.map(share, range(readers)) for found in shared]


def in_chunks(rows: Iterable[Part], size: int = CHUNK) -> Iterator[list[Part]]:
    """The rows in lists of at most ``size``, in their order."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, size)):
        yield chunk


def delete_in_chunks(rows: QuerySet[Any], row_ids: Iterable[UUID] | None = None) -> int:
    """Delete the rows of a queryset that may write, or those of ``row_ids`` among them, CHUNK in each statement, and
    return how many there were."""
    chunks = in_chunks(row_ids) if row_ids is not None else _ids_left(rows)
    return sum(int(rows.filter(id__in=chunk).delete()[0]) for chunk in chunks)


def _ids_left(rows: QuerySet[Any]) -> Iterator[list[UUID]]:
    while chunk := list(rows.values_list("id", flat=True)[:CHUNK]):
        yield chunk


def insert(
    allowed: Any, columns: Sequence[str], values: Iterable[Sequence[Any]], *, renewing: Sequence[str] = ()
) -> None:
    """Rows into the table of ``allowed``, a queryset that may write; without an object for each, which costs most.

    ``values`` are in the form of the engine. Of a row whose key is there already, the columns ``renewing`` are renewed;
    no two of ``values`` have one key.
    """
    into = f"INSERT INTO {allowed.model._meta.db_table} ({', '.join(columns)})"
    renewed = ", ".join(f"{name} = excluded.{name}" for name in renewing)
    conflict = f"ON CONFLICT (tenant_id, id) DO UPDATE SET {renewed}" if renewing else ""
    given = list(values)
    with connection.cursor() as cursor:
        if not is_postgres():
            cursor.executemany(f"{into} VALUES ({', '.join(['%s'] * len(columns))}) {conflict}", given)
        elif given and not renewing:
            copied = f"COPY {allowed.model._meta.db_table} ({', '.join(columns)}) FROM STDIN"
            with connection.wrap_database_errors, cursor.copy(copied) as copy:
                for row in given:
                    copy.write_row(row)
        elif given:  # an array for each column: one statement for all the rows
            types = {field.column: field.db_type(connection) for field in allowed.model._meta.concrete_fields}
            arrays = ", ".join(f"%s::{types[name]}[]" for name in columns)
            lists = [list(column) for column in zip(*given, strict=True)]
            cursor.execute(f"{into} SELECT * FROM unnest({arrays}) {conflict}", lists)  # noqa: S608


def counts(lists: Mapping[str, object], *, up_to: int) -> dict[str, int]:
    """How many rows each of these querysets has, counted up to that number, all in one statement."""
    statement, parameters = _counting(lists, up_to)
    return _fetch_counts(list(lists), statement, parameters)


def counts_of_shape(
    shape: Hashable, values: Sequence[object], lists: Callable[[], Mapping[str, Any]], *, up_to: int
) -> dict[str, int]:
    """``counts`` of what ``lists`` makes, which is asked for them once for each ``shape``: the ORM takes ten times as
    long to write such a statement as the database takes to answer it.

    Lists of one shape differ in ``values`` alone: ids, names, and one time from which every other time is counted.
    """
    if found := _of_shape.get((shape, up_to)):
        names, statement, slots = found
        return _fetch_counts(names, statement, [slot(values) for slot in slots])
    made = lists()
    statement, parameters = _counting(made, up_to)
    slots = [_slot(each, values) for each in parameters]
    if [slot(values) for slot in slots] == parameters:
        _of_shape[shape, up_to] = list(made), statement, slots
    return _fetch_counts(list(made), statement, parameters)


def _counting(lists: Mapping[str, Any], up_to: int) -> tuple[str, list[Any]]:
    """The statement that counts, and its parameters."""
    columns, parameters = [], []
    for rows_of_one in lists.values():
        try:
            statement, given = rows_of_one.order_by().values("id")[:up_to].query.sql_with_params()
        except EmptyResultSet:
            statement, given = "SELECT NULL WHERE 1 = 0", ()
        columns.append(f"(SELECT count(*) FROM ({statement}) AS listed)")  # noqa: S608
        parameters += given
    return f"SELECT {', '.join(columns)}", parameters


def _fetch_counts(names: Sequence[str], statement: str, parameters: Sequence[Any]) -> dict[str, int]:
    if not names:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return dict(zip(names, cursor.fetchone(), strict=True))


def _slot(parameter: Any, values: Sequence[Any]) -> Slot:
    """What makes this parameter of ``values``: it is one of them, a text with one of them in it, a time as far from
    theirs, or the same whatever they are."""
    for place, value in enumerate(values):
        if isinstance(value, datetime):
            if (moment := _as_moment(parameter)) is not None:
                return partial(_moved, place, moment - value)
        elif isinstance(value, UUID):
            if parameter == key(value):
                return partial(_own_key, place)
        elif isinstance(parameter, str):
            for spell in (str, connection.ops.prep_for_like_query):
                if (spelled := spell(value)) in parameter:
                    return partial(_within, place, spell, parameter.split(spelled))
    return lambda _: parameter


def _moved(place: int, by: timedelta, values: Sequence[Any]) -> Any:
    return instant(values[place] + by)


def _own_key(place: int, values: Sequence[Any]) -> Any:
    return key(values[place])


def _within(place: int, spell: Callable[[Any], str], parts: Sequence[str], values: Sequence[object]) -> str:
    return spell(values[place]).join(parts)


def _as_moment(parameter: object) -> datetime | None:
    """The time that is this parameter of a statement of the ORM."""
    if isinstance(parameter, str) and TIME.fullmatch(parameter):
        return datetime.fromisoformat(parameter).replace(tzinfo=UTC)
    return parameter if isinstance(parameter, datetime) else None


@contextmanager
def ending_at(deadline: float) -> Iterator[None]:
    """No statement of this thread goes on behind ``deadline``, a reading of the monotonic clock: the engine ends it."""
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    if not is_postgres():
        django.connection.set_progress_handler(lambda: time.monotonic() > deadline, INSTRUCTIONS)
        try:
            yield
        finally:
            django.connection.set_progress_handler(None, 0)
        return

    def hurried(execute: Any, *rest: Any) -> Any:
        left_ms = max(1, math.ceil((deadline - time.monotonic()) * 1000))
        django.connection.execute("SELECT set_config('statement_timeout', %s, true)", [str(left_ms)])
        return execute(*rest)

    with transaction.atomic(), django.execute_wrapper(hurried):
        yield


def _is_open(django: Any) -> bool:
    return django.connection is not None and (django.health_check_done or not django.health_check_enabled)


def _in_driver_style(statement: str) -> str:
    return statement if is_postgres() else statement.replace("%s", "?")


def key(value: UUID | None) -> UUID | str | None:
    """An id as a parameter."""
    return value if value is None or is_postgres() else value.hex


def among(column: str, keys: Sequence[Any]) -> tuple[str, list[UUID] | str]:
    """The condition that ``column`` is one of ``keys``, and its one parameter: one text however many they are."""
    if is_postgres():
        return f"{column} = ANY(%s)", list(keys)
    return f"{column} IN (SELECT value FROM json_each(%s))", document(keys)  # noqa: S608


def is_among(column: str, keys: Iterable[UUID]) -> RawSQL:
    """``among`` for a queryset: to hand over a parameter for each key costs more than the answer."""
    statement, parameter = among(column, [key(each) for each in keys])
    return RawSQL(statement, [parameter], output_field=BooleanField())  # noqa: S611  # a statement of our own


@lru_cache(maxsize=64)  # all rows of one transaction have one time
def instant(value: datetime | None) -> datetime | str | None:
    """A time as a parameter: what Django's own field stores."""
    if value is None or is_postgres():
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def document(value: object) -> str:
    """JSON as a parameter."""
    return orjson.dumps(value).decode()


def time_column(name: str) -> str:
    """A time to select, as text with its zone: the loaders that Django gives the drivers are slow."""
    return f"{name}::text" if is_postgres() else f"{name} || '+00:00'"


def least_text(moment: datetime) -> str:
    """The least of the texts to which either engine casts the time or a later one: without the zeros at its end, which
    PostgreSQL leaves out and SQLite keeps."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if "." in text else text


def as_uuid(value: Any) -> UUID:
    """The id in a row. SQLite's is 32 digits of our own; what ``UUID(hex=...)`` checks costs more than its row did."""
    if isinstance(value, UUID):
        return value
    found = _new(UUID)
    _set(found, "int", int(value, 16))
    _set(found, "is_safe", _UNKNOWN)
    return found


def at(value: str) -> datetime:
    """A ``time_column`` that is never null."""
    return datetime.fromisoformat(value)


def as_instant(value: str | None) -> datetime | None:
    return None if value is None else at(value)


def wire_id(prefix: str, column: str | Combinable) -> Concat:
    """The id in ``column`` as it stands on the wire, in a statement."""
    digits = Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())
    return Concat(Value(f"{prefix}_"), digits, output_field=TextField())


def digits(value: Any) -> str:
    """An id as the driver gives it, in the digits that the wire has; SQLite keeps just those."""
    return value if isinstance(value, str) else value.hex


def wire_instant(text: str) -> str:
    """A time that the database casts to text, as the wire has it: UTC, to the millisecond."""
    if len(text) >= 26:  # three digits of the fraction at the least
        return f"{text[:10]}T{text[11:23]}Z"
    fraction = text[20:].partition("+")[0] if text[19:20] == "." else ""
    return f"{text[:10]}T{text[11:19]}.{fraction[:3]:0<3}Z"


def as_utc(value: Any) -> Any:
    """A time that a statement of the ORM selects, from PostgreSQL or from SQLite, which keeps UTC without saying so."""
    return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


def as_document(value: object) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value


def _same(value: Any) -> Any:
    return value


# How columns are read that an engine keeps as something else than their values, by the type of the field.
_READ: dict[str, Callable[[Any], Any]] = {
    "UUIDField": as_uuid,
    "DateTimeField": as_utc,
    "JSONField": as_document,
    "BooleanField": bool,
}


def file_bytes() -> int:
    """How large the file of a SQLite database is."""
    return int(rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [])[0][0])


def database_bytes() -> int:
    """How large the database is, of either engine."""
    return int(rows("SELECT pg_database_size(current_database())", [])[0][0]) if is_postgres() else file_bytes()


def version() -> str:
    """The version of the engine."""
    asked = "SHOW server_version" if is_postgres() else "SELECT sqlite_version()"
    return str(rows(asked, [])[0][0]).partition(" ")[0]


def free_bytes() -> int:
    """How much room there is on the disk of a SQLite database."""
    return shutil.disk_usage(Path(str(connection.settings_dict["NAME"])).resolve().parent).free


def rebuilt_at() -> int:
    """When the file was rebuilt last, in seconds of the epoch; 0 for never. It stands in the file's own header."""
    return int(rows("PRAGMA user_version", [])[0][0])


def rebuild(at: int) -> None:
    """The file of a SQLite database is written anew, and has nothing between its rows of what was deleted.

    ``secure_delete`` alone leaves copies of rows that were moved from page to page before they were deleted.
    """
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(f"PRAGMA user_version = {int(at)}")


def empty_log(*, patience_ms: int = 500) -> bool:
    """All of SQLite's write-ahead log is in the database and the log has no bytes; False while somebody reads or
    writes, who is not kept waiting."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        before = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {int(patience_ms)}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return not cursor.fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(before)}")


@contextmanager
def log_moved() -> Iterator[None]:
    """The transactions inside the block are large: SQLite's write-ahead log is moved into the database before anybody
    else writes. The commit of the next writer would have to do it else, which has kept one waiting for a second."""
    if is_postgres() or connection.in_atomic_block:
        yield
        return
    with connection.alone(), connection.cursor() as cursor:  # type: ignore[attr-defined]  # of ``openwop_console.sqlite``
        cursor.execute("PRAGMA wal_autocheckpoint")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA wal_autocheckpoint = 0")
        try:
            yield
        finally:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            cursor.execute(f"PRAGMA wal_autocheckpoint = {int(before)}")


def behind(column: str, at: datetime, row_id: object, *, id_column: str = "id") -> Q:
    """What comes behind a row in the order (``-column``, ``-id_column``): two conditions that one index serves."""
    return Q(**{f"{column}__lte": at}) & (Q(**{f"{column}__lt": at}) | Q(**{f"{id_column}__lt": row_id}))


def tables_vacuumed_before(moment: datetime) -> list[tuple[str, int]]:
    """PostgreSQL's tables that were not vacuumed since then, and the bytes of each with its indexes and TOAST."""
    statement = (
        "SELECT relid::regclass::text, pg_total_relation_size(relid) FROM pg_stat_user_tables "
        "WHERE schemaname = current_schema() AND (last_vacuum IS NULL OR last_vacuum < %s) ORDER BY 1"
    )
    return [(str(table), int(size)) for table, size in rows(statement, [moment])]


def vacuum(table: str, *, rewrite: bool, patience_ms: int = 100) -> bool:
    """A table of PostgreSQL is vacuumed and analysed, outside of a transaction; False when its lock was not free.

    A vacuum leaves the bytes of a removed row in the free space of its page: ``rewrite`` writes the table anew, and
    keeps who uses it waiting for that long. Readers and writers do not wait for the rest.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(patience_ms)}")
        try:
            if rewrite:
                cursor.execute(f"VACUUM (FULL) {table}")
            cursor.execute(f"VACUUM (ANALYZE) {table}")
            _clear_statistics(cursor, table)
        except OperationalError:  # the lock is taken: whoever has it goes first
            return False
        finally:
            cursor.execute("RESET lock_timeout")
    return True


def _clear_statistics(cursor: CursorWrapper, table: str) -> None:
    """Of an empty table the samples go: ANALYZE leaves those of its last rows. A column that is said to be of the type
    that it has loses them, and nothing is written anew."""
    cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table})")  # noqa: S608
    if cursor.fetchone()[0]:
        return
    cursor.execute(
        "SELECT quote_ident(a.attname), format_type(a.atttypid, a.atttypmod) || COALESCE((SELECT ' COLLATE ' || "
        "quote_ident(c.collname) FROM pg_collation c WHERE c.oid = a.attcollation AND c.collname <> 'default'), '') "
        "FROM pg_stats s JOIN pg_attribute a "
        "ON a.attrelid = %s::regclass AND a.attname = s.attname WHERE s.schemaname = current_schema() "
        "AND s.tablename = %s AND format_type(a.atttypid, NULL) = ANY(%s)",
        [table, table, ["text", "character varying", "jsonb", "bytea"]],
    )
    changes = ", ".join(f"ALTER COLUMN {name} TYPE {kind}" for name, kind in cursor.fetchall())
    if changes:
        cursor.execute(f"ALTER TABLE {table} {changes}")
