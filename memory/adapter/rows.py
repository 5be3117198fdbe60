"""Addressed entries by their ids, in one statement, and without what Django does for each row, which costs most."""

from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models.base import ModelState

from memory.host import sql
from memory.host.models import VaultKey
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry

# Times and truths, which SQLite keeps as something else, stand behind the rest.
ADDRESS = (
    "tier", "agent_id", "namespace", "key", "version", "task_id", "intent_id", "priority", "sensitivity", "ttl",
    "created_by", "curated_by", "size", "sealed", "vault_key_id",
)  # fmt: skip
TRUTHS, TIMES = ("pinned", "hidden"), ("created_at", "updated_at", "accessed_at")
ENTRY = ("memory_ref", "content", "node_id", "agent_id")
READINGS = 2
SOURCE = (
    "FROM memory_entryaddress a JOIN memory_memoryentry e ON e.tenant_id = a.tenant_id AND e.id = a.id "
    "WHERE a.tenant_id = %s AND "
)


def rows_of(tenant_id: UUID, wanted: Sequence[UUID]) -> dict[UUID, EntryAddress]:
    """The addressed entries of these ids, each with its entry and, where it is sealed, the key of its seal."""
    condition, keys = sql.among("a.id", [sql.key(each) for each in wanted])
    return _read(tenant_id, condition, keys) if wanted else {}


def row_of(tenant_id: UUID, entry_id: UUID) -> EntryAddress | None:
    """The one of that id, or None."""
    return _read(tenant_id, "a.id = %s", sql.key(entry_id)).get(entry_id)


def _read(tenant_id: UUID, condition: str, parameter: object) -> dict[UUID, EntryAddress]:
    """The rows, and the keys of their seals. A key that is gone when it is asked for was rotated away meanwhile: then
    the rows are read once more, and are under another."""
    statement = f"SELECT {_columns()} {SOURCE}{condition}"
    for _ in range(READINGS):
        found = [_row(tenant_id, values) for values in sql.rows(statement, [sql.key(tenant_id), parameter])]
        if _has_all_keys(found):
            break
    return {row.id: row for row in found}


def _has_all_keys(found: Sequence[EntryAddress]) -> bool:
    """The sealed ones have the keys of their seals, all but those that are gone; whether there are none such."""
    sealed = [row for row in found if row.vault_key_id is not None]
    opening = VaultKey.objects.in_bulk({row.vault_key_id for row in sealed}) if sealed else {}
    for row in sealed:
        row.vault_key = opening.get(row.vault_key_id)
    return all(row.vault_key is not None for row in sealed)


@cache
def _columns() -> str:
    times = [sql.time_column(f"a.{name}") for name in TIMES]
    last = [sql.time_column("e.expires_at"), sql.time_column("e.retired_at")]
    given = [f"a.{name}" for name in (*ADDRESS, *TRUTHS)]
    entry = [f"e.{name}" for name in (*ENTRY, "run_id", "tags")]
    return ", ".join(["a.id", *given, *times, *entry, *last])


def _row(tenant_id: UUID, values: Sequence[Any]) -> EntryAddress:
    entry_id, rest = sql.as_uuid(values[0]), iter(values[1:])
    address = {name: next(rest) for name in ADDRESS}
    if address["vault_key_id"] is not None:
        address["vault_key_id"] = sql.as_uuid(address["vault_key_id"])
    address |= {name: bool(next(rest)) for name in TRUTHS}
    address |= {name: sql.at(next(rest)) for name in TIMES}
    entry = {name: next(rest) for name in ENTRY}
    entry |= {"run_id": sql.as_uuid(next(rest)), "tags": sql.as_document(next(rest))}
    entry |= {name: sql.as_instant(next(rest)) for name in ("expires_at", "retired_at")}
    key = {"tenant_id": tenant_id, "id": entry_id}
    row: EntryAddress = _made(EntryAddress, key | address)
    row.__dict__["_state"].fields_cache["entry"] = _made(MemoryEntry, key | entry)
    return row


def _made(model: type[Any], values: dict[str, Any]) -> Any:
    """What the ORM would have made of the columns; another column of the row is read when somebody asks for it."""
    state = ModelState()
    state.adding, state.db = False, "default"
    row: Any = object.__new__(model)
    row.__dict__ |= {"_state": state, **values}
    return row
