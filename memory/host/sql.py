"""Helpers for hand-written SQL: value conversion per engine, driver reads, chunked writes, statement limits, upkeep.

``adapter``, ``ledger`` and ``event_log`` write SQL by hand where the ORM was measured to take longer than the database;
the statements stay there.
"""

import hashlib
import math
import re
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from uuid import UUID, SafeUUID

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, InternalError, OperationalError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import BooleanField, Model, Q, QuerySet, TextField, Value
from django.db.models.base import ModelState
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Cast, Concat, Replace
from django.db.models.sql import UpdateQuery

from memory.host.json_types import JSONObject, json_bytes, without_exponents

if TYPE_CHECKING:
    from memory.host.models.base import Guarded

INSTRUCTIONS = 10_000
# PostgreSQL's table of samples of columns, which its planner reads.
SAMPLES = "pg_catalog.pg_statistic"
# Rows that one statement names or changes: SQLite built with its old limit takes 999 parameters, and a statement of
# this size does not keep other writers waiting for long.
CHUNK = 500
Part = TypeVar("Part")
Found = TypeVar("Found")
Read = TypeVar("Read")
Row = TypeVar("Row", bound=Model)
# An SQL text and its parameters, in the engine's form.
Statement: TypeAlias = tuple[str, list[Any]]
Slot = Callable[[Sequence[Any]], Any]
Objects: TypeAlias = Callable[[Iterable[Sequence[Any]]], list[Any]]
# Counting statements by the shape of their lists; there are few, since the shapes follow from roles.
_of_shape: dict[Hashable, tuple[list[str], str, list[tuple[int, Any]]]] = {}
# Statements by shape, with what makes objects of their rows. Part of a shape is what a client chooses: how many tags it
# names, how long its page is.
MOST_SHAPES = 1000
_statements: dict[Hashable, tuple[str, list[tuple[int, object]], Objects]] = {}
# A text that stands in a statement as it is.
PLAIN = re.compile(r"[\w .:/-]*", re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_new, _set, _UNKNOWN = object.__new__, object.__setattr__, SafeUUID.unknown


@cache
def is_postgres() -> bool:
    """Whether the database is PostgreSQL; a process uses one database for its lifetime."""
    return connection.vendor == "postgresql"


def changes_at_once() -> bool:
    """Whether one statement may change several tables, as PostgreSQL's may."""
    return is_postgres()


def column_type(table: str, column: str) -> str:
    """Return the type of a PostgreSQL column, without its length."""
    statement = "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s"
    return str(rows(statement, [table, column])[0][0])


def lock_name(name: str) -> None:
    """Wait until no other transaction has locked this name, and lock it until this one ends.

    On SQLite transactions that write come one after another, so there is nothing to wait for.
    """
    if is_postgres():
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        rows("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(digest, signed=True)])


def rows(statement: str, parameters: Sequence[Any]) -> list[Any]:
    """Run a hand-written SELECT on the driver and return its rows; in a transaction also a change that returns some.

    Django's cursor costs more than the query of a point read. It is used where it has work to do: open or check the
    connection, refuse a broken transaction, or notify listeners of queries.
    """
    django = connections[DEFAULT_DB_ALIAS]
    if _needs_cursor(django):
        with django.cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())
    django.validate_thread_sharing()
    on_driver = django.connection
    if is_postgres():
        from psycopg import RawCursor  # on SQLite a tenth of a command's start

        # psycopg's other cursors parse a statement of more than 50 parameters again at each call.
        on_driver = RawCursor(on_driver)
    with django.wrap_database_errors:
        return list(on_driver.execute(_in_driver_style(statement), parameters).fetchall())


def distinct_values(table: str, column: str, tenant_id: UUID, *, limit: int) -> list[Any]:
    """The first ``limit`` different texts in a column of a tenant, without "". Each is one step of the index that
    begins with tenant and column."""
    least = f"SELECT MIN({column}) FROM {table} WHERE tenant_id = %s AND {column} > "  # noqa: S608
    statement = (
        f"WITH RECURSIVE found(value) AS ({least} '' UNION ALL "  # noqa: S608
        f"SELECT ({least} found.value) FROM found WHERE found.value IS NOT NULL) "
        "SELECT value FROM found WHERE value IS NOT NULL LIMIT %s"
    )
    return [value for (value,) in rows(statement, [key(tenant_id), key(tenant_id), limit])]


class PositionalQuery(Generic[Row]):
    """A query for rows of a model that the ORM compiles once and that runs with new parameters each time.

    Compiling takes the ORM many times as long as the database takes to answer. ``fetch`` gives the same objects as the
    queryset, with its ``select_related``. Every parameter of the queryset has to be given anew.
    """

    def __init__(self, queryset: QuerySet[Row]) -> None:
        self._compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self._statement, _ = self._compiler.as_sql()
        self._converters = self._compiler.get_converters([column[0] for column in self._compiler.select])
        self._objects = _objects_of(self._compiler, read=False)

    def fetch(self, *parameters: Any) -> list[Row]:
        """Return the rows for these parameters, given in the engine's form and in the order of the statement."""
        found = rows(self._statement, parameters)
        return self._objects(self._compiler.apply_converters(found, self._converters)) if found else []


def fetch(queryset: QuerySet[Row]) -> list[Row]:
    """Return the objects of a queryset, with its ``select_related``, built from the driver's rows.

    The ORM takes longer to build them than the database to find them. A field that ``only`` leaves out is loaded on
    access.
    """
    return fetch_of_shape(None, (), lambda: queryset)


def fetch_of_shape(shape: Hashable, values: Sequence[object], query: Callable[[], QuerySet[Row]]) -> list[Row]:
    """``fetch(query())``, which is compiled once for each ``shape`` (``statement_of_shape``)."""
    try:
        statement, given, objects = _compiled(shape, values, query)
    except EmptyResultSet:
        return []
    return objects(rows(statement, given))


def _objects_of(compiler: Any, *, read: bool = True) -> Objects:
    """Return a function that builds objects from the rows of this compiler's statement; a query for values has none.

    With ``read`` the rows are the driver's; otherwise the ORM has converted them.
    """
    if not compiler.klass_info:
        return list
    described = compiler.klass_info
    own, related = _Maker(described, compiler.select, read), described.get("related_klass_infos", ())
    makers = [(_Maker(each, compiler.select, read), each["local_setter"], each["remote_setter"]) for each in related]
    annotated = [
        (name, place, compiler.select[place][0].output_field) for name, place in compiler.annotation_col_map.items()
    ]
    beside = [(name, place, _READ.get(field.get_internal_type(), _same)) for name, place, field in annotated]

    def objects(found: Iterable[Sequence[Any]]) -> list[Any]:
        every = []
        for row in found:
            one = own.make(row)
            for maker, to_other, to_one in makers:
                other = maker.make(row) if maker.is_there(row) else None
                to_other(one, other)
                if other is not None:
                    to_one(other, one)
            for name, place, read in beside:
                setattr(one, name, read(row[place]))
            every.append(one)
        return every

    return objects


class _Maker:
    """Builds the object of one model from its columns in a row."""

    def __init__(self, described: JSONObject, select: Sequence[Any], read: bool) -> None:
        self._model = described["model"]
        columns = [(select[place][0], place) for place in described["select_fields"]]
        self._columns = [(column.target.attname, place) for column, place in columns]
        types = [(column.target.attname, column.output_field.get_internal_type()) for column, _ in columns]
        self._read = [(name, _READ[kind]) for name, kind in types if read and kind in _READ]
        key = {field.attname for field in self._model._meta.pk_fields}
        self._key = [place for name, place in self._columns if name in key]

    def is_there(self, row: Sequence[Any]) -> bool:
        """Whether the row has an object of this model: a link that may be null may lead to none."""
        return any(row[place] is not None for place in self._key)

    def make(self, row: Sequence[Any]) -> Any:
        values = {name: row[place] for name, place in self._columns}
        for name, read in self._read:
            if values[name] is not None:
                values[name] = read(values[name])
        return build_row(self._model, values)


def build_row(model: type[object], values: Mapping[str, object]) -> Any:
    """Build the object that the ORM would build from these columns; a missing column is loaded on access."""
    state = ModelState()
    state.adding, state.db = False, DEFAULT_DB_ALIAS
    row: Any = object.__new__(model)
    row.__dict__ |= {"_state": state, **values}
    return row


class CompiledQuery:
    """A query that the ORM compiles once and that runs with other values each time.

    ``places`` are placeholder values that the queryset was built with: ids, lists of ids (``is_among``), texts and
    times that occur nowhere else in it. A value may occur in it more than once, or not at all.
    """

    def __init__(self, queryset: QuerySet[Any, Any], *places: object) -> None:
        compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        statement, given = compiler.as_sql()
        self._objects = _objects_of(compiler)
        self._statement, self._slots = _with_constants(statement, _slots_of(given, places))

    def fetch(self, *values: object) -> list[Any]:
        """Return the rows for these values, given in the order of the places."""
        return rows(self._statement, _filled_in(self._slots, values))

    def objects(self, *values: object) -> list[Any]:
        """Return the objects for these values, as ``sql.fetch`` does."""
        return self._objects(self.fetch(*values))


class Update:
    """An update of a writable queryset that the ORM compiles once and that runs with other values each time.

    ``changes`` are the new values, and ``places`` the placeholders in them and in the queryset, as for a
    ``CompiledQuery``.
    """

    def __init__(self, allowed: QuerySet[Any, Any], changes: Mapping[str, object], *places: object) -> None:
        query: Any = allowed.query.chain(UpdateQuery)
        query.add_update_values(changes)
        statement, given = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        self._statement, self._slots = _with_constants(statement, _slots_of(given, places))

    def run(self, *values: object) -> int:
        """Update the rows for these values, given in the order of the places; return their number."""
        with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
            cursor.execute(self._statement, _filled_in(self._slots, values))
            return int(cursor.rowcount)


def _slots_of(given: Iterable[object], places: Sequence[object]) -> list[tuple[int, Any]]:
    """Return for each parameter the index of its place, or -1 with the parameter itself when it is a constant."""
    known = [_as_parameter(each) for each in places]
    return [(known.index(each), None) if each in known else (-1, each) for each in given]


def _filled_in(slots: list[tuple[int, Any]], values: Sequence[object]) -> list[Any]:
    given = [_as_parameter(each) for each in values]
    return [given[place] if place >= 0 else fixed for place, fixed in slots]


class Text(str):
    """A text in a query that is recognised in the statement by object identity, whatever its content.

    A caller may choose a text that the query also contains as a constant.
    """

    __slots__ = ()

    @classmethod
    def of(cls, text: str) -> "Text":
        return text if isinstance(text, Text) else cls(text)


def statement_of_shape(shape: Hashable, values: Sequence[object], query: Callable[[], QuerySet[Any, Any]]) -> Statement:
    """Return the statement and parameters of ``query()``, which is called once for each ``shape``.

    The ORM takes ten times as long to compile such a statement as the database takes to answer it. Queries of one shape
    differ in ``values`` alone: ids, times, and each ``Text``. With the shape None nothing is cached.
    """
    statement, given, _ = _compiled(shape, values, query)
    return statement, given


def _compiled(
    shape: Hashable, values: Sequence[object], query: Callable[[], QuerySet[Any, Any]]
) -> tuple[str, list[Any], Objects]:
    if found := _statements.get(shape):
        statement, slots, objects = found
        return statement, [_as_parameter(values[place]) if place >= 0 else fixed for place, fixed in slots], objects
    compiler: Any = query().query.get_compiler(DEFAULT_DB_ALIAS)
    statement, parameters = compiler.as_sql()
    given, objects = list(parameters), _objects_of(compiler)
    if shape is not None:
        places = [place for each in given if (place := _place_of(each, values))]
        if len(places) == len(given):
            if len(_statements) >= MOST_SHAPES:
                _statements.clear()
            _statements[shape] = *_with_constants(statement, places), objects
    return statement, given, objects


def _with_constants(statement: str, slots: list[tuple[int, Any]]) -> tuple[str, list[tuple[int, Any]]]:
    """Return the statement with its constants, the slots of the place -1, written out, and the slots that are left.

    SQLite compiles a statement again, at ten times the cost of running it, whenever a parameter is bound that it has
    compared with the condition of a partial index. PostgreSQL plans a statement that is asked often without looking at
    its parameters, and then uses no partial index whose condition compares one.
    """
    written, *parts = statement.split("%s")
    left = []
    for (place, fixed), part in zip(slots, parts, strict=True):
        literal = _literal(fixed) if place < 0 else ""
        if not literal:
            left.append((place, fixed))
        written += (literal or "%s") + part
    return written, left


def _literal(constant: object) -> str:
    """Return the constant as SQL has it; empty for one that stays a parameter."""
    if isinstance(constant, bool):
        return "TRUE" if constant else "FALSE"
    if isinstance(constant, int):
        return str(int(constant))
    return f"'{str.__str__(constant)}'" if isinstance(constant, str) and PLAIN.fullmatch(constant) else ""


def _place_of(parameter: object, values: Sequence[object]) -> tuple[int, object] | None:
    """Return the index in ``values`` of a parameter; -1 with the parameter itself when it is a constant.

    None when that is ambiguous: it resembles a value, or equals two of them.
    """
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
    if isinstance(value, list):
        return among("", [key(each) for each in value])[1]
    return key(value) if isinstance(value, UUID) else time_parameter(value) if isinstance(value, datetime) else value


def read_in_parallel(read: Callable[[Part], Found], parts: Sequence[Part], readers: int) -> list[Found]:
    """Return ``read(part)`` for each of ``parts``, read on up to ``readers`` connections at a time.

    Inside a transaction all are read on its own connection, since no other sees its writes.
    """
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


def read_ahead(read: Callable[[Part], Read], look: Callable[[Read], Found], parts: Iterable[Part]) -> Iterator[Found]:
    """Yield ``look(read(part))`` for each of ``parts``; the next part is read while a thread looks at one.

    ``look`` does not use the database.
    """
    with ThreadPoolExecutor(1) as beside:
        looking: Future[Found] | None = None
        for part in parts:
            given = read(part)
            if looking is not None:
                yield looking.result()
            looking = beside.submit(look, given)
        if looking is not None:
            yield looking.result()


def in_chunks(rows: Iterable[Part], size: int = CHUNK) -> Iterator[list[Part]]:
    """Yield the rows in lists of at most ``size``, in order."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, size)):
        yield chunk


def delete_in_chunks(rows: QuerySet[Any], row_ids: Iterable[UUID] | None = None) -> int:
    """Delete the rows of a writable queryset, or those of ``row_ids`` among them, and return the number.

    CHUNK rows are deleted in each statement.
    """
    chunks = in_chunks(row_ids) if row_ids is not None else _ids_left(rows)
    return sum(int(rows.filter(id__in=chunk).delete()[0]) for chunk in chunks)


def _ids_left(rows: QuerySet[Any]) -> Iterator[list[UUID]]:
    while chunk := list(rows.values_list("id", flat=True)[:CHUNK]):
        yield chunk


def insert(
    model: "type[Guarded]",
    columns: Sequence[str],
    values: Iterable[Sequence[Any]],
    *,
    by: str,
    renewing: Sequence[str] = (),
) -> None:
    """Insert rows into the table of ``model``, for its writer, without the cost of an object for each.

    ``values`` are in the engine's form. When a key exists already, the columns ``renewing`` are updated; no two of
    ``values`` may have the same key.
    """
    model.require_writer(by, "insert()")
    into = f"INSERT INTO {model._meta.db_table} ({', '.join(columns)})"
    renewed = ", ".join(f"{name} = excluded.{name}" for name in renewing)
    conflict = f"ON CONFLICT (tenant_id, id) DO UPDATE SET {renewed}" if renewing else ""
    given = list(values)
    if not is_postgres():
        _insert_each(f"{into} VALUES ({', '.join(['%s'] * len(columns))}) {conflict}", given)
        return
    with connection.cursor() as cursor:
        if given and not renewing:
            copied = f"COPY {model._meta.db_table} ({', '.join(columns)}) FROM STDIN"
            with connection.wrap_database_errors, cursor.copy(copied) as copy:
                for row in given:
                    copy.write_row(row)
        elif given:  # one array per column, so one statement inserts all rows
            types = {field.column: field.db_type(connection) for field in model._meta.concrete_fields}
            arrays = ", ".join(f"%s::{types[name]}[]" for name in columns)
            lists = [list(column) for column in zip(*given, strict=True)]
            cursor.execute(f"{into} SELECT * FROM unnest({arrays}) {conflict}", lists)  # noqa: S608


def counts(lists: Mapping[str, object], *, up_to: int) -> dict[str, int]:
    """Count the rows of each queryset, up to ``up_to``, in one statement."""
    statement, parameters = _counting(lists, up_to)
    return _fetch_counts(list(lists), statement, parameters)


def counts_of_shape(
    shape: Hashable, values: Sequence[object], lists: Callable[[], Mapping[str, Any]], *, up_to: int
) -> dict[str, int]:
    """Return ``counts(lists())``; ``lists`` is called once for each ``shape``.

    The ORM takes ten times as long to compile such a statement as the database takes to answer it. Lists of one shape
    differ in ``values`` alone: ids, names, and one time that every other time is relative to.
    """
    if found := _of_shape.get((shape, up_to)):
        names, statement, slots = found
        return _fetch_counts(names, statement, _filled(slots, values))
    made = lists()
    statement, parameters = _counting(made, up_to)
    slots = [(0, slot) if (slot := _slot(each, values)) else (-1, each) for each in parameters]
    if _filled(slots, values) == parameters:
        _of_shape[shape, up_to] = list(made), *_with_constants(statement, slots)
    return _fetch_counts(list(made), statement, parameters)


def _filled(slots: list[tuple[int, Any]], values: Sequence[Any]) -> list[Any]:
    return [fixed if place < 0 else fixed(values) for place, fixed in slots]


def _counting(lists: Mapping[str, Any], up_to: int) -> Statement:
    """Return the counting statement and its parameters."""
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


def _slot(parameter: Any, values: Sequence[Any]) -> Slot | None:
    """Return a function that computes this parameter from ``values``; None for a constant.

    A parameter is one of them, a text that contains one of them, a time at a fixed distance from one, or a constant.
    """
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
    return None


def _moved(place: int, by: timedelta, values: Sequence[Any]) -> Any:
    return time_parameter(values[place] + by)


def _own_key(place: int, values: Sequence[Any]) -> Any:
    return key(values[place])


def _within(place: int, spell: Callable[[Any], str], parts: Sequence[str], values: Sequence[object]) -> str:
    return spell(values[place]).join(parts)


def _as_moment(parameter: object) -> datetime | None:
    """Return the time that an ORM parameter represents, or None."""
    if isinstance(parameter, str) and TIME.fullmatch(parameter):
        return datetime.fromisoformat(parameter).replace(tzinfo=UTC)
    return parameter if isinstance(parameter, datetime) else None


@contextmanager
def ending_at(deadline: float) -> Iterator[None]:
    """Make the engine cancel any statement of this thread that runs past ``deadline``, a monotonic clock reading."""
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


def _insert_each(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert the rows on SQLite; in a transaction on the driver itself, as ``rows`` reads."""
    django = connections[DEFAULT_DB_ALIAS]
    if _needs_cursor(django) or not django.in_atomic_block:
        with django.cursor() as cursor:
            cursor.executemany(statement, rows)
        return
    django.validate_thread_sharing()
    with django.wrap_database_errors:
        django.connection.executemany(_in_driver_style(statement), rows)


def _needs_cursor(django: Any) -> bool:
    return bool(django.execute_wrappers or django.queries_logged or django.needs_rollback or not _is_open(django))


def _is_open(django: Any) -> bool:
    return django.connection is not None and (django.health_check_done or not django.health_check_enabled)


@lru_cache(maxsize=MOST_SHAPES)
def _in_driver_style(statement: str) -> str:
    """Return the statement with the placeholders of the driver: ``?``, or ``$1``, ``$2`` and so on."""
    if not is_postgres():
        return statement.replace("%s", "?")
    first, *parts = statement.split("%s")
    numbered = first + "".join(f"${number}{part}" for number, part in enumerate(parts, 1))
    return numbered.replace("%%", "%")


def key(value: UUID | None) -> UUID | str | None:
    """Convert an id to a parameter."""
    return value if value is None or is_postgres() else value.hex


def among(column: str, keys: Sequence[Any]) -> tuple[str, list[UUID] | str]:
    """Return the condition that ``column`` is one of ``keys``, and its one parameter.

    The text of the statement does not depend on the number of keys.
    """
    if is_postgres():
        return f"{column} = ANY(%s)", list(keys)
    return f"{column} IN (SELECT value FROM json_each(%s))", document(keys)  # noqa: S608


def is_among(column: str, keys: Iterable[UUID]) -> RawSQL:
    """``among`` for a queryset: passing a parameter for each key costs more than the answer."""
    statement, parameter = among(column, [key(each) for each in keys])
    return RawSQL(statement, [parameter], output_field=BooleanField())  # noqa: S611  # a statement of our own


@lru_cache(maxsize=64)  # all rows of one transaction share one time
def time_parameter(value: datetime | None) -> datetime | str | None:
    """Convert a time to a parameter, as Django's field stores it."""
    if value is None or is_postgres():
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def document(value: object) -> str:
    """Convert a value to a JSON parameter."""
    text = json_bytes(value).decode()
    return without_exponents(text) if is_postgres() else text


def time_column(name: str) -> str:
    """Return the expression that selects a time as text with its zone; Django's loaders for the drivers are slow."""
    return f"{name}::text" if is_postgres() else f"{name} || '+00:00'"


def least_text(moment: datetime) -> str:
    """Return the smallest text to which either engine casts this time or a later one.

    Trailing zeros are removed: PostgreSQL leaves them out and SQLite keeps them.
    """
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    return text.rstrip("0") if "." in text else text


def as_uuid(value: Any) -> UUID:
    """Read the id in a row. SQLite stores 32 digits that this host wrote, so the checks of ``UUID(hex=...)`` are
    skipped."""
    if isinstance(value, UUID):
        return value
    found = _new(UUID)
    _set(found, "int", int(value, 16))
    _set(found, "is_safe", _UNKNOWN)
    return found


def at(value: str) -> datetime:
    """Parse a ``time_column`` that is never null."""
    return datetime.fromisoformat(value)


def as_instant(value: str | None) -> datetime | None:
    return None if value is None else at(value)


def wire_id(prefix: str, column: str | Combinable) -> Concat:
    """Return the expression for the wire form of the id in ``column``."""
    return Concat(Value(f"{prefix}_"), hex_id(column), output_field=TextField())


def hex_id(column: str | Combinable) -> Replace:
    """Return the expression for the 32 hex digits of the id in ``column``."""
    return Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())


