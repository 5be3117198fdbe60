"""How a tenant's memory is kept: for how long, in whose zone, and what its commitments start. One row a tenant.

Each change is audited. The values of a tenant without a row are those of ``MemoryPolicy`` itself.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from memory.host import access, audit, registry, ticks
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope
from memory.models import MemoryPolicy

WRITER = "memory.policies"
LONGEST_DAYS = 3650
EXTRACTIVE, ENDPOINT = "extractive", "endpoint"


@dataclass(frozen=True, slots=True)
class Policy:
    """Days, a zone, the workflow that a fired commitment starts (none: it only tells), and who distils."""

    archive_days: int = 30
    restore_days: int = 30
    stale_days: int = 90
    timezone: str = "UTC"
    commitment_workflow: str = ""
    distiller: str = EXTRACTIVE
    endpoint_url: str = ""
    endpoint_model: str = ""
    endpoint_secret: str = ""


def policy_of(tenant_id: UUID) -> Policy:
    """The policy of the tenant as it stands."""
    row: MemoryPolicy | None = MemoryPolicy.objects.of(tenant_id).filter(id=tenant_id).first()
    return Policy(**{name: getattr(row, name) for name in asdict(Policy())}) if row else Policy()


@transaction.atomic
def change(scope: TenantScope, changes: dict[str, Any], *, now: datetime) -> Policy:
    """The policy has the changes, each recorded by its name; refused whole, with every field that is wrong."""
    scope.check("policies:manage")
    access.lock_tenant(scope.tenant_id)
    before = policy_of(scope.tenant_id)
    policy = Policy(**{**asdict(before), **changes})
    if errors := _problems(scope.tenant_id, policy):
        raise Invalid("The memory policy is not valid.", errors=errors)
    row = MemoryPolicy(
        tenant_id=scope.tenant_id,
        id=scope.tenant_id,
        written_by=scope.principal.id,
        changed_at=now,
        **asdict(policy),
    )
    MemoryPolicy.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id).delete()
    row.insert(by=WRITER)
    named = sorted(name for name, value in asdict(policy).items() if value != getattr(before, name))
    audit.append(
        scope.tenant_id,
        actor=scope.principal.id,
        action="memory.policy-changed",
        target="memory-policy",
        details={"changed": named},
        now=now,
    )
    return policy


def _problems(tenant_id: UUID, policy: Policy) -> list[dict[str, str]]:
    days = {"archiveDays": policy.archive_days, "restoreDays": policy.restore_days, "staleDays": policy.stale_days}
    found = [
        (name, f"must be 1 to {LONGEST_DAYS} days") for name, value in days.items() if not 1 <= value <= LONGEST_DAYS
    ]
    if not ticks.is_zone(policy.timezone):
        found.append(("timezone", "is not the name of an IANA time zone"))
    if policy.commitment_workflow and registry.workflow_text(tenant_id, policy.commitment_workflow) is None:
        found.append(("commitmentWorkflow", "is not a workflow of this tenant"))
    if policy.distiller not in (EXTRACTIVE, ENDPOINT):
        found.append(("distiller", f"must be {EXTRACTIVE} or {ENDPOINT}"))
    return [{"field": name, "message": message} for name, message in [*found, *_endpoint_problems(policy)]]


def _endpoint_problems(policy: Policy) -> list[tuple[str, str]]:
    if policy.distiller != ENDPOINT:
        return []
    parts = urlsplit(policy.endpoint_url)
    found = []
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        found.append(("endpointUrl", "must be an http or https address without credentials"))
    found += [
        (name, "is needed for the endpoint")
        for name, value in (("endpointModel", policy.endpoint_model), ("endpointSecret", policy.endpoint_secret))
        if not value
    ]
    return found
