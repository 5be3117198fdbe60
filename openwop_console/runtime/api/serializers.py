"""Bodies, queries and answers of the run surface, and the JSON Schemas of the answers for the OpenAPI document."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from memory import redaction
from memory.host import ids, runs, trace_context
from memory.host.errors import Invalid
from memory.host.event_log import Recorded
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    STRING,
    TEXT,
    TIME,
    After,
    Answer,
    Closed,
    Instant,
    Omittable,
    Schema,
    Text,
    also,
    closed,
    listed,
    nullable,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import ForkMode, Interrupt, Run, RunStatus
from memory.host.paging import cursor
from memory.models import ExternalRun
from memory.redaction import Mask, without_sensitive
from memory.run_search import RunFilter, RunPage
from memory.wire import instant
from openwop_console import VERSION
from openwop_console.runtime.artifacts import RunArtifact
from openwop_console.runtime.interrupt_answers import Asked
from openwop_console.runtime.models import Step
from openwop_console.runtime.replay import ForkRequest, Overlay
from openwop_console.runtime.run_operations import MAX_RUN_IDS, Cancelled, RunRequest, RunState
from openwop_console.runtime.streams import Reading, modes_of

ENFORCE = "enforce"  # what X-Dedup may say
EXTERNAL = "external"  # the kind of a run that an agent executes elsewhere
EVENT_LOG_SCHEMA = 2  # OpenWOP's version negotiation: what readers may expect of the log of a run
STATUS: Schema = {"type": "string", "enum": [str(status) for status in RunStatus.values]}
RUN_STATUS = closed(runId=TEXT, status=STATUS)
FORKED = closed(
    runId=TEXT,
    sourceRunId=TEXT,
    mode={"type": "string", "enum": ["replay", "branch"]},
    status=STATUS,
    eventsUrl={"type": "string", "format": "uri"},
    fromSeq=COUNT,
)
RUN_PAUSED = closed(runId=TEXT, status=STATUS, pausedAt=TIME)
RUN_RESUMED = closed(runId=TEXT, status=STATUS, resumedAt=TIME)
BULK_OUTCOME: Schema = {
    "oneOf": [
        closed(runId=TEXT, ok={"const": True}, status=STATUS),
        closed(runId=TEXT, ok={"const": False}, error=closed(code=TEXT, message=TEXT)),
    ]
}
BULK_CANCELLED = closed(results={"type": "array", "items": BULK_OUTCOME})
ARTIFACT = closed(artifactId=TEXT, artifactType=TEXT, runId=TEXT, nodeId=TEXT, createdAt=TIME, content=OBJECT)
ARTIFACTS = closed(artifacts={"type": "array", "items": ARTIFACT}, total=COUNT)
EVENT: Schema = {
    "type": "object",
    "required": ["eventId", "runId", "sequence", "type", "timestamp", "payload"],
    "properties": {
        "eventId": TEXT,
        "runId": TEXT,
        "sequence": COUNT,
        "type": TEXT,
        "nodeId": TEXT,
        "timestamp": TIME,
        "payload": {},
    },
}
EVENTS = closed(events={"type": "array", "items": EVENT}, isComplete=FLAG)
STREAM: Schema = {"type": "string", "description": "Server-sent events, each with the number of its event as id."}
LISTED_RUN = Answer[Run](
    runId=(TEXT, lambda run: ids.wire("run", run.id)),
    workflowId=(TEXT, lambda run: run.workflow_id),
    status=(STATUS, lambda run: run.status),
    agentId=(nullable(TEXT), lambda run: run.agent_id or None),
    system=(FLAG, lambda run: run.system),
    kind=(Omittable({"const": EXTERNAL}), lambda run: EXTERNAL if run.external else None),
    createdAt=(TIME, lambda run: instant(run.created_at)),
    startedAt=(nullable(TIME), lambda run: instant(run.started_at)),
    completedAt=(nullable(TIME), lambda run: instant(run.completed_at)),
)
RUNS = Answer[RunPage](
    runs=(listed(LISTED_RUN), lambda page: LISTED_RUN.documents(page.runs)),
    total=(COUNT, lambda page: page.total),
    totalIsExact=(FLAG, lambda page: not page.inexact),
    next=(nullable(TEXT), lambda page: cursor("run", page.after)),
)
RUN_CREATED = closed(runId=TEXT, workflowId=TEXT, status=STATUS, startedAt=TIME, eventsUrl=TEXT, statusUrl=TEXT)
RUN: Schema = {
    "title": "RunSnapshot",
    "type": "object",
    "required": ["runId", "workflowId", "status", "owner", "inputs", "variables", "tags", "metadata"],
    "properties": {
        "runId": TEXT,
        "workflowId": TEXT,
        "status": STATUS,
        "currentNodeId": TEXT,
        "owner": closed(tenant=TEXT, principal=TEXT),
        "kind": {"const": EXTERNAL},
        "origin": also(closed(), system=TEXT, runId=TEXT, threadId=TEXT),
        "endedBy": words(by for by, _ in ExternalRun.ENDED_BY),
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "startedAt": TIME,
        "completedAt": TIME,
        "pausedAt": TIME,
        "inputs": OBJECT,
        "variables": OBJECT,
        "nodeStates": OBJECT,
        "configurable": OBJECT,
        "tags": {"type": "array", "items": STRING},
        "metadata": OBJECT,
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": TEXT, "message": TEXT, "details": OBJECT},
            "additionalProperties": False,
        },
        "interrupt": {"type": "object", "required": ["kind", "nodeId"]},
    },
}
WORKFLOW: Schema = {
    "title": "WorkflowDefinition",
    "type": "object",
    "required": ["id", "name", "version", "nodes", "edges"],
    "properties": {
        "id": TEXT,
        "name": TEXT,
        "version": TEXT,
        "nodes": {"type": "array", "items": OBJECT},
        "edges": {"type": "array", "items": OBJECT},
    },
}
INTERRUPT_RESOLVED = closed(runId=TEXT, nodeId=TEXT, status=STATUS)
# What a token asks about.
INTERRUPT_ASKED = Answer[Asked](
    runId=(TEXT, lambda asked: ids.wire("run", asked.interrupt.run_id)),
    nodeId=(TEXT, lambda asked: asked.interrupt.node_id),
    interruptId=(TEXT, lambda asked: ids.wire("int", asked.interrupt.id)),
    kind=({"type": "string", "enum": list(Interrupt.KINDS)}, lambda asked: asked.interrupt.kind),
    data=(OBJECT, lambda asked: redaction.mask_of_run(asked.run).data(asked.interrupt.data)),
    intent=({"type": "string", "enum": ["resolve", "inspect"]}, lambda asked: asked.claims.intent),
    expiresAt=(TIME, lambda asked: instant(asked.claims.expires_at)),
)


class RunsQuery(Closed):
    """The newest first: of one workflow or status, created at ``since`` or later, before ``until``; ``after`` is what
    ``next`` gave."""

    workflowId = Text(required=False, max_length=128)
    status = serializers.ChoiceField(required=False, choices=RunStatus.values)
    since = Instant(required=False)
    until = Instant(required=False)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("run")

    def wanted(self) -> RunFilter:
        given = self.validated_data
        return RunFilter(given.get("workflowId", ""), given.get("status", ""), given.get("since"), given.get("until"))


def _is_deduplicated(said: str | None) -> bool:
    """Whether ``X-Dedup`` asks for it; another word than its only one is refused, not passed over."""
    if said is not None and said.strip().lower() != ENFORCE:
        raise Invalid(errors=[{"field": "X-Dedup", "message": f"must be {ENFORCE}"}])
    return said is not None


class CreateRun(Closed):
    """The closed body of ``POST /v1/runs`` (openwop-host 3.2)."""

    workflowId = Text(max_length=128)
    inputs = serializers.DictField(required=False)
    tenantId = Text(required=False, max_length=128)
    scopeId = Text(required=False, max_length=256)
    configurable = serializers.DictField(required=False)
    tags = serializers.ListField(child=Text(min_length=1, max_length=256), required=False, max_length=100)
    metadata = serializers.DictField(required=False)
    agentId = Text(required=False, min_length=3, max_length=256)
    callbackUrl = serializers.URLField(required=False, max_length=2000)
    residency = Text(required=False, max_length=64)
    mode = serializers.ChoiceField(choices=["eval"], required=False)
    evalSuiteRef = Text(required=False, max_length=500)

    def order(self, headers: Mapping[str, str]) -> RunRequest:
        """What is asked for; ``X-Dedup`` and ``X-Force-Engine-Version`` come as headers."""
        given = self.validated_data
        return RunRequest(
            workflow_id=given["workflowId"],
            inputs=given.get("inputs", {}),
            agent_id=given.get("agentId", ""),
            tenant_slug=given.get("tenantId", ""),
            scope_id=given.get("scopeId", ""),
            dedup=_is_deduplicated(headers.get("X-Dedup")),
            engine_version=headers.get("X-Force-Engine-Version", ""),
            callback_url=given.get("callbackUrl", ""),
            residency=given.get("residency", ""),
            mode=given.get("mode", ""),
            eval_suite=given.get("evalSuiteRef", ""),
            configurable=given.get("configurable", {}),
            tags=given.get("tags", []),
            metadata=given.get("metadata", {}),
        )


class CancelRun(Closed):
    """The body of cancel. The reason stands beside the log, where a forget reaches it."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)


