"""The audit log as a store of a forget: it stays, and the receipt says how many records name the subject.

Records hold ids, names that somebody gave (of secrets, files, schedules), and the reason of an override.
"""

from collections.abc import Mapping
from uuid import UUID

from memory.host import audit
from memory.host.erasure import Holding, Identifiers, Kept
from memory.matching import mentioned_in

BECAUSE = "Audit records are chained and never changed. These name the subject in what was acted on, or in a reason."


class AuditNames(Kept):
    """Records whose target or details name the subject; nothing of them is erased."""

    store = "names on the audit log"
    covers: Mapping[str, tuple[str, ...]] = {"host_auditrecord": ("target", "details")}

    def find(self, tenant_id: UUID, subject: Identifiers) -> Holding:
        named = (mentioned_in(subject.terms, [each.target, each.details]) for each in audit.every(tenant_id))
        stays = sum(named)
        return Holding(self.store, stays=stays, stays_because=BECAUSE if stays else "")


AUDIT_NAMES = AuditNames()
