"""Forget a subject: preview, confirm, erase, verify, receipt.

A worker builds the preview: a frozen, hashed plan with a lifetime, and the suspected rows about which a person decides.
The work removes what is there of the subject then, in chunks that leave room for other writers, until an independent
count is zero; only then is there a receipt. The event log is not touched.
"""

import hmac
import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import mean
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from memory import ledger, memory_policy, passes
from memory.forget import consequences, holds, journal, plans, receipts
from memory.forget.copies import SubjectCopy
from memory.host import access, audit, erasure, ids, sql, vault
from memory.host.clock import Clock
from memory.host.erasure import Eraser, Holding, Identifiers, Portioned, Remains
from memory.host.errors import Conflict, Invalid, PassCancelled, SecondPersonNeeded
from memory.host.events import Failure
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Decision, ForgetRequest, ForgetState, Pass, Suspect
from memory.passes import LostClaim, PassOrder, archives
from memory.reasons import check_reason
from memory.text.matching import is_mentioned

WRITER = "memory.forget.execution"
KIND = "forget"
HOST = "host"  # confirms what a restore repeats
PREVIEW = "forget-preview"
LIFETIME = timedelta(minutes=15)
LIFETIME_FOR_SECOND = timedelta(days=7)
LONGEST_BUILD = timedelta(hours=1)
KEPT_AFTER_LAPSING = timedelta(hours=1)
SHOWN = 5
ROUNDS = 5
COLUMNS = ("tenant_id", "id", "request_id", "store", "row_id", "decision")
WORKER_LOST = Failure("worker_lost", "The workers that built this preview died repeatedly.")
BROKEN = Failure("internal_error", "The host failed; the failure was recorded.")
PREVIEW_FAILURES = {each.code: each.message for each in (WORKER_LOST, BROKEN)}
GIVEN_UP = Failure(
    "worker_lost",
    "The workers of this forget failed or died repeatedly. What they erased is gone, but nothing was verified; the "
    "request can be run again.",
)
RESIDUE_FOUND = Failure("residue_found", "The verification still found traces; the request can be run again.")


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview that was built at once, with what every store holds."""

    request: ForgetRequest
    holdings: list[Holding]


class Pace:
    """How many rows go in one transaction, and how long the pause for other writers is.

    A transaction aims at ``HOLD`` seconds: SQLite has one writer at a time, and on PostgreSQL the ledger's head is
    locked as long. Waiting writers go first on both, so they wait for at most one transaction. The following checkpoint
    of SQLite's log counts as part of it. The last four durations are averaged: they differ by what else uses the disk.
    """

    HOLD = 0.068
    BREATH = 0.002
    LEAST = 10
    REMEMBERED = 4

    def __init__(self) -> None:
        self._size = float(self.LEAST)
        self._costs: deque[float] = deque(maxlen=self.REMEMBERED)

    @property
    def size(self) -> int:
        return min(sql.CHUNK, max(self.LEAST, int(self._size)))

    def breathe(self, rows: int, seconds: float) -> None:
        """Adjust the size of the next transaction to ``rows`` having taken ``seconds``, and pause."""
        self._costs.append(max(seconds, 1e-6) / rows)
        self._size = min(2 * self._size, self.HOLD / mean(self._costs))
        time.sleep(self.BREATH)


def request_preview(scope: TenantScope, names: list[str], *, now: datetime) -> ForgetRequest:
    """A preview of what forgetting ``names`` would remove and what stays waits for a worker; nothing is removed."""
    scope.check("memory:forget")
    return _create_request(scope, plans.terms_of(names), now)


def request_again(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> ForgetRequest:
    """Request a fresh preview for the subject of an earlier one, which stays as it was."""
    return _create_request(scope, plans.open_terms(plans.find(scope, request_id)), now)


@transaction.atomic
def _create_request(scope: TenantScope, terms: tuple[str, ...], now: datetime) -> ForgetRequest:
    request = ForgetRequest(
        tenant_id=scope.tenant_id,
        subject_key=plans.subject_key(scope.tenant_id, terms[0]),
        term_keys=[plans.subject_key(scope.tenant_id, term) for term in terms],
        requested_by=scope.principal.id,
        created_at=now,
        lapses_at=now + LONGEST_BUILD,
    )
    request.sealed_terms = vault.seal_note(request.id, json.dumps(terms))
    order = PassOrder(PREVIEW, window=request.id.hex, requested_by=scope.principal.id)
    request.pass_id = passes.request(scope.tenant_id, order, now=now).id
    return request.insert(by=WRITER)


def preview(scope: TenantScope, names: list[str], *, now: datetime) -> Preview:
    """The preview, built here and now instead of by a worker."""
    request = request_preview(scope, names, now=now)
    assert request.pass_id is not None
    work = passes.claim(scope.tenant_id, request.pass_id, holder=f"here/{request.id.hex}", now=now)
    assert work is not None, "a pass that was just asked for is free"
    return _built(request, work, lambda: now)


def build(tenant_id: UUID, request_id: UUID, *, holder: str, clock: Clock) -> ForgetRequest | None:
    """A worker builds the preview. None when another one has it, or it is over.

    One whose worker died is built from the beginning by the next; one that was asked to stop has lapsed.
    """
    request: ForgetRequest | None = ForgetRequest.objects.of(tenant_id).filter(id=request_id).first()
    if request is None or request.state != ForgetState.BUILDING or request.pass_id is None:
        return None
    work = passes.claim(tenant_id, request.pass_id, holder=holder, now=clock())
    if work is None:
        return None
    if work.attempts > passes.MAX_ATTEMPTS:
        return _given_up(request, work, WORKER_LOST, clock())
    try:
        return _built(request, work, clock).request
    except LostClaim:
        return None
    except PassCancelled:
        with transaction.atomic():
            passes.finish_cancelled(work, now=clock())
            return _end_preview(request, ForgetState.LAPSED)
    except Exception:
        _given_up(request, work, BROKEN, clock())
        raise


def _built(request: ForgetRequest, work: Pass, clock: Clock) -> Preview:
    stores, holdings, position = erasure.registered(), [], ledger.head.position(request.tenant_id)
    for done, holding in enumerate(plans.holdings_of(request.tenant_id, Identifiers(plans.open_terms(request))), 1):
        holdings.append(holding)
        if done < len(stores):
            doing = f"looking through {stores[done].store}"
            passes.report(work, done=done, total=len(stores), doing=doing, now=clock())
    passes.progress(work, done=len(stores), total=len(stores), doing="writing the plan", now=clock())
    _drop_suspects(request)
    for chunk in sql.in_chunks((each.store, row) for each in holdings for row in each.suspected):
        _keep_suspects(request, chunk)
        passes.progress(work, done=len(stores), total=len(stores), doing="writing the plan", now=clock())
    plan, now = plans.plan_of(holdings), clock()
    request.plan_sha256 = plans.digest_of(plan)
    besides = consequences.foresee(request.tenant_id, holdings, now=now)
    request.plan = {
        each.store: {
            **plan[each.store],
            **besides.get(each.store, {}),
            "shown": _hex(each.erase[:SHOWN]),
            "looked": each.looked,
        }
        for each in holdings
    }
    request.found = plans.encode_matches(position, holdings)
    request.state, request.lapses_at = ForgetState.PREVIEWED, now + LIFETIME
    with transaction.atomic():
        if _locked(request).state != ForgetState.BUILDING:
            raise PassCancelled
        passes.finish(work, now=now)
        request.save(by=WRITER, update_fields=["plan", "plan_sha256", "found", "state", "lapses_at"])
    return Preview(request, holdings)


def _hex(rows: Collection[UUID]) -> list[str]:
    return [row.hex for row in rows]


def _keep_suspects(request: ForgetRequest, found: list[tuple[str, UUID]]) -> None:
    tenant, of = sql.key(request.tenant_id), sql.key(request.id)
    rows = [(tenant, sql.key(ids.new_id()), of, store, sql.key(row), Decision.UNDECIDED.value) for store, row in found]
    with transaction.atomic():
        sql.insert(Suspect, COLUMNS, rows, by=WRITER)


def _drop_suspects(request: ForgetRequest) -> None:
    sql.delete_in_chunks(Suspect.objects.written_by(WRITER).filter(tenant_id=request.tenant_id, request_id=request.id))


def _suspects(request: ForgetRequest) -> QuerySet[Suspect]:
    return Suspect.objects.of(request.tenant_id).filter(request_id=request.id)


def _given_up(request: ForgetRequest, work: Pass, failure: Failure, now: datetime) -> ForgetRequest:
    with transaction.atomic():
        passes.fail(work, failure, now=now)
        return _end_preview(request, ForgetState.FAILED)


def _end_preview(request: ForgetRequest, state: str) -> ForgetRequest:
    """End the preview without a confirmation, and delete its subject and plan."""
    request.state, request.sealed_terms, request.plan, request.found = state, b"", {}, b""
    request.save(by=WRITER, update_fields=["state", "sealed_terms", "plan", "found"])
    return request


def terms_of(scope: TenantScope, request: ForgetRequest) -> tuple[str, ...]:
    """The names that a preview looks for, as long as it waits for its confirmation: to mark them in what is shown."""
    scope.check("memory:forget")
    return plans.open_terms(request)


@transaction.atomic
def decide(
    scope: TenantScope, request_id: UUID | None, decisions: Mapping[UUID, str], *, now: datetime
) -> ForgetRequest:
    """Record a person's decision about these suspects, by id, until the confirmation."""
    request = _locked(plans.find(scope, request_id))
    _require_ready(request, now)
    for decision in Decision:
        chosen = [row for row, word in decisions.items() if word == decision]
        _decide(request, _suspects(request).filter(id__in=chosen), decision) if chosen else None
    return request