class BulkCancel(Closed):
    """The closed body of ``POST /v1/runs:bulk-cancel`` (openwop-host 3.7)."""

    runIds = serializers.ListField(child=Text(min_length=1, max_length=256), min_length=1, max_length=10_000)
    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)

    def validate_runIds(self, given: list[str]) -> list[str]:  # noqa: N802  # named after its field
        if len(given) > MAX_RUN_IDS:
            raise Invalid(f"At most {MAX_RUN_IDS} runs are cancelled at once.", maxRunIds=MAX_RUN_IDS)
        return given


class RunOptions(Closed):
    """What a branch is given beside what its source had."""

    configurable = serializers.DictField(required=False)
    tags = serializers.ListField(child=Text(min_length=1, max_length=256), required=False, max_length=100)
    metadata = serializers.DictField(required=False)


class Sequence(serializers.IntegerField):
    """The number of an event. One beyond what a database can count is past the end of every log."""

    def to_internal_value(self, data: Any) -> int:
        return min(int(super().to_internal_value(data)), 2**62)


class ForkRun(Closed):
    """The closed body of fork."""

    mode = serializers.ChoiceField(choices=ForkMode.values)
    fromSeq = Sequence(required=False, min_value=0)
    runOptionsOverlay = RunOptions(required=False)

    def order(self) -> ForkRequest:
        given = self.validated_data
        overlay = given.get("runOptionsOverlay", {})
        return ForkRequest(
            given["mode"],
            given.get("fromSeq"),
            Overlay(overlay.get("configurable"), overlay.get("tags"), overlay.get("metadata")),
        )


