"""The keys of programs: create, check, rotate and revoke them, and what they may do now. Their only writer.

Who may do it for whom is decided in ``key_management``.
"""

import hashlib
import hmac
import logging
import secrets as random_secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.db import DatabaseError, OperationalError, transaction
from django.db.models import F, Func, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from memory.host import access, audit, ids, sql
from memory.host.errors import Conflict, Forbidden, KeyExpired, KeyRevoked, Unauthenticated
from memory.host.expiry import has_expired, unexpired
from memory.host.models import ApiKey, Membership, Operator, RoleGrant, Tenant

log = logging.getLogger(__name__)
WRITER = "memory.host.api_keys"
USE_NOTED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key; ``text`` is shown once and never stored."""

    key_id: UUID
    text: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Key:
    """A key and its tenant, as each request reads them.

    ``agents`` are those it is bound to, the default one first; ``roles`` are its own, ``owner_roles`` those of its
    person.
    """

    tenant_id: UUID
    tenant_slug: str
    tenant_name: str
    id: UUID
    name: str
    digest: str
    agents: tuple[str, ...]
    expires_at: datetime | None
    revoked_at: datetime | None
    owner_id: UUID | None
    owner_is_active: bool
    made_by: str
    last_used_at: datetime | None
    roles: tuple[str, ...]
    owner_roles: tuple[str, ...]

    @property
    def owner(self) -> str:
        """The person that the key belongs to, or ``""`` for a service account."""
        return ids.wire("usr", self.owner_id) if self.owner_id else ""

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of the key's roles, limited to those of its person."""
        own = access.scopes_given(self.roles)
        return own & access.scopes_given(self.owner_roles) if self.owner_id else own


def granted_clients(tenant_id: UUID) -> tuple[frozenset[str], frozenset[str]]:
    """The OAuth clients that were ever granted something in this tenant, and those that were in another."""
    granted = ApiKey.objects.exclude(client_id="").order_by().values_list("tenant_id", "client_id").distinct()
    own: set[str] = set()
    others: set[str] = set()
    for of, client_id in granted:
        (own if of == tenant_id else others).add(client_id)
    return frozenset(own), frozenset(others)


@transaction.atomic
def create_api_key(
    tenant: Tenant,
    *,
    role: str,
    agents: tuple[str, ...] = (),
    name: str = "",
    owner: Operator | None = None,
    expires_at: datetime | None = None,
    client_id: str = "",
    actor: str = "host",
    now: datetime,
) -> NewKey:
    """Create a key for ``tenant`` with one role, bound to ``agents`` when any are named; its text is returned once.

    It belongs to ``owner`` and speaks for that person; without one it is a service account. ``actor`` answers for a key
    that it makes for another: neither votes on what the other wrote. With a ``client_id`` it is a grant.
    """
    access.require_role_name(role)
    membership = access.membership_of(tenant.id, owner.id) if client_id and owner else None
    secret = random_secrets.token_urlsafe(32)
    key = ApiKey(
        tenant=tenant,
        owner=owner,
        made_by=_maker(tenant.id, actor),
        name=name,
        digest=_digest(secret),
        agents=list(dict.fromkeys(agents)),
        created_at=now,
        expires_at=expires_at,
        client_id=client_id,
        generation=membership.generation if membership else None,
    ).insert(by=WRITER)
    principal = ids.wire("key", key.id)
    access.grant_role(tenant.id, principal, role, now=now)
    details = {"role": role, "for": ids.wire("usr", owner.id) if owner else None}
    details |= {"client": client_id} if client_id else {}
    action = "grant.created" if client_id else "key.created"
    audit.append(tenant.id, actor=actor, action=action, target=principal, details=details, now=now)
    return NewKey(key.id, _text_of(tenant.id, key.id, secret), expires_at)


def _text_of(tenant_id: UUID, key_id: UUID, secret: str) -> str:
    return f"owk_{tenant_id.hex}_{key_id.hex}_{secret}"


def _maker(tenant_id: UUID, actor: str) -> str:
    """Return the person who answers for a key that ``actor`` makes; for a service account, the maker of its own key."""
    person, made_by = access.answerable_for(tenant_id, [actor])[actor]
    return "" if person == "host" else made_by if made_by and person == actor else person


@transaction.atomic
def revoke_api_key(tenant_id: UUID, key_id: UUID, *, actor: str = "host", now: datetime) -> None:
    """Revoke the key; revoking it again changes nothing."""
    rows = ApiKey.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=key_id, revoked_at=None)
    action = "grant.revoked" if rows.exclude(client_id="").exists() else "key.revoked"
    if rows.update(revoked_at=now):
        audit.append(tenant_id, actor=actor, action=action, target=ids.wire("key", key_id), now=now)