@transaction.atomic
def decide_rest(scope: TenantScope, request_id: UUID | None, decision: str, *, now: datetime) -> int:
    """Decide all undecided suspects in this way; return how many there were."""
    request = _locked(plans.find(scope, request_id))
    _require_ready(request, now)
    return _decide(request, _suspects(request).filter(decision=Decision.UNDECIDED), decision)


def _decide(request: ForgetRequest, rows: QuerySet[Suspect], decision: str) -> int:
    writable = Suspect.objects.written_by(WRITER).filter(tenant_id=request.tenant_id, request_id=request.id)
    return writable.filter(id__in=rows.values("id")).update(decision=decision)


def confirm(
    scope: TenantScope,
    request_id: UUID | None,
    *,
    typed: str,
    reason: str,
    ticked: Collection[str] = (),
    spared: Collection[str] = (),
    now: datetime,
    queue: Callable[[ForgetRequest], None] | None = None,
) -> ForgetRequest:
    """Confirm the plan: audited, and a pass waits for a worker, which ``queue`` calls.

    ``ticked`` and ``spared`` are rows (32 hex digits) decided with the confirmation, in addition to those decided
    before; the others stay undecided. Refused when the preview is still being built or has lapsed, when the typed
    subject differs, when a legal hold covers one of the names (``SubjectOnHold``), and when what would go has changed
    since: then ``details.changed`` says what, and a new preview is needed.

    Where the policy asks for two people, the first confirmation leaves the request ``AWAITING`` for a week, without a
    pass, with that person's reason and decisions. The second one starts it: it refuses the first person
    (``SecondPersonNeeded``, also by a key of theirs) and further decisions; its reason is kept with its audit record.
    The stores are searched before any lock is taken; rows that appear after that are erased all the same.
    """
    request = plans.find(scope, request_id)
    _require_confirmable_by(scope, request, [*ticked, *spared], now)
    terms = plans.open_terms(request)
    words = _require_confirmable(request, terms, typed=typed, reason=reason)
    holds.require_none(request.tenant_id, terms)
    journal.require_writable()
    fresh = plans.plan_now(request, terms)
    with transaction.atomic():
        request = _locked(request)
        _require_confirmable_by(scope, request, [*ticked, *spared], now)
        _require_unchanged(request, fresh)
        is_second = request.state == ForgetState.AWAITING
        if not is_second:
            _choose(request, ticked, spared)
            request.reason = words
        if not is_second and _needs_second(scope):
            return _confirmed_first(scope, request, now)
        request.state, request.confirmed_at = ForgetState.CONFIRMED, now
        for entry in request.plan.values():
            entry.pop("looked", None)  # from here on the plan is saved with each part
        order = PassOrder(KIND, window=request.id.hex, requested_by=scope.principal.id)
        request.pass_id = passes.request(request.tenant_id, order, now=now).id
        request.save(by=WRITER)
        _put_on_record(scope, request, receipts.LAST_CONFIRMED, now, reason=words if is_second else "")
        holds.require_none(request.tenant_id, terms)  # under the lock of the chain, which placing a hold takes as well
        if queue is not None:
            queue(request)
        by = scope.principal.id
        transaction.on_commit(lambda: _keep_in_journal(request, terms, _rows(request, Decision.TICKED), by))
    return request


