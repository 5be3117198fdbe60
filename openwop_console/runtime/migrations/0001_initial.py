import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    # It replaces these; a database that has them all is taken as it is.
    replaces = [
        ("runtime", "0001_steps"),
        ("runtime", "0002_steps_branch_and_retry"),
    ]

    dependencies = [
        ('host', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Step',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('run_id', models.UUIDField()),
                ('node_id', models.CharField(max_length=256)),
                ('state', models.CharField(choices=[('started', 'Started'), ('sleeping', 'Sleeping'), ('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed'), ('skipped', 'Skipped')], max_length=8)),
                ('attempt', models.PositiveSmallIntegerField(default=1)),
                ('outputs', models.JSONField(default=dict)),
                ('variables', models.JSONField(default=dict)),
                ('error', models.JSONField(null=True)),
                ('started_at', models.DateTimeField()),
                ('wake_at', models.DateTimeField(null=True)),
                ('deadline_at', models.DateTimeField(null=True)),
                ('on_record', models.BooleanField(default=False)),
                ('run', models.ForeignObject(from_fields=('tenant_id', 'run_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'run_id', 'node_id'), name='a_node_of_a_run_is_one_step'), memory.host.models.base.TenantFK(column='run_id', name='a_step_belongs_to_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run')],
            },
        ),
    ]
