from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0006_receipts_are_signed_with_ed25519'),
    ]

    operations = [
        migrations.AddField(
            model_name='memoryentry',
            name='derived',
            field=models.CharField(blank=True, choices=[('merged', 'Merged'), ('distilled', 'Distilled'), ('compacted', 'Compacted')], db_default='', default='', max_length=9),
        ),
        migrations.AddField(
            model_name='memoryentry',
            name='protected',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='memoryentry',
            name='retired_kind',
            field=models.CharField(blank=True, choices=[('merged', 'Merged'), ('superseded', 'Superseded'), ('compacted', 'Compacted')], db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='pass',
            name='dry_run',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='pass',
            name='options',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name='pass',
            name='outcome',
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name='pass',
            name='stopping',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='pass',
            name='trigger',
            field=models.CharField(choices=[('host-managed', 'Host Managed'), ('scheduled', 'Scheduled'), ('on-demand', 'On Demand')], db_default='on-demand', default='on-demand', max_length=16),
        ),
        migrations.AlterField(
            model_name='pass',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('claimed', 'Claimed'), ('done', 'Done'), ('refused', 'Refused'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='waiting', max_length=9),
        ),
        migrations.AlterField(
            model_name='tombstone',
            name='reason',
            field=models.CharField(choices=[('forgotten', 'forgotten'), ('expired', 'expired'), ('ephemeral', 'ephemeral'), ('merged', 'merged'), ('superseded', 'superseded'), ('compacted', 'compacted')], max_length=16),
        ),
        migrations.AddIndex(
            model_name='memoryentry',
            index=models.Index(fields=['tenant', 'position'], name='memory_entry_position'),
        ),
        migrations.AddIndex(
            model_name='memoryentry',
            index=models.Index(condition=models.Q(('retired_kind', ''), _negated=True), fields=['tenant', 'retired_at', 'id'], name='memory_entry_merged_away'),
        ),
        migrations.AddIndex(
            model_name='pass',
            index=models.Index(fields=['tenant', 'kind', 'id'], name='memory_pass_kind'),
        ),
        migrations.AddIndex(
            model_name='pass',
            index=models.Index(fields=['tenant', 'memory_ref', 'id'], name='memory_pass_ref'),
        ),
    ]
