"""What a key writes without saying for which agent or run stands on a run of its own."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0020_unfinished_runs'),
        ('memory', '0036_most_alike_first'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='externalrun',
            name='a_run_elsewhere_is_open_once',
        ),
        migrations.AddField(
            model_name='externalrun',
            name='principal',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddConstraint(
            model_name='externalrun',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_by', '')), fields=('tenant', 'agent_id', 'system', 'ref', 'by_thread', 'principal'), name='a_run_elsewhere_is_open_once'),
        ),
    ]
