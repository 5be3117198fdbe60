"""What principals may request of passes: to run, stop, repeat or undo one; and how a worker runs one.

A kind is a flow. It works in short transactions, calls ``passes.progress`` between them, and ends with
``passes.finish`` in the transaction of its last fact, so a pass that is taken over records nothing twice. A refusal is
recorded with its code, and with what was done before it. Undoing a pass restores the entries that it retired; what it
wrote stays.
"""

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from django.db import transaction

from memory import adapter, addresses, ledger, memory_policy, passes, redaction
from memory.adapter.passes import RetiredCounts
from memory.host import audit, ids, sql, tenancy
from memory.host.audit import AuditFilter
from memory.host.clock import Clock
from memory.host.errors import Conflict, Invalid, NotFound, PassCancelled, Refusal, Unprocessable
from memory.host.events import Failure
from memory.host.json_types import JSONObject
from memory.host.models import AuditRecord
from memory.host.paging import Page, read_all, read_page
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState, Trigger
from memory.passes import LostClaim, PassOrder, compaction, consolidation, distillation
from memory.reasons import stored_reason

log = logging.getLogger(__name__)

LOST = Failure("worker_lost", "The workers of this pass died repeatedly.")
RESTORED = "pass.restored"  # an audit record of what of a pass is undone
REVIEWED = "pass.reviewed"  # an audit record of a person who has seen what a pass left
NO_MEMORY = "There is no memory by that ref."
BUG = Failure("internal_error", "The host failed; the failure was recorded.")


class Flow(Protocol):
    """What carries out a pass."""

    def carry_out(self, work: Pass, *, clock: Clock) -> None: ...


class Kind(Flow, Protocol):
    """A flow that can be asked for as a pass.

    ``checked`` gives the options as they are kept, and refuses with ``Invalid`` those that make no sense.
    """

    KIND: str

    def checked_options(self, options: JSONObject) -> JSONObject: ...


@dataclass(frozen=True, slots=True)
class RequestedPass:
    """A requested pass: a kind over one ref, for real or as a dry run."""

    kind: str
    memory_ref: str
    options: JSONObject = field(default_factory=dict)
    dry_run: bool = False
    trigger: str = Trigger.ON_DEMAND


KINDS: dict[str, Kind] = {flow.KIND: flow for flow in (compaction, consolidation, distillation)}
# Flows that may end short with something done; the others do all or nothing.
LEAVING_OFF = {consolidation.KIND: consolidation.stop_early}


def order_now(scope: TenantScope, wanted: RequestedPass, *, now: datetime) -> Pass:
    """Order the pass for a person or a client now, over a ref with stored entries. A schedule may name a ref before its
    first entry, so ``order`` does not check that."""
    kept = checked_order(scope, wanted)
    found = tenancy.memory_scope(scope, kept.memory_ref)
    if found is None or not adapter.passes.has_memory(found):
        raise NotFound(NO_MEMORY)
    return order(scope, wanted, now=now)


def order(scope: TenantScope, wanted: RequestedPass, *, window: str = "", now: datetime) -> Pass:
    """Record the pass for a worker and return it; ordering the same ``window`` again returns the same pass.

    Without a window it is a new pass. A ref that this tenant cannot have is not found, whatever is wrong with it.
    """
    pass_order = _order_of(checked_order(scope, wanted), window or f"asked/{ids.new_id().hex}", scope.principal.id)
    return passes.request(scope.tenant_id, pass_order, now=now)


def checked_order(scope: TenantScope, wanted: RequestedPass) -> RequestedPass:
    """The request as it is stored; refused when this principal could not have it run now.

    No memory exists under a ref that contains a secret of the vault; in the options a secret is replaced (SR-1).
    """
    scope.check("passes:run")
    if wanted.kind not in KINDS:
        field_error = {"field": "kind", "message": f"must be one of {', '.join(sorted(KINDS))}"}
        raise Invalid("There is no such kind of pass.", errors=[field_error])
    tenancy.require_well_formed(wanted.memory_ref)
    found = tenancy.memory_scope(scope, wanted.memory_ref)
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    if found is None or clean(found.memory_ref) != found.memory_ref:
        raise NotFound(NO_MEMORY)
    if addresses.is_working(found.memory_ref):
        problem = {"field": "memoryRef", "message": "is working memory of OpenIntent, over which no pass goes"}
        raise Unprocessable("Working memory is state in progress: no pass puts it together.", errors=[problem])
    return replace(
        wanted, memory_ref=found.memory_ref, options=KINDS[wanted.kind].checked_options(clean(wanted.options))
    )


