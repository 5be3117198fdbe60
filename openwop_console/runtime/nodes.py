"""The basic node types of this host, one function each. A node maps its context to an outcome; its effects go through
``ctx.memory``, ``ctx.files``, the vault and the registry, and commit with its step."""

import json
import secrets as random_secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from memory.host import ids, registry, runs, vault
from memory.host.errors import NotFound
from memory.host.events import AgentDecided, AgentReasoned
from memory.host.json_schemas import config_problems
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import ArtifactKind, SecretScope
from memory.host.node_types import (
    FILES_READ,
    FILES_WRITE,
    MEMORY_READ,
    MEMORY_WRITE,
    Done,
    NodeContext,
    NodeFailure,
    OnReplay,
    Outcome,
    Sleep,
    node_type,
)
from memory.text import token_budget
from openwop_console.runtime.expressions import fill

LONGEST_DELAY_MS = 86_400_000
TAKEN = "task-taken"
TOKEN_BUDGET = 64
TEXT: JSONObject = {"type": "string"}
NAME: JSONObject = {"type": "string", "minLength": 1}
COUNT: JSONObject = {"type": "integer", "minimum": 0}
SECONDS: JSONObject = {"type": "integer", "minimum": 1, "maximum": 100 * 365 * 86_400}
SECRETS: JSONObject = {"type": "object", "additionalProperties": NAME}


def _of(*required: str, **members: JSONObject) -> Callable[[JSONMapping], list[tuple[str, str]]]:
    """The check of a node type whose config has those members, of which some are required, and no others."""
    closed = {"type": "object", "additionalProperties": False}
    return partial(config_problems, {**closed, "required": list(required), "properties": members})


@node_type("core.noop", on_replay=OnReplay.CALLED)
def noop(ctx: NodeContext) -> Outcome:
    return Done(outputs=dict(ctx.inputs))


@node_type("core.delay", on_replay=OnReplay.CALLED)
def delay(ctx: NodeContext) -> Outcome:
    """Finish ``delayMs`` after the node started; taken from the config, else the run's variable, else 1000."""
    wanted = ctx.config.get("delayMs", ctx.variables.get("delayMs", 1000))
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 <= wanted <= LONGEST_DELAY_MS:
        raise NodeFailure("delay_invalid", f"delayMs must be a number from 0 to {LONGEST_DELAY_MS}.")
    until = ctx.started_at + timedelta(milliseconds=wanted)
    return Done() if ctx.now >= until else Sleep(until)


@node_type("core.fail", on_replay=OnReplay.CALLED, logs_config=True)
def fail(ctx: NodeContext) -> Outcome:
    raise NodeFailure(str(ctx.config.get("code") or "node_failed"), "The workflow told this node to fail.")


@node_type("vendor.console.compose", on_replay=OnReplay.CALLED, check=_of(text=TEXT, template=NAME))
def compose(ctx: NodeContext) -> Outcome:
    """Fill an installed prompt template, or the config's ``text``, with the inputs."""
    template, ref = ctx.config.get("text", ""), None
    if "template" in ctx.config:
        installed = registry.resolve(
            ctx.run, ArtifactKind.PROMPT_TEMPLATE, ctx.config["template"], node_id=ctx.node_id, now=ctx.now
        )
        template, ref = json.loads(installed.text)["text"], installed.ref
    return Done(outputs={"text": fill(template, ctx.inputs), **({"promptRef": ref} if ref else {})})


