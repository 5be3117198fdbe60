"""Intents, tasks, coordinators, agents and their events over HTTP: the work surface of RFC-0015."""

from typing import Any

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.errors import Invalid, PreconditionRequired
from memory.host.event_log import Recorded
from memory.host.http import checked, listed, query_of
from memory.host.json_types import JSONObject
from memory.openintent import events, queries, work
from memory.openintent.access import READ, WRITE, Caller
from memory.openintent.api import schemas, serializers
from memory.openintent.api.entries import version_of
from memory.openintent.api.http import ExactJSONParser, Problems, caller_of, described, page_of, permitted_first
from memory.openintent.api.serializers import EventCreate
from memory.openintent.entries import openintent_time
from memory.openintent.events import EventQuery, Log
from memory.openintent.work import authority
from memory.openintent.work.rows import CoordinatorChange, NewIntent

Document = JSONObject


def acting(request: Request, named: str | None, *, field: str) -> Caller:
    """Who calls; ``named`` in a body is that agent, or any of the tenant for an operator (R2)."""
    caller = caller_of(request, otherwise=named or "")
    if not named:
        return caller
    authority.require_own_name(caller.scope, named, caller.agent_id, field=field)
    return Caller(caller.scope, named)


def version_in(request: Request) -> int:
    """The version to be changed; refused when it is missing (R44)."""
    found = version_of(request)
    if found is None:
        raise PreconditionRequired
    return found


def work_page(request: Request, asked: type[serializers.Page]) -> JSONObject:
    """Which page of a list is wanted, and of what."""
    filled = asked(data=query_of(request))
    filled.is_valid(raise_exception=True)
    found: JSONObject = filled.validated_data
    return found


def bare_list(documents: list[JSONObject], total: int) -> Response:
    """The bare array that the client wants; how many there are in all stands beside it."""
    return Response(documents, headers={"X-Total-Count": str(total)})


def versioned(document: JSONObject) -> Response:
    """The document, with its version as ``ETag`` (R49)."""
    return Response(document, headers={"ETag": f'"{document["version"]}"'})


def created(document: JSONObject, *, among: str) -> Response:
    """The same of what was made, with its address among its kind as ``Location``."""
    response = versioned(document)
    response.status_code, response["Location"] = 201, f"/api/v1/{among}/{document['id']}"
    return response


def require_direction(caller: Caller, intent_id: str) -> None:
    """Refuses who does not direct the intent."""
    about = work.intents.find_intent(caller.scope, intent_id)
    authority.require_direction(caller.scope, about, caller.agent_id, now=timezone.now())


def require_part(caller: Caller, intent_id: str) -> None:
    """Refuses who neither directs the intent nor works on it."""
    about = work.intents.find_intent(caller.scope, intent_id)
    authority.require_part(caller.scope, about, caller.agent_id, now=timezone.now())


def require_voice(caller: Caller, intent_id: str) -> None:
    """Refuses who has neither a part in the intent nor joined it."""
    about = work.intents.find_intent(caller.scope, intent_id)
    authority.require_voice(caller.scope, about, caller.agent_id, now=timezone.now())


def event_document(intent_id: str, recorded: Recorded, note: Document) -> Document:
    """An event that was just logged, as the log will tell it (R68)."""
    kind, actor, at = recorded.payload["kind"], recorded.payload["actor"], openintent_time(recorded.timestamp)
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


@described("listIntents", method="GET", scope=READ, query=serializers.IntentPage, gives={200: schemas.INTENTS})
@described("createIntent", method="POST", scope=WRITE, takes=serializers.IntentCreate, gives={201: schemas.INTENT})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_list(request: Request) -> Response:
    """The intents of the tenant, and a new one."""
    if request.method == "POST":
        return _create(request)
    asked = work_page(request, serializers.IntentPage)
    rows, total = work.intents.list_intents(caller_of(request).scope, **asked)
    shown = schemas.INTENT.documents(rows)
    return Response({"intents": shown, "total": total, "limit": asked["limit"], "offset": asked["offset"]})