def digits(value: Any) -> str:
    """Return the 32 hex digits of an id as the driver gives it; SQLite stores exactly those."""
    return value if isinstance(value, str) else value.hex


def wire_instant(text: str) -> str:
    """Convert a time that the database cast to text to its wire form: UTC, to the millisecond."""
    if len(text) >= 26:  # three digits of the fraction at the least
        return f"{text[:10]}T{text[11:23]}Z"
    fraction = text[20:].partition("+")[0] if text[19:20] == "." else ""
    return f"{text[:10]}T{text[11:19]}.{fraction[:3]:0<3}Z"


def as_utc(value: Any) -> Any:
    """Return a time that an ORM statement selected with its zone; SQLite stores UTC without one."""
    return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


def as_document(value: object) -> Any:
    return orjson.loads(value) if isinstance(value, str) else value


def _same(value: Any) -> Any:
    return value


# Readers for columns whose stored form differs from their value, by field type.
_READ: dict[str, Callable[[Any], Any]] = {
    "UUIDField": as_uuid,
    "DateTimeField": as_utc,
    "JSONField": as_document,
    "BooleanField": bool,
}


def file_bytes() -> int:
    """Return the size of a SQLite database file."""
    return int(rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [])[0][0])


def database_bytes() -> int:
    """Return the size of the database, for either engine."""
    return int(rows("SELECT pg_database_size(current_database())", [])[0][0]) if is_postgres() else file_bytes()