def order_for(tenant_id: UUID, principal: str, wanted: RequestedPass, *, window: str, now: datetime) -> Pass:
    """Order the pass of that window for ``principal``, with its current permissions. When they no longer allow it, or
    it is no longer valid, it is recorded as refused, with the code."""
    try:
        with transaction.atomic():
            return order(tenancy.scope_without_request(tenant_id, principal, now=now), wanted, window=window, now=now)
    except Refusal as refusal:
        failure = Failure(refusal.code, refusal.message)
        return passes.decline(tenant_id, _order_of(wanted, window, principal), failure, refused=True, now=now)


def record_failed_order(tenant_id: UUID, principal: str, wanted: RequestedPass, *, window: str, now: datetime) -> Pass:
    """Record the pass of that window, which the host could not begin, as failed."""
    return passes.decline(tenant_id, _order_of(wanted, window, principal), BUG, refused=False, now=now)


def _order_of(wanted: RequestedPass, window: str, principal: str) -> PassOrder:
    return PassOrder(wanted.kind, window, principal, wanted.memory_ref, wanted.options, wanted.trigger, wanted.dry_run)


def page(
    scope: TenantScope, *, kinds: tuple[str, ...] = (), memory_ref: str = "", before: UUID | None = None, size: int
) -> Page[Pass]:
    """The passes of ``kinds`` (default all) before that one, newest first."""
    scope.check("memory:read")
    return read_page(passes.of_kinds(scope.tenant_id, kinds or tuple(sorted(KINDS)), memory_ref), before, size)


def export_passes(scope: TenantScope, *, kinds: tuple[str, ...], memory_ref: str = "") -> Iterator[Pass]:
    """All of them, newest first, for a file."""
    scope.check("memory:read")
    for chunk in read_all(passes.of_kinds(scope.tenant_id, kinds, memory_ref)):
        yield from chunk


def find(scope: TenantScope, pass_id: UUID | None) -> Pass:
    """The pass of this tenant that went over memory, or ``NotFound``."""
    scope.check("memory:read")
    row = passes.find(scope.tenant_id, pass_id) if pass_id else None
    if row is None or row.kind not in (*KINDS, passes.SELECTED):
        raise NotFound("There is no pass by that id.")
    return row


def stop(scope: TenantScope, pass_id: UUID | None, *, now: datetime) -> Pass:
    """Ask the pass to stop at its next step; what it has done stays. Audited."""
    scope.check("passes:run")
    row = passes.request_stop(scope.tenant_id, find(scope, pass_id).id, now=now)
    target = ids.wire("pass", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="pass.stopped", target=target, now=now)
    return row


@transaction.atomic
def review_pass(scope: TenantScope, pass_id: UUID | None, *, now: datetime) -> AuditRecord:
    """Audit that a person accepts what the pass left, so that *Needs you* no longer lists it.

    A second review returns the first record. Nothing else changes, and the pass can still be undone.
    """
    scope.check("memory:retire")
    work = find(scope, pass_id)
    if work.state != PassState.DONE or work.dry_run:
        raise Conflict("Only a pass that changed memory can be reviewed.", state=work.state)
    Pass.objects.of(scope.tenant_id).select_for_update().get(id=work.id)  # two requests make one record
    return review_of(work) or audit.append(
        scope.tenant_id, actor=scope.principal.id, action=REVIEWED, target=ids.wire("pass", work.id), now=now
    )


def review_of(work: Pass) -> AuditRecord | None:
    """The record of the person who reviewed the pass."""
    wanted = AuditFilter(action=REVIEWED, target=ids.wire("pass", work.id))
    return next((found for found in audit.newest(work.tenant_id, wanted, limit=1) if found.is_readable), None)


def repeat(scope: TenantScope, pass_id: UUID | None, *, now: datetime) -> Pass:
    """Order a refused, failed or cancelled pass again, in a new window."""
    scope.check("passes:run")
    row = find(scope, pass_id)
    if row.state not in passes.OVER or row.state == PassState.DONE:
        raise Conflict("Only a pass that was refused, has failed or was cancelled is run again.", state=row.state)
    wanted = RequestedPass(row.kind, row.memory_ref, row.options, row.dry_run)
    return order(scope, wanted, window=f"again/{row.id.hex}/{now.timestamp():.3f}", now=now)


