from importlib import import_module

from django.db import migrations

fill = import_module("memory.migrations.0015_encoded_forms").fill


class Migration(migrations.Migration):
    """A subject is found in every depth of an encoding and in short lines of base64: the hidden forms are made anew."""

    dependencies = (("memory", "0019_looks_of_forget_requests"),)
    operations = (migrations.RunPython(fill, migrations.RunPython.noop),)
