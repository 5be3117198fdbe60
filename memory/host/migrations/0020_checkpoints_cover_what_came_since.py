import hashlib
from importlib import import_module
from typing import Any
from uuid import UUID

import rfc8785
from django.db import migrations

from memory.host import audit, signing
from memory.host.checkpoints import Tree
from memory.host.immutability import once_unkept

put_on_record = import_module("memory.host.migrations.0016_checkpoints_signed_over_their_root").put_on_record


def cover_what_came_since(apps: Any, schema_editor: Any) -> None:
    """Every checkpoint that holds over the whole chain is signed over the records since the one before; on record.

    One that does not hold, or behind a record that is missing, stays as it is, and does not fit.
    """
    rows = apps.get_model("host", "AuditCheckpoint").objects
    for tenant_id in rows.order_by().values_list("tenant_id", flat=True).distinct():
        found = {row.at_seq: row for row in rows.filter(tenant_id=tenant_id).defer("frontier")}
        count = 0
        for row, root in roots(apps, tenant_id, found):
            made = signing.sign_bytes(signing.CHECKPOINTS, bytes.fromhex(root))
            rows.filter(tenant_id=tenant_id, id=row.id).update(
                merkle_root=root, signature=made.text, key_id=made.key_id
            )
            count += 1
        if count:
            put_on_record(apps, tenant_id, {"count": count, "covers": "(previous atSequence, atSequence]"})


def roots(apps: Any, tenant_id: UUID, found: dict[int, Any]) -> list[tuple[Any, str]]:
    """The checkpoints whose signed root (RFC 6962, from the first record on) is that of the records, with the new root."""
    whole: list[bytes] = []
    tree, fitting = Tree(), []
    records = apps.get_model("host", "AuditRecord").objects.filter(tenant_id=tenant_id, seq__lte=max(found))
    for number, record in enumerate(records.order_by("seq").iterator(chunk_size=1000)):
        try:
            form = rfc8785.dumps(audit.form_of(record))
        except (ValueError, RecursionError):
            break
        if record.seq != number:
            break
        node, size = hashlib.sha256(b"\x00" + form).digest(), number
        while size & 1:
            node, size = hashlib.sha256(b"\x01" + whole.pop() + node).digest(), size >> 1
        whole.append(node)
        tree.add(hashlib.sha256(form).hexdigest())
        if row := found.get(number):
            if holds(row, whole):
                fitting.append((row, tree.root()))
            tree = Tree()
    return fitting


def holds(row: Any, whole: list[bytes]) -> bool:
    *others, root = whole
    for left in reversed(others):
        root = hashlib.sha256(b"\x01" + left + root).digest()
    return root.hex() == row.merkle_root and signing.verifies_bytes(
        signing.CHECKPOINTS, root, row.signature, row.key_id
    )


class Migration(migrations.Migration):
    """A checkpoint covers the records since the one before it (RFC 0218 A); older ones are signed again, once."""

    dependencies = (("host", "0019_artifacts_can_be_disabled"),)
    operations = (
        once_unkept("host_auditcheckpoint", cover_what_came_since),
        migrations.RemoveField("auditcheckpoint", "frontier"),
    )
