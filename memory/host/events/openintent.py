"""What RFC-0015 tells of memory and of the work it belongs to, as it stands on the log: ids, tiers and versions.

On a run's log these are a vendor's events (host-extensions.md), so that any OpenWOP reader may pass over them; the face
of OpenIntent takes the prefix off. Namespaces, keys, tags and payloads are notes beside the log (``event_notes``).
"""

from dataclasses import dataclass
from uuid import UUID

from memory.host.events.base import Event

VENDOR = "openintent."


@dataclass(frozen=True, slots=True)
class EntryLifecycle(Event):
    """RFC-0015 5.2. ``agent_id`` owns the entry, ``actor`` is the agent that did it; ``task_id`` is a task of ours."""

    wire_names = {"tier": "memoryType"}
    entry_id: UUID
    tier: str
    version: int
    agent_id: str
    actor: str
    task_id: str | None = None
    previous_version: int | None = None

    @property
    def subject(self) -> UUID | None:
        return self.entry_id


@dataclass(frozen=True, slots=True)
class EntryCreated(EntryLifecycle):
    type = "openintent.memory.created"


@dataclass(frozen=True, slots=True)
class EntryUpdated(EntryLifecycle):
    type = "openintent.memory.updated"


@dataclass(frozen=True, slots=True)
class EntryDeleted(EntryLifecycle):
    type = "openintent.memory.deleted"


@dataclass(frozen=True, slots=True)
class EntryEvicted(EntryLifecycle):
    type = "openintent.memory.evicted"


@dataclass(frozen=True, slots=True)
class EntryExpired(EntryLifecycle):
    type = "openintent.memory.expired"


@dataclass(frozen=True, slots=True)
class MemoryArchived(Event):
    """RFC-0015 2.1: the working memory of an agent in a task that has ended; its note has the snapshot."""

    type = "openintent.memory.archived"
    agent_id: str
    actor: str
    task_id: str
    entries_archived: int


@dataclass(frozen=True, slots=True)
class IntentLogged(Event):
    """Another event of an intent's log, of the client's own vocabulary: ``kind`` is its ``event_type`` (RFC-0001)."""

    type = "openintent.logged"
    kind: str
    actor: str
