from typing import Any

from django.db import migrations, models


def drop_timers_of_django_q2(apps: Any, schema_editor: Any) -> None:
    """They stood in django-q2's own table of schedules, which nothing reads any more."""
    apps.get_model("django_q", "Schedule").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("host", "0001_initial"),
        ("django_q", "0018_task_success_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="HostTimer",
            fields=[
                ("name", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("next_at", models.DateTimeField()),
            ],
            options={"abstract": False},
        ),
        migrations.RunPython(drop_timers_of_django_q2, migrations.RunPython.noop),
    ]
