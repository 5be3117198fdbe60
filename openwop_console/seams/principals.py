"""The principals and tenants that a suite names, and that no seam lets it mistake for real ones."""

from datetime import datetime

from memory.host import access, tenancy
from memory.host.errors import Invalid
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope

SCOPE = "manifest:read"  # what a suite's key has whatever else it may
MARK = "conformance-"
OWNER = "conformance-owner-principal"
LONGEST = 64


def tenant_of(caller: TenantScope) -> Tenant:
    """The caller's own tenant."""
    found = access.tenant_by_slug(caller.principal.tenant_slug)
    assert found is not None, "a principal has a tenant"
    return found


def named(caller: TenantScope, name: str, *, now: datetime) -> TenantScope:
    """The principal ``name`` in the caller's tenant, with the roles it has there; the one called owner is seeded.

    Nobody acts in the name of a person or key of the tenant, but for itself.
    """
    if name == caller.principal.id:
        return caller
    if not name.startswith(MARK) or len(name) > LONGEST or not name.isprintable():
        message = f"must begin with {MARK} and have at most {LONGEST} characters"
        raise Invalid("No seam acts as that principal.", errors=[{"field": "principal", "message": message}])
    if name == OWNER:
        access.grant_role(caller.tenant_id, name, "owner", now=now)
    return tenancy.named_scope(tenant_of(caller), name)
