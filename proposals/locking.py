"""The lock of a proposal, together with the activation that is under way.

The run is locked first and the proposal after it, as the engine takes them when it installs; so neither waits for the
other in a circle.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db import transaction

from memory.host import runs, sql
from memory.host.errors import NotFound
from memory.host.models import Run, RunStatus
from proposals import gate
from proposals.models import Gate, GateState, Proposal


@dataclass(frozen=True, slots=True)
class Held:
    """A locked proposal, and its gate under way with the locked run that asks; both or neither."""

    proposal: Proposal
    gate: Gate | None = None
    run: Run | None = None

    def activation(self) -> tuple[Gate, Run]:
        """The gate and its run; for steps that ``rules`` allows only while one is under way."""
        if self.gate is None or self.run is None:
            raise RuntimeError("no activation is under way")
        return self.gate, self.run


class _Moved(Exception):
    """A gate was opened or closed while its run was waited for; the locks taken are let go."""


def lock(tenant_id: UUID, proposal_id: UUID | None, *, now: datetime) -> Held:
    """The proposal and what is under way, locked until the transaction ends; ``NotFound`` when this tenant has none."""
    if proposal_id is None:
        raise NotFound("There is no proposal by that id.")
    while True:
        with suppress(_Moved), transaction.atomic():
            return _lock_as_it_stands(tenant_id, proposal_id, now)


def _lock_as_it_stands(tenant_id: UUID, proposal_id: UUID, now: datetime) -> Held:
    seen = gate.under_way(tenant_id, proposal_id)
    run = runs.locked(tenant_id, seen.run_id) if seen else None
    proposal = lock_proposal(tenant_id, proposal_id)
    found = gate.under_way(tenant_id, proposal_id)
    if (found and found.id) != (seen and seen.id):
        raise _Moved
    if found and run and run.status == RunStatus.CANCELLING:
        gate.close(found, GateState.CANCELLED, now=now)
        return Held(proposal)
    return Held(proposal, found, run)


def lock_proposal(tenant_id: UUID, proposal_id: UUID) -> Proposal:
    """The proposal alone, locked; for the engine's node, whose run is locked already."""
    found = _locked().fetch(sql.key(tenant_id), sql.key(proposal_id))
    if not found:
        raise NotFound("There is no proposal by that id.")
    return found[0]


@cache
def _locked() -> sql.Prepared[Proposal]:
    anyone = UUID(int=0)
    return sql.Prepared(Proposal.objects.of(anyone).filter(id=anyone).select_for_update())
