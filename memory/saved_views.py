"""Filters of the ledger that a person keeps under a name, alone or for everybody of the tenant."""

from datetime import datetime
from uuid import UUID

from memory import harness
from memory.host import saved_filters
from memory.host.errors import Invalid
from memory.host.models import SavedFilter
from memory.host.tenancy import TenantScope

PAGE = "memory"


def list_views(scope: TenantScope) -> list[SavedFilter]:
    """One's own and those that others share, by name."""
    scope.check("memory:read")
    return saved_filters.list_filters(scope, PAGE)


def save_view(scope: TenantScope, *, name: str, query: str, shared: bool, now: datetime) -> SavedFilter:
    """The query is kept under the name, and replaces what had that name. One that names a secret is refused."""
    scope.check("memory:read")
    redact = harness.for_tenant(scope.tenant_id).redact
    for field, text in (("name", name), ("query", query)):
        if redact(text).text != text:
            raise Invalid("The view was not saved.", errors=[{"field": field, "message": "names a secret"}])
    return saved_filters.save_filter(scope, PAGE, name=name, query=query, shared=shared, now=now)


def remove_view(scope: TenantScope, view_id: UUID | None) -> None:
    scope.check("memory:read")
    saved_filters.remove(scope, view_id)
