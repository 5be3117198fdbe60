"""How a tenant's memory is kept: for how long, in whose zone, and what its commitments start. One row a tenant.

Each change is audited. The values of a tenant without a row are those of ``MemoryPolicy`` itself.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from memory.host import access, audit, cron, registry, vault
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope
from memory.models import MemoryPolicy

WRITER = "memory.policies"
LONGEST_DAYS = 3650
MOST_TARGET = 100_000
EXTRACTIVE, ENDPOINT = "extractive", "endpoint"
OF_ENDPOINT = ("endpoint_url", "endpoint_model", "endpoint_secret")


@dataclass(frozen=True, slots=True)
class Policy:
    """Days, a zone, the workflow that a fired commitment starts (none: it only tells), and who distils to how many
    tokens (0: to a quarter of what there is to read)."""

    archive_days: int = 30
    restore_days: int = 30
    stale_days: int = 90
    timezone: str = "UTC"
    commitment_workflow: str = ""
    distiller: str = EXTRACTIVE
    target_tokens: int = 0
    endpoint_url: str = ""
    endpoint_model: str = ""
    endpoint_secret: str = ""


def policy_of(tenant_id: UUID) -> Policy:
    """The policy of the tenant as it stands."""
    row: MemoryPolicy | None = MemoryPolicy.objects.of(tenant_id).filter(id=tenant_id).first()
    return Policy(**{name: getattr(row, name) for name in asdict(Policy())}) if row else Policy()


@transaction.atomic
def change(
    scope: TenantScope, changes: dict[str, Any], *, called: Mapping[str, str] | None = None, now: datetime
) -> Policy:
    """The policy has the changes, each recorded by its name; refused whole, with every field that is wrong.

    ``called`` says how the caller's own document calls a field.
    """
    scope.check("policies:manage")
    access.lock_tenant(scope.tenant_id)
    before, policy = policy_of(scope.tenant_id), checked(scope, changes, called=called)
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


def checked(scope: TenantScope, changes: dict[str, Any], *, called: Mapping[str, str] | None = None) -> Policy:
    """The policy as it would be with the changes; refused as ``change`` refuses it. Nothing is changed."""
    scope.check("policies:manage")
    policy = Policy(**{**asdict(policy_of(scope.tenant_id)), **changes})
    if problems := _problems(scope.tenant_id, policy):
        names = called or {}
        errors = [{"field": names.get(field, field), "message": message} for field, message in problems]
        raise Invalid("The memory policy is not valid.", errors=errors)
    return policy


def _problems(tenant_id: UUID, policy: Policy) -> list[tuple[str, str]]:
    days = {"archive_days": policy.archive_days, "restore_days": policy.restore_days, "stale_days": policy.stale_days}
    found = [
        (name, f"must be 1 to {LONGEST_DAYS} days") for name, value in days.items() if not 1 <= value <= LONGEST_DAYS
    ]
    if not cron.is_zone(policy.timezone):
        found.append(("timezone", "is not the name of an IANA time zone"))
    if policy.commitment_workflow and registry.workflow_text(tenant_id, policy.commitment_workflow) is None:
        found.append(("commitment_workflow", "is not a workflow of this tenant"))
    if not 0 <= policy.target_tokens <= MOST_TARGET:
        found.append(("target_tokens", f"must be 0 to {MOST_TARGET:,} tokens"))
    if policy.distiller not in (EXTRACTIVE, ENDPOINT):
        found.append(("distiller", f"must be {EXTRACTIVE} or {ENDPOINT}"))
    if policy.endpoint_secret and not vault.holds(tenant_id, policy.endpoint_secret):
        found.append(("endpoint_secret", "is not the name of a secret of this tenant's vault"))
    return [*found, *_endpoint_problems(policy)]


def _endpoint_problems(policy: Policy) -> list[tuple[str, str]]:
    """An address is looked at even while nobody is asked there: credentials in it would be stored in the clear."""
    wanted, found = policy.distiller == ENDPOINT, []
    if (wanted or policy.endpoint_url) and not _is_address(policy.endpoint_url):
        found.append(("endpoint_url", "must be an http or https address without credentials and query"))
    needed = {"endpoint_model": policy.endpoint_model, "endpoint_secret": policy.endpoint_secret}
    return found + [(name, "is needed for the endpoint") for name, value in needed.items() if wanted and not value]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    return parts.scheme in ("http", "https") and named and plain
