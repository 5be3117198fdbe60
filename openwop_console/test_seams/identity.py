"""The seams of identity and authorization: permissions by the real resolver, and the owner of a run by real runs.

The principals and tenants that a suite may name are kept apart from real ones.
"""

from datetime import datetime

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import access, denials, ids, tenancy
from memory.host.errors import Forbidden, Invalid, NotFound, RunForbidden
from memory.host.http import Closed, Text, checked, operation
from memory.host.json_types import JSONObject
from memory.host.models import Run, Tenant
from memory.host.tenancy import TenantScope, scope_of
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from openwop_console.test_seams import seam

SCOPE = "manifest:read"  # every key of a suite has it
MARK = "conformance-"
OWNER = "conformance-owner-principal"
LONGEST = 64
KNOWN = frozenset().union(*access.ROLES.values())
DECISION = {
    "type": "object",
    "required": ["allowed", "reason"],
    "properties": {"allowed": {"type": "boolean"}, "reason": {"type": "string"}},
}
OWNED = {
    "type": "object",
    "required": ["runId", "owner"],
    "properties": {
        "runId": {"type": "string"},
        "owner": {
            "type": "object",
            "required": ["tenant"],
            "properties": {"tenant": {"type": "string"}, "principal": {"type": "string"}},
        },
    },
}


def tenant_of(caller: TenantScope) -> Tenant:
    """Return the caller's own tenant."""
    found = access.tenant_by_slug(caller.principal.tenant_slug)
    assert found is not None, "a principal has a tenant"
    return found


def find_principal(caller: TenantScope, name: str, *, now: datetime) -> TenantScope:
    """Return the scope of principal ``name`` in the caller's tenant with its roles there; ``OWNER`` is seeded.

    Raises ``Invalid`` for any other name without the prefix ``MARK``: a person or key of the tenant acts only for
    itself.
    """
    if name == caller.principal.id:
        return caller
    if not name.startswith(MARK) or len(name) > LONGEST or not name.isprintable():
        message = f"must begin with {MARK} and have at most {LONGEST} characters"
        raise Invalid("No seam acts as that principal.", errors=[{"field": "principal", "message": message}])
    if name == OWNER:
        access.grant_role(caller.tenant_id, name, "owner", now=now)
    return tenancy.named_scope(tenant_of(caller), name)


class Question(Closed):
    """May this principal do that to this resource?"""

    principal = Text(max_length=LONGEST)
    action = Text(max_length=64)
    resource = Text(max_length=256, required=False, allow_blank=True)


@operation("seamAuthorizationDecide", scope="manifest:read", takes=Question, gives={200: DECISION}, tag="seams")
@api_view(["POST"])
@seam
def authorization_decide(request: Request) -> Response:
    given = checked(Question, request.data).validated_data
    return Response(decide(scope_of(request), now=timezone.now(), **given))


def decide(caller: TenantScope, *, principal: str, action: str, resource: str = "", now: datetime) -> JSONObject:
    """Evaluate the current roles of ``principal``; a denial is recorded, without any text that the caller sent."""
    caller.check(SCOPE)
    actor = find_principal(caller, principal, now=now)
    if action in access.scopes_of(actor.tenant_id, actor.principal.id):
        return {"allowed": True, "reason": "role-grants"}
    seeded = access.roles_of(actor.tenant_id, actor.principal.id)
    refusal = Forbidden(rule="missing-scope" if seeded else "role-not-seeded")
    known = {"action": action if action in KNOWN else "unknown", "resource": resource if ids.is_wire(resource) else ""}
    denials.record(actor, refusal, **known, run_id=ids.parse("run", resource), now=now)
    return {"allowed": False, "reason": refusal.details["rule"]}


@operation("seamCrossWorkspaceRead", scope="runs:read", gives={200: OWNED}, tag="seams")
@api_view(["POST"])
@seam
def cross_workspace_read(request: Request) -> Response:
    """The caller reads a run of somebody else. The surface answers that it is not there; the seam says why."""
    caller = scope_of(request)
    caller.check("runs:read")
    now = timezone.now()
    foreign = _foreign_run(caller, now)
    try:
        run_operations.read_run(caller, foreign.id, now=now)
    except NotFound:
        raise RunForbidden(rule="tenant") from None
    raise AssertionError("a run of another tenant was read")


@operation("seamOwnedRun", scope="runs:read", gives={200: OWNED}, tag="seams")
@api_view(["GET"])
@seam
def owned_run(request: Request) -> Response:
    """A run of the caller's tenant and whose it is; one is made when there is none."""
    caller = scope_of(request)
    caller.check("runs:read")
    run = _any_run(tenancy.host_scope(tenant_of(caller), scopes=MAKES_RUNS), timezone.now())
    owner = {"tenant": run.tenant.slug, "principal": run.principal}
    return Response({"runId": ids.wire("run", run.id), "owner": owner})


MAKES_RUNS = frozenset({"runs:create"})


def _foreign_run(caller: TenantScope, now: datetime) -> Run:
    """Return a run of a tenant that this seam keeps for its caller alone, so that no tenant's real run is tried."""
    slug = f"{MARK}{caller.tenant_id.hex}"
    other = access.tenant_by_slug(slug) or access.create_tenant(slug, name="Stand-in of a seam", now=now)
    return _any_run(tenancy.host_scope(other, scopes=MAKES_RUNS), now)


def _any_run(owner: TenantScope, now: datetime) -> Run:
    rows = Run.objects.of(owner.tenant_id).select_related("tenant").order_by("-id")
    found: Run | None = rows.first()
    return found or run_operations.create_run(owner, RunRequest("conformance-noop"), now=now)
