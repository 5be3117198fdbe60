"""The forget requests of a tenant, for those who may forget: one, the newest, all, and those that need somebody."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from memory.host.errors import NotFound
from memory.host.paging import Page, behind, cut, read_page
from memory.host.tenancy import TenantScope
from memory.models import Decision, ForgetRequest, ForgetState, Suspect


def find(scope: TenantScope, request_id: UUID | None) -> ForgetRequest:
    """The request of this tenant, or ``NotFound``."""
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).select_related("background")
    row: ForgetRequest | None = rows.filter(id=request_id).first() if request_id else None
    if row is None:
        raise NotFound("There is no forget request by that id.")
    return row


def suspects(
    request: ForgetRequest, *, after: UUID | None = None, limit: int = 50
) -> tuple[list[Suspect], UUID | None]:
    """The rows behind ``after`` about which a person decides, store by store, and the last of them when there are
    more. The plan says how many there are in all."""
    rows = Suspect.objects.of(request.tenant_id).filter(request_id=request.id)
    shown, last = cut(list(behind(rows, after, "id")[: limit + 1]), limit)
    return shown, last.id if last else None


def newest(scope: TenantScope, *, before: UUID | None = None, limit: int = 50) -> Page[ForgetRequest]:
    """The tenant's requests, newest first, without those that were only previewed; ``before`` is the last one seen."""
    return read_page(_confirmed(scope), before, limit)


def export_requests(scope: TenantScope) -> Iterator[ForgetRequest]:
    """All of them, newest first, for a file."""
    yield from _confirmed(scope).order_by("-id").iterator(chunk_size=500)


def that_removed(scope: TenantScope, moment: datetime) -> ForgetRequest | None:
    """The request that was carried out when an entry was forgotten; None when more than one was, or none."""
    rows = _confirmed(scope).filter(confirmed_at__lte=moment, finished_at__gte=moment)
    found: list[ForgetRequest] = list(rows.order_by("id")[:2])
    return found[0] if len(found) == 1 else None


def unfinished(scope: TenantScope) -> QuerySet[ForgetRequest]:
    """The requests in progress or with residue, oldest first."""
    rows = _confirmed(scope).filter(state__in=(ForgetState.CONFIRMED, ForgetState.RESIDUE))
    return rows.order_by("id")


def with_undecided(scope: TenantScope) -> QuerySet[ForgetRequest]:
    """The finished requests with suspects that are without a decision, oldest first."""
    return _confirmed(scope).filter(state=ForgetState.FORGOTTEN, undecided__gt=0).order_by("id")


def previews_to_decide(scope: TenantScope, *, now: datetime) -> QuerySet[ForgetRequest]:
    """The previews that can still be confirmed and have suspects without a decision, oldest first."""
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).defer("plan", "found")
    suspects = Suspect.objects.of(scope.tenant_id).filter(request_id=OuterRef("id"), decision=Decision.UNDECIDED)
    return rows.filter(Exists(suspects), state=ForgetState.PREVIEWED, lapses_at__gt=now).order_by("id")


def _confirmed(scope: TenantScope) -> QuerySet[ForgetRequest]:
    scope.check("memory:forget")
    rows = ForgetRequest.objects.of(scope.tenant_id).defer("plan", "found")
    return rows.filter(confirmed_at__isnull=False)
