"""The night of a tenant: the refs in which something is new are consolidated, and those that have grown distilled.

Each is an ordinary pass of the host. The night is claimed with the tenant's policy, so it comes once whoever looks;
after an outage one night stands for all that were missed.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import groupby
from uuid import UUID

from django.conf import settings
from django.db import transaction

from memory import adapter, harness, passes, policies, reconciled
from memory.adapter import RefFigures
from memory.host import scheduling
from memory.host.events import Failure
from memory.models import Pass, PassState, Trigger
from memory.passes import PassOrder, archives, consolidation, distillation, orders
from memory.passes.orders import Wanted
from memory.wire import instant

FULL = "night_full"
MOST = 100  # passes of one kind a night; those that have waited longest come first
NEVER = datetime(1970, 1, 1, tzinfo=UTC)

Queue = Callable[[Pass], None]


def order_due(*, queue: Queue, now: datetime) -> int:
    """Every tenant whose night has come has its passes, and one that cannot stops no other; how many have any.
    ``queue`` is called in the transaction that makes a pass."""

    def order_one(tenant_id: UUID) -> bool:
        return bool(order_night(tenant_id, queue=queue, now=now))

    def skip(tenant_id: UUID) -> None:
        policies.claim_night(tenant_id, now=now)

    if settings.OPENWOP_MEMORY_INSTANCE:
        return 0  # what is gone at the next start is not put together
    due = policies.nights_due(now=now)
    return scheduling.fire_each("Night", due, order_one, give_up=skip)


def order_night(tenant_id: UUID, *, queue: Queue, now: datetime) -> list[Pass]:
    """The passes of the night that is due, waiting for a worker; none for everybody who comes after the first.

    Each is ordered in a transaction of its own, so that no writer waits for a night. What a worker that dies meanwhile
    has not ordered comes first in the next one.
    """
    wanted = wanted_tonight(tenant_id, now=now)
    tick_at = policies.claim_night(tenant_id, now=now)
    if tick_at is None:
        return []
    window, made = f"night/{instant(tick_at)}", []
    for kind, of_kind in groupby(wanted, key=lambda each: each.kind):
        tonight = list(of_kind)
        made += [_order(tenant_id, each, window, queue, now) for each in tonight[:MOST]]
        if (left := len(tonight) - MOST) > 0:
            _skip(tenant_id, kind, left, window, now)
    return [row for row in made if row.state == PassState.WAITING]


def _skip(tenant_id: UUID, kind: str, left: int, window: str, now: datetime) -> None:
    """That refs wait for the next night is on record, as a pass over none that was refused."""
    failure = Failure(FULL, f"A night orders up to {MOST} passes of a kind: {left:,} more wait for the next one.")
    order = PassOrder(kind, window, "host", trigger=Trigger.SCHEDULED)
    passes.decline(tenant_id, order, failure, refused=True, now=now)


@transaction.atomic
def _order(tenant_id: UUID, wanted: Wanted, window: str, queue: Queue, now: datetime) -> Pass:
    row = orders.order_standing(tenant_id, "host", wanted, window=window, now=now)
    if row.state == PassState.WAITING:
        queue(row)
    return row


def wanted_tonight(tenant_id: UUID, *, now: datetime) -> list[Wanted]:
    """What is to be consolidated, and then what is to be distilled, each with what has waited longest first; a ref that
    holds a secret is kept in no pass."""
    clean, above = harness.for_tenant(tenant_id).redact_json, policies.policy_of(tenant_id).distill_above
    refs = [each for each in adapter.written_by_runs(tenant_id, now=now) if clean(each.memory_ref) == each.memory_ref]
    return [
        Wanted(kind, memory_ref, trigger=Trigger.SCHEDULED)
        for kind, found in (
            (consolidation.KIND, _to_consolidate(tenant_id, refs)),
            (distillation.KIND, _to_distill(tenant_id, refs, above, now) if above else []),
        )
        for memory_ref in found
    ]


def _to_consolidate(tenant_id: UUID, refs: list[RefFigures]) -> list[str]:
    """Those with something that no consolidation has seen, and something beside it."""
    known = reconciled.progress_of(tenant_id)
    due = [(known.get(each.memory_ref, (0, NEVER)), each) for each in refs if each.entries > 1]
    return _longest_waiting((at, each.memory_ref) for (position, at), each in due if each.position > position)


def _to_distill(tenant_id: UUID, refs: list[RefFigures], above: int, now: datetime) -> list[str]:
    """Those to which more than ``above`` tokens were written since their last archive."""
    made, due = archives.current_archives(tenant_id), []
    for ref in (each.memory_ref for each in refs if each.tokens > above):
        last = made.get(ref)
        if last is None:
            due.append((NEVER, ref))
        elif adapter.tokens_written_after(tenant_id, ref, last.entry_id, now=now) > above:
            due.append((last.created_at, ref))
    return _longest_waiting(due)


def _longest_waiting(refs: Iterable[tuple[datetime, str]]) -> list[str]:
    return [memory_ref for _, memory_ref in sorted(refs)]
