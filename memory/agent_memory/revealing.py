"""A sealed value, shown to a person who may retire memory (RFC-0015 9.2). Every time is on the audit log."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger
from memory.host import audit, ids
from memory.host.errors import NotFound
from memory.host.tenancy import TenantScope


@transaction.atomic
def reveal(scope: TenantScope, entry_id: UUID, *, now: datetime) -> dict[str, Any]:
    """The value of the entry, opened; who asked is on record, and nothing of what was shown."""
    scope.check("memory:retire")
    if adapter.entry(scope, entry_id, now=now) is None:
        raise NotFound("There is no memory entry by that id.")
    value = ledger.value_of(ledger.locked(scope.tenant_id, entry_id))
    target = ids.wire("mem", entry_id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="memory.revealed", target=target, now=now)
    return value
