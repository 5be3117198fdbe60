"""The tools: what each takes and gives, and the one domain call behind it. Refusals are answers that a model can read.

Every call is on record with its tool, its principal's roles and agent, and the ids that it was about; never a word of
what was said.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, takewhile
from typing import TypeVar
from uuid import UUID

import orjson
from django.db import transaction
from rest_framework.exceptions import APIException

from memory import external_runs, ledger_search, provenance
from memory.api import serializers
from memory.host import access, audit, denials, idempotency_keys, ids, json_schemas
from memory.host.errors import Forbidden, IdempotencyInFlight, Invalid, Refusal
from memory.host.http import STRING, TEXT, Schema, Text, also, checked, closed, listed, nullable, words
from memory.host.idempotency_keys import StoredAnswer
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter, LedgerPage
from memory.text.untrusted import NOTICE
from memory.wire import ORIGIN
from openwop_console import errors
from openwop_console.mcp import resources
from openwop_console.mcp.protocol import INVALID_PARAMS, Message, RpcError
from proposals import lifecycle
from proposals.api.serializers import CreateProposal, verbatim

Answer = TypeVar("Answer")
ACTION = "mcp.call"
DEFAULT_LIMIT, MOST = 20, 100
# Of the entries of one answer, as JSON: each is in it twice, for the model and as an object. One is always given, which
# has a bound of its own (decision 158).
MOST_BYTES = 512 * 1024
DEFAULT_SECONDS, MOST_SECONDS = 300, 3600
# How a question to a person ends.
ANSWERED, TIMED_OUT, WITHDRAWN, INTERRUPTED = "answered", "timeout", "withdrawn", "interrupted"
# A ref that is too long is read like an unknown one (CTI-1), and refused where something is written.
REF: Schema = {"type": "string", "minLength": 1, "description": "Where the memory is kept, such as team/notes."}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT}
ID: Schema = {"type": "string", "minLength": 1, "maxLength": 64, "description": "The id of an entry: mem_..."}
MARK: Schema = {"const": NOTICE}


class MemoryWrite(serializers.EntryWrite):
    """The body of a write of the host extension as far as the tool lists it, and a key like its ``Idempotency-Key``."""

    subject = None  # type: ignore[assignment]  # a field that is not inherited
    expiresAt = None  # type: ignore[assignment]  # noqa: N815
    key = Text(required=False, max_length=255)


# Clients hold the object of every result against the schema of its tool, that of a refusal too.
REFUSAL: Schema = {
    "type": "object",
    "required": ["error", "message"],
    "properties": {"error": STRING, "message": STRING},
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, by whom, with arguments that fit its schema; ``body`` is the request as it was sent, and
    ``agent`` the one that it names."""

    scope: TenantScope
    agent: str
    given: JSONObject
    body: bytes
    now: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answers: texts for the model, the same as an object, and the ids that go on record."""

    texts: list[str]
    structured: JSONObject = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    is_error: bool = False

    @property
    def document(self) -> JSONObject:
        content = {"content": [resources.block(text) for text in self.texts], "isError": self.is_error}
        return content | ({"structuredContent": self.structured} if self.structured else {})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is listed; ``scopes`` are the permissions that it needs, all of them.

    ``call`` carries it out; one that waits for a person has none (``questions``). One that ``checks_itself`` has the
    form of a request of the host extension, which names every field that is wrong.
    """

    name: str
    title: str
    description: str
    takes: Schema
    gives: Schema
    scopes: tuple[str, ...]
    call: Callable[[Call], Result] | None = None
    reads: bool = False
    checks_itself: bool = False

    @property
    def document(self) -> JSONObject:
        hints = {"readOnlyHint": self.reads, "openWorldHint": False}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": {"type": "object", "anyOf": [self.gives, REFUSAL]},
            "annotations": hints if self.reads else hints | {"destructiveHint": False},
        }


def takes(*required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def tool_named(message: Message) -> Tool:
    """The tool that a ``tools/call`` names, whose arguments are an object."""
    name, given = message.params.get("name"), message.params.get("arguments", {})
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "params.name must be the name of a tool.")
    if name not in TOOLS:
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {name[:64]}")
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, "params.arguments must be an object.")
    return TOOLS[name]


def call(tool: Tool, scope: TenantScope, given: JSONObject, *, agent: str, body: bytes, now: datetime) -> Result:
    """What the tool answers, on record with it; a refusal is an answer too."""
    assert tool.call
    work = tool.call

    def carry_out() -> Result:
        # A read takes no lock while it looks: on SQLite a transaction would keep every writer waiting.
        with nullcontext() if tool.reads else transaction.atomic():
            result = work(Call(scope, agent, given, body, now))
            record(tool, scope, result.ids, now=now)
        return result

    return answered(tool, scope, given, carry_out, now=now)


