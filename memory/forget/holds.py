"""Legal holds: a subject that is not forgotten until the hold is ended, each with a reason, on record."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory import redaction
from memory.forget import plans
from memory.host import audit, ids
from memory.host.errors import Conflict, Invalid, NotFound, SubjectOnHold
from memory.host.paging import Page, behind, cut, read_all, read_page
from memory.host.tenancy import TenantScope
from memory.models import ForgetHold, ForgetRequest, ForgetState
from memory.reasons import stored_reason
from memory.text.matching import is_exact
from memory.wire import instant

WRITER = "memory.forget.holds"
SCOPE = "memory:forget"


@transaction.atomic
def place(scope: TenantScope, names: list[str], *, reason: str, now: datetime) -> ForgetHold:
    """Refuse every forget of one of ``names`` from now on; audited with the reason.

    ``names`` are folded as those of a forget. Refuses what a forget would refuse, a name that is a secret, an empty
    reason, and a subject that is being forgotten already.
    """
    scope.check(SCOPE)
    terms, words = _holdable(scope.tenant_id, names), stored_reason(scope.tenant_id, reason, required=True)
    hold = ForgetHold(
        tenant_id=scope.tenant_id, terms=list(terms), reason=words, set_by=scope.principal.id, created_at=now
    )
    hold.insert(by=WRITER)
    _put_on_record(scope.tenant_id, hold, scope.principal.id, "forget.hold.set", words, now)
    if _is_being_forgotten(scope.tenant_id, terms):
        raise Conflict("A confirmed forget of this subject is in progress.", state=ForgetState.CONFIRMED)
    return hold


@transaction.atomic
def end(scope: TenantScope, hold_id: UUID | None, *, reason: str, now: datetime) -> ForgetHold:
    """The hold is over and stays on record, with the reason; refuses one that is over already."""
    found, words = find(scope, hold_id), stored_reason(scope.tenant_id, reason, required=True)
    hold: ForgetHold = ForgetHold.objects.of(scope.tenant_id).select_for_update().get(id=found.id)
    if hold.ended_at is not None:
        raise Conflict("This hold has already ended.", state="ended")
    return _end_hold(hold, scope.principal.id, words, now)


def end_for_restore(tenant_id: UUID, terms: Sequence[str], *, now: datetime) -> None:
    """End the holds on a subject on the restored copy of a backup: it was forgotten after the backup was made."""
    for hold in active_on(tenant_id, terms):
        _end_hold(hold, "host", "The subject was forgotten after the backup was made.", now)


def _end_hold(hold: ForgetHold, actor: str, reason: str, now: datetime) -> ForgetHold:
    hold.ended_at, hold.ended_by, hold.end_reason = now, actor, reason
    hold.save(by=WRITER, update_fields=["ended_at", "ended_by", "end_reason"])
    _put_on_record(hold.tenant_id, hold, actor, "forget.hold.ended", reason, now)
    return hold


def _put_on_record(tenant_id: UUID, hold: ForgetHold, actor: str, action: str, reason: str, now: datetime) -> None:
    target = ids.wire("hld", hold.id)
    audit.append(
        tenant_id, actor=actor, action=action, target=target, details={"names": len(hold.terms)}, reason=reason, now=now
    )


def find(scope: TenantScope, hold_id: UUID | None) -> ForgetHold:
    """The hold of this tenant, or ``NotFound``."""
    scope.check(SCOPE)
    row: ForgetHold | None = ForgetHold.objects.of(scope.tenant_id).filter(id=hold_id).first() if hold_id else None
    if row is None:
        raise NotFound("There is no legal hold by that id.")
    return row


def newest(scope: TenantScope, *, before: UUID | None = None, limit: int = 50) -> Page[ForgetHold]:
    """The tenant's holds, ended ones too, newest first; ``before`` is the last one seen."""
    scope.check(SCOPE)
    return read_page(ForgetHold.objects.of(scope.tenant_id), before, limit)


def export_holds(scope: TenantScope) -> Iterator[ForgetHold]:
    """All of them, newest first, for a file."""
    scope.check(SCOPE)
    for part in read_all(ForgetHold.objects.of(scope.tenant_id)):
        yield from part


def active(scope: TenantScope, *, limit: int) -> Page[ForgetHold]:
    """The newest holds that are in force."""
    scope.check(SCOPE)
    rows = _active(scope.tenant_id)
    shown, last = cut(list(behind(rows, None)[: limit + 1]), limit)
    return Page(shown, rows.count() if last else len(shown))


def active_on(tenant_id: UUID, terms: Sequence[str]) -> list[ForgetHold]:
    """The holds in force on one of ``terms``, which are folded, the oldest first; also those of a longer name of which
    one is a part, or of a shorter one: forgetting Kowalska removes what says Marta Kowalska."""
    rows: Iterator[ForgetHold] = _active(tenant_id).order_by("id").iterator(chunk_size=500)
    return [hold for hold in rows if any(_overlap(name, term) for name in hold.terms for term in terms)]


def _overlap(name: str, term: str) -> bool:
    shorter, longer = sorted((name, term), key=len)
    return shorter in longer and is_exact((shorter,), longer)


def require_none(tenant_id: UUID, terms: Sequence[str]) -> None:
    """Refuses with the reason of the first of ``active_on``, who set it and when."""
    for hold in active_on(tenant_id, terms):
        raise SubjectOnHold(
            holdId=ids.wire("hld", hold.id), reason=hold.reason, setBy=hold.set_by, since=instant(hold.created_at)
        )


def _active(tenant_id: UUID) -> QuerySet[ForgetHold]:
    return ForgetHold.objects.of(tenant_id).filter(ended_at__isnull=True)


def _holdable(tenant_id: UUID, names: list[str]) -> tuple[str, ...]:
    redact = redaction.for_tenant(tenant_id).redact
    if any(redact(name).text != name for name in names):
        problem = {"field": "subject", "message": "holds a secret, which is kept nowhere but in the vault"}
        raise Invalid("The subject was not put on hold.", errors=[problem])
    return plans.terms_of(names)


def _is_being_forgotten(tenant_id: UUID, terms: Sequence[str]) -> bool:
    """Whether a confirmed forget of one of ``terms``, or of a part of one, is still to be done."""
    rows = ForgetRequest.objects.of(tenant_id).filter(state=ForgetState.CONFIRMED)
    return any(_overlap(known, term) for row in rows for known in plans.open_terms(row) for term in terms)
