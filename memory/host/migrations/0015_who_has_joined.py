"""Memberships say who is or was an operator: of a person who is invited again, an invitation alone does not."""

from typing import Any

from django.db import migrations, models


def invited_only(apps: Any, schema_editor: Any) -> None:
    apps.get_model("host", "Membership").objects.exclude(invitation="").update(has_joined=False)


class Migration(migrations.Migration):
    dependencies = [("host", "0014_invitations_to_accept")]
    operations = [
        migrations.AddField(
            model_name="membership",
            name="has_joined",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.RunPython(invited_only, migrations.RunPython.noop),
    ]
