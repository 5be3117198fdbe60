"""``/v1/host/console/mcp-servers``: where nodes of the tenant find tools."""

from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import vault
from memory.host.http import (
    TEXT,
    TIME,
    Answer,
    Closed,
    Text,
    checked,
    nullable,
    operation,
    page_answer,
    query_of,
)
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from memory.wire import instant
from openwop_console.runtime import mcp_servers
from openwop_console.runtime.models import McpServer

SERVER = Answer[McpServer](
    "McpServer",
    name=(TEXT, lambda row: row.name),
    url=(TEXT, lambda row: row.url),
    secret=(nullable(TEXT), lambda row: row.secret or None),
    changedBy=(TEXT, lambda row: row.changed_by),
    changedAt=(TIME, lambda row: instant(row.changed_at)),
)
SERVERS = page_answer("McpServerPage", "servers", SERVER)
TAG = "mcp-servers"


class PutServer(Closed):
    """``PUT /v1/host/console/mcp-servers/{name}``."""

    url = Text(max_length=mcp_servers.MAX_URL)
    secret = Text(required=False, min_length=1, max_length=vault.MAX_NAME)


class ServersQuery(Closed):
    """A page by name: behind ``after``, which is what ``next`` gave."""

    after = Text(required=False, max_length=63)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200)


@operation("listMcpServers", scope=mcp_servers.SCOPE, query=ServersQuery, gives={200: SERVERS}, tag=TAG)
@api_view(["GET"])
def server_list(request: Request) -> Response:
    given = checked(ServersQuery, query_of(request)).validated_data
    limit = given.get("limit", DEFAULT_LIMIT)
    page = mcp_servers.list_servers(scope_of(request), after=given.get("after", ""), limit=limit)
    return Response(SERVERS.document(page))


@operation(
    "putMcpServer", method="PUT", scope=mcp_servers.SCOPE, takes=PutServer, gives={200: SERVER, 201: SERVER}, tag=TAG
)
@operation("deleteMcpServer", method="DELETE", scope=mcp_servers.SCOPE, gives={204: None}, tag=TAG)
@api_view(["PUT", "DELETE"])
def server(request: Request, name: str) -> Response:
    scope = scope_of(request)
    if request.method == "DELETE":
        mcp_servers.remove_server(scope, name, now=timezone.now())
        return Response(status=204)
    given = checked(PutServer, request.data).validated_data
    row, is_new = mcp_servers.put_server(scope, name, given["url"], secret=given.get("secret", ""), now=timezone.now())
    return Response(SERVER.document(row), status=201 if is_new else 200)


urlpatterns = [
    path("v1/host/console/mcp-servers", server_list, name="api-mcp-servers"),
    path("v1/host/console/mcp-servers/<str:name>", server, name="api-mcp-server"),
]
