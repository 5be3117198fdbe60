"""How a tenant's memory is kept: for how long, in whose zone, what its commitments start, and when its night comes.

One row a tenant. Each change is audited. The values of a tenant without a row are those of ``MemoryPolicy`` itself.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from memory.host import access, audit, cron, operators, registry, sql, vault
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import MemoryPolicy

WRITER = "memory.memory_policy"
LONGEST_DAYS = 3650
MOST_TARGET = 100_000
MOST_DISTILL_ABOVE = 1_000_000
TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
QUIET_START = timedelta(hours=1)  # a tenant is often made to be filled, or tried out, at once
EXTRACTIVE, ENDPOINT = "extractive", "endpoint"
OF_ENDPOINT = ("endpoint_url", "endpoint_model", "endpoint_secret")
OF_EMBEDDING = ("embedding_url", "embedding_model", "embedding_secret")

IN_PLAIN = ("endpoint_url", "endpoint_model", "embedding_url", "embedding_model")


@dataclass(frozen=True, slots=True)
class Policy:
    """A tenant's memory policy: days of retention, time zone, the workflow that a fired commitment starts (empty:
    none), the distiller and its target tokens (0: a quarter of the input), the endpoint for vectors (empty: none), the
    time of the night, and whether a forget is confirmed by two people."""

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
    embedding_url: str = ""
    embedding_model: str = ""
    embedding_secret: str = ""
    nightly: bool = False
    night_at: str = "03:00"
    distill_above: int = 4000
    forget_second_person: bool = False

    @property
    def embeds(self) -> bool:
        """Whether texts and queries go to an endpoint for their vectors."""
        return bool(self.embedding_url and self.embedding_model and self.embedding_secret)

    @property
    def night_cron(self) -> str:
        hour, minute = self.night_at.split(":")
        return f"{int(minute)} {int(hour)} * * *"

    def night_after(self, moment: datetime) -> datetime | None:
        """The first night after that moment; None without nights."""
        return cron.next_after(self.night_cron, self.timezone, moment) if self.nightly else None


def policy_of(tenant_id: UUID) -> Policy:
    """The tenant's current policy."""
    found = _policy_asked().objects(tenant_id)
    return _of_row(found[0]) if found else Policy()


@cache
def _policy_asked() -> sql.CompiledQuery:
    tenant_id = UUID(int=0)
    return sql.CompiledQuery(MemoryPolicy.objects.of(tenant_id).filter(id=tenant_id), tenant_id)


def _of_row(row: MemoryPolicy) -> Policy:
    return Policy(**{name: getattr(row, name) for name in asdict(Policy())})


@transaction.atomic
def change(
    scope: TenantScope, changes: JSONObject, *, called: Mapping[str, str] | None = None, now: datetime
) -> Policy:
    """Apply the changes and audit each by its name; refuses all of them, naming every invalid field.

    ``called`` maps fields to their names in the caller's document.
    """
    scope.check("policies:manage")
    access.lock_tenant(scope.tenant_id)
    row: MemoryPolicy | None = MemoryPolicy.objects.of(scope.tenant_id).select_for_update().first()
    before, policy = _of_row(row) if row else Policy(), checked_policy(scope, changes, called=called)
    timed = any(getattr(policy, name) != getattr(before, name) for name in ("nightly", "night_at", "timezone"))
    next_night_at = policy.night_after(now) if row is None or timed else row.next_night_at
    _store(row, scope.tenant_id, policy, next_night_at, by=scope.principal.id, now=now)
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


def _store(
    row: MemoryPolicy | None, tenant_id: UUID, policy: Policy, next_night_at: datetime | None, *, by: str, now: datetime
) -> None:
    """Change the row, which is locked; without one, insert it."""
    values = {**asdict(policy), "next_night_at": next_night_at, "written_by": by, "changed_at": now}
    if row is None:
        MemoryPolicy(tenant_id=tenant_id, id=tenant_id, **values).insert(by=WRITER)
        return
    for name, value in values.items():
        setattr(row, name, value)
    row.save(by=WRITER, update_fields=list(values))


def begin_nights(tenant_id: UUID, *, now: datetime) -> None:
    """Schedule the nights of a new tenant, the first at least an hour from now."""
    policy = replace(Policy(), nightly=True)
    _store(None, tenant_id, policy, policy.night_after(now + QUIET_START), by="host", now=now)


