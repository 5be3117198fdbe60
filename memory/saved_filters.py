"""Saved filters: a list's query under a name, one's own or shared with the tenant. The only writer of their table."""

from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import slugify

from memory import redaction
from memory.host import sql
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.models import SavedFilter
from memory.host.tenancy import TenantScope

WRITER = "memory.saved_filters"
CHANGED = ("slug", "name", "query", "shared")
MOST, LONGEST = 50, 1000
LEDGER, INBOX = "memory", "proposals"
READS = {LEDGER: "memory:read", INBOX: "proposals:read"}


def list_filters(scope: TenantScope, page: str) -> list[SavedFilter]:
    """Return the filters that this principal may use on the list ``page``: its own and the shared ones, by name."""
    scope.check(READS[page])
    found: list[SavedFilter] = _usable_asked().objects(scope.tenant_id, page, scope.principal.id)
    return found


@cache
def _usable_asked() -> sql.CompiledQuery:
    tenant_id, page, owner = UUID(int=0), "page", "owner"
    usable = SavedFilter.objects.of(tenant_id).filter(Q(owner=owner) | Q(shared=True), page=page)
    return sql.CompiledQuery(usable.order_by("name", "id"), tenant_id, page, owner)


def by_slug(scope: TenantScope, kept: list[SavedFilter]) -> dict[str, SavedFilter]:
    """Map each slug to its filter: one's own before a shared one, and of two shared ones the older."""
    last_wins = sorted(kept, key=lambda each: (each.owner == scope.principal.id, -each.id.int))
    return {each.slug: each for each in last_wins}


def save_filter(scope: TenantScope, page: str, *, name: str, query: str, shared: bool, now: datetime) -> SavedFilter:
    """Save the query under the name, replacing the owner's filter of that name. A query that names a secret of the
    tenant is refused: redacted, it would find nothing."""
    scope.check(READS[page])
    row = SavedFilter(tenant_id=scope.tenant_id, page=page, owner=scope.principal.id, created_at=now)
    return _store(scope, row, name=name, query=query, shared=shared, force_insert=True)


def _store(scope: TenantScope, row: SavedFilter, *, name: str, query: str, shared: bool, **how: Any) -> SavedFilter:
    name = " ".join(name.split())
    row.slug, row.name = slugify(name, allow_unicode=True)[:64], name[:64]
    row.query, row.shared = query[:LONGEST], shared
    if not row.slug:
        raise Invalid("The filter needs a name.", errors=[{"field": "name", "message": "needs a letter or a digit"}])
    _refuse_secrets(scope, name=name, query=query)
    rows = SavedFilter.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, owner=row.owner, page=row.page)
    others = rows.exclude(id=row.id)
    if others.exclude(slug=row.slug).count() >= MOST:
        raise Conflict(f"You have {MOST} saved filters here; remove one first.")
    try:
        with transaction.atomic():
            others.filter(slug=row.slug).delete()
            row.save(by=WRITER, **how)
    except IntegrityError:
        raise Conflict("A filter of that name was saved at the same moment.") from None
    return row


def _refuse_secrets(scope: TenantScope, *, name: str, query: str) -> None:
    redact = redaction.for_tenant(scope.tenant_id).redact
    for field, texts in (("name", (name,)), ("query", (query, unquote_plus(query)))):
        if any(redact(text).count for text in texts):
            raise Invalid("The filter was not saved.", errors=[{"field": field, "message": "names a secret"}])


def own_filter(scope: TenantScope, page: str, filter_id: UUID | None, *, lock: bool = False) -> SavedFilter:
    """Return the principal's own filter of the list ``page``; refused for one that another person shared."""
    scope.check(READS[page])
    of_page = SavedFilter.objects.of(scope.tenant_id).filter(page=page)
    if lock:
        of_page = of_page.select_for_update()
    found: SavedFilter | None = of_page.filter(id=filter_id).first() if filter_id else None
    if found is None or (found.owner != scope.principal.id and not found.shared):
        raise NotFound("There is no saved filter by that id.")
    if found.owner != scope.principal.id:
        raise Forbidden("Only the person who saved a filter can change it.", rule="own-filter")
    return found


@transaction.atomic
def rename_filter(
    scope: TenantScope, page: str, filter_id: UUID | None, *, name: str, query: str, shared: bool
) -> SavedFilter:
    """Rename one's own filter, and share it or not; another own filter that has the name already is replaced."""
    row = own_filter(scope, page, filter_id, lock=True)
    return _store(scope, row, name=name, query=query, shared=shared, update_fields=CHANGED)


def remove_filter(scope: TenantScope, page: str, filter_id: UUID | None) -> None:
    """Delete the principal's own filter of the list ``page``; refused for one that another person shared."""
    found = own_filter(scope, page, filter_id)
    SavedFilter.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, id=found.id).delete()
