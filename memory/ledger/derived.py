"""Entries that a pass makes of others, and what it says of those it leaves: bulk writes of the host (RFC 0012, 0068).

Derived text goes through every secret of the tenant and through the shapes of secrets, not only through what one run
has resolved (SR-1 carry-forward). ``memory.written`` names no node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import harness, reconciled
from memory.drafts import EntryDraft
from memory.host import audit, event_log, ids, sql
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.ledger import bulk
from memory.ledger.bulk import Prepared
from memory.ledger.entries import Written, redacted, require_writable
from memory.ledger.rows import WRITER, locked_entry, move_head
from memory.models.entry import MemoryEntry, Strength


@dataclass(frozen=True, slots=True)
class Derivation:
    """An entry to be made, and by which kind of pass: ``merged``, ``compacted`` or ``distilled``."""

    draft: EntryDraft
    derived: str
    protected: bool = False


@transaction.atomic
def write_derived(scope: MemoryScope, made: Sequence[Derivation], *, run: Run, now: datetime) -> list[Written]:
    """The entries are stored in their order, each with its ``memory.written`` on ``run``; all or none."""
    require_writable(scope, run)
    redact = harness.for_derived(scope.tenant_id)
    prepared = [
        Prepared(redacted(scope, each.draft, redact, now), each.draft, run.id, None, each.derived, each.protected)
        for each in made
    ]
    if not prepared:
        return []
    event_log.append(scope.tenant_id, run.id, *(each.fact for each in prepared), now=now)
    return bulk.written(prepared, bulk.insert_entries(scope.tenant_id, prepared, now=now), now)


@transaction.atomic
def strengthen(tenant_id: UUID, found: Sequence[tuple[UUID, int, datetime]]) -> None:
    """Each entry speaks of so many sources now, of which the last was written then."""
    tenant = sql.key(tenant_id)
    rows = [(tenant, sql.key(entry_id), sources, sql.instant(last)) for entry_id, sources, last in found]
    allowed = Strength.objects.written_by(WRITER)
    renewing = ("sources", "last_said_at")
    sql.insert(allowed, ("tenant_id", "id", *renewing), rows, renewing=renewing)


@transaction.atomic
def protect(scope: TenantScope, entry_id: UUID, *, protected: bool, now: datetime) -> MemoryEntry:
    """The entry is never merged and goes first into an archive; or no longer so. Audited.

    One that is not protected any more is a change of the ledger: the next pass looks at its ref anew.
    """
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.protected != protected:
        entry.protected = protected
        entry.save(by=WRITER, update_fields=["protected"])
        if not protected:
            move_head(scope.tenant_id, entries=0, retired=0)
            reconciled.drop(scope.tenant_id, [entry.memory_ref])
        action = "memory.protected" if protected else "memory.unprotected"
        target = ids.wire("mem", entry.id)
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)
    return entry
