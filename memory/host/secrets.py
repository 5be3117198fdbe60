"""Management of a tenant's secrets: listed by name, written and removed, never read back."""

from datetime import datetime
from uuid import UUID

from memory.host import vault
from memory.host.errors import NotFound
from memory.host.models import GIVEN_SCOPES, Secret, SecretScope
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope


def set_secret(scope: TenantScope, name: str, value: str, *, kind: str, owner: str, now: datetime) -> None:
    """Store the secret that runs of the tenant resolve by ``name``; audited."""
    scope.check("secrets:manage")
    vault.put(scope.tenant_id, name, value, scope=kind, owner=owner, actor=scope.principal.id, now=now)


def remove_secret(scope: TenantScope, name: str, *, kind: str, owner: str, now: datetime) -> None:
    """Remove the secret; audited. Raises ``NotFound`` when there is none by that name."""
    scope.check("secrets:manage")
    actor = scope.principal.id
    if kind not in GIVEN_SCOPES or not vault.remove(
        scope.tenant_id, name, scope=kind, owner=owner, actor=actor, now=now
    ):
        raise NotFound("The vault holds no secret by that name.")


def list_secrets(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[Secret]:
    """Return the tenant's and users' secrets, sealed, newest first; without those of single runs and webhooks."""
    scope.check("secrets:manage")
    rows = Secret.objects.of(scope.tenant_id).filter(scope__in=(SecretScope.TENANT, SecretScope.USER))
    rows = rows.exclude(owner__startswith="removed:")  # kept for redaction alone
    return read_page(rows, after, limit)
