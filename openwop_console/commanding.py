"""What the management commands share: a refusal is one line on standard error, and the exit status 1."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from memory.host import access
from memory.host.errors import Refusal
from memory.host.models import Tenant


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """A refusal inside the block becomes a ``CommandError`` that names every field."""
    try:
        yield
    except Refusal as refusal:
        fields = "; ".join(f"{row['field']} {row['message']}" for row in refusal.details.get("errors", []))
        raise CommandError(f"{refusal.message}{f' ({fields})' if fields else ''}") from None


def tenant_named(slug: str) -> Tenant:
    """The tenant with that slug; a ``CommandError`` when there is none."""
    tenant = access.tenant_by_slug(slug)
    if tenant is None:
        raise CommandError(f"There is no tenant {slug!r}; create it with: manage.py create_tenant {slug}")
    return tenant
