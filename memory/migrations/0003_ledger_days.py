from typing import Any

import django.db.models.deletion
from django.db import migrations, models

KEY = ("tenant_id", "day", "agent_id", "node_id")
NUMBERS = ("entries", "live", "timeless", "merged", "superseded", "compacted", "tokens", "bytes")
COLUMNS = ", ".join((*KEY, *NUMBERS))
# What changes no number does not count again.
COUNTED = (
    "tenant_id", "agent_id", "node_id", "created_at", "retired_at", "retired_kind", "expires_at", "tokens", "content",
)  # fmt: skip
ADD = "ON CONFLICT (tenant_id, day, agent_id, node_id) DO UPDATE SET " + ", ".join(
    f"{name} = memory_ledgerday.{name} + excluded.{name}" for name in NUMBERS
)


def key_of(row: str, day: str) -> str:
    return f"{row}tenant_id, {day.format(f'{row}created_at')}, {row}agent_id, {row}node_id"


def numbers_of(row: str, size: str) -> list[str]:
    """What one entry adds to each of ``NUMBERS``; ``row`` is its name with a point, or nothing."""
    flags = [
        f"{row}retired_at IS NULL",
        f"{row}retired_at IS NULL AND {row}expires_at IS NULL",
        *(f"{row}retired_kind = '{kind}'" for kind in ("merged", "superseded", "compacted")),
    ]
    cases = [f"CASE WHEN {flag} THEN 1 ELSE 0 END" for flag in flags]
    return ["1", *cases, f"{row}tokens", size.format(f"{row}content")]


# SQLite: a trigger for each row.
DAY_ON_SQLITE, SIZE_ON_SQLITE = "substr({}, 1, 10)", "length(CAST({} AS BLOB))"
MORE = (
    f"INSERT INTO memory_ledgerday ({COLUMNS}) VALUES ({key_of('NEW.', DAY_ON_SQLITE)}, "  # noqa: S608
    f"{', '.join(numbers_of('NEW.', SIZE_ON_SQLITE))}) {ADD}"
)
OLD_DAY = (
    f"tenant_id = OLD.tenant_id AND day = {DAY_ON_SQLITE.format('OLD.created_at')} "
    "AND agent_id = OLD.agent_id AND node_id = OLD.node_id"
)
LESS = (
    "UPDATE memory_ledgerday SET "  # noqa: S608
    + ", ".join(
        f"{name} = {name} - ({number})"
        for name, number in zip(NUMBERS, numbers_of("OLD.", SIZE_ON_SQLITE), strict=True)
    )
    + f" WHERE {OLD_DAY}; DELETE FROM memory_ledgerday WHERE {OLD_DAY} AND entries <= 0"  # noqa: S608
)
CHANGED = " OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in COUNTED)
ON_SQLITE = (
    f"CREATE TRIGGER memory_ledgerday_more AFTER INSERT ON memory_memoryentry BEGIN {MORE}; END",
    f"CREATE TRIGGER memory_ledgerday_less AFTER DELETE ON memory_memoryentry BEGIN {LESS}; END",
    (
        f"CREATE TRIGGER memory_ledgerday_moved AFTER UPDATE OF {', '.join(COUNTED)} ON memory_memoryentry "
        f"WHEN {CHANGED} BEGIN {MORE}; {LESS}; END"
    ),
)

# PostgreSQL: one for each statement, which adds what it changed, day by day in one order.
DAY_ON_POSTGRES, SIZE_ON_POSTGRES = "({} AT TIME ZONE 'UTC')::date", "octet_length({})"


def counted(rows: str, sign: str = "") -> str:
    sums = ", ".join(
        f"{sign}SUM({each}) AS {name}"
        for name, each in zip(NUMBERS, numbers_of("", SIZE_ON_POSTGRES), strict=True)
    )
    key = key_of("", DAY_ON_POSTGRES).replace("::date", "::date AS day")
    return f"SELECT {key}, {sums} FROM {rows} GROUP BY 1, 2, 3, 4"  # noqa: S608


def added_up(counts: str) -> str:
    return f"INSERT INTO memory_ledgerday ({COLUMNS}) {counts} ORDER BY 1, 2, 3, 4 {ADD}"


