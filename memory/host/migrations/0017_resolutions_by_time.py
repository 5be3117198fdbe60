"""When a run resolved a secret last, by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0016_request_of_audit_records'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='secretresolution',
            name='host_resolution_secret',
        ),
        migrations.AddIndex(
            model_name='secretresolution',
            index=models.Index(fields=['tenant', 'secret_id', 'resolved_at'], name='host_resolution_of_secret'),
        ),
    ]
