"""Archives found by whoever may read memory, and what stands before and behind one."""

import json
from collections.abc import Collection
from typing import Any
from uuid import UUID

from memory.archives.rows import of_ref, parts
from memory.host import ids
from memory.host.errors import Gone, NotFound
from memory.host.tenancy import TenantScope
from memory.models import Archive, ArchiveState


def look(scope: TenantScope, archive_id: UUID | None) -> Archive:
    """The archive, withdrawn or not; ``NotFound`` for any other id.

    A key that is bound to agents is shown none: an archive tells of what all agents of its ref wrote.
    """
    row: Archive | None = visible(scope).filter(id=archive_id).first() if archive_id else None
    if row is None:
        raise NotFound("There is no archive by that id.")
    return row


def find(scope: TenantScope, archive_id: UUID | None) -> Archive:
    """The archive with its bytes; ``Gone`` when it was withdrawn, with the reason and the archive that came after."""
    row = look(scope, archive_id)
    if row.state == ArchiveState.WITHDRAWN:
        after = successor_of(row)
        told = {"successor": ids.wire("arc", after.id)} if after else {}
        raise Gone("That archive was withdrawn.", reason=row.withdrawn_because, **told)
    return row


def visible(scope: TenantScope) -> Any:
    """The tenant's archives, as far as this principal may know of them."""
    scope.check("memory:read")
    rows = Archive.objects.of(scope.tenant_id)
    return rows if scope.principal.agent_ids is None else rows.none()


def named(tenant_id: UUID, archive_ids: Collection[UUID]) -> dict[UUID, Archive]:
    """Those of these archives that are the tenant's, by their ids and without their bytes."""
    rows = Archive.objects.of(tenant_id).defer("body")
    return {row.id: row for part in parts(archive_ids) for row in rows.filter(id__in=part)}


def of_entry(scope: TenantScope, entry_id: UUID) -> Archive | None:
    """The archive whose text agents read under this entry, without its bytes."""
    found: Archive | None = visible(scope).defer("body").filter(entry_id=entry_id).order_by("-id").first()
    return found


def successor_of(row: Archive) -> Archive | None:
    """The archive that is current in the ref of this one, when it was made later."""
    rows = of_ref(row.tenant_id, row.memory_ref).filter(state=ArchiveState.CURRENT, id__gt=row.id)
    found: Archive | None = rows.first()
    return found


def predecessor_of(row: Archive) -> Archive | None:
    """The last archive of the ref before this one that still has its bytes."""
    rows = of_ref(row.tenant_id, row.memory_ref).exclude(state=ArchiveState.WITHDRAWN)
    found: Archive | None = rows.filter(id__lt=row.id).order_by("-id").first()
    return found


def sources_of(body: bytes) -> list[UUID]:
    """The entries that the archive of these bytes was made from."""
    found = (ids.parse("mem", str(each.get("id"))) for each in json.loads(body).get("sources", []))
    return [each for each in found if each]
