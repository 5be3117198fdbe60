from django.db import migrations

from memory.host.immutability import keep_forever


class Migration(migrations.Migration):
    """A checkpoint of the audit chain can be neither changed nor deleted, in the database itself."""

    dependencies = (("host", "0006_checkpoints"),)
    operations = (keep_forever("host_auditcheckpoint"),)
