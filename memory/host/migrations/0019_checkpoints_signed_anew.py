"""A checkpoint is signed anew when the host's key has changed; what it states stays as it is."""

from django.db import migrations

from memory.host.immutability import allow_changes, keep_bytes


class Migration(migrations.Migration):
    dependencies = [("host", "0018_refused_audit_records")]
    operations = [
        allow_changes("host_auditcheckpoint"),
        keep_bytes(
            "host_auditcheckpoint", ("tenant_id", "id", "at_seq", "merkle_root", "created_at"), unless="1 = 0"
        ),
    ]
