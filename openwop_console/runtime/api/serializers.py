"""The wire forms of the run surface; camelCase stops here."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from memory.host import ids
from memory.host.errors import Invalid
from memory.host.event_log import Recorded
from memory.host.models import Interrupt, Run
from memory.host.serializing import Closed
from memory.wire import instant
from openwop_console.runtime.artifacts import RunArtifact
from openwop_console.runtime.control import MAX_RUN_IDS, Cancelled
from openwop_console.runtime.intake import RunState
from openwop_console.runtime.models import Step
from openwop_console.runtime.run_options import RunRequest


class CreateRun(Closed):
    """The closed body of ``POST /v1/runs`` (openwop-host 3.2)."""

    workflowId = serializers.CharField(max_length=128)
    inputs = serializers.DictField(required=False)
    tenantId = serializers.CharField(required=False, max_length=128)
    scopeId = serializers.CharField(required=False, max_length=256)
    configurable = serializers.DictField(required=False)
    tags = serializers.ListField(
        child=serializers.CharField(min_length=1, max_length=256), required=False, max_length=100
    )
    metadata = serializers.DictField(required=False)
    agentId = serializers.CharField(required=False, min_length=3, max_length=256)
    callbackUrl = serializers.URLField(required=False, max_length=2000)
    residency = serializers.CharField(required=False, max_length=64)
    mode = serializers.ChoiceField(choices=["eval"], required=False)
    evalSuiteRef = serializers.CharField(required=False, max_length=500)

    def order(self, headers: Mapping[str, str]) -> RunRequest:
        """What is asked for; ``X-Dedup`` and ``X-Force-Engine-Version`` come as headers."""
        given = self.validated_data
        return RunRequest(
            workflow_id=given["workflowId"],
            inputs=given.get("inputs", {}),
            agent_id=given.get("agentId", ""),
            tenant_slug=given.get("tenantId", ""),
            scope_id=given.get("scopeId", ""),
            dedup=headers.get("X-Dedup", "").lower() == "enforce",
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
    """The body of cancel. The reason goes no further than this check: events hold no words of people."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)


class BulkCancel(Closed):
    """The closed body of ``POST /v1/runs:bulk-cancel`` (openwop-host 3.7)."""

    runIds = serializers.ListField(child=serializers.CharField(min_length=1, max_length=256), min_length=1)
    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)

    def validate_runIds(self, given: list[str]) -> list[str]:  # noqa: N802  # named after its field
        if len(given) > MAX_RUN_IDS:
            raise Invalid(f"At most {MAX_RUN_IDS} runs are cancelled at once.", maxRunIds=MAX_RUN_IDS)
        return given


class PauseRun(Closed):
    """The body of pause. The reason goes no further than this check, as that of cancel."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)
    drainPolicy = serializers.ChoiceField(choices=["immediate", "drain-current-node"], required=False)


class ResumeRun(Closed):
    """The body of resume, which asks for nothing."""


class ResolveInterrupt(Closed):
    """The closed body of a resolution (openwop-host 3.8)."""

    resumeValue = serializers.JSONField()


class PollQuery(Closed):
    """``lastSequence`` is exclusive; ``timeout`` is in seconds (openwop-host 3.5)."""

    lastSequence = serializers.IntegerField(required=False, min_value=-1, max_value=2**62)
    timeout = serializers.IntegerField(required=False, min_value=0, max_value=60)


def created_document(run: Run, request: Request) -> dict[str, Any]:
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


def run_document(state: RunState) -> dict[str, Any]:
    """The RunSnapshot (openwop-host 3.3)."""
    run, definition = state.run, json.loads(state.run.definition.text)
    optional = {
        "currentNodeId": run.current_node or None,
        "pausedAt": instant(run.paused_at) if run.paused_at else None,
        "startedAt": instant(run.started_at) if run.started_at else None,
        "completedAt": instant(run.completed_at) if run.completed_at else None,
        "error": run.error,
        "agent": {"agentId": run.agent_id} if run.agent_id else None,
        "interrupt": _interrupt_document(state.interrupts[0]) if state.interrupts else None,
    }
    return {
        "runId": ids.wire("run", run.id),
        "workflowId": run.workflow_id,
        "status": run.status,
        "owner": {"tenant": run.tenant.slug, "principal": run.principal},
        "inputs": without_sensitive(run.inputs, definition),
        "variables": without_sensitive(run.variables, definition),
        "nodeStates": node_states(state.steps),
        "configurable": run.configurable,
        "tags": run.tags,
        "metadata": run.metadata,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _interrupt_document(interrupt: Interrupt) -> dict[str, Any]:
    return {
        "interruptId": ids.wire("int", interrupt.id),
        "kind": interrupt.kind,
        "nodeId": interrupt.node_id,
        "key": interrupt.key,
    }


def node_states(steps: Mapping[str, Step]) -> dict[str, Any]:
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


def without_sensitive(values: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """The values with those masked that the workflow declares ``sensitive``."""
    masked = {each["name"] for each in definition["variables"] if each.get("sensitive")}
    return {name: "[MASKED]" if name in masked else value for name, value in values.items()}


def cancelled_document(outcome: Cancelled) -> dict[str, Any]:
    if outcome.code:
        error = {"code": outcome.code, "message": outcome.message}
        return {"runId": outcome.run_id, "ok": False, "error": error}
    return {"runId": outcome.run_id, "ok": True, "status": outcome.status}


def artifact_document(run_id: str, artifact: RunArtifact) -> dict[str, Any]:
    return {
        "artifactId": artifact.artifact_id,
        "artifactType": artifact.artifact_type,
        "runId": run_id,
        "nodeId": artifact.node_id,
        "createdAt": instant(artifact.created_at),
        "content": artifact.content,
    }


def event_document(event: Recorded) -> dict[str, Any]:
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