BOTH = (
    f"SELECT {', '.join(KEY)}, {', '.join(f'SUM({name})' for name in NUMBERS)} "  # noqa: S608
    f"FROM ({counted('added')} UNION ALL {counted('gone', '-')}) AS changes GROUP BY 1, 2, 3, 4 "
    f"HAVING {' OR '.join(f'SUM({name}) <> 0' for name in NUMBERS)}"
)
EMPTIED = (
    "DELETE FROM memory_ledgerday d USING (SELECT DISTINCT "  # noqa: S608
    f"{key_of('', DAY_ON_POSTGRES).replace('::date', '::date AS day')} FROM gone) AS o WHERE d.entries <= 0 "
    "AND d.tenant_id = o.tenant_id AND d.day = o.day AND d.agent_id = o.agent_id AND d.node_id = o.node_id"
)
PREFIX, CALL = "memory_ledgerday_", "FOR EACH STATEMENT EXECUTE FUNCTION "
NEW_ROWS, OLD_ROWS = "NEW TABLE AS added", "OLD TABLE AS gone"
FUNCTIONS = {
    "more": ("INSERT", NEW_ROWS, added_up(counted("added"))),
    "less": ("DELETE", OLD_ROWS, f"{added_up(counted('gone', '-'))}; {EMPTIED}"),
    "moved": ("UPDATE", f"{NEW_ROWS} {OLD_ROWS}", f"{added_up(BOTH)}; {EMPTIED}"),
}
ON_POSTGRES = tuple(
    statement
    for name, (change, tables, body) in FUNCTIONS.items()
    for statement in (
        f"CREATE FUNCTION {PREFIX}{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NULL; END $$",
        f"CREATE TRIGGER {PREFIX}{name} AFTER {change} ON memory_memoryentry REFERENCING {tables} {CALL}{PREFIX}{name}()",
    )
)

def count(apps: Any, schema_editor: Any) -> None:
    """What is there is counted once; from then on each change counts itself."""
    sqlite = schema_editor.connection.vendor == "sqlite"
    day, size = (DAY_ON_SQLITE, SIZE_ON_SQLITE) if sqlite else (DAY_ON_POSTGRES, SIZE_ON_POSTGRES)
    sums = ", ".join(f"SUM({each})" for each in numbers_of("", size))
    statement = (
        f"INSERT INTO memory_ledgerday ({COLUMNS}) SELECT {key_of('', day)}, {sums} "  # noqa: S608
        "FROM memory_memoryentry GROUP BY 1, 2, 3, 4"
    )
    for each in (statement, *(ON_SQLITE if sqlite else ON_POSTGRES)):
        schema_editor.execute(each, params=None)


def drop(apps: Any, schema_editor: Any) -> None:
    sqlite = schema_editor.connection.vendor == "sqlite"
    for name in FUNCTIONS:
        if sqlite:
            schema_editor.execute(f"DROP TRIGGER memory_ledgerday_{name}", params=None)
        else:
            schema_editor.execute(f"DROP FUNCTION memory_ledgerday_{name}() CASCADE", params=None)


class Migration(migrations.Migration):
    dependencies = [
        ("host", "0002_host_timer"),
        ("memory", "0002_memory_policy_target_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="LedgerDay",
            fields=[
                ("pk", models.CompositePrimaryKey("tenant_id", "day", "agent_id", "node_id", blank=True, editable=False, primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("agent_id", models.CharField(max_length=256)),
                ("node_id", models.CharField(max_length=256)),
                ("entries", models.BigIntegerField()),
                ("live", models.BigIntegerField()),
                ("timeless", models.BigIntegerField()),
                ("merged", models.BigIntegerField()),
                ("superseded", models.BigIntegerField()),
                ("compacted", models.BigIntegerField()),
                ("tokens", models.BigIntegerField()),
                ("bytes", models.BigIntegerField()),
                ("tenant", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="host.tenant")),
            ],
            options={"abstract": False},
        ),
        migrations.AlterField(
            model_name="entrytag",
            name="entry",
            field=models.ForeignObject(from_fields=("tenant_id", "id"), on_delete=django.db.models.deletion.DO_NOTHING, related_name="tagged", serialize=False, to="memory.memoryentry", to_fields=("tenant_id", "id")),
        ),
        migrations.AddIndex(
            model_name="memoryentry",
            index=models.Index(condition=models.Q(("retired_at__isnull", False)), fields=["tenant", "id"], name="memory_entry_retired"),
        ),
        migrations.RunPython(count, drop),
    ]
