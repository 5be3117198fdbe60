"""``POST /v1/host/sample/workspace/op``: the workspace of two owners in one hand, for a suite that has one credential.

An owner of the body is never a tenant of that name. It is a stand-in, a tenant of its own that this seam makes for its
caller, so isolation is the real one and no tenant that somebody else uses can be reached by naming it.
"""

import hashlib
from collections.abc import Callable

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import workspace
from memory.api import serializers
from memory.api import serializers as wire
from memory.api.views import FileParser
from memory.host import access, tenancy
from memory.host.http import checked, operation
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope, scope_of
from memory.workspace import DEFAULT_CONTENT_TYPE, FileDraft, Precondition
from openwop_console.test_seams.principals import seam

Given = JSONObject
NEEDS = {"list": "workspace:read", "get": "workspace:read", "put": "workspace:write", "delete": "workspace:write"}


@operation(
    "seamWorkspaceOp",
    scope="workspace:write",
    takes=wire.WorkspaceOp,
    gives={200: {"oneOf": [serializers.FILES, serializers.FILE, serializers.DONE]}},
    tag="seams",
)
@api_view(["POST"])
@parser_classes([FileParser])
@seam
def workspace_op(request: Request) -> Response:
    given = checked(wire.WorkspaceOp, request.data).validated_data
    caller = scope_of(request)
    caller.check(NEEDS[given["op"]])
    return Response(OPS[given["op"]](_stand_in(caller, given["tenant"], given["workspace"]), given))


@transaction.atomic
def _stand_in(caller: TenantScope, tenant: str, owned: str) -> TenantScope:
    """The owner of that name as this caller knows it; another caller's owner of the same name is another one."""
    named = "\x1f".join((caller.tenant_id.hex, tenant, owned))
    slug = f"seam-{hashlib.sha256(named.encode()).hexdigest()[:40]}"
    access.lock_tenant(caller.tenant_id)
    found = access.tenant_by_slug(slug) or access.create_tenant(slug, name="Stand-in of a seam", now=timezone.now())
    return tenancy.host_scope(found)


def _list(owner: TenantScope, given: Given) -> Given:
    return {"files": [wire.file_row(each) for each in workspace.list_files(owner, prefix=given.get("prefix", ""))]}


def _get(owner: TenantScope, given: Given) -> Given:
    return wire.file_document(workspace.read_file(owner, given["path"], version=given.get("version")))


def _put(owner: TenantScope, given: Given) -> Given:
    draft = FileDraft(given["content"], given.get("contentType", DEFAULT_CONTENT_TYPE))
    expected = Precondition(given.get("ifMatch"))
    written = workspace.write_file(owner, given["path"], draft, expected=expected, now=timezone.now())
    return wire.file_document(written)


def _delete(owner: TenantScope, given: Given) -> Given:
    expected = Precondition(given.get("ifMatch"))
    workspace.delete_file(owner, given["path"], expected=expected, now=timezone.now())
    return {"ok": True}


OPS: dict[str, Callable[[TenantScope, Given], Given]] = {"list": _list, "get": _get, "put": _put, "delete": _delete}
