"""Workspace files, for reading: what there is, one version of one file, and which others are kept."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import workspace
from memory.host import access, exports, pages, tenancy
from memory.host.errors import NotFound
from memory.models import WorkspaceFile
from memory.wire import instant

COLUMNS = ("path", "contentType", "version", "bytes", "etag", "updatedAt")


@pages.parameters("prefix", "format")
@require_safe
def files(request: HttpRequest) -> HttpResponseBase:
    """Every file of the tenant, by path; those below ``prefix`` when it is given."""
    scope, prefix = tenancy.scope_of(request), pages.text_of(request, "prefix")
    found = workspace.list_files(scope, prefix=prefix)
    if file_format := pages.file_format(request):
        return exports.listing(file_format, "files", map(_row, found), columns=COLUMNS)
    context = {
        "nav": "memory",
        "now": timezone.now(),
        "files": found,
        "prefix": prefix,
        "most": workspace.MAX_FILES,
        **pages.files(request),
    }
    return pages.render(request, "memory/workspace.html", context)


def _row(file: WorkspaceFile) -> dict[str, object]:
    return {
        "path": file.path,
        "contentType": file.content_type,
        "version": file.version,
        "bytes": file.size,
        "etag": file.etag,
        "updatedAt": instant(file.updated_at),
    }


@pages.parameters("version", "format")
@require_safe
def file(request: HttpRequest, path: str) -> HttpResponse:
    """One version of a file, the newest unless the address names another, beside the others that are kept."""
    scope = tenancy.scope_of(request)
    versions = workspace.versions_of(scope, path)
    found = workspace.read_file(scope, path, version=_version_of(request))
    if pages.file_format(request) == "json":
        return exports.document(_row(found) | {"content": found.content})
    context = {
        "nav": "memory",
        "now": timezone.now(),
        "file": found,
        "versions": versions,
        "names": access.names_of(scope.tenant_id, {each.updated_by for each in versions}),
        "kept": workspace.MAX_VERSIONS,
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/workspace_file.html", context)


def _version_of(request: HttpRequest) -> int | None:
    number = pages.number_of(request, "version")
    if number is None and "version" in request.GET:
        raise NotFound("There is no workspace file by that path and version.")
    return number
