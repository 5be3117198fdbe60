"""Migration operations that make the database protect rows, by triggers on both engines.

Events, audit records and the bytes of archives are proof: no code of this host may change them, by mistake or not.

``keep_forever("host_runevent")`` is such an operation, and reversible.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORBIDDEN = ("UPDATE", "DELETE")


def keep_forever(table: str) -> migrations.RunPython:
    """Forbid UPDATE, DELETE and, on PostgreSQL, TRUNCATE of ``table``."""

    def forbid(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for statement in _statements(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    def allow(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for statement in _reverse(table, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    return migrations.RunPython(forbid, allow)


def allow_changes(table: str) -> migrations.RunPython:
    """End ``keep_forever``, for a weaker protection in its place."""
    kept = keep_forever(table)
    assert kept.reverse_code
    return migrations.RunPython(kept.reverse_code, kept.code)


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


def keep_bytes(table: str, columns: tuple[str, ...], *, unless: str) -> migrations.RunPython:
    """Forbid deleting rows of ``table``, and changing ``columns`` except where ``unless`` holds.

    ``unless`` is a condition over NEW in SQL that both engines accept.
    """
    changed = " OR ".join(f"NEW.{column} IS {{distinct}} OLD.{column}" for column in columns)
    name, message = f"{table}_keeps_its_bytes", f"the bytes of {table} are kept"

    def forbid(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        for statement in _byte_statements(table, name, message, changed, unless, schema_editor.connection.vendor):
            schema_editor.execute(statement, params=None)

    def allow(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        sqlite = schema_editor.connection.vendor == "sqlite"
        for trigger in (name, f"{name}_rows", *(() if sqlite else (f"{name}_table",))):
            schema_editor.execute(f"DROP TRIGGER {trigger}" + ("" if sqlite else f" ON {table}"), params=None)
        if not sqlite:
            schema_editor.execute(f"DROP FUNCTION {name}_refuses()", params=None)

    return migrations.RunPython(forbid, allow)


def _byte_statements(table: str, name: str, message: str, changed: str, unless: str, vendor: str) -> list[str]:
    if vendor == "sqlite":
        raising, condition = f"BEGIN SELECT RAISE(ABORT, '{message}'); END", changed.format(distinct="NOT")
        return [
            f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} WHEN ({condition}) AND NOT ({unless}) {raising}",
            f"CREATE TRIGGER {name}_rows BEFORE DELETE ON {table} {raising}",
        ]
    body = f"BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = 'restrict_violation'; END"
    condition = changed.format(distinct="DISTINCT FROM")
    calls = f"FOR EACH ROW {{when}} EXECUTE FUNCTION {name}_refuses()"
    when = f"WHEN (({condition}) AND NOT ({unless}))"
    return [
        f"CREATE FUNCTION {name}_refuses() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE TRIGGER {name} BEFORE UPDATE ON {table} {calls.format(when=when)}",
        f"CREATE TRIGGER {name}_rows BEFORE DELETE ON {table} {calls.format(when='')}",
        f"CREATE TRIGGER {name}_table BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {name}_refuses()",
    ]
