"""The bodies and queries of the review's addresses; camelCase stops here."""

from typing import Any

from rest_framework import serializers

from memory import artifact_stops
from memory.host import ids
from memory.host.serializing import After, Closed, Flag, Text, Whole
from proposals.api.parsing import ArtifactField
from proposals.drafts import Change
from proposals.models import Decision

MOST_REVISIONS = 2**31 - 1


def words(**options: Any) -> Text:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return Text(required=False, allow_blank=True, **options)


def number(**options: Any) -> Whole:
    return Whole(min_value=1, max_value=MOST_REVISIONS, **options)


class ProposalId(Text):
    """The id of a proposal; whether there is one by it is for the domain to find."""

    def to_internal_value(self, data: Any) -> Any:
        found = ids.parse("prop", super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is no id of a proposal")
        return found


class DecideProposal(Closed):
    """A vote, about exactly the revision and digest that are named; with ``override`` it overrides the gate."""

    revision = number()
    sha256 = Text(max_length=64)
    decision = serializers.ChoiceField(choices=Decision.values)
    reason = words()
    override = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("override") and attrs["decision"] != Decision.GRANTED:
            raise serializers.ValidationError({"decision": "of an override is granted, or it is none"})
        return attrs


class ReviseBeforeGate(Closed):
    """The next revision. ``expectedRevision`` is the one its author has read; ``voidGate`` voids a gate under way."""

    artifact = ArtifactField(required=False)
    title = words()
    rationale = words()
    note = words()
    expectedRevision = number(required=False)
    voidGate = Flag(required=False)

    def change(self) -> Change:
        given = self.validated_data
        return Change(**{name: given[name] for name in ("artifact", "title", "rationale", "note") if name in given})

    def conditions(self) -> dict[str, Any]:
        given = self.validated_data
        return {"expected": given.get("expectedRevision"), "voids_gate": given.get("voidGate", False)}


class CommentOn(Closed):
    """Words under a proposal."""

    text = Text(allow_blank=True)


class DiffQuery(Closed):
    """``from`` is the number of a revision, ``installed`` or ``nothing``; ``to`` the number of a revision."""

    to = serializers.IntegerField(required=False, min_value=1, max_value=MOST_REVISIONS)

    def get_fields(self) -> Any:
        """``from`` is a word of Python."""
        older = serializers.RegexField(r"^([1-9][0-9]{0,8}|installed|nothing)$", required=False)
        return {**super().get_fields(), "from": older}


class EndMany(Closed):
    """All of them are rejected, or archived, or none is."""

    action = serializers.ChoiceField(choices=("reject", "archive"))
    ids = serializers.ListField(child=ProposalId(), max_length=1000)
    reason = Text(allow_blank=True)


class ArtifactsQuery(Closed):
    """The latest installed first, current or not; of one kind or name when they are given."""

    kind = Text(required=False, max_length=64)
    name = Text(required=False, max_length=256)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("inst")


class RollBack(Closed):
    """Why the earlier version is to come back."""

    rationale = words()


class StopReason(Closed):
    """Why an installed artifact is disabled, or enabled again."""

    reason = Text(max_length=artifact_stops.MAX_REASON)
