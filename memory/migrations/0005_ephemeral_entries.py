

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0004_kept_reads'),
    ]

    operations = [
        migrations.AddField(
            model_name='memoryentry',
            name='ephemeral',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='memoryentry',
            index=models.Index(condition=models.Q(('ephemeral', True)), fields=['tenant', 'id'], name='memory_entry_ephemeral'),
        ),
    ]
