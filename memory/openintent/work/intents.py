"""Intents: made, found, joined, and changed under their version (RFC-0001, RFC-0002). Each has a log."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import event_notes, ledger
from memory.host import event_log, ids
from memory.host.errors import NotFound, VersionMismatch
from memory.host.event_log import Recorded
from memory.host.events import IntentLogged
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Intent
from memory.openintent.work import authority
from memory.openintent.work.rows import KINDS, TOLD_BY_HOST, WRITER, Json, NewIntent, agent, intent, open_log

STATUSES = ("draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned")
OPS = ("set", "append", "remove")
MAX_AGENTS = 1_000
MAX_PATCHES = 1_000


def find_intent(scope: TenantScope, text: str, *, lock: bool = False) -> Intent:
    """The intent of that id; unknown, foreign and malformed ids are refused alike."""
    scope.check(authority.READ)
    found = intent(scope.tenant_id, text)
    if found is None:
        raise NotFound("There is no intent by that id.")
    if not lock:
        return found
    row: Intent = Intent.objects.of(scope.tenant_id).select_for_update().get(id=found.id)
    return row


def log(tenant_id: UUID, intent_id: UUID, kind: str, actor: str, note: Json, *, now: datetime) -> int:
    """Append ``kind`` to the intent's log, without content; the text is kept in a note."""
    return event_notes.append(tenant_id, intent_id, [(IntentLogged(kind, actor), note)], now=now)


def log_to_agent(
    scope: TenantScope, intent_id: UUID, agent_id: str, kind: str, note: Json, *, actor: str, now: datetime
) -> None:
    """Append ``kind`` to the agent's own stream, where an agent waits for its work; the intent's log is locked with it
    for the events that follow."""
    stream_id = agent(scope.tenant_id, agent_id, by=scope.principal.id, now=now).run_id
    ledger.head.lock_entries(scope.tenant_id, runs={intent_id, stream_id})
    log(scope.tenant_id, stream_id, kind, actor, {"intent_id": ids.wire("intent", intent_id), **note}, now=now)


@transaction.atomic
def create_intent(scope: TenantScope, new: NewIntent, *, actor: str, now: datetime) -> Intent:
    """Create an intent of ``actor``, with an open log whose first event is its creation."""
    scope.check(authority.WRITE)
    authority.agent_name(scope.tenant_id, "created_by", actor)
    title = authority.name(scope, "title", new.title)
    parent = find_intent(scope, new.parent_intent_id) if new.parent_intent_id else None
    depends_on = [ids.wire("intent", find_intent(scope, each).id) for each in new.depends_on]
    row = Intent(
        tenant_id=scope.tenant_id,
        id=open_log(scope.tenant_id, actor, by=scope.principal.id, now=now).id,
        title=title,
        description=authority.name(scope, "description", new.description, most=authority.MAX_TEXT, empty=True),
        constraints=authority.document(scope, "constraints", new.constraints),
        state=authority.document(scope, "state", new.state),
        policy=authority.document(scope, "policy", new.policy),
        record={"depends_on": depends_on} if depends_on else {},
        parent_intent_id=parent.id if parent else None,
        created_by=actor,
        created_at=now,
        updated_at=now,
    ).insert(by=WRITER)
    log(scope.tenant_id, row.id, "intent_created", actor, {"title": title}, now=now)
    return row


def list_intents(scope: TenantScope, *, status: str = "", limit: int, offset: int) -> tuple[list[Intent], int]:
    """Intents of the tenant, the newest first, and how many there are."""
    scope.check(authority.READ)
    rows = Intent.objects.of(scope.tenant_id).order_by("-id")
    found = rows.filter(status=status) if status else rows
    return list(found[offset : offset + limit]), found.count()


@transaction.atomic
def set_status(
    scope: TenantScope, intent_id: str, status: str, *, reason: str = "", version: int, actor: str, now: datetime
) -> Intent:
    """The intent has the status, in its next version, as one who directs it says. Its tasks stay what they are."""
    row = _opened(scope, intent_id, version, actor, now)
    authority.require_direction(scope, row, actor, now=now)
    before, row.status = row.status, authority.one_of("status", status, STATUSES)
    _save(row, "status", now=now)
    why = authority.document(scope, "reason", {"reason": reason} if reason else {})
    log(row.tenant_id, row.id, "status_changed", actor, {"from": before, "to": row.status, **why}, now=now)
    return row