@node_type(
    "vendor.console.recall",
    on_replay=OnReplay.CALLED,
    tools=(MEMORY_READ,),
    check=_of(memoryRef=NAME, limit=COUNT, tag=TEXT, query=TEXT, rank=TEXT, tokenBudget=COUNT),
)
def recall(ctx: NodeContext) -> Outcome:
    """List the agent's memory as entries and as one text, newest first or by ``rank``, within a ``tokenBudget``."""
    ref, tag = fill(_memory_ref(ctx), ctx.inputs), fill(ctx.config.get("tag", ""), ctx.inputs)
    found = ctx.memory.list(
        ref,
        limit=int(ctx.config.get("limit", 10)),
        tag=tag,
        token_budget=int(ctx.config.get("tokenBudget", 0)),
        rank=str(ctx.config.get("rank", "")),
        query=fill(ctx.config.get("query", ""), ctx.inputs),
    )
    return Done(outputs={"entries": list(found), "text": "\n".join(entry["content"] for entry in found)})


@node_type(
    "vendor.console.remember",
    on_replay=OnReplay.CALLED,
    tools=(MEMORY_WRITE,),
    check=_of(
        memoryRef=NAME,
        content=TEXT,
        tags={"type": "array", "items": TEXT},
        subject=TEXT,
        ttlSeconds=SECONDS,
        secrets=SECRETS,
    ),
)
def remember(ctx: NodeContext) -> Outcome:
    """Write the node's text to memory as the agent; ``ttlSeconds`` sets its expiry."""
    values = {**ctx.inputs, **_secrets(ctx)}
    ttl = ctx.config.get("ttlSeconds")
    memory_id = ctx.memory.write(
        fill(_memory_ref(ctx), values),
        fill(ctx.config.get("content", "{{content}}"), values),
        tags=[fill(tag, values) for tag in ctx.config.get("tags", [])],
        subject=fill(ctx.config.get("subject", ""), values),
        expires_at=ctx.now + timedelta(seconds=ttl) if ttl else None,
    )
    return Done(outputs={"memoryId": memory_id})


@node_type("vendor.console.dispatch", check=_of())
def dispatch(ctx: NodeContext) -> Outcome:
    """Log that the installed agent reasoned and took the task, without any content (RFC 0002, RFC 0070).

    The node calls no model, so it reports no confidence and escalates nothing.
    """
    agent_id = str(ctx.agent.get("agentId", ""))
    registry.resolve(ctx.run, ArtifactKind.AGENT, agent_id, node_id=ctx.node_id, now=ctx.now)
    facts = AgentReasoned(agent_id, node_id=ctx.node_id), AgentDecided(agent_id, TAKEN, ctx.node_id)
    runs.note(ctx.run, *facts, now=ctx.now)
    return Done(outputs={"decision": TAKEN})


@node_type("vendor.console.read-file", tools=(FILES_READ,), check=_of("path", path=NAME))
def read_file(ctx: NodeContext) -> Outcome:
    """Read a workspace file from the run's snapshot or its own writes."""
    found = ctx.files.read(fill(ctx.config["path"], ctx.inputs))
    if found is None:
        raise NodeFailure("workspace_file_missing", "The run sees no workspace file by that path.")
    return Done(outputs=found)


@node_type(
    "vendor.console.write-file",
    tools=(FILES_WRITE,),
    check=_of("path", path=NAME, content=TEXT, contentType=TEXT, secrets=SECRETS),
)
def write_file(ctx: NodeContext) -> Outcome:
    """Write the node's text as a new version of a workspace file; the outputs name the version."""
    values = {**ctx.inputs, **_secrets(ctx)}
    content = fill(ctx.config.get("content", "{{content}}"), values)
    content_type = str(ctx.config.get("contentType", "text/markdown"))
    return Done(outputs=ctx.files.write(fill(ctx.config["path"], values), content, content_type=content_type))


@node_type("vendor.console.effect", tools=(MEMORY_WRITE,), check=_of(memoryRef=NAME))
def effect(ctx: NodeContext) -> Outcome:
    """Simulate an external effect: write a marker entry to memory and return no outputs."""
    ctx.memory.write(_memory_ref(ctx), f"{ctx.node_id} has acted", tags=["effect"])
    return Done()


