"""The pairs that may be duplicates are offered in the order of their likeness."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0020_unfinished_runs'),
        ('memory', '0035_credentials_of_entries'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='lookalike',
            name='memory_lookalike_open',
        ),
        migrations.AddIndex(
            model_name='lookalike',
            index=models.Index(condition=models.Q(('decision', '')), fields=['tenant', 'percent', 'id'], name='memory_lookalike_open'),
        ),
    ]
