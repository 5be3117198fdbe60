"""Who may do what to a proposal in which state: the table, and the checks that every door meets. Pure.

``refusal_to`` says what stands in the way, for greying out a button; ``check`` raises it; ``can`` is its twin.
"""

from django.conf import settings

from memory.host import ids
from memory.host.errors import Conflict, Forbidden, Refusal
from memory.host.tenancy import TenantScope
from proposals.models import Gate, GateState, Proposal, State

DIRECT = "direct-rbac"
AGENTS_NEVER_VOTE = "agents-never-vote"
SEPARATION_OF_DUTIES = "separation-of-duties"

# Action -> state -> the state afterwards. A state that leads to itself is an action repeated, which changes nothing;
# a state that is not listed refuses the action (openwop-host 1.5).
NEXT_STATES: dict[str, dict[str, str]] = {
    "revise": {State.DRAFT: State.REVISED, State.REVISED: State.REVISED},
    "apply": {State.DRAFT: State.APPLIED, State.REVISED: State.APPLIED, State.APPLIED: State.APPLIED},
    "decide": {State.DRAFT: State.DRAFT, State.REVISED: State.REVISED},
    "override": {State.DRAFT: State.DRAFT, State.REVISED: State.REVISED},
    "withdraw": {State.DRAFT: State.DRAFT, State.REVISED: State.REVISED},
    "reject": {State.DRAFT: State.REJECTED, State.REVISED: State.REJECTED, State.REJECTED: State.REJECTED},
    "archive": {
        State.DRAFT: State.ARCHIVED,
        State.REVISED: State.ARCHIVED,
        State.REJECTED: State.ARCHIVED,
        State.ARCHIVED: State.ARCHIVED,
    },
}
SCOPES = {
    "create": "proposals:create",
    "revise": "proposals:revise",
    "decide": "approvals:respond",
    "override": "approvals:override",
    "withdraw": "proposals:request-activation",
    "reject": "approvals:respond",
    "archive": "proposals:revise",
}
BARRED_BY_A_GATE = frozenset({"revise"})
NEEDS_AN_OPEN_GATE = frozenset({"decide", "override"})
NEEDS_A_GATE = NEEDS_AN_OPEN_GATE | {"withdraw"}
A_PERSON_DECIDES = frozenset({"decide", "override", "reject"})


def activates_directly() -> bool:
    """Whether this host installs on the word of whoever holds ``proposals:activate``, without a gate."""
    return bool(settings.OPENWOP_PROPOSALS_ACTIVATION == DIRECT)


def scope_for(action: str) -> str:
    """The permission that ``action`` needs on this host."""
    if action == "apply":
        return "proposals:activate" if activates_directly() else "proposals:request-activation"
    return SCOPES[action]


def denial(scope: TenantScope, action: str, proposal: Proposal | None) -> Forbidden | None:
    """Why this principal may not, whatever state the proposal is in; a missing proposal denies nothing."""
    needed = scope_for(action)
    if not scope.can(needed):
        return Forbidden(f"This needs the permission {needed}.", requiredScope=needed)
    decides = action in A_PERSON_DECIDES or (action == "apply" and activates_directly())
    if decides and scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents never decides about a proposal.", rule=AGENTS_NEVER_VOTE)
    if action == "decide" and proposal and scope.principal.id in proposal.contributors:
        return Forbidden("Who wrote or revised a proposal does not vote on it.", rule=SEPARATION_OF_DUTIES)
    return None


def obstacle(action: str, proposal: Proposal, gate: Gate | None) -> Conflict | None:
    """Why the state of the proposal does not allow ``action``; ``gate`` is the one under way."""
    details = {"state": proposal.state, "action": action}
    if proposal.state not in NEXT_STATES[action]:
        return Conflict(f"Proposal is {proposal.state}; {action} is not allowed.", **details)
    if gate and action in BARRED_BY_A_GATE:
        message = f"A gate over revision {gate.revision} is under way; withdraw it first."
        return Conflict(message, **details, approvalId=ids.wire("gate", gate.id))
    if gate is None and action in NEEDS_A_GATE:
        return Conflict(f"No gate is open; {action} is not allowed.", **details)
    if gate and gate.state != GateState.OPEN and action in NEEDS_AN_OPEN_GATE:
        return Conflict("The gate has been decided already.", **details, gateState=gate.state)
    return None


def refusal_to(action: str, scope: TenantScope, proposal: Proposal, gate: Gate | None) -> Refusal | None:
    """What stands between this principal and ``action``, or None."""
    return denial(scope, action, proposal) or obstacle(action, proposal, gate)


def check(action: str, scope: TenantScope, proposal: Proposal, gate: Gate | None) -> None:
    """Refuse ``action`` unless this principal may carry it out on this proposal now."""
    refusal = refusal_to(action, scope, proposal, gate)
    if refusal:
        raise refusal


def can(action: str, scope: TenantScope, proposal: Proposal, gate: Gate | None) -> bool:
    """The twin of ``check``."""
    return refusal_to(action, scope, proposal, gate) is None
