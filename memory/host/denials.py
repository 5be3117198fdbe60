"""The only place that records what an authenticated principal tried without the right to (openwop-host 2.2, 2.4).

A denial is an audit record and an ``authorization.decided`` event, in a transaction of its own, so both stay although
the request is refused. To bound floods, the same act of the same principal is recorded once a minute.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory.host import audit, event_log, runs
from memory.host.errors import Forbidden
from memory.host.events import AuthorizationDecided
from memory.host.models import Run, RunStatus
from memory.host.tenancy import TenantScope

ACTION = "authorization.denied"
ONCE_IN = timedelta(seconds=60)
UNTOLD = runs.ENDS | {RunStatus.PENDING}


def record(
    scope: TenantScope,
    refusal: Forbidden,
    *,
    action: str,
    attempt: str = "",
    resource: str = "",
    run_id: UUID | None = None,
    now: datetime,
) -> None:
    """Record the denial, and mark ``refusal`` so that it is not recorded again.

    ``action`` is the denied act, ``attempt`` its name in the audit log, ``resource`` the id of its object. The event
    goes to the log of the run ``run_id`` while that is under way, and to the tenant's own log otherwise.
    """
    refusal.on_record = True
    reason = str(refusal.details.get("rule", "missing-scope"))
    details = {"action": attempt or action, "reason": reason}
    if "requiredScope" in refusal.details:
        details["requiredScope"] = refusal.details["requiredScope"]
    act = {"actor": scope.principal.id, "action": ACTION, "target": resource}
    if audit.is_on_record(scope.tenant_id, within=ONCE_IN, **act, details=details, now=now):
        return
    about = resource or scope.principal.tenant_slug
    decided = AuthorizationDecided(scope.principal.id, action, about, allowed=False, reason=reason)
    with transaction.atomic():
        _append_to_run(scope.tenant_id, run_id, decided, now)
        if audit.append_once(scope.tenant_id, within=ONCE_IN, **act, details=details, now=now) is None:
            transaction.set_rollback(True)  # the same denial was recorded concurrently, with its event


def _append_to_run(tenant_id: UUID, run_id: UUID | None, decided: AuthorizationDecided, now: datetime) -> None:
    """Append the event. A run that has not begun or has ended takes none: its first and last events are its own."""
    rows = Run.objects.of(tenant_id).select_for_update(of=("self",)).exclude(status__in=UNTOLD)
    run = rows.filter(id=run_id).first() if run_id else None
    if run:
        runs.note(run, decided, now=now)
    else:
        event_log.append_to_tenant(tenant_id, decided, now=now)
