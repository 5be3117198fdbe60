"""Authorisation: tenants, operators, keys, and the roles that give scopes. Fail-closed (RFC 0049, openwop-host 2.5).

A scope that is absent, unknown or cannot be resolved is not granted.
"""

import hashlib
import hmac
import logging
import secrets as random_secrets
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from typing import Any
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import DatabaseError, IntegrityError, OperationalError, transaction
from django.db.models import Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from memory.host import audit, ids, sql, throttle
from memory.host.errors import Conflict, Forbidden, Invalid, KeyExpired, KeyRevoked, NotFound, Unauthenticated
from memory.host.expiry import has_expired, unexpired
from memory.host.models import ApiKey, Membership, Operator, RoleGrant, Tenant

log = logging.getLogger(__name__)
WRITER = "memory.host.access"
OWNER = "owner"
USE_NOTED = timedelta(hours=1)
FREE_TRIES = 5  # wrong passwords of a signed-in person before each further try has to wait

# Every permission in words, in the order of the page of roles.
PERMISSIONS = {
    "manifest:read": "read the definitions of workflows",
    "runs:read": "read runs and their events",
    "artifacts:read": "read installed artifacts",
    "memory:read": "read memory and its provenance",
    "proposals:read": "read proposals",
    "agents:read": "read the agents and their health",
    "runs:create": "start runs",
    "runs:cancel": "cancel runs",
    "proposals:create": "submit proposals",
    "proposals:revise": "revise and archive proposals",
    "proposals:comment": "comment on proposals",
    "proposals:request-activation": "request approval of proposals",
    "approvals:respond": "vote on proposals and answer what runs ask",
    "memory:write": "write memory",
    "memory:retire": "retire and restore memory",
    "passes:run": "run and schedule passes",
    "agents:manage": "manage agents and namespaces",
    "artifacts:manage": "disable and enable what is installed",
    "audit:read": "read and verify the audit log",
    "memory:forget": "forget a subject",
    "approvals:override": "override an approval request",
    "proposals:activate": "activate a proposal directly, on a host without approvals",
    "keys:manage": "manage API keys",
    "operators:manage": "manage operators",
    "policies:manage": "manage policies",
    "secrets:manage": "manage secrets",
    "webhooks:manage": "manage webhooks",
    "workspace:read": "read the files of agents' workspaces",
    "workspace:write": "write the files of agents' workspaces",
    "schedules:read": "read schedules",
    "schedules:manage": "create, change and pause schedules",
}
READS = frozenset(
    {
        "manifest:read",
        "runs:read",
        "artifacts:read",
        "memory:read",
        "proposals:read",
        "agents:read",
        "workspace:read",
        "schedules:read",
    }
)
AUTHORS = READS | {"runs:create", "runs:cancel", "proposals:create", "proposals:revise", "proposals:comment"}
REVIEWS = READS | {"proposals:request-activation", "proposals:comment", "approvals:respond"}
OPERATES = (
    AUTHORS
    | REVIEWS
    | {"memory:write", "memory:retire", "workspace:write", "passes:run"}
    | {"agents:manage", "artifacts:manage", "schedules:manage"}
)
OWNS = OPERATES | {
    "audit:read",
    "memory:forget",
    "approvals:override",
    "proposals:activate",
    "keys:manage",
    "operators:manage",
    "policies:manage",
    "secrets:manage",
    "webhooks:manage",
}
ROLES: dict[str, frozenset[str]] = {
    "viewer": READS,
    "author": AUTHORS,
    "agent": READS | {"runs:create", "memory:write", "workspace:write", "proposals:create"},
    "reviewer": REVIEWS,
    "operator": OPERATES,
    "auditor": frozenset({"audit:read"}),
    "owner": OWNS,
}


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key; ``text`` is shown once and never stored."""

    key_id: UUID
    text: str


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
        own = scopes_given(self.roles)
        return own & scopes_given(self.owner_roles) if self.owner_id else own


def scopes_of(tenant_id: UUID, principal: str) -> frozenset[str]:
    """Return the scopes of ``principal`` in this tenant; none when they cannot be resolved."""
    try:
        roles = _roles_held().fetch(tenant_id, principal)
    except DatabaseError:
        log.exception("roles could not be resolved; access is denied")
        return frozenset()
    return scopes_given(role for (role,) in roles)


def scopes_given(roles: Iterable[str]) -> frozenset[str]:
    """Return the scopes of these roles together."""
    return frozenset().union(*(ROLES.get(role, frozenset()) for role in roles))


@cache
def _roles_held() -> sql.CompiledQuery:
    """Compiling it anew would take longer than the request that asks for it."""
    tenant_id, principal = UUID(int=0), "principal"
    return sql.CompiledQuery(
        RoleGrant.objects.of(tenant_id).filter(principal=principal).values_list("role"), tenant_id, principal
    )


def roles_of(tenant_id: UUID, principal: str) -> list[str]:
    """Return the roles of ``principal``, sorted by name."""
    return sorted(role for (role,) in _roles_held().fetch(tenant_id, principal))


def roles_held(tenant_id: UUID, principals: Collection[str]) -> dict[str, list[str]]:
    """Return the sorted roles of each of ``principals`` that has any, in one query."""
    held: dict[str, list[str]] = {}
    rows = RoleGrant.objects.of(tenant_id).filter(principal__in=list(principals)).order_by("role")
    for principal, role in rows.values_list("principal", "role"):
        held.setdefault(principal, []).append(role)
    return held


def names_of(tenant_id: UUID, principals: Iterable[str]) -> dict[str, str]:
    """Return the display name of each principal of this tenant in two queries: an operator's address, a key's name."""
    wanted = set(principals)
    people = [found for text in wanted if (found := ids.parse("usr", text))]
    keys = [found for text in wanted if (found := ids.parse("key", text))]
    operators = Operator.objects.of(tenant_id).filter(id__in=people).values_list("id", "email")
    programs = ApiKey.objects.of(tenant_id).filter(id__in=keys).values_list("id", "name", "owner__email")
    return {
        **{ids.wire("usr", found): email for found, email in operators},
        **{ids.wire("key", found): key_name(name, email or "") for found, name, email in programs},
        "host": "the host",
    }


def key_name(name: str, owner: str) -> str:
    """Return a key's display name: ``rosa@acme.example by key ci-bot``, or its own name for a service account."""
    return f"{owner} by key {name}".rstrip() if owner else name or "API key"


