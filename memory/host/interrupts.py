"""The registration point of interrupt resolvers: who decides about a run that waits at a node of some type.

The run surface stands above and may not know who brings a node type (the approval gate is ``proposals``'); it asks here
for the resolver of the node's type, and a type without one cannot be answered. Who may answer a plain interrupt, which
is one that no floor above has rules of its own for, is said here too, so that every door and every page says the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.host import event_log, ids, runs
from memory.host.errors import Conflict, Forbidden, Gone, Invalid, NotFound, Unprocessable
from memory.host.event_log import Recorded
from memory.host.events import Event, InterruptRequested, InterruptResolved, NodeResumed, NodeSuspended, payload_of
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, InterruptVote, Run, RunStatus
from memory.host.node_types import Wait
from memory.host.registrations import Registrations
from memory.host.tenancy import TenantScope

WRITER = "memory.host.interrupts"
ANSWERED, TIMED_OUT, ENDED = "answered", "timeout", "run-ended"
SCOPE = "approvals:respond"
ReasonsOf = Callable[[UUID, list[Recorded]], dict[int, str]]


@dataclass(frozen=True, slots=True)
class Resolver:
    """What the interrupts at nodes of one type need of the floor that brings it.

    ``resolve(scope, run, node_id, resume_value, now)`` refuses, or the answer stands when it returns. ``run_ended`` is
    called, in the transaction, when a run has ended, whichever way. ``reasons`` are those that people gave with their
    answers: by the type of the event that tells of one, and by the sequences of such events.
    """

    resolve: Callable[[TenantScope, Run, str, Any, datetime], None]
    run_ended: Callable[[Run, datetime], None] | None = None
    reasons: Mapping[str, ReasonsOf] = field(default_factory=dict)


_resolvers: Registrations[str, Resolver] = Registrations()


# What suspended runs wait for: asked, answered, timed out. The only writer of interrupts and of the votes at them.
#
# A run may wait at several nodes at once; each interrupt is answered by itself, under the lock of its run. The key of
# an interrupt is asked at most once a run, so a node that is executed again finds the answer it was given.


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


def ask(run: Run, node_id: str, wait: Wait, *, now: datetime) -> Interrupt:
    """The question is on record and on the log of the run, which is locked; the node waits until it is answered."""
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
    """What ``node_id`` asks was answered before it asked: both are on the log, and the run goes on without waiting.

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
    """``run``, a branch, has asked what its source asked, and has the answer; both are on its log already."""
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
    """What the run waits for at ``node_id``, or waited for and was told."""
    rows = Interrupt.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id)
    found: Interrupt | None = rows.order_by("-id").first()
    return found


def by_id(tenant_id: UUID, interrupt_id: UUID) -> Interrupt | None:
    found: Interrupt | None = Interrupt.objects.of(tenant_id).filter(id=interrupt_id).first()
    return found


def open_at(run: Run) -> list[Interrupt]:
    """What the run waits for now, the oldest question first."""
    return list(Interrupt.objects.of(run.tenant_id).filter(run_id=run.id, resolved_at=None).order_by("id"))


def waiting(tenant_id: UUID) -> QuerySet[Interrupt]:
    """The plain interrupts that runs of the tenant wait at now, the oldest question first, each with its run."""
    rows = Interrupt.objects.of(tenant_id).filter(resolved_at=None, policy__plain=True)
    return rows.exclude(run__status__in=runs.ENDING).select_related("run__definition").order_by("id")


