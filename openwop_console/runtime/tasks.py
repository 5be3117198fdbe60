"""What django-q2 calls for runs. The clock is read here."""

from uuid import UUID

from django.utils import timezone
from django_q.tasks import async_task

from memory.host.models import Run
from memory.tasks import worker_name
from openwop_console.runtime import engine


def enqueue_run(run: Run) -> None:
    """A worker takes the run; queued in the transaction that made it ready, so neither exists without the other."""
    enqueue(run.tenant_id, run.id)


def enqueue(tenant_id: UUID, run_id: UUID) -> None:
    async_task("openwop_console.runtime.tasks.advance", tenant_id.hex, run_id.hex)


def advance(tenant: str, run: str) -> None:
    engine.advance(UUID(hex=tenant), UUID(hex=run), holder=worker_name(), clock=timezone.now)