def _needs_second(scope: TenantScope) -> bool:
    """Whether the policy has two people confirm; a restore repeats what they confirmed already."""
    return scope.principal.kind != HOST and memory_policy.policy_of(scope.tenant_id).forget_second_person


def _require_confirmable_by(scope: TenantScope, request: ForgetRequest, decided: list[str], now: datetime) -> None:
    if request.state != ForgetState.AWAITING:
        return _require_ready(request, now)
    if request.lapses_at <= now:
        raise Conflict("No second person confirmed this in time; look for the subject again.", state=ForgetState.LAPSED)
    if is_first_person(scope, request):
        raise SecondPersonNeeded(state=request.state)
    if decided:
        problem = {"field": "suspected", "message": "was decided with the first confirmation"}
        raise Invalid("The request was not confirmed.", errors=[problem])
    return None


def is_first_person(scope: TenantScope, request: ForgetRequest) -> bool:
    """Whether the first confirmation was this person's word, by whatever login or key."""
    first = [request.first_confirmed_by]
    return bool(access.same_people(scope.tenant_id, scope.principal.people, first))


def _confirmed_first(scope: TenantScope, request: ForgetRequest, now: datetime) -> ForgetRequest:
    """The request waits for a second person; on record, with nothing removed."""
    request.state, request.confirmed_at, request.first_confirmed_by = ForgetState.AWAITING, now, scope.principal.person
    request.lapses_at = now + LIFETIME_FOR_SECOND
    request.save(by=WRITER)
    _put_on_record(scope, request, receipts.FIRST_CONFIRMED, now)
    return request


