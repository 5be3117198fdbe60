"""Work as the published client reads it: every enumeration one of its words, every time one of its times (1.4)."""

from datetime import datetime
from typing import Any

from memory.api.openintent.documents import instant
from memory.host import ids
from memory.host.event_log import Recorded
from memory.models import Agent, Coordinator, Intent, Task

Document = dict[str, Any]


def _at(moment: datetime | None) -> str | None:
    return instant(moment) if moment else None


def intent_document(row: Intent) -> Document:
    return {
        "id": ids.wire("intent", row.id),
        "title": row.title,
        "description": row.description,
        "version": row.version,
        "status": row.status,
        "state": row.state,
        "constraints": row.constraints,
        "parent_intent_id": ids.wire("intent", row.parent_intent_id) if row.parent_intent_id else None,
        "depends_on": row.record.get("depends_on", []),
        "agents": row.agents,
        "created_by": row.created_by,
        "created_at": instant(row.created_at),
        "updated_at": instant(row.updated_at),
        "confidence": 0,
        "governance_policy": None,
    }


def task_document(row: Task) -> Document:
    """The memory policy is as it was given; what holds is told by what the host refuses (R72)."""
    kept = row.record
    return {
        "id": ids.wire("task", row.id),
        "intent_id": ids.wire("intent", row.intent_id),
        "plan_id": kept.get("plan_id"),
        "name": row.name,
        "description": row.description or None,
        "status": row.status,
        "version": row.version,
        "priority": kept.get("priority", "normal"),
        "input": kept.get("input", {}),
        "output": kept.get("output"),
        "artifacts": kept.get("artifacts", []),
        "assigned_agent": row.assigned_agent or None,
        "lease_id": None,
        "capabilities_required": kept.get("capabilities_required", []),
        "depends_on": kept.get("depends_on", []),
        "blocks": kept.get("blocks", []),
        "parent_task_id": ids.wire("task", row.parent_task_id) if row.parent_task_id else None,
        "retry_policy": kept.get("retry_policy"),
        "timeout_seconds": kept.get("timeout_seconds"),
        "attempt": kept.get("attempt", 1),
        "max_attempts": kept.get("max_attempts", 3),
        "permissions": kept.get("permissions", "inherit"),
        "memory_policy": row.memory_policy,
        "requires_tools": kept.get("requires_tools", []),
        "blocked_reason": kept.get("blocked_reason"),
        "error": kept.get("error"),
        "metadata": kept.get("metadata", {}),
        "created_by": row.created_by,
        "created_at": instant(row.created_at),
        "updated_at": instant(row.updated_at),
        "started_at": kept.get("started_at"),
        "completed_at": _at(row.ended_at),
    }


def coordinator_document(row: Coordinator) -> Document:
    kept = row.record
    return {
        "id": ids.wire("coord", row.id),
        "intent_id": ids.wire("intent", row.intent_id),
        "portfolio_id": None,
        "agent_id": row.agent_id,
        "role": kept.get("role", "coordinator"),
        "supervisor_id": kept.get("supervisor_id"),
        "coordinator_type": kept.get("coordinator_type", "llm"),
        "scope": "intent",
        "status": row.status,
        "guardrails": row.guardrails,
        "heartbeat_interval_seconds": kept.get("heartbeat_interval_seconds", 60),
        "last_heartbeat": kept.get("last_heartbeat"),
        "granted_at": instant(row.created_at),
        "expires_at": _at(row.expires_at),
        "version": row.version,
        "metadata": kept.get("metadata", {}),
    }


def agent_document(row: Agent) -> Document:
    """The record, and what bounds the agent's own memory."""
    kept = row.record
    return {
        "agent_id": row.agent_id,
        "status": row.status,
        "role_id": kept.get("role_id"),
        "name": kept.get("name"),
        "capabilities": kept.get("capabilities", []),
        "capacity": kept.get("capacity"),
        "endpoint": kept.get("endpoint"),
        "heartbeat_config": kept.get("heartbeat_config"),
        "metadata": kept.get("metadata", {}),
        "drain_timeout_seconds": kept.get("drain_timeout_seconds"),
        "registered_at": _at(row.registered_at),
        "last_heartbeat_at": kept.get("last_heartbeat_at"),
        "version": kept.get("version", 1),
        "episodic_memory": {"capacity": row.capacity, "pinned_namespaces": row.pinned_namespaces},
    }


def event_document(intent_id: str, recorded: Recorded, note: Document) -> Document:
    """An event that was just logged, as the log will tell it (R68)."""
    kind, actor, at = recorded.payload["kind"], recorded.payload["actor"], instant(recorded.timestamp)
    return {
        "id": ids.wire("evt", recorded.event_id),
        "type": kind,
        "event_type": kind,
        "intent_id": intent_id,
        "task_id": note.get("task_id"),
        "agent_id": actor,
        "actor": actor,
        "data": note,
        "payload": note,
        "timestamp": at,
        "created_at": at,
        "trace_id": note.get("trace_id"),
        "parent_event_id": note.get("parent_event_id"),
    }
