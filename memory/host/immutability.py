"""Rows that the database itself keeps from being changed or removed: triggers on both engines (design.md 2).

For migrations: ``keep_forever("host_runevent")`` is an operation, reversible.
"""

from typing import Any

from django.db import migrations

FORBIDDEN = ("UPDATE", "DELETE")


def keep_forever(table: str) -> migrations.RunPython:
    """From this migration on, rows of ``table`` are neither updated, deleted nor truncated, by anybody."""

    def forbid(apps: Any, schema_editor: Any) -> None:
        for statement in _statements(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    def allow(apps: Any, schema_editor: Any) -> None:
        for statement in _reverse(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    return migrations.RunPython(forbid, allow)


def _name(table: str, action: str) -> str:
    return f"{table}_keeps_its_rows_{action.lower()}"


def _statements(table: str, vendor: str) -> list[str]:
    message = f"rows of {table} are kept forever"
    if vendor == "sqlite":
        raising = f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        return [f"CREATE TRIGGER {_name(table, action)} BEFORE {action} ON {table} {raising}" for action in FORBIDDEN]
    function = f"{table}_refuses"
    body = f"BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = 'restrict_violation'; END"
    return [
        f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        *(
            f"CREATE TRIGGER {_name(table, action)} BEFORE {action} ON {table} FOR EACH {each} "
            f"EXECUTE FUNCTION {function}()"
            for action, each in (*((action, "ROW") for action in FORBIDDEN), ("TRUNCATE", "STATEMENT"))
        ),
    ]


def _reverse(table: str, vendor: str) -> list[str]:
    if vendor == "sqlite":
        return [f"DROP TRIGGER {_name(table, action)}" for action in FORBIDDEN]
    drops = [f"DROP TRIGGER {_name(table, action)} ON {table}" for action in (*FORBIDDEN, "TRUNCATE")]
    return [*drops, f"DROP FUNCTION {table}_refuses()"]
