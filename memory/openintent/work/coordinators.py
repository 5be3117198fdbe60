"""Agents as they register themselves (RFC-0016), and agents that coordinate intents (RFC-0013).

Which agents a credential may act as is a matter of its key.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count

from memory import event_notes, redaction
from memory.host import ids
from memory.host.errors import Forbidden, NotFound, VersionMismatch
from memory.host.events import IntentLogged
from memory.host.expiry import expired, has_expired
from memory.host.tenancy import TenantScope
from memory.models import Agent, Coordinator, Intent, Task
from memory.openintent.work import authority
from memory.openintent.work.intents import find_intent, log
from memory.openintent.work.rows import WRITER, CoordinatorChange, Json, NewAgent, NewCoordinator, locked_agent

STATUSES = ("registering", "active", "paused", "unresponsive", "failed_over", "completing", "completed")
TYPES = ("llm", "human", "composite", "system")
MAX_OF_INTENT = 100
HEARTBEAT_SECONDS = 60
LAPSED_AT_ONCE = 200  # each is a transaction of its own


def find_coordinator(scope: TenantScope, text: str, *, lock: bool = False) -> Coordinator:
    """The coordinator of that id; unknown, foreign and malformed ids are refused alike."""
    scope.check(authority.READ)
    wanted = ids.parse("coord", text)
    rows = Coordinator.objects.of(scope.tenant_id)
    found = (rows.select_for_update() if lock else rows).filter(id=wanted).first() if wanted else None
    if found is None:
        raise NotFound("There is no coordinator by that id.")
    return found


def coordinators_of_intent(intent: Intent) -> list[Coordinator]:
    """The coordinators of the intent, of every status, the oldest first; at most ``MAX_OF_INTENT``."""
    return list(Coordinator.objects.of(intent.tenant_id).filter(intent_id=intent.id).order_by("id"))


@transaction.atomic
def create_coordinator(scope: TenantScope, new: NewCoordinator, *, actor: str, now: datetime) -> Coordinator:
    """Make the agent a coordinator of the intent. Decided by agents that direct the intent."""
    scope.check(authority.WRITE)
    row = find_intent(scope, new.intent_id, lock=True)
    authority.require_appointment(scope, row, actor, now=now)
    if len(coordinators_of_intent(row)) >= MAX_OF_INTENT:
        raise authority.refuse("intent_id", f"has its {MAX_OF_INTENT} coordinators")
    if has_expired(new.expires_at, now):
        raise authority.refuse("expires_at", "must not be past")
    authority.one_of("coordinator_type", new.record.get("coordinator_type", "llm"), TYPES)
    made = Coordinator(
        tenant_id=scope.tenant_id,
        intent_id=row.id,
        agent_id=authority.agent_name(scope.tenant_id, "agent_id", new.agent_id),
        guardrails=authority.guardrails(scope, new.guardrails),
        record=authority.record(scope, new.record),
        expires_at=new.expires_at,
        created_at=now,
        updated_at=now,
    ).insert(by=WRITER)
    note = {"coordinator_id": ids.wire("coord", made.id), "agent_id": made.agent_id, "role": "coordinator"}
    log(row.tenant_id, row.id, "lease_acquired", actor, note, now=now)
    return made


@transaction.atomic
def update_coordinator(
    scope: TenantScope, coordinator_id: str, change: CoordinatorChange, *, version: int, actor: str, now: datetime
) -> Coordinator:
    """The coordinator is as changed, in its next version: by itself, or by who directs its intent.

    One whose time is over does not bring itself back, and one that others stopped goes on when they say so.
    """
    scope.check(authority.WRITE)
    row = find_coordinator(scope, coordinator_id, lock=True)
    _require_change(scope, row, actor, now)
    if row.version != version:
        raise VersionMismatch("The coordinator has changed since that version.", current_version=row.version)
    kind = "coordinator.guardrails_updated"
    if change.status not in {None, row.status}:
        kind = _move(row, authority.one_of("status", change.status, STATUSES))
    if change.status is not None:
        row.held = row.status != "active" and (row.agent_id != actor or authority.is_operator(scope))
    if change.guardrails is not None:
        row.guardrails = authority.guardrails(scope, change.guardrails)
    row.version, row.updated_at = row.version + 1, now
    row.save(by=WRITER, update_fields=["status", "held", "guardrails", "version", "updated_at"])
    note = {"coordinator_id": ids.wire("coord", row.id), "agent_id": row.agent_id, "status": row.status}
    log(row.tenant_id, row.intent_id, kind, actor, note, now=now)
    return row


def require_coordinator_change(scope: TenantScope, coordinator_id: str, *, actor: str, now: datetime) -> None:
    """Refuses callers who may not change the coordinator."""
    scope.check(authority.WRITE)
    _require_change(scope, find_coordinator(scope, coordinator_id), actor, now)


def _require_change(scope: TenantScope, row: Coordinator, actor: str, now: datetime) -> None:
    if row.agent_id != actor or row.held or _is_over(row, now):
        authority.require_direction(scope, Intent.objects.of(row.tenant_id).get(id=row.intent_id), actor, now=now)


@transaction.atomic
def heartbeat(scope: TenantScope, coordinator_id: str, *, actor: str, now: datetime) -> datetime:
    """Record that the coordinator is alive; returns when the next heartbeat is due. Not an event, since it would flood
    the log."""
    scope.check(authority.WRITE)
    row = find_coordinator(scope, coordinator_id, lock=True)
    authority.require_own_name(scope, row.agent_id, actor, field="The coordinator")
    row.record = {**row.record, "last_heartbeat": now.isoformat(timespec="microseconds")}
    row.save(by=WRITER, update_fields=["record"])
    return now + timedelta(seconds=int(row.record.get("heartbeat_interval_seconds") or HEARTBEAT_SECONDS))


def lapse(*, now: datetime) -> int:
    """Mark coordinators of all tenants without a heartbeat as unresponsive, with an event; returns how many, up to a
    limit.

    From the end of their time on they neither bound, directed nor read anything.
    """
    rows = Coordinator.objects.filter(expired(now), status="active").order_by("expires_at")
    return sum(_lapse(tenant, row, now) for tenant, row in rows.values_list("tenant_id", "id")[:LAPSED_AT_ONCE])


@transaction.atomic
def _lapse(tenant_id: UUID, coordinator_id: UUID, now: datetime) -> bool:
    rows = Coordinator.objects.of(tenant_id).select_for_update()
    row: Coordinator | None = rows.filter(expired(now), id=coordinator_id, status="active").first()
    if row is None:
        return False
    kind = _move(row, "unresponsive")
    row.version, row.updated_at = row.version + 1, now
    row.save(by=WRITER, update_fields=["status", "version", "updated_at"])
    note = {"coordinator_id": ids.wire("coord", row.id), "agent_id": row.agent_id, "status": row.status}
    log(tenant_id, row.intent_id, kind, row.agent_id, note, now=now)
    return True


def _is_over(row: Coordinator, now: datetime) -> bool:
    return row.status in OVER or has_expired(row.expires_at, now)


OVER = frozenset({"unresponsive", "failed_over", "completed"})
TOLD = {
    "active": "coordinator.resumed",
    "paused": "coordinator.paused",
    "unresponsive": "coordinator.unresponsive",
    "failed_over": "coordinator.failed_over",
    "completing": "coordinator.handoff",
    "completed": "coordinator.handoff",
    "registering": "coordinator.heartbeat",
}


def _move(row: Coordinator, status: str) -> str:
    """The coordinator has the status; how the log calls that."""
    row.status = status
    return TOLD[status]


AGENT_STATUSES = ("registering", "active", "draining", "unhealthy", "dead", "deregistered")
RECOVERS = frozenset({"registering", "unhealthy"})
AGENT_HEARTBEAT_SECONDS = 30


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


@dataclass(frozen=True, slots=True)
class RegisteredAgent:
    """A registered agent as a page shows it: with when it last said that it is alive, and its tasks under way."""

    row: Agent
    last_heartbeat: datetime | None
    tasks: int


def newest_agents(scope: TenantScope, *, limit: int) -> tuple[list[RegisteredAgent], bool]:
    """Return the registered agents that were first seen last, and whether there are more than ``limit``."""
    scope.check(authority.READ)
    rows = list(Agent.objects.of(scope.tenant_id).exclude(registered_at=None).order_by("-id")[: limit + 1])
    under_way = Task.objects.of(scope.tenant_id).filter(
        assigned_agent__in=[row.agent_id for row in rows], ended_at=None
    )
    tasks = dict(under_way.order_by().values_list("assigned_agent").annotate(count=Count("id"))) if rows else {}
    found = [RegisteredAgent(row, _last_heartbeat(row), tasks.get(row.agent_id, 0)) for row in rows]
    return found[:limit], len(rows) > limit


def _last_heartbeat(row: Agent) -> datetime | None:
    said = row.record.get("last_heartbeat_at")
    return datetime.fromisoformat(said) if said else None


@transaction.atomic
def register_agent(scope: TenantScope, new: NewAgent, *, actor: str, now: datetime) -> Agent:
    """The agent is registered, and active, with the record it gives; registering again replaces the record."""
    scope.check(authority.WRITE)
    scope.check_agent(new.agent_id)
    name = authority.agent_name(scope.tenant_id, "agent_id", new.agent_id)
    row = locked_agent(scope.tenant_id, name, by=scope.principal.id, now=now)
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
    row = locked_agent(tenant_id, authority.agent_name(tenant_id, "agent_id", new.agent_id), by="host", now=now)
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
    every = (row.record.get("heartbeat_config") or {}).get("interval_seconds") or AGENT_HEARTBEAT_SECONDS
    return now + timedelta(seconds=int(every))


@transaction.atomic
def update_agent_status(scope: TenantScope, agent_id: str, status: str, *, actor: str, now: datetime) -> Agent:
    """Set the agent's status, by itself or by a caller who may act as any agent. A coordinator that finds an agent dead
    reassigns its tasks with that reason."""
    scope.check(authority.WRITE)
    row = _locked(scope, agent_id, now)
    _require_say(scope, row, actor)
    before, row.status = row.status, authority.one_of("status", status, AGENT_STATUSES)
    row.record = {**row.record, "version": int(row.record.get("version", 1)) + 1}
    row.updated_at = now
    row.save(by=WRITER, update_fields=["status", "record", "updated_at"])
    kind = "agent.dead" if status == "dead" else "agent.status_changed"
    _append_fact(row, kind, actor, {"agent_id": row.agent_id, "from": before, "to": status}, now=now)
    return row


def _locked(scope: TenantScope, agent_id: str, now: datetime) -> Agent:
    return locked_agent(scope.tenant_id, find_agent(scope, agent_id).agent_id, by=scope.principal.id, now=now)


def _require_say(scope: TenantScope, row: Agent, actor: str) -> None:
    if row.agent_id != actor and not authority.may_act_as_any(scope):
        raise Forbidden("This agent has no say in how that one is.", rule=authority.RULE)


def _bound(row: Agent, new: NewAgent) -> None:
    row.capacity = row.capacity if new.capacity is None else new.capacity
    if new.pinned_namespaces is not None:
        redact = redaction.for_tenant(row.tenant_id).redact
        row.pinned_namespaces = [redact(name).text for name in new.pinned_namespaces]


def _append_fact(row: Agent, kind: str, actor: str, note: Json, *, now: datetime) -> None:
    event_notes.append(row.tenant_id, row.run_id, [(IntentLogged(kind, actor), note)], now=now)
