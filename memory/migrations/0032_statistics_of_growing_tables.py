"""On PostgreSQL the tables of the ledger are analyzed after one percent of their rows has changed (decision 183)."""

from typing import Any

from django.db import migrations

TABLES = ("memory_memoryentry", "memory_entryaddress", "memory_entrytag")
SETTINGS = {"autovacuum_analyze_scale_factor": 0.01, "autovacuum_analyze_threshold": 500}


def analyze_often(apps: Any, schema_editor: Any) -> None:
    _alter(schema_editor, f"SET ({', '.join(f'{name} = {value}' for name, value in SETTINGS.items())})")


def analyze_as_configured(apps: Any, schema_editor: Any) -> None:
    _alter(schema_editor, f"RESET ({', '.join(SETTINGS)})")


def _alter(schema_editor: Any, change: str) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table in TABLES:
            schema_editor.execute(f"ALTER TABLE {table} {change}")


class Migration(migrations.Migration):
    dependencies = [("memory", "0031_uploaded_imports")]
    operations = [migrations.RunPython(analyze_often, analyze_as_configured)]
