"""The memory probes of the public fixtures (openwop-memory 2.5): ``core.identity`` with a ``memoryAction``.

They go through the same adapter, ledger and vault as every other node.
"""

import secrets as random_secrets
from collections.abc import Callable, Mapping
from datetime import timedelta

from memory.host import ids, vault
from memory.host.errors import NotFound
from memory.host.models import SecretScope
from memory.host.node_types import (
    MEMORY_READ,
    MEMORY_WRITE,
    Done,
    NodeContext,
    NodeFailure,
    OnReplay,
    Outcome,
    node_type,
)
from memory.text import token_budget

TOKEN_BUDGET = 64


def _tools(config: Mapping[str, object]) -> tuple[str, ...]:
    """A probe writes what it reads; without one the node touches no memory."""
    return (MEMORY_READ, MEMORY_WRITE) if config.get("memoryAction") is not None else ()


@node_type("core.identity", on_replay=OnReplay.CALLED, tools=_tools)
def identity(ctx: NodeContext) -> Outcome:
    """Its inputs are its outputs; with a ``memoryAction`` it carries out that probe as well."""
    action = ctx.config.get("memoryAction")
    if action is None:
        return Done(outputs=dict(ctx.inputs))
    if action not in PROBES:
        raise NodeFailure("memory_action_unknown", "This host knows no such memoryAction.")
    return Done(variables=PROBES[action](ctx, str(ctx.agent["memoryRef"])))


@node_type("conformance.requiresMissing", requires=("conformance.never-provided",))
def requires_missing(ctx: NodeContext) -> Outcome:
    """Is never called: no host provides what it requires."""
    return Done()


def write_then_read(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    memory_id = ctx.memory.write(memory_ref, f"round trip of {ids.wire('run', ctx.run.id)}", tags=["conformance"])
    return {"memoryReadback": ctx.memory.get(memory_ref, memory_id)}


def redaction_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Writes a secret's plaintext and reads back what was kept."""
    content = f"the provider answered to {_secret(ctx)} at once"
    memory_id = ctx.memory.write(memory_ref, content, tags=["conformance"])
    return {"memoryReadback": ctx.memory.get(memory_ref, memory_id)}


def _secret(ctx: NodeContext) -> str:
    """The plaintext of the secret that the node names; without one in the vault, the run gets its own."""
    name = str(ctx.config.get("byokSecretId", "conformance-secret"))
    try:
        return vault.resolve(ctx.run, name, now=ctx.now)
    except NotFound:
        owner = ids.wire("run", ctx.run.id)
        canary = f"canary-{random_secrets.token_hex(16)}"
        vault.put(ctx.run.tenant_id, name, canary, scope=SecretScope.RUN, owner=owner, now=ctx.now)
        return vault.resolve(ctx.run, name, now=ctx.now)


def ttl_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """One entry that lives for an hour, and one that was written two hours ago and expired one hour ago."""
    hour = timedelta(hours=1)
    fresh = ctx.memory.write(memory_ref, "fresh", tags=["conformance-ttl"], expires_at=ctx.now + hour)
    expired = ctx.memory.write(
        memory_ref, "expired", tags=["conformance-ttl"], expires_at=ctx.now - hour, now=ctx.now - 2 * hour
    )
    return {"memoryList": list(ctx.memory.list(memory_ref)), "freshId": fresh, "expiredId": expired}


def cross_tenant_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """An entry of its own, listed through its own ref and asked for through a ref of another tenant's shape."""
    own = ctx.memory.write(memory_ref, "owned by this tenant", tags=["conformance"])
    return {
        "ownerEntryId": own,
        "ownerProbe": list(ctx.memory.list(memory_ref, limit=10)),
        "crossTenantProbe": list(ctx.memory.list(str(ctx.config["probeMemoryRef"]), limit=10)),
    }


def list_budgeted(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Four entries, one of them larger than the budget: listed within it, by either rank, and through a foreign ref."""
    tag, budget = "conformance-budget", TOKEN_BUDGET
    relevant = ctx.memory.write(memory_ref, "the refund of order 17 was approved", tags=[tag])
    large = ctx.memory.write(memory_ref, "every word of this entry counts " * TOKEN_BUDGET, tags=[tag])
    secret = ctx.memory.write(memory_ref, f"the provider answered to {_secret(ctx)} at once", tags=[tag])
    newest = ctx.memory.write(memory_ref, "the weather was fine", tags=[tag])
    within = list(ctx.memory.list(memory_ref, tag=tag, token_budget=budget))
    by_rank = {
        rank: [entry["id"] for entry in ctx.memory.list(memory_ref, tag=tag, limit=4, rank=rank, query=query)]
        for rank, query in (("recency", ""), ("relevance", "refund of order 17"))
    }
    found = {entry["id"]: entry["content"] for entry in within}
    return {
        "tokenBudget": budget,
        "budgetedTokenTotal": sum(token_budget.count(content) for content in found.values()),
        "overBudgetEntryOmitted": large not in found and {relevant, newest} <= found.keys(),
        "overBudgetEntryId": large,
        "budgetedEntries": within,
        "redactedContentSample": found.get(secret, ""),
        "crossTenantBudgetedProbe": list(ctx.memory.list(str(ctx.config["probeMemoryRef"]), token_budget=budget)),
        "recencyOrder": by_rank["recency"],
        "relevanceOrder": by_rank["relevance"],
    }


PROBES: dict[str, Callable[[NodeContext, str], dict[str, object]]] = {
    "write-then-read": write_then_read,
    "redaction-probe": redaction_probe,
    "ttl-probe": ttl_probe,
    "cross-tenant-probe": cross_tenant_probe,
    "list-budgeted": list_budgeted,
}
