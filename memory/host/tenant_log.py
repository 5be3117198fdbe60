"""The tenant's own log: what happened to the tenant and belongs to no run of it.

One stream a tenant, whose id is the tenant's id. It is opened by the first event and never closed; the append itself is
``event_log``'s, so its events are numbered, kept and content-free like all others.
"""

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.host import event_log
from memory.host.event_log import PAGE, Recorded
from memory.host.events import Event


def append(tenant_id: UUID, *events: Event, now: datetime) -> int:
    """``events`` stand at the end of the tenant's log, in order; in the caller's transaction.

    The sequence of the last one is returned.
    """
    if any(event.terminal for event in events):
        raise RuntimeError("a terminal event ends a run; the log of a tenant does not end")
    _open(tenant_id)
    return event_log.append(tenant_id, tenant_id, *events, now=now)


def _open(tenant_id: UUID) -> None:
    if event_log.exists(tenant_id, tenant_id):
        return
    try:
        with transaction.atomic():
            event_log.open_stream(tenant_id, tenant_id)
    except IntegrityError:
        pass  # another process opened it first


def read(tenant_id: UUID, *, after: int = -1, limit: int = PAGE) -> list[Recorded]:
    """The events after ``after``, in order, at most ``limit``; none before the first."""
    return event_log.read(tenant_id, tenant_id, after=after, limit=limit)


def length(tenant_id: UUID) -> int:
    """How many events the log holds."""
    return event_log.length(tenant_id, tenant_id)
