"""The gate of an activation: opened over one digest, voted on, closed. The only writer of gates and votes (RFC 0051).

A gate is opened under the lock of its proposal and changed under the lock of its activation run. Lock order: the run,
then the proposal, as the engine does when it installs, so that the two cannot deadlock. The run is the host's own
workflow ``gate -> install``.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from django.db import transaction

from memory import event_notes
from memory.host import access, ids, interrupts, outbox, runs, sql
from memory.host.errors import Conflict, NotFound
from memory.host.event_log import Recorded
from memory.host.events import ApprovalAsk, ApprovalGranted, ApprovalOverridden, ApprovalRejected, Event, QuorumProgress
from memory.host.models import Run, RunStatus
from memory.host.models.base import ERASED
from memory.host.node_types import Wait
from memory.host.runs import RunOrder
from memory.host.tenancy import Principal
from memory.text.matching import FORGOTTEN
from proposals.models import Decision, Gate, GateState, Proposal, Revision, Vote
from proposals.policies import Policy

WRITER = "proposals.gate"
# Decisions that end the gate at once, and the state that they leave it in.
VETOES: dict[str, str] = {
    Decision.REJECTED: GateState.REJECTED,
    Decision.CHANGES_REQUESTED: GateState.CHANGES_REQUESTED,
}
WORKFLOW = "host-activation"
GATE_NODE, INSTALL_NODE = "gate", "install"
GATE_TYPE = "core.openwop.governance.approvalGate"
INSTALL_TYPE = "vendor.console.install-artifact"
REQUIRED_SCOPE = "approvals:respond"
ONE_VOICE = "one-voice-a-person"
JUSTIFIED = "The reason is on record in the audit log, under approval.override of this gate."


def activation(*nodes: tuple[str, str]) -> str:
    """The definition of an activation run with these nodes."""
    return runs.host_definition(WORKFLOW, "Host: activate a proposal", *nodes)


def open_gate(proposal: Proposal, revision: Revision, policy: Policy, *, opened_by: str, now: datetime) -> Gate:
    """Pin the revision's digest and the current policy, and open an activation run that asks about them.

    The caller holds the lock of the proposal.
    """
    gate = Gate(
        tenant_id=proposal.tenant_id,
        proposal_id=proposal.id,
        revision=revision.number,
        sha256=revision.sha256,
        node_id=GATE_NODE,
        quorum=policy.quorum,
        required_scope=REQUIRED_SCOPE,
        policy_number=policy.number,
        eligible_roles=list(policy.eligible_roles),
        override_roles=list(policy.override_roles),
        override_bypasses_quorum=policy.override_bypasses_quorum,
        expires_at=now + policy.expires,
        opened_by=opened_by,
        opened_at=now,
    )
    pins = {
        "proposalId": ids.wire("prop", proposal.id),
        "approvalId": ids.wire("gate", gate.id),
        "revision": revision.number,
        "sha256": revision.sha256,
    }
    definition = activation((GATE_NODE, GATE_TYPE), (INSTALL_NODE, INSTALL_TYPE))
    order = RunOrder(WORKFLOW, definition, opened_by, system=True, inputs=pins)
    gate.run = runs.open_run(proposal.tenant_id, order, now=now)
    gate.insert(by=WRITER)
    _announce(gate, "gate.opened", now)
    return gate


def _announce(gate: Gate, kind: str, now: datetime) -> None:
    event = {
        "gateId": ids.wire("gate", gate.id),
        "proposalId": ids.wire("prop", gate.proposal_id),
        "revision": gate.revision,
        "state": gate.state,
    }
    outbox.announce(gate.tenant_id, kind, event, run_id=gate.run_id, now=now)


def under_way(tenant_id: UUID, proposal_id: UUID) -> Gate | None:
    """The gate of the current activation, or None."""
    return next(iter(_under_way().fetch(sql.key(tenant_id), sql.key(proposal_id))), None)


@cache
def _under_way() -> sql.PositionalQuery[Gate]:
    anyone = UUID(int=0)
    rows = Gate.objects.of(anyone).filter(proposal_id=anyone, closed_at=None).select_related("run")
    return sql.PositionalQuery(rows.order_by("id")[:1])


def require_about(gate: Gate, revision: int, sha256: str) -> None:
    """Refuse a decision about another revision or digest; the refusal names the gate's own."""
    if (gate.revision, gate.sha256) != (revision, sha256):
        message = f"The approval request is for revision {gate.revision}, not for the bytes you decided on."
        raise Conflict(message, revision=gate.revision, sha256=gate.sha256)


def gate_of_run(run: Run) -> Gate | None:
    """The gate of this run, or None when it is not an activation run."""
    return next(iter(_of_run().fetch(sql.key(run.tenant_id), sql.key(run.id))), None)


@cache
def _of_run() -> sql.PositionalQuery[Gate]:
    anyone = UUID(int=0)
    return sql.PositionalQuery(
        Gate.objects.of(anyone).filter(run_id=anyone).select_related("proposal").order_by("id")[:1]
    )


