"""What clients send about one entry (RFC-0015 1.1; R1 to R9, R47). Bodies are closed; null is what is not said."""

import unicodedata
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory import addresses
from memory.addresses import AGENT_ID, MAX_AGENT, MAX_NAME, PRIORITIES, Address, Sensitivity, Tier, is_agent_id
from memory.host import http
from memory.host.http import AnyField, Closed, Text, Whole
from memory.host.json_types import JSONObject
from memory.ledger.entries import AddressedValue
from memory.models.work import STATUSES
from memory.openintent import entries
from memory.openintent.queries import parse_moment
from memory.openintent.work import authority, coordinators, intents
from memory.openintent.work.rows import NewAgent, NewCoordinator, NewTask, TaskChange
from memory.wire import OriginField

MAX_TAGS = 64
MAX_TAG = 128
MAX_TTL = 128
MAX_MOMENT = 64
SCOPE = ("task_id", "intent_id")
CLEARABLE = frozenset({"ttl", "expires_at", "sensitivity"})
MAX_LISTED = 1000
MAX_ID = 128
MAX_EVERY = 86_400
DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
FARTHEST = 2**31 - 1
MAYBE: JSONObject = {"required": False, "allow_null": True}
INTENT_PRIORITIES = ("low", "normal", "high", "critical")


def is_clean(text: str) -> bool:
    """Whether the text has neither control characters nor halves of surrogate pairs."""
    return not any(unicodedata.category(character) in {"Cc", "Cs"} for character in text)


class Name(Text):
    """A text that can stand in an address: not empty, and without control characters."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not is_clean(text):
            raise serializers.ValidationError("holds a control character")
        return text


class AgentId(Text):
    """What an agent may be called: one rule, here, in ``X-Agent-ID``, and on the pages."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not is_agent_id(text):
            raise serializers.ValidationError(AGENT_ID)
        return text


class Word(Text):
    """One of ``words``."""

    def __init__(self, words: tuple[str, ...], **options: object) -> None:
        super().__init__(**options)
        self.words = words

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or data not in self.words:
            raise serializers.ValidationError(f"must be one of {', '.join(word for word in self.words if word)}")
        return data


@extend_schema_field({"type": "object"})
class Value(AnyField):
    """A JSON object, whatever is in it (R5)."""

    def to_internal_value(self, data: object) -> JSONObject:
        if not isinstance(data, dict):
            raise serializers.ValidationError("must be a JSON object")
        if _depth(data) > http.MAX_DEPTH:
            raise serializers.ValidationError(f"is nested deeper than {http.MAX_DEPTH} levels")
        return data


@extend_schema_field({"type": "array", "maxItems": MAX_TAGS, "items": {"type": "string", "maxLength": MAX_TAG}})
class Tags(AnyField):
    """Labels in their order, once each; a comma would make one that no query finds (R8)."""

    def to_internal_value(self, data: object) -> tuple[str, ...]:
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

    def to_internal_value(self, data: object) -> Any:
        text = super().to_internal_value(data)
        found = parse_moment(text) if len(text) <= MAX_MOMENT else None
        if found is None:
            raise serializers.ValidationError("must be a time in ISO 8601")
        return found


class Lifetime(Text):
    """``task_lifetime``, or a duration as it is kept (R9)."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if problem := entries.duration_problem(text):
            raise serializers.ValidationError(problem)
        return entries.parse(text)


@extend_schema_field(
    {"type": "object", "additionalProperties": False, "properties": {name: {"type": "string"} for name in SCOPE}}
)
class Scope(AnyField):
    """The task and the intent that an entry is bound to, of this host or not (R7)."""

    def to_internal_value(self, data: object) -> dict[str, str]:
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

    def to_internal_value(self, data: object) -> Any:
        raise serializers.ValidationError("is made by the server")


class EntryChange(Closed):
    """What an update may change. Null ends a lifetime and a classification; of all else it says nothing."""

    value = Value(required=False)
    tags = Tags(required=False, allow_null=True)
    pinned = serializers.BooleanField(required=False, allow_null=True)
    priority = Word(PRIORITIES, required=False, allow_null=True)
    sensitivity = Word(("", *Sensitivity), required=False, allow_null=True, allow_blank=True)
    ttl = Lifetime(required=False, allow_null=True, max_length=MAX_TTL)
    expires_at = Moment(required=False, allow_null=True)

    def named_fields(self) -> JSONObject:
        """The fields that are named, as ``entries.update`` takes them."""
        given = {name: self.validated_data[name] for name in entries.MUTABLE if name in self.validated_data}
        cleared = {name: given[name] or "" for name in ("ttl", "sensitivity") if name in given}
        kept = {name: value for name, value in given.items() if value is not None or name == "expires_at"}
        return kept | cleared


class EntryUpdate(EntryChange):
    """The body of an update: at least one field to change, and where the change came from."""

    origin = OriginField(allow_null=True)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        named = {name: value for name, value in attrs.items() if name != "origin"}
        if all(value is None for name, value in named.items() if name not in CLEARABLE) and not set(named) & CLEARABLE:
            raise serializers.ValidationError({"body": ["must name something to change"]})
        return attrs


class EntryRemoval(Closed):
    """The body of a deletion, which may be left out: where it came from."""

    origin = OriginField(allow_null=True)


class EntryPlace(Closed):
    """The address of an entry; ``agent_id`` is the caller's unless it is named."""

    agent_id = AgentId(required=False)
    namespace = Name(max_length=addresses.MAX_NAME)
    key = Name(max_length=addresses.MAX_NAME)
    memory_type = Word(tuple(Tier))

    def address(self, agent_id: str) -> Address:
        """The same as an address, of ``agent_id`` unless it says whose."""
        sent = self.validated_data
        return Address(Tier(sent["memory_type"]), sent.get("agent_id") or agent_id, sent["namespace"], sent["key"])


