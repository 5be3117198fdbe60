"""What every change of the ledger shares: the writer's name, the head that numbers changes, and a locked entry."""

from uuid import UUID

from memory.host.errors import NotFound
from memory.models.entry import LedgerHead, MemoryEntry

WRITER = "memory.ledger"
CHUNK = 500


def locked_entry(tenant_id: UUID, entry_id: UUID) -> MemoryEntry:
    entry: MemoryEntry | None = MemoryEntry.objects.of(tenant_id).select_for_update().filter(id=entry_id).first()
    if entry is None:
        raise NotFound("There is no memory entry by that id.")
    return entry


def move_head(tenant_id: UUID, *, entries: int, retired: int, steps: int = 1) -> int:
    """The ledger has changed: its position rises by ``steps``, its counts move. The row is locked until the commit."""
    heads = LedgerHead.objects.of(tenant_id).select_for_update()
    found: LedgerHead | None = heads.first()
    if found is None:  # the very first entry of a tenant may be one that a pass made
        opened = LedgerHead(tenant_id=tenant_id, id=tenant_id)
        LedgerHead.objects.written_by(WRITER).bulk_create([opened], ignore_conflicts=True)
    head: LedgerHead = found or heads.get()
    head.position, head.entries, head.retired = head.position + steps, head.entries + entries, head.retired + retired
    head.save(by=WRITER, update_fields=["position", "entries", "retired"])
    return head.position


def position(tenant_id: UUID) -> int:
    """The number of the ledger's last change; 0 before the first."""
    head: LedgerHead | None = LedgerHead.objects.of(tenant_id).first()
    return head.position if head else 0
