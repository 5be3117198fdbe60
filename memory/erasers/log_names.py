"""The event log and the audit log as stores of a forget: both stay, and the receipt counts the rows with the subject.

Events hold ids, refs, labels and paths: a name in one of them, or in what an agent or a task is called, is on the log
for good (RFC 0080). Audit records hold ids, given names (of secrets, files, schedules), and reasons of overrides.
"""

from collections.abc import Mapping
from uuid import UUID

from memory.host import audit, event_log
from memory.host.erasure import Holding, Identifiers, Kept
from memory.matching import is_mentioned, mentioned_in, shadows

EVENTS_STAY = (
    "Events are never changed. These name the subject in a memory_ref, a label, a path, or what a workflow, a node, an "
    "agent or a task is called; keep names out of all of these."
)
RECORDS_STAY = (
    "Audit records are chained and never changed. These name the subject in what was acted on, or in a reason."
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
        return Holding(self.store, stays=stays, stays_because=EVENTS_STAY if stays else "")


class AuditNames(Kept):
    """Records whose target or details name the subject; nothing of them is erased."""

    store = "names on the audit log"
    covers: Mapping[str, tuple[str, ...]] = {"host_auditrecord": ("target", "details")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named = (mentioned_in(subject.terms, [each.target, each.details]) for each in audit.every(tenant_id))
        stays = sum(named)
        return Holding(self.store, stays=stays, stays_because=RECORDS_STAY if stays else "")


EVENT_NAMES = EventNames()
AUDIT_NAMES = AuditNames()
