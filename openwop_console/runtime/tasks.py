"""django-q2 tasks of the runtime and the functions that queue them. The clock is read here."""

from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memory import commitments
from memory.host import heartbeats, scheduling, sql
from memory.host.leases import worker_name
from memory.host.models import Heartbeat
from memory.host.scheduling import Timer
from openwop_console.runtime import commitment_firing, engine, heartbeat_evaluation


def advance(tenant: str, run: str) -> None:
    engine.advance(UUID(hex=tenant), UUID(hex=run), holder=worker_name(), clock=timezone.now)


def enqueue_heartbeats(now: datetime) -> int:
    """Queue the due tick of every heartbeat, each claimed by one caller; return how many."""
    due = scheduling.due(Heartbeat, "next_at", "interval_s", now=now)
    return scheduling.fire_each("Heartbeat", due, lambda key: _enqueue_tick(*key, now=now))


def enqueue_timer(timer: Timer) -> None:
    """Queue a host timer's task, in the transaction that claims its tick."""
    async_task(timer.task)


@transaction.atomic
def _enqueue_tick(tenant_id: UUID, heartbeat_id: UUID, tick_at: datetime, interval_s: int, *, now: datetime) -> bool:
    next_at = heartbeats.take_tick(tenant_id, heartbeat_id, sql.as_utc(tick_at), interval_s, now=now)
    if next_at is None:
        return False
    async_task("openwop_console.runtime.tasks.beat", tenant_id.hex, heartbeat_id.hex, next_at.isoformat())
    return True


def beat(tenant: str, heartbeat: str, next_at: str) -> None:
    """Process one tick; skipped when the next tick came before a worker was free."""
    heartbeat_evaluation.beat(
        UUID(hex=tenant), UUID(hex=heartbeat), next_at=datetime.fromisoformat(next_at), clock=timezone.now
    )


def enqueue_commitments(
    now: datetime, *, since: datetime, whole: bool, after: UUID | None = None
) -> tuple[int, UUID | None]:
    """Queue the tenants after ``after`` whose commitments need a check, each once; return their number and the cursor.

    With ``whole``, queue every tenant that has commitments, for a complete check.
    """
    found = commitments.inference.due_tenants(since=since, whole=whole, after=after, now=now)
    queue = partial(_enqueue_commitments, whole=whole, now=now)
    return scheduling.fire_each("Inference of commitments", found.tenants, queue), found.after


@transaction.atomic
def _enqueue_commitments(tenant_id: UUID, *, whole: bool, now: datetime) -> bool:
    holder = f"{worker_name()}/{uuid4().hex}"
    if not commitments.lifecycle.lease_watch(tenant_id, holder, now=now):
        return False
    async_task("openwop_console.runtime.tasks.process_commitments", tenant_id.hex, holder, whole)
    return True


def process_commitments(tenant: str, holder: str, whole: bool) -> None:
    commitment_firing.process_commitments(UUID(hex=tenant), holder=holder, whole=whole, clock=timezone.now)
