

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0003_workspace'),
    ]

    operations = [
        migrations.CreateModel(
            name='KeptContent',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('sha256', models.CharField(max_length=64)),
                ('text', models.TextField(null=True)),
                ('kept_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'sha256'), name='a_text_is_kept_once')],
            },
        ),
        migrations.CreateModel(
            name='KeptRead',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('run_id', models.UUIDField()),
                ('node_id', models.CharField(max_length=256)),
                ('ordinal', models.PositiveIntegerField()),
                ('request_sha256', models.CharField(max_length=64)),
                ('contents', models.JSONField(default=list)),
                ('run', models.ForeignObject(from_fields=('tenant_id', 'run_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'run_id', 'node_id', 'ordinal'), name='a_read_of_a_node_is_kept_once'), memory.host.models.base.TenantFK(column='run_id', name='a_read_belongs_to_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run')],
            },
        ),
    ]
