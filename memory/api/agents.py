"""The agent inventory over HTTP, and the manifests of agents (RFC 0072)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import agents
from memory.api import serializers
from memory.host import registrations
from memory.host.errors import Invalid
from memory.host.http import operation
from memory.host.tenancy import scope_of


@operation("listAgents", scope="manifest:read", gives={200: serializers.AGENTS}, tag="agents")
@api_view(["GET"])
def agent_list(request: Request) -> Response:
    found = agents.entries(scope_of(request), registrations.advertised_capabilities())
    return Response({"agents": [serializers.AGENT.document(entry) for entry in found], "total": len(found)})


@operation("getAgent", scope="manifest:read", gives={200: serializers.AGENT}, tag="agents")
@api_view(["GET"])
def agent(request: Request, agent_id: str) -> Response:
    return Response(
        serializers.AGENT.document(agents.entry(scope_of(request), agent_id, registrations.advertised_capabilities()))
    )


@operation("removeAgent", scope="agents:manage", gives={204: None}, method="DELETE", tag="agents")
@operation(
    "installAgent",
    scope="agents:manage",
    takes=serializers.MANIFEST,
    gives={200: serializers.AGENT},
    method="PUT",
    tag="agents",
)
@api_view(["PUT", "DELETE"])
def manifest(request: Request, agent_id: str) -> Response:
    """A manifest goes in, is replaced by a later version or removed; its prompt never comes out."""
    scope, now = scope_of(request), timezone.now()
    if request.method == "DELETE":
        agents.remove(scope, agent_id, now=now)
        return Response(status=204)
    document = registrations.advertised_capabilities()
    installed = agents.install(scope, _require_agent(request.data, agent_id), document, now=now)
    return Response(serializers.AGENT.document(agents.entry_of(installed, document)))


def _require_agent(given: object, agent_id: str) -> dict[str, object]:
    """The manifest of the address; refused when it is no object, or another agent's."""
    if not isinstance(given, dict):
        raise Invalid(errors=[{"field": "body", "message": "must be an object"}])
    if given.get("agentId") != agent_id:
        raise Invalid(errors=[{"field": "agentId", "message": "must be the agent of the address"}])
    return given