def _create(request: Request) -> Response:
    sent = checked(serializers.IntentCreate, request.data).validated_data
    caller = acting(request, sent.get("created_by"), field="created_by")
    draft = NewIntent(
        title=sent["title"],
        description=sent.get("description") or "",
        constraints=sent.get("constraints") or {},
        state=sent.get("state") or {},
        parent_intent_id=sent.get("parent_intent_id") or "",
        depends_on=tuple(sent.get("depends_on") or ()),
    )
    row = work.intents.create_intent(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return created(schemas.INTENT.document(row), among="intents")


@described("getIntent", scope=READ, gives={200: schemas.INTENT})
@api_view(["GET"])
def intent(request: Request, intent_id: str) -> Response:
    """One intent."""
    return versioned(schemas.INTENT.document(work.intents.find_intent(caller_of(request).scope, intent_id)))


@described(
    "changeIntentStatus",
    scope=WRITE,
    headers=("If-Match",),
    takes=serializers.StatusChange,
    gives={200: schemas.INTENT},
)
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def intent_status(request: Request, intent_id: str) -> Response:
    """The intent has this status from here on."""
    caller = caller_of(request)
    with permitted_first(lambda: require_direction(caller, intent_id)):
        version = version_in(request)
        sent = checked(serializers.StatusChange, request.data).validated_data
    row = work.intents.set_status(
        caller.scope,
        intent_id,
        sent["status"],
        reason=sent.get("reason") or "",
        version=version,
        actor=caller.agent_id,
        now=timezone.now(),
    )
    return versioned(schemas.INTENT.document(row))


@described(
    "changeIntentState", scope=WRITE, headers=("If-Match",), takes=serializers.StateChange, gives={200: schemas.INTENT}
)
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def intent_state(request: Request, intent_id: str) -> Response:
    """The state of the intent, patched."""
    caller = caller_of(request)
    with permitted_first(lambda: require_part(caller, intent_id)):
        version = version_in(request)
        patches = checked(serializers.StateChange, request.data).patched()
    row = work.intents.update_state(
        caller.scope, intent_id, patches, version=version, actor=caller.agent_id, now=timezone.now()
    )
    return versioned(schemas.INTENT.document(row))


@described("listIntentAgents", method="GET", scope=READ, gives={200: listed(schemas.PARTICIPANT)})
@described("joinIntent", method="POST", scope=WRITE, takes=serializers.AgentAssign, gives={201: schemas.PARTICIPATION})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_agents(request: Request, intent_id: str) -> Response:
    """Who takes part in an intent, and one more."""
    caller, agent_id = caller_of(request), ""
    if request.method == "GET":
        row = work.intents.find_intent(caller.scope, intent_id)
        return Response([{"intent_id": intent_id, "agent_id": each} for each in row.agents])
    agent_id = checked(serializers.AgentAssign, request.data).validated_data.get("agent_id") or caller.agent_id
    work.intents.assign_agent(caller.scope, intent_id, agent_id, actor=caller.agent_id, now=timezone.now())
    return Response({"intent_id": intent_id, "agent_id": agent_id, "status": "assigned"}, status=201)


@described("leaveIntent", scope=WRITE, gives={200: schemas.PARTICIPATION})
@api_view(["DELETE"])
def intent_agent(request: Request, intent_id: str, agent_id: str) -> Response:
    """The agent takes no part any more."""
    caller = caller_of(request)
    work.intents.unassign_agent(caller.scope, intent_id, agent_id, actor=caller.agent_id, now=timezone.now())
    return Response({"intent_id": intent_id, "agent_id": agent_id, "status": "unassigned"})


def log_event(request: Request, intent_id: str) -> Response:
    """What an agent tells stands on the intent's log; the answer is the event, as the log will tell it."""
    named = caller_of(request)
    with permitted_first(lambda: require_voice(named, intent_id)):
        body = checked(serializers.EventCreate, request.data)
    sent = body.validated_data
    caller = acting(request, sent.get("actor"), field="actor")
    recorded, note = work.intents.log_event(
        caller.scope, intent_id, sent["event_type"], body.noted(), actor=caller.agent_id, now=timezone.now()
    )
    return Response(event_document(intent_id, recorded, note), status=201)


@described("createTask", scope=WRITE, takes=serializers.TaskCreate, gives={201: schemas.TASK})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def task_list(request: Request) -> Response:
    """An ``assigned_agent`` holds from the start, where the public server passes over it."""
    caller = caller_of(request)
    draft = checked(serializers.TaskCreate, request.data).draft()
    row = work.tasks.create_task(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return created(schemas.TASK.document(row), among="tasks")


@described("getTask", method="GET", scope=READ, gives={200: schemas.TASK})
@described(
    "changeTask",
    method="PATCH",
    scope=WRITE,
    headers=("If-Match",),
    takes=serializers.TaskUpdate,
    gives={200: schemas.TASK},
)
@api_view(["GET", "PATCH"])
@parser_classes([ExactJSONParser])
def task(request: Request, task_id: str) -> Response:
    """One task: read, changed, claimed, handed over or ended."""
    caller = caller_of(request)
    if request.method == "GET":
        return versioned(schemas.TASK.document(work.tasks.find_task(caller.scope, task_id)))
    now = timezone.now()
    with permitted_first(lambda: work.tasks.require_task_change(caller.scope, task_id, actor=caller.agent_id, now=now)):
        version = version_in(request)
        change = checked(serializers.TaskUpdate, request.data).change()
    row = work.tasks.update_task(caller.scope, task_id, change, version=version, actor=caller.agent_id, now=now)
    return versioned(schemas.TASK.document(row))


@described("listIntentTasks", scope=READ, query=serializers.TaskPage, gives={200: listed(schemas.TASK)})
@api_view(["GET"])
def intent_tasks(request: Request, intent_id: str) -> Response:
    """The tasks of an intent."""
    about = work.intents.find_intent(caller_of(request).scope, intent_id)
    rows, total = work.tasks.list_tasks(about, **work_page(request, serializers.TaskPage))
    return bare_list(schemas.TASK.documents(rows), total)


@described("createCoordinator", scope=WRITE, takes=serializers.CoordinatorCreate, gives={201: schemas.COORDINATOR})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def coordinator_list(request: Request) -> Response:
    """An agent coordinates an intent from here on."""
    caller = caller_of(request)
    draft = checked(serializers.CoordinatorCreate, request.data).draft()
    row = work.coordinators.create_coordinator(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return created(schemas.COORDINATOR.document(row), among="coordinators")


@described("getCoordinator", method="GET", scope=READ, gives={200: schemas.COORDINATOR})
@described(
    "changeCoordinator",
    method="PATCH",
    scope=WRITE,
    headers=("If-Match",),
    takes=serializers.CoordinatorUpdate,
    gives={200: schemas.COORDINATOR},
)
@api_view(["GET", "PATCH"])
@parser_classes([ExactJSONParser])
def coordinator(request: Request, coordinator_id: str) -> Response:
    """The change of a status or of guardrails is this host's own: the published client has no method for it."""
    caller = caller_of(request)
    if request.method == "GET":
        return versioned(schemas.COORDINATOR.document(work.coordinators.find_coordinator(caller.scope, coordinator_id)))
    with permitted_first(lambda: _require_coordinator_change(caller, coordinator_id)):
        version = version_in(request)
        sent = checked(serializers.CoordinatorUpdate, request.data).validated_data
    change = CoordinatorChange(sent.get("status"), sent.get("guardrails"))
    row = work.coordinators.update_coordinator(
        caller.scope, coordinator_id, change, version=version, actor=caller.agent_id, now=timezone.now()
    )
    return versioned(schemas.COORDINATOR.document(row))


@described("beatCoordinator", scope=WRITE, gives={200: schemas.COORDINATES})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def coordinator_heartbeat(request: Request, coordinator_id: str) -> Response:
    """The coordinator is alive."""
    caller = caller_of(request)
    again = work.coordinators.heartbeat(caller.scope, coordinator_id, actor=caller.agent_id, now=timezone.now())
    return Response({"status": "ok", "next_heartbeat_at": openintent_time(again)})


@described("listIntentCoordinators", scope=READ, gives={200: listed(schemas.COORDINATOR)})
@api_view(["GET"])
def intent_coordinators(request: Request, intent_id: str) -> Response:
    """Who coordinates an intent."""
    rows = work.coordinators.coordinators_of_intent(work.intents.find_intent(caller_of(request).scope, intent_id))
    return bare_list(schemas.COORDINATOR.documents(rows), len(rows))


def _require_coordinator_change(caller: Caller, coordinator_id: str) -> None:
    work.coordinators.require_coordinator_change(
        caller.scope, coordinator_id, actor=caller.agent_id, now=timezone.now()
    )


@described("listRegisteredAgents", scope=READ, query=serializers.AgentPage, gives={200: listed(schemas.AGENT)})
@api_view(["GET"])
def agent_list(request: Request) -> Response:
    """The agents that have registered."""
    rows, total = work.coordinators.list_agents(caller_of(request).scope, **work_page(request, serializers.AgentPage))
    return bare_list(schemas.AGENT.documents(rows), total)


@described("registerAgent", scope=WRITE, takes=serializers.AgentRegister, gives={201: schemas.AGENT})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def agent_registration(request: Request) -> Response:
    """An agent says who it is and what it can do."""
    draft = checked(serializers.AgentRegister, request.data).draft()
    caller = caller_of(request, otherwise=draft.agent_id)
    row = work.coordinators.register_agent(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return Response(schemas.AGENT.document(row), status=201)


@described("getAgentRecord", scope=READ, gives={200: schemas.AGENT})
@api_view(["GET"])
def agent_record(request: Request, agent_id: str) -> Response:
    """One agent."""
    return Response(schemas.AGENT.document(work.coordinators.find_agent(caller_of(request).scope, agent_id)))


@described("beatAgent", scope=WRITE, takes=serializers.AgentHeartbeat, gives={200: schemas.ALIVE})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def agent_heartbeat(request: Request, agent_id: str) -> Response:
    """The agent is alive."""
    caller, now = caller_of(request), timezone.now()
    sent = checked(serializers.AgentHeartbeat, request.data).validated_data
    tasks = sent.get("tasks_in_progress") or []
    again = work.coordinators.agent_heartbeat(
        caller.scope, agent_id, load=sent.get("current_load") or 0, tasks=tasks, now=now
    )
    return Response(
        {"status": "ok", "server_timestamp": openintent_time(now), "next_heartbeat_at": openintent_time(again)}
    )


@described("changeAgentStatus", scope=WRITE, takes=serializers.AgentStatusChange, gives={200: schemas.AGENT})
@api_view(["PATCH"])
@parser_classes([ExactJSONParser])
def agent_status(request: Request, agent_id: str) -> Response:
    """The agent is in this state from here on."""
    caller = caller_of(request)
    word = checked(serializers.AgentStatusChange, request.data).validated_data["status"]
    row = work.coordinators.update_agent_status(caller.scope, agent_id, word, actor=caller.agent_id, now=timezone.now())
    return Response(schemas.AGENT.document(row))


LONGEST_TYPE = 64
EVENTS = listed(schemas.EVENT)


@described("listIntentEvents", method="GET", scope=READ, query=schemas.SoughtEvents, gives={200: EVENTS})
@described("logIntentEvent", method="POST", scope=WRITE, takes=EventCreate, gives={201: schemas.EVENT})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_events(request: Request, intent_id: str) -> Response:
    """The log of an intent: what happened, or what an agent tells."""
    if request.method == "POST":
        return log_event(request, intent_id)
    return _page(events.intent_log(caller_of(request), intent_id, now=timezone.now()), request)


@described("listAgentEvents", scope=READ, query=schemas.SoughtEvents, gives={200: EVENTS})
@api_view(["GET"])
def agent_events(request: Request, agent_id: str) -> Response:
    """The log of an agent."""
    return _page(events.agent_log(caller_of(request), agent_id, now=timezone.now()), request)


def _page(log: Log, request: Request) -> Response:
    """The bare array that the published client wants; how many there are stands in ``X-Total-Count``."""
    page = events.page(log, _event_query(request.query_params))
    return Response(page.events, headers={"X-Total-Count": str(page.total)})


def _event_query(query: Any) -> EventQuery:
    """Unknown parameters are ignored, and a page size above the maximum is the maximum (R59, R63)."""
    problems: Problems = []
    limit, offset = page_of(query, problems)
    since = queries.parse_moment(query["since"]) if query.get("since") else None
    if query.get("since") and since is None:
        problems.append({"field": "since", "message": "must be a time in ISO 8601"})
    kind = query.get("event_type", "")
    if len(kind) > LONGEST_TYPE or not kind.isprintable():
        problems.append({"field": "event_type", "message": "is not an event type"})
    if problems:
        raise Invalid("The events cannot be listed like that.", errors=problems)
    return EventQuery(kind, since, limit, offset)