def version() -> str:
    asked = "SHOW server_version" if is_postgres() else "SELECT sqlite_version()"
    return str(rows(asked, [])[0][0]).partition(" ")[0]


def free_bytes() -> int:
    """Return the free space on the disk of a SQLite database."""
    return shutil.disk_usage(Path(str(connection.settings_dict["NAME"])).resolve().parent).free


def rebuilt_at() -> int:
    """Return when the file was last rebuilt, in epoch seconds, from the file's own header; 0 for never."""
    return int(rows("PRAGMA user_version", [])[0][0])


def rebuild(at: int) -> None:
    """Rewrite the file of a SQLite database, so that no deleted data remains between its rows.

    ``secure_delete`` alone leaves copies of rows that were moved between pages before they were deleted.
    """
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(f"PRAGMA user_version = {int(at)}")


def empty_log() -> bool:
    """Checkpoint and truncate SQLite's write-ahead log; False when a reader or writer holds it.

    Waits at most half a second and does not block others.
    """
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 500")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return not cursor.fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(before)}")


@contextmanager
def log_moved() -> Iterator[None]:
    """Checkpoint SQLite's write-ahead log after large transactions in the block, before others write.

    Otherwise the commit of the next writer has to do it, which has delayed one by a second.
    """
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


def behind(column: str, at: object, row_id: object, *, id_column: str = "id") -> Q:
    """Select the rows after a given one in the order (``-column``, ``-id_column``).

    There are two conditions so that one index serves both.
    """
    return Q(**{f"{column}__lte": at}) & (Q(**{f"{column}__lt": at}) | Q(**{f"{id_column}__lt": row_id}))


