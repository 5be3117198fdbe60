from typing import Any

from django.db import migrations, models

from memory.matching import hidden_form

CHUNK = 1000
PAGE = (
    "SELECT e.tenant_id, e.id, e.content, e.tags, e.subject, e.memory_ref, COALESCE(a.namespace, ''), "
    "COALESCE(a.key, '') FROM memory_memoryentry e LEFT JOIN memory_entryaddress a "
    "ON a.tenant_id = e.tenant_id AND a.id = e.id WHERE (e.tenant_id, e.id) > (%s, %s) "
    "ORDER BY e.tenant_id, e.id LIMIT %s"
)
SET = "UPDATE memory_memoryentry SET hidden_text = %s WHERE tenant_id = %s AND id = %s"


def fill(apps: Any, schema_editor: Any) -> None:
    """What the entries that are there say beyond their search form; most have nothing."""
    connection = schema_editor.connection
    first = "00000000-0000-0000-0000-000000000000"
    after: tuple[Any, Any] = (first, first) if connection.vendor == "postgresql" else ("", "")
    with connection.cursor() as cursor:
        while True:
            cursor.execute(PAGE, [*after, CHUNK])
            rows = cursor.fetchall()
            if not rows:
                return
            found = ((tenant_id, entry_id, hidden_form("\n".join(map(str, texts)))) for tenant_id, entry_id, *texts in rows)
            cursor.executemany(SET, [(hidden, tenant_id, entry_id) for tenant_id, entry_id, hidden in found if hidden])
            after = rows[-1][:2]


class Migration(migrations.Migration):
    """A subject is found in every form in which a text may be written."""

    dependencies = (("memory", "0014_links_begin_indexes"),)

    operations = (
        migrations.AddField(
            model_name="memoryentry",
            name="hidden_text",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    )
