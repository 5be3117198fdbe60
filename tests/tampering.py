"""What somebody with the database's own rights could do to history: the triggers off, and rows changed behind them."""

from typing import Any

from django.db import connection


def tamper(statement: str, *parameters: Any, table: str = "host_auditrecord") -> None:
    """``statement`` is carried out on ``table`` although its rows are kept forever."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for kept in ("rows_update", "rows_delete", "bytes"):
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_keeps_its_{kept}")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(statement, parameters)
