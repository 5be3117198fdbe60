"""What agents elsewhere state, as fields of a request: one shape at every door."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory import origins
from memory.host.http import AnyField, Text
from memory.host.json_types import JSONObject
from memory.origins import LARGEST_STEP, MAX_SOURCES, MAX_TEXT, Origin

TEXT: JSONObject = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
ORIGIN: JSONObject = {
    "title": "Origin",
    "type": "object",
    "additionalProperties": False,
    "required": ["system"],
    "properties": {
        **dict.fromkeys(origins.TEXTS, TEXT),
        origins.STEP: {"anyOf": [TEXT, {"type": "integer", "minimum": -LARGEST_STEP, "maximum": LARGEST_STEP}]},
        origins.TRACE: {"type": "string", "minLength": 55, "maxLength": 55},
        origins.SOURCES: {"type": "array", "maxItems": MAX_SOURCES, "items": TEXT},
    },
}


@extend_schema_field(ORIGIN)
class OriginField(AnyField):
    """Where a write came from, as its agent states it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)

    def to_internal_value(self, data: object) -> Origin:
        found = list(origins.problems(data))
        if any(name for name, _ in found):
            raise serializers.ValidationError({name: [message] for name, message in found})
        if found:
            raise serializers.ValidationError(found[0][1])
        return origins.parse(data)


@extend_schema_field(TEXT)
class OriginText(Text):
    """One of the texts of an origin."""

    def to_internal_value(self, data: object) -> str:
        if not origins.is_text(data):
            raise serializers.ValidationError(origins.NO_TEXT)
        return str(data)