class EntryCreate(EntryChange):
    """A whole entry. ``curated_by`` may be sent, and is the server's to say (R13)."""

    agent_id = AgentId(required=False, allow_null=True)
    namespace = Name(max_length=addresses.MAX_NAME)
    key = Name(max_length=addresses.MAX_NAME)
    memory_type = Word(tuple(Tier), required=False, allow_null=True)
    scope = Scope(required=False, allow_null=True)
    value = Value()
    origin: AnyField = OriginField(allow_null=True)
    curated_by: AnyField = Text(required=False, allow_null=True, allow_blank=True)
    id: AnyField = ServerMade()
    version: AnyField = ServerMade()
    created_by: AnyField = ServerMade()
    created_at: AnyField = ServerMade()
    updated_at: AnyField = ServerMade()

    def validate(self, attrs: JSONObject) -> dict[str, object]:
        """The name of a shared namespace is part of a ref, so it is shorter (C21)."""
        if attrs.get("memory_type") == Tier.SEMANTIC and len(attrs["namespace"]) > addresses.MAX_SHARED_NAMESPACE:
            message = f"has at most {addresses.MAX_SHARED_NAMESPACE} characters in semantic memory"
            raise serializers.ValidationError({"namespace": [message]})
        return attrs

    def fixed(self) -> dict[str, str]:
        """What was said of the place of the entry, which no change can make so."""
        sent = self.validated_data
        named = {name: sent.get(name) for name in ("agent_id", "namespace", "key", "memory_type")}
        return {name: str(value) for name, value in (named | (sent.get("scope") or {})).items() if value}

    def to_given(self, agent_id: str) -> AddressedValue:
        """The entry as it was sent; it is ``agent_id``'s unless it says whose it is."""
        sent, named = self.validated_data, self.named_fields()
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
        return AddressedValue(address, named["value"], named.get("tags", ()), named.get("expires_at"))


def _depth(value: object) -> int:
    """How deep lists and objects are nested; without recursion."""
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        deepest += 1
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
    return deepest


class Texts(serializers.ListField):
    """A list of texts, of a sensible length."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=Text(max_length=authority.MAX_NAME, allow_blank=True), max_length=MAX_LISTED, **options)


class Objects(serializers.ListField):
    """A list of JSON objects."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=Value(), max_length=MAX_LISTED, **options)


@extend_schema_field({"type": ["object", "array"]})
class Constraints(Value):
    """An object, or a list as older clients send it."""

    def to_internal_value(self, data: object) -> Any:
        if isinstance(data, list):
            return super().to_internal_value({"rules": data})
        return super().to_internal_value(data)


@extend_schema_field({"type": "string", "enum": [None]})
class Unserved(AnyField):
    """What this host does not offer is refused, not passed over."""

    def __init__(self, message: str) -> None:
        super().__init__(**MAYBE)
        self.message = message

    def to_internal_value(self, data: object) -> Any:
        raise serializers.ValidationError(self.message)


@extend_schema_field({"type": "integer", "minimum": 0})
class Number(AnyField):
    """A whole number of a query; one that is too large is the largest there is (R59)."""

    def __init__(self, *, least: int, most: int, default: int) -> None:
        super().__init__(default=default)
        self.least, self.most = least, most

    def to_internal_value(self, data: object) -> int:
        digits = data if isinstance(data, str) and data.isascii() and data.isdigit() else ""
        if not digits or (len(digits) < 20 and int(digits) < self.least):
            raise serializers.ValidationError(f"must be a whole number of at least {self.least}")
        return self.most if len(digits) >= 20 else min(int(digits), self.most)


