"""Rows of namespaces. A namespace with too many rules is refused.

Each change of one goes on the audit log, at the end of its transaction: the chain is the last lock that anybody takes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memory import addresses
from memory.host import audit, ids
from memory.host.errors import Invalid
from memory.models import Namespace

WRITER = "memory.namespaces"
CHANGED, MADE = "namespace.changed", "namespace.created"
MAX_RULES = 500
Rules = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Permissions:
    """What is to hold: of what is None nothing changes."""

    default: str | None = None
    allow: Rules | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A namespace that was made or changed, which is not on record yet."""

    row: Namespace
    action: str


def locked(tenant_id: UUID, name: str) -> Namespace | None:
    found: Namespace | None = Namespace.objects.of(tenant_id).select_for_update().filter(name=name).first()
    return found


def got(tenant_id: UUID, name: str) -> Namespace:
    """The same, of one that is there."""
    row: Namespace = Namespace.objects.of(tenant_id).select_for_update().get(name=name)
    return row


@transaction.atomic
def insert(tenant_id: UUID, name: str, given: Permissions, creator: str, now: datetime) -> Changed | None:
    """The namespace, when this call made it: of two at once, one does."""
    row = Namespace(
        tenant_id=tenant_id,
        name=name,
        default=given.default or "read",
        allow=given.allow or [],
        created_by=creator,
        created_at=now,
        updated_at=now,
    )
    _require_few(row.allow)
    try:
        with transaction.atomic():
            row.insert(by=WRITER)
    except IntegrityError:
        return None
    return Changed(row, MADE)


def rewrite(row: Namespace, wanted: Permissions, now: datetime) -> Changed:
    """The locked namespace in its next version."""
    row.default = row.default if wanted.default is None else wanted.default
    row.allow = row.allow if wanted.allow is None else wanted.allow
    _require_few(row.allow)
    row.version, row.updated_at = row.version + 1, now
    row.save(by=WRITER, update_fields=["default", "allow", "version", "updated_at"])
    return Changed(row, CHANGED)


def put_on_record(changed: Iterable[Changed], *, actor: str, now: datetime) -> None:
    """The audit log has them; it keeps for good what it is told: an id and numbers, no name."""
    for each in changed:
        row = each.row
        details: dict[str, Any] = {"version": row.version, "default": row.default, "rules": len(row.allow)}
        target = ids.wire("ns", row.id)
        audit.append(row.tenant_id, actor=actor, action=each.action, target=target, details=details, now=now)


def erase_kept(row: Namespace, **values: Any) -> None:
    """The namespace says this from now on, in the columns that named somebody. For forgetting alone."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(by=WRITER, update_fields=list(values))


def _require_few(rules: Rules) -> None:
    if len(rules) > MAX_RULES:
        problem = {"field": "permissions.allow", "message": f"has at most {MAX_RULES} rules"}
        raise Invalid("The permissions are not valid.", errors=[problem])
    if not all(addresses.is_agent_id(each["agent"]) for each in rules):
        problem = {"field": "permissions.allow", "message": f"an agent's id {addresses.AGENT_ID}"}
        raise Invalid("The permissions are not valid.", errors=[problem])
