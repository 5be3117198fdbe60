"""Namespaces of semantic memory and their permissions (RFC-0015 2.3; R38 to R43, R102 to R104). Their only writer."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from memory import addresses, redaction
from memory.adapter import openintent
from memory.host import audit, ids, tenancy
from memory.host.errors import Forbidden, GuardrailViolation, Invalid, NotFound, VersionMismatch
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Namespace
from memory.openintent import access
from memory.openintent.access import Caller

WRITER = "memory.openintent.namespaces"
CHANGED, MADE = "namespace.changed", "namespace.created"
MAX_RULES = 500
SEPARATOR, ANY_LABEL = ".", "*"
Rules = list[dict[str, str]]


# Namespaces as one caller finds them, each with its access, which the database works out (RFC-0015 2.3; R41).


@dataclass(frozen=True, slots=True)
class NamespaceView:
    """A namespace, the caller's access to it, and how many live entries it holds."""

    row: Namespace
    access: str
    entry_count: int


@dataclass(frozen=True, slots=True)
class NamespacePage:
    """Some of them, and how many there are."""

    found: list[NamespaceView]
    total: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """Namespaces made of labels with a dot after each (``users.u1.``), as the client's LangGraph store names them:
    those that begin and end with these labels (``*`` is any), cut after ``max_depth`` labels."""

    prefix: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()
    max_depth: int | None = None

    def condition(self) -> Q:
        """The condition on their names; the labels before the first ``*`` are looked up in the index."""
        exact = "".join(f"{each}{SEPARATOR}" for each in takewhile(lambda each: each != ANY_LABEL, self.prefix))
        whole = rf"^{_pattern(self.prefix)}({_pattern([ANY_LABEL])})*$"
        ends = rf"(^|[{SEPARATOR}]){_pattern(self.suffix)}$"
        return Q(name__endswith=SEPARATOR, name__startswith=exact, name__regex=whole) & Q(name__regex=ends)


def _pattern(labels: Iterable[str]) -> str:
    """The labels as a regular expression that both engines read alike."""
    return "".join(f"{f'[^{SEPARATOR}]+' if each == ANY_LABEL else re.escape(each)}[{SEPARATOR}]" for each in labels)


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """Names of some of them, and how many there are."""

    names: list[str]
    total: int


def list_namespaces(caller: Caller, *, limit: int, offset: int = 0, now: datetime) -> NamespacePage:
    """A page of the namespaces that the caller may read, by name (R102)."""
    caller.scope.check("memory:read")
    rows = access.namespaces_for(caller, now).filter(access__in=access.at_least("read")).order_by("name")
    page = list(rows[offset : offset + limit])
    counts = openintent.count_by_namespace(caller.tenant_id, [row.name for row in page], now=now)
    return NamespacePage([NamespaceView(row, row.access, counts.get(row.name, 0)) for row in page], rows.count())


def list_labelled(caller: Caller, wanted: Labelled, *, limit: int, offset: int = 0, now: datetime) -> LabelledPage:
    """A page of the labelled namespaces that the caller may read, label by label in order; those that are the same up
    to ``max_depth`` once."""
    caller.scope.check("memory:read")
    rows = access.namespaces_for(caller, now).filter(wanted.condition(), access__in=access.at_least("read"))
    found = {tuple(name.split(SEPARATOR)[:-1][: wanted.max_depth]) for name in rows.values_list("name", flat=True)}
    names = ["".join(f"{label}{SEPARATOR}" for label in labels) for labels in sorted(found)[offset : offset + limit]]
    return LabelledPage(names, len(found))


def titles_of(scope: TenantScope, targets: Collection[str]) -> dict[str, str]:
    """What the namespaces among ``targets`` (wire ids) are called, for who may read memory."""
    wanted = {row_id: target for target in targets if (row_id := ids.parse("ns", target))}
    if not wanted or not scope.can("memory:read"):
        return {}
    rows = Namespace.objects.of(scope.tenant_id).filter(id__in=wanted).values_list("id", "name")
    return {wanted[row_id]: name for row_id, name in rows}


def exists(tenant_id: UUID, name: str) -> bool:
    """Whether there is a namespace by that kept name."""
    there: bool = Namespace.objects.of(tenant_id).filter(name=name).exists()
    return there


