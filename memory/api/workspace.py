"""Workspace files over HTTP (RFC 0059)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import workspace
from memory.api import serializers
from memory.host.errors import WorkspaceTooLarge
from memory.host.http import StrictJSONParser, checked, operation, query_of
from memory.host.tenancy import scope_of
from memory.workspace import MAX_FILE_BYTES, Precondition

LONGEST_ESCAPE = 6
AROUND = 65_536


class FileParser(StrictJSONParser):
    """Reads the largest file, however its JSON is escaped; what cannot be one is too large for the workspace."""

    too_large = WorkspaceTooLarge

    def most(self) -> int:
        return LONGEST_ESCAPE * MAX_FILE_BYTES + AROUND


@operation(
    "listWorkspaceFiles",
    scope="workspace:read",
    query=serializers.FilesQuery,
    gives={200: serializers.FILES},
    tag="workspace",
)
@api_view(["GET"])
def files(request: Request) -> Response:
    given = checked(serializers.FilesQuery, query_of(request)).validated_data
    found = workspace.list_files(scope_of(request), prefix=given.get("prefix", ""))
    return Response({"files": serializers.FILE_ROW.documents(found)})


@operation(
    "readWorkspaceFile",
    method="GET",
    scope="workspace:read",
    query=serializers.FileQuery,
    headers=("If-None-Match",),
    gives={200: serializers.FILE, 304: None},
    tag="workspace",
)
@operation(
    "writeWorkspaceFile",
    method="PUT",
    scope="workspace:write",
    takes=serializers.WorkspaceFileCreate,
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
    query = checked(serializers.FileQuery, query_of(request))
    found = workspace.read_file(scope_of(request), path, version=query.version_wanted())
    tag = {"ETag": found.etag}
    if not Precondition(if_none_match=request.headers.get("If-None-Match")).holds(found.etag):
        return Response(status=304, headers=tag)
    return Response(serializers.file_document(found), headers=tag)


def _write_file(request: Request, path: str) -> Response:
    draft = checked(serializers.WorkspaceFileCreate, request.data).draft()
    written = workspace.write_file(scope_of(request), path, draft, expected=_expected(request), now=timezone.now())
    return Response(serializers.file_document(written), headers={"ETag": written.etag})


def _expected(request: Request) -> Precondition:
    return Precondition(request.headers.get("If-Match"), request.headers.get("If-None-Match"))
