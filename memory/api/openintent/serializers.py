"""What clients send about one entry (RFC-0015 1.1; R1 to R9, R47). Bodies are closed; null is what is not said."""

import unicodedata
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory import addresses
from memory.addresses import AGENT_ID, PRIORITIES, Address, Sensitivity, Tier, is_agent_id
from memory.agent_memory import entries
from memory.agent_memory.queries import moment_of
from memory.host import json_depth
from memory.host.serializing import Closed, Flag, Text
from memory.ledger import Given

AnyField = serializers.Field[Any, Any, Any, Any]
MAX_TAGS = 64
MAX_TAG = 128
MAX_TTL = 128
MAX_MOMENT = 64
SCOPE = ("task_id", "intent_id")
CLEARABLE = frozenset({"ttl", "expires_at", "sensitivity"})


def is_clean(text: str) -> bool:
    """Whether the text has neither control characters nor halves of surrogate pairs."""
    return not any(unicodedata.category(character) in {"Cc", "Cs"} for character in text)


class Name(Text):
    """A text that can stand in an address: not empty, and without control characters."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not is_clean(text):
            raise serializers.ValidationError("holds a control character")
        return text


class AgentId(Text):
    """What an agent may be called: one rule, here, in ``X-Agent-ID``, and on the pages."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not is_agent_id(text):
            raise serializers.ValidationError(AGENT_ID)
        return text


class Word(Text):
    """One of ``words``."""

    def __init__(self, words: tuple[str, ...], **options: Any) -> None:
        super().__init__(**options)
        self.words = words

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.words:
            raise serializers.ValidationError(f"must be one of {', '.join(word for word in self.words if word)}")
        return data


@extend_schema_field({"type": "object"})
class Value(AnyField):
    """A JSON object, whatever is in it (R5)."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("must be a JSON object")
        if _depth(data) > json_depth.MAX_DEPTH:
            raise serializers.ValidationError(f"is nested deeper than {json_depth.MAX_DEPTH} levels")
        return data


@extend_schema_field({"type": "array", "maxItems": MAX_TAGS, "items": {"type": "string", "maxLength": MAX_TAG}})
class Tags(AnyField):
    """Labels in their order, once each; a comma would make one that no query finds (R8)."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        if not isinstance(data, list) or not all(isinstance(tag, str) for tag in data):
            raise serializers.ValidationError("must be a list of texts")
        tags = tuple(dict.fromkeys(data))
        if len(tags) > MAX_TAGS:
            raise serializers.ValidationError(f"are more than {MAX_TAGS}")
        if any(not tag or len(tag) > MAX_TAG or "," in tag or not is_clean(tag) for tag in tags):
            raise serializers.ValidationError(f"must have 1 to {MAX_TAG} characters, no comma and no control character")
        return tags


class Moment(Text):
    """A time in ISO 8601; without an offset it is UTC."""

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        found = moment_of(text) if len(text) <= MAX_MOMENT else None
        if found is None:
            raise serializers.ValidationError("must be a time in ISO 8601")
        return found


class Lifetime(Text):
    """``task_lifetime``, or a duration as it is kept (R9)."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if problem := entries.problem_with(text):
            raise serializers.ValidationError(problem)
        return entries.parse(text)


@extend_schema_field(
    {"type": "object", "additionalProperties": False, "properties": {name: {"type": "string"} for name in SCOPE}}
)
class Scope(AnyField):
    """The task and the intent that an entry is bound to, of this host or not (R7)."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict) or set(data) - set(SCOPE):
            raise serializers.ValidationError(f"must be an object of {' and '.join(SCOPE)}")
        given = {name: value for name, value in data.items() if value is not None}
        for name, value in given.items():
            if not isinstance(value, str) or not 0 < len(value) <= addresses.MAX_SCOPE_ID or not is_clean(value):
                raise serializers.ValidationError(
                    {name: [f"must be a text of 1 to {addresses.MAX_SCOPE_ID} characters"]}
                )
        return given


@extend_schema_field({"type": "string", "enum": [None]})
class ServerMade(AnyField):
    """What nobody sends. Null is nothing."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> Any:
        raise serializers.ValidationError("is made by the server")


class EntryChange(Closed):
    """What an update may change. Null ends a lifetime and a classification; of all else it says nothing."""

    value = Value(required=False)
    tags = Tags(required=False, allow_null=True)
    pinned = Flag(required=False, allow_null=True)
    priority = Word(PRIORITIES, required=False, allow_null=True)
    sensitivity = Word(("", *Sensitivity), required=False, allow_null=True, allow_blank=True)
    ttl = Lifetime(required=False, allow_null=True, max_length=MAX_TTL)
    expires_at = Moment(required=False, allow_null=True)

    def named(self) -> dict[str, Any]:
        """The fields that are named, as ``entries.update`` takes them."""
        given = {name: self.validated_data[name] for name in entries.MUTABLE if name in self.validated_data}
        cleared = {name: given[name] or "" for name in ("ttl", "sensitivity") if name in given}
        kept = {name: value for name, value in given.items() if value is not None or name == "expires_at"}
        return kept | cleared


class EntryUpdate(EntryChange):
    """The body of an update: at least one field, which nothing else may stand beside."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if all(value is None for name, value in attrs.items() if name not in CLEARABLE) and not set(attrs) & CLEARABLE:
            raise serializers.ValidationError({"body": ["must name something to change"]})
        return attrs


class EntryCreate(EntryChange):
    """A whole entry. ``curated_by`` may be sent, and is the server's to say (R13)."""

    agent_id = AgentId(required=False, allow_null=True)
    namespace = Name(max_length=addresses.MAX_NAME)
    key = Name(max_length=addresses.MAX_NAME)
    memory_type = Word(tuple(Tier), required=False, allow_null=True)
    scope = Scope(required=False, allow_null=True)
    value = Value()
    curated_by: AnyField = Text(required=False, allow_null=True, allow_blank=True)
    id: AnyField = ServerMade()
    version: AnyField = ServerMade()
    created_by: AnyField = ServerMade()
    created_at: AnyField = ServerMade()
    updated_at: AnyField = ServerMade()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The name of a shared namespace is part of a ref, so it is shorter (C21)."""
        if attrs.get("memory_type") == Tier.SEMANTIC and len(attrs["namespace"]) > addresses.MAX_SHARED_NAMESPACE:
            message = f"has at most {addresses.MAX_SHARED_NAMESPACE} characters in semantic memory"
            raise serializers.ValidationError({"namespace": [message]})
        return attrs

    def given(self, agent_id: str) -> Given:
        """The entry as it was sent; it is ``agent_id``'s unless it says whose it is."""
        sent, named = self.validated_data, self.named()
        scope = sent.get("scope") or {}
        address = Address(
            tier=Tier(sent.get("memory_type") or Tier.WORKING),
            agent_id=sent.get("agent_id") or agent_id,
            namespace=sent["namespace"],
            key=sent["key"],
            task_id=scope.get("task_id", ""),
            intent_id=scope.get("intent_id", ""),
            **{name: named[name] for name in entries.OF_ADDRESS if name in named},
        )
        return Given(address, named["value"], named.get("tags", ()), named.get("expires_at"))


def _depth(value: Any) -> int:
    """How deep lists and objects are nested; without recursion."""
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        deepest += 1
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
    return deepest
