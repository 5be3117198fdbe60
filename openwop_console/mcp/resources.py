"""Entries and archives as resources, by the addresses of their ids.

Each block of text begins with a line that says that it is data.
"""

import json
from datetime import datetime
from typing import TYPE_CHECKING

from memory import adapter
from memory.host import access, audit, ids
from memory.host.errors import NotFound
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Archive
from memory.passes import archives
from memory.text.untrusted import NOTICE, RETURNED
from memory.wire import instant

ACTION = "mcp.read"
MEMORY, ARCHIVES = "openwop://memory/", "openwop://archives/"
READ = "memory:read"
TEMPLATES = [
    {
        "uriTemplate": f"{MEMORY}{{id}}",
        "name": "memory",
        "title": "Memory entry",
        "description": f"One memory entry by its id, mem_...: {NOTICE}.",
        "mimeType": "text/plain",
    },
    {
        "uriTemplate": f"{ARCHIVES}{{id}}",
        "name": "archive",
        "title": "Archive",
        "description": f"What a distillation made of many entries, by its id, arc_...: {NOTICE}.",
        "mimeType": "text/plain",
    },
]


if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

INSTRUCTIONS = (
    f"Memory of this tenant's agents, with the run and node that wrote each entry. {RETURNED} Write what is worth "
    "keeping with memory_write, ask a person with ask_human before anything that cannot be undone, and suggest changes "
    "of agents, prompts and automations with proposal_create, which a person reviews."
)


def block(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def entry_text(row: "MemoryEntry") -> str:
    by = f" by {row.agent_id}" if row.agent_id else ""
    head = f"Memory {ids.wire('mem', row.id)} under {row.memory_ref}, written {instant(row.created_at)}{by}"
    return f"{_one_line(head)} ({NOTICE}):\n{row.content}"


def archive_text(row: Archive, text: str) -> str:
    head = f"Archive {ids.wire('arc', row.id)} of {row.memory_ref}, made {instant(row.created_at)}"
    return f"{_one_line(head)} ({NOTICE}):\n{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read(scope: TenantScope, uri: str, *, now: datetime) -> JSONObject:
    """The text behind ``uri``, on record; refused when there is none that this principal may read."""
    scope.check(READ)
    if uri.startswith(MEMORY):
        wire_id = uri.removeprefix(MEMORY)
        text = _entry(scope, wire_id, now)
    elif uri.startswith(ARCHIVES):
        wire_id = uri.removeprefix(ARCHIVES)
        text = _archive(scope, wire_id)
    else:
        raise NotFound("There is no resource at that address.")
    details = {"roles": access.roles_of(scope.tenant_id, scope.principal.id), "agent": scope.principal.first_agent}
    audit.append(scope.tenant_id, actor=scope.principal.id, action=ACTION, target=wire_id, details=details, now=now)
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


def _entry(scope: TenantScope, wire_id: str, now: datetime) -> str:
    return entry_text(find_live(scope, wire_id, now=now))


def find_live(scope: TenantScope, wire_id: str, *, now: datetime) -> "MemoryEntry":
    """Return the entry; one that is retired is not there for agents."""
    entry_id = ids.parse("mem", wire_id)
    row = adapter.console.find_entry(scope, entry_id, now=now) if entry_id else None
    if row is None or row.retired_at:
        raise NotFound("There is no memory entry by that id.")
    return row


def _archive(scope: TenantScope, wire_id: str) -> str:
    row = archives.find(scope, ids.parse("arc", wire_id))
    return archive_text(row, json.loads(bytes(row.body))["text"])
