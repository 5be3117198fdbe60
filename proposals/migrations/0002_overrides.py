from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """A vote may be an override; it grants, and says why."""

    dependencies = (("proposals", "0001_proposals"),)
    operations = (
        migrations.AddField(
            model_name="vote",
            name="overrides",
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.CheckConstraint(
                condition=Q(overrides=False) | (Q(decision="granted") & ~Q(reason="")),
                name="an_override_grants_and_says_why",
            ),
        ),
    )
