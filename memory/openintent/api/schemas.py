"""What OpenIntent's endpoints answer with and are asked for, as ``/v1/openapi.json`` describes it."""

from typing import Any

from rest_framework import serializers

from memory import addresses
from memory.addresses import PRIORITIES, Sensitivity, Tier
from memory.embeddings import RANKINGS, WHY
from memory.host import ids
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    POSITIVE,
    STRING,
    TEXT,
    TIME,
    Answer,
    Schema,
    also,
    closed,
    listed,
    nullable,
    words,
)
from memory.host.json_types import JSONObject
from memory.models import Agent, Coordinator, Grant, Intent, Namespace, Task
from memory.openintent import batches, queries
from memory.openintent.entries import openintent_time
from memory.openintent.namespaces import MAX_RULES, NamespaceView
from memory.openintent.queries import DEFAULT_LIMIT, FARTHEST, MAX_LIMIT, MAX_QUERY
from memory.wire import ORIGIN

ANY: Schema = {}
NUMBER: Schema = {"type": "integer"}
MAYBE: Schema = nullable(STRING)

ENTRY = also(
    closed(
        "OpenIntentEntry",
        id=TEXT,
        agent_id=TEXT,
        namespace=TEXT,
        key=TEXT,
        value=OBJECT,
        memory_type=words(Tier),
        version=COUNT,
        scope=nullable(OBJECT),
        tags=listed(STRING),
        ttl=MAYBE,
        pinned=FLAG,
        priority=words(PRIORITIES),
        sensitivity=MAYBE,
        curated_by=MAYBE,
        created_by=MAYBE,
        created_at=TIME,
        updated_at=TIME,
        expires_at=nullable(TIME),
        memory_ref=STRING,
        run_id=STRING,
        node_id=MAYBE,
    ),
    value_unreadable={"const": True},
    inherited_from=STRING,
    stated_origin=ORIGIN,
    score={"type": "number"},
)
ENTRIES = also(
    closed("OpenIntentEntries", entries=listed(ENTRY), total=COUNT, limit=COUNT, offset=COUNT),
    total_is_exact={"const": False},
    ranking=words(RANKINGS),
    ranking_reason=words(WHY),
)
REMOVED = closed("OpenIntentRemoved", status={"const": "deleted"}, entry_id=TEXT)
BATCH_WRITTEN = closed("OpenIntentBatchWritten", entries=listed(ENTRY), created=COUNT, updated=COUNT)
BATCH_DELETED = closed("OpenIntentBatchDeleted", deleted=COUNT, ids=listed(TEXT))
RULE = closed(agent=TEXT, access=words(Namespace.ACCESS))
NAMESPACE = Answer[NamespaceView](
    "OpenIntentNamespace",
    namespace=(TEXT, lambda held: held.row.name),
    access=(words(Namespace.ACCESS), lambda held: held.access),
    entry_count=(COUNT, lambda held: held.entry_count),
    permissions=(
        closed(default=words(Namespace.ACCESS), allow=listed(RULE)),
        lambda held: {"default": held.row.default, "allow": held.row.allow},
    ),
    version=(COUNT, lambda held: held.row.version),
    created_by=(STRING, lambda held: held.row.created_by),
    created_at=(TIME, lambda held: openintent_time(held.row.created_at)),
    updated_at=(TIME, lambda held: openintent_time(held.row.updated_at)),
)
NAMESPACES = closed(
    "OpenIntentNamespaces",
    namespaces=listed({"anyOf": [NAMESPACE, closed(namespace=TEXT)]}),
    total=COUNT,
    limit=COUNT,
    offset=COUNT,
)
SUMMARY = also(
    closed(
        "OpenIntentMemorySummary",
        agent_id=STRING,
        working=closed(entry_count=COUNT, total_size_kb=COUNT, tasks_with_memory=listed(STRING)),
        episodic=closed(
            entry_count=COUNT,
            capacity=COUNT,
            pinned_count=COUNT,
            total_size_kb=COUNT,
            oldest_entry=nullable(TIME),
            newest_entry=nullable(TIME),
        ),
        semantic_namespaces_accessible=listed(STRING),
    ),
    openwop=closed(entry_count=COUNT),
)
GRANT = Answer[Grant](
    "OpenIntentGrant",
    id=(TEXT, lambda row: ids.wire("acl", row.id)),
    principal_id=(TEXT, lambda row: row.agent_id),
    principal_type=({"const": "agent"}, lambda row: "agent"),
    permission=(TEXT, lambda row: row.permission),
    task_id=(MAYBE, lambda row: ids.wire("task", row.task_id)),
    granted_by=(STRING, lambda row: row.granted_by),
    granted_at=(TIME, lambda row: openintent_time(row.granted_at)),
    expires_at=(nullable(TIME), lambda row: openintent_time(row.expires_at)),
    reason=(MAYBE, lambda row: None),
)
ACL = closed("OpenIntentAcl", intent_id=TEXT, default_policy=TEXT, entries=listed(GRANT))
EVENT = also(
    closed(
        "OpenIntentEvent",
        id=TEXT,
        type=TEXT,
        event_type=TEXT,
        intent_id=MAYBE,
        task_id=MAYBE,
        agent_id=STRING,
        actor=STRING,
        data=OBJECT,
        payload=OBJECT,
        timestamp=TIME,
        created_at=TIME,
    ),
    trace_id=MAYBE,
    parent_event_id=MAYBE,
)
INTENT = Answer[Intent](
    "OpenIntentIntent",
    id=(TEXT, lambda row: ids.wire("intent", row.id)),
    title=(STRING, lambda row: row.title),
    description=(STRING, lambda row: row.description),
    version=(COUNT, lambda row: row.version),
    status=(TEXT, lambda row: row.status),
    state=(OBJECT, lambda row: row.state),
    constraints=(OBJECT, lambda row: row.constraints),
    parent_intent_id=(MAYBE, lambda row: ids.wire("intent", row.parent_intent_id)),
    depends_on=(listed(STRING), lambda row: row.record.get("depends_on", [])),
    agents=(listed(STRING), lambda row: row.agents),
    created_by=(STRING, lambda row: row.created_by),
    created_at=(TIME, lambda row: openintent_time(row.created_at)),
    updated_at=(TIME, lambda row: openintent_time(row.updated_at)),
    confidence=({"type": "number"}, lambda row: 0),
    governance_policy=(MAYBE, lambda row: None),
)
INTENTS = closed("OpenIntentIntents", intents=listed(INTENT), total=COUNT, limit=COUNT, offset=COUNT)
PARTICIPANT = closed("OpenIntentParticipant", intent_id=TEXT, agent_id=TEXT)
PARTICIPATION = closed(
    "OpenIntentParticipation", intent_id=TEXT, agent_id=TEXT, status=words(("assigned", "unassigned"))
)
# The memory policy is as it was given; what holds is told by what the host refuses (R72).
TASK = Answer[Task](
    "OpenIntentTask",
    id=(TEXT, lambda row: ids.wire("task", row.id)),
    intent_id=(TEXT, lambda row: ids.wire("intent", row.intent_id)),
    plan_id=(MAYBE, lambda row: row.record.get("plan_id")),
    name=(STRING, lambda row: row.name),
    description=(MAYBE, lambda row: row.description or None),
    status=(TEXT, lambda row: row.status),
    version=(COUNT, lambda row: row.version),
    priority=(STRING, lambda row: row.record.get("priority", "normal")),
    input=(OBJECT, lambda row: row.record.get("input", {})),
    output=(nullable(OBJECT), lambda row: row.record.get("output")),
    artifacts=(listed(STRING), lambda row: row.record.get("artifacts", [])),
    assigned_agent=(MAYBE, lambda row: row.assigned_agent or None),
    lease_id=(MAYBE, lambda row: None),
    capabilities_required=(listed(STRING), lambda row: row.record.get("capabilities_required", [])),
    depends_on=(listed(STRING), lambda row: row.record.get("depends_on", [])),
    blocks=(listed(STRING), lambda row: row.record.get("blocks", [])),
    parent_task_id=(MAYBE, lambda row: ids.wire("task", row.parent_task_id)),
    retry_policy=(MAYBE, lambda row: row.record.get("retry_policy")),
    timeout_seconds=(nullable(NUMBER), lambda row: row.record.get("timeout_seconds")),
    attempt=(NUMBER, lambda row: row.record.get("attempt", 1)),
    max_attempts=(NUMBER, lambda row: row.record.get("max_attempts", 3)),
    permissions=(STRING, lambda row: row.record.get("permissions", "inherit")),
    memory_policy=(nullable(OBJECT), lambda row: row.memory_policy),
    requires_tools=(listed(OBJECT), lambda row: row.record.get("requires_tools", [])),
    blocked_reason=(MAYBE, lambda row: row.record.get("blocked_reason")),
    error=(MAYBE, lambda row: row.record.get("error")),
    metadata=(OBJECT, lambda row: row.record.get("metadata", {})),
    created_by=(STRING, lambda row: row.created_by),
    created_at=(TIME, lambda row: openintent_time(row.created_at)),
    updated_at=(TIME, lambda row: openintent_time(row.updated_at)),
    started_at=(nullable(TIME), lambda row: row.record.get("started_at")),
    completed_at=(nullable(TIME), lambda row: openintent_time(row.ended_at)),
)
COORDINATOR = Answer[Coordinator](
    "OpenIntentCoordinator",
    id=(TEXT, lambda row: ids.wire("coord", row.id)),
    intent_id=(TEXT, lambda row: ids.wire("intent", row.intent_id)),
    portfolio_id=(MAYBE, lambda row: None),
    agent_id=(TEXT, lambda row: row.agent_id),
    role=(STRING, lambda row: row.record.get("role", "coordinator")),
    supervisor_id=(MAYBE, lambda row: row.record.get("supervisor_id")),
    coordinator_type=(TEXT, lambda row: row.record.get("coordinator_type", "llm")),
    scope=(TEXT, lambda row: "intent"),
    status=(TEXT, lambda row: row.status),
    guardrails=(nullable(OBJECT), lambda row: row.guardrails),
    heartbeat_interval_seconds=(NUMBER, lambda row: row.record.get("heartbeat_interval_seconds", 60)),
    last_heartbeat=(nullable(TIME), lambda row: row.record.get("last_heartbeat")),
    granted_at=(TIME, lambda row: openintent_time(row.created_at)),
    expires_at=(nullable(TIME), lambda row: openintent_time(row.expires_at)),
    version=(COUNT, lambda row: row.version),
    metadata=(OBJECT, lambda row: row.record.get("metadata", {})),
)
# The record, and what bounds the agent's own memory.
AGENT = Answer[Agent](
    "OpenIntentAgent",
    agent_id=(TEXT, lambda row: row.agent_id),
    status=(TEXT, lambda row: row.status),
    role_id=(MAYBE, lambda row: row.record.get("role_id")),
    name=(MAYBE, lambda row: row.record.get("name")),
    capabilities=(listed(STRING), lambda row: row.record.get("capabilities", [])),
    capacity=(nullable(OBJECT), lambda row: row.record.get("capacity")),
    endpoint=(MAYBE, lambda row: row.record.get("endpoint")),
    heartbeat_config=(nullable(OBJECT), lambda row: row.record.get("heartbeat_config")),
    metadata=(OBJECT, lambda row: row.record.get("metadata", {})),
    drain_timeout_seconds=(nullable(NUMBER), lambda row: row.record.get("drain_timeout_seconds")),
    registered_at=(nullable(TIME), lambda row: openintent_time(row.registered_at)),
    last_heartbeat_at=(nullable(TIME), lambda row: row.record.get("last_heartbeat_at")),
    version=(COUNT, lambda row: row.record.get("version", 1)),
    episodic_memory=(
        closed(capacity=nullable(COUNT), pinned_namespaces=listed(STRING)),
        lambda row: {"capacity": row.capacity, "pinned_namespaces": row.pinned_namespaces},
    ),
)
ALIVE = closed("OpenIntentAlive", status={"const": "ok"}, server_timestamp=TIME, next_heartbeat_at=TIME)
COORDINATES = closed("OpenIntentCoordinatorAlive", status={"const": "ok"}, next_heartbeat_at=TIME)
SERVER = closed(
    "OpenIntentServer",
    protocol_version=TEXT,
    suspension=closed(default_retry_policy={"type": "null"}),
)