class Page(serializers.Serializer[Any]):
    """A page of a list. Unknown parameters are ignored (R63)."""

    limit = Number(least=1, most=MAX_LIMIT, default=DEFAULT_LIMIT)
    offset = Number(least=0, most=FARTHEST, default=0)


class IntentPage(Page):
    status = Word(intents.STATUSES, default="")


class TaskPage(Page):
    status = Word(STATUSES, default="")


class AgentPage(Page):
    status = Word(coordinators.AGENT_STATUSES, default="")
    role_id = Name(default="", max_length=MAX_ID)


class IntentCreate(Closed):
    title = Text(max_length=authority.MAX_NAME)
    description = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)
    constraints = Constraints(**MAYBE)
    state = Value(**MAYBE)
    created_by = Name(max_length=MAX_AGENT, **MAYBE)
    parent_intent_id = Text(max_length=MAX_ID, **MAYBE)
    depends_on = Texts(**MAYBE)
    governance_policy = Unserved("is not enforced by this host")


class StatusChange(Closed):
    status = Text(max_length=32)
    reason = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)


class StateChange(Closed):
    """Patches, or the fields to set as an object."""

    patches = Objects(**MAYBE)
    state = Value(**MAYBE)

    def patched(self) -> list[JSONObject]:
        fields = self.validated_data.get("state") or {}
        patches: list[JSONObject] = self.validated_data.get("patches") or []
        return [*patches, *({"op": "set", "path": name, "value": value} for name, value in fields.items())]


class AgentAssign(Closed):
    agent_id = Name(max_length=MAX_AGENT, **MAYBE)
    role = Text(max_length=MAX_ID, **MAYBE)


class EventCreate(Closed):
    event_type = Text(max_length=64)
    actor = Name(max_length=MAX_AGENT, **MAYBE)
    payload = Value(**MAYBE)
    trace_id = Name(max_length=MAX_ID, **MAYBE)
    parent_event_id = Name(max_length=MAX_ID, **MAYBE)

    def noted(self) -> JSONObject:
        """The payload, with where the event belongs in a trace (RFC-0020) when that is said."""
        sent = self.validated_data
        trace = {name: sent[name] for name in ("trace_id", "parent_event_id") if sent.get(name)}
        return {**trace, **(sent.get("payload") or {})}


class Tool(Closed):
    """RFC-0014; without a service the client could not read the task back."""

    service = Text(max_length=authority.MAX_NAME)
    scopes = Texts(**MAYBE)
    required = serializers.BooleanField(**MAYBE)  # type: ignore[assignment]  # the wire's word, and the field's own

    def to_internal_value(self, data: object) -> Any:
        return {name: value for name, value in super().to_internal_value(data).items() if value is not None}


class TaskKept(Closed):
    """What RFC-0012 says of a task and this host keeps without interpreting it."""

    plan_id = Text(max_length=MAX_ID, **MAYBE)
    priority = Word(INTENT_PRIORITIES, **MAYBE)
    input = Value(**MAYBE)
    output = Value(**MAYBE)
    artifacts = Texts(**MAYBE)
    capabilities_required = Texts(**MAYBE)
    depends_on = Texts(**MAYBE)
    blocks = Texts(**MAYBE)
    retry_policy = Text(max_length=authority.MAX_NAME, **MAYBE)
    timeout_seconds = Whole(min_value=1, max_value=FARTHEST, **MAYBE)
    attempt = Whole(min_value=1, max_value=MAX_LISTED, **MAYBE)
    max_attempts = Whole(min_value=1, max_value=MAX_LISTED, **MAYBE)
    permissions = Text(max_length=MAX_ID, **MAYBE)
    requires_tools = serializers.ListField(child=Tool(), max_length=MAX_LISTED, **MAYBE)
    blocked_reason = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)
    error = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)
    metadata = Value(**MAYBE)
    memory_policy = Value(**MAYBE)
    assigned_agent = Name(max_length=MAX_AGENT, allow_blank=True, **MAYBE)
    status = Text(max_length=16, **MAYBE)

    def record_fields(self) -> dict[str, object]:
        interpreted = {"memory_policy", "assigned_agent", "status"}
        sent = self.validated_data
        known = set(TaskKept().fields) - interpreted
        return {name: value for name, value in sent.items() if name in known and value is not None}


