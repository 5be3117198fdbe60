"""Who may list, create, revoke, rotate and grant keys, and for whom. The keys themselves are in ``api_keys``."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import access, api_keys, ids, vault
from memory.host.api_keys import NewKey
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.expiry import has_expired
from memory.host.models import ApiKey, Operator
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

SCOPE = "keys:manage"
GRANTED = "agent"  # the role of a client that a person grants access
ACTIVE, EXPIRED, REVOKED = "active", "expired", "revoked"
STATES = (ACTIVE, EXPIRED, REVOKED)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as it is listed. ``person`` is the address of its person, ``""`` for a service account; ``scopes`` are what
    it may do now, sorted: those of its roles, limited to those of its person."""

    row: ApiKey
    roles: list[str]
    person: str
    state: str
    scopes: list[str]


def list_keys(scope: TenantScope, *, after: UUID | None = None, limit: int, now: datetime) -> Page[KeyRecord]:
    """Return keys older than ``after``, newest first, revoked and expired ones too."""
    scope.check(SCOPE)
    page = read_page(ApiKey.objects.of(scope.tenant_id), after, limit)
    return page.with_rows(_records(scope.tenant_id, page.rows, now))


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
    """Create a key for the person with the address ``person``, or else for its maker.

    A key never has more rights than its maker and its person. A service account makes keys without a person, and
    answers for them.
    """
    check_manager(scope, SCOPE, role)
    _check_maker(scope)
    access.check_name(name)
    vault.require_plain(scope.tenant_id, "The key is not valid.", {"name": [name], "agents": agents})
    tenant = access.lock_tenant(scope.tenant_id)
    mine = ids.parse("usr", scope.principal.person)
    own = Operator.objects.filter(id=mine).first() if mine else None
    owner = access.active_operator(tenant, person) if person else own
    if has_expired(expires_at, now):
        raise Invalid(
            "The key would have expired.", errors=[{"field": "expiresAt", "message": "must be in the future"}]
        )
    check_person(scope.tenant_id, owner, role)
    return api_keys.create_api_key(
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
    """Revoke the key at once and end its streams; revoking it again changes nothing."""
    check_manager(scope, SCOPE)
    api_keys.revoke_api_key(scope.tenant_id, _row(scope, key_id).id, actor=scope.principal.id, now=now)


@transaction.atomic
def rotate(scope: TenantScope, key_id: UUID | None, *, last: str | None = None, now: datetime) -> NewKey:
    """Give the key a new secret; id, name, role, agents, person and expiry stay, and the old text stops working.

    ``last`` is when it was rotated before, as the caller has seen it (ISO 8601; empty for never): another rotation
    since then is refused as a conflict, so that a form that is sent again does not end the key it has just shown.
    """
    check_manager(scope, SCOPE)
    _check_maker(scope)
    row = _row(scope, key_id, lock=True)
    if last is not None and last != (row.rotated_at.isoformat() if row.rotated_at else ""):
        raise Conflict("This key has been rotated since. If its new text is lost, rotate it again from the list.")
    found = row.id
    check_manager(scope, SCOPE, *access.roles_of(scope.tenant_id, ids.wire("key", found)))
    return api_keys.rotate_api_key(scope.tenant_id, found, actor=scope.principal.id, now=now)


@transaction.atomic
def grant(scope: TenantScope, *, client_id: str, name: str, now: datetime) -> UUID:
    """Grant a client the rights of an agent in this tenant, and never more than those of the granting person.

    A client has one grant per person: older ones, in any tenant, are revoked.
    """
    mine = ids.parse("usr", scope.principal.id)
    person = Operator.objects.filter(id=mine).first() if mine else None
    if person is None or not access.ROLES[GRANTED] & scope.principal.scopes:
        raise Forbidden("Only a person who may read or write something grants a client access.", rule="grant")
    for membership in access.memberships_of(person.id):
        older = ApiKey.objects.of(membership.tenant_id).filter(owner=person, client_id=client_id, revoked_at=None)
        for row in older:
            api_keys.revoke_api_key(row.tenant_id, row.id, actor=scope.principal.id, now=now)
    tenant = access.lock_tenant(scope.tenant_id)
    actor = scope.principal.id
    made = api_keys.create_api_key(
        tenant, role=GRANTED, name=name, owner=person, client_id=client_id, actor=actor, now=now
    )
    return made.key_id


def list_grants(scope: TenantScope, *, now: datetime) -> list[KeyRecord]:
    """Return the good grants of this tenant, newest first: the person's own, or all for a principal who manages
    keys."""
    rows = api_keys.good_keys(scope.tenant_id, now=now).exclude(client_id="").order_by("-id")
    if not scope.can(SCOPE):
        rows = rows.filter(owner_id=ids.parse("usr", scope.principal.id))
    return _records(scope.tenant_id, rows, now)


@transaction.atomic
def revoke_grant(scope: TenantScope, key_id: UUID | None, *, now: datetime) -> ApiKey:
    """Revoke the grant and end what its client waits for.

    A person may revoke their own; a principal who manages keys may revoke any.
    """
    row = _row(scope, key_id)
    own = row.owner_id is not None and ids.wire("usr", row.owner_id) == scope.principal.id
    if not row.client_id or not (own or scope.can(SCOPE)):
        raise NotFound("There is no grant by that id.")
    api_keys.revoke_api_key(scope.tenant_id, row.id, actor=scope.principal.id, now=now)
    return row


def check_manager(scope: TenantScope, permission: str, *roles: str) -> None:
    """Refuse a principal without ``permission``, a key bound to agents, and a role above the caller's own."""
    scope.check(permission)
    if scope.principal.agent_ids is not None:
        raise Forbidden("A key that is bound to agents manages neither keys nor operators.", rule="agent-binding")
    for role in roles:
        access.require_role_name(role)
        if not access.ROLES[role] <= scope.principal.scopes:
            raise Forbidden(f"The role {role} gives more than this credential has.", rule="role-above-own")


def _check_maker(scope: TenantScope) -> None:
    """Refuse a person's key that another made: keys that it made would count as that person's alone."""
    maker = scope.principal.made_by
    if scope.principal.owner and maker not in ("", scope.principal.owner):
        message = "Another person made this key for its owner; make and rotate keys with a key that you made yourself."
        raise Forbidden(message, rule="made-by-another")


def check_person(tenant_id: UUID, owner: Operator | None, role: str) -> None:
    """Refuse a role above those of the key's person: the key would never have it."""
    access.require_role_name(role)
    if owner and not access.ROLES[role] <= access.scopes_of(tenant_id, ids.wire("usr", owner.id)):
        message = f"gives more than {owner.email} has"
        raise Invalid(f"The role {role} {message}.", errors=[{"field": "role", "message": message}])


def state_of(row: ApiKey, *, now: datetime) -> str:
    if row.revoked_at:
        return REVOKED
    return EXPIRED if has_expired(row.expires_at, now) else ACTIVE


def _row(scope: TenantScope, key_id: UUID | None, *, lock: bool = False) -> ApiKey:
    rows = ApiKey.objects.of(scope.tenant_id)
    row: ApiKey | None = (rows.select_for_update() if lock else rows).filter(id=key_id).first() if key_id else None
    if row is None:
        raise NotFound("There is no key by that id.")
    return row


def _records(tenant_id: UUID, rows: Iterable[ApiKey], now: datetime) -> list[KeyRecord]:
    listed = list(rows)
    people = Operator.objects.in_bulk({row.owner_id for row in listed if row.owner_id})
    owners = {row.id: ids.wire("usr", row.owner_id) for row in listed if row.owner_id}
    held = access.roles_held(tenant_id, [*(ids.wire("key", row.id) for row in listed), *set(owners.values())])

    def record(row: ApiKey) -> KeyRecord:
        roles, state = held.get(ids.wire("key", row.id), []), state_of(row, now=now)
        scopes = access.scopes_given(roles) if state == ACTIVE else frozenset()
        if row.owner_id:
            scopes &= access.scopes_given(held.get(owners[row.id], []))
        return KeyRecord(row, roles, people[row.owner_id].email if row.owner_id else "", state, sorted(scopes))

    return [record(row) for row in listed]
