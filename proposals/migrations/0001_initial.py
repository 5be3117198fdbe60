import django.db.models.deletion
import memory.host.ids
import memory.host.models.base
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    # It replaces these; a database that has them all is taken as it is.
    replaces = [
        ("proposals", "0001_proposals"),
        ("proposals", "0002_overrides"),
        ("proposals", "0003_gates_with_policies"),
        ("proposals", "0004_comments_and_policies"),
        ("proposals", "0005_votes_of_persons"),
    ]

    dependencies = [
        ('host', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Proposal',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('kind', models.CharField(choices=[('agent-pack', 'Agent Pack'), ('workflow-chain-pack', 'Workflow Chain Pack'), ('prompt-template', 'Prompt Template'), ('automation', 'Automation')], max_length=32)),
                ('purpose', models.CharField(choices=[('install', 'Install'), ('rollback', 'Rollback')], default='install', max_length=8)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('revised', 'Revised'), ('applied', 'Applied'), ('rejected', 'Rejected'), ('archived', 'Archived')], default='draft', max_length=8)),
                ('title', models.CharField(blank=True, default='', max_length=200)),
                ('rationale', models.TextField(blank=True, default='')),
                ('source_run_ids', models.JSONField(default=list)),
                ('synthesizer_model', models.CharField(blank=True, default='', max_length=128)),
                ('author', models.CharField(max_length=64)),
                ('agent_id', models.CharField(blank=True, default='', max_length=256)),
                ('last_reviser', models.CharField(max_length=64)),
                ('contributors', models.JSONField(default=list)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('duplicate_of', models.CharField(max_length=400, null=True)),
                ('approval_id', models.UUIDField(null=True)),
                ('installed_ref', models.CharField(max_length=400, null=True)),
                ('uninstalled_ref', models.CharField(blank=True, default='', max_length=400)),
                ('pattern', models.CharField(blank=True, default='', max_length=64)),
                ('evidence', models.JSONField(default=list)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('closed_by', models.CharField(blank=True, default='', max_length=64)),
                ('closed_at', models.DateTimeField(null=True)),
                ('closing_reason', models.CharField(blank=True, default='', max_length=500)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'state', 'id'], name='proposals_state'), models.Index(fields=['tenant', 'kind', 'id'], name='proposals_kind')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('installed_ref__isnull', False), ('state', 'applied')), models.Q(models.Q(('state', 'applied'), _negated=True), ('installed_ref__isnull', True)), _connector='OR'), name='an_applied_proposal_and_no_other_is_installed'), models.CheckConstraint(condition=models.Q(('approval_id__isnull', True), ('state', 'applied'), _connector='OR'), name='only_an_applied_proposal_names_its_approval'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state__in', ('draft', 'revised'))), models.Q(models.Q(('state__in', ('draft', 'revised')), _negated=True), ('closed_at__isnull', False)), _connector='OR'), name='a_proposal_out_of_review_says_since_when'), models.CheckConstraint(condition=models.Q(('revision__gte', 1)), name='a_proposal_has_a_first_revision'), models.CheckConstraint(condition=models.Q(('uninstalled_ref', ''), ('state', 'archived'), _connector='OR'), name='only_an_archived_proposal_was_uninstalled'), models.UniqueConstraint(condition=models.Q(('pattern', ''), _negated=True), fields=('tenant', 'pattern'), name='a_pattern_is_proposed_once')],
            },
        ),
        migrations.CreateModel(
            name='Gate',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('proposal_id', models.UUIDField()),
                ('revision', models.PositiveIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('run_id', models.UUIDField()),
                ('node_id', models.CharField(max_length=64)),
                ('quorum', models.PositiveSmallIntegerField(default=1)),
                ('required_scope', models.CharField(max_length=64)),
                ('policy_number', models.PositiveIntegerField(default=0)),
                ('eligible_roles', models.JSONField(default=list)),
                ('override_roles', models.JSONField(default=list)),
                ('override_bypasses_quorum', models.BooleanField(default=False)),
                ('expires_at', models.DateTimeField(null=True)),
                ('state', models.CharField(choices=[('open', 'Open'), ('granted', 'Granted'), ('rejected', 'Rejected'), ('changes-requested', 'Changes Requested'), ('expired', 'Expired'), ('void', 'Void'), ('cancelled', 'Cancelled')], default='open', max_length=17)),
                ('opened_by', models.CharField(max_length=64)),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('run', models.ForeignObject(from_fields=('tenant_id', 'run_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='host.run', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
                ('proposal', models.ForeignObject(from_fields=('tenant_id', 'proposal_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='proposals.proposal', to_fields=('tenant_id', 'id'))),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'proposal_id', 'id'], name='proposals_gate_proposal')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('tenant', 'proposal_id'), name='a_proposal_has_one_gate_under_way'), models.UniqueConstraint(fields=('tenant', 'run_id'), name='an_activation_run_has_one_gate'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state', 'open')), ('state', 'granted'), models.Q(('state__in', ('rejected', 'changes-requested', 'expired', 'void', 'cancelled')), ('closed_at__isnull', False)), _connector='OR'), name='a_gate_that_is_over_says_since_when'), models.CheckConstraint(condition=models.Q(('quorum__gte', 1)), name='a_gate_needs_somebody'), memory.host.models.base.TenantFK(column='proposal_id', name='a_gate_is_of_a_proposal_of_its_tenant', on_delete='NO ACTION', to='proposals_proposal'), memory.host.models.base.TenantFK(column='run_id', name='a_gate_is_asked_by_a_run_of_its_tenant', on_delete='NO ACTION', to='host_run')],
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
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
                ('proposal', models.ForeignObject(from_fields=('tenant_id', 'proposal_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='proposals.proposal', to_fields=('tenant_id', 'id'))),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'proposal_id', 'id'], name='proposals_comment_proposal')],
                'constraints': [memory.host.models.base.TenantFK(column='proposal_id', name='a_comment_is_on_a_proposal_of_its_tenant', on_delete='NO ACTION', to='proposals_proposal')],
            },
        ),
        migrations.CreateModel(
            name='Revision',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('proposal_id', models.UUIDField()),
                ('number', models.PositiveIntegerField()),
                ('title', models.CharField(blank=True, default='', max_length=200)),
                ('rationale', models.TextField(blank=True, default='')),
                ('text', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('canonical_sha256', models.CharField(max_length=64)),
                ('structure', models.CharField(blank=True, default='', max_length=64)),
                ('lines_added', models.PositiveIntegerField(default=0)),
                ('lines_removed', models.PositiveIntegerField(default=0)),
                ('revised_by', models.CharField(max_length=64)),
                ('note', models.CharField(blank=True, default='', max_length=500)),
                ('created_at', models.DateTimeField()),
                ('forgotten_at', models.DateTimeField(null=True)),
                ('proposal', models.ForeignObject(from_fields=('tenant_id', 'proposal_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='proposals.proposal', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'structure'], name='proposals_revision_structure')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'proposal_id', 'number'), name='a_revision_has_its_own_number'), memory.host.models.base.TenantFK(column='proposal_id', name='a_revision_is_of_a_proposal_of_its_tenant', on_delete='NO ACTION', to='proposals_proposal')],
            },
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('pk', models.CompositePrimaryKey('tenant_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=memory.host.ids.new_id, editable=False)),
                ('gate_id', models.UUIDField()),
                ('principal', models.CharField(max_length=64)),
                ('person', models.CharField(max_length=64)),
                ('decision', models.CharField(choices=[('granted', 'Granted'), ('rejected', 'Rejected'), ('changes-requested', 'Changes Requested')], max_length=17)),
                ('roles', models.JSONField(default=list)),
                ('revision', models.PositiveIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('reason', models.CharField(blank=True, default='', max_length=500)),
                ('overrides', models.BooleanField(default=False)),
                ('at', models.DateTimeField()),
                ('gate', models.ForeignObject(from_fields=('tenant_id', 'gate_id'), on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', serialize=False, to='proposals.gate', to_fields=('tenant_id', 'id'))),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='host.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'gate_id', 'person'), name='a_person_votes_once_a_gate'), models.CheckConstraint(condition=models.Q(('overrides', False), models.Q(('decision', 'granted'), models.Q(('reason', ''), _negated=True)), _connector='OR'), name='an_override_grants_and_says_why'), memory.host.models.base.TenantFK(column='gate_id', name='a_vote_is_cast_at_a_gate_of_its_tenant', on_delete='NO ACTION', to='proposals_gate')],
            },
        ),
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
