"""The runs that have not ended, for the list that asks for them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0019_checkpoints_signed_anew'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('completed_at__isnull', True), ('system', False)), fields=['tenant', 'created_at', 'id'], name='host_run_unfinished'),
        ),
    ]
