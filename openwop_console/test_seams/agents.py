"""``POST /v1/host/sample/agents/{agentId}/dispatch``: a real run that acts as the agent, and the events of its log.

Dispatch is a run (RFC 0070): the seam orders one through the usual intake, and waits for its end.
"""

import time

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import agents
from memory.api import serializers
from memory.api import serializers as wire
from memory.host import ids, registrations, runs, slots
from memory.host.errors import Busy
from memory.host.http import checked, operation
from memory.host.json_types import JSONObject
from memory.host.models import Run, RunStatus
from memory.host.tenancy import TenantScope, scope_of
from openwop_console.runtime import runs as run_service
from openwop_console.runtime.runs import RunRequest
from openwop_console.test_seams.principals import seam

WORKFLOW = "console-agent-dispatch"
PATIENCE_S = 10
LOOK_EVERY = 0.05


@operation(
    "seamDispatchAgent",
    scope="runs:create",
    takes=wire.DispatchAgent,
    gives={200: serializers.DISPATCHED},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def dispatch(request: Request, agent_id: str) -> Response:
    given, scope = checked(wire.DispatchAgent, request.data).validated_data, scope_of(request)
    agents.entry(scope, agent_id, registrations.advertised_capabilities())
    order = RunRequest(WORKFLOW, inputs={"task": given.get("task")}, agent_id=agent_id)
    run = _wait_until_ended(scope, run_service.create_run(scope, order, now=timezone.now()))
    events, _ = run_service.read_events(scope, run, after=-1)
    return Response(_document(run, [(event.type, event.payload) for event in events]))


def _wait_until_ended(scope: TenantScope, run: Run) -> Run:
    """Return the run once it has ended or waits for input; raises ``Busy`` after ``PATIENCE_S``."""
    deadline = time.monotonic() + PATIENCE_S
    while run.status not in runs.ENDS | runs.WAITING:
        if time.monotonic() >= deadline:
            raise Busy("No worker had time for the agent.", retryAfterMs=1000)
        with slots.aside():
            time.sleep(LOOK_EVERY)
        run = runs.find(scope.tenant_id, run.id)
    return run


def _document(run: Run, events: list[tuple[str, JSONObject]]) -> JSONObject:
    told = [{"type": kind, "agentId": payload["agentId"]} for kind, payload in events if kind.startswith("agent.")]
    words = {RunStatus.COMPLETED: "completed", **dict.fromkeys(runs.WAITING, "escalated")}
    return {"status": words.get(run.status, "failed"), "runId": ids.wire("run", run.id), "events": told}