def _memory_ref(ctx: NodeContext) -> str:
    ref = ctx.config.get("memoryRef") or ctx.agent.get("memoryRef")
    if not isinstance(ref, str) or not ref:
        raise NodeFailure("memory_ref_missing", "The node has neither a memoryRef nor an agent that has one.")
    return ref


def _secrets(ctx: NodeContext) -> dict[str, str]:
    """The plaintexts of the secrets that the config names; each resolution is recorded for redaction."""
    wanted: Mapping[str, str] = ctx.config.get("secrets", {})
    return {name: vault.resolve(ctx.run, secret, now=ctx.now) for name, secret in wanted.items()}


def _tools(config: Mapping[str, object]) -> tuple[str, ...]:
    """A probe reads and writes memory; without one the node does neither."""
    return (MEMORY_READ, MEMORY_WRITE) if config.get("memoryAction") is not None else ()


@node_type("core.identity", on_replay=OnReplay.CALLED, tools=_tools)
def identity(ctx: NodeContext) -> Outcome:
    """Return the inputs as outputs; with a ``memoryAction``, run that probe and set its results as variables."""
    action = ctx.config.get("memoryAction")
    if action is None:
        return Done(outputs=dict(ctx.inputs))
    if action not in PROBES:
        raise NodeFailure("memory_action_unknown", "This host knows no such memoryAction.")
    return Done(variables=PROBES[action](ctx, str(ctx.agent["memoryRef"])))


@node_type("conformance.requiresMissing", requires=("conformance.never-provided",))
def requires_missing(ctx: NodeContext) -> Outcome:
    """Never called, because no host provides the required capability."""
    return Done()


def write_then_read(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    memory_id = ctx.memory.write(memory_ref, f"round trip of {ids.wire('run', ctx.run.id)}", tags=["conformance"])
    return {"memoryReadback": ctx.memory.get(memory_ref, memory_id)}


def redaction_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Write a secret's plaintext and read back the redacted entry."""
    content = f"the provider answered to {_secret(ctx)} at once"
    memory_id = ctx.memory.write(memory_ref, content, tags=["conformance"])
    return {"memoryReadback": ctx.memory.get(memory_ref, memory_id)}


def _secret(ctx: NodeContext) -> str:
    """The plaintext of the secret that the node names; if the vault has none, create one scoped to the run."""
    name = str(ctx.config.get("byokSecretId", "conformance-secret"))
    try:
        return vault.resolve(ctx.run, name, now=ctx.now)
    except NotFound:
        owner = ids.wire("run", ctx.run.id)
        canary = f"canary-{random_secrets.token_hex(16)}"
        vault.store_secret(ctx.run.tenant_id, name, canary, scope=SecretScope.RUN, owner=owner, now=ctx.now)
        return vault.resolve(ctx.run, name, now=ctx.now)


def ttl_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Write an entry that expires in an hour, and one backdated two hours that expired an hour ago; list both."""
    hour = timedelta(hours=1)
    fresh = ctx.memory.write(memory_ref, "fresh", tags=["conformance-ttl"], expires_at=ctx.now + hour)
    expired = ctx.memory.write(
        memory_ref, "expired", tags=["conformance-ttl"], expires_at=ctx.now - hour, now=ctx.now - 2 * hour
    )
    return {"memoryList": list(ctx.memory.list(memory_ref)), "freshId": fresh, "expiredId": expired}


def cross_tenant_probe(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Write an entry; list it through its own ref, and through a ref of another tenant's shape."""
    own = ctx.memory.write(memory_ref, "owned by this tenant", tags=["conformance"])
    return {
        "ownerEntryId": own,
        "ownerProbe": list(ctx.memory.list(memory_ref, limit=10)),
        "crossTenantProbe": list(ctx.memory.list(str(ctx.config["probeMemoryRef"]), limit=10)),
    }


def list_budgeted(ctx: NodeContext, memory_ref: str) -> dict[str, object]:
    """Write four entries, one larger than the budget; list them within it, by each rank, and through a foreign ref."""
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
