"""Approval policies, one per kind: how many grants a gate needs, from which roles, its expiry, and who may override it.

One person requests a change and another who may manage policies confirms it; where there is no other, it takes effect
at once and is recorded as made alone. Every version is kept. A gate keeps the policy it was opened under. No policy
lets authors vote on their own proposal, or agents vote at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory.host import access, api_keys, audit, ids, sql
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.json_types import JSONObject
from memory.host.models import Operator, RoleGrant
from memory.host.tenancy import TenantScope
from memory.reasons import stored_reason
from proposals.models import ApprovalPolicy, Kind, PolicyChange, PolicyChangeState

WRITER = "proposals.policies"
MANAGES, VOTES, OVERRIDES = "policies:manage", "approvals:respond", "approvals:override"
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=90)
MOST_GRANTS = 20


def roles_with(scope: str) -> tuple[str, ...]:
    """The roles that hold this permission, in the order in which they are advertised."""
    return tuple(role for role, scopes in access.ROLES.items() if scope in scopes)


@dataclass(frozen=True, slots=True)
class Policy:
    """A version of the policy of a kind; ``number`` 0 is the default, before the first change."""

    quorum: int = 1
    eligible_roles: tuple[str, ...] = roles_with(VOTES)
    override_roles: tuple[str, ...] = roles_with(OVERRIDES)
    override_bypasses_quorum: bool = False
    expires_s: int = int(timedelta(days=14).total_seconds())
    uninstall_on_archive: bool = False
    number: int = 0

    @property
    def expires(self) -> timedelta:
        return timedelta(seconds=self.expires_s)


FIELDS = tuple(name for name in asdict(Policy()) if name != "number")


def policy_of_kind(tenant_id: UUID, kind: str) -> Policy:
    """The current policy of this kind, under which a new gate is opened."""
    found = _in_force().fetch(sql.key(tenant_id), str(kind))
    return policy_of_row(found[0]) if found else Policy()


@cache
def _in_force() -> sql.PositionalQuery[ApprovalPolicy]:
    return sql.PositionalQuery(_rows(UUID(int=0), "")[:1])


def history(scope: TenantScope, kind: str) -> list[ApprovalPolicy]:
    """Every version of the policy of a kind, newest first; empty before the first change."""
    scope.check("proposals:read")
    return list(_rows(scope.tenant_id, _kind(kind)))


def list_waiting(scope: TenantScope) -> list[PolicyChange]:
    """The changes that wait for a second person, oldest first."""
    scope.check("proposals:read")
    return _waiting().objects(scope.tenant_id)


@cache
def _waiting() -> sql.CompiledQuery:
    """Written SQL, because every page runs this query."""
    tenant_id = UUID(int=0)
    rows = PolicyChange.objects.of(tenant_id).filter(state=PolicyChangeState.WAITING)
    return sql.CompiledQuery(rows.order_by("id"), tenant_id)


def list_refused(scope: TenantScope, kind: str) -> list[PolicyChange]:
    """The changes of this policy that were refused, or withdrawn by their requester; newest first."""
    scope.check("proposals:read")
    rows = PolicyChange.objects.of(scope.tenant_id).filter(kind=_kind(kind), state=PolicyChangeState.REFUSED)
    return list(rows.order_by("-decided_at", "-id"))


def find_change(scope: TenantScope, change_id: UUID | None) -> PolicyChange:
    """The change of this tenant, in any state; or ``NotFound``."""
    scope.check("proposals:read")
    rows = PolicyChange.objects.of(scope.tenant_id)
    found: PolicyChange | None = rows.filter(id=change_id).first() if change_id else None
    if found is None:
        raise NotFound("There is no such change of a policy.")
    return found


def _rows(tenant_id: UUID, kind: str) -> QuerySet[ApprovalPolicy]:
    return ApprovalPolicy.objects.of(tenant_id).filter(kind=kind).order_by("-number")


def policy_of_row(row: ApprovalPolicy) -> Policy:
    """The policy that this row stores."""
    given = {name: getattr(row, name) for name in FIELDS}
    return _as_kept(given, row.number)


def wanted_by(change: PolicyChange) -> Policy:
    """The whole policy with the change applied, with the number of the version it is based on."""
    return _as_kept(dict(change.wanted), change.based_on)


def _as_kept(given: JSONObject, number: int) -> Policy:
    roles = {name: tuple(given[name]) for name in ("eligible_roles", "override_roles")}
    return Policy(**{**given, **roles}, number=number)


@transaction.atomic
def request_change(
    scope: TenantScope,
    kind: str,
    changes: dict[str, object],
    *,
    based_on: int | None = None,
    reason: str = "",
    called: Mapping[str, str] | None = None,
    now: datetime,
) -> PolicyChange | ApprovalPolicy:
    """Request a change, which waits for a second person; without another who may manage policies, apply it at once.

    ``based_on`` is the version that the requester has read. The refusal lists every wrong field, under the name that
    ``called`` gives it. Audited.
    """
    check_who(scope)
    kind = _kind(kind)
    access.lock_tenant(scope.tenant_id)
    before = policy_of_kind(scope.tenant_id, kind)
    _require_undecided(scope, kind, before, based_on)
    wanted = _checked(before, changes, called or {})
    if wanted == before:
        raise Invalid("Nothing would be changed.", errors=[{"field": "quorum", "message": "is as it was"}])
    stored = stored_reason(scope.tenant_id, reason)
    if not others_may_manage(scope, now=now):
        return _put_in_force(scope, kind, wanted, asked_by=scope.principal.id, confirmed_by="", reason=stored, now=now)
    asked = PolicyChange(
        tenant_id=scope.tenant_id,
        kind=kind,
        based_on=before.number,
        wanted=_document(wanted),
        reason=stored,
        asked_by=scope.principal.id,
        asked_at=now,
    ).insert(by=WRITER)
    details = {"changed": changed_fields(before, wanted), "basedOn": before.number, "wanted": asked.wanted}
    _audit(scope, "asked", kind, now, **details)
    return asked


def _require_undecided(scope: TenantScope, kind: str, current: Policy, read: int | None) -> None:
    """Refuse a change that is not based on the current version, or while another change of this kind waits."""
    if read not in (None, current.number):
        message = f"Version {current.number} of this policy is the current one; read it first."
        raise Conflict(message, number=current.number)
    there = next((each for each in list_waiting(scope) if each.kind == kind), None)
    if there:
        message = "Another change of this policy waits already; decide about that one first."
        raise Conflict(message, number=current.number, changeId=ids.wire("chg", there.id))


@transaction.atomic
def decide_change(scope: TenantScope, change_id: UUID | None, *, confirmed: bool, now: datetime) -> PolicyChange:
    """Put the change in force or refuse it for good. Its requester may refuse it, but never confirm it."""
    check_who(scope)
    access.lock_tenant(scope.tenant_id)
    row = find_change(scope, change_id)
    if row.state != PolicyChangeState.WAITING:
        raise Conflict("That change has been decided already.", state=row.state)
    denied = denial_of_confirming(scope, row)
    if confirmed and denied:
        raise denied
    row.state = PolicyChangeState.CONFIRMED if confirmed else PolicyChangeState.REFUSED
    row.decided_by, row.decided_at = scope.principal.id, now
    row.save(by=WRITER)
    if confirmed:
        people = {"asked_by": row.asked_by, "confirmed_by": scope.principal.id}
        _put_in_force(scope, row.kind, wanted_by(row), **people, reason=row.reason, now=now)
    else:
        _audit(scope, "refused", row.kind, now, askedBy=row.asked_by)
    return row


def _put_in_force(
    scope: TenantScope, kind: str, wanted: Policy, *, asked_by: str, confirmed_by: str, reason: str, now: datetime
) -> ApprovalPolicy:
    before = policy_of_kind(scope.tenant_id, kind)
    row = ApprovalPolicy(
        tenant_id=scope.tenant_id,
        kind=kind,
        number=before.number + 1,
        asked_by=asked_by,
        confirmed_by=confirmed_by,
        reason=reason,
        at=now,
        **_document(wanted),
    ).insert(by=WRITER)
    details = {
        "number": row.number,
        "askedBy": asked_by,
        "confirmedBy": confirmed_by or None,
        "alone": not confirmed_by,
    }
    _audit(scope, "changed", kind, now, changed=changed_fields(before, wanted), policy=_document(wanted), **details)
    return row


def denial(scope: TenantScope) -> Forbidden | None:
    """Why this principal may not manage policies, or None."""
    if not scope.can(MANAGES):
        return Forbidden(f"This needs the permission {MANAGES}.", requiredScope=MANAGES)
    if scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents does not manage policies.", rule="agents-never-vote")
    return None


def denial_of_confirming(scope: TenantScope, asked: PolicyChange) -> Forbidden | None:
    """Why this principal may not confirm the change, or None; all who manage policies may refuse it."""
    if access.same_people(scope.tenant_id, scope.principal.people, [asked.asked_by]):
        return Forbidden("You can't confirm your own change.", rule="separation-of-duties")
    return denial(scope)


def check_who(scope: TenantScope) -> None:
    denied = denial(scope)
    if denied:
        raise denied


def others_may_manage(scope: TenantScope, *, now: datetime) -> bool:
    """Whether another active person or valid key may manage policies; keys of the same person do not count."""
    roles = roles_with(MANAGES)
    granted = RoleGrant.objects.of(scope.tenant_id).filter(role__in=roles).exclude(principal=scope.principal.id)
    holders = set(granted.values_list("principal", flat=True))
    people = Operator.objects.active_in(scope.tenant_id).values_list("id", flat=True)
    keys = api_keys.good_keys(scope.tenant_id, now=now).filter(agents=[]).values_list("id", flat=True)
    present = {ids.wire("usr", each) for each in people} | {ids.wire("key", each) for each in keys}
    there = holders & present
    return bool(there - access.same_people(scope.tenant_id, scope.principal.people, there))


def _kind(kind: str) -> str:
    if kind not in Kind.values:
        raise NotFound("There is no such kind of proposal.")
    return kind


def _checked(before: Policy, changes: JSONObject, called: Mapping[str, str]) -> Policy:
    wanted = replace(before, **changes)
    least, most = int(SHORTEST.total_seconds()), int(LONGEST.total_seconds())
    checks = [
        ("quorum", 1 <= wanted.quorum <= MOST_GRANTS, f"must be 1 to {MOST_GRANTS}"),
        ("eligible_roles", bool(wanted.eligible_roles), "names no role, so no vote would be possible"),
        ("eligible_roles", set(wanted.eligible_roles) <= set(roles_with(VOTES)), f"may name {_role_names(VOTES)}"),
        (
            "override_roles",
            set(wanted.override_roles) <= set(roles_with(OVERRIDES)),
            f"may name {_role_names(OVERRIDES)}",
        ),
        (
            "expires_s",
            least <= wanted.expires_s <= most,
            f"must be {least} to {most} seconds, which is a minute to {LONGEST.days} days",
        ),
    ]
    errors = [{"field": called.get(field, field), "message": message} for field, holds, message in checks if not holds]
    if errors:
        raise Invalid("The approval policy is not valid.", errors=errors)
    ordered = {
        name: tuple(role for role in access.ROLES if role in getattr(wanted, name))
        for name in ("eligible_roles", "override_roles")
    }
    return replace(wanted, **ordered)  # type: ignore[arg-type]


def _role_names(scope: str) -> str:
    return ", ".join(roles_with(scope))


def _document(policy: Policy) -> JSONObject:
    """The policy as JSON for storage."""
    values = {name: getattr(policy, name) for name in FIELDS}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def changed_fields(before: Policy, wanted: Policy) -> list[str]:
    """The fields in which the two differ, sorted by name."""
    return sorted(name for name in FIELDS if getattr(before, name) != getattr(wanted, name))


def _audit(scope: TenantScope, what: str, kind: str, now: datetime, **details: object) -> None:
    actor = scope.principal.id
    audit.append(scope.tenant_id, actor=actor, action=f"approval-policy.{what}", target=kind, details=details, now=now)


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
class PendingChange:
    """A change that waits for a second person; ``denial`` is why the reader may not confirm it, or None."""

    change: PolicyChange
    words: str
    differences: list[str]
    denial: Forbidden | None


@dataclass(frozen=True, slots=True)
class CurrentPolicy:
    """The current policy of a kind, and its pending change if there is one."""

    kind: str
    policy: Policy
    waiting: PendingChange | None

    @property
    def words(self) -> str:
        return in_words(self.policy)


def overview(scope: TenantScope) -> list[CurrentPolicy]:
    """The current policy of every kind."""
    waiting = {each.kind: _pending(scope, each) for each in list_waiting(scope)}
    return [CurrentPolicy(kind, policy_of_kind(scope.tenant_id, kind), waiting.get(kind)) for kind in Kind.values]


def detail(scope: TenantScope, kind: str) -> tuple[CurrentPolicy, list[Version]]:
    """The policy of one kind with all its versions, newest first; ``NotFound`` for an unknown kind."""
    rows = history(scope, kind)
    known = [*map(policy_of_row, rows), Policy()]
    versions = [Version(row, in_words(known[at]), differences(known[at + 1], known[at])) for at, row in enumerate(rows)]
    return next(each for each in overview(scope) if each.kind == kind), versions


def list_decisions(scope: TenantScope, kind: str) -> list[Version | Refused]:
    """The confirmed and refused changes of a kind, latest decision first."""
    versions = detail(scope, kind)[1]
    known = {0: Policy(), **{each.row.number: policy_of_row(each.row) for each in versions}}
    asked = [(each, wanted_by(each)) for each in list_refused(scope, kind)]
    declined = [Refused(each, differences(known[each.based_on], wanted)) for each, wanted in asked]
    return sorted([*versions, *declined], key=_decided, reverse=True)


def _decided(each: Version | Refused) -> datetime:
    moment = each.row.at if isinstance(each, Version) else each.change.decided_at
    return moment or datetime.max.replace(tzinfo=UTC)


def awaiting_me(scope: TenantScope) -> list[PolicyChange] | None:
    """The changes that this principal may confirm, oldest first; None for one who may not manage policies."""
    if denial(scope):
        return None
    return [each for each in list_waiting(scope) if denial_of_confirming(scope, each) is None]


def _pending(scope: TenantScope, change: PolicyChange) -> PendingChange:
    before, wanted = policy_of_kind(scope.tenant_id, change.kind), wanted_by(change)
    return PendingChange(change, in_words(wanted), differences(before, wanted), denial_of_confirming(scope, change))


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
    old, new, changed = _values(before), _values(after), changed_fields(before, after)
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
    return f"{count} by {roles_in_words(roles) or 'anyone who may vote'}"


def roles_in_words(roles: Sequence[str]) -> str:
    """``owners``, ``reviewers or owners``, ``reviewers, operators or owners``."""
    named = [f"{role}s" for role in roles]
    return f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else "".join(named)


def _who(roles: Sequence[str]) -> str:
    return roles_in_words(roles) or "no role"
