"""Who may do what to a proposal in which state: the transition table, and the checks that every entry point calls.

``refusal_to`` returns the refusal, for disabling a button; ``check`` raises it; ``can`` answers yes or no.
``authorize`` refuses a principal without the right before anything else is looked at, and records the denial.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from uuid import UUID

from django.conf import settings

from memory.host import access, denials, expiry, ids, sql
from memory.host.errors import Conflict, Forbidden, Refusal
from memory.host.tenancy import TenantScope
from proposals import gate as gates
from proposals.models import Gate, GateState, Proposal, Purpose, State
from proposals.policies import Policy

DIRECT = "direct-rbac"
AGENTS_NEVER_VOTE = "agents-never-vote"
SEPARATION_OF_DUTIES = "separation-of-duties"
NOT_ELIGIBLE = "not-eligible"
NO_OVERRIDE = "no-override"
MAX_REVISIONS = 200
APPLIED_STAYS = (
    "Proposal is applied; archive is not allowed. Use Disable to stop what it installed, "
    "or Roll back to go back to an earlier version."
)

# Action -> state -> the state afterwards. A state that is not listed refuses the action (openwop-host 1.5); one that
# leads to itself leaves the proposal's state unchanged. ``uninstall`` archives an applied proposal.
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
    "uninstall": {State.APPLIED: State.ARCHIVED},
    "comment": {state: state for state in State.values},
}
SCOPES = {
    "create": "proposals:create",
    "revise": "proposals:revise",
    "decide": "approvals:respond",
    "override": "approvals:override",
    "withdraw": "proposals:request-activation",
    "reject": "approvals:respond",
    "archive": "proposals:revise",
    "uninstall": "proposals:activate",
    "comment": "proposals:comment",
}
BARRED_BY_A_GATE = frozenset({"revise"})
NEEDS_AN_OPEN_GATE = frozenset({"decide", "override"})
NEEDS_A_GATE = NEEDS_AN_OPEN_GATE | {"withdraw"}
ASKED_OF_EACH = ("revise", "apply", "decide", "override", "withdraw", "reject", "archive", "comment")
A_PERSON_DECIDES = frozenset({"decide", "override", "reject", "uninstall"})


def activates_directly() -> bool:
    """Whether this host installs without a gate, for any principal with ``proposals:activate``."""
    return bool(settings.OPENWOP_PROPOSALS_ACTIVATION == DIRECT)


def scope_for(action: str) -> str:
    """The permission that ``action`` needs on this host."""
    if action == "apply":
        return "proposals:activate" if activates_directly() else "proposals:request-activation"
    return SCOPES[action]


def denial(scope: TenantScope, action: str, proposal: Proposal | None, gate: Gate | None = None) -> Forbidden | None:
    """Why this principal may not take ``action`` in any state of the proposal; a missing proposal denies nothing.

    ``gate`` is the one under way; the policy it was opened under says which roles may vote at it and override it.
    """
    needed = scope_for(action)
    if not scope.can(needed):
        return Forbidden(f"This needs the permission {needed}.", requiredScope=needed)
    decides = action in A_PERSON_DECIDES or (action == "apply" and activates_directly())
    if decides and scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents never decides about a proposal.", rule=AGENTS_NEVER_VOTE)
    if proposal and action == "decide" and _had_a_part(scope, proposal):
        return Forbidden("Authors and revisers of a proposal cannot vote on it.", rule=SEPARATION_OF_DUTIES)
    if proposal and action == "override" and _is_of_a_person(scope) and _had_a_part(scope, proposal):
        return Forbidden("A key cannot override approval of what its own person wrote.", rule=SEPARATION_OF_DUTIES)
    return _denial_at(gate, scope, action) if gate else None


def _is_of_a_person(scope: TenantScope) -> bool:
    """Whether this is a person's key. A login or a service account may override what it wrote; that is recorded."""
    return scope.principal.people != {scope.principal.id}


def _had_a_part(scope: TenantScope, proposal: Proposal) -> bool:
    """Whether this person contributed to the proposal, by login or by any key."""
    return bool(access.same_people(scope.tenant_id, scope.principal.people, proposal.contributors))


def _denial_at(gate: Gate, scope: TenantScope, action: str) -> Forbidden | None:
    """Why this principal may not act at this gate. Roles are read from the database, never from the request."""
    if action == "decide" and gate.eligible_roles and not _holds_one(scope, gate.eligible_roles):
        roles = ", ".join(gate.eligible_roles)
        return Forbidden(f"Only these roles can vote: {roles}.", rule=NOT_ELIGIBLE, roles=gate.eligible_roles)
    if action == "override" and not gate.override_roles:
        return Forbidden("The policy allows no override.", rule=NO_OVERRIDE)
    if action == "override" and not _holds_one(scope, gate.override_roles):
        roles = ", ".join(gate.override_roles)
        return Forbidden(f"Only these roles can override: {roles}.", rule=NO_OVERRIDE, roles=gate.override_roles)
    return None


def _holds_one(scope: TenantScope, roles: list[str]) -> bool:
    return bool(set(access.roles_of(scope.tenant_id, scope.principal.id)) & set(roles))