NAME: Schema = {"type": "string", "minLength": 1, "maxLength": addresses.MAX_NAME}
SCOPE_BODY: Schema = {
    "type": ["object", "null"],
    "additionalProperties": False,
    "properties": {"task_id": MAYBE, "intent_id": MAYBE},
}
# An item of a batch: whole for a new entry, and for one that is there by its address; with its id, what is to change.
ITEM: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": MAYBE,
        "version": {"type": ["integer", "null"], "minimum": 0},
        "agent_id": MAYBE,
        "namespace": NAME,
        "key": NAME,
        "memory_type": {"enum": [*map(str, Tier), None]},
        "scope": SCOPE_BODY,
        "value": OBJECT,
        "tags": {"type": ["array", "null"], "items": STRING},
        "pinned": {"type": ["boolean", "null"]},
        "priority": {"enum": [*PRIORITIES, None]},
        "sensitivity": {"enum": ["", *map(str, Sensitivity), None]},
        "ttl": MAYBE,
        "expires_at": MAYBE,
        "curated_by": MAYBE,
        "origin": nullable(ORIGIN),
        **dict.fromkeys(
            ("created_by", "created_at", "updated_at", "memory_ref", "run_id", "node_id", "stated_origin"), ANY
        ),
    },
}
BATCH: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["entries"],
    "properties": {"entries": {"type": "array", "minItems": 1, "maxItems": batches.MOST, "items": ITEM}},
}
REMOVAL: Schema = {"type": "object", "additionalProperties": False, "properties": {"origin": nullable(ORIGIN)}}
TAG_LIST: Schema = {"anyOf": [STRING, listed(STRING)], "description": "A list, or tags separated by commas."}
FILTER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "agent_id": NAME,
        "namespace": NAME,
        "key": NAME,
        "memory_type": words(Tier),
        "tags": TAG_LIST,
        "tags_any": TAG_LIST,
        "scope": SCOPE_BODY,
        "scope.task_id": NAME,
        "scope.intent_id": NAME,
        "pinned": FLAG,
        "updated_after": STRING,
        "updated_before": STRING,
        "limit": POSITIVE,
        "offset": COUNT,
    },
}
BATCH_FILTER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "description": "The filter may be in the query string instead; give it once.",
    "properties": {"filter": FILTER},
}