def get_namespace(caller: Caller, name: str, *, now: datetime) -> NamespaceView:
    """The namespace: 404 when there is none, 403 without read access (R103)."""
    caller.scope.check("memory:read")
    if not exists(caller.tenant_id, name):
        raise NotFound("There is no namespace by that name.")
    if not access.fence_of(caller, now=now).lets_in(name):
        raise GuardrailViolation("A guardrail of the coordinator closes that namespace.", rule="guardrail")
    found = namespace_for(caller, name, now=now)
    if found.access not in access.at_least("read"):
        raise Forbidden("This agent may not read that namespace.", rule="namespace-permission")
    return found


def namespace_for(caller: Caller, name: str, *, now: datetime) -> NamespaceView:
    """The namespace as it is for the caller, who may have no access to it any more."""
    row = Namespace.objects.of(caller.tenant_id).filter(name=name)
    counts = openintent.count_by_namespace(caller.tenant_id, row.values("name"), now=now)
    return NamespaceView(row.get(), access.namespace_access(caller, [name], now=now)[name], counts.get(name, 0))


# Rows of namespaces. A namespace with too many rules is refused.
#
# Each change of one goes on the audit log, at the end of its transaction: the chain is the last lock that is
# taken.


@dataclass(frozen=True, slots=True)
class Permissions:
    """The wanted permissions; None leaves one unchanged."""

    default: str | None = None
    allow: Rules | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A namespace that was made or changed, which is not on record yet."""

    row: Namespace
    action: str


def lock_namespace(tenant_id: UUID, name: str) -> Namespace | None:
    found: Namespace | None = Namespace.objects.of(tenant_id).select_for_update().filter(name=name).first()
    return found


def find_namespace(tenant_id: UUID, name: str) -> Namespace:
    """The same, of one that is there."""
    row: Namespace = Namespace.objects.of(tenant_id).select_for_update().get(name=name)
    return row


@transaction.atomic
def insert(tenant_id: UUID, name: str, given: Permissions, creator: str, now: datetime) -> Changed | None:
    """The namespace, when this call created it: of two at once, one does."""
    row = Namespace(
        tenant_id=tenant_id,
        name=name,
        default=given.default or "read",
        allow=given.allow or [],
        created_by=creator,
        created_at=now,
        updated_at=now,
    )
    _check_rules(row.tenant_id, row.allow)
    try:
        with transaction.atomic():
            row.insert(by=WRITER)
    except IntegrityError:
        return None
    return Changed(row, MADE)


def rewrite(row: Namespace, wanted: Permissions, now: datetime) -> Changed:
    """The locked namespace in its next version."""
    row.default = row.default if wanted.default is None else wanted.default
    if wanted.allow is not None:
        _check_rules(row.tenant_id, wanted.allow)
        row.allow = wanted.allow
    row.version, row.updated_at = row.version + 1, now
    row.save(by=WRITER, update_fields=["default", "allow", "version", "updated_at"])
    return Changed(row, CHANGED)


def audit_changes(changed: Iterable[Changed], *, actor: str, now: datetime) -> None:
    """Record the changes in the audit log, which keeps them for good: an id and numbers, no name."""
    for each in changed:
        row = each.row
        details: JSONObject = {"version": row.version, "default": row.default, "rules": len(row.allow)}
        target = ids.wire("ns", row.id)
        audit.append(row.tenant_id, actor=actor, action=each.action, target=target, details=details, now=now)


def _check_rules(tenant_id: UUID, rules: Rules) -> None:
    redactor, problem = redaction.for_tenant(tenant_id), ""
    if len(rules) > MAX_RULES:
        problem = f"has at most {MAX_RULES} rules"
    elif not all(addresses.is_agent_id(each["agent"]) for each in rules):
        problem = f"an agent's id {addresses.AGENT_ID}"
    elif any(redactor.redact(each["agent"]).count for each in rules):
        problem = addresses.NEVER_AN_ID
    if problem:
        error = {"field": "permissions.allow", "message": problem}
        raise Invalid("The permissions are not valid.", errors=[error])


# Namespaces made and their permissions changed, each time on the audit log (RFC-0015 2.3; C14, C19, C21, R104).


def redacted_name(scope: TenantScope, name: str) -> str:
    """The name as it is kept, without any secret of the tenant (SR-1); refused when no memory_ref could hold it."""
    kept = redaction.for_tenant(scope.tenant_id).redact(name).text
    require_name(scope, kept)
    return kept


def require_name(scope: TenantScope, kept: str) -> None:
    """Refuse what is no name of a namespace, in the form in which it would be kept."""
    message = ""
    if not 0 < len(kept) <= addresses.MAX_SHARED_NAMESPACE:
        message = f"must have 1 to {addresses.MAX_SHARED_NAMESPACE} characters"
    elif tenancy.memory_scope_without_rules(scope, f"{addresses.PREFIX}semantic/{kept}") is None:
        message = "cannot be part of a memory ref"
    if message:
        problem = {"field": "namespace", "message": message}
        raise Invalid("That cannot be a namespace of semantic memory.", errors=[problem])


def lock_namespaces(caller: Caller, names: Collection[str], *, now: datetime) -> list[Changed]:
    """Lock the namespaces of these redacted names, one after the other by name; returns those that this call created.

    The first writer of a namespace may write it, and everyone may read it (C14). The caller checks its access
    afterwards, and audits the created ones after all of its locks.
    """
    allow = [{"agent": caller.agent_id, "access": "write"}]
    made = []
    for name in sorted(names):
        if lock_namespace(caller.tenant_id, name) is None:
            new = insert(caller.tenant_id, name, Permissions("read", allow), caller.agent_id, now)
            made += [new] if new else []
            if new is None:  # another request was first
                lock_namespace(caller.tenant_id, name)
    return made


@transaction.atomic
def change(
    caller: Caller, name: str, wanted: Permissions, *, version: int | None = None, now: datetime
) -> NamespaceView:
    """Replace the namespace's permissions, in its next version; for an operator, create it if needed.

    Refuses callers who do not administer it, and a ``version`` that is not the current one.
    """
    caller.scope.check("memory:write")
    name = redacted_name(caller.scope, name)
    row = lock_namespace(caller.tenant_id, name)
    _require_admin(caller, name, there=row is not None, now=now)
    current = row.version if row else 0
    if version not in {None, current}:
        raise VersionMismatch("The namespace has changed since that version.", current_version=current)
    made = insert(caller.tenant_id, name, wanted, caller.agent_id, now) if row is None else None
    changed = made or rewrite(row or find_namespace(caller.tenant_id, name), wanted, now)
    audit_changes([changed], actor=caller.scope.principal.id, now=now)
    return namespace_for(caller, name, now=now)


def require_admin(caller: Caller, name: str, *, now: datetime) -> None:
    """Refuses callers who may not change the permissions of the namespace."""
    caller.scope.check("memory:write")
    name = redacted_name(caller.scope, name)
    _require_admin(caller, name, there=exists(caller.tenant_id, name), now=now)


def _require_admin(caller: Caller, name: str, *, there: bool, now: datetime) -> None:
    if access.namespace_access(caller, [name], now=now)[name] != "admin" and not (caller.operates and not there):
        raise Forbidden("This agent may not change the permissions of that namespace.", rule="namespace-permission")


@transaction.atomic
def ensure_readable(
    tenant_id: UUID, name: str, readers: Iterable[str], by: str, now: datetime, *, writer: str = ""
) -> list[Changed]:
    """Create the namespace if needed and give each of ``readers`` at least read access (R83), on behalf of ``by``. Who
    wrote it first elsewhere, the ``writer``, may write one that is created (C14). The caller audits the change after
    all of its locks."""
    name = redaction.for_tenant(tenant_id).redact(name).text
    rules = [{"agent": agent, "access": "read"} for agent in dict.fromkeys(readers)]
    first = [{"agent": writer, "access": "write"}] if writer else []
    made = insert(tenant_id, name, Permissions("read", first + rules), by, now)
    if made:
        return [made]
    row = find_namespace(tenant_id, name)
    ruled = {each["agent"]: each["access"] for each in row.allow}
    barred = [each["agent"] for each in rules if ruled.get(each["agent"], row.default) == "none"]
    if not barred:
        return []
    ruled |= dict.fromkeys(barred, "read")
    allow = [{"agent": agent, "access": access} for agent, access in ruled.items()]
    return [rewrite(row, Permissions(allow=allow), now)]
