"""The MCP servers of a tenant and their only writer, and ``core.mcp.tool``, the node type that calls their tools.

A call is one session over Streamable HTTP: initialize, tools/call, end. The client supports neither sampling nor
elicitation, so a server that requests them gets no answer.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.db import transaction

from memory.host import access, audit, outbound, vault
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.json_schemas import config_problems
from memory.host.json_types import JSONObject
from memory.host.node_types import Call, Done, NodeContext, NodeFailure, Outcome, Sending, node_type
from memory.host.outbound import OutboundFailed
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope
from openwop_console.runtime import calls
from openwop_console.runtime.expressions import fill_json
from openwop_console.runtime.models import McpServer

WRITER = "openwop_console.runtime.mcp_servers"
SCOPE = "agents:manage"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
URL = re.compile(r"https?://[^/?#@\s\\]+([/?][^#\s]*)?")
MAX_URL = 2000
MAX_SERVERS = 50
KIND = "mcp.tool"
SECONDS = 40.0
MAX_BYTES = 1_048_576
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
CLIENT = {"name": "openwop-console", "version": "1"}
NONE: Mapping[str, str] = {}
CONFIG = {
    "type": "object",
    "additionalProperties": False,
    "required": ["server", "tool", "arguments"],
    "properties": {
        "server": {"type": "string", "pattern": f"^{NAME.pattern}$"},
        "tool": {"type": "string", "minLength": 1, "maxLength": 128},
        "arguments": {"type": "object"},
    },
}


@transaction.atomic
def put_server(scope: TenantScope, name: str, url: str, *, secret: str = "", now: datetime) -> tuple[McpServer, bool]:
    """Create or replace the server ``name``; return it and whether it is new. Audited.

    Naming a secret requires ``secrets:manage``, because its value is sent to the server. Locks the tenant's row.
    """
    scope.check(SCOPE)
    if secret:
        scope.check("secrets:manage")
    _check(scope, name, url, secret)
    access.lock_tenant(scope.tenant_id)
    rows = McpServer.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id)
    changes = {"url": url, "secret": secret, "changed_by": scope.principal.id, "changed_at": now}
    is_new = not rows.filter(name=name).update(**changes)
    if is_new:
        if rows.count() >= MAX_SERVERS:
            raise Conflict(f"A tenant has at most {MAX_SERVERS} MCP servers; remove one first.", limit=MAX_SERVERS)
        McpServer(tenant_id=scope.tenant_id, name=name, **changes).insert(by=WRITER)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="mcp_server.set", target=name, now=now)
    return McpServer.objects.of(scope.tenant_id).get(name=name), is_new


def _check(scope: TenantScope, name: str, url: str, secret: str) -> None:
    errors = []
    if not NAME.fullmatch(name):
        errors.append({"field": "name", "message": "must be small letters, digits, '-' and '_', at most 63"})
    if len(url) > MAX_URL or not URL.fullmatch(url) or not outbound.is_sendable(url):
        errors.append({"field": "url", "message": "must be an address of the web, without credentials in it"})
    elif url.startswith("http:") and not outbound.is_listed(urlsplit(url).hostname or ""):
        errors.append({"field": "url", "message": "must be https, unless OPENWOP_OUTBOUND_ALLOW lists the host"})
    if secret and not vault.has_secret(scope.tenant_id, secret):
        errors.append({"field": "secret", "message": "is not a secret of the tenant"})
    if errors:
        raise Invalid("The MCP server is not valid.", errors=errors)
    vault.require_plain(scope.tenant_id, "The MCP server is not valid.", {"name": [name], "url": [url]})


@transaction.atomic
def remove_server(scope: TenantScope, name: str, *, now: datetime) -> None:
    """Delete the server; raises NotFound. Audited."""
    scope.check(SCOPE)
    removed, _ = McpServer.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, name=name).delete()
    if not removed:
        raise NotFound("There is no MCP server by that name.")
    audit.append(scope.tenant_id, actor=scope.principal.id, action="mcp_server.removed", target=name, now=now)


def list_servers(scope: TenantScope, *, after: str, limit: int) -> Page[McpServer]:
    """A page of servers by name, after ``after``."""
    scope.check(SCOPE)
    return read_page(McpServer.objects.of(scope.tenant_id), after, limit, order="name")


def _tools_of(config: Mapping[str, object]) -> tuple[str]:
    return (f"mcp:{config['server']}.{config['tool']}",)


@node_type("core.mcp.tool", tools=_tools_of, check=partial(config_problems, CONFIG), makes_calls=True)
def mcp_tool(ctx: NodeContext) -> Outcome:
    """Call the tool with ``arguments``; ``{{name}}`` in any of their strings is an input of the node.

    The outputs are ``text``, the server's ``content``, and its ``structuredContent`` if it returned one.
    """
    if ctx.calls:
        return Done(outputs=ctx.calls[0])
    server = McpServer.objects.of(ctx.run.tenant_id).filter(name=ctx.config["server"]).first()
    if server is None:
        raise NodeFailure("server_missing", "The tenant has no MCP server by that name.", final=True)
    key = vault.resolve(ctx.run, server.secret, of_tenant=True, now=ctx.now).strip() if server.secret else ""
    if not key.isascii() or not key.isprintable():
        raise calls.failure("refused")
    asked = {"name": ctx.config["tool"], "arguments": fill_json(ctx.config["arguments"], ctx.inputs)}
    if len(json.dumps(asked)) > MAX_BYTES:
        raise calls.failure("too_large")
    url = server.url

    async def send(sending: Sending) -> JSONObject:
        session = _Session(url, key, sending)
        try:
            await session.open()
            # Sent with this request alone, because the key identifies one answer.
            once = {"Idempotency-Key": sending.idempotency_key}
            return _outputs(await session.send_request("tools/call", asked, once))
        except OutboundFailed as failed:
            raise calls.failure_of(failed) from None
        finally:
            await session.close()

    return Call(KIND, {"server": ctx.config["server"], **asked}, send, SECONDS)


def _outputs(result: JSONObject) -> JSONObject:
    """Convert the tool's result to outputs of the node; raise NodeFailure for an error or a malformed result."""
    content = result.get("content", [])
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise calls.failure("malformed")
    if result.get("isError"):
        raise NodeFailure("tool_error", "The tool answered with an error.")
    text = "\n".join(str(each.get("text", "")) for each in content if each.get("type") == "text")
    outputs: JSONObject = {"text": text, "content": content}
    if "structuredContent" in result:
        outputs["structuredContent"] = result["structuredContent"]
    return outputs