# Flat, or under ``permissions``, as the caller likes.
RULE_BODY: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["agent"],
    "properties": {"agent": TEXT, "access": words(Namespace.ACCESS), "level": words(Namespace.ACCESS)},
}
PERMISSIONS_BODY: Schema = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "default": words(Namespace.ACCESS),
        "allow": {"type": "array", "items": RULE_BODY, "maxItems": MAX_RULES},
    },
}
NAMESPACE_CHANGE: Schema = {
    **PERMISSIONS_BODY,
    "properties": {**PERMISSIONS_BODY["properties"], "permissions": PERMISSIONS_BODY},
}


class Paged(serializers.Serializer[Any]):
    """A page of a list; a limit that is too large is the largest there is."""

    limit = serializers.IntegerField(min_value=1, required=False, help_text=f"{DEFAULT_LIMIT}; at most {MAX_LIMIT}")
    offset = serializers.IntegerField(min_value=0, max_value=FARTHEST, required=False)


class Sought(Paged):
    """The thirteen parameters of RFC-0015 4.1."""

    agent_id = serializers.CharField(required=False, max_length=addresses.MAX_NAME)
    namespace = serializers.CharField(
        required=False, max_length=addresses.MAX_NAME + 1, help_text="A prefix, if it ends with *."
    )
    key = serializers.CharField(required=False, max_length=addresses.MAX_NAME)
    memory_type = serializers.ChoiceField([str(each) for each in Tier], required=False)
    tags = serializers.CharField(required=False, help_text="Separated by commas; an entry has all of them.")
    tags_any = serializers.CharField(required=False, help_text="Separated by commas; an entry has one of them.")
    pinned = serializers.BooleanField(required=False)
    updated_after = serializers.CharField(required=False, help_text="ISO 8601")
    updated_before = serializers.CharField(required=False, help_text="ISO 8601")

    def get_fields(self) -> JSONObject:
        """With the two whose names no attribute of a class can have."""
        scope = {name: serializers.CharField(required=False) for name in ("scope.task_id", "scope.intent_id")}
        return {**super().get_fields(), **scope}


