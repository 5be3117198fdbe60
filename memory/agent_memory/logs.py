"""The runs whose streams are the logs of OpenIntent's agents and intents: who reads them, and what they are called."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from memory.agent_memory import readership
from memory.host import ids
from memory.host.errors import Forbidden
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Intent, Task
from memory.tiers import READ, Caller
from memory.work.rows import AGENT_LOG, INTENT_LOG


def is_log(run: Run) -> bool:
    """Whether the run executes nothing: it is as long as its agent or its intent is known."""
    return run.system and run.workflow_id in {AGENT_LOG, INTENT_LOG}


def require_readable(scope: TenantScope, run: Run, *, now: datetime) -> None:
    """Refuse a key that is bound to agents, of which none may read all of the log that ``run`` is (R27, R91)."""
    if not is_readable(scope, run, now=now):
        rule = "intent-log" if run.workflow_id == INTENT_LOG else "agent-stream"
        raise Forbidden("This run is a log of OpenIntent, which is not for the agents of this key.", rule=rule)


def is_readable(scope: TenantScope, run: Run, *, now: datetime) -> bool:
    """Whether the run is no log, or one for this principal: the events of OpenWOP on it name every task and namespace,
    so a part of it, as a grant on one task opens, is read at its OpenIntent address alone."""
    bound = scope.principal.agent_ids
    if bound is None or not is_log(run):
        return True
    return scope.can(READ) and any(_reads(Caller(scope, agent_id), run, now) for agent_id in sorted(bound))


def _reads(caller: Caller, run: Run, now: datetime) -> bool:
    if run.workflow_id == AGENT_LOG:
        found = readership.readable_agent(caller, run.agent_id, now=now)
    else:
        found = readership.readable_intent(caller, ids.wire("intent", run.id), now=now)
    return found is not None and found.tasks is None


def names_of(scope: TenantScope, runs: Iterable[Run]) -> dict[UUID, str]:
    """What those of ``runs`` that are logs are called. An intent's title is for who may read memory."""
    logs = [run for run in runs if is_log(run)]
    intents = [run.id for run in logs if run.workflow_id == INTENT_LOG]
    told = Intent.objects.of(scope.tenant_id).filter(id__in=intents) if scope.can(READ) else Intent.objects.none()
    titles = dict(told.values_list("id", "title")) if intents else {}
    return {run.id: _name(run, titles.get(run.id, "")) for run in logs}


def _name(run: Run, title: str) -> str:
    if run.workflow_id == AGENT_LOG:
        return f"Agent {run.agent_id}, over OpenIntent"
    return f"Intent: {title or ids.wire('intent', run.id)}"


def tasks_of(scope: TenantScope, run: Run) -> dict[str, str]:
    """The names of the tasks of the intent whose log the run is, by their wire ids, for who may read memory."""
    if not is_log(run) or run.workflow_id != INTENT_LOG or not scope.can(READ):
        return {}
    rows = Task.objects.of(scope.tenant_id).filter(intent_id=run.id).values_list("id", "name")
    return {ids.wire("task", task_id): name for task_id, name in rows}
