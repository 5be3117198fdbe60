"""The MCP servers of a tenant, by name: where nodes find their tools, and with which secret of the vault. Their only
writer."""

import re
from datetime import datetime
from urllib.parse import urlsplit

from django.db import transaction

from memory.host import access, audit, outbound, vault
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope
from openwop_console.runtime.models import McpServer

WRITER = "openwop_console.runtime.mcp_servers"
SCOPE = "agents:manage"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
URL = re.compile(r"https?://[^/?#@\s\\]+([/?][^#\s]*)?")
MAX_URL = 2000
MAX_SERVERS = 50


@transaction.atomic
def put_server(scope: TenantScope, name: str, url: str, *, secret: str = "", now: datetime) -> tuple[McpServer, bool]:
    """Nodes find the server under ``name`` from now on; whether it is new. Audited.

    Who names a secret must be one who manages secrets, since the server is sent its value.
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
    if len(url) > MAX_URL or not URL.fullmatch(url):
        errors.append({"field": "url", "message": "must be an address of the web, without credentials in it"})
    elif url.startswith("http:") and not outbound.is_listed(urlsplit(url).hostname or ""):
        errors.append({"field": "url", "message": "must be https, unless OPENWOP_OUTBOUND_ALLOW lists the host"})
    if secret and not vault.holds(scope.tenant_id, secret):
        errors.append({"field": "secret", "message": "is not a secret of the tenant"})
    if errors:
        raise Invalid("The MCP server is not valid.", errors=errors)


@transaction.atomic
def remove_server(scope: TenantScope, name: str, *, now: datetime) -> None:
    """No node finds the server any more. Audited."""
    scope.check(SCOPE)
    removed, _ = McpServer.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, name=name).delete()
    if not removed:
        raise NotFound("There is no MCP server by that name.")
    audit.append(scope.tenant_id, actor=scope.principal.id, action="mcp_server.removed", target=name, now=now)


def list_servers(scope: TenantScope, *, after: str, limit: int) -> Page[McpServer]:
    """The servers whose names come behind ``after``."""
    scope.check(SCOPE)
    return read_page(McpServer.objects.of(scope.tenant_id), after, limit, order="name")
