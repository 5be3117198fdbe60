"""A firing names the entry or the run that made its condition true."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0037_whose_runs_elsewhere'),
    ]

    operations = [
        migrations.AddField(
            model_name='firing',
            name='cause_entry_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name='firing',
            name='cause_run_id',
            field=models.UUIDField(null=True),
        ),
    ]
