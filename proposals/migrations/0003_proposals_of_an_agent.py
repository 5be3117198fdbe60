"""The newest proposals of an agent, by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('proposals', '0002_comment_lines'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='proposal',
            index=models.Index(fields=['tenant', 'agent_id', 'id'], name='proposals_agent'),
        ),
    ]