def embedding_tenants() -> list[UUID]:
    """The tenants whose policy names an endpoint for vectors."""
    rows = MemoryPolicy.objects.exclude(embedding_url="").order_by("tenant_id")
    return list(rows.values_list("tenant_id", flat=True))


def nights_due(*, now: datetime) -> list[UUID]:
    """Return the tenants whose night is due, the longest overdue first."""
    rows = MemoryPolicy.objects.filter(next_night_at__lte=now).order_by("next_night_at")
    return list(rows.values_list("tenant_id", flat=True))


@transaction.atomic
def claim_night(tenant_id: UUID, *, now: datetime) -> datetime | None:
    """Claim the night that is due and return its instant; None for every later caller. One night stands for all that
    were missed."""
    rows = MemoryPolicy.objects.of(tenant_id).select_for_update()
    row: MemoryPolicy | None = rows.filter(next_night_at__lte=now).first()
    if row is None or row.next_night_at is None:
        return None
    policy = _of_row(row)
    found = cron.due(policy.night_cron, policy.timezone, row.next_night_at, now)
    row.next_night_at = found.next_at
    row.save(by=WRITER, update_fields=["next_night_at"])
    return found.tick_at


def correct_nights(*, now: datetime) -> int:
    """Bring forward the nights that are later than the policy gives, set while a clock was ahead; return how many."""
    corrected = 0
    for row in MemoryPolicy.objects.filter(next_night_at__gt=now).order_by("tenant_id"):
        policy = _of_row(row)
        # The first night of a new tenant is no nearer than this either.
        after = now + QUIET_START
        following = cron.next_or_none(policy.night_cron, policy.timezone, after) if policy.nightly else None
        if following and row.next_night_at and following < row.next_night_at:
            own = MemoryPolicy.objects.written_by(WRITER).filter(
                tenant_id=row.tenant_id, next_night_at=row.next_night_at
            )
            corrected += own.update(next_night_at=following)
    return corrected


def checked_policy(
    scope: TenantScope, changes: dict[str, object], *, called: Mapping[str, str] | None = None
) -> Policy:
    """Return the policy with the changes, refused as ``change`` refuses it. Stores nothing."""
    scope.check("policies:manage")
    before = policy_of(scope.tenant_id)
    policy = Policy(**{**asdict(before), **changes})
    named = {name: [getattr(policy, name)] for name in IN_PLAIN if getattr(policy, name) != getattr(before, name)}
    problems = _problems(scope.tenant_id, policy)
    problems += [(name, vault.HOLDS) for name in vault.fields_with_secrets(scope.tenant_id, named)] if named else []
    if problems:
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
    if not TIME_OF_DAY.fullmatch(policy.night_at):
        found.append(("night_at", "must be a time of day, as 03:00"))
    if not 0 <= policy.distill_above <= MOST_DISTILL_ABOVE:
        found.append(("distill_above", f"must be 0 to {MOST_DISTILL_ABOVE:,} tokens"))
    if policy.distiller not in (EXTRACTIVE, ENDPOINT):
        found.append(("distiller", f"must be {EXTRACTIVE} or {ENDPOINT}"))
    if policy.forget_second_person and operators.count_owners(tenant_id) < 2:
        found.append(("forget_second_person", "needs two active owners, since only owners may forget"))
    distils, embeds = policy.distiller == ENDPOINT, bool(policy.embedding_url)
    for names, wanted in ((OF_ENDPOINT, distils), (OF_EMBEDDING, embeds)):
        found += _endpoint_problems(tenant_id, policy, names, wanted=wanted)
    return found


def _endpoint_problems(
    tenant_id: UUID, policy: Policy, names: tuple[str, str, str], *, wanted: bool
) -> list[tuple[str, str]]:
    """An address is checked even while it is not used: credentials in it would be stored in clear."""
    url, model, secret = ((name, getattr(policy, name)) for name in names)
    found = []
    if secret[1] and not vault.has_secret(tenant_id, secret[1]):
        found.append((secret[0], "is not the name of a secret of this tenant's vault"))
    if (wanted or url[1]) and not _is_address(url[1]):
        found.append((url[0], "must be an http or https address without credentials and query"))
    return found + [(name, "is needed for the endpoint") for name, value in (model, secret) if wanted and not value]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = not (parts.username or parts.password or parts.query or parts.fragment)
    return parts.scheme in ("http", "https") and named and plain
