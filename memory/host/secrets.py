"""A tenant's own secrets, as principals manage them: written and removed, never read back."""

from datetime import datetime

from memory.host import vault
from memory.host.errors import NotFound
from memory.host.tenancy import TenantScope


def set_secret(scope: TenantScope, name: str, value: str, *, kind: str, owner: str, now: datetime) -> None:
    """Runs of the tenant resolve ``value`` by ``name`` from now on; audited."""
    scope.check("secrets:manage")
    vault.put(scope.tenant_id, name, value, scope=kind, owner=owner, actor=scope.principal.id, now=now)


def remove_secret(scope: TenantScope, name: str, *, kind: str, owner: str, now: datetime) -> None:
    """No run resolves ``name`` any more; audited. ``NotFound`` when there was nothing by that name."""
    scope.check("secrets:manage")
    if not vault.remove(scope.tenant_id, name, scope=kind, owner=owner, actor=scope.principal.id, now=now):
        raise NotFound("The vault holds no secret by that name.")
