"""Agents as they say of themselves, and how they are (RFC-0016). What each is bound to is a matter of its key."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import event_notes
from memory.host.errors import Forbidden, NotFound
from memory.host.events import IntentLogged
from memory.host.tenancy import TenantScope
from memory.models import Agent
from memory.openintent.work import authority
from memory.openintent.work.rows import WRITER, Json, NewAgent, locked_agent

STATUSES = ("registering", "active", "draining", "unhealthy", "dead", "deregistered")
RECOVERS = frozenset({"registering", "unhealthy"})
HEARTBEAT_SECONDS = 30


def find_agent(scope: TenantScope, agent_id: str) -> Agent:
    """The registered agent of that id; one that has only been seen is none."""
    scope.check(authority.READ)
    found: Agent | None = Agent.objects.of(scope.tenant_id).filter(agent_id=agent_id).first()
    if found is None or found.registered_at is None:
        raise NotFound("There is no agent registered by that id.")
    return found


def list_agents(
    scope: TenantScope, *, status: str = "", role_id: str = "", limit: int, offset: int
) -> tuple[list[Agent], int]:
    """Registered agents, by the time they were first seen, and how many there are."""
    scope.check(authority.READ)
    rows = Agent.objects.of(scope.tenant_id).exclude(registered_at=None).order_by("id")
    rows = rows.filter(status=status) if status else rows
    found = rows.filter(record__role_id=role_id) if role_id else rows
    return list(found[offset : offset + limit]), found.count()


@transaction.atomic
def register_agent(scope: TenantScope, new: NewAgent, *, actor: str, now: datetime) -> Agent:
    """The agent is registered, and active, with the record it gives; registering again replaces the record."""
    scope.check(authority.WRITE)
    scope.check_agent(new.agent_id)
    row = locked_agent(scope.tenant_id, authority.agent_name("agent_id", new.agent_id), now=now)
    version = int(row.record.get("version", 0)) + 1
    row.record = {**authority.record(scope, new.record), "version": version}
    row.status, row.registered_at, row.updated_at = "active", row.registered_at or now, now
    _bound(row, new)
    row.save(by=WRITER)
    _append_fact(row, "agent.registered", actor, {"agent_id": row.agent_id}, now=now)
    return row


@transaction.atomic
def configure_agent(tenant_id: UUID, new: NewAgent, *, now: datetime) -> Agent:
    """What the agent remembers is bounded so, registered or not; for workflow files (R86)."""
    row = locked_agent(tenant_id, authority.agent_name("agent_id", new.agent_id), now=now)
    _bound(row, new)
    row.updated_at = now
    row.save(by=WRITER, update_fields=["capacity", "pinned_namespaces", "updated_at"])
    return row


@transaction.atomic
def agent_heartbeat(scope: TenantScope, agent_id: str, *, load: int, tasks: list[str], now: datetime) -> datetime:
    """The agent is alive; when it should say so again. A dead one has to register anew."""
    scope.check(authority.WRITE)
    scope.check_agent(agent_id)
    row = _locked(scope, agent_id, now)
    beat = {"last_heartbeat_at": now.isoformat(timespec="microseconds"), "current_load": load, "in_progress": tasks}
    row.record = {**row.record, **authority.record(scope, beat)}
    row.status = "active" if row.status in RECOVERS else row.status
    row.save(by=WRITER, update_fields=["record", "status"])
    every = (row.record.get("heartbeat_config") or {}).get("interval_seconds") or HEARTBEAT_SECONDS
    return now + timedelta(seconds=int(every))


@transaction.atomic
def update_agent_status(scope: TenantScope, agent_id: str, status: str, *, actor: str, now: datetime) -> Agent:
    """Set the agent's status, by itself or by a caller who may act as any agent. A coordinator that finds an agent dead
    reassigns its tasks with that reason."""
    scope.check(authority.WRITE)
    row = _locked(scope, agent_id, now)
    _require_say(scope, row, actor)
    before, row.status = row.status, authority.one_of("status", status, STATUSES)
    row.record = {**row.record, "version": int(row.record.get("version", 1)) + 1}
    row.updated_at = now
    row.save(by=WRITER, update_fields=["status", "record", "updated_at"])
    kind = "agent.dead" if status == "dead" else "agent.status_changed"
    _append_fact(row, kind, actor, {"agent_id": row.agent_id, "from": before, "to": status}, now=now)
    return row


def _locked(scope: TenantScope, agent_id: str, now: datetime) -> Agent:
    return locked_agent(scope.tenant_id, find_agent(scope, agent_id).agent_id, now=now)


def _require_say(scope: TenantScope, row: Agent, actor: str) -> None:
    if row.agent_id != actor and not authority.stands_for_any(scope):
        raise Forbidden("This agent has no say in how that one is.", rule=authority.RULE)


def _bound(row: Agent, new: NewAgent) -> None:
    row.capacity = row.capacity if new.capacity is None else new.capacity
    if new.pinned_namespaces is not None:
        row.pinned_namespaces = list(new.pinned_namespaces)


def _append_fact(row: Agent, kind: str, actor: str, note: Json, *, now: datetime) -> None:
    event_notes.append(row.tenant_id, row.run_id, [(IntentLogged(kind, actor), note)], now=now)
