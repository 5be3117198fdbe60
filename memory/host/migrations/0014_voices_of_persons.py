from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0013_operators_without_a_tenant'),
    ]

    operations = [
        migrations.AddField(
            model_name='interruptvote',
            name='principal',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
    ]
