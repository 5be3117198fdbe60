

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0003_run_control'),
        ('memory', '0002_tombstones_are_kept'),
    ]

    operations = [
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('changed_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='WorkspaceFile',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('path', models.CharField(max_length=256)),
                ('version', models.PositiveIntegerField()),
                ('current', models.BooleanField(default=True)),
                ('content', models.TextField()),
                ('content_type', models.CharField(default='text/markdown', max_length=128)),
                ('etag', models.CharField(max_length=64)),
                ('size', models.PositiveIntegerField()),
                ('updated_at', models.DateTimeField()),
                ('updated_by', models.CharField(max_length=64)),
                ('run_id', models.UUIDField(null=True)),
                ('run', models.ForeignObject(from_fields=('tenant_id', 'run_id'), null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'path', 'version'), name='a_version_of_a_file_is_written_once'), models.UniqueConstraint(condition=models.Q(('current', True)), fields=('tenant', 'path'), name='one_version_of_a_file_is_current'), memory.host.models.base.TenantFK(column='run_id', name='a_version_was_written_by_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run')],
            },
        ),
    ]
