from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0008_parts_of_packs'),
        ('proposals', '0002_overrides'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='gate',
            name='a_gate_that_is_over_says_since_when',
        ),
        migrations.AddField(
            model_name='gate',
            name='eligible_roles',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='gate',
            name='expires_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='gate',
            name='override_bypasses_quorum',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='gate',
            name='override_roles',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='gate',
            name='policy_number',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='proposal',
            name='evidence',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='proposal',
            name='pattern',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='proposal',
            name='purpose',
            field=models.CharField(choices=[('install', 'Install'), ('rollback', 'Rollback')], default='install', max_length=8),
        ),
        migrations.AddField(
            model_name='proposal',
            name='uninstalled_ref',
            field=models.CharField(blank=True, default='', max_length=400),
        ),
        migrations.AddField(
            model_name='revision',
            name='lines_added',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='revision',
            name='lines_removed',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='revision',
            name='structure',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='vote',
            name='roles',
            field=models.JSONField(default=list),
        ),
        migrations.AlterField(
            model_name='gate',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('granted', 'Granted'), ('rejected', 'Rejected'), ('changes-requested', 'Changes Requested'), ('expired', 'Expired'), ('void', 'Void'), ('cancelled', 'Cancelled')], default='open', max_length=17),
        ),
        migrations.AlterField(
            model_name='vote',
            name='decision',
            field=models.CharField(choices=[('granted', 'Granted'), ('rejected', 'Rejected'), ('changes-requested', 'Changes Requested')], max_length=17),
        ),
        migrations.AddIndex(
            model_name='revision',
            index=models.Index(fields=['tenant', 'structure'], name='proposals_revision_structure'),
        ),
        migrations.AddConstraint(
            model_name='gate',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('state', 'open')), ('state', 'granted'), models.Q(('state__in', ('rejected', 'changes-requested', 'expired', 'void', 'cancelled')), ('closed_at__isnull', False)), _connector='OR'), name='a_gate_that_is_over_says_since_when'),
        ),
        migrations.AddConstraint(
            model_name='proposal',
            constraint=models.CheckConstraint(condition=models.Q(('uninstalled_ref', ''), ('state', 'archived'), _connector='OR'), name='only_an_archived_proposal_was_uninstalled'),
        ),
        migrations.AddConstraint(
            model_name='proposal',
            constraint=models.UniqueConstraint(condition=models.Q(('pattern', ''), _negated=True), fields=('tenant', 'pattern'), name='a_pattern_is_proposed_once'),
        ),
    ]
