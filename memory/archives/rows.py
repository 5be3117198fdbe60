"""What every part of this package shares: the writer's name, the words of a withdrawal, and rows in chunks."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from memory.models import Archive

WRITER = "memory.archives"
FORGOTTEN, RETENTION, SEALED = "forgotten", "retention", "sealed"
DISTILL = "distill"
INDEX = "MEMORY-INDEX.json"
CHUNK = 500


def of_ref(tenant_id: UUID, memory_ref: str) -> Any:
    return Archive.objects.of(tenant_id).filter(memory_ref=memory_ref)


def parts(rows: Iterable[UUID]) -> list[list[UUID]]:
    whole = list(rows)
    return [whole[start : start + CHUNK] for start in range(0, len(whole), CHUNK)]
