"""Every column of the database with text is looked through by an eraser, or is declared free of people's data."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db import connection, models

from memory.host import erasure
from openwop_console.text_columns import FREE

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
# On PostgreSQL, what holds no text; SQLite's catalog says what a column was declared as.
NO_TEXT = (
    "bigint", "integer", "smallint", "boolean", "timestamp with time zone", "uuid", "double precision", "numeric",
    "interval", "date",
)  # fmt: skip
NO_TEXT_ON_SQLITE = ("bigint", "integer", "smallint", "bool", "datetime", "char(32)", "real", "decimal", "date", "int")
# The tables that an index of full text keeps for itself: numbers of words, which the ledger takes out.
OF_THE_INDEX = ("memory_search", "memory_search_", "sqlite_")


def catalog() -> Iterator[tuple[str, str]]:
    """Every column of the database that may hold text, whoever made it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', "
                "'m', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND NOT format_type(a.atttypid, NULL) = ANY(%s)",
                [list(NO_TEXT)],
            )
            yield from cursor.fetchall()
            return
        cursor.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        for (table,) in cursor.fetchall():
            if table == OF_THE_INDEX[0] or table.startswith(OF_THE_INDEX[1:]):
                continue
            cursor.execute(f"PRAGMA table_info({connection.ops.quote_name(table)})")
            for _, name, kind, *_ in cursor.fetchall():
                if not kind.lower().startswith(NO_TEXT_ON_SQLITE):
                    yield table, name


def of_the_models() -> Iterator[tuple[str, str]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, TEXTS) and field.column:
                yield model._meta.db_table, field.column


def covered() -> set[tuple[str, str]]:
    return {
        (table, column)
        for eraser in erasure.registered()
        for table, columns in eraser.covers.items()
        for column in columns
    }


def declared() -> set[tuple[str, str]]:
    return {(table, column) for table, columns in FREE.items() for column in columns}


def test_every_text_column_is_erased_or_declared_free_of_people_s_data() -> None:
    known = covered() | declared()
    missing = sorted({*catalog(), *of_the_models()} - known)
    named = ", ".join(f"{table}.{column}" for table, column in missing)
    assert not missing, (
        f"No eraser looks through {named}. Add the column to an eraser (its `columns` or `covers`), or say in "
        "openwop_console/text_columns.py why it never holds a person's data."
    )


def test_nothing_is_declared_free_that_is_not_there_or_that_an_eraser_covers() -> None:
    there = {*catalog(), *of_the_models()}
    elsewhere = {("memory_memoryentry", "words"), ("memory_searchword", "word")}  # of one engine alone
    assert not declared() - there - elsewhere
    assert not declared() & covered()
    assert not covered() - there - elsewhere
    assert all(reason.strip() for columns in FREE.values() for reason in columns.values())
