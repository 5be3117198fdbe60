"""What django-q2 calls: plain arguments, one domain call each. The clock is read here."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memory import (
    embeddings,
    entry_files,
    entry_selection,
    external_runs,
    ledger_exports,
    ledger_imports,
    ledger_search,
    passes,
    retention_sweep,
)
from memory.forget import execution
from memory.host import audit, audit_chain, idempotency_keys, sessions, sql, throttle, vault, webhooks
from memory.host.leases import worker_name
from memory.models import ForgetRequest, Pass, PassState
from memory.openintent import work
from memory.passes import archives, consolidation, lookalikes, nights, orders, pass_schedules
from memory.passes.orders import Flow

# Kinds of passes that go over no ref.
FLOWS: dict[str, Flow] = {
    entry_selection.KIND: entry_selection,
    ledger_exports.KIND: ledger_exports,
    ledger_imports.KIND: ledger_imports,
}
# Kinds of passes that have a task of their own, by the path by which the queue knows it; the last is of a floor above.
TASKS = {
    execution.KIND: "memory.tasks.forget",
    execution.PREVIEW: "memory.tasks.build_preview",
    "synthesize": "proposals.tasks.synthesize",
}


def enqueue_preview(request: ForgetRequest) -> None:
    """Queue the preview for a worker, in the caller's transaction."""
    async_task("memory.tasks.build_preview", request.tenant_id.hex, request.id.hex, timeout=settings.PASS_TIMEOUT)


def build_preview(tenant: str, request: str) -> None:
    execution.build(UUID(hex=tenant), UUID(hex=request), holder=worker_name(), clock=timezone.now)


def enqueue_forget(request: ForgetRequest) -> None:
    """Queue the confirmed request for a worker, in the caller's transaction."""
    async_task("memory.tasks.forget", request.tenant_id.hex, request.id.hex, timeout=settings.PASS_TIMEOUT)


def forget(tenant: str, request: str) -> None:
    """Carry out the request, and queue the tenant's next forget that waits."""
    tenant_id, request_id = UUID(hex=tenant), UUID(hex=request)
    ended = execution.execute(tenant_id, request_id, holder=worker_name(), now=timezone.now(), clock=timezone.now)
    if ended and ended.pass_id and (following := passes.next_waiting(tenant_id, ended.pass_id, now=timezone.now())):
        enqueue_pass(following)
    if sql.is_postgres():
        transaction.on_commit(scrub)  # VACUUM cannot run inside a transaction


def sweep() -> int:
    throttle.purge(now=timezone.now())
    ledger_exports.sweep(now=timezone.now())
    ledger_imports.sweep(now=timezone.now())
    return retention_sweep.sweep(now=timezone.now())


def scrub() -> bool:
    return retention_sweep.scrub(now=timezone.now())


def lapse_coordinators() -> int:
    return work.coordinators.lapse(now=timezone.now())


def end_silent_runs() -> int:
    now = timezone.now()
    return external_runs.end_silent(now=now) + entry_files.end_interrupted(now=now)


def sweep_merged() -> int:
    return retention_sweep.sweep_merged(now=timezone.now())


def collect_archives() -> int:
    return archives.withdraw_expired(now=timezone.now())


def sweep_answers() -> int:
    return idempotency_keys.sweep(now=timezone.now())


def sweep_sessions() -> int:
    return sessions.sweep(now=timezone.now())


def sweep_deliveries() -> int:
    return webhooks.sweep(now=timezone.now())


def checkpoint_audit() -> int:
    """Checkpoint the audit chains, and sign anew what a former key has signed; none while the vault is locked, since
    the key is not the host's then."""
    if vault.is_locked():
        return 0
    audit.sign_checkpoints_anew(now=timezone.now())
    return audit_chain.make_due_checkpoints(now=timezone.now())


def lapse_previews() -> int:
    return execution.lapse_previews(now=timezone.now())


def enqueue_unattended() -> int:
    """Queue passes without a lease again: their worker died, or their queue row was lost."""
    found = passes.unclaimed(now=timezone.now())
    for row in found:
        enqueue_pass(row)
    return len(found)


def enqueue_pass(row: Pass) -> None:
    """Queue the pass for a worker, in the caller's transaction.

    A pass may take long: its own lease decides who runs it, so a second delivery meanwhile does nothing.
    """
    # a forget and its preview are known by their request
    about = row.window.partition("/")[0] if row.kind in (execution.KIND, execution.PREVIEW) else row.id.hex
    task = TASKS.get(row.kind, "memory.tasks.carry_out_pass")
    async_task(task, row.tenant_id.hex, about, timeout=settings.PASS_TIMEOUT)


def carry_out_pass(tenant: str, pass_id: str) -> None:
    carry_out(UUID(hex=tenant), UUID(hex=pass_id))


def carry_out(tenant_id: UUID, pass_id: UUID) -> Pass | None:
    """Carry out the pass and return it as it ended; None when another process holds it, or it cannot begin yet.

    Queues the next pass that waits for the same ref.
    """
    work = passes.find(tenant_id, pass_id)
    flow = FLOWS.get(work.kind) if work else None
    ended = orders.run_pass(tenant_id, pass_id, holder=worker_name(), flow=flow, clock=timezone.now)
    following = passes.next_waiting(tenant_id, pass_id, now=timezone.now())
    if following is not None:
        enqueue_pass(following)
    if ended and ended.kind == consolidation.KIND and ended.state == PassState.DONE and not ended.dry_run:
        async_task("memory.tasks.find_look_alikes", tenant_id.hex, pass_id.hex, timeout=settings.PASS_TIMEOUT)
    return ended


def find_look_alikes(tenant: str, pass_id: str) -> None:
    """Find pairs for a person to decide, in the ref that the pass went over."""
    work = passes.find(UUID(hex=tenant), UUID(hex=pass_id))
    if work is not None:
        lookalikes.find_pairs(work, clock=timezone.now)


def fire_pass_schedules(now: datetime) -> int:
    """Store and queue the passes of the ticks that are due."""
    return pass_schedules.fire_due(queue=enqueue_pass, now=now)


def order_nights() -> int:
    """Store and queue the passes of the nights that are due; return the number of tenants."""
    return nights.order_nights(queue=enqueue_pass, now=timezone.now())


def index_words() -> int:
    """Index entries after the marks of full text."""
    return ledger_search.index_words()


def embed_entries() -> int:
    """Request vectors for entries without one, where the tenant's policy names an endpoint for them."""
    return embeddings.embed_entries(clock=timezone.now)