def answered(
    tool: Tool, scope: TenantScope, given: JSONObject, carry_out: Callable[[], Answer], *, now: datetime
) -> Answer | Result:
    """What ``carry_out`` comes to, for who may call the tool with arguments that fit; or the refusal, as a result.

    Permissions come before arguments: who may not call a tool is not told what is wrong with a call.
    """
    try:
        for needed in tool.scopes:
            scope.check(needed)
        problems = [] if tool.checks_itself else json_schemas.problems(tool.takes, given, field="arguments")
        if problems:
            raise Invalid("The arguments do not fit the tool.", errors=problems)
        return carry_out()
    except (Refusal, APIException) as problem:
        return _refused(tool, scope, errors.refusal_of(problem), now=now)


def _refused(tool: Tool, scope: TenantScope, refusal: Refusal, *, now: datetime) -> Result:
    """The refusal as an answer, on record; a denial is on record as at every door."""
    if isinstance(refusal, Forbidden):
        refusal.on_record = False  # what the domain recorded was rolled back with the call
    if errors.is_denial(refusal):
        denials.record(scope, refusal, action=f"mcp {tool.name}", now=now)
    record(tool, scope, [], outcome=refusal.code, now=now)
    problems = [f"{each['field']}: {each['message']}" for each in refusal.details.get("errors", [])]
    text = "\n".join([refusal.message, *problems])
    return Result([text], {"error": refusal.code, "message": refusal.message, **refusal.details}, is_error=True)


def record(tool: Tool, scope: TenantScope, about: list[str], *, outcome: str = "ok", now: datetime) -> None:
    principal = scope.principal
    details = {
        "tool": tool.name,
        "roles": access.roles_of(scope.tenant_id, principal.id),
        "agent": principal.first_agent,
        "outcome": outcome,
        "ids": about,
    }
    target = about[0] if len(about) == 1 else ""
    audit.append(scope.tenant_id, actor=principal.id, action=ACTION, target=target, details=details, now=now)


# --- memory ---------------------------------------------------------------------------------------------------------


def _search(call: Call) -> Result:
    wanted = LedgerFilter(text=call.given["query"], memory_ref=call.given.get("memoryRef", ""))
    return _page(call, wanted, None)


def _list(call: Call) -> Result:
    after = call.given.get("after")
    behind = ids.parse("mem", after) if after else None
    if after and behind is None:
        raise Invalid(errors=[{"field": "arguments.after", "message": "is not what next gave"}])
    return _page(call, LedgerFilter(memory_ref=call.given["memoryRef"]), behind)


def _page(call: Call, wanted: LedgerFilter, after: UUID | None) -> Result:
    size = call.given.get("limit", DEFAULT_LIMIT)
    found = ledger_search.ledger_page(call.scope, wanted, after=after, size=size, now=call.now)
    texts = [resources.entry_text(row) for row in found.entries]
    given = _fitting(texts, [serializers.entry_of(row) for row in found.entries])
    page, left_out = replace(found, entries=found.entries[:given]), found.entries[given:]
    if left_out and not wanted.text:
        page = replace(page, after=page.entries[-1].id)
    document = serializers.page_document(page, wanted.memory_ref) | {"notice": NOTICE}
    shown = [ids.wire("mem", row.id) for row in page.entries]
    if not wanted.text:
        return Result([*texts[:given], _count(page, "" if page.after is None else _go_on(page.after))], document, shown)
    others = [ids.wire("mem", row.id) for row in left_out]  # a search takes no place to go on from
    more = f"read these by their ids, which were too long together: {', '.join(others)}" if others else ""
    more = more or ("" if page.after is None else "use narrower words")
    return Result([*texts[:given], _count(page, more)], document | {"next": None, "leftOut": others}, shown)


def _fitting(texts: list[str], documents: list[JSONObject]) -> int:
    """How many of the entries are given: those that fit together, and the first in any case."""
    sizes = (len(orjson.dumps([text, document])) for text, document in zip(texts, documents, strict=True))
    fitting = takewhile(lambda total: total <= MOST_BYTES, accumulate(sizes))
    return max(sum(1 for _ in fitting), 1)


def _go_on(after: UUID) -> str:
    return f"call again with after={ids.wire('mem', after)}"


def _count(page: LedgerPage, more: str) -> str:
    if not page.entries:
        return f"No entries ({NOTICE})."
    counted = f"{len(page.entries)} of {page.total}{'' if page.total_is_exact else '+'} entries"
    return f"{counted} ({NOTICE}).{f' There is more: {more}.' if more else ''}"


def _get(call: Call) -> Result:
    row = resources.find_live(call.scope, call.given["id"], now=call.now)
    found = serializers.PROVENANCE.document(provenance.provenance_of_entry(call.scope, row))
    document = {"memoryRef": row.memory_ref, "entry": serializers.entry_of(row), "provenance": found}
    return Result([resources.entry_text(row)], document | {"notice": NOTICE}, [ids.wire("mem", row.id)])


