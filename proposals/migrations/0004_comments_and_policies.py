import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('proposals', '0003_gates_with_policies'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApprovalPolicy',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('kind', models.CharField(choices=[('agent-pack', 'Agent Pack'), ('workflow-chain-pack', 'Workflow Chain Pack'), ('prompt-template', 'Prompt Template'), ('automation', 'Automation')], max_length=32)),
                ('number', models.PositiveIntegerField()),
                ('quorum', models.PositiveSmallIntegerField()),
                ('eligible_roles', models.JSONField(default=list)),
                ('override_roles', models.JSONField(default=list)),
                ('override_bypasses_quorum', models.BooleanField(default=False)),
                ('expires_s', models.PositiveIntegerField()),
                ('uninstall_on_archive', models.BooleanField(default=False)),
                ('asked_by', models.CharField(max_length=64)),
                ('confirmed_by', models.CharField(blank=True, default='', max_length=64)),
                ('reason', models.CharField(blank=True, default='', max_length=500)),
                ('at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'kind', 'number'), name='a_policy_version_has_its_own_number'), models.CheckConstraint(condition=models.Q(('quorum__gte', 1)), name='a_policy_asks_for_somebody')],
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('proposal_id', models.UUIDField()),
                ('revision', models.PositiveIntegerField()),
                ('author', models.CharField(max_length=64)),
                ('text', models.TextField()),
                ('at', models.DateTimeField()),
                ('proposal', models.ForeignObject(from_fields=('tenant_id', 'proposal_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='proposals.proposal', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'proposal_id', 'id'], name='proposals_comment_proposal')],
                'constraints': [memory.host.models.base.TenantFK(column='proposal_id', name='a_comment_is_on_a_proposal_of_its_tenant', on_delete='NO ACTION', to='proposals_proposal')],
            },
        ),
        migrations.CreateModel(
            name='PolicyChange',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('kind', models.CharField(choices=[('agent-pack', 'Agent Pack'), ('workflow-chain-pack', 'Workflow Chain Pack'), ('prompt-template', 'Prompt Template'), ('automation', 'Automation')], max_length=32)),
                ('based_on', models.PositiveIntegerField()),
                ('wanted', models.JSONField(default=dict)),
                ('reason', models.CharField(blank=True, default='', max_length=500)),
                ('asked_by', models.CharField(max_length=64)),
                ('asked_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('confirmed', 'Confirmed'), ('refused', 'Refused')], default='waiting', max_length=9)),
                ('decided_by', models.CharField(blank=True, default='', max_length=64)),
                ('decided_at', models.DateTimeField(null=True)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('tenant', 'kind'), name='a_kind_has_one_change_waiting'), models.CheckConstraint(condition=models.Q(models.Q(('decided_at__isnull', True), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('decided_at__isnull', False)), _connector='OR'), name='a_decided_change_says_since_when')],
            },
        ),
    ]
