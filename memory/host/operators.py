"""The operators of a tenant: create, list, invite, change roles, deactivate, reset a password or second factor."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from memory.host import access, api_keys, audit, ids, second_factors, vault
from memory.host.access import OWNER
from memory.host.errors import Conflict, Invalid, LastOwner, NotFound
from memory.host.json_types import JSONObject
from memory.host.key_management import check_manager
from memory.host.models import Membership, Operator, RoleGrant, Tenant
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope, host_scope

SCOPE = "operators:manage"
LINK_IS_OVER = "This link was used, or has expired. Ask for a new one."


class _JoinTokens(PasswordResetTokenGenerator):
    """Tokens of links that set no password: with one a person who has an account accepts an invitation.

    They are of a membership and its generation, so that signing in does not use them up.
    """

    key_salt = "memory.host.operators.join"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        return f"{user.tenant_id}{user.id}{user.operator_id}{user.generation}{timestamp}"


_set_tokens, _join_tokens = PasswordResetTokenGenerator(), _JoinTokens()


def create_operator(tenant: Tenant, email: str, *, role: str, password: str | None = "", now: datetime) -> Operator:
    """Create an operator of ``tenant`` with one role; with the password None they have to set one before they sign in.

    A person whose address exists becomes a member of this tenant too and keeps their password; one who was deactivated
    or invited here is active, without the keys that they had. Weak passwords are refused, and so is an active operator
    of this tenant.
    """
    access.require_role_name(role)
    fresh = prepare_operator(email, password, now=now)
    return admit_operator(tenant, email, fresh, role=role, now=now)


@transaction.atomic
def admit_operator(
    tenant: Tenant,
    email: str,
    fresh: Operator | None,
    *,
    role: str,
    actor: str = "host",
    by_invitation: bool = False,
    now: datetime,
) -> Operator:
    """Make the person with that address, or ``fresh`` when there is none, an active operator of the tenant.

    By invitation, a person who can sign in already, or is known to another tenant, has to accept before they are one.
    A person who cannot sign in yet gets the password of ``fresh``, if it has one: the link that another tenant gave for
    the first password opens nothing any more.
    """
    access.lock_tenant(tenant.id)
    operator = access.operator_by_email(email) or _new_operator(fresh)
    if fresh and operator.id != fresh.id and fresh.has_usable_password() and not access.can_sign_in(operator):
        access.store_password(operator, fresh.password, action="operator.password_set", actor=actor, now=now)
    principal = ids.wire("usr", operator.id)
    membership = access.membership_of(tenant.id, operator.id)
    if membership and membership.is_active:
        raise Conflict("An operator with this e-mail address exists already in this tenant.")
    if membership and by_invitation and membership.invitation == Membership.OPEN:
        raise Conflict("This person is invited already. Make a new link in the list of operators.")
    is_open = by_invitation and (
        operator.has_usable_password() or bool(access.members_elsewhere(tenant.id, [operator.id]))
    )
    invitation = Membership.OPEN if is_open else ""
    if membership:
        api_keys.revoke_keys_of(tenant.id, operator.id, actor=actor, now=now)
        membership.is_active, membership.invitation = not is_open, invitation
        membership.has_joined = membership.has_joined or not is_open
        membership.generation += 1
        membership.save(by=access.WRITER, update_fields=["is_active", "invitation", "has_joined", "generation"])
    else:
        membership = Membership(tenant_id=tenant.id, operator=operator, created_at=now)
        membership.is_active, membership.invitation, membership.has_joined = not is_open, invitation, not is_open
        membership.insert(by=access.WRITER)
    access.replace_roles(tenant.id, principal, role, now=now)
    action = "operator.invited" if is_open else "operator.created"
    audit.append(tenant.id, actor=actor, action=action, target=principal, details={"role": role}, now=now)
    return operator


def prepare_operator(email: str, password: str | None, *, now: datetime) -> Operator | None:
    """Build a person with their hashed password, for ``admit_operator``; None when the address exists already.

    A person who exists and cannot sign in yet is built when a password is given, which becomes theirs.
    Call it outside of transactions: hashing is slow and runs at low priority, and writers to SQLite would wait for it.
    """
    known = access.operator_by_email(email)
    if known and (not password or access.can_sign_in(known)):
        return None
    operator = Operator(email=access.email_form(email), created_at=now)
    try:
        validate_email(operator.email)
        if password is not None:
            validate_password(password, operator)
    except ValidationError as problem:
        errors = [{"field": "operator", "message": message} for message in problem.messages]
        raise Invalid("The operator is not valid: " + " ".join(problem.messages), errors=errors) from None
    operator.set_password(password)
    return operator


def _new_operator(fresh: Operator | None) -> Operator:
    try:
        if fresh is None:  # the address belonged to another login until now
            raise IntegrityError
        with transaction.atomic():
            fresh.save(force_insert=True)
    except IntegrityError:
        raise Conflict("An operator with this e-mail address was created or changed just now; try again.") from None
    return fresh


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """An operator as one tenant lists them.

    The last sign-in is hidden for a person who is an operator of another tenant too, and all of the login of one who
    has not accepted their invitation.
    """

    row: Membership
    email: str
    roles: list[str]
    has_password: bool
    has_second_factor: bool
    last_sign_in: datetime | None

    @property
    def principal(self) -> str:
        return ids.wire("usr", self.row.operator_id)

    @property
    def state(self) -> str:
        """The word for it: ``active``, ``deactivated``, ``withdrawn``, or ``invited`` for one who has yet to come."""
        if self.row.is_active:
            return "active" if self.has_password else "invited"
        return {Membership.OPEN: "invited"}.get(self.row.invitation, self.row.invitation) or "deactivated"


def list_operators(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[OperatorRecord]:
    """Return the operators who joined after the operator ``after``, in order, deactivated ones too."""
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
    """Change the operator's role, or whether they may sign in to this tenant; what is not named stays.

    A change ends their sessions here; deactivation revokes their keys too, and withdraws an open invitation. The last
    active owner cannot be demoted or deactivated, and who has not accepted an invitation cannot be activated.
    """
    check_manager(scope, SCOPE, *([role] if role else []))
    if not role and active is None:
        raise Invalid(errors=[{"field": "body", "message": "must name a role, or whether the operator is active"}])
    access.lock_tenant(scope.tenant_id)
    found = find(scope, operator_id)
    check_manager(scope, SCOPE, *found.roles)
    wanted_roles = [role] if role else found.roles
    wanted_active = found.row.is_active if active is None else active
    if found.row.invitation and active:
        raise Conflict("This person has not accepted the invitation. Make a new link for it.", rule="not-accepted")
    if active is False and found.row.invitation == Membership.OPEN:
        _withdraw(scope, found, now)
        found = find(scope, operator_id)
    if wanted_roles == found.roles and wanted_active == found.row.is_active:
        return found
    loses = OWNER in found.roles and found.row.is_active and not (OWNER in wanted_roles and wanted_active)
    if loses and not _other_owners(scope.tenant_id, found.row.operator_id):
        raise LastOwner
    _apply(scope, found, wanted_roles, wanted_active, now)
    if active is not None:  # a group does not undo a person's decision
        _memberships(scope.tenant_id, found.row.operator_id).update(from_groups=False)
    return find(scope, operator_id)


def _withdraw(scope: TenantScope, found: OperatorRecord, now: datetime) -> None:
    """Withdraw the invitation; its link opens nothing from now on."""
    rows = _memberships(scope.tenant_id, found.row.operator_id)
    rows.update(invitation=Membership.WITHDRAWN, generation=F("generation") + 1)
    _record(scope, found, "operator.invitation_withdrawn", {}, now)


def _record(scope: TenantScope, found: OperatorRecord, action: str, details: JSONObject, now: datetime) -> None:
    who, target = scope.principal.id, found.principal
    audit.append(scope.tenant_id, actor=who, action=action, target=target, details=details, now=now)


def _memberships(tenant_id: UUID, operator_id: UUID) -> QuerySet[Membership]:
    rows: QuerySet[Membership] = Membership.objects.written_by(access.WRITER).filter(
        tenant_id=tenant_id, operator_id=operator_id
    )
    return rows


def _apply(scope: TenantScope, found: OperatorRecord, roles: list[str], active: bool, now: datetime) -> None:
    """Write and audit the changes, and end the earlier sessions. The link of an open invitation stays good."""
    rows = _memberships(scope.tenant_id, found.row.operator_id)
    rows.exclude(invitation=Membership.OPEN).update(is_active=active, generation=F("generation") + 1)
    said: list[tuple[str, JSONObject]] = []
    if roles != found.roles:
        access.replace_roles(scope.tenant_id, found.principal, roles[0], now=now)
        said.append(("operator.role_changed", {"from": found.roles, "to": roles[0]}))
    if active != found.row.is_active:
        said.append(("operator.activated" if active else "operator.deactivated", {}))
    for action, details in said:
        _record(scope, found, action, details, now)
    if active != found.row.is_active:
        actor = scope.principal.id
        api_keys.revoke_keys_of(scope.tenant_id, found.row.operator_id, actor=actor, now=now)


@transaction.atomic
def end_sessions(scope: TenantScope, operator_id: UUID | None, *, now: datetime) -> None:
    """Sign the person out of this tenant in every browser. They can sign in again; keys and other tenants stay."""
    check_manager(scope, SCOPE)
    access.lock_tenant(scope.tenant_id)
    found = find(scope, operator_id)
    check_manager(scope, SCOPE, *found.roles)
    _memberships(scope.tenant_id, found.row.operator_id).update(generation=F("generation") + 1)
    _record(scope, found, "operator.sessions_ended", {}, now)


def count_owners(tenant_id: UUID) -> int:
    """Count the people who are active owners of this tenant; keys and service accounts do not count."""
    return _owners(tenant_id).count()


def _other_owners(tenant_id: UUID, operator_id: UUID) -> bool:
    """Whether another active person is an owner of this tenant."""
    return _owners(tenant_id).exclude(operator_id=operator_id).exists()


def _owners(tenant_id: UUID) -> QuerySet[Membership]:
    holders = RoleGrant.objects.of(tenant_id).filter(role=OWNER).values_list("principal", flat=True)
    people = {found for each in holders if (found := ids.parse("usr", each))}
    rows: QuerySet[Membership] = Membership.objects.of(tenant_id).filter(operator_id__in=people, is_active=True)
    return rows


def _member(scope: TenantScope, operator_id: UUID | None) -> Membership:
    rows = Membership.objects.of(scope.tenant_id).select_related("operator")
    found: Membership | None = rows.filter(operator_id=operator_id).first() if operator_id else None
    if found is None:
        raise NotFound("There is no operator by that id.")
    return found


def _records(tenant_id: UUID, rows: list[Membership]) -> list[OperatorRecord]:
    held = access.roles_held(tenant_id, [ids.wire("usr", row.operator_id) for row in rows])
    elsewhere = access.members_elsewhere(tenant_id, {row.operator_id for row in rows})
    enrolled = second_factors.enrolled({row.operator_id for row in rows if not row.invitation})
    return [
        OperatorRecord(
            row,
            row.operator.email,
            held.get(ids.wire("usr", row.operator_id), []),
            has_password=row.operator.has_usable_password(),
            has_second_factor=row.operator_id in enrolled,
            last_sign_in=None if row.operator_id in elsewhere or row.invitation else row.operator.last_login,
        )
        for row in rows
    ]


@transaction.atomic
def join_by_groups(tenant: Tenant, email: str, *, role: str, now: datetime) -> Operator:
    """Make a person known to the sign-in provider an operator of this tenant, without a password."""
    operator = create_operator(tenant, email, role=role, password=None, now=now)
    _memberships(tenant.id, operator.id).update(from_groups=True)
    return operator


@transaction.atomic
def renew_login(operator: Operator, *, now: datetime) -> None:
    """Drop what opened the person's login: the password, second factors, sessions and the grants of clients.

    For a person whom the sign-in provider vouches for from now on: another may have made their account. API keys stay.
    """
    nothing = access.encode_password(operator, None)
    access.store_password(operator, nothing, action="operator.password_removed", actor="host", now=now)
    with suppress(NotFound):
        second_factors.reset(operator, actor="host", now=now)
    rows = Membership.objects.written_by(access.WRITER).filter(operator=operator, invitation="")
    rows.update(generation=F("generation") + 1)


@transaction.atomic
def follow_groups(operator: Operator, wanted: Mapping[Tenant, str], *, now: datetime) -> None:
    """Give the person the roles of their groups, by tenant.

    A membership from groups ends with them. A membership from a person stays, and so does the last active owner; a
    person's deactivation is not undone by a group. The provider vouches for the address, so an open invitation to a
    tenant of their groups is accepted. In the first tenant an owner may have reset the password, so that it is dropped
    with the second.
    """
    tenants = {tenant.id: tenant for tenant in wanted}
    known = Membership.objects.filter(operator=operator, from_groups=True).select_related("tenant")
    tenants |= {row.tenant_id: row.tenant for row in known}
    for tenant in sorted(tenants.values(), key=lambda each: each.id):
        access.lock_tenant(tenant.id)
        role = {each.id: name for each, name in wanted.items()}.get(tenant.id, "")
        row = access.membership_of(tenant.id, operator.id)
        is_open = row is not None and (row.from_groups or row.invitation == Membership.OPEN) and not row.is_active
        if role and (row is None or is_open):
            if operator.has_usable_password() and _is_of_one_other(operator, tenant.id):
                renew_login(operator, now=now)
            join_by_groups(tenant, operator.email, role=role, now=now)
        elif row and row.is_active:
            _follow_group(host_scope(tenant, scopes=access.ROLES[OWNER]), row, role, now)


def _is_of_one_other(operator: Operator, tenant_id: UUID) -> bool:
    """Whether the person is or was an operator of one tenant, and not of this one."""
    joined = Membership.objects.filter(operator=operator, has_joined=True).values_list("tenant_id", flat=True)
    return len(joined) == 1 and tenant_id not in joined


def _follow_group(scope: TenantScope, row: Membership, role: str, now: datetime) -> None:
    found = _records(scope.tenant_id, [row])[0]
    if OWNER in found.roles and role != OWNER and not _other_owners(scope.tenant_id, row.operator_id):
        return
    if found.roles != [role]:
        _apply(scope, found, [role] if role else found.roles, bool(role), now)
    if role:
        _memberships(scope.tenant_id, row.operator_id).update(from_groups=True)


@dataclass(frozen=True, slots=True)
class Invitation:
    """The person invited, or who is to set a new password, and the token of their link, which is shown once."""

    operator: Operator
    token: str


@transaction.atomic
def invite(scope: TenantScope, email: str, *, role: str, now: datetime) -> Invitation:
    """Make the person an operator of this tenant and return a link to set a password.

    A person who can sign in already, or is known to another tenant, has no right here before they accept, signed in, by
    the link: another may have made their account, and set its password. The link sets none, because who sets it would
    be that person elsewhere as well.
    """
    check_manager(scope, SCOPE, role)
    access.require_role_name(role)
    vault.require_plain(scope.tenant_id, "The operator is not valid.", {"operator": [access.email_form(email)]})
    tenant, actor = access.lock_tenant(scope.tenant_id), scope.principal.id
    fresh = prepare_operator(email, None, now=now)
    operator = admit_operator(tenant, email, fresh, role=role, actor=actor, by_invitation=True, now=now)
    return Invitation(operator, _token_of(_member(scope, operator.id)))


def _token_of(row: Membership) -> str:
    """Return a new token for the link of an invitation."""
    if row.invitation:
        return _join_tokens.make_token(row)  # type: ignore[arg-type]  # a membership in place of a person
    return _set_tokens.make_token(row.operator)


@transaction.atomic
def renew_link(scope: TenantScope, operator_id: UUID | None, *, now: datetime) -> Invitation:
    """Return a new link for a person who has not accepted; the earlier one opens nothing any more.

    A withdrawn invitation is open again.
    """
    check_manager(scope, SCOPE)
    access.lock_tenant(scope.tenant_id)
    found = find(scope, operator_id)
    check_manager(scope, SCOPE, *found.roles)
    if not found.row.invitation:
        raise Conflict("This person has accepted the invitation already.")
    rows = _memberships(scope.tenant_id, found.row.operator_id)
    rows.update(invitation=Membership.OPEN, generation=F("generation") + 1)
    _record(scope, found, "operator.invitation_renewed", {}, now)
    return Invitation(found.row.operator, _token_of(_member(scope, operator_id)))


def open_invitation(operator_id: UUID | None, token: str) -> Membership | None:
    """Return the membership that a link with this token offers; None when it was used, withdrawn or has expired."""
    if operator_id is None:
        return None
    rows = Membership.objects.filter(operator_id=operator_id, invitation=Membership.OPEN).select_related(
        "tenant", "operator"
    )
    is_good = _join_tokens.check_token
    return next((row for row in rows if is_good(row, token)), None)  # type: ignore[arg-type]  # as above


@transaction.atomic
def accept(operator: Operator, token: str, *, now: datetime) -> Membership:
    """Make the person, who is signed in, an active operator of the tenant of the link, which uses it up."""
    offered = open_invitation(operator.id, token)
    if offered:
        access.lock_tenant(offered.tenant_id)
        offered = open_invitation(operator.id, token)
    if offered is None:
        raise NotFound(LINK_IS_OVER)
    who = ids.wire("usr", operator.id)
    api_keys.revoke_keys_of(offered.tenant_id, operator.id, actor=who, now=now)
    rows = _memberships(offered.tenant_id, operator.id)
    rows.update(is_active=True, invitation="", has_joined=True, generation=F("generation") + 1)
    audit.append(offered.tenant_id, actor=who, action="operator.invitation_accepted", target=who, now=now)
    accepted = access.membership_of(offered.tenant_id, operator.id)
    if accepted is None:
        raise NotFound
    return accepted


@transaction.atomic
def reset_password(scope: TenantScope, operator_id: UUID | None, *, now: datetime) -> Invitation:
    """Invalidate the password, end the sessions, and return a link to set a new password.

    Refused for a person who is an operator of another tenant too: it is their password there as well; and for one who
    has not accepted an invitation.
    """
    operator = _own_operator(scope, operator_id, "They change the password themselves, under their name in the header.")
    nothing = access.encode_password(operator, None)
    access.store_password(operator, nothing, action="operator.password_reset", actor=scope.principal.id, now=now)
    return Invitation(operator, _set_tokens.make_token(operator))


@transaction.atomic
def reset_second_factor(scope: TenantScope, operator_id: UUID | None, *, now: datetime) -> None:
    """Remove the person's second factor, which they have lost, and end their sessions.

    Refused for a person who is an operator of another tenant too: it protects their login there as well.
    """
    operator = _own_operator(scope, operator_id, "The administrator of this host resets it by command.")
    second_factors.reset(operator, actor=scope.principal.id, now=now)


def _own_operator(scope: TenantScope, operator_id: UUID | None, otherwise: str) -> Operator:
    """Return an operator of this tenant alone, whose role is not above the caller's.

    ``otherwise`` completes the refusal for an operator of another tenant.
    """
    check_manager(scope, SCOPE)
    access.lock_tenant(scope.tenant_id)
    found = find(scope, operator_id)
    check_manager(scope, SCOPE, *found.roles)
    if found.row.invitation:
        raise Conflict("This person has not accepted the invitation.", rule="not-accepted")
    if access.members_elsewhere(scope.tenant_id, [found.row.operator_id]):
        message = f"This person is an operator of another tenant too. {otherwise}"
        raise Conflict(message, rule="member-elsewhere")
    return found.row.operator


@transaction.atomic
def require_second_factor(scope: TenantScope, *, required: bool, now: datetime) -> None:
    """Require a second factor, or stop requiring one, for sign-ins to this tenant with a password.

    People without one are led to set one up, and reach no other page of the tenant before.
    """
    check_manager(scope, SCOPE)
    rows = Tenant.objects.written_by(access.WRITER).filter(id=scope.tenant_id, second_factor_required=not required)
    if rows.update(second_factor_required=required):
        action = "tenant.second_factor_required" if required else "tenant.second_factor_optional"
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, now=now)


def invited(operator_id: UUID | None, token: str) -> Operator | None:
    """Return the person whose password a link with this token sets; None when it was used or has expired.

    A link sets no password any more once its person is an operator of a second tenant: it would be theirs there too.
    """
    operator = Operator.objects.filter(id=operator_id).first() if operator_id else None
    return operator if operator and _sets_password(operator, token) else None


def _sets_password(operator: Operator, token: str) -> bool:
    if operator.has_usable_password() or not _set_tokens.check_token(operator, token):
        return False
    return Membership.objects.filter(operator=operator, has_joined=True).count() == 1


def set_first_password(operator_id: UUID, token: str, password: str, *, now: datetime) -> Operator:
    """Set the password of the link's person, which uses up the link."""
    rows = Operator.objects.filter(id=operator_id)
    encoded = access.encode_password(_holder(rows, token), password)
    with transaction.atomic():
        operator = _holder(rows.select_for_update(no_key=True), token)
        access.store_password(operator, encoded, action="operator.password_set", now=now)
    return operator


def _holder(rows: QuerySet[Operator], token: str) -> Operator:
    """Return the person of the link; refused when it was used or has expired."""
    operator = rows.first()
    if operator is None or not _sets_password(operator, token):
        raise NotFound(LINK_IS_OVER)
    return operator