def person_of(tenant_id: UUID, principal: str) -> str:
    """Return the person that this principal is or belongs to; a service account counts as its own person."""
    return _answerable(tenant_id, [principal])[principal][0]


def with_persons(tenant_id: UUID, principals: Iterable[str]) -> list[str]:
    """Return these principals and the persons that they are or belong to, sorted by name."""
    return sorted(
        {each for found, (person, _) in _answerable(tenant_id, principals).items() for each in (found, person)}
    )


def same_people(tenant_id: UUID, people: Collection[str], principals: Iterable[str]) -> set[str]:
    """Return those of ``principals`` whose acts may be those of one of ``people``, in at most one query.

    That is so when they are or belong to that person, or that person made the key. A revoked key keeps its person and
    maker.
    """
    behind = people_behind(tenant_id, principals)
    return {principal for principal, found in behind.items() if not found.isdisjoint(people)}


def people_behind(tenant_id: UUID, principals: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return, per principal, everyone its acts may come from: its person, and the maker of its key."""
    answerable = _answerable(tenant_id, principals)
    return {principal: frozenset(pair) - {""} for principal, pair in answerable.items()}


def principals_of(tenant_id: UUID, person: str) -> list[str]:
    """Return the principals that speak for this person: its login and all of its keys, good or not."""
    owner = ids.parse("usr", person)
    keys = ApiKey.objects.of(tenant_id).filter(owner_id=owner).order_by("id").values_list("id", flat=True)
    return [person, *(ids.wire("key", key) for key in (keys if owner else []))]


def _answerable(tenant_id: UUID, principals: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return each principal's person, and the maker of its key when that was another."""
    wanted = set(principals)
    keys = [found for text in wanted if (found := ids.parse("key", text))]
    known = {ids.wire("key", key): (owner, made_by) for key, owner, made_by in _owners(tenant_id, keys)}
    pairs = {each: known.get(each, (None, "")) for each in wanted}
    return {each: (ids.wire("usr", owner) if owner else each, made_by) for each, (owner, made_by) in pairs.items()}


def _owners(tenant_id: UUID, keys: list[UUID]) -> Iterable[tuple[UUID, UUID | None, str]]:
    """Return owner and maker of each of these keys of the tenant. A single key uses the precompiled query, since every
    request asks for its own."""
    if len(keys) == 1:
        found = _owner_asked().fetch(tenant_id, keys[0])
        return [(keys[0], sql.as_uuid(owner) if owner else None, made_by) for owner, made_by in found]
    rows = ApiKey.objects.of(tenant_id).filter(id__in=keys) if keys else ApiKey.objects.none()
    return rows.values_list("id", "owner_id", "made_by")


@cache
def _owner_asked() -> sql.CompiledQuery:
    tenant_id, key_id = UUID(int=0), UUID(int=1)
    return sql.CompiledQuery(
        ApiKey.objects.of(tenant_id).filter(id=key_id).values_list("owner_id", "made_by"), tenant_id, key_id
    )


@transaction.atomic
def grant_role(tenant_id: UUID, principal: str, role: str, *, now: datetime) -> None:
    """Grant ``role`` to ``principal``; granting it again changes nothing."""
    require_role_name(role)
    if role in roles_of(tenant_id, principal):
        return
    try:
        with transaction.atomic():
            RoleGrant(tenant_id=tenant_id, principal=principal, role=role, granted_at=now).insert(by=WRITER)
    except IntegrityError:
        pass  # a concurrent request granted it first


def require_role_name(role: str) -> None:
    if role not in ROLES:
        field = {"field": "role", "message": f"must be one of {', '.join(ROLES)}"}
        raise Invalid(f"There is no role {role!r}.", errors=[field])


def tenant_by_slug(slug: str) -> Tenant | None:
    return next(iter(_by_slug().fetch(slug)), None)


@cache
def _by_slug() -> sql.PositionalQuery[Tenant]:
    return sql.PositionalQuery(Tenant.objects.filter(slug=""))


def lock_tenant(tenant_id: UUID) -> Tenant:
    """Lock the tenant until the transaction ends, to serialise decisions about what it may have only once.

    Other rows of the tenant are written without this lock: their writers may hold the end of the audit chain, and would
    wait for this lock while its holder waits for the chain.
    """
    tenant: Tenant = Tenant.objects.select_for_update().get(id=tenant_id)
    return tenant


@transaction.atomic
def create_tenant(slug: str, *, name: str = "", now: datetime) -> Tenant:
    """Create a tenant; its slug is 1 to 63 lower-case letters, digits and hyphens."""
    if not slug or len(slug) > 63 or not slug.isascii() or not slug.replace("-", "").isalnum() or slug != slug.lower():
        message = "must be 1 to 63 lower-case letters, digits and hyphens"
        raise Invalid("The slug is not valid.", errors=[{"field": "slug", "message": message}])
    if tenant_by_slug(slug):
        raise Conflict(f"There is a tenant {slug!r} already.")
    tenant = Tenant(slug=slug, name=name or slug, created_at=now)
    tenant.save(by=WRITER, force_insert=True)
    return tenant


def operator_by_email(email: str) -> Operator | None:
    """Return the person with that address, of any tenant."""
    written, stored = email.strip().lower(), email_form(email)
    found = {each.email: each for each in Operator.objects.filter(email__in={written, stored})}
    return found.get(written) or found.get(stored)


# Letters that Python's codec, which is older than they are in domains, reads as others: straße.de is not strasse.de.
DISTINCT = frozenset("ßς")


def email_form(email: str) -> str:
    """An address as it is stored: in lower case, with its domain as it is looked up (``xn--mnchen-3ya.de``).

    So one person is one account, whatever shows nothing or looks alike in the domain.
    """
    written = email.strip().lower()
    local, at, domain = written.rpartition("@")
    if domain.isascii():
        return written
    if not DISTINCT.isdisjoint(domain):
        labels = (each if each.isascii() else f"xn--{each.encode('punycode').decode()}" for each in domain.split("."))
        return f"{local}{at}{'.'.join(labels)}"
    try:
        return f"{local}{at}{domain.encode('idna').decode().lower()}"
    except UnicodeError:  # no domain; the address is refused where one is made of it
        return written


def create_operator(tenant: Tenant, email: str, *, role: str, password: str | None = "", now: datetime) -> Operator:
    """Create an operator of ``tenant`` with one role; with the password None they have to set one before they sign in.

    A person whose address exists becomes a member of this tenant too and keeps their password; one who was deactivated
    or invited here is active, without the keys that they had. Weak passwords are refused, and so is an active operator
    of this tenant.
    """
    require_role_name(role)
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
    lock_tenant(tenant.id)
    operator = operator_by_email(email) or _new_operator(fresh)
    if fresh and operator.id != fresh.id and fresh.has_usable_password() and not can_sign_in(operator):
        store_password(operator, fresh.password, action="operator.password_set", actor=actor, now=now)
    principal = ids.wire("usr", operator.id)
    membership = membership_of(tenant.id, operator.id)
    if membership and membership.is_active:
        raise Conflict("An operator with this e-mail address exists already in this tenant.")
    if membership and by_invitation and membership.invitation == Membership.OPEN:
        raise Conflict("This person is invited already. Make a new link in the list of operators.")
    is_open = by_invitation and (operator.has_usable_password() or bool(members_elsewhere(tenant.id, [operator.id])))
    invitation = Membership.OPEN if is_open else ""
    if membership:
        revoke_keys_of(tenant.id, operator.id, actor=actor, now=now)
        membership.is_active, membership.invitation = not is_open, invitation
        membership.has_joined = membership.has_joined or not is_open
        membership.generation += 1
        membership.save(by=WRITER, update_fields=["is_active", "invitation", "has_joined", "generation"])
    else:
        membership = Membership(tenant_id=tenant.id, operator=operator, created_at=now)
        membership.is_active, membership.invitation, membership.has_joined = not is_open, invitation, not is_open
        membership.insert(by=WRITER)
    replace_roles(tenant.id, principal, role, now=now)
    action = "operator.invited" if is_open else "operator.created"
    audit.append(tenant.id, actor=actor, action=action, target=principal, details={"role": role}, now=now)
    return operator


def members_elsewhere(tenant_id: UUID, operator_ids: Collection[UUID]) -> set[UUID]:
    """Return those of these people who are or were operators of another tenant; an invitation alone does not count."""
    rows = Membership.objects.filter(operator_id__in=operator_ids, has_joined=True).exclude(tenant_id=tenant_id)
    return set(rows.values_list("operator_id", flat=True))


def can_sign_in(operator: Operator) -> bool:
    """Whether the person has a password, or an account of the sign-in provider."""
    linked = Operator.objects.filter(id=operator.id, socialaccount__isnull=False)
    return operator.has_usable_password() or linked.exists()


def prepare_operator(email: str, password: str | None, *, now: datetime) -> Operator | None:
    """Build a person with their hashed password, for ``admit_operator``; None when the address exists already.

    A person who exists and cannot sign in yet is built when a password is given, which becomes theirs.
    Call it outside of transactions: hashing is slow and runs at low priority, and writers to SQLite would wait for it.
    """
    known = operator_by_email(email)
    if known and (not password or can_sign_in(known)):
        return None
    operator = Operator(email=email_form(email), created_at=now)
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


def require_password(email: str, password: str, *, field: str, now: datetime) -> Operator:
    """Return the operator with that address, whose password this is; refused otherwise.

    Tries are counted like those to sign in, so a session left open does not allow guessing the password.
    """
    operator = operator_by_email(email)
    if operator is None:
        raise NotFound
    tries = throttle.bucket("password", operator.id.hex, free=FREE_TRIES)
    if wait := ceil(throttle.reserve([tries], now=now).total_seconds()):
        message = f"Too many failed attempts. Try again in {wait} seconds."
        raise Invalid(message, errors=[{"field": field, "message": message}])
    if not operator.check_password(password):
        raise Invalid(errors=[{"field": field, "message": "is not your password"}])
    throttle.succeeded(tries)
    return operator


def encode_password(operator: Operator, password: str | None) -> str:
    """Return the hash of ``password``; that of None never matches. Weak passwords are refused.

    Call it outside of transactions: hashing is slow and runs at low priority.
    """
    try:
        if password is not None:
            validate_password(password, operator)
    except ValidationError as problem:
        raise Invalid(errors=[{"field": "password", "message": each} for each in problem.messages]) from None
    return make_password(password)


@transaction.atomic
def store_password(operator: Operator, encoded: str, *, action: str, actor: str = "", now: datetime) -> None:
    """Store the encoded password, end the person's sessions in every tenant, and audit ``action`` in each.

    With the encoding of None the person cannot sign in by password before they set one by a link.
    """
    operator.password = encoded
    operator.save(update_fields=["password"])
    record_everywhere(operator, action=action, actor=actor, now=now)


def record_everywhere(operator: Operator, *, action: str, actor: str = "", now: datetime) -> None:
    """Audit an act on a login in each of its tenants; without an ``actor`` the person did it."""
    who = ids.wire("usr", operator.id)
    for membership in Membership.objects.filter(operator=operator, invitation="").order_by("tenant_id"):
        audit.append(membership.tenant_id, actor=actor or who, action=action, target=who, now=now)


def membership_of(tenant_id: UUID, operator_id: UUID) -> Membership | None:
    """Return the membership of this person in this tenant, active or not, with its tenant and ``has_others``."""
    found: list[Membership] = _membership_asked().objects(tenant_id, operator_id)
    return found[0] if found else None


@cache
def _membership_asked() -> sql.CompiledQuery:
    """Every page of a session runs this query."""
    tenant_id, operator_id = UUID(int=0), UUID(int=1)
    others = Membership.objects.filter(operator_id=operator_id, is_active=True).exclude(tenant_id=tenant_id)
    rows = Membership.objects.of(tenant_id).filter(operator_id=operator_id).select_related("tenant")
    return sql.CompiledQuery(rows.annotate(has_others=Exists(others)), tenant_id, operator_id)


def memberships_of(operator_id: UUID) -> list[Membership]:
    """Return the active memberships of this person, the earliest first."""
    rows = Membership.objects.filter(operator_id=operator_id, is_active=True).select_related("tenant")
    return list(rows.order_by("created_at", "tenant__slug"))


def replace_roles(tenant_id: UUID, principal: str, role: str, *, now: datetime) -> None:
    """Give ``principal`` the role and remove its others in this tenant."""
    RoleGrant.objects.written_by(WRITER).filter(tenant_id=tenant_id, principal=principal).exclude(role=role).delete()
    grant_role(tenant_id, principal, role, now=now)


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
    require_role_name(role)
    membership = membership_of(tenant.id, owner.id) if client_id and owner else None
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
    grant_role(tenant.id, principal, role, now=now)
    details = {"role": role, "for": ids.wire("usr", owner.id) if owner else None}
    details |= {"client": client_id} if client_id else {}
    action = "grant.created" if client_id else "key.created"
    audit.append(tenant.id, actor=actor, action=action, target=principal, details=details, now=now)
    return NewKey(key.id, _text_of(tenant.id, key.id, secret))


def _text_of(tenant_id: UUID, key_id: UUID, secret: str) -> str:
    return f"owk_{tenant_id.hex}_{key_id.hex}_{secret}"


def _maker(tenant_id: UUID, actor: str) -> str:
    """Return the person who answers for a key that ``actor`` makes; for a service account, the maker of its own key."""
    person, made_by = _answerable(tenant_id, [actor])[actor]
    return "" if person == "host" else made_by if made_by and person == actor else person


def active_operator(tenant: Tenant, email: str) -> Operator:
    """Return the active operator of this tenant with that address; refuse an unknown one."""
    found = operator_by_email(email)
    if found is None or not Operator.objects.active_in(tenant.id).filter(id=found.id).exists():
        field = {"field": "for", "message": "is no active operator of this tenant"}
        raise Invalid(f"There is no active operator {email.strip()!r} in {tenant.slug}.", errors=[field])
    return found


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
    return NewKey(key_id, _text_of(tenant_id, key_id, secret))


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
    """Record the last use, to the hour: few requests write for it, and none fails for it."""
    if key.last_used_at and now - key.last_used_at < USE_NOTED:
        return
    before = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED)
    rows = ApiKey.objects.written_by(WRITER).filter(before, tenant_id=key.tenant_id, id=key.id)
    with suppress(DatabaseError), transaction.atomic():
        rows.update(last_used_at=now)


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
        own, of_owner = (scopes_given(sql.as_document(each) or ()) for each in roles)
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
    for membership in memberships_of(operator_id):
        rows = good_keys(membership.tenant_id, now=now).filter(owner_id=operator_id, client_id=client_id)
        found: ApiKey | None = rows.exclude(client_id="").order_by("-id").first()
        if found:
            return found
    return None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
