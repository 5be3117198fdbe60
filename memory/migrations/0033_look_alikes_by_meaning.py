"""A pair says whether its entries are alike in their words or in their meaning."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0032_statistics_of_growing_tables")]
    operations = [
        migrations.AddField(
            model_name="lookalike",
            name="by_meaning",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
