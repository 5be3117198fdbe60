"""Namespaces that agents share: what is in each, who may do what there, and changing that (RFC-0015 2.3)."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from memory.forms import PermissionsForm
from memory.host import access, exports, pages, tenancy
from memory.host.errors import Conflict
from memory.host.pages import Cleaned
from memory.openintent import namespaces
from memory.openintent.access import Caller
from memory.openintent.namespaces import NamespaceView, Permissions
from memory.wire import instant

SHOWN = 100
COLUMNS = ("namespace", "entryCount", "permissions", "version", "createdBy", "updatedAt")


def _caller(request: HttpRequest) -> Caller:
    """The person at the page; only who manages agents administers namespaces (C19)."""
    scope = tenancy.scope_of(request)
    scope.check("agents:manage")
    return Caller(scope, scope.principal.id)


@pages.parameters("seen", "format")
@require_safe
def namespace_list(request: HttpRequest) -> HttpResponseBase:
    """The namespaces of the tenant, by name, a page at a time."""
    caller, before, now = _caller(request), pages.number_of(request, "seen") or 0, timezone.now()
    if pages.file_format(request) == "csv":
        return exports.listing("csv", "namespaces", _every_row(caller, now), columns=COLUMNS)
    page = namespaces.list_namespaces(caller, limit=SHOWN, offset=before, now=now)
    if pages.file_format(request) == "json":
        return exports.document({"namespaces": [_document(each) for each in page.found], "total": page.total})
    last = before + len(page.found)
    context = {
        "nav": "memory",
        "now": now,
        "page": page,
        "names": access.names_of(caller.tenant_id, {each.row.created_by for each in page.found}),
        "first": before + 1,
        "last": last,
        "next": pages.address(request, seen=last) if last < page.total else "",
        "begin": pages.address(request) if before else "",
        "as_json": pages.address(request, seen=before or "", format="json"),
        "as_csv": pages.address(request, format="csv"),
    }
    return pages.render(request, "memory/namespaces.html", context)


def _every_row(caller: Caller, now: datetime) -> Iterator[dict[str, object]]:
    offset = 0
    while found := namespaces.list_namespaces(caller, limit=SHOWN, offset=offset, now=now).found:
        yield from map(_document, found)
        offset += len(found)


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def namespace(request: HttpRequest, name: str) -> HttpResponse:
    """One namespace, and the form that changes its permissions in the version that was read."""
    return _change(request, name) if request.method == "POST" else _page(request, name)


def _change(request: HttpRequest, name: str) -> HttpResponse:
    """The permissions are as the form says; or the page again, which says why not."""
    caller, form = _caller(request), PermissionsForm(request.POST)
    sent = pages.submit(form, lambda data: _changed(caller, name, data), called={"permissions.allow": "allow"})
    if not sent.result:
        return _page(request, name, form, sent.conflict, status=sent.status)
    messages.success(request, "The permissions are changed, from the next call of any agent on.")
    return redirect("namespace", name)


def _page(
    request: HttpRequest,
    name: str,
    form: PermissionsForm | None = None,
    conflict: Conflict | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    caller, now = _caller(request), timezone.now()
    found = namespaces.get_namespace(caller, name, now=now)
    if pages.file_format(request) == "json":
        return exports.document(_document(found))
    context = {
        "nav": "memory",
        "now": now,
        "found": found,
        "names": access.names_of(caller.tenant_id, {found.row.created_by}),
        "form": form or PermissionsForm(initial=_initial(found)),
        "conflict": conflict,
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/namespace.html", context, status=status)


def _initial(found: NamespaceView) -> dict[str, object]:
    rules = "\n".join(f"{each['agent']} {each['access']}" for each in found.row.allow)
    return {"default": found.row.default, "allow": rules, "version": found.row.version}


def _changed(caller: Caller, name: str, data: Cleaned) -> NamespaceView:
    wanted = Permissions(data["default"], data["allow"])
    return namespaces.change(caller, name, wanted, version=data["version"], now=timezone.now())


def _document(each: NamespaceView) -> dict[str, object]:
    row = each.row
    return {
        "namespace": row.name,
        "entryCount": each.entry_count,
        "permissions": {"default": row.default, "allow": row.allow},
        "version": row.version,
        "createdBy": row.created_by,
        "updatedAt": instant(row.updated_at),
    }