@transaction.atomic
def update_state(
    scope: TenantScope, intent_id: str, patches: list[Json], *, version: int, actor: str, now: datetime
) -> Intent:
    """The patches are carried out in order, in the intent's next version, all or none."""
    row = _opened(scope, intent_id, version, actor, now)
    if len(patches) > MAX_PATCHES:
        raise authority.refuse("patches", f"must be at most {MAX_PATCHES}")
    state = dict(row.state)
    for patch in patches:
        _patch(state, patch)
    row.state = authority.document(scope, "state", state)
    _save(row, "state", now=now)
    note = authority.document(scope, "patches", {"patches": patches}, most=2 * authority.MAX_OBJECT)
    log(row.tenant_id, row.id, "state_patched", actor, note, now=now)
    return row


@transaction.atomic
def assign_agent(scope: TenantScope, intent_id: str, agent_id: str, *, actor: str, now: datetime) -> Intent:
    """The agent takes part in the intent. Any may join for itself: no right to memory rests on it."""
    scope.check(authority.WRITE)
    row = find_intent(scope, intent_id, lock=True)
    authority.agent_name(scope.tenant_id, "agent_id", agent_id)
    if agent_id != actor:
        authority.require_direction(scope, row, actor, now=now)
    if agent_id not in row.agents:
        if len(row.agents) >= MAX_AGENTS:
            raise authority.refuse(
                "agent_id", f"would be more than the {MAX_AGENTS} agents that an intent has room for"
            )
        row.agents = [*row.agents, agent_id]
        row.save(by=WRITER, update_fields=["agents"])
        _log_part(scope, row, "agent_assigned", agent_id, actor=actor, now=now)
    return row


@transaction.atomic
def unassign_agent(scope: TenantScope, intent_id: str, agent_id: str, *, actor: str, now: datetime) -> Intent:
    """The agent takes no part any more; refused when it took none."""
    scope.check(authority.WRITE)
    row = find_intent(scope, intent_id, lock=True)
    if agent_id != actor:
        authority.require_direction(scope, row, actor, now=now)
    if agent_id not in row.agents:
        raise NotFound("That agent takes no part in the intent.")
    row.agents = [each for each in row.agents if each != agent_id]
    row.save(by=WRITER, update_fields=["agents"])
    _log_part(scope, row, "agent_unassigned", agent_id, actor=actor, now=now)
    return row


def _log_part(scope: TenantScope, row: Intent, kind: str, agent_id: str, *, actor: str, now: datetime) -> None:
    """Log the agent's part in the intent on the intent's log and on the agent's own stream."""
    note = {"agent_id": agent_id}
    log_to_agent(scope, row.id, agent_id, kind, note, actor=actor, now=now)
    log(row.tenant_id, row.id, kind, actor, note, now=now)


@transaction.atomic
def log_event(
    scope: TenantScope, intent_id: str, kind: str, payload: Json, *, actor: str, now: datetime
) -> tuple[Recorded, Json]:
    """Append an agent's event to the intent's log: any type of the vocabulary except the host's own types for memory.

    Types that the host also appends about work are limited to agents that direct the intent. The payload is kept in a
    note, redacted. Returns both.
    """
    scope.check(authority.WRITE)
    row = find_intent(scope, intent_id)
    authority.require_voice(scope, row, actor, now=now)
    if kind not in KINDS:
        raise authority.refuse("event_type", "is not a type of event that an agent logs")
    if kind in TOLD_BY_HOST:
        authority.require_direction(scope, row, actor, now=now)
    authority.agent_name(scope.tenant_id, "actor", actor)
    note: Json = authority.document(scope, "payload", payload)
    last = log(row.tenant_id, row.id, kind, actor, note, now=now)
    return event_log.read(row.tenant_id, row.id, after=last - 1, limit=1)[0], note


def _opened(scope: TenantScope, intent_id: str, version: int, actor: str, now: datetime) -> Intent:
    """The intent, locked, for a caller who takes part in it and gives its version."""
    row = find_intent(scope, intent_id, lock=True)
    authority.require_part(scope, row, actor, now=now)
    if row.version != version:
        raise VersionMismatch("The intent has changed since that version.", current_version=row.version)
    return row


def _save(row: Intent, *changed: str, now: datetime) -> None:
    row.version, row.updated_at = row.version + 1, now
    row.save(by=WRITER, update_fields=[*changed, "version", "updated_at"])


def _patch(state: JSONObject, patch: Json) -> None:
    """One of ``{"op", "path", "value"}``: the path is a name of the state, with or without the slash of JSON Patch."""
    path = patch.get("path")
    op = authority.one_of("patches.op", str(patch.get("op", "set")), OPS)
    if not isinstance(path, str) or path in ("", "/"):
        raise authority.refuse("patches.path", "must be a name of the state")
    path = path.removeprefix("/")
    if op == "remove":
        state.pop(path, None)
    elif op == "append":
        before = state.get(path, [])
        if not isinstance(before, list):
            raise authority.refuse("patches.path", "is not a list, so nothing can be appended to it")
        state[path] = [*before, patch.get("value")]
    else:
        state[path] = patch.get("value")