def require_open(run: Run, interrupt: Interrupt, *, now: datetime) -> None:
    """Refuse to answer what nobody waits for any more: it was answered, is out of time, or its run has ended.

    While the run is paused, time stands still.
    """
    if run.status == RunStatus.CANCELLED and interrupt.outcome not in (ANSWERED, TIMED_OUT):
        raise InterruptCancelled(nodeId=interrupt.node_id)
    if interrupt.resolved_at is not None or run.status in runs.ENDING:
        raise InterruptAlreadyResolved(nodeId=interrupt.node_id, runStatus=run.status)
    if interrupt.timeout_at and interrupt.timeout_at <= (run.paused_at or now):
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
    """``facts`` and the resolution are on the log, and a worker takes the run, unless it is paused.

    The run is locked. Answered once: a second answer, and one to a run that has ended, are refused. ``result`` and
    ``cause`` go to the log as fixed words.
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
    """Nobody is asked any more at ``node_id``, or anywhere in the run, which is locked; the log says why by itself."""
    rows = Interrupt.objects.written_by(WRITER).filter(tenant_id=run.tenant_id, run_id=run.id, resolved_at=None)
    rows = rows if node_id is None else rows.filter(node_id=node_id)
    rows.update(resolved_at=now, outcome=ENDED)


def postpone(run: Run, by: timedelta) -> None:
    """What the locked run waits for may be answered that much longer."""
    rows = Interrupt.objects.written_by(WRITER).filter(tenant_id=run.tenant_id, run_id=run.id, resolved_at=None)
    rows.filter(timeout_at__isnull=False).update(timeout_at=F("timeout_at") + by)


def end_with(run: Run, *, now: datetime) -> None:
    """The locked run has ended and asks nobody any more; who resolves its interrupts closes what goes with them."""
    withdraw(run, now=now)
    for resolver in _resolvers.values():
        if resolver.run_ended:
            resolver.run_ended(run, now)


def add_exchange(interrupt: Interrupt, exchange: JSONObject) -> None:
    """``exchange`` stands beside what is asked, for those who decide; the wait goes on. The run is locked."""
    interrupt.data = {**interrupt.data, "exchanges": [*interrupt.data.get("exchanges", []), exchange]}
    interrupt.save(by=WRITER, update_fields=["data"])


def add_vote(interrupt: Interrupt, *, voter: str, principal: str, action: str, now: datetime) -> bool:
    """The voice of ``voter``, raised by ``principal``, counts; False when it was raised before. The run is locked.

    A voice is raised one way: the same voter may not raise it otherwise later.
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
    """The voices raised so far, in their order."""
    return list(InterruptVote.objects.of(interrupt.tenant_id).filter(interrupt_id=interrupt.id).order_by("id"))


def register(type_id: str, resolver: Resolver) -> None:
    """Interrupts at nodes of ``type_id`` are answered through ``resolver`` from now on."""
    _resolvers[type_id] = resolver


def reasons() -> dict[str, ReasonsOf]:
    """Who knows the reasons that events of a type tell of, by that type."""
    return {event_type: found for each in _resolvers.values() for event_type, found in each.reasons.items()}


def resolver_of(type_id: str) -> Resolver | None:
    """Who answers at nodes of this type, or None: then nobody can."""
    return _resolvers.get(type_id)


def is_plain(interrupt: Interrupt) -> bool:
    """Whether nothing but this module and the interrupt's own policy says who may answer."""
    return bool(interrupt.policy.get("plain"))


def awaiting(scope: TenantScope, *, now: datetime) -> QuerySet[Interrupt]:
    """The plain interrupts that this principal may answer and has not, the oldest first, each with its run."""
    rows = waiting(scope.tenant_id).filter(Q(timeout_at=None) | Q(timeout_at__gt=now))
    if not scope.can(SCOPE):
        return rows.none()
    principal = scope.principal
    voted = InterruptVote.objects.of(scope.tenant_id).filter(interrupt_id=OuterRef("id"), voter=principal.person)
    rows = rows.filter(~Exists(voted))
    if principal.agent_ids is not None:
        return rows.exclude(kind="approval")
    named = Q(policy__approversList__isnull=True)
    for each in {principal.id, principal.person}:
        named |= Q(policy__approversList__icontains=f'"{each}"')
    return rows.filter(~Q(kind="approval") | named)


def denial(scope: TenantScope, interrupt: Interrupt) -> Forbidden | None:
    """Why this principal may not answer a plain interrupt, or None when it may."""
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
