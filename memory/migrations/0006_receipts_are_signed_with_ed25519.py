from django.db import migrations, models


class Migration(migrations.Migration):
    """The signature of a receipt is longer: Ed25519 in base64."""

    dependencies = (("memory", "0005_ephemeral_entries"),)
    operations = (
        migrations.AlterField(
            model_name="forgetrequest",
            name="signature",
            field=models.CharField(blank=True, default="", max_length=128),
        ),
    )