def question(gate: Gate, *, now: datetime) -> Wait:
    """The interrupt of the run: ids and the digest. The title is fixed, because events hold no text of a proposal."""
    gate_id = ids.wire("gate", gate.id)
    ask = ApprovalAsk(
        artifact_id=ids.wire("prop", gate.proposal_id),
        artifact_type=gate.proposal.kind,
        title=f"Install revision {gate.revision} of a proposal",
        actions=("accept", "reject"),
        gate_id=gate_id,
        required_scope=gate.required_scope,
        required_approvals=gate.quorum,
        artifact_sha256=gate.sha256,
    )
    left = max(gate.expires_at - now, timedelta(milliseconds=1)) if gate.expires_at else None
    return Wait("approval", gate_id, ask, timeout=left)


def vote(
    gate: Gate, run: Run, *, principal: Principal, decision: str, reason: str, overrides: bool = False, now: datetime
) -> Vote:
    """Record a vote and decide the gate: one rejection or request for changes ends it, ``quorum`` grants grant it.

    The caller holds the lock of the run. A run that waits at the gate continues; one that has not reached it finds the
    answer there. The same vote again changes nothing; a different one, or one by the same person with another login or
    key, is refused. An override counts as one grant, unless the gate's policy lets it bypass the quorum.
    """
    if earlier := vote_of(gate, principal):
        if (earlier.decision, earlier.overrides) != (decision, overrides):
            raise Conflict("You voted differently on this request.", gateState=gate.state, decision=earlier.decision)
        return earlier
    _require_own_voice(gate, principal)
    cast = Vote(
        tenant_id=gate.tenant_id,
        gate_id=gate.id,
        principal=principal.id,
        person=principal.person,
        decision=decision,
        revision=gate.revision,
        sha256=gate.sha256,
        roles=access.roles_of(gate.tenant_id, principal.id),
        reason=reason,
        overrides=overrides,
        at=now,
    ).insert(by=WRITER)
    granted = grants_at(gate)
    if decision in VETOES:
        close(gate, VETOES[decision], now=now)
    elif granted >= gate.quorum or (overrides and gate.override_bypasses_quorum):
        gate.state = GateState.GRANTED
        gate.save(by=WRITER, update_fields=["state"])
        _announce(gate, "gate.decided", now)
    _append_fact(run, gate, _fact(cast, gate, granted), now)
    return cast


def vote_of(gate: Gate, principal: Principal) -> Vote | None:
    """The vote of exactly this login or key at the gate, or None."""
    found: Vote | None = Vote.objects.of(gate.tenant_id).filter(gate_id=gate.id, principal=principal.id).first()
    return found


def _require_own_voice(gate: Gate, principal: Principal) -> None:
    """Refuse a second vote by one person, cast by a login and a key or by two keys."""
    cast = Vote.objects.of(gate.tenant_id).filter(gate_id=gate.id)
    same = access.same_people(gate.tenant_id, principal.people, cast.values_list("principal", flat=True))
    if same:
        called = access.names_of(gate.tenant_id, same)
        names = ", ".join(sorted(called.get(each, each) for each in same))
        message = f"{names} has voted on this request already, and is the same person."
        raise Conflict(message, gateState=gate.state, rule=ONE_VOICE)


def grants_at(gate: Gate) -> int:
    """Count the people who have granted, overrides included."""
    return int(Vote.objects.of(gate.tenant_id).filter(gate_id=gate.id, decision=Decision.GRANTED).count())


def deciding_grant(gate: Gate) -> Vote:
    """The grant that decided a granted gate: the last one, since a decided gate takes no more votes."""
    rows = Vote.objects.of(gate.tenant_id).filter(gate_id=gate.id, decision=Decision.GRANTED)
    found: Vote = rows.order_by("-id")[:1].get()
    return found


def _fact(cast: Vote, gate: Gate, granted: int) -> Event:
    gate_id = ids.wire("gate", gate.id)
    if cast.decision in VETOES:
        return ApprovalRejected(gate_id, cast.principal)
    if cast.overrides:
        return ApprovalOverridden(gate_id, cast.principal, JUSTIFIED)
    return ApprovalGranted(gate_id, cast.principal, QuorumProgress(granted, gate.quorum))


def _append_fact(run: Run, gate: Gate, fact: Event, now: datetime) -> None:
    asked = interrupts.at_node(run, gate.node_id)
    if asked is None:
        return  # the gate node has not asked yet; it appends the votes itself
    interrupts.require_open(run, asked, now=now)
    if gate.state == GateState.OPEN:
        runs.note(run, fact, now=now)
    else:
        interrupts.answer(run, asked, {"decision": gate.state}, fact, now=now)