class PauseRun(Closed):
    """The body of pause."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)
    drainPolicy = serializers.ChoiceField(choices=runs.DRAIN_POLICIES, required=False)


class ResumeRun(Closed):
    """The body of resume."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)


class ResolveInterrupt(Closed):
    """The closed body of a resolution (openwop-host 3.8); ``voter`` is for the fixtures of a conformance suite."""

    resumeValue = serializers.JSONField()
    voter = serializers.CharField(required=False, min_length=1, max_length=128)


class ResolveByToken(Closed):
    """The closed body of a resolution by token."""

    resumeValue = serializers.JSONField()


class EventsQuery(Closed):
    """What a reader of events asks for; JSON takes no notice of it, but a bad value is refused all the same."""

    streamMode = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    bufferMs = serializers.IntegerField(required=False, min_value=0, max_value=5000)

    def reading(self, last_event_id: str) -> Reading:
        """``last_event_id`` is the number of the last event the reader has; anything else means it has none."""
        given = self.validated_data
        known = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 18
        return Reading(
            modes=modes_of(given.get("streamMode", "updates")),
            buffer=given.get("bufferMs", 0) / 1000,
            after=int(last_event_id) if known else -1,
        )


class PollQuery(Closed):
    """``lastSequence`` is exclusive; ``timeout`` is in seconds (openwop-host 3.5)."""

    lastSequence = Sequence(required=False, min_value=-1)
    timeout = serializers.IntegerField(required=False, min_value=0, max_value=60)


def created_document(run: Run, request: Request) -> JSONObject:
    run_id = ids.wire("run", run.id)
    status_url = request.build_absolute_uri(f"/v1/runs/{run_id}")
    return {
        "runId": run_id,
        "workflowId": run.workflow_id,
        "status": "pending",
        "startedAt": instant(run.created_at),
        "eventsUrl": f"{status_url}/events",
        "statusUrl": status_url,
    }


