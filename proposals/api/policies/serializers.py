"""The wire forms of approval policies; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory.host import ids
from memory.host.serializing import Closed, Flag, Text, Whole
from memory.wire import instant
from proposals import policies, policy_review
from proposals.models import PolicyChange
from proposals.policies import Policy
from proposals.policy_review import Standing, Version

CALLED = {
    "quorum": "quorum",
    "eligible_roles": "eligibleRoles",
    "override_roles": "overrideRoles",
    "override_bypasses_quorum": "overrideBypassesQuorum",
    "expires_s": "expiresSec",
    "uninstall_on_archive": "uninstallOnArchive",
}
ROLES_NAMED = 20


def _roles() -> serializers.ListField:
    return serializers.ListField(child=Text(max_length=32), required=False, max_length=ROLES_NAMED)


class ChangePolicy(Closed):
    """The body of PUT: what is left out stays as it is. ``basedOn`` is the number of the version that was read."""

    quorum = Whole(required=False)
    eligibleRoles = _roles()
    overrideRoles = _roles()
    overrideBypassesQuorum = Flag(required=False)
    expiresSec = Whole(required=False)
    uninstallOnArchive = Flag(required=False)
    basedOn = Whole(required=False, min_value=0)
    reason = Text(required=False, allow_blank=True)

    def asked(self) -> dict[str, Any]:
        """What ``policies.ask`` takes."""
        given = self.validated_data
        changes = {field: given[name] for field, name in CALLED.items() if name in given}
        return {"changes": changes, "based_on": given.get("basedOn"), "reason": given.get("reason", "")}


def standing_document(standing: Standing) -> dict[str, Any]:
    """The policy of a kind as it stands, and the change that waits."""
    return {
        "kind": standing.kind,
        "policy": _policy_document(standing.policy),
        "waiting": change_document(standing.waiting.change) if standing.waiting else None,
    }


def detail_document(standing: Standing, versions: list[Version]) -> dict[str, Any]:
    """The policy with all its versions, the newest first."""
    history = [_version_document(each) for each in versions]
    return standing_document(standing) | {"history": history, "total": len(history)}


def change_document(change: PolicyChange) -> dict[str, Any]:
    """A change that was asked for, whatever became of it."""
    return {
        "id": ids.wire("chg", change.id),
        "kind": change.kind,
        "basedOn": change.based_on,
        "wanted": _settings_document(policies.wanted_by(change)),
        "state": change.state,
        "reason": change.reason,
        "askedBy": change.asked_by,
        "askedAt": instant(change.asked_at),
        "decidedBy": change.decided_by or None,
        "decidedAt": instant(change.decided_at) if change.decided_at else None,
    }


def _version_document(version: Version) -> dict[str, Any]:
    row = version.row
    return {
        "policy": _policy_document(policies.of_row(row)),
        "differences": version.differences,
        "reason": row.reason,
        "askedBy": row.asked_by,
        "confirmedBy": row.confirmed_by or None,
        "at": instant(row.at),
    }


def _policy_document(policy: Policy) -> dict[str, Any]:
    told = {"number": policy.number, "words": policy_review.in_words(policy)}
    return told | _settings_document(policy)


def _settings_document(policy: Policy) -> dict[str, Any]:
    values = {name: getattr(policy, field) for field, name in CALLED.items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
