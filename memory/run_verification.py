"""Whether what a run has left is as it was written: its log, its entries, and the audit records of that time."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory import adapter, run_timeline
from memory.host import audit_access, event_log, ids
from memory.host.audit_chain import Finding
from memory.host.event_log import Recorded
from memory.host.events import MemoryWritten
from memory.host.models import Run
from memory.host.tenancy import TenantScope


@dataclass(frozen=True, slots=True)
class RunFinding:
    """The result of verifying a run.

    ``broken_at`` is the first number at which an event is missing. ``changed`` are
    entries whose text is not the one that was written, of the ``entries`` that can still be read. ``audit`` is None
    without the permission, and when nothing was recorded while the run went on.
    """

    events: int
    broken_at: int | None
    entries: int
    changed: tuple[UUID, ...]
    audit: Finding | None

    @property
    def intact(self) -> bool:
        return self.broken_at is None and not self.changed and (self.audit is None or self.audit.intact)


def verify(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> RunFinding:
    """Read the log of the run from its first event to its last, its entries, and the audit chain over its time.

    Events carry no hash: the database refuses to change them, and a removed one leaves a gap, as numbers have none.
    Their times prove nothing: two writers of a log read the clock before one of them waits for the other.
    """
    run = run_timeline.find_run(scope, run_id)
    expected, broken_at, entries = 0, None, 0
    changed: list[UUID] = []
    for part in _pages(scope, run):
        for event in part:
            if broken_at is None and event.sequence != expected:
                broken_at = expected
            expected = event.sequence + 1
        read, other = _changed(scope, part, now)
        entries, changed = entries + read, changed + other
    if broken_at is None and expected < event_log.length(scope.tenant_id, run.id):
        broken_at = expected
    audit = None
    if scope.can(audit_access.SCOPE):
        audit = audit_access.verify_between(scope, run.created_at, run.completed_at or now)
    return RunFinding(expected, broken_at, entries, tuple(changed), audit)


def _pages(scope: TenantScope, run: Run) -> Iterator[list[Recorded]]:
    after = -1
    while found := event_log.read(scope.tenant_id, run.id, after=after):
        yield found
        after = found[-1].sequence


def _changed(scope: TenantScope, events: list[Recorded], now: datetime) -> tuple[int, list[UUID]]:
    """How many entries that these events tell of can be read, and which of them have another text."""
    if not scope.can("memory:read"):
        return 0, []
    named = {each.payload["memoryId"] for each in events if each.type == MemoryWritten.type}
    wanted = [entry_id for each in sorted(named) if (entry_id := ids.parse("mem", each))]
    found = adapter.console.entries_by_id(scope, wanted, now=now) if wanted else {}
    return len(found), [
        row.id for row in found.values() if hashlib.sha256(row.content.encode()).hexdigest() != row.sha256
    ]
