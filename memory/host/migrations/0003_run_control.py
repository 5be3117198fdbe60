

import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0002_log_and_audit_are_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='interrupt',
            name='outcome',
            field=models.CharField(blank=True, default='', max_length=16),
        ),
        migrations.AddField(
            model_name='interrupt',
            name='policy',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='interrupt',
            name='timeout_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='cancelled_by',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='run',
            name='deadline_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='draining',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='run',
            name='executions',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='run',
            name='fork_mode',
            field=models.CharField(blank=True, choices=[('replay', 'Replay'), ('branch', 'Branch')], default='', max_length=8),
        ),
        migrations.AddField(
            model_name='run',
            name='from_seq',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='inherits_until',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='paused_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='scope_id',
            field=models.CharField(blank=True, default='', max_length=256),
        ),
        migrations.AddField(
            model_name='run',
            name='source_run',
            field=models.ForeignObject(from_fields=('tenant_id', 'source_run_id'), null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id')),
        ),
        migrations.AddField(
            model_name='run',
            name='source_run_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='workspace',
            field=models.JSONField(default=list),
        ),
        migrations.AddIndex(
            model_name='interrupt',
            index=models.Index(condition=models.Q(('resolved_at__isnull', True), ('timeout_at__isnull', False)), fields=['tenant', 'timeout_at'], name='host_interrupt_timeout'),
        ),
        migrations.AddIndex(
            model_name='interrupt',
            index=models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['tenant', 'id'], name='host_interrupt_open'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(models.Q(('scope_id', ''), _negated=True), ('completed_at__isnull', True)), fields=['tenant', 'scope_id'], name='host_run_active_scope'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('source_run_id__isnull', False)), fields=['tenant', 'source_run_id', 'id'], name='host_run_source'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=memory.host.models.base.TenantFK(column='source_run_id', name='a_fork_comes_from_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('fork_mode', ''), ('from_seq__isnull', True), ('source_run_id__isnull', True)), models.Q(models.Q(('fork_mode', ''), _negated=True), ('from_seq__isnull', False), ('source_run_id__isnull', False)), _connector='OR'), name='a_fork_says_what_it_comes_from'),
        ),
        migrations.CreateModel(
            name='InterruptVote',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('interrupt_id', models.UUIDField()),
                ('voter', models.CharField(max_length=128)),
                ('action', models.CharField(max_length=16)),
                ('at', models.DateTimeField()),
                ('interrupt', models.ForeignObject(from_fields=('tenant_id', 'interrupt_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.interrupt', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'interrupt_id', 'voter'), name='a_voter_has_one_voice'), memory.host.models.base.TenantFK(column='interrupt_id', name='a_voice_is_raised_at_an_interrupt_of_its_tenant', on_delete='NO ACTION', to='host_interrupt')],
            },
        ),
    ]
