"""The list of runs: its filter, its pages, newest first, all of it for a file, and the runs that failed lately."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory import external_runs
from memory.adapter import statistics
from memory.host import registry, sql
from memory.host.models import ForkMode, Run, RunStatus
from memory.host.paging import cut
from memory.host.tenancy import TenantScope

# How far a list counts what matches, and how many runs it looks at for what no index has.
COUNTED, SEARCHED = 10_000, 20_000
# The filter that leaves the host's own workflows out, and how many runs are asked for who started them.
CLIENTS, RECENT = "clients", 500
# The filter of a status that is none: every run that has not ended, without the logs of the host, which never do.
UNFINISHED = "unfinished"
# The codes of runs that a decision ended, and how long before its failure a run may have begun.
DECIDED = Q(error__code__startswith="approval_") | Q(error__code="changes_requested")
LONGEST_FAILING = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; empty means all. Created at ``since`` or later, and before ``until``.

    ``workflow_part`` is the id of a workflow, or else a part of one or of what the list calls a run elsewhere, in
    letters of either case. Runs of several workflows, by a stated name, of an ``agent``, ``started_by`` a principal, or
    that took ``at_least`` so long have no index in the order of the list: they are looked for among the newest
    ``SEARCHED``. A run of an ``agent`` was started for it, here or elsewhere, or has used a version of it.
    ``started_by`` may be ``CLIENTS``: all but the host's own workflows; ``status`` may be ``UNFINISHED``.
    """

    workflow: str = ""
    status: str = ""
    since: datetime | None = None
    until: datetime | None = None
    workflow_part: str = ""
    agent: str = ""
    at_least: timedelta = timedelta()
    started_by: str = ""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, how many match, and the id to continue after; beyond ``COUNTED`` the total is a lower bound.
    ``searched`` is how many were looked at, where not all were."""

    runs: list[Run]
    total: int
    inexact: bool
    after: UUID | None
    searched: int = 0


def run_page(scope: TenantScope, wanted: RunFilter, *, before: UUID | None = None, size: int = 50) -> RunPage:
    """Return the tenant's runs, newest first; ``before`` is the last id of the page before."""
    rows, searched = _runs(scope, wanted)
    found, last = cut(list(_older(scope, rows, before)[: size + 1]), size)
    counted = rows.order_by().values("id")[: COUNTED + 1].count()
    return RunPage(found, min(counted, COUNTED), counted > COUNTED, last.id if last else None, searched)


def failed_since(scope: TenantScope, since: datetime) -> QuerySet[Run]:
    """Return the runs that failed since then and have no branch, oldest first; a refused approval is no failure.

    A replay repeats its source without effects: its failure is the source's, which it does not mend.
    """
    rows, _ = _runs(scope, RunFilter(status=RunStatus.FAILED, since=since - LONGEST_FAILING))
    branches = Run.objects.of(scope.tenant_id).filter(source_run_id=OuterRef("id"), fork_mode=ForkMode.BRANCH)
    rows = rows.filter(completed_at__gte=since).exclude(DECIDED)
    return rows.exclude(fork_mode=ForkMode.REPLAY).filter(~Exists(branches)).order_by("created_at", "id")


def cancellable(scope: TenantScope, wanted: RunFilter, *, most: int) -> tuple[list[Run], int]:
    """Return the unfinished runs among those that match which a client can cancel and has not, newest first, at most
    ``most`` of them; and how many there are, counted up to ``COUNTED``."""
    scope.check("runs:cancel")
    rows, _ = _runs(scope, replace(wanted, status=wanted.status or UNFINISHED))
    rows = rows.filter(completed_at=None, system=False, external=False).exclude(status=RunStatus.CANCELLING)
    return list(rows[:most]), rows.order_by().values("id")[:COUNTED].count()


def acting_agents(scope: TenantScope, listed: Sequence[Run]) -> dict[UUID, list[str]]:
    """Return the agents of each of these runs: its own, then those that its nodes have used, in order of use."""
    scope.check("runs:read")
    acting = {run.id: [run.agent_id] if run.agent_id else [] for run in listed}
    for run_id, agent_id in registry.agents_used_by(scope.tenant_id, acting) if acting else ():
        if agent_id not in acting[run_id]:
            acting[run_id].append(agent_id)
    return acting


