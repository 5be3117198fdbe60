"""Artifacts in force: the current version of each, its origin, and the runs that use it. Reads only."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, OuterRef, QuerySet, Subquery, When

from memory.host import registry, scheduling, sql
from memory.host.models import ArtifactKind, Definition, Installation, Resolution, Run, Schedule
from memory.host.paging import Page, read_all, read_page
from memory.host.tenancy import TenantScope
from proposals.models import Kind, Proposal, Purpose, State, Vote

SCOPE = "artifacts:read"
VERSIONS_SHOWN = RUNS_SHOWN = 20
SCHEDULES_SHOWN = 100
# The number up to which the uses of an artifact are counted.
COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Uses:
    """The number of runs that resolved an artifact or a part of it, counted up to ``COUNTED``, and the time of the last
    one."""

    total: int = 0
    last_at: datetime | None = None

    @property
    def count(self) -> str:
        return f"{COUNTED:,}+" if self.total > COUNTED else f"{self.total:,}"


@dataclass(frozen=True, slots=True)
class InForce:
    """A current version, when it came into force, the proposal it came through, and when it fires next."""

    installation: Installation
    since: datetime
    proposal: Proposal | None
    uses: Uses
    next_at: datetime | None


def page(
    scope: TenantScope, *, kind: str = "", disabled: bool | None = None, before: UUID | None, size: int
) -> Page[InForce]:
    """Return a page of what the tenant's runs resolve now, the latest installed first; a part of a pack is shown with
    its pack."""
    found = read_page(_current(scope, kind, disabled), before, size)
    return found.with_rows(_in_force(scope.tenant_id, found.rows))


def every(scope: TenantScope, *, kind: str = "", disabled: bool | None = None) -> Iterator[InForce]:
    """Iterate over the whole list, for an export."""
    rows = _current(scope, kind, disabled)
    return (row for chunk in read_all(rows) for row in _in_force(scope.tenant_id, chunk))


def _current(scope: TenantScope, kind: str, disabled: bool | None) -> QuerySet[Installation]:
    scope.check(SCOPE)
    rows: QuerySet[Installation] = Installation.objects.of(scope.tenant_id)
    rows = rows.filter(superseded_at=None, part_of_id=None)
    rows = rows.filter(kind=kind) if kind else rows
    return rows if disabled is None else rows.filter(disabled_at__isnull=not disabled)


def _in_force(tenant_id: UUID, rows: list[Installation]) -> list[InForce]:
    proposals, uses, ticks = _applied(tenant_id, [row.ref for row in rows]), uses_of(tenant_id, rows), _ticks(rows)
    return [
        InForce(
            row,
            _since(row, proposals.get(row.ref)),
            proposals.get(row.ref),
            uses[row.id],
            ticks.get(f"{scheduling.OF_AUTOMATION}{row.name}") if row.kind == ArtifactKind.AUTOMATION else None,
        )
        for row in rows
    ]


def _since(row: Installation, through: Proposal | None) -> datetime:
    """Return when the version came into force: its rollback, if it was rolled back to, else its installation."""
    rolled_back = through and through.purpose == Purpose.ROLLBACK and through.closed_at
    return rolled_back or row.installed_at


def _applied(tenant_id: UUID, refs: Collection[str]) -> dict[str, Proposal]:
    """Return the proposal that was applied last for each of these versions."""
    rows = Proposal.objects.of(tenant_id).filter(state=State.APPLIED, installed_ref__in=refs)
    return {str(row.installed_ref): row for row in rows.order_by("closed_at")}


def _ticks(rows: list[Installation]) -> dict[str, datetime]:
    names = [f"{scheduling.OF_AUTOMATION}{row.name}" for row in rows if row.kind == ArtifactKind.AUTOMATION]
    if not names:
        return {}
    found = Schedule.objects.of(rows[0].tenant_id).filter(name__in=names, next_at__isnull=False)
    return {name: next_at for name, next_at in found.values_list("name", "next_at") if next_at}


def uses_of(tenant_id: UUID, rows: Collection[Installation]) -> dict[UUID, Uses]:
    """Return the uses of each version, its parts included.

    A workflow's uses are the runs started with its text; the last use is taken from all runs of the workflow.
    """
    parts = Installation.objects.of(tenant_id).filter(part_of_id__in=[row.id for row in rows])
    whole = {row.id: row.id for row in rows} | {part: of for part, of in parts.values_list("id", "part_of_id") if of}
    pinned = Definition.objects.of(tenant_id).filter(sha256__in=[row.sha256 for row in rows if _is_workflow(row)])
    pins = {sha256: [pin] for sha256, pin in pinned.values_list("sha256", "id")}
    lists: dict[str, object] = {}
    for row in rows:
        own = [part for part, of in whole.items() if of == row.id]
        lists[row.id.hex] = (
            Run.objects.of(tenant_id).filter(definition_id__in=pins.get(row.sha256, []))
            if _is_workflow(row)
            else Resolution.objects.of(tenant_id).filter(installation_id__in=own)
        )
    counts, last = sql.counts(lists, up_to=COUNTED + 1), _last_uses(tenant_id, whole)
    return {row.id: Uses(counts[row.id.hex], last.get(row.id) if counts[row.id.hex] else None) for row in rows}


def _is_workflow(row: Installation) -> bool:
    return row.kind == ArtifactKind.WORKFLOW


def _last_uses(tenant_id: UUID, whole: Mapping[UUID, UUID]) -> dict[UUID, datetime]:
    """Return when each version was used last; ``whole`` maps a part to the version it belongs to."""
    resolved = Resolution.objects.of(tenant_id).filter(installation_id=OuterRef("id")).order_by("-id")
    started = Run.objects.of(tenant_id).filter(workflow_id=OuterRef("name")).order_by("-created_at", "-id")
    used = Installation.objects.of(tenant_id).filter(id__in=list(whole))
    used = used.annotate(resolved_at=Subquery(resolved.values("resolved_at")[:1]))
    used = used.annotate(
        started_at=Case(When(kind=ArtifactKind.WORKFLOW, then=Subquery(started.values("created_at")[:1])))
    )
    last: dict[UUID, datetime] = {}
    for part, *times in used.values_list("id", "resolved_at", "started_at"):
        for at in filter(None, times):
            last[whole[part]] = max(at, last.get(whole[part], at))
    return last


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a name; ``again_at`` is when it was last rolled back to."""

    installation: Installation
    again_at: datetime | None