@transaction.atomic
def withdraw(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> ForgetRequest:
    """A request that awaits a second person is over, whichever of those who may forget asks for it; on record."""
    request = _locked(plans.find(scope, request_id))
    if request.state != ForgetState.AWAITING:
        raise Conflict("Only a request that awaits a second person can be withdrawn.", state=request.state)
    _put_on_record(scope, request, "forget.withdrawn", now)
    return _end_preview(request, ForgetState.LAPSED)


def _put_on_record(
    scope: TenantScope, request: ForgetRequest, action: str, now: datetime, *, reason: str = "", **more: int
) -> None:
    """Audit an act on the request, with the keyed hashes of its subject and plan."""
    audit.append(
        request.tenant_id,
        actor=scope.principal.id,
        action=action,
        target=ids.wire("fgt", request.id),
        details={"subjectKey": request.subject_key, "planSha256": request.plan_sha256, **more},
        reason=reason,
        now=now,
    )


def open_copy(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> SubjectCopy:
    """What memory holds of the subject of a preview, to be handed out; that this was asked for is on record.

    Refuses where ``confirm`` would: what is handed out is what the preview shows, with the suspects that were chosen.
    """
    request = plans.find(scope, request_id)
    _require_ready(request, now)
    terms = plans.open_terms(request)
    holdings = _search_again(request, terms)
    _require_unchanged(request, plans.plan_of(holdings))
    found = SubjectCopy(request, terms, holdings, _rows(request, Decision.TICKED), now)
    with transaction.atomic():
        _put_on_record(scope, request, "forget.copied", now, rows=found.total)
    return found


def _search_again(request: ForgetRequest, terms: tuple[str, ...]) -> list[Holding]:
    return list(plans.going_of(request.tenant_id, plans.subject_of(request, terms)))


def _keep_in_journal(
    request: ForgetRequest, terms: tuple[str, ...], chosen: dict[str, frozenset[UUID]], by: str
) -> None:
    """Add the forget to the journal, so that a restore of an older backup repeats it.

    A repeated forget, which the host itself confirms, is in the journal already. A second line would make restores of
    later backups erase what was written after the first one.
    """
    if by == HOST:
        return
    journal.record(request, terms, [row.hex for rows in chosen.values() for row in rows])


def _locked(request: ForgetRequest) -> ForgetRequest:
    row: ForgetRequest = ForgetRequest.objects.of(request.tenant_id).select_for_update().get(id=request.id)
    return row


def _require_ready(request: ForgetRequest, now: datetime) -> None:
    if request.state == ForgetState.BUILDING:
        raise Conflict("The preview is still being built.", state=request.state)
    if request.state in (ForgetState.LAPSED, ForgetState.FAILED):
        raise Conflict("The preview has ended; preview the subject again.", state=request.state)
    if request.state == ForgetState.AWAITING:
        raise Conflict("This request awaits a second person; what to forget is decided.", state=request.state)
    if request.state != ForgetState.PREVIEWED:
        raise Conflict("This request was confirmed already.", state=request.state)
    if request.lapses_at <= now:
        raise Conflict("The preview has expired; preview the subject again.", state=ForgetState.LAPSED)


def check_confirmation(scope: TenantScope, request: ForgetRequest, typed: str | None, reason: str | None) -> None:
    """Refuse what ``confirm`` would refuse of the typed subject and the reason; None is not looked at."""
    _require_confirmable(request, terms_of(scope, request), typed=typed, reason=reason)


def _require_confirmable(
    request: ForgetRequest, terms: tuple[str, ...], *, typed: str | None, reason: str | None
) -> str:
    """Return the reason as it is stored."""
    errors, stored = [], ""
    if typed is not None:
        key = plans.subject_key(request.tenant_id, " ".join(typed.split()))
        if not hmac.compare_digest(key, request.subject_key):
            errors.append({"field": "subject", "message": "is not the subject of this preview"})
    if reason is not None:
        stored, problem = check_reason(request.tenant_id, reason, required=True)
        if not problem and is_mentioned(terms, reason):
            problem = "must not name the subject: the reason stays on record"
        if problem:
            errors.append({"field": "reason", "message": problem})
    if errors:
        raise Invalid("The request was not confirmed.", errors=errors)
    return stored


def _require_unchanged(request: ForgetRequest, fresh: JSONObject) -> None:
    if hmac.compare_digest(plans.digest_of(fresh), request.plan_sha256):
        return
    changed = {
        store: {kind: fresh[store][kind] - request.plan.get(store, {}).get(kind, 0) for kind in ("erase", "suspected")}
        for store in fresh
        if any(fresh[store][name] != request.plan.get(store, {}).get(name) for name in plans.GOING)
    }
    raise Conflict("What matches has changed since the preview; preview again.", changed=changed)


def _choose(request: ForgetRequest, ticked: Collection[str], spared: Collection[str]) -> None:
    """Add the decisions of the confirmation to the earlier ones, and store their counts in the plan."""
    for rows, decision in ((ticked, Decision.TICKED), (spared, Decision.SPARED)):
        for part in sql.in_chunks(UUID(hex=row) for row in rows):
            found = _suspects(request).filter(row_id__in=part)
            if set(part) - set(found.values_list("row_id", flat=True)):
                problem = {"field": "suspected", "message": "names a row that is not a suspected row of this preview"}
                raise Invalid("The request was not confirmed.", errors=[problem])
            _decide(request, found, decision)
    decided = plans.count_decisions(request)
    for store, entry in request.plan.items():
        entry["chosen"] = decided.get((store, Decision.TICKED), 0)
        entry["spared"] = decided.get((store, Decision.SPARED), 0)
        entry["erased"] = 0


def execute(tenant_id: UUID, request_id: UUID, *, holder: str, now: datetime, clock: Clock) -> ForgetRequest | None:
    """Carry out a confirmed request: erase, verify, receipt. None when another worker has claimed it or it is over.

    What names the subject goes as it is found now, and what was ticked; what appears while that goes on is found by the
    verification, and goes in the next round. Interrupted anywhere, the next worker does the same with what is left.
    ``clock`` gives the time, for leases.
    """
    request: ForgetRequest | None = ForgetRequest.objects.of(tenant_id).filter(id=request_id).first()
    if request is None or request.state != ForgetState.CONFIRMED or request.pass_id is None:
        return None
    work = passes.claim(tenant_id, request.pass_id, holder=holder, now=now)
    if work is None:
        return None
    if work.attempts > passes.MAX_ATTEMPTS:
        return _leave_residue(request, work, {}, GIVEN_UP, clock())
    try:
        return _carry_out(request, work, clock)
    except LostClaim:
        return None


def _carry_out(request: ForgetRequest, work: Pass, clock: Clock) -> ForgetRequest:
    terms, chosen, spared = plans.open_terms(request), _rows(request, Decision.TICKED), _rows(request, Decision.SPARED)
    _keep_in_journal(request, terms, chosen, work.requested_by)
    pace, subject = Pace(), plans.subject_of(request, terms)
    for _ in range(ROUNDS):
        gone, doubtful = 0, dict[str, int]()
        for eraser in erasure.registered():
            found = erasure.find_going(eraser, request.tenant_id, subject)
            gone += _erase_store(request, work, eraser, subject, found.erase, chosen, pace, clock)
            doubtful[eraser.store] = _undecided(found, chosen, spared)
        remains = _verify(request, work, Identifiers(terms), chosen, spared, clock)
        if not any(each.left for each in remains.values()):
            remains = _with_undecided(request, remains, Identifiers(terms), doubtful, chosen, spared)
            done = _issue_receipt(request, work, remains, clock())
            _drop_suspects(done)
            return done
        if not gone:
            break
        subject = Identifiers(terms)
    residue = {store: found.left for store, found in remains.items()}
    return _leave_residue(request, work, residue, RESIDUE_FOUND, clock())


def _with_undecided(
    request: ForgetRequest,
    remains: dict[str, Remains],
    subject: Identifiers,
    doubtful: Mapping[str, int],
    chosen: Mapping[str, frozenset[UUID]],
    spared: Mapping[str, frozenset[UUID]],
) -> dict[str, Remains]:
    """``remains`` with every suspect that no person has decided about. The finding decodes, so it sees more of them
    than the verification, such as a tagged address inside base64; where it saw more, it looks once again."""
    counted = dict(remains)
    for eraser in erasure.registered():
        undecided = remains[eraser.store].undecided
        if doubtful[eraser.store] > undecided:
            left = _undecided(eraser.find(request.tenant_id, subject), chosen, spared)
            counted[eraser.store] = replace(remains[eraser.store], undecided=max(left, undecided))
    return counted


def _undecided(found: Holding, chosen: Mapping[str, frozenset[UUID]], spared: Mapping[str, frozenset[UUID]]) -> int:
    decided = chosen.get(found.store, frozenset()) | spared.get(found.store, frozenset())
    return len(set(found.suspected) - decided)


def _rows(request: ForgetRequest, decision: str) -> dict[str, frozenset[UUID]]:
    """The rows decided so, by store."""
    found: dict[str, set[UUID]] = {}
    for store, row in _suspects(request).filter(decision=decision).values_list("store", "row_id").iterator():
        found.setdefault(store, set()).add(row)
    return {store: frozenset(rows) for store, rows in found.items()}


def _erase_store(
    request: ForgetRequest,
    work: Pass,
    eraser: Eraser,
    subject: Identifiers,
    exact: tuple[UUID, ...],
    chosen: Mapping[str, frozenset[UUID]],
    pace: Pace,
    clock: Clock,
) -> int:
    """Erase from one store what names the subject and what was ticked; return how many rows were changed."""
    entry = request.plan.setdefault(eraser.store, {"erase": 0, "chosen": 0, "spared": 0, "erased": 0})
    before: int = entry["erased"]
    for rows, ticked in ((exact, False), (tuple(sorted(chosen.get(eraser.store, ()))), True)):
        at = 0
        while at < len(rows):
            part = rows[at : at + _portion(request.tenant_id, eraser, rows[at : at + pace.size + 1], pace.size)]
            with sql.log_moved(), transaction.atomic():
                began = time.perf_counter()  # from here on others wait for us; waiting for them delays no one else
                _erase_part(request, work, eraser, subject, part, ticked=ticked, now=clock())
            at += len(part)
            pace.breathe(len(part), time.perf_counter() - began)
    return int(entry["erased"]) - before


def _portion(tenant_id: UUID, eraser: Eraser, rows: tuple[UUID, ...], room: int) -> int:
    """How many of the next ``rows`` go in one transaction with room for so many."""
    if isinstance(eraser, Portioned) and len(rows) > room:
        return eraser.portion(tenant_id, rows)
    return room


def _erase_part(
    request: ForgetRequest,
    work: Pass,
    eraser: Eraser,
    subject: Identifiers,
    rows: tuple[UUID, ...],
    *,
    ticked: bool,
    now: datetime,
) -> None:
    """These rows are gone, counted and on record as progress; in one transaction, so all of that or nothing."""
    erased = eraser.erase(request.tenant_id, subject, rows, ticked=ticked, now=now)
    if erased:
        ledger.erase.mark_erased(request.tenant_id, now=now)
        request.plan[eraser.store]["erased"] += erased
        request.save(by=WRITER, update_fields=["plan"])
    done = sum(store["erased"] for store in request.plan.values())
    total = sum(store["erase"] + store["chosen"] for store in request.plan.values())
    passes.progress(work, done=done, total=max(total, done), doing=f"erasing {eraser.store}", now=now)


def _verify(
    request: ForgetRequest,
    work: Pass,
    subject: Identifiers,
    chosen: Mapping[str, frozenset[UUID]],
    spared: Mapping[str, frozenset[UUID]],
    clock: Clock,
) -> dict[str, Remains]:
    """What every store still holds, counted by another path than the one that found it."""
    remains, nothing = {}, frozenset[UUID]()
    passes.progress(work, done=work.done, total=work.total, doing="verifying", now=clock())
    for eraser in erasure.registered():
        passes.report(work, done=work.done, total=work.total, doing=f"verifying {eraser.store}", now=clock())
        decided = {"chosen": chosen.get(eraser.store, nothing), "spared": spared.get(eraser.store, nothing)}
        remains[eraser.store] = eraser.remains(request.tenant_id, subject, **decided)
    return remains


def _leave_residue(
    request: ForgetRequest, work: Pass, residue: dict[str, int], failure: Failure, now: datetime
) -> ForgetRequest:
    """There is no receipt; in its place stands why, and what was found."""
    request.state, request.found = ForgetState.RESIDUE, b""
    request.receipt = {"residue": residue, "code": failure.code, "reason": failure.message}
    with transaction.atomic():
        request.save(by=WRITER, update_fields=["state", "receipt", "found"])
        passes.fail(work, failure, now=now)
    return request


def failure_of(request: ForgetRequest) -> str:
    """Why a preview could not be built, in a sentence; empty when that is not known or it did not fail."""
    work = request.background if request.state == ForgetState.FAILED else None
    return PREVIEW_FAILURES.get(work.code, "") if work else ""


@transaction.atomic
def _issue_receipt(request: ForgetRequest, work: Pass, remains: dict[str, Remains], now: datetime) -> ForgetRequest:
    gone = archives.withdrawn_by_forget(request.tenant_id, since=request.confirmed_at or now)
    record = audit.append(
        request.tenant_id,
        actor=request.requested_by,
        action="forget.completed",
        target=ids.wire("fgt", request.id),
        details={"subjectKey": request.subject_key, "counts": receipts.counts(request, remains)},
        now=now,
    )
    anew = archives.redistil(request.tenant_id, gone, now=now)
    request.receipt = receipts.document(request, work, remains, gone, anew, audit_seq=record.seq, now=now)
    request.signature = receipts.signature_of(request.receipt)
    request.undecided = sum(each.undecided for each in remains.values())
    request.state, request.finished_at = ForgetState.FORGOTTEN, now
    request.sealed_terms = request.found = b""
    request.save(by=WRITER)
    _settle(request)
    _forget_previews(ForgetRequest.objects.of(request.tenant_id).filter(subject_key=request.subject_key))
    passes.finish(work, now=now)
    return request


def _settle(request: ForgetRequest) -> None:
    """Set ``undecided`` to 0 on earlier requests for these names or some of them: this receipt counts theirs."""
    known = {request.subject_key, *request.term_keys}
    others = ForgetRequest.objects.of(request.tenant_id).filter(undecided__gt=0).exclude(id=request.id)
    settled = [
        row
        for row, first, keys in others.values_list("id", "subject_key", "term_keys")
        if known.issuperset(keys or [first])
    ]
    writable = ForgetRequest.objects.written_by(WRITER).filter(tenant_id=request.tenant_id, id__in=settled)
    writable.update(undecided=0)


@transaction.atomic
def retry(scope: TenantScope, request_id: UUID | None, *, now: datetime) -> ForgetRequest:
    """A request that left residue waits for a worker again, in a window of its own."""
    scope.check("memory:forget")
    request = _locked(plans.find(scope, request_id))
    if request.state != ForgetState.RESIDUE:
        raise Conflict("Only a request that left residue can be run again.", state=request.state)
    holds.require_none(request.tenant_id, plans.open_terms(request))
    window = f"{request.id.hex}/{secrets.token_hex(8)}"
    work = passes.request(request.tenant_id, PassOrder(KIND, window, requested_by=scope.principal.id), now=now)
    request.state, request.pass_id, request.receipt = ForgetState.CONFIRMED, work.id, None
    request.save(by=WRITER, update_fields=["state", "pass_id", "receipt"])
    return request


def lapse_previews(*, now: datetime) -> int:
    """Erase the subject's names from previews that were not confirmed or not built in time; return how many.

    A worker that still builds one is asked to stop.
    """
    late = ForgetRequest.objects.filter(state=ForgetState.BUILDING, lapses_at__lte=now)
    waited = ForgetRequest.objects.filter(state__in=(ForgetState.PREVIEWED, ForgetState.AWAITING))
    lapsed = waited.filter(lapses_at__lte=now - KEPT_AFTER_LAPSING)
    count = sum(_lapse(request, now) for request in late) + _forget_previews(lapsed)
    suspects = Suspect.objects.filter(tenant_id=OuterRef("tenant_id"), request_id=OuterRef("id"))
    over = (ForgetState.LAPSED, ForgetState.FAILED, ForgetState.FORGOTTEN)
    for request in ForgetRequest.objects.filter(Exists(suspects), state__in=over):
        _drop_suspects(request)
    return count


@transaction.atomic
def _lapse(request: ForgetRequest, now: datetime) -> int:
    work = passes.find(request.tenant_id, request.pass_id) if request.pass_id else None
    if work is not None and work.state in passes.OPEN:
        passes.request_stop(request.tenant_id, work.id, now=now)
    return _forget_previews(ForgetRequest.objects.of(request.tenant_id).filter(id=request.id))


def _forget_previews(rows: QuerySet[ForgetRequest]) -> int:
    waiting = (ForgetState.BUILDING, ForgetState.PREVIEWED, ForgetState.AWAITING)
    ids_of = list(rows.filter(state__in=waiting).values_list("tenant_id", "id"))
    for tenant_id, row in ids_of:
        writable = ForgetRequest.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=row, state__in=waiting)
        writable.update(state=ForgetState.LAPSED, sealed_terms=b"", plan={}, found=b"")
    return len(ids_of)