def recent_starters(scope: TenantScope) -> set[str]:
    """Return the principals that started the newest ``RECENT`` runs."""
    rows, _ = _runs(scope, RunFilter())
    return set(rows.values_list("principal", flat=True)[:RECENT])


def export_runs(scope: TenantScope, wanted: RunFilter) -> Iterator[Run]:
    """Yield all runs that match, newest first, read in chunks for a file."""
    (rows, _), before = _runs(scope, wanted), None
    while chunk := list(_older(scope, rows, before)[: sql.CHUNK]):
        yield from chunk
        before = chunk[-1].id


def _runs(scope: TenantScope, wanted: RunFilter) -> tuple[QuerySet[Run], int]:
    """The runs that match, newest first, and among how many of the newest they were looked for; 0 is all of them."""
    scope.check("runs:read")
    rows = Run.objects.of(scope.tenant_id).defer("inputs", "variables", "configurable", "metadata")
    part = wanted.workflow_part
    named, or_stated = _workflows_named(scope, part) if part else ([wanted.workflow], False)
    is_one = len(named) == 1 and not or_stated
    asked = {
        "workflow_id": named[0] if is_one else "" if named else external_runs.WORKFLOW,
        "status": wanted.status if wanted.status != UNFINISHED else "",
        "created_at__gte": wanted.since,
        "created_at__lt": wanted.until,
    }
    rows = rows.filter(**{field: value for field, value in asked.items() if value}).order_by("-created_at", "-id")
    rows = rows.filter(completed_at=None, system=False) if wanted.status == UNFINISHED else rows
    if is_one and not wanted.agent and not wanted.at_least and not wanted.started_by:
        return rows, 0
    first = rows.values_list("created_at", "id")[SEARCHED : SEARCHED + 1].first()
    rows = rows.filter(created_at__gte=first[0]) if first else rows
    if or_stated:
        # The bound on their ids keeps either engine from reading more of these than of the runs.
        stated = external_runs.find_named(scope, part).filter(id=OuterRef("id"))
        stated = stated.filter(id__gte=first[1]) if first else stated
        rows = rows.filter(Q(workflow_id__in=named) | Q(Exists(stated), workflow_id=external_runs.WORKFLOW))
    elif not is_one:
        rows = rows.filter(workflow_id__in=named)
    if wanted.agent:
        # The bound is that of the runs: a run is there before it uses anything.
        uses = registry.uses_of_agent(scope.tenant_id, wanted.agent).filter(run_id=OuterRef("id"))
        uses = uses.filter(id__gte=first[1]) if first else uses
        rows = rows.filter(Q(agent_id=wanted.agent) | Exists(uses))
    rows = rows.filter(completed_at__gte=F("started_at") + wanted.at_least) if wanted.at_least else rows
    if wanted.started_by == CLIENTS:
        rows = rows.filter(system=False)
    elif wanted.started_by:
        rows = rows.filter(principal=wanted.started_by)
    return rows, SEARCHED if first else 0


def _workflows_named(scope: TenantScope, part: str) -> tuple[list[str], bool]:
    """The id of a workflow that runs have, or those that ``part`` is in, and whether it can be in what agents elsewhere
    state of their runs; the part itself when there is nothing that it can be in."""
    known = statistics.workflow_ids(scope.tenant_id)
    named = [name for name in known if part.casefold() in name.casefold()]
    or_stated = part not in known and external_runs.WORKFLOW in known
    return ([part] if part in known or not (named or or_stated) else named), or_stated


def _older(scope: TenantScope, rows: QuerySet[Run], before: UUID | None) -> QuerySet[Run]:
    """The rows older than the run ``before``; all rows without one."""
    last = Run.objects.of(scope.tenant_id).filter(id=before).only("created_at").first() if before else None
    return rows.filter(sql.behind("created_at", last.created_at, last.id)) if last else rows
