"""The emergency stop of what is installed: disabled and enabled again, by an operator, with a reason, on record.

What is disabled keeps its name and stays installed. No run uses it: one that needs it fails with ``artifact_disabled``,
and an automation starts nothing. What a proposal installs or restores in its place is enabled.
"""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from memory.host import access, audit, denials, registry
from memory.host.errors import Conflict, Forbidden, NotFound
from memory.host.models import Installation
from memory.host.tenancy import TenantScope
from memory.reasons import stored_reason

SCOPE = "artifacts:manage"
DISABLED, ENABLED, AGENT_REMOVED = "artifact.disabled", "artifact.enabled", "agent.removed"


def denial(scope: TenantScope) -> Forbidden | None:
    """Return why this principal may not disable or enable artifacts, or None."""
    if not scope.can(SCOPE):
        return Forbidden(f"This needs the permission {SCOPE}.", requiredScope=SCOPE)
    if scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents does not manage artifacts.", rule="agent-binding")
    return None


def find(scope: TenantScope, ref: str) -> Installation:
    """Return the installation ``ref`` of this tenant, current or superseded, or raise ``NotFound``."""
    scope.check("artifacts:read")
    found = registry.by_ref(scope.tenant_id, ref)
    if found is None:
        raise NotFound("Nothing is installed by that ref.")
    return found


def authorize(scope: TenantScope, *, now: datetime) -> None:
    """Raise the denial of a principal without the right, once it is recorded."""
    denied = denial(scope)
    if denied:
        denials.record(scope, denied, action=SCOPE, attempt="artifact.stop", now=now)
        raise denied


def disable(scope: TenantScope, ref: str, *, reason: str, now: datetime) -> Installation:
    """Disable the current version ``ref`` for all runs; disabling it again changes nothing."""

    def act(there: Installation, stored: str) -> bool:
        if there.disabled_at:
            return False
        _stop(there, by=scope.principal.id, reason=stored, now=now)
        return True

    return _change(scope, ref, DISABLED, reason, act, now)


def enable(scope: TenantScope, ref: str, *, reason: str, now: datetime) -> Installation:
    """Enable the current version ``ref`` for runs; enabling it again changes nothing."""

    def act(there: Installation, _stored: str) -> bool:
        if there.disabled_at is None:
            return False
        registry.mark_enabled(there)
        installer = registry.installer_of(there.kind)
        if installer:
            installer.on_current(there, now)
        return True

    return _change(scope, ref, ENABLED, reason, act, now)


def _change(
    scope: TenantScope,
    ref: str,
    action: str,
    reason: str,
    act: Callable[[Installation, str], bool],
    now: datetime,
) -> Installation:
    authorize(scope, now=now)
    stored = stored_reason(scope.tenant_id, reason, required=True)
    with transaction.atomic():
        access.lock_tenant(scope.tenant_id)
        there = registry.by_ref(scope.tenant_id, ref)
        if there is None:
            raise NotFound("Nothing is installed by that ref.")
        if there.superseded_at:
            raise Conflict(f"{ref} is not the current version; runs that start now do not use it.")
        if act(there, stored):
            audit_change(there, action, by=scope.principal.id, reason=stored, now=now)
    return there


def _stop(there: Installation, *, by: str, reason: str, now: datetime) -> None:
    registry.mark_disabled(there, by=by, reason=reason, now=now)
    installer = registry.installer_of(there.kind)
    if installer:
        installer.on_disabled(there, now)


def remove_agent(there: Installation, *, by: str, now: datetime) -> None:
    """Disable an agent whose manifest is removed. The caller has checked the principal and holds the tenant's lock."""
    _stop(there, by=by, reason="Removed.", now=now)
    audit_change(there, AGENT_REMOVED, by=by, reason="Removed.", now=now)


def audit_change(there: Installation, action: str, *, by: str, reason: str, now: datetime) -> None:
    """Record in the audit log who did it and why."""
    details = {"kind": there.kind, "sha256": there.sha256}
    audit.append(there.tenant_id, actor=by, action=action, target=there.ref, details=details, reason=reason, now=now)
