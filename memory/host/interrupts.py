"""Interrupts: what suspended runs wait for, who may answer, and the resolvers per node type.

The run surface is a higher layer and may not know which app brings a node type (the approval gate is from
``proposals``), so it looks the resolver up here; a type without one cannot be answered. The rules for a plain
interrupt, which no app above has rules for, are here too, so that every face and page applies the same.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.host import event_log, ids, runs, sql
from memory.host.errors import Conflict, Forbidden, Gone, Invalid, NotFound, Unprocessable
from memory.host.event_log import Recorded
from memory.host.events import Event, InterruptRequested, InterruptResolved, NodeResumed, NodeSuspended, payload_of
from memory.host.expiry import SKEW
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, InterruptVote, Run, RunStatus, Tenant
from memory.host.node_types import Wait
from memory.host.registrations import Registrations
from memory.host.tenancy import TenantScope

WRITER = "memory.host.interrupts"
ANSWERED, TIMED_OUT, ENDED = "answered", "timeout", "run-ended"
SCOPE = "approvals:respond"
ReasonsOf = Callable[[UUID, list[Recorded]], dict[int, str]]


@dataclass(frozen=True, slots=True)
class Resolver:
    """The callbacks of the app that brings a node type, for interrupts at its nodes.

    ``resolve(scope, run, node_id, resume_value, now)`` refuses, or has recorded the answer when it returns.
    ``run_ended`` is called in the transaction in which a run ends, for any reason. ``reasons`` maps an event type to a
    function that returns people's reasons by the sequences of such events.
    """

    resolve: Callable[[TenantScope, Run, str, Any, datetime], None]
    run_ended: Callable[[Run, datetime], None] | None = None
    reasons: Mapping[str, ReasonsOf] = field(default_factory=dict)


_resolvers: Registrations[str, Resolver] = Registrations()


# The only writer of interrupts and of the votes on them.
#
# A run may wait at several nodes at once; each interrupt is answered separately, under the lock of its run. A key is
# asked at most once per run, so a node that is executed again finds its earlier answer.


class InterruptNotFound(NotFound):
    code = "interrupt_not_found"
    message = "No interrupt waits at that node of that run."


class InterruptAlreadyResolved(Conflict):
    code = "interrupt_already_resolved"
    message = "That interrupt was answered already."


class InterruptExpired(Gone):
    code = "interrupt_expired"
    message = "That interrupt token has expired."


class InterruptCancelled(Unprocessable):
    code = "interrupt_cancelled"
    message = "The run was cancelled while it waited."


class InterruptTokenRefused(Forbidden):
    message = "That token may not answer this interrupt."


class InvalidResumeValue(Invalid):
    code = "INVALID_RESUME_VALUE"
    message = "The resume value is not one this interrupt can be answered with."


def open_interrupt(run: Run, node_id: str, wait: Wait, *, now: datetime) -> Interrupt:
    """Record the question and append it to the log of the locked run; the node waits until it is answered."""
    run.refuse_effects()
    interrupt = _interrupt(run, node_id, wait, now).insert(by=WRITER)
    interrupt_id = ids.wire("int", interrupt.id)
    suspended = NodeSuspended(node_id, interrupt_id, wait.kind, wait.key)
    event_log.append(run.tenant_id, run.id, _requested(interrupt_id, node_id, wait), suspended, now=now)
    return interrupt


def ask_answered(
    run: Run,
    node_id: str,
    wait: Wait,
    value: JSONObject,
    *facts: Event,
    outcome: str = ANSWERED,
    cause: str | None = None,
    result: str | None = None,
    now: datetime,
) -> Interrupt:
    """Record a question that was answered in advance; both are on the log, and the run does not wait.

    ``result`` and ``cause`` go to the log as fixed words, as those of ``answer`` do.
    """
    run.refuse_effects()
    interrupt = _interrupt(run, node_id, wait, now)
    interrupt.resolved_at, interrupt.resume_value, interrupt.outcome = now, value, outcome
    interrupt.insert(by=WRITER)
    interrupt_id = ids.wire("int", interrupt.id)
    resolved = InterruptResolved(node_id, interrupt_id, wait.kind, result, cause)
    event_log.append(run.tenant_id, run.id, _requested(interrupt_id, node_id, wait), *facts, resolved, now=now)
    return interrupt


def take_over(run: Run, answered: Interrupt, *, now: datetime) -> Interrupt:
    """Copy an answered interrupt of the source to ``run``, a branch; its log has question and answer already."""
    taken = Interrupt(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=answered.node_id,
        kind=answered.kind,
        key=answered.key,
        data=answered.data,
        policy=answered.policy,
        created_at=now,
        resolved_at=now,
        resume_value=answered.resume_value,
        outcome=answered.outcome,
    )
    return taken.insert(by=WRITER)


def _interrupt(run: Run, node_id: str, wait: Wait, now: datetime) -> Interrupt:
    return Interrupt(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=node_id,
        kind=wait.kind,
        key=wait.key,
        data=wait.asked if wait.asked is not None else payload_of(wait.data),
        policy=wait.policy,
        created_at=now,
        timeout_at=now + wait.timeout if wait.timeout else None,
    )


def _requested(interrupt_id: str, node_id: str, wait: Wait) -> InterruptRequested:
    timeout_ms = int(wait.timeout.total_seconds() * 1000) if wait.timeout else None
    return InterruptRequested(node_id, interrupt_id, wait.kind, wait.key, wait.data, timeout_ms)


def at_node(run: Run, node_id: str) -> Interrupt | None:
    """Return the newest interrupt of the run at ``node_id``, open or resolved."""
    rows = Interrupt.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id)
    found: Interrupt | None = rows.order_by("-id").first()
    return found


def by_id(tenant_id: UUID, interrupt_id: UUID) -> Interrupt | None:
    found: Interrupt | None = Interrupt.objects.of(tenant_id).filter(id=interrupt_id).first()
    return found


def by_ids(tenant_id: UUID, interrupt_ids: Collection[UUID]) -> dict[UUID, Interrupt]:
    """Return these interrupts, each with its run."""
    rows = Interrupt.objects.of(tenant_id).filter(id__in=list(interrupt_ids)).select_related("run__definition")
    return {row.id: row for row in rows}


def open_at(run: Run) -> list[Interrupt]:
    """Return the open interrupts of the run, oldest first."""
    return _open_at().fetch(sql.key(run.tenant_id), sql.key(run.id))


@cache
def _open_at() -> sql.PositionalQuery[Interrupt]:
    rows = Interrupt.objects.of(UUID(int=0)).filter(run_id=UUID(int=1))
    return sql.PositionalQuery(rows.filter(resolved_at=None).order_by("id"))


def waiting(tenant_id: UUID) -> QuerySet[Interrupt]:
    """Return the open plain interrupts of the tenant's runs, oldest first, each with its run."""
    rows = Interrupt.objects.of(tenant_id).filter(resolved_at=None, policy__plain=True)
    return rows.exclude(run__status__in=runs.ENDING).select_related("run__definition").order_by("id")


