"""Writes one row with a statement that is built once for its model and columns.

The ORM builds such a statement anew each time, which takes it five to ten times as long as the database takes to carry
it out. Values go through their fields, and an expression or a column that the database fills in is left to the ORM.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, models, transaction

Statement = tuple[str, tuple[Any, ...]]
KEPT = 1000
TEXTS = (models.CharField, models.TextField)
NOT_STORED = "Save with update_fields did not affect any rows."  # in the ORM's words


def write(
    row: models.Model, *, update_fields: Sequence[str] = (), force_insert: bool = False, **others: object
) -> bool:
    """Do what ``save`` with these arguments does; False, with nothing done, when the ORM has to do it."""
    if others or force_insert == bool(update_fields):
        return False
    statement, fields = _insert_of(type(row)) if force_insert else _update_of(type(row), tuple(update_fields))
    values = _values(row, fields, adding=force_insert)
    if values is None:
        return False
    if _execute(statement, values) == 0:
        raise DatabaseError(NOT_STORED)
    row._state.db, row._state.adding = DEFAULT_DB_ALIAS, False  # noqa: SLF001  # as ``save`` leaves them
    return True


def _execute(statement: str, values: list[Any]) -> int:
    with transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS), connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _values(row: Any, fields: Sequence[Any], *, adding: bool) -> list[Any] | None:
    """The values as the database takes them; None when there is an expression among them, or no statement."""
    values: list[Any] = []
    for field in fields:
        value = field.pre_save(row, adding)
        if value is None or (type(value) is str and isinstance(field, TEXTS)):
            values.append(value)
        elif hasattr(value, "resolve_expression"):
            return None
        else:
            values.append(field.get_db_prep_save(value, connection))
    return values or None


@lru_cache(KEPT)
def _insert_of(model: type[models.Model]) -> Statement:
    fields = tuple(model._meta.concrete_fields)
    if model._meta.auto_field or any(map(_is_special, fields)):
        return "", ()
    columns, places = ", ".join(map(_quoted, fields)), ", ".join(["%s"] * len(fields))
    return f"INSERT INTO {_table(model)} ({columns}) VALUES ({places})", fields  # noqa: S608


@lru_cache(KEPT)
def _update_of(model: type[models.Model], names: tuple[str, ...]) -> Statement:
    fields, keys = tuple(model._meta.get_field(name) for name in names), tuple(model._meta.pk_fields)
    if any(map(_is_special, (*fields, *keys))) or {*fields} & {*keys}:
        return "", ()
    values, key = ", ".join(_set(fields)), " AND ".join(_set(keys))
    return f"UPDATE {_table(model)} SET {values} WHERE {key}", (*fields, *keys)  # noqa: S608


def _is_special(field: Any) -> bool:
    """Whether the database fills the column in, or the field has a placeholder of its own."""
    return field.column is None or field.generated or hasattr(field, "get_placeholder")


def _set(fields: Sequence[Any]) -> list[str]:
    return [f"{_quoted(field)} = %s" for field in fields]


def _quoted(field: Any) -> str:
    return connection.ops.quote_name(field.column)


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)
