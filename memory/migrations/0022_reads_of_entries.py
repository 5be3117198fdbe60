"""Which entries each node of each run was served, from what is kept of their reads."""

import json
from datetime import UTC, datetime

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


CHUNK = 500


def fill(apps, schema_editor):
    """Kept reads say it already, by the digests of the texts. What was forgotten since is not known any more."""
    read, content, entry = (apps.get_model("memory", name) for name in ("KeptRead", "KeptContent", "EntryRead"))
    for tenant_id in apps.get_model("host", "Tenant").objects.values_list("pk", flat=True):
        of_tenant, after = read.objects.filter(tenant_id=tenant_id).order_by("id"), None
        while rows := list((of_tenant.filter(id__gt=after) if after else of_tenant)[:CHUNK]):
            after = rows[-1].id
            for row in rows:
                entry.objects.bulk_create(_entries_of(row, content, entry), ignore_conflicts=True)
    if schema_editor.connection.vendor == "postgresql":  # which alters no table whose rows wait for their checks
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def _entries_of(row, content, entry):
    at = datetime.fromtimestamp((row.id.int >> 80) / 1000, UTC)
    texts = {}
    for start in range(0, len(row.contents), CHUNK):
        kept = content.objects.filter(tenant_id=row.tenant_id, sha256__in=row.contents[start : start + CHUNK])
        texts |= dict(kept.exclude(text=None).values_list("sha256", "text"))
    served = dict.fromkeys(str(json.loads(texts[each]).get("id", "")) for each in row.contents if each in texts)
    found = (memory.host.ids.parse("mem", each) for each in served)
    own = {"tenant_id": row.tenant_id, "run_id": row.run_id, "node_id": row.node_id, "read_at": at}
    return [entry(entry_id=each, **own) for each in found if each]


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0011_reasons_beside_the_audit'),
        ('memory', '0017_exported_files'),
    ]

    operations = [
        migrations.CreateModel(
            name='EntryRead',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('entry_id', models.UUIDField()),
                ('run_id', models.UUIDField()),
                ('node_id', models.CharField(max_length=256)),
                ('read_at', models.DateTimeField()),
                ('run', models.ForeignObject(from_fields=('tenant_id', 'run_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'entry_id', 'id'], name='memory_entryread_entry')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'run_id', 'node_id', 'entry_id'), name='a_node_reads_an_entry_once'), memory.host.models.base.TenantFK(column='run_id', name='a_read_entry_is_of_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run')],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