def revoke_keys_of(tenant_id: UUID, operator_id: UUID, *, actor: str, now: datetime) -> None:
    """Revoke every key and grant of the person here: who stops being an operator, or is one again, has none from
    before."""
    rows = ApiKey.objects.of(tenant_id).filter(unexpired(now), owner_id=operator_id, revoked_at=None).order_by("id")
    for key_id in list(rows.values_list("id", flat=True)):
        revoke_api_key(tenant_id, key_id, actor=actor, now=now)


def revoked_keys(tenant_id: UUID, principals: Collection[str]) -> set[str]:
    """Return those of the principals that are keys and were revoked."""
    keys = [found for text in principals if (found := ids.parse("key", text))]
    rows = ApiKey.objects.of(tenant_id).filter(id__in=keys, revoked_at__isnull=False) if keys else ApiKey.objects.none()
    return {ids.wire("key", row) for row in rows.values_list("id", flat=True)}


@transaction.atomic
def rotate_api_key(tenant_id: UUID, key_id: UUID, *, actor: str = "host", now: datetime) -> NewKey:
    """Give the key a new secret, which replaces the old one at once; its principal and all it owns stay.

    A person who rotates another's key answers for it from then on, as its maker.
    """
    secret = random_secrets.token_urlsafe(32)
    rows = ApiKey.objects.written_by(WRITER).filter(unexpired(now), tenant_id=tenant_id, id=key_id, revoked_at=None)
    rows = rows.filter(client_id="")
    answers = {"made_by": maker} if (maker := _maker(tenant_id, actor)) else {}
    if not rows.update(digest=_digest(secret), rotated_at=now, **answers):
        raise Conflict("The key was revoked or has expired, or is the grant of a client; create another one.")
    audit.append(tenant_id, actor=actor, action="key.rotated", target=ids.wire("key", key_id), now=now)
    expires_at = ApiKey.objects.of(tenant_id).values_list("expires_at", flat=True).get(id=key_id)
    return NewKey(key_id, _text_of(tenant_id, key_id, secret), expires_at)


def key_of(text: str, *, now: datetime) -> Key:
    """Return the key with this text.

    Unknown, malformed and wrong secrets are one refusal, compared in constant time.
    """
    mark, _, rest = text.partition("_")
    parts = rest.split("_", 2)
    if mark != "owk" or len(parts) != 3:
        raise Unauthenticated
    tenant_id, key_id = (ids.parse("x", f"x_{part}") for part in parts[:2])
    key = _key(tenant_id, key_id) if tenant_id and key_id else None
    if not hmac.compare_digest(key.digest if key else _digest(""), _digest(parts[2])) or not key:
        raise Unauthenticated
    _note_use(_let_in(key, now), now)
    return key


def _note_use(key: Key, now: datetime) -> None:
    """Record the last use, to the minute: few requests write for it, and none fails for it."""
    if key.last_used_at and now - key.last_used_at < USE_NOTED:
        return
    with suppress(DatabaseError), transaction.atomic():
        _use_noted().run(key.tenant_id, key.id, now - USE_NOTED, now)


@cache
def _use_noted() -> sql.Update:
    """The update for a tenant, a key, the time before which the last use has to be, and now."""
    tenant_id, key_id = UUID(int=0), UUID(int=1)
    earlier, now = datetime(1, 1, 1, tzinfo=UTC), datetime(2, 1, 1, tzinfo=UTC)
    before = Q(last_used_at=None) | Q(last_used_at__lt=earlier)
    rows = ApiKey.objects.written_by(WRITER).filter(before, tenant_id=tenant_id, id=key_id)
    return sql.Update(rows, {"last_used_at": now}, tenant_id, key_id, earlier, now)


def standing_key(tenant_id: UUID, key_id: UUID, *, now: datetime) -> Key:
    """Return the key that the host acts for without a request; refused as if it were presented."""
    key = _key(tenant_id, key_id)
    if key is None:
        raise Unauthenticated
    return _let_in(key, now)


def _key(tenant_id: UUID, key_id: UUID) -> Key | None:
    """Return the current state of the key, good or not, with all that a request needs of it, in one query."""
    try:
        found = _key_asked().fetch(tenant_id, key_id, ids.wire("key", key_id))
    except OperationalError:
        raise
    except DatabaseError:
        log.exception("a key and its roles could not be resolved; access is denied")
        raise Forbidden("What this key may do cannot be established.") from None
    if not found:
        return None
    slug, tenant_name, name, digest, agents, expires_at, revoked_at, owner, owner_active, *rest = found[0]
    made_by, last_used_at, *roles = rest
    own, of_owner = (tuple(sql.as_document(each) or ()) for each in roles)
    return Key(
        tenant_id=tenant_id,
        tenant_slug=slug,
        tenant_name=tenant_name,
        id=key_id,
        name=name,
        digest=digest,
        agents=tuple(sql.as_document(agents)),
        expires_at=sql.as_utc(expires_at),
        revoked_at=sql.as_utc(revoked_at),
        owner_id=sql.as_uuid(owner) if owner else None,
        owner_is_active=owner is None or bool(owner_active),
        made_by=made_by,
        last_used_at=sql.as_utc(last_used_at),
        roles=own,
        owner_roles=of_owner,
    )


