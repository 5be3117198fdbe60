"""The django-q2 tasks of proposals: plain arguments, one domain call each. The clock is read here."""

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memory.host import scheduling
from memory.host.leases import worker_name
from memory.models import Pass
from memory.passes import orders
from memory.tasks import enqueue_pass
from proposals import learning


def synthesize(tenant: str, pass_id: str) -> None:
    carry_out(UUID(hex=tenant), UUID(hex=pass_id))


def carry_out(tenant_id: UUID, pass_id: UUID) -> Pass | None:
    """Carry out the pass and return it; None when this process cannot claim it."""
    return orders.run_pass(tenant_id, pass_id, holder=worker_name(), flow=learning, clock=timezone.now)


def order_syntheses() -> int:
    """Request and queue the daily synthesis of every tenant that is due; return their number."""
    return scheduling.fire_each("Synthesis", learning.tenants_due(now=timezone.now()), _order_daily)


@transaction.atomic
def _order_daily(tenant_id: UUID) -> bool:
    row = learning.order_daily(tenant_id, endpoint=settings.OPENWOP_SYNTHESIS_ENDPOINT, now=timezone.now())
    if row is not None:
        enqueue_pass(row)
    return row is not None
