"""Authorisation: tenants, people and their roles, and the scopes that roles give (RFC 0049, openwop-host 2.5).

Fail-closed: a scope that is absent, unknown or cannot be resolved is not granted. Keys are in ``api_keys``.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache
from math import ceil
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Exists

from memory.host import audit, ids, sql, throttle
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.models import ApiKey, Membership, Operator, RoleGrant, Tenant

log = logging.getLogger(__name__)
WRITER = "memory.host.access"
OWNER = "owner"
MAX_NAME = 200  # characters of the name of a tenant or a key
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
    """Return the display name of each principal, an operator's address or a key's name, in at most two queries."""
    wanted = set(principals)
    people = [found for text in wanted if (found := ids.parse("usr", text))]
    keys = [found for text in wanted if (found := ids.parse("key", text))]
    operators = Operator.objects.of(tenant_id).filter(id__in=people).values_list("id", "email") if people else ()
    named = ("id", "name", "owner__email")
    programs = ApiKey.objects.of(tenant_id).filter(id__in=keys).values_list(*named) if keys else ()
    called = {ids.wire("key", found): (name, email or "") for found, name, email in programs}
    alike = {each for each, number in Counter(called.values()).items() if number > 1}
    return {
        **{ids.wire("usr", found): email for found, email in operators},
        **{key_id: key_name(key_id, *known, in_full=known in alike) for key_id, known in called.items()},
        "host": "the host",
    }


def key_name(key_id: str, name: str, owner: str, *, in_full: bool = False) -> str:
    """Return a key's display name: ``rosa@acme.example by key ci-bot``, or its own name for a service account.

    The end of its id stands for the name that it does not have, and ``in_full`` after one that others have too.
    """
    end = f"…{key_id[-6:]}"
    name = f"{name} {end}" if name and in_full else name
    return f"{owner} by key {name or end}" if owner else name or f"API key {end}"


def person_of(tenant_id: UUID, principal: str) -> str:
    """Return the person that this principal is or belongs to; a service account counts as its own person."""
    return answerable_for(tenant_id, [principal])[principal][0]


def with_persons(tenant_id: UUID, principals: Iterable[str]) -> list[str]:
    """Return these principals and the persons that they are or belong to, sorted by name."""
    return sorted(
        {each for found, (person, _) in answerable_for(tenant_id, principals).items() for each in (found, person)}
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
    answerable = answerable_for(tenant_id, principals)
    return {principal: frozenset(pair) - {""} for principal, pair in answerable.items()}


def principals_of(tenant_id: UUID, person: str) -> list[str]:
    """Return the principals that speak for this person: its login and all of its keys, good or not."""
    owner = ids.parse("usr", person)
    keys = ApiKey.objects.of(tenant_id).filter(owner_id=owner).order_by("id").values_list("id", flat=True)
    return [person, *(ids.wire("key", key) for key in (keys if owner else []))]


def answerable_for(tenant_id: UUID, principals: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return each principal's person, and the maker of its key when that was another."""
    wanted = set(principals)
    keys = [found for text in wanted if (found := ids.parse("key", text))]
    known = {ids.wire("key", key): (owner, made_by) for key, owner, made_by in _owners(tenant_id, keys)}
    pairs = {each: known.get(each, (None, "")) for each in wanted}
    return {each: (ids.wire("usr", owner) if owner else each, made_by) for each, (owner, made_by) in pairs.items()}


def _owners(tenant_id: UUID, keys: list[UUID]) -> Iterable[tuple[UUID, UUID | None, str]]:
    """Return owner and maker of each of these keys of the tenant. A single key uses the precompiled query, since every
    request asks for its own."""
    if not keys:
        return []
    if len(keys) == 1:
        found = _owner_asked().fetch(tenant_id, keys[0])
        return [(keys[0], sql.as_uuid(owner) if owner else None, made_by) for owner, made_by in found]
    return ApiKey.objects.of(tenant_id).filter(id__in=keys).values_list("id", "owner_id", "made_by")


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
    [tenant] = _locked().fetch(sql.key(tenant_id))
    return tenant


@cache
def _locked() -> sql.PositionalQuery[Tenant]:
    return sql.PositionalQuery(Tenant.objects.select_for_update().filter(id=UUID(int=0)))


def check_name(name: str) -> None:
    """Raise ``Invalid`` for a tenant's or a key's name that is too long, or would not be shown as it is."""
    if len(name) > MAX_NAME or not name.isprintable():
        message = f"must be at most {MAX_NAME} characters that print"
        raise Invalid("The name is not valid.", errors=[{"field": "name", "message": message}])


@transaction.atomic
def create_tenant(slug: str, *, name: str = "", now: datetime) -> Tenant:
    """Create a tenant; its slug is 1 to 63 lower-case letters, digits and hyphens, its name text for people."""
    if not slug or len(slug) > 63 or not slug.isascii() or not slug.replace("-", "").isalnum() or slug != slug.lower():
        message = "must be 1 to 63 lower-case letters, digits and hyphens"
        raise Invalid("The slug is not valid.", errors=[{"field": "slug", "message": message}])
    check_name(name)
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


def members_elsewhere(tenant_id: UUID, operator_ids: Collection[UUID]) -> set[UUID]:
    """Return those of these people who are or were operators of another tenant; an invitation alone does not count."""
    rows = Membership.objects.filter(operator_id__in=operator_ids, has_joined=True).exclude(tenant_id=tenant_id)
    return set(rows.values_list("operator_id", flat=True))


def can_sign_in(operator: Operator) -> bool:
    """Whether the person has a password, or an account of the sign-in provider."""
    linked = Operator.objects.filter(id=operator.id, socialaccount__isnull=False)
    return operator.has_usable_password() or linked.exists()


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
    return _memberships_asked().objects(operator_id)


@cache
def _memberships_asked() -> sql.CompiledQuery:
    operator_id = UUID(int=0)
    rows = Membership.objects.filter(operator_id=operator_id, is_active=True).select_related("tenant")
    return sql.CompiledQuery(rows.order_by("created_at", "tenant__slug"), operator_id)


def replace_roles(tenant_id: UUID, principal: str, role: str, *, now: datetime) -> None:
    """Give ``principal`` the role and remove its others in this tenant."""
    RoleGrant.objects.written_by(WRITER).filter(tenant_id=tenant_id, principal=principal).exclude(role=role).delete()
    grant_role(tenant_id, principal, role, now=now)


def active_operator(tenant: Tenant, email: str) -> Operator:
    """Return the active operator of this tenant with that address; refuse an unknown one."""
    found = operator_by_email(email)
    if found is None or not Operator.objects.active_in(tenant.id).filter(id=found.id).exists():
        field = {"field": "for", "message": "is not an active operator of this tenant"}
        raise Invalid(f"There is no active operator {email.strip()!r} in {tenant.slug}.", errors=[field])
    return found