def run_pass(tenant_id: UUID, pass_id: UUID, *, holder: str, flow: Flow | None = None, clock: Clock) -> Pass | None:
    """Run the pass and return it as it ended; None when it is claimed, its ref is busy, or it was over.

    ``flow`` runs a kind that is not in ``KINDS`` because its module is on a higher floor.
    """
    work = passes.claim(tenant_id, pass_id, holder=holder, now=clock())
    if work is None:
        return None
    if work.attempts > passes.MAX_ATTEMPTS:
        _fail(work, LOST, now=clock())
        return work
    try:
        (flow or KINDS[work.kind]).carry_out(work, clock=clock)
    except LostClaim:
        return None
    except PassCancelled:
        _cancel(work, now=clock())
    except Refusal as refusal:
        _fail(work, Failure(refusal.code, refusal.message), details=refusal.details, refused=True, now=clock())
    except Exception:
        log.exception("A pass has failed")
        _fail(work, BUG, now=clock())
    return passes.find(tenant_id, pass_id)


@transaction.atomic
def _fail(
    work: Pass, failure: Failure, *, details: JSONObject | None = None, refused: bool = False, now: datetime
) -> None:
    outcome = _left_off(work, now) | ({"details": details} if details else {})
    passes.fail(work, failure, outcome=outcome, refused=refused, now=now)


@transaction.atomic
def _cancel(work: Pass, *, now: datetime) -> None:
    passes.finish_cancelled(work, outcome=_left_off(work, now), now=now)


def _left_off(work: Pass, now: datetime) -> JSONObject:
    """What the pass has recorded as done."""
    leave_off = LEAVING_OFF.get(work.kind)
    return leave_off(work, now=now) if leave_off else dict(work.outcome)


MOST = 5000  # entries one request restores, in transactions of CHUNK each; the next request goes on
NOTHING = RetiredCounts()


@dataclass(frozen=True, slots=True)
class Restored:
    """How many entries one request restored, and what has become of all that the pass took away."""

    entries: int
    taken: RetiredCounts


def retired_counts(scope: TenantScope, pass_ids: Collection[UUID], *, now: datetime) -> dict[UUID, RetiredCounts]:
    """What has become of what each of these passes took away; none of one that took nothing."""
    scope.check("memory:read")
    return (
        adapter.passes.retired_by_passes(scope, pass_ids, since=_restorable_since(scope, now), now=now)
        if pass_ids
        else {}
    )


def restore_pass(scope: TenantScope, pass_id: UUID | None, *, reason: str, now: datetime) -> Restored:
    """Restore and protect up to ``MOST`` entries that the pass retired; the next request continues.

    What is gone for good, was retired since, or has lost its key to another entry stays as it is. Each transaction is
    one change of the ledger and one audit record, with the reason.
    """
    scope.check("memory:retire")
    work = find(scope, pass_id)
    if work.state not in passes.OVER:
        raise Conflict("The pass has not ended yet.", state=work.state)
    said = stored_reason(scope.tenant_id, reason, required=True)
    since, restored, after = _restorable_since(scope, now), 0, None
    while restored < MOST:
        limit = min(sql.CHUNK, MOST - restored)
        found = adapter.passes.next_restorable(scope, work.id, since=since, after=after, limit=limit)
        if not found:
            break
        restored += _restore(scope, work, {entry: at for _, entry, at in found}, said, now)
        after = found[-1][0]
    return Restored(restored, retired_counts(scope, [work.id], now=now).get(work.id, NOTHING))


@transaction.atomic
def _restore(scope: TenantScope, work: Pass, taken: dict[UUID, datetime], reason: str, now: datetime) -> int:
    back = ledger.retirement.restore_entries(scope, taken, reason=reason, now=now)
    if back:
        audit.append(
            scope.tenant_id,
            actor=scope.principal.id,
            action=RESTORED,
            target=ids.wire("pass", work.id),
            details={"restored": len(back)},
            reason=reason,
            now=now,
        )
    return len(back)


def _restorable_since(scope: TenantScope, now: datetime) -> datetime:
    return now - timedelta(days=memory_policy.policy_of(scope.tenant_id).restore_days)
