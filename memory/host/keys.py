"""The keys of a tenant, for those who manage them: list, create, revoke, rotate. What a key opens is in ``access``."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import access, ids
from memory.host.access import NewKey
from memory.host.errors import Forbidden, Invalid, NotFound
from memory.host.expiry import has_expired
from memory.host.models import ApiKey, Operator
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

SCOPE = "keys:manage"
GRANTED = "agent"  # the role of a client to which a person grants access
ACTIVE, EXPIRED, REVOKED = "active", "expired", "revoked"
STATES = (ACTIVE, EXPIRED, REVOKED)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as it is listed. ``person`` is the address of whom it belongs to, ``""`` for a service account."""

    row: ApiKey
    roles: list[str]
    person: str
    state: str


def list_keys(scope: TenantScope, *, after: UUID | None = None, limit: int, now: datetime) -> Page[KeyRecord]:
    """Keys older than ``after``, the newest first, revoked and expired ones too."""
    scope.check(SCOPE)
    page = read_page(ApiKey.objects.of(scope.tenant_id), after, limit)
    return page.of(_records(scope.tenant_id, page.rows, now))


def find(scope: TenantScope, key_id: UUID | None, *, now: datetime) -> KeyRecord:
    scope.check(SCOPE)
    return _records(scope.tenant_id, [_row(scope, key_id)], now)[0]


@transaction.atomic
def create(
    scope: TenantScope,
    *,
    role: str,
    agents: tuple[str, ...] = (),
    name: str = "",
    person: str = "",
    expires_at: datetime | None = None,
    now: datetime,
) -> NewKey:
    """A key of the person with the address ``person``, or else of its maker: nobody is given more than they have.

    A service account makes keys of no person, and answers for them.
    """
    check_manager(scope, SCOPE, role)
    _check_maker(scope)
    tenant = access.lock_tenant(scope.tenant_id)
    mine = ids.parse("usr", scope.principal.person)
    own = Operator.objects.filter(id=mine).first() if mine else None
    owner = access.active_operator(tenant, person) if person else own
    if has_expired(expires_at, now):
        raise Invalid(
            "The key would have expired.", errors=[{"field": "expiresAt", "message": "must be in the future"}]
        )
    check_person(scope.tenant_id, owner, role)
    return access.create_api_key(
        tenant,
        role=role,
        agents=agents,
        name=name,
        owner=owner,
        expires_at=expires_at,
        actor=scope.principal.id,
        now=now,
    )


@transaction.atomic
def revoke(scope: TenantScope, key_id: UUID | None, *, now: datetime) -> None:
    """The key opens nothing from now on; its streams end. Revoking it again changes nothing."""
    check_manager(scope, SCOPE)
    access.revoke_api_key(scope.tenant_id, _row(scope, key_id).id, actor=scope.principal.id, now=now)


@transaction.atomic
def rotate(scope: TenantScope, key_id: UUID | None, *, now: datetime) -> NewKey:
    """The same key under a new secret: id, name, role, agents, person and expiry stay, the old text opens nothing."""
    check_manager(scope, SCOPE)
    _check_maker(scope)
    found = _row(scope, key_id).id
    check_manager(scope, SCOPE, *access.roles_of(scope.tenant_id, ids.wire("key", found)))
    return access.rotate_api_key(scope.tenant_id, found, actor=scope.principal.id, now=now)


@transaction.atomic
def grant(scope: TenantScope, *, client_id: str, name: str, now: datetime) -> UUID:
    """A client may do in this tenant what an agent may, and never more than the person who grants it.

    A client has one grant of a person: an older one, in whatever tenant, is over.
    """
    mine = ids.parse("usr", scope.principal.id)
    person = Operator.objects.filter(id=mine).first() if mine else None
    if person is None or not access.ROLES[GRANTED] & scope.principal.scopes:
        raise Forbidden("Only a person who may read or write something grants a client access.", rule="grant")
    for membership in access.memberships_of(person.id):
        older = ApiKey.objects.of(membership.tenant_id).filter(owner=person, client_id=client_id, revoked_at=None)
        for row in older:
            access.revoke_api_key(row.tenant_id, row.id, actor=scope.principal.id, now=now)
    tenant = access.lock_tenant(scope.tenant_id)
    actor = scope.principal.id
    made = access.create_api_key(
        tenant, role=GRANTED, name=name, owner=person, client_id=client_id, actor=actor, now=now
    )
    return made.key_id