def obstacle(
    action: str, proposal: Proposal, gate: Gate | None, *, policy: Policy | None = None, now: datetime
) -> Conflict | None:
    """Why the state of the proposal does not allow ``action``; ``gate`` is the one under way.

    ``policy`` is that of the proposal's kind, which says whether archiving uninstalls.
    """
    details = {"state": proposal.state, "action": action}
    if action == "archive" and proposal.state == State.APPLIED:
        return Conflict(APPLIED_STAYS, **details)
    if proposal.state not in NEXT_STATES[action]:
        return Conflict(f"Proposal is {proposal.state}; {action} is not allowed.", **details)
    if action == "uninstall" and not (policy and policy.uninstall_on_archive):
        return Conflict(APPLIED_STAYS, **(details | {"action": "archive"}))
    return _obstacle_at(gate, action, details, now) or _fullness(action, proposal, details)


def _fullness(action: str, proposal: Proposal, details: dict[str, str]) -> Conflict | None:
    if action != "revise" or proposal.revision < MAX_REVISIONS:
        return None
    return Conflict(
        f"The proposal has {MAX_REVISIONS} revisions; make a new proposal instead.", **details, most=MAX_REVISIONS
    )


def _obstacle_at(gate: Gate | None, action: str, details: dict[str, str], now: datetime) -> Conflict | None:
    """Why the gate under way, or its absence, does not allow ``action``."""
    if gate and action in BARRED_BY_A_GATE:
        message = f"Approval of revision {gate.revision} is requested; cancel the request first."
        return Conflict(message, **details, approvalId=ids.wire("gate", gate.id))
    if gate is None and action in NEEDS_A_GATE:
        return Conflict(f"No approval is requested; {action} is not allowed.", **details)
    if gate and gate.state != GateState.OPEN and action in NEEDS_AN_OPEN_GATE:
        return Conflict("The approval request is decided already.", **details, gateState=gate.state)
    if gate and action in NEEDS_AN_OPEN_GATE and has_expired(gate, now):
        return Conflict(
            "The approval request has expired; nothing was installed.", **details, gateState=GateState.EXPIRED
        )
    return None


def has_expired(gate: Gate, now: datetime) -> bool:
    """Whether the deadline has passed: from then on the gate grants nothing, even before it is closed."""
    return expiry.has_expired(gate.expires_at, now)


def may_change_artifact(proposal: Proposal) -> bool:
    """False for a rollback, which installs exactly an earlier version."""
    return proposal.purpose != Purpose.ROLLBACK


def refusal_to(
    action: str,
    scope: TenantScope,
    proposal: Proposal,
    gate: Gate | None,
    *,
    policy: Policy | None = None,
    now: datetime,
) -> Refusal | None:
    """The refusal of ``action`` for this principal now, or None; a denial comes before a state conflict."""
    return denial(scope, action, proposal, gate) or obstacle(action, proposal, gate, policy=policy, now=now)


def check(
    action: str,
    scope: TenantScope,
    proposal: Proposal,
    gate: Gate | None,
    *,
    policy: Policy | None = None,
    now: datetime,
) -> None:
    """Raise the refusal of ``action``, if there is one."""
    refusal = refusal_to(action, scope, proposal, gate, policy=policy, now=now)
    if refusal:
        raise refusal


def refusals(
    scope: TenantScope, proposal: Proposal, gate: Gate | None, *, policy: Policy, now: datetime
) -> dict[str, Refusal | None]:
    """By action: its refusal for this principal or None; ``archive`` is checked as ``uninstall`` where it is one."""
    asked = {
        action: action_of_archiving(proposal, policy) if action == "archive" else action for action in ASKED_OF_EACH
    }
    return {action: refusal_to(meant, scope, proposal, gate, policy=policy, now=now) for action, meant in asked.items()}


def action_of_archiving(proposal: Proposal, policy: Policy) -> str:
    """``uninstall`` for an applied proposal whose policy allows it, else ``archive``."""
    uninstalls = proposal.state == State.APPLIED and policy.uninstall_on_archive
    return "uninstall" if uninstalls else "archive"


def authorize(scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime) -> None:
    """Refuse an action that this principal may not take, and record the denial, also on the run under way.

    The record has its own transaction, so it survives the refusal; inside a caller's open transaction it is lost when
    that one rolls back.
    """
    proposal, under_way = _find(scope.tenant_id, proposal_id)
    denied = denial(scope, action, proposal, under_way)
    if denied is None:
        return
    denials.record(
        scope,
        denied,
        action=scope_for(action),
        attempt=f"proposal.{action}",
        resource=ids.wire("prop", proposal.id) if proposal else "",
        run_id=under_way.run_id if under_way else None,
        now=now,
    )
    raise denied


def authorizer(
    scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime
) -> Callable[[], None]:
    """``authorize`` as a callable, for a form that is validated only after the check."""
    return lambda: authorize(scope, action, proposal_id, now=now)


def authorize_one_of(
    scope: TenantScope, actions: Sequence[str], proposal_id: UUID | None = None, *, now: datetime
) -> None:
    """Refuse a principal who may take none of ``actions``; the denial of the first one is recorded."""
    there = _find(scope.tenant_id, proposal_id)
    if all(denial(scope, action, *there) for action in actions):
        authorize(scope, actions[0], proposal_id, now=now)


def _find(tenant_id: UUID, proposal_id: UUID | None) -> tuple[Proposal | None, Gate | None]:
    """The proposal and its gate under way, each or None."""
    found = _proposal().fetch(sql.key(tenant_id), sql.key(proposal_id)) if proposal_id else []
    return (found[0], gates.under_way(tenant_id, found[0].id)) if found else (None, None)


@cache
def _proposal() -> sql.PositionalQuery[Proposal]:
    anyone = UUID(int=0)
    return sql.PositionalQuery(Proposal.objects.of(anyone).filter(id=anyone))