def has_time(run: Run, interrupt: Interrupt, *, now: datetime) -> bool:
    """Return whether the interrupt has not timed out; its time does not run while its run is paused."""
    return interrupt.timeout_at is None or interrupt.timeout_at > (run.paused_at or now)


def require_open(run: Run, interrupt: Interrupt, *, now: datetime) -> None:
    """Refuse an interrupt that was answered or has timed out, or whose run has ended."""
    if run.status == RunStatus.CANCELLED and interrupt.outcome not in (ANSWERED, TIMED_OUT):
        raise InterruptCancelled(nodeId=interrupt.node_id)
    if interrupt.resolved_at is not None or run.status in runs.ENDING:
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id, runStatus=run.status)
    if not has_time(run, interrupt, now=now):
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id, outcome=TIMED_OUT)


@transaction.atomic
def answer(
    run: Run,
    interrupt: Interrupt,
    value: JSONObject,
    *facts: Event,
    outcome: str = ANSWERED,
    cause: str | None = None,
    result: str | None = None,
    now: datetime,
) -> None:
    """Record the answer, append ``facts`` and the resolution to the log, and wake the run, unless it is paused.

    The run is locked. A second answer, and one to a run that has ended, are refused. ``result`` and ``cause`` go to the
    log as fixed words.
    """
    fresh: Interrupt = Interrupt.objects.of(run.tenant_id).get(id=interrupt.id)
    if fresh.resolved_at is not None or run.status in runs.ENDING:
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id)
    interrupt.resolved_at, interrupt.resume_value, interrupt.outcome = now, value, outcome
    interrupt.save(by=WRITER, update_fields=["resolved_at", "resume_value", "outcome"])
    interrupt_id = ids.wire("int", interrupt.id)
    resolved = InterruptResolved(interrupt.node_id, interrupt_id, interrupt.kind, result, cause)
    resumed = NodeResumed(interrupt.node_id, interrupt_id)
    event_log.append(run.tenant_id, run.id, *facts, resolved, resumed, now=now)
    runs.wake(run, now=now)


