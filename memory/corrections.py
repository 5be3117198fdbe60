"""Corrections: a person replaces the text of an entry by a new entry, and the old one is retired.

The new entry is a host write on a run of its own, which the person started; so log, provenance and lineage say where it
came from, and it is attributed to no agent.
"""

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, provenance, redaction
from memory.entry_drafts import EntryDraft
from memory.host import audit, ids, runs, tenancy
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.runs import RunOrder
from memory.host.tenancy import TenantScope
from memory.ledger.entries import Derivation, Written
from memory.models import LineageKind
from memory.passes import definition_of
from memory.provenance import Descent

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

KIND = "correction"
WORKFLOW = f"host-{KIND}"
OF_OPENINTENT = "An OpenIntent entry is changed at its address, by those who may write its namespace."
OF_AN_ARCHIVE = "This is the text of an archive, which its checksum covers. Correct the entries it was made from."
RETIRED = "This entry is retired. Restore it first."


def require_correctable(scope: TenantScope, entry: "MemoryEntry") -> None:
    """Refuse callers without permission, and entries whose text a person may not change."""
    scope.check("memory:retire")
    if refusal := refusal_of(entry):
        raise Conflict(refusal)


def refusal_of(entry: "MemoryEntry") -> str:
    """Why a person may not change the text of the entry; "" where one may."""
    if entry.address is not None:
        return OF_OPENINTENT
    if entry.derived == "distilled":
        return OF_AN_ARCHIVE
    return RETIRED if entry.retired_at is not None else ""


@transaction.atomic
def correct(scope: TenantScope, entry_id: UUID, *, content: str, reason: str = "", now: datetime) -> Written:
    """Replace the entry by a new one with this text, and its tags, subject and expiry; both are audited.

    The old one is retired, so runs that started before still read it, and it can be restored. Of two corrections at
    once, or with a retirement, the second is refused. Redacted by every secret of the tenant.
    """
    found = adapter.console.find_entry(scope, entry_id, now=now)
    place = tenancy.memory_scope(scope, found.memory_ref) if found else None
    if found is None or place is None:
        raise NotFound("There is no memory entry by that id.")
    require_correctable(scope, found)
    redact = redaction.for_derived(scope.tenant_id)
    if not content.strip() or redact(content).text == redact(found.content).text:
        problem = "is empty" if not content.strip() else "is what the entry says already"
        raise Invalid("The entry was not corrected.", errors=[{"field": "content", "message": problem}])
    order = RunOrder(WORKFLOW, definition_of(KIND), scope.principal.id, system=True, traceparent=scope.traceparent)
    run = runs.open_running(scope.tenant_id, order, snapshot_position=ledger.head.position(scope.tenant_id), now=now)
    draft = EntryDraft(content, tuple(found.tags), found.subject, expires_at=found.expires_at)
    [written] = ledger.entries.write_derived(place, [Derivation(draft, "", found.protected)], run=run, now=now)
    if ledger.retirement.retire_entry(scope, found.id, reason=reason, now=now).retired_at != now:
        raise Conflict(RETIRED)
    descent = Descent(found.id, written.id, LineageKind.SUPERSEDED)
    provenance.record(scope.tenant_id, [descent], pass_id=None, now=now)
    runs.complete(runs.locked(scope.tenant_id, run.id), now=now)
    said = redact(reason.strip()).text
    audit.append(
        scope.tenant_id,
        actor=scope.principal.id,
        action="memory.corrected",
        target=ids.wire("mem", written.id),
        details={"replaces": ids.wire("mem", found.id)},
        reason=said,
        now=now,
    )
    return written
