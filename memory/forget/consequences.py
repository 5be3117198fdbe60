"""What a forget means beyond the rows that it erases: memory that is distilled anew, runs whose event logs stay, and
backups that keep the subject until they expire."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory import adapter
from memory.host import audit, erasure, ids
from memory.host.audit import AuditFilter
from memory.host.erasure import Holding
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Archive, ForgetRequest
from memory.passes import archives
from memory.wire import instant

ARCHIVES: str = Archive.personal.store
BACKED_UP = "host.backed_up"
RUNS_SHOWN = 20
BACKUPS_READ = 100


def foresee(tenant_id: UUID, holdings: Sequence[Holding], *, now: datetime) -> dict[str, JSONObject]:
    """By store: what is kept with the plan of a preview, beside its counts. ``rebuild`` is the number of memory refs to
    distil anew; ``runs`` is the number of runs in which what goes was written or stands, ``runsShown`` the last of
    them."""
    going = {each.store: each.erase for each in holdings}
    entries = going.get(erasure.ENTRIES, ())
    rebuilt = archives.count_rebuilt(tenant_id, going.get(ARCHIVES, ()), entries, now=now)
    runs = sorted(adapter.forget.runs_of(tenant_id, entries) | _runs_with(tenant_id, going))
    shown = [run.hex for run in runs[-RUNS_SHOWN:]]
    return {ARCHIVES: {"rebuild": rebuilt}, erasure.ENTRIES: {"runs": len(runs), "runsShown": shown}}


def _runs_with(tenant_id: UUID, going: Mapping[str, Sequence[UUID]]) -> set[UUID]:
    """The runs whose own pages show some of these rows: inputs, outputs, calls."""
    found: set[UUID] = set()
    for eraser in erasure.registered():
        places = eraser.found_in(tenant_id, rows) if (rows := going.get(eraser.store)) else {}
        found |= {run for place in set(places.values()) if (run := ids.parse("run", place))}
    return found


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the database that is not known to be gone; ``until`` is None for one of which no end is known."""

    made_at: datetime
    until: datetime | None


def backups_of(tenant_id: UUID, *, now: datetime) -> list[Backup]:
    """The backups on record that may exist still, newest first; the host does not know of others."""
    records = audit.newest(tenant_id, AuditFilter(action=BACKED_UP), limit=BACKUPS_READ)
    ends = [(each.occurred_at, each.details.get("expiresAt")) for each in records]
    found = [Backup(at, datetime.fromisoformat(end) if end else None) for at, end in ends]
    return [each for each in found if each.until is None or each.until > now]


def record_backup(tenants: Iterable[UUID], *, expires_at: datetime | None, now: datetime) -> None:
    """Put on record, in each tenant, that the database was copied, and when the copy is to be gone."""
    for tenant_id in tenants:
        details = {"expiresAt": instant(expires_at)}
        audit.append(tenant_id, actor="host", action=BACKED_UP, details=details, now=now)


def runs_of(scope: TenantScope, found: ForgetRequest) -> tuple[list[Run], int]:
    """The last of the runs whose event logs stay, newest first, and how many there are."""
    kept = found.plan.get(erasure.ENTRIES, {})
    wanted = [UUID(hex=run) for run in kept.get("runsShown", ())]
    rows = Run.objects.of(scope.tenant_id).filter(id__in=wanted).order_by("-id")
    return list(rows), kept.get("runs", 0)
