"""Files that exports of the ledger make, in parts."""

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0008_audit_of_actor_and_target'),
        ('memory', '0015_addresses_by_their_key'),
    ]

    operations = [
        migrations.CreateModel(
            name='ExportPart',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('pass_id', models.UUIDField()),
                ('number', models.PositiveIntegerField()),
                ('body', models.BinaryField()),
                ('expires_at', models.DateTimeField()),
                ('background', models.ForeignObject(from_fields=('tenant_id', 'pass_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='memory.pass', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'expires_at'], name='memory_export_expires')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'pass_id', 'number'), name='a_part_of_an_export_is_there_once'), memory.host.models.base.TenantFK(column='pass_id', name='a_part_is_of_an_export_of_its_tenant', on_delete='CASCADE', to='memory_pass')],
            },
        ),
    ]
