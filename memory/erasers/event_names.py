"""The event log as a store of a forget: it stays, and the receipt says how many events name the subject.

Events hold ids, refs, labels and paths. A name that somebody put into one of them, or called an agent or a task by, is
on the log for good (RFC 0080).
"""

from uuid import UUID

from memory.host import event_log, events
from memory.host.erasure import Holding, Identifiers, Kept
from memory.host.events.openintent import VENDOR
from memory.matching import mentioned_in

BECAUSE = (
    "Events are never changed. These name the subject in a memory_ref, a label, a path, or what an agent or a task is "
    "called; keep names out of all of these."
)
OPENINTENT = tuple(kind.type for kind in vars(events).values() if getattr(kind, "type", "").startswith(VENDOR))
NAMING = ("memory.written", "workspace.updated", *OPENINTENT)


class EventNames(Kept):
    """Events whose refs, labels or paths name the subject; nothing of them is erased."""

    store = "names on the event log"

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        payloads = (payload for kind in NAMING for payload in event_log.payloads(tenant_id, kind))
        stays = sum(1 for payload in payloads if mentioned_in(subject.terms, payload))
        return Holding(self.store, stays=stays, stays_because=BECAUSE if stays else "")


EVENT_NAMES = EventNames()