@dataclass(frozen=True, slots=True)
class Use:
    """A run that used a version: the node and, for a pack, the part of it."""

    run: Run
    at: datetime
    node_id: str = ""
    part_ref: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The origin of a version and the other versions of its name, the latest installed first."""

    versions: list[Version]
    versions_total: int
    proposal: Proposal | None
    votes: list[Vote]
    uses: Uses
    latest: list[Use]


def history_of(scope: TenantScope, installation: Installation) -> History:
    """Return the history of one installed version, current or not."""
    tenant_id = scope.tenant_id
    known = registry.versions(tenant_id, installation.kind, installation.name)
    shown = known[:VERSIONS_SHOWN]
    applied = _applied(tenant_id, {installation.ref, *(each.ref for each in shown)})
    through = applied.get(installation.ref)
    again = {ref: each.closed_at for ref, each in applied.items() if each.purpose == Purpose.ROLLBACK}
    votes = Vote.objects.of(tenant_id).filter(gate_id=through.approval_id) if through and through.approval_id else ()
    return History(
        versions=[Version(each, again.get(each.ref)) for each in shown],
        versions_total=len(known),
        proposal=through if scope.can("proposals:read") else None,
        votes=list(votes.order_by("id")) if votes else [],
        uses=uses_of(tenant_id, [installation])[installation.id],
        latest=_latest_runs(installation) if _is_workflow(installation) else _latest_uses(installation),
    )


def _latest_uses(installation: Installation) -> list[Use]:
    own = [installation.id, *(each.id for each in registry.parts_of(installation))]
    rows = registry.uses_of(installation.tenant_id, own, limit=RUNS_SHOWN)
    return [
        Use(
            row.run,
            row.resolved_at,
            row.node_id,
            "" if row.installation_id == installation.id else str(row.installation.ref),
        )
        for row in rows
    ]


def _latest_runs(installation: Installation) -> list[Use]:
    """Return the newest runs of the workflow; none once this version is superseded."""
    if installation.superseded_at:
        return []
    rows = Run.objects.of(installation.tenant_id).filter(workflow_id=installation.name)
    return [Use(row, row.created_at) for row in rows.order_by("-created_at", "-id")[:RUNS_SHOWN]]


def can_be_proposed(installation: Installation) -> bool:
    """Return whether a proposal can roll back to it; the parts of a pack are installed and removed with the pack."""
    return installation.kind in Kind.values and installation.part_of_id is None


def schedules(scope: TenantScope) -> Page[Schedule] | None:
    """Return the schedules that start runs, those of automations too, by name; None without the permission."""
    if not scope.can("schedules:read"):
        return None
    rows: QuerySet[Schedule] = Schedule.objects.of(scope.tenant_id)
    return read_page(rows, "", SCHEDULES_SHOWN, order="name")
