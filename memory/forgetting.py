"""Forget a subject: preview, confirm, erase, verify, receipt (design.md 3.8 to 3.10, ux.md page 11).

The preview is a frozen, hashed plan with a lifetime. The work removes what was planned and what has appeared since, in
chunks, until an independent count is zero; only then is there a receipt. The event log is not touched.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memory import archives, forget_plans, forget_requests, harness, ledger, passes, receipts
from memory.host import audit, erasure, ids, vault
from memory.host.erasure import Eraser, Holding, Identifiers, Remains
from memory.host.errors import Conflict, Invalid
from memory.host.events import Failure
from memory.host.tenancy import TenantScope
from memory.matching import is_mentioned, search_form
from memory.models import ForgetRequest, ForgetState, Pass
from memory.passes import PassOrder

WRITER = "memory.forgetting"
KIND = "forget"
LIFETIME = timedelta(minutes=15)
KEPT_AFTER_LAPSING = timedelta(hours=1)
CHUNK = 500
MAX_REASON = 500


Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Preview:
    """A stored plan with the samples that are shown once and stored nowhere."""

    request: ForgetRequest
    holdings: list[Holding]


def preview(scope: TenantScope, names: list[str], *, now: datetime) -> Preview:
    """A frozen plan of what forgetting ``names`` would remove and what stays; nothing is removed."""
    scope.check("memory:forget")
    terms = forget_plans.terms_of(names)
    holdings = forget_plans.holdings_of(scope.tenant_id, terms)
    plan = forget_plans.plan_of(holdings)
    request = ForgetRequest(
        tenant_id=scope.tenant_id,
        subject_key=subject_key(scope.tenant_id, terms[0]),
        plan=plan,
        plan_sha256=forget_plans.digest_of(plan),
        requested_by=scope.principal.id,
        created_at=now,
        lapses_at=now + LIFETIME,
    )
    request.sealed_terms = vault.seal_note(request.id, json.dumps(terms))
    request.insert(by=WRITER)
    return Preview(request, holdings)


def subject_key(tenant_id: UUID, term: str) -> str:
    """The keyed hash under which a subject is remembered after it was forgotten."""
    key = settings.SECRET_KEY.encode() + tenant_id.bytes
    return hmac.new(key, search_form(term).encode(), hashlib.sha256).hexdigest()


def look_again(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> Preview:
    """A fresh plan for the subject of an earlier preview, which stays as it was."""
    return preview(scope, list(_remembered(forget_requests.find(scope, request_id))), now=now)


def holdings_of(scope: TenantScope, request: ForgetRequest) -> list[Holding]:
    """What the stores hold now of a request that still waits to be confirmed: for showing the preview again."""
    scope.check("memory:forget")
    return forget_plans.holdings_of(request.tenant_id, _remembered(request))


def _remembered(request: ForgetRequest) -> tuple[str, ...]:
    if not request.sealed_terms:
        raise Conflict("This request is over; its subject is no longer known here.", state=request.state)
    return tuple(json.loads(vault.open_note(request.id, bytes(request.sealed_terms))))


@transaction.atomic
def confirm(
    scope: TenantScope, request_id: UUID | None, *, typed: str, reason: str, ticked: set[str], now: datetime
) -> ForgetRequest:
    """The plan is to be carried out; the confirmation is audited and a pass waits for a worker.

    Refuses when the typed subject differs, when the preview has lapsed, and when what would go has changed since the
    preview: then ``details.changed`` says what, and a new preview is needed.
    """
    scope.check("memory:forget")
    request = _locked(forget_requests.find(scope, request_id))
    terms = _remembered(request)
    _require_confirmable(request, terms, typed=typed, reason=reason, now=now)
    _require_unchanged(request, terms)
    _choose(request, ticked)
    request.state, request.confirmed_at = ForgetState.CONFIRMED, now
    request.reason = harness.for_tenant(request.tenant_id).redact(reason.strip()).text
    order = PassOrder(KIND, window=request.id.hex, requested_by=scope.principal.id)
    work = passes.request(request.tenant_id, order, now=now)
    request.pass_id = work.id
    request.save(by=WRITER)
    audit.append(
        request.tenant_id,
        actor=scope.principal.id,
        action="forget.confirmed",
        target=ids.wire("fgt", request.id),
        details={"subjectKey": request.subject_key, "planSha256": request.plan_sha256},
        now=now,
    )
    return request


def _locked(request: ForgetRequest) -> ForgetRequest:
    row: ForgetRequest = ForgetRequest.objects.of(request.tenant_id).select_for_update().get(id=request.id)
    return row


def _require_confirmable(
    request: ForgetRequest, terms: tuple[str, ...], *, typed: str, reason: str, now: datetime
) -> None:
    if request.state != ForgetState.PREVIEWED:
        raise Conflict("This request was confirmed already.", state=request.state)
    if request.lapses_at <= now:
        raise Conflict("The preview is too old; look again what would go.", state=ForgetState.LAPSED)
    errors = []
    if not hmac.compare_digest(subject_key(request.tenant_id, " ".join(typed.split())), request.subject_key):
        errors.append({"field": "typed", "message": "is not the subject of this preview"})
    if not reason.strip() or len(reason) > MAX_REASON:
        errors.append({"field": "reason", "message": f"a reason or ticket of up to {MAX_REASON} characters is needed"})
    elif is_mentioned(terms, reason):
        errors.append({"field": "reason", "message": "must not name the subject: the reason stays on record"})
    if errors:
        raise Invalid("The request was not confirmed.", errors=errors)


def _require_unchanged(request: ForgetRequest, terms: tuple[str, ...]) -> None:
    fresh = forget_plans.plan_of(forget_plans.holdings_of(request.tenant_id, terms))
    if hmac.compare_digest(forget_plans.digest_of(fresh), request.plan_sha256):
        return
    changed = {
        store: {
            "erase": len(fresh[store]["erase"]) - len(request.plan.get(store, {}).get("erase", [])),
            "suspected": len(fresh[store]["suspected"]) - len(request.plan.get(store, {}).get("suspected", [])),
        }
        for store in fresh
        if fresh[store] != request.plan.get(store)
    }
    raise Conflict("What would be forgotten has changed since the preview; look again.", changed=changed)


def _choose(request: ForgetRequest, ticked: set[str]) -> None:
    """The suspected rows that were ticked are to go; the others are spared by decision."""
    for entry in request.plan.values():
        entry["chosen"] = [row for row in entry["suspected"] if row in ticked]
        entry["spared"] = [row for row in entry["suspected"] if row not in ticked]
        entry["erased"] = 0


def execute(tenant_id: UUID, request_id: UUID, *, holder: str, now: datetime, clock: Clock) -> ForgetRequest | None:
    """Carry out a confirmed request: erase, verify, receipt. None when another worker has it or it is over.

    Interrupted anywhere, the next worker goes on where this one stopped. ``clock`` gives the time, for leases.
    """
    request: ForgetRequest | None = ForgetRequest.objects.of(tenant_id).filter(id=request_id).first()
    if request is None or request.pass_id is None or not request.sealed_terms:
        return None
    work = passes.claim(tenant_id, request.pass_id, holder=holder, now=now)
    if work is None:
        return None
    if work.attempts > passes.MAX_ATTEMPTS:
        return _leave_residue(request, work, {}, clock())
    subject = Identifiers(_remembered(request))
    for eraser in erasure.registered():
        _erase_store(request, work, eraser, subject, clock)
    return _verify(request, work, subject, clock())


def _erase_store(request: ForgetRequest, work: Pass, eraser: Eraser, subject: Identifiers, clock: Clock) -> None:
    """Planned rows go first; then what has appeared since, until the store finds nothing more."""
    entry = request.plan.setdefault(eraser.store, {"erase": [], "chosen": [], "spared": [], "erased": 0})
    total = sum(len(store["erase"]) + len(store["chosen"]) for store in request.plan.values())
    pending = [(rows, False) for rows in _chunks(entry["erase"])] + [(rows, True) for rows in _chunks(entry["chosen"])]
    while pending:
        for rows, ticked in pending:
            with transaction.atomic():
                erased = eraser.erase(request.tenant_id, subject, rows, ticked=ticked, now=clock())
                if erased:
                    ledger.mark_erased(request.tenant_id, now=clock())
                entry["erased"] += erased
                request.save(by=WRITER, update_fields=["plan"])
            done = sum(store["erased"] for store in request.plan.values())
            passes.progress(work, done=done, total=max(total, done), doing=f"erasing {eraser.store}", now=clock())
        again = [(rows, False) for rows in _chunks([row.hex for row in eraser.find(request.tenant_id, subject).erase])]
        pending = [] if again == pending else again


def _chunks(rows: list[str]) -> list[tuple[UUID, ...]]:
    return [tuple(UUID(hex=row) for row in rows[start : start + CHUNK]) for start in range(0, len(rows), CHUNK)]


def _uuids(rows: list[str]) -> tuple[UUID, ...]:
    return tuple(UUID(hex=row) for row in rows)


def _verify(request: ForgetRequest, work: Pass, subject: Identifiers, now: datetime) -> ForgetRequest:
    """Count by another path; a receipt when nothing is left, else the request says residue and may be tried again."""
    remains = {eraser.store: _second_look(request, eraser, subject) for eraser in erasure.registered()}
    with transaction.atomic():
        if any(found.left for found in remains.values()):
            return _leave_residue(request, work, {store: found.left for store, found in remains.items()}, now)
        return _issue_receipt(request, work, remains, now)


def _second_look(request: ForgetRequest, eraser: Eraser, subject: Identifiers) -> Remains:
    entry = request.plan[eraser.store]
    chosen, spared = (frozenset(_uuids(entry[decided])) for decided in ("chosen", "spared"))
    return eraser.remains(request.tenant_id, subject, chosen=chosen, spared=spared)


def _leave_residue(request: ForgetRequest, work: Pass, residue: dict[str, int], now: datetime) -> ForgetRequest:
    request.state, request.receipt = ForgetState.RESIDUE, {"residue": residue}
    request.save(by=WRITER, update_fields=["state", "receipt"])
    passes.fail(
        work, Failure("residue_found", "The verification still found traces; the request can be run again."), now=now
    )
    return request


def _issue_receipt(request: ForgetRequest, work: Pass, remains: dict[str, Remains], now: datetime) -> ForgetRequest:
    gone = archives.forgotten(request.tenant_id, since=request.confirmed_at or now)
    record = audit.append(
        request.tenant_id,
        actor=request.requested_by,
        action="forget.completed",
        target=ids.wire("fgt", request.id),
        details={"subjectKey": request.subject_key, "counts": receipts.counts(request, remains, gone)},
        now=now,
    )
    anew = archives.redistil(request.tenant_id, gone, now=now)
    request.receipt = receipts.document(request, work, remains, gone, anew, audit_seq=record.seq, now=now)
    request.signature = receipts.signature_of(request.receipt)
    request.undecided = sum(each.undecided for each in remains.values())
    request.state, request.finished_at, request.sealed_terms = ForgetState.FORGOTTEN, now, b""
    for entry in request.plan.values():
        entry.pop("suspected", None)
    request.save(by=WRITER)
    _forget_previews(ForgetRequest.objects.of(request.tenant_id).filter(subject_key=request.subject_key))
    passes.finish(work, now=now)
    return request


@transaction.atomic
def retry(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> ForgetRequest:
    """A request that left residue waits for a worker again, in a window of its own."""
    scope.check("memory:forget")
    request = _locked(forget_requests.find(scope, request_id))
    if request.state != ForgetState.RESIDUE:
        raise Conflict("Only a request that left residue can be run again.", state=request.state)
    window = f"{request.id.hex}/{now.timestamp():.0f}"
    work = passes.request(request.tenant_id, PassOrder(KIND, window, requested_by=scope.principal.id), now=now)
    request.state, request.pass_id, request.receipt = ForgetState.CONFIRMED, work.id, None
    request.save(by=WRITER, update_fields=["state", "pass_id", "receipt"])
    return request


def erase_kept(request: ForgetRequest, **kept: Any) -> None:
    """The request keeps these values instead. For forgetting another subject alone."""
    for name, value in kept.items():
        setattr(request, name, value)
    request.save(by=WRITER, update_fields=list(kept))


def lapse_previews(*, now: datetime) -> int:
    """Previews that nobody confirmed in time no longer know their subject; returns how many."""
    return _forget_previews(ForgetRequest.objects.filter(lapses_at__lte=now - KEPT_AFTER_LAPSING))


def _forget_previews(rows: Any) -> int:
    ids_of = list(rows.filter(state=ForgetState.PREVIEWED).values_list("tenant_id", "id"))
    for tenant_id, row in ids_of:
        writable = ForgetRequest.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=row)
        writable.filter(state=ForgetState.PREVIEWED).update(state=ForgetState.LAPSED, sealed_terms=b"", plan={})
    return len(ids_of)
