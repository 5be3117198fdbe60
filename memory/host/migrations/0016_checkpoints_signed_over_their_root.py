from typing import Any
from uuid import UUID

from django.db import migrations
from django.utils import timezone

from memory.host import audit, checkpoints, signing
from memory.host.immutability import once_unkept

ACTION = "audit.checkpoints-signed-again"


def sign_again(apps: Any, schema_editor: Any) -> None:
    """Every checkpoint whose signature over its canonical JSON holds is signed over its root; the chain says so.

    One that does not hold stays as it is, and stays forged.
    """
    rows = apps.get_model("host", "AuditCheckpoint").objects
    counts: dict[UUID, int] = {}
    for row in rows.defer("frontier").order_by("tenant_id", "at_seq").iterator(chunk_size=500):
        if not signing.verifies(signing.CHECKPOINTS, checkpoints.statement(row), row.signature, row.key_id):
            continue
        made = signing.sign_bytes(signing.CHECKPOINTS, bytes.fromhex(row.merkle_root))
        rows.filter(tenant_id=row.tenant_id, id=row.id).update(signature=made.text, key_id=made.key_id)
        counts[row.tenant_id] = counts.get(row.tenant_id, 0) + 1
    for tenant_id, count in counts.items():
        put_on_record(apps, tenant_id, {"count": count, "signedOver": "merkleRoot"})


def put_on_record(apps: Any, tenant_id: UUID, details: dict[str, Any]) -> None:
    """The next record of the chain, written with the tables as they are at this migration."""
    chain = apps.get_model("host", "AuditChain").objects.select_for_update().get(tenant_id=tenant_id)
    record = apps.get_model("host", "AuditRecord")(
        tenant_id=tenant_id,
        seq=chain.next_seq,
        occurred_at=timezone.now(),
        actor="host",
        action=ACTION,
        details=details,
        prev_hash=chain.head_hash,
    )
    record.entry_hash = audit.hash_of(record)
    record.save(force_insert=True)
    chain.next_seq, chain.head_hash = record.seq + 1, record.entry_hash
    chain.save(update_fields=["next_seq", "head_hash"])


class Migration(migrations.Migration):
    """Checkpoints are signed over the 32 bytes of their root (RFC 0218); older ones are signed again, once."""

    dependencies = (("host", "0015_lists_of_runs_and_audit"),)
    operations = (once_unkept("host_auditcheckpoint", sign_again),)
