from django.db import migrations, models
from django.db.models import F


def keep_each_voter_a_person(apps, schema_editor):
    """No key belonged to anybody before, so each login and key that voted was a person of its own."""
    apps.get_model('proposals', 'Vote').objects.update(person=F('principal'))


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0014_voices_of_persons'),
        ('proposals', '0004_comments_and_policies'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='vote',
            name='a_principal_votes_once_a_gate',
        ),
        migrations.AddField(
            model_name='vote',
            name='person',
            field=models.CharField(default='', max_length=64),
            preserve_default=False,
        ),
        migrations.RunPython(keep_each_voter_a_person, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(fields=('tenant', 'gate_id', 'person'), name='a_person_votes_once_a_gate'),
        ),
    ]