@dataclass(slots=True)
class _Session:
    """A session with a server for a single call."""

    url: str
    key: str
    sending: Sending
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    async def open(self) -> None:
        hello = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": CLIENT}
        agreed = (await self.send_request("initialize", hello)).get("protocolVersion")
        if agreed not in VERSIONS:
            raise OutboundFailed("malformed")
        self.headers["MCP-Protocol-Version"] = agreed
        async with self._posted({"jsonrpc": "2.0", "method": "notifications/initialized"}):
            pass

    async def send_request(self, method: str, params: JSONObject, headers: Mapping[str, str] = NONE) -> JSONObject:
        """Send a request and return its result; an error response raises NodeFailure."""
        self.asked += 1
        request = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}
        async with self._posted(request, headers) as answer:
            if session := answer.headers.get("mcp-session-id"):
                if not session.isascii():
                    raise OutboundFailed("malformed")
                self.headers["Mcp-Session-Id"] = session
            said = await self._answer(answer)
        if "error" in said:
            raise NodeFailure("tool_error", "The MCP server refused the request.", final=True)
        result = said.get("result")
        if not isinstance(result, dict):
            raise OutboundFailed("malformed")
        return result

    async def close(self) -> None:
        """End the session with DELETE; failures are ignored, because servers need not support it."""
        if "Mcp-Session-Id" not in self.headers:
            return
        try:
            request = outbound.request_to("DELETE", self.url, headers=self._headers())
            async with outbound.exchange(request, seconds=2.0):
                pass
        except OutboundFailed:
            pass

    def _posted(self, message: JSONObject, headers: Mapping[str, str] = NONE) -> Any:
        request = outbound.request_to("POST", self.url, headers=self._headers() | {**headers}, json=message)
        return outbound.exchange(request, seconds=self.sending.seconds)

    def _headers(self) -> dict[str, str]:
        credential = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {"Accept": "application/json, text/event-stream", **credential, **self.sending.trace, **self.headers}

    async def _answer(self, answer: httpx.Response) -> JSONObject:
        """The server's answer to the last request, from a JSON document or an event stream."""
        if not answer.is_success:
            raise OutboundFailed("status", status=answer.status_code)
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            return self._message(await outbound.read(answer, most=MAX_BYTES)) or {}
        data: list[str] = []
        async for line in outbound.lines(answer, most=MAX_BYTES):
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                if found := self._message("\n".join(data).encode()):
                    return found
                data = []
        raise OutboundFailed("malformed")

    def _message(self, raw: bytes) -> JSONObject | None:
        """Parse a message; None unless it answers the last request."""
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            raise OutboundFailed("malformed") from None
        if not isinstance(message, dict):
            raise OutboundFailed("malformed")
        return message if message.get("id") == self.asked and "method" not in message else None
