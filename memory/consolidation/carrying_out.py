"""A pass from its beginning to its end, whoever began it: its one event, its outcome, what the next one needs.

One that was taken over goes on where the other left off: what is on record as done counts, and is not done again.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.db import transaction

from memory import adapter, harness, ledger, lineage, passes, reconciled, similarity
from memory.consolidation.acting import Acting, Totals
from memory.consolidation.looking import Look, look
from memory.consolidation.planning import Change, planned
from memory.host import event_log, ids, tenancy
from memory.host.errors import Invalid
from memory.host.events import MemoryConsolidated
from memory.host.tenancy import MemoryScope
from memory.models import LineageKind, Pass
from memory.reconciled import Standing
from memory.similarity import Signatures

KIND = "consolidate"
ENUMERATED = 100
SHOWN = 200

Clock = Callable[[], datetime]


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """``full`` looks at everything again, whatever is known of the ref."""
    errors = [{"field": name, "message": "is no option of a consolidation"} for name in sorted(set(options) - {"full"})]
    if not isinstance(options.get("full", False), bool):
        errors.append({"field": "full", "message": "must be true or false"})
    if errors:
        raise Invalid("The options of the consolidation are not valid.", errors=errors)
    return options


def carry_out(work: Pass, *, clock: Clock) -> None:
    """The ref is consolidated, its event on record once, and the pass done. A dry run writes its outcome alone."""
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    ledger.require_writable(scope, work.run)
    ledger.require_durable("agents.memoryConsolidation")
    seen, redact = look(work, scope, clock), harness.for_derived(work.tenant_id)
    changes = planned(seen, redact)
    if work.dry_run:
        passes.finish(work, outcome=_foreseen(seen, changes), now=clock())
        return
    before = Totals(**work.outcome.get("totals", {}))
    work.outcome |= _outcome(seen, before, before) | _reasons(work, changes)
    acting = Acting(work, scope, redact, seen.strengths, before)
    acting.act(changes, clock)
    _end(scope, seen, acting, before, now=clock())


@transaction.atomic
def _end(scope: MemoryScope, seen: Look, acting: Acting, before: Totals, *, now: datetime) -> None:
    work, done = acting.work, acting.done
    outcome = _outcome(seen, done, before) | _reasons(work, ())
    counts = outcome["inputCount"], outcome["outputCount"]
    fact = MemoryConsolidated(work.memory_ref, *counts, merged_ids(work), work.trigger)
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    _keep(scope, seen, acting, before, now=now)
    passes.finish(work, outcome=outcome, now=now)


def leave_off(work: Pass, *, now: datetime) -> dict[str, Any]:
    """The outcome of a pass that ends short of its end: its one event tells what it did, if it did anything."""
    done = Totals(**work.outcome.get("totals", {}))
    if done == Totals():
        return {}
    outcome = _figures(work.outcome["inputCount"], work.outcome["tokensBefore"], done)
    counts = outcome["inputCount"], outcome["outputCount"]
    fact = MemoryConsolidated(work.memory_ref, *counts, merged_ids(work), work.trigger)
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    return outcome | _reasons(work, ())


def merged_ids(work: Pass) -> Any:
    """The entries that this pass took away, or None when they are more than a hundred."""
    found = lineage.of_pass(work.tenant_id, work.id, limit=ENUMERATED + 1)
    return tuple(each.source_id for each in found) if len(found) <= ENUMERATED else None


def _outcome(seen: Look, done: Totals, before: Totals) -> dict[str, Any]:
    """What the whole pass has done; ``before`` is what was done of it before the look."""
    count = seen.figures.entries + before.merged + before.superseded
    return _figures(count, seen.figures.tokens + before.tokens, done)


def _figures(count: int, tokens: int, done: Totals) -> dict[str, Any]:
    return {
        "inputCount": count,
        "outputCount": count - done.merged - done.superseded,
        "merged": done.merged,
        "superseded": done.superseded,
        "strengthened": done.strengthened,
        "written": done.written,
        "tokensBefore": tokens,
        "tokensAfter": tokens - done.tokens,
    }


def _reasons(work: Pass, changes: Sequence[Change]) -> dict[str, Any]:
    """The first sources that are superseded, each with the word for why; those that are on record stay."""
    why = dict(work.outcome.get("reasons", {}))
    for change in changes:
        if change.kind == LineageKind.SUPERSEDED:
            why |= {ids.wire("mem", entry.id): change.why for entry in change.sources[: SHOWN - len(why)]}
    return {"reasons": why} if why else {}


def _foreseen(seen: Look, changes: Sequence[Change]) -> dict[str, Any]:
    """What would be done if nobody else touched the ref, with the first groups, by ids alone."""
    merges = [change for change in changes if change.kind == LineageKind.MERGED]
    written = sum(change.lacking for change in changes)
    sources = [sum(len(change.sources) for change in each) for each in (merges, changes)]
    tokens = sum(entry.tokens for change in changes for entry in change.sources)
    totals = Totals(sources[0], sources[1] - sources[0], len(merges), written, tokens)
    groups = [
        {
            "kind": change.kind,
            "into": ids.wire("mem", change.target.id),
            "from": [ids.wire("mem", entry.id) for entry in change.sources[:SHOWN]],
            "why": change.why,
        }
        for change in changes[:SHOWN]
    ]
    return {**_outcome(seen, totals, Totals()), "groups": groups, "groupCount": len(changes)}


def _keep(scope: MemoryScope, seen: Look, acting: Acting, before: Totals, *, now: datetime) -> None:
    """What the next pass starts from: the signatures of what is left, and how the ledger stands if only we wrote."""
    done, tenant = acting.done, scope.tenant_id
    head = adapter.head(tenant)
    alone = head == seen.head + done.steps - before.steps
    left = Standing(
        similarity.METHOD,
        head if alone else -1,
        seen.figures.entries - (done.merged - before.merged) - (done.superseded - before.superseded),
        seen.figures.tokens - (done.tokens - before.tokens),
        seen.figures.until,
        seen.known.chunks if seen.known else 0,
    )
    store = reconciled.add if seen.known else reconciled.replace
    store(tenant, scope.memory_ref, left, _chunks(seen, acting), now=now)


def _chunks(seen: Look, acting: Acting) -> list[bytes]:
    """The signatures of what was read and is left, of what was new when the rest was known; none of nothing."""
    read = seen.reading.statements
    wanted = [each.id not in acting.hidden and (not seen.known or each.id in seen.fresh) for each in read]
    if not any(wanted):
        return []
    return [Signatures.of(seen.reading, np.array(wanted, dtype=bool)).to_bytes()]
