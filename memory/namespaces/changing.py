"""Namespaces made and their permissions changed, each time on the audit log (RFC-0015 2.3; C14, C19, C21, R104)."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import addresses, harness
from memory.host import tenancy
from memory.host.errors import Forbidden, Invalid, VersionMismatch
from memory.host.tenancy import TenantScope
from memory.models import Namespace
from memory.namespaces.finding import Held, access, seen
from memory.namespaces.rows import Changed, Permissions, got, insert, locked, put_on_record, rewrite

if TYPE_CHECKING:
    from memory.tiers import Caller


def kept_name(scope: TenantScope, name: str) -> str:
    """The name as it is kept, without any secret of the tenant (SR-1); refused when no memory_ref could hold it."""
    kept = harness.for_tenant(scope.tenant_id).redact(name).text
    require_name(scope, kept)
    return kept


def require_name(scope: TenantScope, kept: str) -> None:
    """Refuse what is no name of a namespace, in the form in which it would be kept."""
    message = ""
    if not 0 < len(kept) <= addresses.MAX_SHARED_NAMESPACE:
        message = f"must have 1 to {addresses.MAX_SHARED_NAMESPACE} characters"
    elif tenancy.place_of(scope, f"{addresses.PREFIX}semantic/{kept}") is None:
        message = "cannot be part of a memory ref"
    if message:
        problem = {"field": "namespace", "message": message}
        raise Invalid("That cannot be a namespace of semantic memory.", errors=[problem])


def hold(caller: "Caller", names: Collection[str], *, now: datetime) -> list[Changed]:
    """The namespaces of these kept names are locked, one after the other by name; those that this call has made.

    Of whoever writes there first it is to write, and everybody's to read (C14). The caller asks what it may do in them
    afterwards, and puts those it made on record behind all that it locks.
    """
    allow = [{"agent": caller.agent_id, "access": "write"}]
    made = []
    for name in sorted(names):
        if locked(caller.tenant_id, name) is None:
            new = insert(caller.tenant_id, name, Permissions("read", allow), caller.agent_id, now)
            made += [new] if new else []
            if new is None:  # somebody else was first
                locked(caller.tenant_id, name)
    return made


@transaction.atomic
def change(caller: "Caller", name: str, wanted: Permissions, *, version: int | None = None, now: datetime) -> Held:
    """The namespace with its permissions as they are wanted, in its next version; an operator makes one so.

    Refuses whoever does not administer it, and a ``version`` that is not the current one.
    """
    caller.scope.check("memory:write")
    name = kept_name(caller.scope, name)
    row = locked(caller.tenant_id, name)
    _require_admin(caller, name, there=row is not None, now=now)
    current = row.version if row else 0
    if version not in {None, current}:
        raise VersionMismatch("The namespace has changed since that version.", current_version=current)
    made = insert(caller.tenant_id, name, wanted, caller.agent_id, now) if row is None else None
    changed = made or rewrite(row or got(caller.tenant_id, name), wanted, now)
    put_on_record([changed], actor=caller.scope.principal.id, now=now)
    return seen(caller, name, now=now)


def require_admin(caller: "Caller", name: str, *, now: datetime) -> None:
    """Refuses whoever may not change the permissions of the namespace."""
    caller.scope.check("memory:write")
    name = kept_name(caller.scope, name)
    there = Namespace.objects.of(caller.tenant_id).filter(name=name).exists()
    _require_admin(caller, name, there=there, now=now)


def _require_admin(caller: "Caller", name: str, *, there: bool, now: datetime) -> None:
    if access(caller, [name], now=now)[name] != "admin" and not (caller.operates and not there):
        raise Forbidden("This agent may not change the permissions of that namespace.", rule="namespace-permission")


@transaction.atomic
def declare(tenant_id: UUID, name: str, readers: Iterable[str], by: str, now: datetime) -> list[Changed]:
    """The namespace exists and each of ``readers`` may read it at least (R83); ``by`` is who says so. What of it has
    changed is put on record by the caller, behind all that it locks."""
    name = harness.for_tenant(tenant_id).redact(name).text
    rules = [{"agent": agent, "access": "read"} for agent in dict.fromkeys(readers)]
    made = insert(tenant_id, name, Permissions("read", rules), by, now)
    if made:
        return [made]
    row = got(tenant_id, name)
    ruled = {each["agent"]: each["access"] for each in row.allow}
    barred = [each["agent"] for each in rules if ruled.get(each["agent"], row.default) == "none"]
    if not barred:
        return []
    ruled |= dict.fromkeys(barred, "read")
    allow = [{"agent": agent, "access": access} for agent, access in ruled.items()]
    return [rewrite(row, Permissions(allow=allow), now)]