def _write(call: Call) -> Result:
    """The entry is stored; with a ``key`` once, and answered alike for a day.

    Claim, entry and answer commit together, so a concurrent call with the same key waits for all of them.
    """
    body = checked(MemoryWrite, call.given)
    key = body.validated_data.get("key")
    if key is None:
        return _stored(_write_entry(call, body))
    said = orjson.dumps({name: value for name, value in call.given.items() if name != "key"} | _named(call))
    place = {"method": "POST", "path": "/mcp/memory_write", "query": ""}
    if not idempotency_keys.FORM.fullmatch(key):
        raise Invalid(errors=[{"field": "key", "message": idempotency_keys.NOT_A_KEY}])
    asked = idempotency_keys.request_of(call.scope.tenant_id, call.scope.principal.id, key=key, body=said, **place)
    claim = idempotency_keys.claim(asked, now=call.now)
    if claim is None:
        raise IdempotencyInFlight(retryAfter=1)
    if isinstance(claim, StoredAnswer):
        return _stored(claim.body)
    memory_id = _write_entry(call, body)
    idempotency_keys.store_answer(claim, StoredAnswer(200, {}, memory_id))
    return _stored(memory_id)


def _named(call: Call) -> JSONObject:
    return {"X-Agent-ID": call.agent} if call.agent else {}


def _write_entry(call: Call, body: MemoryWrite) -> str:
    given = body.validated_data
    origin = given.get("origin")
    draft = replace(body.draft(), agent_id=call.agent)
    written = external_runs.write_entry(call.scope, given["memoryRef"], draft, origin, now=call.now)
    return ids.wire("mem", written.id)


def _stored(memory_id: str) -> Result:
    return Result([f"Stored {memory_id}."], {"id": memory_id}, [memory_id])


# --- proposals ------------------------------------------------------------------------------------------------------


def _propose(call: Call) -> Result:
    """The artifact is kept as it was written, like the bytes of a body at the host extension."""
    text = verbatim(call.body.decode(), "params", "arguments", "artifact")
    agent = {"agentId": call.scope.principal.first_agent} if call.scope.principal.first_agent else {}
    draft = checked(CreateProposal, {**call.given, "artifact": text, **agent}).draft()
    made = lifecycle.create(call.scope, draft, now=call.now)
    proposal_id = ids.wire("prop", made.id)
    text_told = f"Proposal {proposal_id} is a {made.state}: nothing changes until people have approved it."
    return Result([text_told], {"id": proposal_id, "kind": made.kind, "state": made.state}, [proposal_id])


SEARCH = Tool(
    "memory_search",
    "Search memory",
    "Find memory entries about some words, the best first; leftOut are ids of those that were too long for one answer.",
    takes("query", query={"type": "string", "minLength": 1, "maxLength": 500}, limit=LIMIT, memoryRef=REF),
    also(serializers.MEMORY_PAGE, notice=MARK, leftOut=listed(TEXT)),
    ("memory:read",),
    _search,
    reads=True,
)
GET = Tool(
    "memory_get",
    "Read a memory entry",
    "One memory entry by its id, with its provenance: which node of which run wrote it.",
    takes("id", id=ID),
    also(serializers.LIVE_ENTRY, notice=MARK),
    ("memory:read", "runs:read"),
    _get,
    reads=True,
)
LIST = Tool(
    "memory_list",
    "List memory",
    "The memory entries under one memoryRef, the newest first; after is what next gave.",
    takes("memoryRef", memoryRef=REF, limit=LIMIT, after=ID),
    also(serializers.MEMORY_PAGE, notice=MARK),
    ("memory:read",),
    _list,
    reads=True,
)
WRITE = Tool(
    "memory_write",
    "Write memory",
    "Store a text under a memoryRef; secrets of the tenant are redacted. With a key, a repeated call stores it once. "
    "origin says which system, run, thread, node and step it comes from.",
    takes(
        "memoryRef",
        "content",
        memoryRef=REF | {"maxLength": 256},
        content=TEXT,
        tags={"type": "array", "items": TEXT},
        key={"type": "string", "minLength": 1, "maxLength": 255},
        origin=ORIGIN,
    ),
    closed(id=TEXT),
    ("memory:write",),
    _write,
    checks_itself=True,
)
PROPOSE = Tool(
    "proposal_create",
    "Propose a change",
    "Submit an artifact (an agent, a prompt, an automation or a workflow chain) for people to review and install.",
    takes(
        "kind",
        "artifact",
        kind={"type": "string", "minLength": 1, "maxLength": 64},
        artifact={"type": "object"},
        title=STRING,
        rationale=STRING,
    ),
    closed(id=TEXT, kind=TEXT, state=TEXT),
    ("proposals:create",),
    _propose,
)

ASK = Tool(
    "ask_human",
    "Ask a person",
    "Ask the people who operate this tenant, and wait until one of them answers. Give options where they are known.",
    takes(
        "question",
        question={"type": "string", "minLength": 1, "maxLength": 2000},
        options={
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "minItems": 2,
            "maxItems": 20,
            "uniqueItems": True,
        },
        timeoutSeconds={
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_SECONDS,
            "default": DEFAULT_SECONDS,
        },
    ),
    closed(
        outcome=words((ANSWERED, TIMED_OUT, WITHDRAWN, INTERRUPTED)),
        answer=nullable(STRING),
        answeredBy=nullable(TEXT),
        runId=TEXT,
    ),
    ("runs:create",),
)
TOOLS = {tool.name: tool for tool in (SEARCH, GET, LIST, WRITE, ASK, PROPOSE)}