def facts(gate: Gate) -> list[Event]:
    """The events of the votes at this gate, in the order they were cast."""
    cast = list(Vote.objects.of(gate.tenant_id).filter(gate_id=gate.id).order_by("id"))
    return [_fact(each, gate, granted) for granted, each in enumerate(cast, start=1)]


def reasons_of(tenant_id: UUID, events: list[Recorded]) -> dict[int, str]:
    """The reasons of the votes in these events, by event sequence; a forgotten one reads ``ERASED``."""
    gates = {ids.parse("gate", event.payload["gateId"]) for event in events}
    rows = Vote.objects.of(tenant_id).filter(gate_id__in=[gate for gate in gates if gate])
    given = {(ids.wire("gate", row.gate_id), row.principal): row.reason for row in rows}
    found = {event.sequence: given.get((event.payload["gateId"], event.payload["principal"]), "") for event in events}
    return {sequence: ERASED if reason == FORGOTTEN else reason for sequence, reason in found.items() if reason}


def close(gate: Gate, state: str, *, now: datetime) -> None:
    """Close the gate in ``state`` and announce it if it was open. The caller holds the lock of its run."""
    was_open = gate.state == GateState.OPEN
    gate.state, gate.closed_at = state, now
    gate.save(by=WRITER, update_fields=["state", "closed_at"])
    if was_open:
        _announce(gate, "gate.decided", now)


def cancel(gate: Gate, run: Run, *, state: str = GateState.CANCELLED, reason: str = "", now: datetime) -> None:
    """Close the gate and request the cancellation of its run; ``state`` is void when its revision was replaced.

    ``reason`` is stored as that of the run's ``run.cancelled``, outside the event log.
    """
    close(gate, state, now=now)
    if reason:
        event_notes.give_reason(run.tenant_id, run.id, reason)
    runs.request_cancel(run, now=now)


def run_has_ended(run: Run, now: datetime) -> None:
    """Close the gate of an ended run: as cancelled, or as granted when the run failed to install what was granted."""
    gate = gate_of_run(run) if run.workflow_id == WORKFLOW else None
    if gate and gate.closed_at is None:
        failed = gate.state == GateState.GRANTED and run.status == RunStatus.FAILED
        close(gate, GateState.GRANTED if failed else GateState.CANCELLED, now=now)


def forget_reasons(tenant_id: UUID, proposal_id: UUID) -> None:
    """Blank the reasons of the votes at this proposal's gates; the votes stay."""
    gates = Gate.objects.of(tenant_id).filter(proposal_id=proposal_id).values("id")
    votes = Vote.objects.written_by(WRITER).filter(tenant_id=tenant_id, gate_id__in=gates)
    votes.exclude(reason="").update(reason=FORGOTTEN)


@dataclass(frozen=True, slots=True)
class LockedProposal:
    """A locked proposal, with its gate under way and that gate's locked run; both or neither."""

    proposal: Proposal
    gate: Gate | None = None
    run: Run | None = None

    def activation(self) -> tuple[Gate, Run]:
        """The gate and its run, for steps that ``rules`` only allow while one is under way."""
        if self.gate is None or self.run is None:
            raise RuntimeError("no activation is under way")
        return self.gate, self.run


class _GateChanged(Exception):
    """A gate was opened or closed during the wait for its run's lock; rolls back, so that the locks are released."""


def lock_with_run(tenant_id: UUID, proposal_id: UUID | None, *, now: datetime) -> LockedProposal:
    """Lock the run under way, then the proposal, until the transaction ends; ``NotFound`` for a foreign or unknown id.

    Starts over when a gate is opened or closed meanwhile. Closes the gate of a run that is being cancelled.
    """
    if proposal_id is None:
        raise NotFound("There is no proposal by that id.")
    while True:
        with suppress(_GateChanged), transaction.atomic():
            return _try_lock(tenant_id, proposal_id, now)


def _try_lock(tenant_id: UUID, proposal_id: UUID, now: datetime) -> LockedProposal:
    seen = under_way(tenant_id, proposal_id)
    run = runs.locked(tenant_id, seen.run_id) if seen else None
    proposal = lock_proposal(tenant_id, proposal_id)
    found = under_way(tenant_id, proposal_id)
    if (found and found.id) != (seen and seen.id):
        raise _GateChanged
    if found and run and run.status == RunStatus.CANCELLING:
        close(found, GateState.CANCELLED, now=now)
        return LockedProposal(proposal)
    return LockedProposal(proposal, found, run)


def lock_proposal(tenant_id: UUID, proposal_id: UUID) -> Proposal:
    """Lock the proposal alone, for the engine's node, which holds the lock of the run already."""
    found = _proposal_for_update().fetch(sql.key(tenant_id), sql.key(proposal_id))
    if not found:
        raise NotFound("There is no proposal by that id.")
    return found[0]


@cache
def _proposal_for_update() -> sql.PositionalQuery[Proposal]:
    anyone = UUID(int=0)
    return sql.PositionalQuery(Proposal.objects.of(anyone).filter(id=anyone).select_for_update())
