from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('host', '0012_memberships'),
    ]

    operations = [
        migrations.RemoveField(model_name='operator', name='is_active'),
        migrations.RemoveField(model_name='operator', name='tenant'),
    ]
