"""The artifact kind automation: an approved artifact that starts a workflow by time (RFC 0052).

The artifact has a schedule named ``automation/<name>``, which is created and removed with it and acts as the host. A
cron of six fields begins with the seconds, which must be 0, because this host's ticks have a resolution of a minute.
"""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from memory import redaction
from memory.host import cron, scheduling
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import ArtifactKind, Installation, MissedFirePolicy
from memory.host.registry import Installer, Problems
from memory.host.scheduling import HORIZON, HORIZON_TEXT, OF_AUTOMATION, ScheduleOrder
from memory.wire import instant
from openwop_console.runtime import chains

HOST = "host"
VERSION = "1.0.0"
ZONE = "UTC"
SECONDS = "names a second within the minute; of six fields the first must be 0"


def _name_and_version(document: JSONMapping) -> tuple[str, str]:
    return name_of(document), document.get("version", VERSION)


def name_of(document: JSONMapping) -> str:
    """The automation's name: its ``automationId``, else its workflow and a digest of its time.

    The digest distinguishes several automations of one workflow.
    """
    if "automationId" in document:
        name: str = document["automationId"]
        return name
    at = _fires_at(document)
    time = [_cron_of(document), instant(at) if at else "", document.get("timezone", ZONE)]
    return f"{document['workflowId']}.{hashlib.sha256(json.dumps(time).encode()).hexdigest()[:8]}"


def _cron_of(document: JSONMapping) -> str:
    """The cron expression in five fields; unchanged when it has six and its seconds are not 0."""
    fields = str(document.get("cron", "")).split()
    return " ".join(fields[1:] if len(fields) == 6 and fields[0] == "0" else fields)


def _fires_at(document: JSONMapping) -> datetime | None:
    """The instant of a one-time automation; None when it has none, or the instant is invalid."""
    try:
        return datetime.fromisoformat(str(document["fireAt"]).upper()).astimezone(UTC) if "fireAt" in document else None
    except (ValueError, OverflowError):
        return None


def _problems(tenant_id: UUID, document: JSONMapping) -> Problems:
    """(path, problem) pairs of an automation whose workflow or time this host cannot honour in this tenant."""
    return [*_of_workflow(tenant_id, document), *_of_time(document)]


def _of_workflow(tenant_id: UUID, document: JSONMapping) -> Problems:
    plan = chains.find(tenant_id, document["workflowId"])
    if plan is None:
        return [("$.workflowId", "is not a workflow of this tenant")]
    wrong = chains.input_problems(plan.definition, document.get("inputs", {}))
    return [(f"$.{problem['field']}", problem["message"]) for problem in wrong]


def _of_time(document: JSONMapping) -> Problems:
    expression = _cron_of(document)
    wrong = cron.problem_of(expression) if "cron" in document else ""
    found = [("$.cron", SECONDS if len(expression.split()) == 6 else wrong)] if wrong else []
    if "fireAt" in document and _fires_at(document) is None:
        found.append(("$.fireAt", "is an instant that no calendar has"))
    if not cron.is_zone(document.get("timezone", ZONE)):
        found.append(("$.timezone", "must be the name of an IANA time zone"))
    return found


def _untimely(document: JSONMapping, now: datetime) -> Problems:
    """(path, problem) pairs of an automation whose next tick is missing, past, or beyond the horizon."""
    at, expression = _fires_at(document), _cron_of(document)
    path = "$.fireAt" if at else "$.cron"
    tick_at = at or cron.next_after(expression, document.get("timezone", ZONE), now)
    if tick_at is None:
        return [(path, "names a day that no calendar has")]
    if tick_at <= now:
        return [(path, "must be in the future")]
    return [(path, f"is further ahead than {HORIZON_TEXT}")] if tick_at - now > HORIZON else []


def _create_schedule(installation: Installation, now: datetime) -> None:
    """Create or replace the automation's schedule from the artifact."""
    tenant_id, order = installation.tenant_id, _order_of(installation)
    there = scheduling.schedule_of_automation(tenant_id, installation.name)
    if there:
        scheduling.change(there, order, now=now)
    else:
        scheduling.create_schedule(tenant_id, order, now=now)


def _order_of(installation: Installation) -> ScheduleOrder:
    document: JSONObject = json.loads(installation.text)
    return ScheduleOrder(
        name=f"{OF_AUTOMATION}{installation.name}",
        workflow_id=document["workflowId"],
        principal=HOST,
        cron=_cron_of(document),
        timezone=document.get("timezone", ZONE),
        at=_fires_at(document),
        missed=document.get("missedTickPolicy", MissedFirePolicy.FIRE_ONCE),
        inputs=redaction.for_tenant(installation.tenant_id).redact_json(document.get("inputs", {})),
    )


def _remove_schedule(installation: Installation, _now: datetime) -> None:
    """Remove the automation's schedule; the runs it has started remain."""
    there = scheduling.schedule_of_automation(installation.tenant_id, installation.name)
    if there:
        scheduling.remove(there)


def _stopped(installation: Installation, now: datetime) -> None:
    """Disable the schedule of a disabled automation; the schedule, its ticks and its runs remain visible."""
    there = scheduling.schedule_of_automation(installation.tenant_id, installation.name)
    if there and there.enabled:
        scheduling.change(there, replace(scheduling.order_of(there), enabled=False), now=now)


INSTALLER = Installer(
    ArtifactKind.AUTOMATION,
    _name_and_version,
    problems=_problems,
    on_current=_create_schedule,
    on_superseded=_remove_schedule,
    on_disabled=_stopped,
    untimely=_untimely,
)
