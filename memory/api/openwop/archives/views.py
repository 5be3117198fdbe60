"""``/v1/host/console/archives``, the stored bytes of one, and ``.../memory-policy``."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import archive_reports, archives, policies
from memory.api.openwop.archives import schemas
from memory.api.openwop.archives import serializers as wire
from memory.file_drafts import Precondition
from memory.host import ids
from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import scope_of

DEFAULT_LIMIT = 50
READ = "memory:read"
TAG = "archives"


@operation("listArchives", scope=READ, query=wire.ArchivesQuery, gives={200: schemas.ARCHIVES}, tag=TAG)
@api_view(["GET"])
def archive_list(request: Request) -> Response:
    """Withdrawn ones too. A key that is bound to agents is shown none."""
    given = checked(wire.ArchivesQuery, query_of(request)).validated_data
    memory_ref, limit = given.get("memoryRef", ""), given.get("limit", DEFAULT_LIMIT)
    page = archive_reports.listed(scope_of(request), memory_ref=memory_ref, before=given.get("after"), limit=limit)
    return Response(wire.page_document(page, memory_ref))


@operation("getArchive", scope=READ, headers=("If-None-Match",), gives={200: schemas.DOCUMENT, 304: None}, tag=TAG)
@api_view(["GET"])
def archive(request: Request, archive_id: str) -> HttpResponse:
    """The very bytes that were stored (RFC 0062 B.4), with their SHA-256; 410 when the archive was withdrawn."""
    found = archives.find(scope_of(request), ids.parse("arc", archive_id))
    told = {"ETag": f'"{found.sha256}"', "X-Content-SHA256": found.sha256}
    if not Precondition(if_none_match=request.headers.get("If-None-Match")).holds(told["ETag"]):
        return HttpResponse(status=304, headers=told)
    return HttpResponse(bytes(found.body), content_type="application/json", headers=told)


@operation("getMemoryPolicy", method="GET", scope=READ, gives={200: schemas.POLICY}, tag="memory")
@operation(
    "changeMemoryPolicy",
    method="PUT",
    scope="policies:manage",
    takes=wire.PolicyChange,
    gives={200: schemas.POLICY},
    tag="memory",
)
@api_view(["GET", "PUT"])
def memory_policy(request: Request) -> Response:
    """For how long memory is kept, in whose zone, and who distils it; what a PUT does not name stays as it was."""
    scope = scope_of(request)
    if request.method == "PUT":
        changes = checked(wire.PolicyChange, request.data).changes()
        changed = policies.change(scope, changes, called=wire.CALLED, now=timezone.now())
        return Response(wire.policy_document(changed))
    scope.check(READ)
    return Response(wire.policy_document(policies.policy_of(scope.tenant_id)))