def tables_vacuumed_before(moment: datetime) -> list[tuple[str, int]]:
    """Return the tables that ``vacuum`` has not finished since ``moment``, with their bytes (indexes and TOAST too)."""
    statement = (
        "SELECT relid::regclass::text, pg_total_relation_size(relid) FROM pg_stat_user_tables WHERE schemaname = "
        "current_schema() AND (last_vacuum >= %s AND last_analyze >= %s) IS NOT TRUE ORDER BY 1"
    )
    return [(str(table), int(size)) for table, size in rows(statement, [moment, moment])]


def has_transaction_before(moment: datetime) -> bool:
    """Whether another session has a transaction open since before ``moment`` that can see rows removed since.

    Of sessions of other roles PostgreSQL shows it to members of ``pg_read_all_stats`` only.
    """
    statement = (
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND xact_start < %s AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) LIMIT 1"
    )
    return bool(rows(statement, [moment]))


def samples_replaced_at() -> datetime | None:
    """Return when a vacuum last replaced PostgreSQL's samples of columns.

    None when their table was vacuumed since, or may not be: that is for the database's owner.
    """
    statement = (
        "SELECT max(last_vacuum) FROM pg_stat_user_tables WHERE schemaname = current_schema() HAVING max(last_vacuum) "
        "> (SELECT COALESCE(last_vacuum, '-infinity') FROM pg_stat_sys_tables WHERE relid = %s::regclass) AND "
        "(SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database())"
    )
    found: list[tuple[datetime]] = rows(statement, [SAMPLES])
    return found[0][0] if found else None