class Searched(Sought):
    """The same, a search and a filter over values, which are this host's additions."""

    q = serializers.CharField(
        required=False, max_length=MAX_QUERY, help_text='Any of these words, the best first; all of a "phrase".'
    )
    filter = serializers.CharField(
        required=False,
        max_length=queries.MAX_LENGTH,
        help_text=f"A JSON object: fields of the value, each with what it is or with {', '.join(queries.OPERATORS)}.",
    )


class SoughtNamespaces(Paged):
    """A page of namespaces; by their labels, which have a point behind each (``users.u1.``), if anything is said of
    them."""

    prefix = serializers.CharField(
        required=False, max_length=addresses.MAX_NAME, help_text="The first labels, separated by dots; * is any label."
    )
    suffix = serializers.CharField(
        required=False, max_length=addresses.MAX_NAME, help_text="The last labels, separated by dots; * is any label."
    )
    max_depth = serializers.IntegerField(
        min_value=1,
        max_value=addresses.MAX_NAME,
        required=False,
        help_text="Names are cut after so many labels, and each is listed once.",
    )


class SearchedOfAgent(Searched):
    """The same without the agent, who stands in the path."""

    agent_id = None  # type: ignore[assignment]


class SoughtEvents(Paged):
    """Which events of a log."""

    event_type = serializers.CharField(required=False, max_length=64)
    since = serializers.CharField(required=False, help_text="ISO 8601")
