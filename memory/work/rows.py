"""Rows of agents, intents and tasks, found and made. An intent and an agent have a run whose stream is their log."""

import json
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.host import ids, runs
from memory.host.models import Run
from memory.host.run_orders import RunOrder
from memory.models import Agent, Intent, Task

WRITER = "memory.work"
AGENT_LOG, INTENT_LOG = "openintent-agent", "openintent-intent"


def agent(tenant_id: UUID, agent_id: str, *, now: datetime) -> Agent:
    """The agent's row, made at its first sight, with a stream of its own. Not locked."""
    rows = Agent.objects.of(tenant_id).filter(agent_id=agent_id)
    found: Agent | None = rows.first()
    if found:
        return found
    try:
        with transaction.atomic():
            run = _log(tenant_id, AGENT_LOG, agent_id, now)
            made = Agent(tenant_id=tenant_id, agent_id=agent_id, run_id=run.id, created_at=now, updated_at=now)
            return made.insert(by=WRITER)
    except IntegrityError:  # somebody else made it first
        row: Agent = rows.get()
        return row


def locked_agent(tenant_id: UUID, agent_id: str, *, now: datetime) -> Agent:
    """The same, locked until the transaction ends: under this lock an agent's entries are counted."""
    rows = Agent.objects.of(tenant_id).select_for_update()
    known: Agent | None = rows.filter(agent_id=agent_id).first()
    row: Agent = known or rows.get(id=agent(tenant_id, agent_id, now=now).id)
    return row


def task(tenant_id: UUID, text: str, *, lock: bool = False) -> Task | None:
    """The task of the host behind the id as a client sends it, or None; never an error."""
    task_id = ids.parse("task", text)
    if task_id is None:
        return None
    rows = Task.objects.of(tenant_id).select_for_update() if lock else Task.objects.of(tenant_id)
    found: Task | None = rows.filter(id=task_id).first()
    return found


def intent(tenant_id: UUID, text: str) -> Intent | None:
    """The intent of the host behind the id as a client sends it, or None; never an error."""
    intent_id = ids.parse("intent", text)
    found: Intent | None = Intent.objects.of(tenant_id).filter(id=intent_id).first() if intent_id else None
    return found


def open_log(tenant_id: UUID, agent_id: str, *, now: datetime) -> Run:
    """A run whose stream is the log of a new intent."""
    return _log(tenant_id, INTENT_LOG, agent_id, now)


def _log(tenant_id: UUID, workflow_id: str, agent_id: str, now: datetime) -> Run:
    """A system run that executes nothing: its stream is the log, and the ledger names it as the run that wrote."""
    order = RunOrder(workflow_id, _definition(workflow_id), "host", agent_id=agent_id, system=True)
    run = runs.open_run(tenant_id, order, now=now, ready=False)
    runs.start(runs.find(tenant_id, run.id), snapshot_position=0, now=now)
    return run


@cache
def _definition(workflow_id: str) -> str:
    names = {AGENT_LOG: "An agent of OpenIntent", INTENT_LOG: "An intent of OpenIntent"}
    document = {
        "id": workflow_id,
        "name": names[workflow_id],
        "version": "1.0",
        "nodes": [],
        "edges": [],
        "triggers": [],
        "variables": [],
        "metadata": {},
        "settings": {},
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


def erase_kept(row: Any, **values: Any) -> None:
    """The row says this from now on, in the columns that named somebody. For forgetting alone."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(by=WRITER, update_fields=list(values))