def vacuum(table: str, *, rewrite: bool, patience_ms: int = 100) -> bool:
    """Vacuum and analyse a PostgreSQL table, outside of a transaction; False when its lock was not free.

    A vacuum leaves the bytes of a removed row in the free space of its page: ``rewrite`` rewrites the table, and blocks
    its users for that time. Readers and writers are not blocked otherwise.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {int(patience_ms)}")
        try:
            if rewrite:
                # A rewrite keeps removed rows while an older transaction writes to any database of the server. A plain
                # vacuum, which such a transaction does not delay, removes them first; it alone leaves the table due.
                if table != SAMPLES:
                    cursor.execute(f"VACUUM {table}")
                cursor.execute(f"VACUUM (FULL) {table}")
            cursor.execute(f"VACUUM (ANALYZE) {table}")
            if table != SAMPLES:  # which only a superuser may read
                _clear_statistics(cursor, table)
        except OperationalError:  # another session holds the lock and goes first
            return False
        except InternalError as error:
            from psycopg.errors import DataCorrupted

            if table == SAMPLES and isinstance(error.__cause__, DataCorrupted):
                return False  # a row that an older transaction can see has no TOAST any more
            raise
        finally:
            cursor.execute("RESET lock_timeout")
    return True


def rewrite_samples(other: str) -> bool:
    """Rewrite PostgreSQL's samples of columns; False when it cannot be now, and they are still due.

    Rows without a TOAST are removed first, since a rewrite fails at them. That vacuum alone must not count, so the
    table ``other`` is vacuumed after it; and before it, since one that is locked then would let it count.
    """
    made_free = vacuum(other, rewrite=False) and vacuum(SAMPLES, rewrite=False) and vacuum(other, rewrite=False)
    return made_free and vacuum(SAMPLES, rewrite=True)


def _clear_statistics(cursor: CursorWrapper, table: str) -> None:
    """Remove the statistics samples of an empty table, where ANALYZE keeps those of its last rows.

    Declaring a column with the type that it already has drops its samples and rewrites nothing.
    """
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
