"""Which entry has a key (RFC-0015 1.2). Every write asks, and mostly nobody has it: so it is asked by hand."""

from collections.abc import Sequence
from uuid import UUID

from memory.addresses import Address, Tier
from memory.host import sql
from memory.models.address import EntryAddress

# The conditions are those of the two indexes, word for word: no other rows are looked at.
OWNED = (
    "SELECT id FROM memory_entryaddress WHERE tenant_id = %s AND agent_id = %s AND namespace = %s "
    "AND {} AND NOT (tier = 'semantic') AND NOT hidden"
)
SHARED = (
    "SELECT id FROM memory_entryaddress WHERE tenant_id = %s AND namespace = %s "
    "AND {} AND tier = 'semantic' AND NOT hidden"
)


def at(tenant_id: UUID, address: Address) -> EntryAddress | None:
    """The entry that has that key, lapsed or not; never a retired one, whose key is free."""
    for entry_id in _ids_at(tenant_id, address, [address.key]):
        rows = EntryAddress.objects.of(tenant_id).select_related("entry", "vault_key")
        found: EntryAddress | None = rows.filter(id=entry_id).first()
        return found
    return None


def held_at(tenant_id: UUID, wanted: Sequence[Address]) -> list[UUID]:
    """The entries that have these keys, in no order; asked once for all keys of one namespace."""
    places: dict[object, list[Address]] = {}
    for each in wanted:
        shared = each.tier == Tier.SEMANTIC
        places.setdefault((shared, each.namespace, None if shared else each.agent_id), []).append(each)
    return [
        entry_id for those in places.values() for entry_id in _ids_at(tenant_id, those[0], [each.key for each in those])
    ]


def _ids_at(tenant_id: UUID, address: Address, keys: Sequence[str]) -> list[UUID]:
    shared = address.tier == Tier.SEMANTIC
    owner = [] if shared else [address.agent_id]
    condition, among = sql.among('"key"', keys) if len(keys) > 1 else ('"key" = %s', keys[0])
    statement = (SHARED if shared else OWNED).format(condition)
    found = sql.rows(statement, [sql.key(tenant_id), *owner, address.namespace, among])
    return [sql.as_uuid(entry_id) for (entry_id,) in found]
