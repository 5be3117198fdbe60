"""The operators of a tenant, for those who manage them: list, change the role, deactivate, activate again."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from memory.host import access, audit, ids
from memory.host.access import OWNER
from memory.host.errors import Invalid, LastOwner, NotFound
from memory.host.json_types import JSONObject
from memory.host.keys import check_manager
from memory.host.models import Membership, RoleGrant
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

SCOPE = "operators:manage"


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """An operator of one tenant, as they are listed there."""

    row: Membership
    email: str
    roles: list[str]

    @property
    def principal(self) -> str:
        return ids.wire("usr", self.row.operator_id)


def list_operators(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[OperatorRecord]:
    """The operators who joined after ``after``, in that order, deactivated ones too."""
    scope.check(SCOPE)
    rows = Membership.objects.of(scope.tenant_id).select_related("operator")
    last = rows.filter(operator_id=after).first() if after else None
    if after and last is None:
        return Page([], rows.count())
    page = read_page(rows, last and last.id, limit, order="id")
    return Page(_records(scope.tenant_id, page.rows), page.total, page.rows[-1].operator_id if page.after else None)


def find(scope: TenantScope, operator_id: UUID | None) -> OperatorRecord:
    scope.check(SCOPE)
    return _records(scope.tenant_id, [_member(scope, operator_id)])[0]


@transaction.atomic
def change(
    scope: TenantScope, operator_id: UUID | None, *, role: str = "", active: bool | None = None, now: datetime
) -> OperatorRecord:
    """The operator has ``role`` and no other, and may sign in to this tenant or not; what is not named stays.

    A change ends their sessions here; deactivation stops their keys too. The last active owner stays one.
    """
    check_manager(scope, SCOPE, *([role] if role else []))
    if not role and active is None:
        raise Invalid(errors=[{"field": "body", "message": "must name a role, or whether the operator is active"}])
    access.lock_tenant(scope.tenant_id)
    found = find(scope, operator_id)
    check_manager(scope, SCOPE, *found.roles)
    wanted_roles = [role] if role else found.roles
    wanted_active = found.row.is_active if active is None else active
    if wanted_roles == found.roles and wanted_active == found.row.is_active:
        return found
    loses = OWNER in found.roles and found.row.is_active and not (OWNER in wanted_roles and wanted_active)
    if loses and not _other_owners(scope.tenant_id, found.row.operator_id):
        raise LastOwner
    _apply(scope, found, wanted_roles, wanted_active, now)
    return find(scope, operator_id)


def _apply(scope: TenantScope, found: OperatorRecord, roles: list[str], active: bool, now: datetime) -> None:
    """The rows and the records of what changed; the sessions that began before are over."""
    rows = Membership.objects.written_by(access.WRITER).filter(tenant_id=scope.tenant_id, id=found.row.id)
    rows.update(is_active=active, generation=F("generation") + 1)
    said: list[tuple[str, JSONObject]] = []
    if roles != found.roles:
        access.replace_roles(scope.tenant_id, found.principal, roles[0], now=now)
        said.append(("operator.role_changed", {"from": found.roles, "to": roles[0]}))
    if active != found.row.is_active:
        said.append(("operator.activated" if active else "operator.deactivated", {}))
    for action, details in said:
        audit.append(
            scope.tenant_id,
            actor=scope.principal.id,
            action=action,
            target=found.principal,
            details=details,
            now=now,
        )


def _other_owners(tenant_id: UUID, operator_id: UUID) -> bool:
    """Whether another person who can sign in is an owner of this tenant."""
    holders = RoleGrant.objects.of(tenant_id).filter(role=OWNER).values_list("principal", flat=True)
    people = {found for each in holders if (found := ids.parse("usr", each))} - {operator_id}
    return bool(Membership.objects.of(tenant_id).filter(operator_id__in=people, is_active=True).exists())


def _member(scope: TenantScope, operator_id: UUID | None) -> Membership:
    rows = Membership.objects.of(scope.tenant_id).select_related("operator")
    found: Membership | None = rows.filter(operator_id=operator_id).first() if operator_id else None
    if found is None:
        raise NotFound("There is no operator by that id.")
    return found


def _records(tenant_id: UUID, rows: list[Membership]) -> list[OperatorRecord]:
    held = access.roles_held(tenant_id, [ids.wire("usr", row.operator_id) for row in rows])
    return [OperatorRecord(row, row.operator.email, held.get(ids.wire("usr", row.operator_id), [])) for row in rows]