def withdraw(run: Run, *, node_id: str | None = None, now: datetime) -> None:
    """Close the open interrupts at ``node_id``, or of the whole locked run, without an event.

    The caller's own events give the reason.
    """
    if node_id is None:
        _withdraw_all().run(run.tenant_id, run.id, now)
    else:
        _open_of(run.tenant_id, run.id).filter(node_id=node_id).update(resolved_at=now, outcome=ENDED)


@cache
def _withdraw_all() -> sql.Update:
    """The update for a tenant, a run and the time; it is sent at the end of each run."""
    tenant_id, run_id, now = UUID(int=0), UUID(int=1), datetime.min.replace(tzinfo=UTC)
    return sql.Update(_open_of(tenant_id, run_id), {"resolved_at": now, "outcome": ENDED}, tenant_id, run_id, now)


def _open_of(tenant_id: UUID, run_id: UUID) -> QuerySet[Interrupt]:
    return Interrupt.objects.written_by(WRITER).filter(tenant_id=tenant_id, run_id=run_id, resolved_at=None)


def correct_ahead(*, now: datetime) -> int:
    """Bring forward the timeouts of open questions that were asked while a clock was ahead; return how many."""
    of_all = {"tenant_id__in": Tenant.objects.values("id")}  # so that SQLite searches the index of open timeouts
    rows = Interrupt.objects.filter(resolved_at=None, timeout_at__gt=now, created_at__gt=now + SKEW, **of_all)
    corrected = 0
    for tenant_id, row_id, asked_at, timeout_at in rows.values_list("tenant_id", "id", "created_at", "timeout_at"):
        if timeout_at and timeout_at > (earlier := now + (timeout_at - asked_at)):
            own = Interrupt.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=row_id, timeout_at=timeout_at)
            corrected += own.update(timeout_at=earlier)
    return corrected


def postpone(run: Run, by: timedelta) -> None:
    """Extend the timeouts of the locked run's open interrupts."""
    _open_of(run.tenant_id, run.id).filter(timeout_at__isnull=False).update(timeout_at=F("timeout_at") + by)


def end_with(run: Run, *, now: datetime) -> None:
    """Close the open interrupts of the locked, ended run and notify every resolver."""
    withdraw(run, now=now)
    for resolver in _resolvers.values():
        if resolver.run_ended:
            resolver.run_ended(run, now)


def add_exchange(interrupt: Interrupt, exchange: JSONObject) -> None:
    """Append ``exchange`` to the question's data, for those who decide; the wait continues. The run is locked."""
    interrupt.data = {**interrupt.data, "exchanges": [*interrupt.data.get("exchanges", []), exchange]}
    interrupt.save(by=WRITER, update_fields=["data"])