class TaskCreate(TaskKept):
    intent_id = Text(max_length=MAX_ID)
    name = Text(max_length=authority.MAX_NAME)
    description = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)
    parent_task_id = Text(max_length=MAX_ID, **MAYBE)

    def draft(self) -> NewTask:
        sent = self.validated_data
        return NewTask(
            intent_id=sent["intent_id"],
            name=sent["name"],
            description=sent.get("description") or "",
            status=sent.get("status") or "pending",
            assigned_agent=sent.get("assigned_agent") or "",
            parent_task_id=sent.get("parent_task_id") or "",
            memory_policy=sent.get("memory_policy"),
            record=self.record_fields(),
        )


class TaskUpdate(TaskKept):
    """At least one field. An ``assigned_agent`` that is empty takes the task from whoever has it."""

    reason = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        if all(value is None for name, value in attrs.items() if name != "reason"):
            raise serializers.ValidationError({"body": ["must name something to change"]})
        return attrs

    def change(self) -> TaskChange:
        sent = self.validated_data
        return TaskChange(
            status=sent.get("status"),
            assigned_agent=sent.get("assigned_agent"),
            memory_policy=sent.get("memory_policy"),
            reason=sent.get("reason") or "",
            record=self.record_fields(),
        )


class CoordinatorUpdate(Closed):
    status = Text(max_length=16, **MAYBE)
    guardrails = Value(**MAYBE)


class CoordinatorCreate(Closed):
    agent_id = Name(max_length=MAX_AGENT)
    intent_id = Text(max_length=MAX_ID)
    portfolio_id = Unserved("is not served by this host: a coordinator is one of an intent")
    role = Text(max_length=MAX_ID, **MAYBE)
    supervisor_id = Text(max_length=MAX_ID, **MAYBE)
    coordinator_type = Word(coordinators.TYPES, **MAYBE)
    scope = Word(("intent",), **MAYBE)
    guardrails = Value(**MAYBE)
    heartbeat_interval_seconds = Whole(min_value=1, max_value=MAX_EVERY, **MAYBE)
    expires_at = Moment(**MAYBE)
    metadata = Value(**MAYBE)

    def draft(self) -> NewCoordinator:
        sent = self.validated_data
        kept = ("role", "supervisor_id", "coordinator_type", "heartbeat_interval_seconds", "metadata")
        return NewCoordinator(
            intent_id=sent["intent_id"],
            agent_id=sent["agent_id"],
            guardrails=sent.get("guardrails"),
            expires_at=sent.get("expires_at"),
            record={name: sent[name] for name in kept if sent.get(name) is not None},
        )


class Rhythm(Closed):
    interval_seconds = Whole(min_value=1, max_value=MAX_EVERY, required=False)
    unhealthy_after_seconds = Whole(min_value=1, max_value=FARTHEST, required=False)
    dead_after_seconds = Whole(min_value=1, max_value=FARTHEST, required=False)


class Load(Closed):
    max_concurrent_tasks = Whole(min_value=0, max_value=FARTHEST, required=False)
    current_load = Whole(min_value=0, max_value=FARTHEST, required=False)


class Remembering(Closed):
    """This host's own: how much the agent remembers, and where it never forgets (R30, R86)."""

    capacity = Whole(min_value=0, max_value=authority.MAX_BOUND, **MAYBE)
    pinned_namespaces = serializers.ListField(child=Name(max_length=MAX_NAME), max_length=authority.MAX_WORDS, **MAYBE)


class AgentRegister(Closed):
    agent_id = Name(max_length=MAX_AGENT)
    name = Text(allow_blank=True, max_length=authority.MAX_NAME, **MAYBE)
    role_id = Name(max_length=MAX_ID, **MAYBE)
    capabilities = Texts(**MAYBE)
    capacity = Load(**MAYBE)
    endpoint = Text(allow_blank=True, max_length=authority.MAX_NAME, **MAYBE)
    heartbeat_config = Rhythm(**MAYBE)
    metadata = Value(**MAYBE)
    drain_timeout_seconds = Whole(min_value=0, max_value=FARTHEST, **MAYBE)
    episodic_memory = Remembering(**MAYBE)

    def draft(self) -> NewAgent:
        sent = self.validated_data
        bounds = sent.get("episodic_memory") or {}
        pinned = bounds.get("pinned_namespaces")
        own = {name: value for name, value in sent.items() if value is not None}
        kept = {name: value for name, value in own.items() if name not in {"agent_id", "episodic_memory"}}
        return NewAgent(sent["agent_id"], kept, bounds.get("capacity"), None if pinned is None else tuple(pinned))


class AgentHeartbeat(Closed):
    status = Word(coordinators.AGENT_STATUSES, **MAYBE)
    current_load = Whole(min_value=0, max_value=FARTHEST, **MAYBE)
    tasks_in_progress = Texts(**MAYBE)
    agent_id = Name(max_length=MAX_AGENT, **MAYBE)


class AgentStatusChange(Closed):
    status = Text(max_length=16)
