"""The bodies of the seams over memory; camelCase stops here."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.host.http import Closed, Text, listed
from memory.models import Condition


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "object",
                "required": ["content"],
                "properties": {"content": {"type": "string", "minLength": 1}, "tags": listed({"type": "string"})},
            },
        ]
    }
)
class Source(serializers.Field[Any, Any, Any, Any]):
    """A text, or an object with a text; what else that says is not looked at, but for its tags."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        given = {"content": data} if isinstance(data, str) else data
        tags = given.get("tags", []) if isinstance(given, dict) else None
        sound = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if not sound or not isinstance(given.get("content"), str) or not given["content"]:
            raise serializers.ValidationError("must be a text, or an object with a text as content")
        return {"content": given["content"], "tags": tags}


class DistillMemory(Closed):
    """What to distil, and how much it may cost."""

    memoryRef = Text()
    tokenBudget = serializers.IntegerField(min_value=1, required=False)
    targetTokens = serializers.IntegerField(min_value=1, required=False)
    sources = serializers.ListField(child=Source(), required=False, allow_empty=False, max_length=1000)
    indexEmitted = serializers.BooleanField(required=False)
    includeSecretCanary = serializers.BooleanField(required=False)


class ConsolidateMemory(Closed):
    """What to consolidate."""

    memoryRef = Text()
    includeSecretCanary = serializers.BooleanField(required=False)


class SeededEntry(Closed):
    """An entry as a suite names it; the ledger gives it an id of its own."""

    id = Text()
    content = Text()
    tags = serializers.ListField(child=Text(), required=False)


class SeedMemory(Closed):
    """Entries that are to be there."""

    memoryRef = Text()
    entries = serializers.ListField(child=SeededEntry(), allow_empty=False, max_length=1000)


class CompactMemory(Closed):
    """What to compact; more than the host does at once is as much as it does at once."""

    memoryRef = Text()
    maxInputEntries = serializers.IntegerField(min_value=1, required=False)
    maxOutputBytes = serializers.IntegerField(min_value=1, required=False)


class FireCommitment(Closed):
    """Of which ref a commitment is to fire, and by which kind of condition."""

    memoryRef = Text()
    condition = serializers.ChoiceField(choices=Condition.choices)
    includeIntentionCanary = serializers.BooleanField(required=False)