def add_vote(interrupt: Interrupt, *, voter: str, principal: str, action: str, now: datetime) -> bool:
    """Count the vote of ``voter``, cast by ``principal``; False when it was cast before. The run is locked.

    A voter who has voted differently is refused.
    """
    votes = InterruptVote.objects.of(interrupt.tenant_id).filter(interrupt_id=interrupt.id, voter=voter)
    earlier: InterruptVote | None = votes.first()
    if earlier and earlier.action != action:
        raise Conflict("You have answered otherwise at this gate.", nodeId=interrupt.node_id, action=earlier.action)
    if earlier:
        return False
    cast = {"interrupt_id": interrupt.id, "voter": voter, "principal": principal, "action": action}
    InterruptVote(tenant_id=interrupt.tenant_id, at=now, **cast).insert(by=WRITER)
    return True


def votes_at(interrupt: Interrupt) -> list[InterruptVote]:
    """Return the votes in order."""
    return list(InterruptVote.objects.of(interrupt.tenant_id).filter(interrupt_id=interrupt.id).order_by("id"))


def votes_at_each(tenant_id: UUID, interrupt_ids: Collection[UUID]) -> dict[UUID, list[InterruptVote]]:
    """Return the votes at each of these interrupts, in order; sorted here, so that the index of voters leads."""
    found: dict[UUID, list[InterruptVote]] = {interrupt_id: [] for interrupt_id in interrupt_ids}
    for vote in InterruptVote.objects.of(tenant_id).filter(interrupt_id__in=list(interrupt_ids)):
        found[vote.interrupt_id].append(vote)
    return {interrupt_id: sorted(votes, key=lambda vote: vote.id) for interrupt_id, votes in found.items()}


def register(type_id: str, resolver: Resolver) -> None:
    """Register ``resolver`` for interrupts at nodes of ``type_id``."""
    _resolvers[type_id] = resolver


def reasons() -> dict[str, ReasonsOf]:
    """Return the reason lookups of all resolvers, by event type."""
    return {event_type: found for each in _resolvers.values() for event_type, found in each.reasons.items()}


def resolver_of(type_id: str) -> Resolver | None:
    """Return the resolver for this type, or None: then its interrupts cannot be answered."""
    return _resolvers.get(type_id)


def is_plain(interrupt: Interrupt) -> bool:
    """Whether only this module and the interrupt's own policy decide who may answer."""
    return bool(interrupt.policy.get("plain"))


def awaiting(scope: TenantScope, *, now: datetime) -> QuerySet[Interrupt]:
    """Return the plain interrupts that this principal may answer and has not, oldest first, each with its run."""
    while_paused = Q(run__paused_at__isnull=False, timeout_at__gt=F("run__paused_at"))
    rows = waiting(scope.tenant_id).filter(Q(timeout_at=None) | Q(timeout_at__gt=now) | while_paused)
    if not scope.can(SCOPE):
        return rows.none()
    principal = scope.principal
    voted = InterruptVote.objects.of(scope.tenant_id).filter(interrupt_id=OuterRef("id"), voter=principal.person)
    rows = rows.filter(~Exists(voted))
    if principal.agent_ids is not None:
        return rows.exclude(kind="approval")
    named = Q(policy__approversList__icontains=f'"{principal.id}"')
    everyone = Q()
    for person in sorted(principal.people):
        everyone &= Q(policy__approversList__icontains=f'"{person}"')
    return rows.filter(~Q(kind="approval") | Q(policy__approversList__isnull=True) | named | everyone)


def denial(scope: TenantScope, interrupt: Interrupt) -> Forbidden | None:
    """Return why this principal may not answer a plain interrupt, or None when it may."""
    if not scope.can(SCOPE):
        return Forbidden(f"This needs the permission {SCOPE}.", requiredScope=SCOPE)
    if interrupt.kind != "approval":
        return None
    if scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents never decides an approval.", rule="agents-never-decide")
    approvers = interrupt.policy.get("approversList", [])
    principal = scope.principal
    if approvers and principal.id not in approvers and not principal.people <= set(approvers):
        return Forbidden("This approval names who decides, and you are not among them.", rule="approvers-list")
    return None
