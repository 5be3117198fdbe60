from django.db import migrations

from memory.host.immutability import keep_forever


class Migration(migrations.Migration):
    """Events and audit records can be neither changed nor deleted, in the database itself."""

    dependencies = (("host", "0001_ground_floor"),)
    operations = (keep_forever("host_runevent"), keep_forever("host_auditrecord"))
