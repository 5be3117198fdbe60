"""The event log as a store of a forget: it stays, and the receipt says how many events name the subject.

Events hold ids, refs, labels and paths. A name that somebody put into one of them, or called an agent or a task by, is
on the log for good (RFC 0080).
"""

from collections.abc import Mapping
from uuid import UUID

from memory.host import event_log
from memory.host.erasure import Holding, Identifiers, Kept
from memory.matching import is_mentioned, shadows

BECAUSE = (
    "Events are never changed. These name the subject in a memory_ref, a label, a path, or what a workflow, a node, an "
    "agent or a task is called; keep names out of all of these."
)


class EventNames(Kept):
    """Events whose refs, labels or paths name the subject; nothing of them is erased."""

    store = "names on the event log"
    covers: Mapping[str, tuple[str, ...]] = {"host_runevent": ("node_id", "payload")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        stays = 0
        for texts in event_log.texts(tenant_id):
            if shadows(subject.terms, "\n".join(texts)):
                stays += sum(is_mentioned(subject.terms, text) for text in texts)
        return Holding(self.store, stays=stays, stays_because=BECAUSE if stays else "")


EVENT_NAMES = EventNames()
