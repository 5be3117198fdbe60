from django.db import migrations

from memory.host.immutability import keep_forever


class Migration(migrations.Migration):
    """What remains of a removed entry remains."""

    dependencies = (("memory", "0001_ledger"),)
    operations = (keep_forever("memory_tombstone"),)
