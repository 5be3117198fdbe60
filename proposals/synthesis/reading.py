"""The traces of one tenant, read for the rules: its own runs of the last thirty days, and what stands around them.

No other tenant's row is ever looked at. How many queries that takes does not depend on how many runs there are, but for
one more of each kind for every few hundred.
"""

from datetime import datetime
from uuid import UUID

from memory import policies
from proposals.miners.traces import Traces
from proposals.synthesis import executed, said, standing
from proposals.synthesis.learnable import Sieve

MOST_RUNS = executed.MOST_RUNS


def traces_of(tenant_id: UUID, *, now: datetime) -> Traces:
    """What the newest ``MOST_RUNS`` runs have left behind; what was forgotten or hidden is not in it."""
    sieve = Sieve(tenant_id)
    programs = executed.programs_of(tenant_id)
    runs = executed.runs_of(tenant_id, sieve, now=now)
    return Traces(
        runs=tuple(executed.traced(each, sieve, programs) for each in runs),
        corrections=tuple(said.corrections_of(tenant_id, runs, sieve, programs)),
        readings=tuple(said.readings_of(tenant_id, runs, sieve, now=now)),
        firings=standing.firings_of(tenant_id, sieve, now=now),
        agents=standing.agents_of(tenant_id),
        prompts=standing.prompts_of(tenant_id),
        schedules=standing.schedules_of(tenant_id),
        chains=standing.chains_of(tenant_id),
        timezone=policies.policy_of(tenant_id).timezone,
    )


def count_of(tenant_id: UUID, *, now: datetime) -> int:
    """How many runs there were to look at, however many of them were."""
    return int(executed.ended_since(tenant_id, now=now).count())


def have_run_since(tenant_id: UUID, since: datetime | None, *, now: datetime) -> bool:
    """Whether a run of the tenant's own has ended since then, within what would be looked at."""
    rows = executed.ended_since(tenant_id, now=now)
    return bool((rows.filter(completed_at__gt=since) if since else rows).exists())
