"""Approval policies for readers: in words, with their history and pending changes. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory.host.errors import Forbidden
from memory.host.tenancy import TenantScope
from proposals import policies
from proposals.models import ApprovalPolicy, Kind, PolicyChange
from proposals.policies import Policy

UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
LABELS = {
    "quorum": "Approvals needed",
    "eligible_roles": "Who votes",
    "expires_s": "Expires after",
    "override_roles": "Who may override",
    "override_bypasses_quorum": "An override",
    "uninstall_on_archive": "Archiving what is applied",
}


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a policy: the row, the policy in words, and its differences from the previous version."""

    row: ApprovalPolicy
    words: str
    differences: list[str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused change, and its differences from the version that it was based on."""

    change: PolicyChange
    differences: list[str]

    @property
    def taken_back(self) -> bool:
        """Whether the requester withdrew it; otherwise another person refused it."""
        return self.change.asked_by == self.change.decided_by


@dataclass(frozen=True, slots=True)
class Waiting:
    """A change that waits for a second person; ``denial`` is why the reader may not confirm it, or None."""

    change: PolicyChange
    words: str
    differences: list[str]
    denial: Forbidden | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The current policy of a kind, and its pending change if there is one."""

    kind: str
    policy: Policy
    waiting: Waiting | None

    @property
    def words(self) -> str:
        return in_words(self.policy)


def overview(scope: TenantScope) -> list[Standing]:
    """The current policy of every kind."""
    waiting = {each.kind: _waiting(scope, each) for each in policies.waiting(scope)}
    return [Standing(kind, policies.policy_of_kind(scope.tenant_id, kind), waiting.get(kind)) for kind in Kind.values]


def detail(scope: TenantScope, kind: str) -> tuple[Standing, list[Version]]:
    """The policy of one kind with all its versions, newest first; ``NotFound`` for an unknown kind."""
    rows = policies.history(scope, kind)
    known = [*map(policies.policy_of_row, rows), Policy()]
    versions = [Version(row, in_words(known[at]), differences(known[at + 1], known[at])) for at, row in enumerate(rows)]
    return next(each for each in overview(scope) if each.kind == kind), versions


def past(scope: TenantScope, kind: str) -> list[Version | Refused]:
    """The confirmed and refused changes of a kind, latest decision first."""
    versions = detail(scope, kind)[1]
    known = {0: Policy(), **{each.row.number: policies.policy_of_row(each.row) for each in versions}}
    asked = [(each, policies.wanted_by(each)) for each in policies.refused(scope, kind)]
    refused = [Refused(each, differences(known[each.based_on], wanted)) for each, wanted in asked]
    return sorted([*versions, *refused], key=_decided, reverse=True)


def _decided(each: Version | Refused) -> datetime:
    moment = each.row.at if isinstance(each, Version) else each.change.decided_at
    return moment or datetime.max.replace(tzinfo=UTC)


def awaiting_me(scope: TenantScope) -> list[PolicyChange] | None:
    """The changes that this principal may confirm, oldest first; None for one who may not manage policies."""
    if policies.denial(scope):
        return None
    return [each for each in policies.waiting(scope) if policies.denial_of_confirming(scope, each) is None]


def _waiting(scope: TenantScope, change: PolicyChange) -> Waiting:
    before, wanted = policies.policy_of_kind(scope.tenant_id, change.kind), policies.wanted_by(change)
    return Waiting(change, in_words(wanted), differences(before, wanted), policies.denial_of_confirming(scope, change))


def in_words(policy: Policy) -> str:
    """``one approval by reviewers, operators or owners; expires after 14 days; owners may override``."""
    said = [approvals_in_words(policy.quorum, policy.eligible_roles), f"expires after {length(policy.expires_s)}"]
    weight = ", past the number of approvals" if policy.override_bypasses_quorum and policy.override_roles else ""
    said.append(f"{_who(policy.override_roles)} may override{weight}")
    if policy.uninstall_on_archive:
        said.append("archiving what is applied uninstalls it")
    return "; ".join(said)


def differences(before: Policy, after: Policy) -> list[str]:
    """One line per changed field, such as ``Approvals needed: 1 → 2``."""
    old, new, changed = _values(before), _values(after), policies.changed(before, after)
    return [f"{label}: {old[name]} → {new[name]}" for name, label in LABELS.items() if name in changed]


def _values(policy: Policy) -> dict[str, str]:
    return {
        "quorum": str(policy.quorum),
        "eligible_roles": ", ".join(policy.eligible_roles),
        "expires_s": length(policy.expires_s),
        "override_roles": _who(policy.override_roles),
        "override_bypasses_quorum": "is enough" if policy.override_bypasses_quorum else "counts as one approval",
        "uninstall_on_archive": "uninstalls it" if policy.uninstall_on_archive else "is refused",
    }


def length(seconds: int) -> str:
    """``14 days``, ``36 hours`` or ``90 minutes``: in the largest unit without a remainder."""
    unit, size = in_units(timedelta(seconds=seconds))
    return f"{size:,} {unit}{'' if size == 1 else 's'}"


def in_units(span: timedelta) -> tuple[str, int]:
    """The largest unit in which ``span`` is a whole number, and that number."""
    seconds = int(span.total_seconds())
    return next((unit, seconds // size) for unit, size in UNITS if seconds % size == 0)


def approvals_in_words(quorum: int, roles: Sequence[str]) -> str:
    """``one approval by owners``, ``2 approvals by reviewers or owners``; without roles, all who may vote."""
    count = "one approval" if quorum == 1 else f"{quorum} approvals"
    return f"{count} by {roles_in_words(roles) or 'whoever may vote'}"


def roles_in_words(roles: Sequence[str]) -> str:
    """``owners``, ``reviewers or owners``, ``reviewers, operators or owners``."""
    named = [f"{role}s" for role in roles]
    return f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else "".join(named)


def _who(roles: Sequence[str]) -> str:
    return roles_in_words(roles) or "nobody"
