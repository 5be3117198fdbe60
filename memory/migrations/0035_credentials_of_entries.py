"""Which key or person wrote an entry, of those on record as the one who started the run that wrote it."""

from typing import Any

from django.db import migrations, models

COLUMN = "ALTER TABLE memory_memoryentry ADD COLUMN principal varchar(64) NOT NULL DEFAULT ''"
# The logs of OpenIntent were opened by the host, and a run elsewhere by the first of the keys that wrote to it.
KNOWN = """
    UPDATE memory_memoryentry SET principal = run.principal FROM host_run AS run
    WHERE run.tenant_id = memory_memoryentry.tenant_id AND run.id = memory_memoryentry.run_id
    AND run.workflow_id NOT IN ('openintent-agent', 'openintent-intent') AND NOT run.external
"""


def _fill(_: Any, schema_editor: Any) -> None:
    """Without the triggers that count entries by the day: what they count does not change."""
    is_postgres = schema_editor.connection.vendor == "postgresql"
    if is_postgres:
        schema_editor.execute("ALTER TABLE memory_memoryentry DISABLE TRIGGER USER")
    schema_editor.execute(KNOWN, params=None)
    if is_postgres:
        schema_editor.execute("ALTER TABLE memory_memoryentry ENABLE TRIGGER USER")


class Migration(migrations.Migration):
    dependencies = [("host", "0018_refused_audit_records"), ("memory", "0034_words_of_64_characters")]
    operations = [
        # By hand: Django would make the table of SQLite anew, without its triggers and its keys of two columns.
        migrations.RunSQL(
            COLUMN,
            "ALTER TABLE memory_memoryentry DROP COLUMN principal",
            state_operations=[
                migrations.AddField(
                    "memoryentry", "principal", models.CharField(blank=True, db_default="", default="", max_length=64)
                )
            ],
        ),
        migrations.RunPython(_fill, migrations.RunPython.noop),
        migrations.AddIndex(
            "memoryentry", models.Index(fields=["tenant", "principal", "id"], name="memory_entry_principal")
        ),
    ]
