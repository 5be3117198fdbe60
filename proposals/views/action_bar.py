"""The decision bar of a proposal: which buttons work, and why the others do not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memory.host import access, registry
from memory.host.errors import Forbidden, Refusal
from memory.host.tenancy import TenantScope
from proposals import artifacts, review, rules
from proposals.impact import Duplicate
from proposals.models import Decision, Gate, Vote
from proposals.policies import Policy, approvals_in_words, roles_in_words
from proposals.review import Detail

LABELS = {
    "approve": "Approve",
    "decide": "Request changes",
    "apply": "Request approval",
    "withdraw": "Cancel approval request",
    "revise": "Revise",
    "reject": "Reject",
    "override": "Override",
}
NOT_REQUESTED = "no approval is requested; request it first"
CAST: dict[str, str] = {
    Decision.GRANTED: "approved",
    Decision.REJECTED: "rejected",
    Decision.CHANGES_REQUESTED: "asked for changes to",
}


# A gate's policy and the refusals of buttons in plain words. Pure except for ``rules``.


def policy_in_words(policy: Gate | Policy) -> list[str]:
    """The requirements of the policy, one sentence each; a gate has those it was opened under."""
    approvals = approvals_in_words(policy.quorum, policy.eligible_roles).capitalize()
    return [
        f"{approvals} who did not write or revise it.",
        "One rejection or request for changes ends it.",
        _override_in_words(policy),
    ]


def _override_in_words(policy: Gate | Policy) -> str:
    if not policy.override_roles:
        return "No role may override it."
    weight = "for the whole approval" if policy.override_bypasses_quorum else "as one approval"
    return f"{roles_in_words(policy.override_roles).capitalize()} may override it, with a reason; that counts {weight}."


@dataclass(frozen=True, slots=True)
class Hindrance:
    """The shared reason why some buttons do not work, with their labels; ``id`` is for ``aria-describedby``."""

    id: str
    labels: str
    why: str


@dataclass(frozen=True, slots=True)
class Bar:
    """By action in ``why``: the reason against it, "" when it works; ``hindrances`` lists each reason once."""

    why: Mapping[str, str]
    hindrances: list[Hindrance]
    offers_archive: bool  # also where the state of the proposal is against it: the page says what to do instead

    @property
    def described(self) -> dict[str, str]:
        """By action: the id of the hindrance that disables it, or ""."""
        ids = {each.why: each.id for each in self.hindrances}
        return {action: ids.get(why, "") for action, why in self.why.items()}


def bar(scope: TenantScope, detail: Detail, *, blocked: str, now: datetime) -> Bar:
    """The decision bar for this principal; ``blocked`` is why nothing could be installed now, or ""."""
    refusals = rules.refusals(scope, detail.proposal, detail.gate, policy=detail.policy, now=now)
    voids = rules.refusal_to("revise", scope, detail.proposal, None, policy=detail.policy, now=now)
    refusals = {**refusals, "revise": voids}  # a gate under way may be voided by it
    why = {action: _why_not(action, refusal, scope, detail, now) for action, refusal in refusals.items()}
    why["approve"] = why["decide"]
    if blocked:
        for leads_to_installation in ("apply", "approve", "override"):
            if why[leads_to_installation] in ("", NOT_REQUESTED):
                why[leads_to_installation] = blocked
        if why["decide"] == NOT_REQUESTED:
            why["decide"] = NOT_REQUESTED.partition(";")[0]  # it cannot be requested
    return Bar(why, list(_hindrances(why, _buttons(detail, now))), not isinstance(refusals["archive"], Forbidden))


def _buttons(detail: Detail, now: datetime) -> dict[str, str]:
    """The buttons to show, with their labels: apply without an open gate, withdraw with one."""
    if rules.activates_directly():
        return {action: LABELS[action] for action in ("apply", "revise", "reject")}
    waits = detail.gate is not None and not rules.has_expired(detail.gate, now)
    left_out = {"apply"} if waits else set() if detail.gate else {"withdraw"}
    return {action: label for action, label in LABELS.items() if action not in left_out}


def _hindrances(why: Mapping[str, str], shown: Mapping[str, str]) -> Iterable[Hindrance]:
    barred = [action for action in shown if why.get(action)]
    for number, reason in enumerate(dict.fromkeys(why[action] for action in barred), start=1):
        labels = [shown[action] for action in barred if why[action] == reason]
        yield Hindrance(f"why-{number}", ", ".join(labels), reason)


def _why_not(action: str, refusal: Refusal | None, scope: TenantScope, detail: Detail, now: datetime) -> str:
    cast = detail.vote_of(scope.principal.person) if action in ("decide", "override") else None
    if refusal is None and cast:
        how = "" if cast.principal == scope.principal.id else f" by {_credential_name(cast)}"
        return f"you have {CAST[cast.decision]} revision {cast.revision} already{how}"
    if refusal is None and action == "apply" and detail.gate and not rules.has_expired(detail.gate, now):
        return "approval is requested already"
    if refusal is None:
        return ""
    return _rule_in_words(refusal, detail, scope) or _state_in_words(refusal) or refusal.message


def _credential_name(cast: Vote) -> str:
    """How the vote was cast: ``key ci-bot`` or ``login``."""
    name = access.names_of(cast.tenant_id, [cast.principal]).get(cast.principal, "")
    return f"key {name.partition(' by key ')[2]}".rstrip() if cast.principal.startswith("key_") else "login"


def _rule_in_words(refusal: Refusal, detail: Detail, scope: TenantScope) -> str:
    rule, needed = refusal.details.get("rule"), refusal.details.get("requiredScope")
    roles = roles_in_words(refusal.details.get("roles", ()))
    if needed:
        return f"you need permission: {needed}"
    writers = {each.revised_by for each in detail.revisions}
    mine = access.same_people(scope.tenant_id, scope.principal.people, writers)
    part = review.authored(detail.revisions, mine) or review.LEARNT_FROM
    return {
        rules.SEPARATION_OF_DUTIES: f"you authored {part}",
        rules.NOT_ELIGIBLE: f"only {roles} can vote",
        rules.NO_OVERRIDE: f"only {roles} can override" if roles else "the policy allows no override",
    }.get(str(rule), "")


def _state_in_words(refusal: Refusal) -> str:
    if refusal.details.get("gateState") == "expired":
        return "the approval request has expired"
    if refusal.details.get("gateState"):
        return "the approval request is decided already"
    return NOT_REQUESTED if refusal.message.startswith("No approval is requested") else ""


def restates(detail: Detail, duplicate: Duplicate) -> str:
    """One sentence on how close the duplicate is: the same bytes, or similar under the same or another name."""
    if registry.digest(duplicate.text) == detail.current.sha256:
        return "It has the same bytes."
    kind, text = detail.proposal.kind, detail.current.text
    same_name = artifacts.name_in(kind, duplicate.text) == artifacts.name_in(kind, text)
    return f"It does the same, or says nearly the same, under {'the same' if same_name else 'another'} name."