def list_grants(scope: TenantScope, *, now: datetime) -> list[KeyRecord]:
    """What clients were granted in this tenant and may use, the newest first: by the person alone, or by everybody for
    who manages keys."""
    rows = access.good_keys(scope.tenant_id, now=now).exclude(client_id="").order_by("-id")
    if not scope.can(SCOPE):
        rows = rows.filter(owner_id=ids.parse("usr", scope.principal.id))
    return _records(scope.tenant_id, rows, now)


@transaction.atomic
def revoke_grant(scope: TenantScope, key_id: UUID | None, *, now: datetime) -> ApiKey:
    """The client is let in no more, and what it waits for ends. A person revokes their own, who manages keys any."""
    row = _row(scope, key_id)
    own = row.owner_id is not None and ids.wire("usr", row.owner_id) == scope.principal.id
    if not row.client_id or not (own or scope.can(SCOPE)):
        raise NotFound("There is no grant by that id.")
    access.revoke_api_key(scope.tenant_id, row.id, actor=scope.principal.id, now=now)
    return row


def check_manager(scope: TenantScope, permission: str, *roles: str) -> None:
    """Refuse who may not manage, a key that is bound to agents, and a role that gives more than the caller has."""
    scope.check(permission)
    if scope.principal.agent_ids is not None:
        raise Forbidden("A key that is bound to agents manages neither keys nor operators.", rule="agent-binding")
    for role in roles:
        access.require_role_name(role)
        if not access.ROLES[role] <= scope.principal.scopes:
            raise Forbidden(f"The role {role} gives more than this credential has.", rule="role-above-own")


def _check_maker(scope: TenantScope) -> None:
    """Refuse a person's key whose text another made: what it made would count as that person's word alone."""
    maker = scope.principal.made_by
    if scope.principal.owner and maker not in ("", scope.principal.owner):
        message = "Another made this key for its person; keys are made and rotated with a key of one's own."
        raise Forbidden(message, rule="made-by-another")


def check_person(tenant_id: UUID, owner: Operator | None, role: str) -> None:
    """Refuse a role above those of the person whose key it is: the key would never have it."""
    access.require_role_name(role)
    if owner and not access.ROLES[role] <= access.scopes_of(tenant_id, ids.wire("usr", owner.id)):
        message = f"gives more than {owner.email} has"
        raise Invalid(f"The role {role} {message}.", errors=[{"field": "role", "message": message}])


def state_of(row: ApiKey, *, now: datetime) -> str:
    if row.revoked_at:
        return REVOKED
    return EXPIRED if has_expired(row.expires_at, now) else ACTIVE


def _row(scope: TenantScope, key_id: UUID | None) -> ApiKey:
    row: ApiKey | None = ApiKey.objects.of(scope.tenant_id).filter(id=key_id).first() if key_id else None
    if row is None:
        raise NotFound("There is no key by that id.")
    return row


def _records(tenant_id: UUID, rows: Iterable[ApiKey], now: datetime) -> list[KeyRecord]:
    listed = list(rows)
    held = access.roles_held(tenant_id, [ids.wire("key", row.id) for row in listed])
    people = Operator.objects.in_bulk({row.owner_id for row in listed if row.owner_id})
    return [
        KeyRecord(
            row,
            held.get(ids.wire("key", row.id), []),
            people[row.owner_id].email if row.owner_id else "",
            state_of(row, now=now),
        )
        for row in listed
    ]
