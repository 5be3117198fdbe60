"""What clients send about work (RFC-0001, RFC-0012, RFC-0013, RFC-0016). Bodies are closed; null says nothing."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.addresses import MAX_AGENT, MAX_NAME
from memory.api.openintent.serializers import Moment, Name, Value, Word
from memory.host.serializing import Closed, Flag, Text, Whole
from memory.models.work import STATUSES
from memory.work import agents, authority, coordinators, intents
from memory.work.drafts import NewAgent, NewCoordinator, NewTask, TaskChange

MAX_LISTED = 1000
MAX_ID = 128
MAX_EVERY = 86_400
DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
FARTHEST = 2**31 - 1
MAYBE: dict[str, Any] = {"required": False, "allow_null": True}
PRIORITIES = ("low", "normal", "high", "critical")


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

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, list):
            return super().to_internal_value({"rules": data})
        return super().to_internal_value(data)


@extend_schema_field({"type": "string", "enum": [None]})
class Unserved(serializers.Field[Any, Any, Any, Any]):
    """What this host does not offer is refused, not passed over."""

    def __init__(self, message: str) -> None:
        super().__init__(**MAYBE)
        self.message = message

    def to_internal_value(self, data: Any) -> Any:
        raise serializers.ValidationError(self.message)


@extend_schema_field({"type": "integer", "minimum": 0})
class Number(serializers.Field[Any, Any, Any, Any]):
    """A whole number of a query; one that is too large is the largest there is (R59)."""

    def __init__(self, *, least: int, most: int, default: int) -> None:
        super().__init__(default=default)
        self.least, self.most = least, most

    def to_internal_value(self, data: Any) -> int:
        digits = data if isinstance(data, str) and data.isascii() and data.isdigit() else ""
        if not digits or (len(digits) < 20 and int(digits) < self.least):
            raise serializers.ValidationError(f"must be a whole number of at least {self.least}")
        return self.most if len(digits) >= 20 else min(int(digits), self.most)


class Page(serializers.Serializer[Any]):
    """A page of a list. Parameters that nobody knows are ignored (R63)."""

    limit = Number(least=1, most=MAX_LIMIT, default=DEFAULT_LIMIT)
    offset = Number(least=0, most=FARTHEST, default=0)


class IntentPage(Page):
    status = Word(intents.STATUSES, default="")


class TaskPage(Page):
    status = Word(STATUSES, default="")


class AgentPage(Page):
    status = Word(agents.STATUSES, default="")
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

    def patched(self) -> list[dict[str, Any]]:
        fields = self.validated_data.get("state") or {}
        patches: list[dict[str, Any]] = self.validated_data.get("patches") or []
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

    def noted(self) -> dict[str, Any]:
        """The payload, with where the event belongs in a trace (RFC-0020) when that is said."""
        sent = self.validated_data
        trace = {name: sent[name] for name in ("trace_id", "parent_event_id") if sent.get(name)}
        return {**trace, **(sent.get("payload") or {})}


class Tool(Closed):
    """RFC-0014; without a service the client could not read the task back."""

    service = Text(max_length=authority.MAX_NAME)
    scopes = Texts(**MAYBE)
    required = Flag(**MAYBE)  # type: ignore[assignment]  # the wire's word, and the field's own

    def to_internal_value(self, data: Any) -> Any:
        return {name: value for name, value in super().to_internal_value(data).items() if value is not None}


class TaskKept(Closed):
    """What RFC-0012 says of a task and this host keeps without interpreting it."""

    plan_id = Text(max_length=MAX_ID, **MAYBE)
    priority = Word(PRIORITIES, **MAYBE)
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

    def kept(self) -> dict[str, Any]:
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
            record=self.kept(),
        )


class TaskUpdate(TaskKept):
    """At least one field. An ``assigned_agent`` that is empty takes the task from whoever has it."""

    reason = Text(allow_blank=True, max_length=authority.MAX_TEXT, **MAYBE)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
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
            record=self.kept(),
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
    status = Word(agents.STATUSES, **MAYBE)
    current_load = Whole(min_value=0, max_value=FARTHEST, **MAYBE)
    tasks_in_progress = Texts(**MAYBE)
    agent_id = Name(max_length=MAX_AGENT, **MAYBE)


class AgentStatusChange(Closed):
    status = Text(max_length=16)
