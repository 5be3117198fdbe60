

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0004_idempotency'),
    ]

    operations = [
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('name', models.CharField(max_length=300)),
                ('kind', models.CharField(choices=[('cron', 'Cron'), ('once', 'Once')], max_length=4)),
                ('cron', models.CharField(blank=True, default='', max_length=120)),
                ('timezone', models.CharField(default='UTC', max_length=64)),
                ('at', models.DateTimeField(null=True)),
                ('missed', models.CharField(choices=[('skip', 'Skip'), ('fire-once', 'Fire Once')], default='fire-once', max_length=9)),
                ('workflow_id', models.CharField(max_length=128)),
                ('agent_id', models.CharField(blank=True, default='', max_length=256)),
                ('inputs', models.JSONField(default=dict)),
                ('principal', models.CharField(max_length=64)),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField()),
                ('next_at', models.DateTimeField(null=True)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('enabled', True), ('next_at__isnull', False)), fields=['tenant', 'next_at'], name='host_schedule_due')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='a_schedule_has_a_name_of_its_own')],
            },
        ),
        migrations.CreateModel(
            name='ScheduleTick',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('schedule_id', models.UUIDField()),
                ('tick_at', models.DateTimeField()),
                ('fired_at', models.DateTimeField()),
                ('run_id', models.UUIDField(null=True)),
                ('code', models.CharField(blank=True, default='', max_length=64)),
                ('missed', models.PositiveIntegerField(default=0)),
                ('schedule', models.ForeignObject(from_fields=('tenant_id', 'schedule_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.schedule', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'schedule_id', 'tick_at'), name='a_tick_fires_once'), memory.host.models.base.TenantFK(column='schedule_id', name='a_tick_belongs_to_a_schedule_of_its_tenant', on_delete='CASCADE', to='host_schedule')],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('name', models.CharField(max_length=128)),
                ('predicate', models.JSONField(default=dict)),
                ('interval_s', models.PositiveIntegerField()),
                ('workflow_id', models.CharField(blank=True, default='', max_length=128)),
                ('inputs', models.JSONField(default=dict)),
                ('principal', models.CharField(max_length=64)),
                ('enabled', models.BooleanField(default=True)),
                ('prior_state', models.JSONField(null=True)),
                ('observed_at', models.DateTimeField(null=True)),
                ('last_status', models.CharField(blank=True, default='', max_length=8)),
                ('last_at', models.DateTimeField(null=True)),
                ('last_run_id', models.UUIDField(null=True)),
                ('last_code', models.CharField(blank=True, default='', max_length=64)),
                ('next_at', models.DateTimeField(null=True)),
                ('evaluating_until', models.DateTimeField(null=True)),
                ('holder', models.CharField(blank=True, default='', max_length=100)),
                ('created_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('enabled', True), ('next_at__isnull', False)), fields=['tenant', 'next_at'], name='host_heartbeat_due')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='a_heartbeat_has_a_name_of_its_own')],
            },
        ),
    ]
