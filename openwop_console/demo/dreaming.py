"""Passes of the demo: asked for by the host itself, each in one window for good, and carried out on the spot."""

import os
import time

from memory import background, passes
from memory.background import Wanted
from memory.host import tenancy
from memory.host.models import Tenant
from openwop_console.demo import running
from openwop_console.demo.running import Clock, RunStalled

WINDOW = "demo"
MAY = tenancy.RUN_SCOPES | {"passes:run"}


def carry_out(tenant: Tenant, wanted: Wanted, clock: Clock) -> bool:
    """The pass is over; whether it was not before. A worker may have taken it."""
    scope = tenancy.host_scope(tenant, scopes=MAY)
    work = found = background.order(scope, wanted, window=WINDOW, now=clock())
    deadline = clock() + running.PATIENCE
    while found.state not in passes.OVER:
        if clock() > deadline:
            raise RunStalled(f"pass {found.id} is {found.state}")
        holder = f"{running.INSTANCE}/{os.getpid()}"
        ended = background.carry_out(tenant.id, found.id, holder=holder, clock=clock)
        if ended is None:
            time.sleep(running.POLL)
        found = ended or passes.find(tenant.id, found.id) or found
    return work.state not in passes.OVER