@cache
def _key_asked() -> sql.CompiledQuery:
    """The query for a tenant, a key and its principal."""
    tenant, owner = ("tenant__slug", "tenant__name"), ("owner_id", "owner_is_active", "made_by", "last_used_at")
    columns = (*tenant, "name", "digest", "agents", "expires_at", "revoked_at", *owner, "roles", "owner_roles")
    tenant_id, key_id, principal = UUID(int=0), UUID(int=1), "principal"
    asked = (
        ApiKey.objects.of(tenant_id)
        .filter(id=key_id)
        .annotate(
            owner_is_active=_owner_is_active(),
            roles=_roles_as_list(principal),
            owner_roles=_roles_as_list(sql.wire_id("usr", OuterRef("owner_id"))),
        )
    )
    return sql.CompiledQuery(asked.values_list(*columns), tenant_id, key_id, principal)


def _roles_as_list(principal: str | Combinable) -> Subquery:
    """The roles of ``principal`` in the tenant of the row, as a JSON list; null or empty when it has none."""
    rows = RoleGrant.objects.filter(tenant_id=OuterRef("tenant_id"), principal=principal)
    return Subquery(rows.values(found=_AsList(F("role"))))


class _AsList(Func):
    """All values of a column in a subquery's rows as one JSON list."""

    output_field = TextField()
    arity = 1

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, function="json_group_array", **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, function="jsonb_agg", **more)


def _owner_is_active() -> Subquery:
    """Whether the key's person is an active operator of its tenant.

    Null for a service account, and for a grant of a person who was deactivated or given another role since.
    """
    since = Coalesce(OuterRef("generation"), F("generation"))
    rows = Membership.objects.filter(tenant_id=OuterRef("tenant_id"), operator_id=OuterRef("owner_id"))
    rows = rows.filter(generation=since)
    return Subquery(rows.values("is_active"))


def _let_in(key: Key, now: datetime) -> Key:
    if key.revoked_at:
        raise KeyRevoked
    if not key.owner_is_active:
        raise KeyRevoked("The person whose key this is was deactivated, or has another role.")
    if has_expired(key.expires_at, now):
        raise KeyExpired
    return key


def scopes_of_keys(tenant_id: UUID, key_ids: Collection[UUID], *, now: datetime) -> dict[str, frozenset[str]]:
    """Return the current scopes of the good keys among these, by secret digest, in one query."""
    found: dict[str, frozenset[str]] = {}
    for digest, owner_id, *roles in _scopes_asked().fetch(tenant_id, list(key_ids), now) if key_ids else ():
        own, of_owner = (access.scopes_given(sql.as_document(each) or ()) for each in roles)
        found[digest] = own if owner_id is None else own & of_owner
    return found


@cache
def _scopes_asked() -> sql.CompiledQuery:
    """The query for a tenant, keys of it and the time."""
    tenant_id, key_ids, now = UUID(int=0), [UUID(int=1)], datetime.min.replace(tzinfo=UTC)
    rows = (
        good_keys(tenant_id, now=now)
        .filter(sql.is_among("host_apikey.id", key_ids))
        .annotate(
            roles=_roles_as_list(sql.wire_id("key", OuterRef("id"))),
            owner_roles=_roles_as_list(sql.wire_id("usr", OuterRef("owner_id"))),
        )
    )
    return sql.CompiledQuery(rows.values_list("digest", "owner_id", "roles", "owner_roles"), tenant_id, key_ids, now)


def good_keys(tenant_id: UUID, *, now: datetime) -> QuerySet[ApiKey]:
    """Return the keys of this tenant that may sign in: not revoked, not expired, and of no deactivated person."""
    active = Q(owner=None) | Q(owner_is_active=True)
    known = ApiKey.objects.of(tenant_id).annotate(owner_is_active=_owner_is_active())
    rows: QuerySet[ApiKey] = known.filter(unexpired(now), active, revoked_at=None)
    return rows


def grant_of(operator_id: UUID, client_id: str, *, now: datetime) -> ApiKey | None:
    """Return a good grant of the person to the client, from any of their tenants."""
    for membership in access.memberships_of(operator_id):
        rows = good_keys(membership.tenant_id, now=now).filter(owner_id=operator_id, client_id=client_id)
        found: ApiKey | None = rows.exclude(client_id="").order_by("-id").first()
        if found:
            return found
    return None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
