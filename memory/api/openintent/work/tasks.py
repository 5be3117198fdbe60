"""Tasks over HTTP: made, read, handed over and ended (RFC-0012, RFC-0015 6.5)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.work import calls, documents
from memory.api.openintent.work import serializers as wire
from memory.host.operations import listed
from memory.host.serializing import checked
from memory.tiers import READ, WRITE


@described("createTask", scope=WRITE, takes=wire.TaskCreate, gives={201: schemas.TASK})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def task_list(request: Request) -> Response:
    """An ``assigned_agent`` holds from the start, where the public server passes over it."""
    caller = caller_of(request)
    draft = checked(wire.TaskCreate, request.data).draft()
    row = work.create_task(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return calls.versioned(documents.task_document(row), status=201)


@described("getTask", method="GET", scope=READ, gives={200: schemas.TASK})
@described(
    "changeTask", method="PATCH", scope=WRITE, headers=("If-Match",), takes=wire.TaskUpdate, gives={200: schemas.TASK}
)
@api_view(["GET", "PATCH"])
@parser_classes([ExactJSONParser])
def task(request: Request, task_id: str) -> Response:
    """One task: read, changed, claimed, handed over or ended."""
    caller = caller_of(request)
    if request.method == "GET":
        return calls.versioned(documents.task_document(work.find_task(caller.scope, task_id)))
    now = timezone.now()
    with permitted_first(lambda: work.require_task_change(caller.scope, task_id, actor=caller.agent_id, now=now)):
        version = calls.version_in(request)
        change = checked(wire.TaskUpdate, request.data).change()
    row = work.update_task(caller.scope, task_id, change, version=version, actor=caller.agent_id, now=now)
    return calls.versioned(documents.task_document(row))


@described("listIntentTasks", scope=READ, query=wire.TaskPage, gives={200: listed(schemas.TASK)})
@api_view(["GET"])
def intent_tasks(request: Request, intent_id: str) -> Response:
    """The tasks of an intent."""
    about = work.find_intent(caller_of(request).scope, intent_id)
    rows, total = work.list_tasks(about, **calls.page_of(request, wire.TaskPage))
    return calls.listed([documents.task_document(row) for row in rows], total)
