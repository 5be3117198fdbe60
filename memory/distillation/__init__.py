"""Distillation: a ref's entries, or an explicit source set, become one archive within a budget of tokens (RFC 0062).

Sources are read and weighed without a transaction; entry, archive, lineage, index, ``memory.compacted`` and the end of
the pass are one. What was made of sources that were forgotten meanwhile, or that another pass has made, is made again.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from memory import ledger, passes, policies
from memory.distillation import gathering, making, settling
from memory.distillation.comparing import Comparison, compare
from memory.distillation.options import MAX_TOKEN_BUDGET, Asked, checked
from memory.distillation.settling import Overtaken
from memory.host import tenancy
from memory.host.errors import Conflict
from memory.models import Pass

__all__ = ["KIND", "MAX_TOKEN_BUDGET", "Comparison", "carry_out", "checked", "compare"]

KIND = "distill"
ATTEMPTS = 3

Clock = Callable[[], datetime]


def carry_out(work: Pass, *, clock: Clock) -> None:
    """The ref has an archive of its sources as they were read, and the pass is done; or nothing is.

    Refuses with ``TokenBudgetExceeded`` when nothing meaningful fits the budget, with ``Invalid`` when there is nothing
    to distil, and with ``EndpointFailed`` when the endpoint of the policy gave no usable answer.
    """
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    ledger.require_writable(scope, work.run)
    ledger.require_durable("memory.distillation")
    asked, policy = Asked.of(work.options), policies.policy_of(work.tenant_id)
    for _ in range(ATTEMPTS):
        keep_until = clock() + timedelta(days=policy.archive_days)
        gathered = gathering.gather(work, scope, asked, keep_until, clock)
        work_done = making.Commission(work, scope, gathered, asked, policy, keep_until)
        try:
            if work.dry_run:
                passes.finish(work, outcome=making.planned(work_done, clock), now=clock())
            elif settling.same_work(work_done, now=clock()):
                settling.tell_again(work_done, now=clock())
            else:
                settling.store(work_done, making.made(work_done, clock), now=clock())
        except Overtaken:
            continue
        return
    raise Conflict("The sources of the archive were forgotten or distilled, again and again, while it was being made.")
