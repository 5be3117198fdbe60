from django.db import migrations

from memory.host.immutability import keep_bytes


class Migration(migrations.Migration):
    """An archive's bytes never change; a withdrawn one has none."""

    dependencies = (("memory", "0008_passes"),)
    operations = (
        keep_bytes("memory_archive", ("body", "sha256", "sources_sha256"), unless="NEW.state = 'withdrawn' AND length(NEW.body) = 0"),
    )
