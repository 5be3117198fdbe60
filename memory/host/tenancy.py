"""The tenant check, as a type: a ``TenantScope`` or a ``MemoryScope`` is the proof of having passed it (CTI-1).

Only this module makes one. The tenant is always the credential's; a ref that is malformed, unknown or another tenant's
resolves to nothing, and the caller cannot tell which it was.
"""

import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet

from memory.host import access, api_keys, ids, trace_context
from memory.host.errors import Forbidden, Invalid, Unauthenticated
from memory.host.models import Membership, Operator, Run, Tenant
from memory.host.registrations import Registrations

MAX_REF = 256
NAMED = 5  # of a key's own agents, in a refusal of another
RUN_SCOPES = frozenset({"memory:read", "memory:write", "workspace:read", "workspace:write"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The acting operator (``usr_``), key (``key_``), or the host itself.

    A key that is bound to agents acts as those, and as ``first_agent`` by default.
    """

    tenant_id: UUID
    tenant_slug: str
    tenant_name: str
    id: str
    kind: str
    scopes: frozenset[str]
    display_name: str = ""
    agent_ids: frozenset[str] | None = None
    first_agent: str = ""
    owner: str = ""
    made_by: str = ""
    credential: str = field(default="", repr=False)  # the digest of the secret that a key was presented with

    @property
    def person(self) -> str:
        """The person answerable for this principal's acts: the one a key belongs to; a service account is its own."""
        return self.owner or self.id

    @property
    def people(self) -> frozenset[str]:
        """Everyone its acts may come from: the person, and the maker of its key."""
        return frozenset({self.person, self.made_by} - {""})


@dataclass(frozen=True, slots=True)
class TenantScope:
    """A principal inside its own tenant, and the trace that its request belongs to, if any."""

    principal: Principal
    traceparent: str = ""

    @property
    def tenant_id(self) -> UUID:
        return self.principal.tenant_id

    def can(self, scope: str) -> bool:
        return scope in self.principal.scopes

    def check(self, scope: str) -> None:
        """Refuse, naming the missing scope, unless the principal holds it."""
        if not self.can(scope):
            raise Forbidden(f"This needs the permission {scope}.", requiredScope=scope)

    def check_agent(self, agent_id: str) -> None:
        """Refuse an agent that the principal's key is not bound to."""
        bound = self.principal.agent_ids
        if agent_id and bound is not None and agent_id not in bound:
            own = sorted(bound)
            more = f" and {len(own) - NAMED} more" if len(own) > NAMED else ""
            named = f"{', '.join(own[:NAMED])}{more}" or "no agent"
            raise Forbidden(f"This key acts as {named}, and not as that agent.", rule="agent-binding")


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """A memory_ref that passed the check, inside one tenant."""

    tenant: TenantScope
    memory_ref: str

    @property
    def tenant_id(self) -> UUID:
        return self.tenant.tenant_id


def operator_principal(operator: Operator, tenant_id: UUID | None = None) -> Principal:
    """Return the principal of a person in that tenant, or in the one that they joined first."""
    if tenant_id is None:
        membership = next(iter(access.memberships_of(operator.id)), None)
    else:
        membership = access.membership_of(tenant_id, operator.id)
    if membership is None:
        raise Unauthenticated
    return member_principal(membership, operator)


def member_principal(membership: Membership, operator: Operator) -> Principal:
    """Return the principal of a session that is signed in to the tenant of ``membership``."""
    if not membership.is_active or membership.operator_id != operator.id:
        raise Unauthenticated
    tenant, principal_id = membership.tenant, ids.wire("usr", operator.id)
    scopes = access.scopes_of(tenant.id, principal_id)
    return _principal(tenant, principal_id, kind="operator", scopes=scopes, name=operator.email)


def key_principal(text: str, *, now: datetime) -> Principal:
    """Return the principal of an API key."""
    return _of_key(api_keys.key_of(text, now=now))


def grant_principal(operator_id: UUID, client_id: str, *, now: datetime) -> Principal:
    """Return the principal of a client to which this person has granted access to one of their tenants."""
    grant = api_keys.grant_of(operator_id, client_id, now=now)
    if grant is None:
        raise Unauthenticated
    return _of_key(api_keys.standing_key(grant.tenant_id, grant.id, now=now))


def _of_key(key: api_keys.Key) -> Principal:
    return Principal(
        tenant_id=key.tenant_id,
        tenant_slug=key.tenant_slug,
        tenant_name=key.tenant_name,
        id=ids.wire("key", key.id),
        kind="key",
        scopes=key.scopes,
        display_name=key.name or "API key",
        agent_ids=frozenset(key.agents) or None,
        first_agent=next(iter(key.agents), ""),
        owner=key.owner,
        made_by=key.made_by,
        credential=key.digest,
    )


def scope_without_request(tenant_id: UUID, principal_id: str, *, now: datetime) -> TenantScope:
    """Return the current scope of a principal for work that it asked for earlier, without a request.

    Refused when it would not be admitted any more. The host itself may start runs and passes.
    """
    if principal_id == "host":
        return host_scope(Tenant.objects.get(id=tenant_id), scopes=RUN_SCOPES | {"runs:create", "passes:run"})
    key_id, operator_id = ids.parse("key", principal_id), ids.parse("usr", principal_id)
    if key_id:
        return tenant_scope(_of_key(api_keys.standing_key(tenant_id, key_id, now=now)))
    operator = Operator.objects.active_in(tenant_id).filter(id=operator_id).first() if operator_id else None
    if operator is None:
        raise Unauthenticated
    return tenant_scope(operator_principal(operator, tenant_id))


def revoked_among(principals: Collection[Principal], *, now: datetime) -> set[Principal]:
    """Return the keys that would not be admitted any more, or have lost a scope since; one query per tenant.

    Whatever such a key waits for ends, whichever scope it lost: it may reconnect with those it still has.
    """
    found: set[Principal] = set()
    for tenant_id in {each.tenant_id for each in principals}:
        keys = {each: key for each in principals if each.tenant_id == tenant_id and (key := ids.parse("key", each.id))}
        given = api_keys.scopes_of_keys(tenant_id, set(keys.values()), now=now)
        found |= {each for each in keys if each.credential not in given or not each.scopes <= given[each.credential]}
    return found


def named_scope(tenant: Tenant, principal_id: str) -> TenantScope:
    """Return the scope of a principal that a test suite names, with its roles here and no credential; for seams
    only."""
    scopes = access.scopes_of(tenant.id, principal_id)
    return TenantScope(_principal(tenant, principal_id, kind="key", scopes=scopes, name=principal_id))


def _principal(
    tenant: Tenant,
    principal_id: str,
    *,
    kind: str,
    scopes: frozenset[str],
    name: str,
    agent_ids: frozenset[str] | None = None,
) -> Principal:
    return Principal(
        tenant_id=tenant.id,
        tenant_slug=tenant.slug,
        tenant_name=tenant.name,
        id=principal_id,
        kind=kind,
        scopes=scopes,
        display_name=name,
        agent_ids=agent_ids,
    )


def tenant_scope(principal: Principal) -> TenantScope:
    """Return the principal's scope in its own tenant, the only one it can have."""
    return TenantScope(principal)


def host_scope(tenant: Tenant, *, scopes: frozenset[str] = RUN_SCOPES) -> TenantScope:
    """Return a scope for the host's own acts in a tenant: passes, seeds, commands."""
    return TenantScope(_principal(tenant, "host", kind="host", scopes=scopes, name="Host"))


def run_scope(run: Run, *, agent_id: str = "") -> TenantScope:
    """Return the scope of a run in its tenant, as that agent or none: memory and workspace files only."""
    acts_as = frozenset({agent_id} if agent_id else ())
    acting = _principal(run.tenant, run.principal, kind="run", scopes=RUN_SCOPES, name="Run", agent_ids=acts_as)
    return TenantScope(acting)


@dataclass(frozen=True, slots=True)
class Reserved:
    """Refs with this ``prefix`` are not open to every agent of the tenant.

    ``allows`` decides whether a run, or a key that is bound to agents, reaches one of them; ``closed`` returns those
    that it does not reach although its agents have written there.
    """

    prefix: str
    allows: Callable[[TenantScope, str], bool]
    closed: Callable[[TenantScope], "Collection[str] | QuerySet[Model, str]"]


_reserved: Registrations[str, Reserved] = Registrations()


def add_ref_rule(rule: Reserved) -> None:
    """Apply the rule to every ref with its prefix, in all faces and pages."""
    _reserved[rule.prefix] = rule


def closed_refs(scope: TenantScope) -> "list[Collection[str] | QuerySet[Model, str]]":
    """Return, per rule, the refs that the principal's agents may no longer read although they wrote there.

    Each is a collection or a subquery.
    """
    return [rule.closed(scope) for rule in _reserved.values()]


def memory_scope(scope: TenantScope, raw_ref: object) -> MemoryScope | None:
    """Return the scope of ``raw_ref``, or None when this principal cannot have it."""
    found = memory_scope_without_rules(scope, raw_ref)
    rules = [rule for prefix, rule in _reserved.items() if found and found.memory_ref.startswith(prefix)]
    return found if found and all(rule.allows(scope, found.memory_ref) for rule in rules) else None


def memory_scope_without_rules(scope: TenantScope, raw_ref: object) -> MemoryScope | None:
    """Return the scope of ``raw_ref`` without asking the rules for reserved refs, for an entry that another rule has
    opened to the caller; None for a malformed ref, or one that names another tenant."""
    if not isinstance(raw_ref, str) or not _well_formed(raw_ref):
        return None
    segments = raw_ref.split("/")
    if segments[0] == "tenant" and len(segments) > 1 and segments[1] != scope.principal.tenant_slug:
        return None
    return MemoryScope(scope, raw_ref)


def require_well_formed(ref: str) -> None:
    """Refuse a malformed ref before something is written under it."""
    if not _well_formed(ref):
        message = f"must be 1 to {MAX_REF} characters without control characters and without . and .. as a part"
        raise Invalid(errors=[{"field": "memoryRef", "message": message}])


def _well_formed(ref: str) -> bool:
    if not 0 < len(ref) <= MAX_REF or any(unicodedata.category(character) in {"Cc", "Cs"} for character in ref):
        return False
    return not {".", ".."} & set(ref.replace("\\", "/").split("/"))


def scope_of(request: object) -> TenantScope:
    """Return the scope of the request's principal, with the request's trace; refuses when there is no principal."""
    asked: Any = getattr(request, "_request", request)
    principal: Principal | None = getattr(asked, "principal", None)
    if principal is None:
        raise Unauthenticated
    return TenantScope(principal, trace_context.accepted(asked.headers.get(trace_context.HEADER)))