def run_document(state: RunState, *, origin: str = "") -> JSONObject:
    """The RunSnapshot (openwop-host 3.3), and of a run that an agent executes elsewhere what it states of it.

    ``origin`` is where this host is reached, for the addresses of tokens.
    """
    run, definition = state.run, json.loads(state.run.definition.text)
    mask = Mask(definition, run.inputs, run.variables)
    asked = [_interrupt_document(each, mask, state.tokens.get(each.id, ""), origin) for each in state.interrupts]
    optional = {
        "currentNodeId": run.current_node or None,
        "pausedAt": instant(run.paused_at) if run.paused_at and not run.draining else None,
        "startedAt": instant(run.started_at),
        "completedAt": instant(run.completed_at),
        "error": run.error,
        "agent": _agent_document(run, definition),
        "kind": EXTERNAL if run.external else None,
        "origin": (state.stated.document or None) if state.stated else None,
        "endedBy": (state.stated.ended_by or None) if state.stated else None,
        "traceId": trace_context.trace_id(run.traceparent) or None,
        "sourceRunId": ids.wire("run", run.source_run_id),
        "sourceOwner": _source_owner(run),
        "forkMode": run.fork_mode or None,
        "fromSeq": run.from_seq,
        "interrupt": asked[0] if asked else None,
        "interrupts": asked or None,
    }
    return {
        "runId": ids.wire("run", run.id),
        "workflowId": run.workflow_id,
        "status": RunStatus.RUNNING if run.draining else run.status,
        "eventLogSchemaVersion": EVENT_LOG_SCHEMA,
        "engineVersion": VERSION,
        "owner": {"tenant": run.tenant.slug, "principal": run.principal},
        "inputs": without_sensitive(run.inputs, definition),
        "variables": without_sensitive(run.variables, definition),
        "nodeStates": node_states(state.steps),
        "configurable": run.configurable,
        "tags": run.tags,
        "metadata": run.metadata,
        "workspace": [
            {"path": noted["path"], "version": noted["version"]}
            for noted in run.workspace
            if {"path", "version"} <= set(noted)
        ],
        **{key: value for key, value in optional.items() if value is not None},
    }


def _source_owner(run: Run) -> JSONObject | None:
    """Whose the source of a fork is, when another principal asked for the fork."""
    source = run.source_run if run.source_run_id else None
    if source is None or source.principal == run.principal:
        return None
    return {"tenant": source.tenant.slug, "principal": source.principal}


def _agent_document(run: Run, definition: JSONObject) -> JSONObject | None:
    """Who the run acts as at its current node: the node's own agent, else the run's."""
    at: JSONObject = next((node for node in definition["nodes"] if node["id"] == run.current_node), {})
    agent_id = at.get("agent", {}).get("agentId") or run.agent_id
    return {"agentId": agent_id} if agent_id else None


def _interrupt_document(interrupt: Interrupt, mask: Mask, token: str, origin: str) -> JSONObject:
    addressed = {"interruptToken": token, "callbackUrl": f"{origin}/v1/interrupts/{token}"} if token else {}
    return {
        "interruptId": ids.wire("int", interrupt.id),
        "kind": interrupt.kind,
        "nodeId": interrupt.node_id,
        "key": interrupt.key,
        "payload": mask.data(interrupt.data),
        **({"timeoutAt": instant(interrupt.timeout_at)} if interrupt.timeout_at else {}),
        **addressed,
    }


def node_states(steps: Mapping[str, Step]) -> JSONObject:
    """Where each node stands that the run has reached."""
    return {
        node_id: {
            "status": step.state,
            "attempt": step.attempt,
            "startedAt": instant(step.started_at),
            **({"wakeAt": instant(step.wake_at)} if step.wake_at else {}),
            **({"error": step.error} if step.error else {}),
        }
        for node_id, step in steps.items()
    }


def cancelled_document(outcome: Cancelled) -> JSONObject:
    if outcome.code:
        error = {"code": outcome.code, "message": outcome.message}
        return {"runId": outcome.run_id, "ok": False, "error": error}
    return {"runId": outcome.run_id, "ok": True, "status": outcome.status}


def artifact_document(run_id: str, artifact: RunArtifact) -> JSONObject:
    return {
        "artifactId": artifact.artifact_id,
        "artifactType": artifact.artifact_type,
        "runId": run_id,
        "nodeId": artifact.node_id,
        "createdAt": instant(artifact.created_at),
        "content": artifact.content,
    }


def event_document(event: Recorded) -> JSONObject:
    """The RunEventDoc (openwop-host 3.4)."""
    return {
        "eventId": ids.wire("evt", event.event_id),
        "runId": ids.wire("run", event.run_id),
        "sequence": event.sequence,
        "type": event.type,
        **({"nodeId": event.node_id} if event.node_id else {}),
        "timestamp": instant(event.timestamp),
        "payload": event.payload,
    }
