"""The wire forms of the run surface; camelCase stops here."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from memory.host import ids
from memory.host.event_log import Recorded
from memory.host.models import Interrupt, Run
from memory.host.serializing import Closed
from memory.wire import instant
from openwop_console.runtime.intake import RunRequest


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

    def order(self) -> RunRequest:
        given = self.validated_data
        return RunRequest(
            workflow_id=given["workflowId"],
            inputs=given.get("inputs", {}),
            agent_id=given.get("agentId", ""),
            tenant_slug=given.get("tenantId", ""),
            configurable=given.get("configurable", {}),
            tags=given.get("tags", []),
            metadata=given.get("metadata", {}),
        )


class CancelRun(Closed):
    """The body of cancel. The reason goes no further than this check: events hold no words of people."""

    reason = serializers.CharField(required=False, max_length=2000, allow_blank=True)


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


def run_document(run: Run, interrupts: list[Interrupt]) -> dict[str, Any]:
    """The RunSnapshot (openwop-host 3.3)."""
    optional = {
        "currentNodeId": run.current_node or None,
        "startedAt": instant(run.started_at) if run.started_at else None,
        "completedAt": instant(run.completed_at) if run.completed_at else None,
        "error": run.error,
        "agent": {"agentId": run.agent_id} if run.agent_id else None,
        "interrupt": _interrupt_document(interrupts[0]) if interrupts else None,
    }
    return {
        "runId": ids.wire("run", run.id),
        "workflowId": run.workflow_id,
        "status": run.status,
        "owner": {"tenant": run.tenant.slug, "principal": run.principal},
        "inputs": run.inputs,
        "variables": run.variables,
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
