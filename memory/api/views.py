"""The host extension over memory, forget and external runs (RFC 0080 B, design.md 4), the agent inventory (RFC 0072)
and the workspace."""

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import adapter, agents, external_runs, ledger_search, provenance, tasks, workspace
from memory.api import serializers
from memory.api import serializers as wire
from memory.forget import execution, holds, plans
from memory.host import ids, registrations, vault
from memory.host.errors import Invalid, NotFound, WorkspaceTooLarge
from memory.host.http import StrictJSONParser, checked, operation, query_of
from memory.host.models import RunStatus
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.models import ForgetState
from memory.workspace import MAX_FILE_BYTES, Precondition


@operation(
    "listMemory",
    method="GET",
    scope="memory:read",
    query=wire.MemoryQuery,
    gives={200: serializers.MEMORY_PAGE},
    tag="memory",
)
@operation(
    "writeMemoryEntry",
    method="POST",
    scope="memory:write",
    takes=wire.EntryWrite,
    gives={201: serializers.WRITTEN},
    tag="memory",
)
@api_view(["GET", "POST"])
def memory_list(request: Request) -> Response:
    if request.method == "POST":
        return _write(request)
    query = checked(wire.MemoryQuery, query_of(request))
    given = query.validated_data
    if wanted := query.injection():
        place, narrowed = given["memoryRef"], {name: given[name] for name in ("tag", "limit") if name in given}
        found = ledger_search.within_budget(scope_of(request), place, wanted, now=timezone.now(), **narrowed)
        return Response(wire.page_document(found, place))
    page = ledger_search.ledger_page(
        scope_of(request),
        query.filter(),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    return Response(wire.page_document(page, given.get("memoryRef", "")))


def _write(request: Request) -> Response:
    body = checked(wire.EntryWrite, request.data)
    given = body.validated_data
    written = external_runs.write_entry(
        scope_of(request), given["memoryRef"], body.draft(), given.get("origin"), now=timezone.now()
    )
    return Response({"id": ids.wire("mem", written.id)}, status=201)


@operation(
    "openExternalRun",
    scope="memory:write",
    takes=wire.ExternalRunOpen,
    gives={201: serializers.EXTERNAL_RUN},
    tag="memory",
)
@api_view(["POST"])
def external_run_list(request: Request) -> Response:
    scope, origin = scope_of(request), checked(wire.ExternalRunOpen, request.data).origin()
    run = external_runs.find_or_open(scope, scope.principal.first_agent, origin, now=timezone.now())
    return Response(wire.EXTERNAL_RUN.document(run), status=201)


@operation(
    "endExternalRun",
    scope="memory:write",
    takes=wire.ExternalRunEnd,
    gives={200: serializers.EXTERNAL_RUN},
    tag="memory",
)
@api_view(["POST"])
def external_run_end(request: Request, run_id: str) -> Response:
    scope, status = scope_of(request), checked(wire.ExternalRunEnd, request.data).validated_data.get("status")
    key = ids.parse("run", run_id)
    run = external_runs.end(scope, key, status or RunStatus.COMPLETED, now=timezone.now())
    return Response(wire.EXTERNAL_RUN.document(run))


@operation("getMemoryEntry", scope="memory:read runs:read", gives={200: serializers.MEMORY_ENTRY}, tag="memory")
@api_view(["GET"])
def memory_entry(request: Request, memory_id: str) -> Response:
    scope, entry_id = scope_of(request), ids.parse("mem", memory_id)
    row = adapter.find_entry(scope, entry_id, now=timezone.now()) if entry_id else None
    if row is None:
        raise NotFound("There is no memory entry by that id.")
    found = wire.PROVENANCE.document(provenance.provenance_of_entry(scope, row))
    return Response({"memoryRef": row.memory_ref, "entry": wire.entry_of(row), "provenance": found})


@operation("putSecret", method="PUT", scope="secrets:manage", takes=wire.SecretValue, gives={204: None}, tag="secrets")
@operation(
    "deleteSecret", method="DELETE", scope="secrets:manage", query=wire.SecretPlace, gives={204: None}, tag="secrets"
)
@api_view(["PUT", "DELETE"])
def secret(request: Request, name: str) -> Response:
    """Write-only: a value goes in, is replaced or removed, and never comes out."""
    if request.method == "DELETE":
        place = checked(wire.SecretPlace, query_of(request)).place()
        vault.remove_secret(scope_of(request), name, now=timezone.now(), **place)
    else:
        given = checked(wire.SecretValue, request.data)
        value = given.validated_data["value"]
        vault.set_secret(scope_of(request), name, value, now=timezone.now(), **given.place())
    return Response(status=204)


@operation(
    "previewForget", scope="memory:forget", takes=wire.ForgetSubject, gives={202: serializers.PREVIEW}, tag="forget"
)
@api_view(["POST"])
@transaction.atomic
def forget_previews(request: Request) -> Response:
    given = checked(wire.ForgetSubject, request.data).validated_data
    asked = execution.request_preview(
        scope_of(request), [given["subject"], *given.get("aliases", [])], now=timezone.now()
    )
    tasks.enqueue_preview(asked)
    return Response(wire.preview_document(asked, []), status=202)


@operation(
    "getForgetPreview", scope="memory:forget", query=wire.SuspectQuery, gives={200: serializers.PREVIEW}, tag="forget"
)
@api_view(["GET"])
def forget_preview(request: Request, preview_id: str) -> Response:
    given = checked(wire.SuspectQuery, query_of(request)).validated_data
    scope, size = scope_of(request), given.get("limit", DEFAULT_LIMIT)
    found = plans.find(scope, ids.parse("fgt", preview_id))
    if found.state not in (ForgetState.PREVIEWED, ForgetState.AWAITING):
        return Response(wire.preview_document(found, []))
    rows, last = plans.suspects(found, after=given.get("after"), limit=size)
    terms = execution.terms_of(scope, found)
    shown, on_hold = plans.suspects_in_context(found, terms, rows), holds.active_on(found.tenant_id, terms)
    return Response(wire.preview_document(found, shown, cursor("sus", last), on_hold))


@operation(
    "listLegalHolds",
    method="GET",
    scope="memory:forget",
    query=wire.HoldsQuery,
    gives={200: serializers.HOLDS},
    tag="forget",
)
@operation(
    "setLegalHold",
    method="POST",
    scope="memory:forget",
    takes=wire.HoldRequest,
    gives={201: serializers.HOLD},
    tag="forget",
)
@api_view(["GET", "POST"])
def hold_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        given = checked(wire.HoldRequest, request.data).validated_data
        names = [given["subject"], *given.get("aliases", [])]
        hold = holds.place(scope, names, reason=given["reason"], now=timezone.now())
        return Response(wire.HOLD.document(hold), status=201)
    given = checked(wire.HoldsQuery, query_of(request)).validated_data
    page = holds.newest(scope, before=given.get("after"), limit=given.get("limit", DEFAULT_LIMIT))
    return Response(wire.HOLDS.document(page))


@operation("getLegalHold", scope="memory:forget", gives={200: serializers.HOLD}, tag="forget")
@api_view(["GET"])
def hold(request: Request, hold_id: str) -> Response:
    return Response(wire.HOLD.document(holds.find(scope_of(request), ids.parse("hld", hold_id))))


@operation("endLegalHold", scope="memory:forget", takes=wire.HoldEnd, gives={200: serializers.HOLD}, tag="forget")
@api_view(["POST"])
def hold_end(request: Request, hold_id: str) -> Response:
    """POST with a body, since the hold stays on record and its reason belongs into no address."""
    reason, found = checked(wire.HoldEnd, request.data).validated_data["reason"], ids.parse("hld", hold_id)
    return Response(wire.HOLD.document(holds.end(scope_of(request), found, reason=reason, now=timezone.now())))


@operation(
    "confirmForget",
    scope="memory:forget",
    takes=wire.ForgetConfirmation,
    gives={202: serializers.FORGET},
    waits=True,
    tag="forget",
)
@api_view(["POST"])
def forget_list(request: Request) -> Response:
    given = checked(wire.ForgetConfirmation, request.data).validated_data
    confirmed = execution.confirm(
        scope_of(request),
        ids.parse("fgt", given["previewId"]),
        typed=given["subject"],
        reason=given["reason"],
        ticked=given.get("suspected", []),
        spared=given.get("spared", []),
        now=timezone.now(),
        queue=tasks.enqueue_forget,
    )
    return Response(wire.forget_document(confirmed), status=202)


@operation("withdrawForget", scope="memory:forget", gives={200: serializers.FORGET}, tag="forget")
@api_view(["POST"])
def forget_withdrawal(request: Request, forget_id: str) -> Response:
    """A request that awaits a second person is over; nothing was removed."""
    ended = execution.withdraw(scope_of(request), ids.parse("fgt", forget_id), now=timezone.now())
    return Response(wire.forget_document(ended))


@operation("getForget", scope="memory:forget", gives={200: serializers.FORGET}, tag="forget")
@api_view(["GET"])
def forget(request: Request, forget_id: str) -> Response:
    return Response(wire.forget_document(plans.find(scope_of(request), ids.parse("fgt", forget_id))))


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


LONGEST_ESCAPE = 6
AROUND = 65_536


class FileParser(StrictJSONParser):
    """Reads the largest file, however its JSON is escaped; what cannot be one is too large for the workspace."""

    too_large = WorkspaceTooLarge

    def most(self) -> int:
        return LONGEST_ESCAPE * MAX_FILE_BYTES + AROUND


@operation(
    "listWorkspaceFiles", scope="workspace:read", query=wire.FilesQuery, gives={200: serializers.FILES}, tag="workspace"
)
@api_view(["GET"])
def files(request: Request) -> Response:
    given = checked(wire.FilesQuery, query_of(request)).validated_data
    found = workspace.list_files(scope_of(request), prefix=given.get("prefix", ""))
    return Response({"files": wire.FILE_ROW.documents(found)})


@operation(
    "readWorkspaceFile",
    method="GET",
    scope="workspace:read",
    query=wire.FileQuery,
    headers=("If-None-Match",),
    gives={200: serializers.FILE, 304: None},
    tag="workspace",
)
@operation(
    "writeWorkspaceFile",
    method="PUT",
    scope="workspace:write",
    takes=wire.WorkspaceFileCreate,
    headers=("If-Match", "If-None-Match"),
    gives={200: serializers.FILE},
    tag="workspace",
)
@operation(
    "deleteWorkspaceFile",
    method="DELETE",
    scope="workspace:write",
    headers=("If-Match",),
    gives={204: None},
    tag="workspace",
)
@api_view(["GET", "PUT", "DELETE"])
@parser_classes([FileParser])
def file(request: Request, path: str) -> Response:
    if request.method == "PUT":
        return _write_file(request, path)
    if request.method == "DELETE":
        workspace.delete_file(scope_of(request), path, expected=_expected(request), now=timezone.now())
        return Response(status=204)
    return _read_file(request, path)


def _read_file(request: Request, path: str) -> Response:
    query = checked(wire.FileQuery, query_of(request))
    found = workspace.read_file(scope_of(request), path, version=query.version_wanted())
    tag = {"ETag": found.etag}
    if not Precondition(if_none_match=request.headers.get("If-None-Match")).holds(found.etag):
        return Response(status=304, headers=tag)
    return Response(wire.file_document(found), headers=tag)


def _write_file(request: Request, path: str) -> Response:
    draft = checked(wire.WorkspaceFileCreate, request.data).draft()
    written = workspace.write_file(scope_of(request), path, draft, expected=_expected(request), now=timezone.now())
    return Response(wire.file_document(written), headers={"ETag": written.etag})


def _expected(request: Request) -> Precondition:
    return Precondition(request.headers.get("If-Match"), request.headers.get("If-None-Match"))
