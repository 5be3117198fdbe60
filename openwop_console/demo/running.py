"""Runs of the demo: ordered like anybody's, with a key of the tenant, and executed by the engine."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory.host import access, runs, tenancy
from memory.host.models import ApiKey, Run, Tenant
from memory.host.tenancy import TenantScope
from openwop_console.demo.story import Errand, Story
from openwop_console.runtime import engine, intake
from openwop_console.runtime.run_options import RunRequest

Clock = Callable[[], datetime]
INSTANCE = "seed"
RESTS = runs.ENDS | runs.WAITING
PATIENCE = timedelta(seconds=60)
POLL = 0.01


class RunStalled(RuntimeError):
    """A run of the demo neither ends nor waits for anybody."""


@contextmanager
def with_a_key(tenant: Tenant, story: Story, clock: Clock) -> Iterator[TenantScope]:
    """The scope of a key of the tenant's agents. Nobody is told its text, and it opens nothing afterwards."""
    revoke_keys(tenant, story, clock)
    agents = tuple(agent["agentId"] for agent in story.agents)
    key = access.create_api_key(tenant, role="agent", agents=agents, name=story.key, now=clock())
    try:
        yield tenancy.tenant_scope(tenancy.key_principal(key.text, now=clock()))
    finally:
        revoke_keys(tenant, story, clock)


def revoke_keys(tenant: Tenant, story: Story, clock: Clock) -> None:
    """No key that a seeding made opens anything, that of one that was interrupted neither."""
    for key in ApiKey.objects.of(tenant.id).filter(name=story.key, revoked_at=None):
        access.revoke_api_key(tenant.id, key.id, now=clock())


def happened(tenant_id: UUID, errands: list[Errand]) -> dict[str, Run]:
    """The runs of those errands that were ordered, by the errands' keys."""
    keys = [errand.key for errand in errands]
    return {run.metadata["demo"]: run for run in Run.objects.of(tenant_id).filter(metadata__demo__in=keys)}


@transaction.atomic
def order(scope: TenantScope, errand: Errand, *, now: datetime) -> Run:
    """The errand's run. It is ordered once, by however many seedings at the same moment."""
    Tenant.objects.select_for_update().get(id=scope.tenant_id)
    there: Run | None = Run.objects.of(scope.tenant_id).filter(metadata__demo=errand.key).first()
    metadata = {**errand.metadata, "demo": errand.key}
    request = RunRequest(
        errand.workflow, inputs=errand.inputs, agent_id=errand.agent, tags=errand.tags, metadata=metadata
    )
    return there or intake.create_run(scope, request, now=now)


def to_rest(tenant_id: UUID, run_id: UUID, clock: Clock) -> bool:
    """The run has ended or waits for somebody; whether it had not before. A worker may have had part in it."""
    deadline = clock() + PATIENCE
    run = before = runs.find(tenant_id, run_id)
    while run.status not in RESTS:
        if clock() > deadline:
            raise RunStalled(f"run {run_id} is {run.status}")
        engine.advance(tenant_id, run_id, holder=f"{INSTANCE}/{os.getpid()}", clock=clock)
        run = runs.find(tenant_id, run_id)
        if run.status not in RESTS:
            time.sleep(POLL)
    return before.status not in RESTS
