

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0004_kept_reads'),
    ]

    operations = [
        migrations.AddField(
            model_name='memoryentry',
            name='ephemeral',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AlterField(
            model_name='tombstone',
            name='reason',
            field=models.CharField(choices=[('forgotten', 'forgotten'), ('expired', 'expired'), ('ephemeral', 'ephemeral')], max_length=16),
        ),
        migrations.AddIndex(
            model_name='memoryentry',
            index=models.Index(condition=models.Q(('ephemeral', ''), _negated=True), fields=['tenant', 'ephemeral', 'id'], name='memory_entry_ephemeral'),
        ),
    ]
