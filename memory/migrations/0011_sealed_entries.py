from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0010_full_text'),
    ]

    operations = [
        migrations.AddField(
            model_name='memoryentry',
            name='sealed',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='tombstone',
            name='reason',
            field=models.CharField(choices=[('forgotten', 'forgotten'), ('expired', 'expired'), ('ephemeral', 'ephemeral'), ('merged', 'merged'), ('superseded', 'superseded'), ('compacted', 'compacted'), ('deleted', 'deleted'), ('evicted', 'evicted'), ('archived', 'archived')], max_length=16),
        ),
    ]
