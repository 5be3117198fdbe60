"""Values that are kept encrypted: opened, and sealed anew under a fresh key of the vault (RFC-0015 9.2)."""

import json

from memory.host import sql, vault
from memory.host.json_types import JSONObject
from memory.host.models import VaultKey
from memory.host.sealing import SealTampered, VaultLocked
from memory.host.vault import Resealed
from memory.ledger.rows import WRITER
from memory.models.address import EntryAddress


def value_of(row: EntryAddress) -> JSONObject:
    """The value of the entry, opened when it is sealed; refused when the seal does not open."""
    value = value_if_whole(row)
    if value is None:
        raise vault.SealBroken
    return value


def value_if_whole(row: EntryAddress) -> JSONObject | None:
    """The same, for a list, which one broken seal does not take from its readers: None then."""
    text = row.entry.content
    if row.is_sealed:
        if row.sealed is None or row.vault_key is None:
            return None
        try:
            text = vault.open_value(row.vault_key, row.tenant_id, row.id, bytes(row.sealed))
        except VaultLocked:
            return None
    value: JSONObject = json.loads(text)
    return value


def reseal(fresh: VaultKey) -> Resealed:
    """Every sealed value is under the fresh key of a rotation, but for those that were tampered with: they stay."""
    rows = EntryAddress.objects.exclude(vault_key=None).exclude(vault_key=fresh).select_for_update(of=("self",))
    rows, count, broken = rows.select_related("vault_key").order_by("id"), 0, []
    found = list(rows[: sql.CHUNK])
    while found:
        for row in found:
            assert row.vault_key_id is not None
            assert row.vault_key is not None
            assert row.sealed is not None
            try:
                text = vault.open_value(row.vault_key, row.tenant_id, row.id, bytes(row.sealed))
            except SealTampered:
                broken.append(row.vault_key_id)
                continue
            row.sealed, row.vault_key = vault.reseal_value(fresh, row.tenant_id, row.id, text), fresh
            row.save(by=WRITER, update_fields=["sealed", "vault_key"])
            count += 1
        found = list(rows.filter(id__gt=found[-1].id)[: sql.CHUNK])
    return Resealed(count, tuple(broken))
