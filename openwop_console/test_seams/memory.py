"""The seams of the passes over memory: ``/v1/host/sample/memory/...`` and ``/v1/test/memory/...`` (openwop-memory 2).

Each is the pass that anybody may ask for, carried out while its caller waits; what it tells is read back from the log
of the pass's run. A ref that holds nothing gets a small corpus first (openwop-memory 11).
"""

import json
import time
from collections.abc import Iterator
from datetime import datetime

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import adapter, passes, redaction, tasks, workspace
from memory.entry_drafts import EntryDraft
from memory.host import errors, ids, runs, slots, tenancy
from memory.host.errors import Busy, Refusal
from memory.host.http import COUNT, SHA256, TEXT, TIME, also, checked, closed, listed, operation
from memory.host.json_types import JSONObject
from memory.host.tenancy import MemoryScope, TenantScope, scope_of
from memory.models import Archive, Pass, PassState
from memory.passes import compaction, orders
from memory.passes.orders import Wanted
from openwop_console.runtime import streams
from openwop_console.test_seams import principals
from openwop_console.test_seams import serializers as wire
from openwop_console.test_seams.principals import seam

SCOPE = "passes:run"
INDEX = "MEMORY-INDEX.json"
INDEXED = ("version", "archiveChecksum", "entryCount", "updatedAt")
PATIENCE_S = 10
LOOK_EVERY = 0.05
KNOWN = {
    kind.code: kind
    for kind in (
        errors.CapabilityNotProvided,
        errors.EndpointFailed,
        errors.Invalid,
        errors.NothingToCompact,
        errors.PassCancelled,
        errors.TokenBudgetExceeded,
    )
}
RECENT = (
    "The espresso machine in the showroom is descaled on the first Monday of the month.",
    "Customers in Norwich have hard water, so their machines are set to level four.",
    "A swollen pump seal is replaced once under warranty, as goodwill.",
    "Parcels for Poland are sorted in Leipzig and take two days longer.",
    "The leaflet names grind sizes for espresso and filter, and none for Arabic coffee.",
)
STANDING = (
    "The Pro plan costs $49 per month.",
    "Invoices are sent on the first working day of the month.",
    "The Pro plan costs $49 per month.",
    "Support answers in English, Polish and German.",
    "Invoices are sent on the first working day of the month.",
    "The Pro plan costs $59 per month.",
)
FLAG = {"type": "boolean"}
EVENT = {"type": "object"}
INDEX_FILE = closed(version=COUNT, archiveChecksum=SHA256, entryCount=COUNT, updatedAt=TIME)
DISTILLED = also(
    closed("SeamDistilled", event=EVENT, archiveChecksum=SHA256, indexUpdated=FLAG, runId=TEXT),
    indexFile=INDEX_FILE,
    secretLeaked=FLAG,
)
CONSOLIDATED = closed("SeamConsolidated", event=EVENT, secretLeaked=FLAG, runId=TEXT)
SEEDED = closed("SeamSeeded", plantedIds=listed(TEXT), seeded=COUNT)
COMPACTED = closed("SeamCompacted", type={"const": "memory.compacted"}, payload=EVENT, outputContent=TEXT, runId=TEXT)


@operation("seamDistillMemory", scope=SCOPE, takes=wire.DistillMemory, gives={200: DISTILLED}, tag="seams", waits=True)
@api_view(["POST"])
@seam
def distill(request: Request) -> Response:
    given = checked(wire.DistillMemory, request.data).validated_data
    scope, canary = scope_of(request), given.get("includeSecretCanary", False)
    options = {
        name: given[name] for name in ("tokenBudget", "targetTokens", "indexEmitted", "sources") if name in given
    }
    memory = _memory(scope, Wanted("distill", given["memoryRef"], options))
    if "sources" in options:
        options["sources"] = _clean_sources(scope, options["sources"], canary=canary, now=timezone.now())
    else:
        _planted(memory, RECENT, canary=canary, now=timezone.now())
    work = _done(scope, Wanted("distill", memory.memory_ref, options))
    outcome = work.outcome
    leaked = {"secretLeaked": principals.leaks(scope.tenant_id, _distilled(memory, work))} if canary else {}
    index = {"indexFile": _index_file(scope)} if outcome["indexUpdated"] else {}
    told = {name: outcome[name] for name in ("archiveChecksum", "indexUpdated")}
    return Response({"event": _fact(scope, work, "memory.compacted"), **told, **index, **leaked, **_run(work)})


@operation(
    "seamConsolidateMemory",
    scope=SCOPE,
    takes=wire.ConsolidateMemory,
    gives={200: CONSOLIDATED},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def consolidate(request: Request) -> Response:
    given = checked(wire.ConsolidateMemory, request.data).validated_data
    scope, wanted = scope_of(request), Wanted("consolidate", given["memoryRef"])
    memory = _memory(scope, wanted)
    _planted(memory, STANDING, canary=given.get("includeSecretCanary", False), now=timezone.now())
    work = _done(scope, wanted)
    leaked = principals.leaks(scope.tenant_id, _stored(memory))
    event = _fact(scope, work, "agent.memory.consolidated")
    return Response({"event": event, "secretLeaked": leaked, **_run(work)})


@operation("seamSeedMemory", scope=f"{SCOPE} memory:write", takes=wire.SeedMemory, gives={201: SEEDED}, tag="seams")
@api_view(["POST"])
@seam
def seed(request: Request) -> Response:
    """The entries are there. Their ids are the ledger's, given back in the order of the request's."""
    given = checked(wire.SeedMemory, request.data).validated_data
    memory = _memory(scope_of(request), Wanted("compact", given["memoryRef"]))
    drafts = [EntryDraft(each["content"], tuple(each.get("tags", ()))) for each in given["entries"]]
    written = principals.plant(memory, drafts, now=timezone.now())
    return Response({"plantedIds": [ids.wire("mem", each.id) for each in written], "seeded": len(written)}, status=201)


@operation(
    "seamCompactMemory",
    scope=SCOPE,
    takes=wire.CompactMemory,
    gives={200: COMPACTED, 204: None},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def compact(request: Request) -> Response:
    """Two live entries or more are one; with fewer there is nothing to say (204)."""
    given = checked(wire.CompactMemory, request.data).validated_data
    options = {name: min(given[name], most) for name, most in compaction.LIMITS.items() if name in given}
    scope, wanted = scope_of(request), Wanted("compact", given["memoryRef"], options)
    memory = _memory(scope, wanted)
    work = _over(scope, wanted)
    if work.code == errors.NothingToCompact.code:
        return Response(status=204)
    _require_done(work)
    payload = _fact(scope, work, "memory.compacted")
    made_id = ids.parse("mem", payload["outputId"])
    made = adapter.get_entry(memory, made_id, now=timezone.now()) if made_id else None
    assert made is not None, "what was compacted is there"
    return Response({"type": "memory.compacted", "payload": payload, "outputContent": made.content, **_run(work)})


def _memory(scope: TenantScope, wanted: Wanted) -> MemoryScope:
    """The ref that a pass may be asked for over; refused as the pass itself would be, before anything is written."""
    found = tenancy.memory_scope(scope, orders.checked(scope, wanted).memory_ref)
    assert found is not None, "it was checked"
    return found


def _planted(memory: MemoryScope, texts: tuple[str, ...], *, canary: bool, now: datetime) -> None:
    """A ref that holds nothing holds ``texts``, and one that is to hold a canary holds it twice."""
    drafts = [EntryDraft(text, ("conformance",)) for text in texts] if principals.is_empty(memory, now=now) else []
    principals.plant(memory, drafts, canary=canary, now=now)


def _clean_sources(scope: TenantScope, sources: list[JSONObject], *, canary: bool, now: datetime) -> list[JSONObject]:
    """What a suite wants distilled, without the tenant's secrets: a pass keeps what it was asked."""
    spoken = [{"content": principals.spoken_canary(scope, now=now), "tags": []}] if canary else []
    found: list[JSONObject] = redaction.for_tenant(scope.tenant_id).redact_json([*sources, *spoken])
    return found


def _done(scope: TenantScope, wanted: Wanted) -> Pass:
    """The pass, done; refused with what it was refused with."""
    work = _over(scope, wanted)
    _require_done(work)
    return work


def _over(scope: TenantScope, wanted: Wanted) -> Pass:
    """The pass once it is over, whoever carried it out: a worker may have been faster, and another may come first."""
    work = orders.order(scope, wanted, now=timezone.now())
    found, deadline = _carried_out(work), time.monotonic() + PATIENCE_S
    while found.state not in passes.OVER:
        if time.monotonic() >= deadline:
            raise Busy("The pass takes longer than a seam waits.", retryAfterMs=1000)
        with slots.aside():
            time.sleep(LOOK_EVERY)
        found = _carried_out(work)
    return found


def _carried_out(work: Pass) -> Pass:
    """The pass as it stands after this process has tried to take it."""
    found = passes.find(work.tenant_id, work.id) or work
    if found.state != PassState.WAITING:
        return found
    with slots.aside():
        return tasks.carry_out(work.tenant_id, work.id) or found


def _require_done(work: Pass) -> None:
    if work.state != PassState.DONE:
        kind: type[Refusal] = KNOWN.get(work.code, errors.Internal)
        said = runs.find(work.tenant_id, work.run_id).error or {}
        raise kind(said.get("message"), **work.outcome.get("details", {}))


def _fact(scope: TenantScope, work: Pass, kind: str) -> JSONObject:
    """What the log of the pass's run says of it."""
    events, _ = streams.whole_log(scope, work.run_id, now=timezone.now())
    return next(event.payload for event in events if event.type == kind)


def _run(work: Pass) -> dict[str, str]:
    return {"runId": ids.wire("run", work.run_id)}


def _index_file(scope: TenantScope) -> JSONObject:
    document = json.loads(workspace.read_file(scope, INDEX).content)
    return {name: document[name] for name in INDEXED}


def _stored(memory: MemoryScope) -> Iterator[str]:
    """Every text that can be read under the ref."""
    for chunk in adapter.corpus(memory, now=timezone.now()):
        for entry in chunk:
            yield "\n".join((entry.content, *entry.tags, entry.subject))


def _distilled(memory: MemoryScope, work: Pass) -> Iterator[str]:
    """The archive, the index, and every text that can be read under the ref."""
    found = Archive.objects.of(work.tenant_id).filter(sha256=work.outcome["archiveChecksum"])
    yield from (bytes(row.body).decode() for row in found)
    yield from (file.content for file in workspace.list_files(memory.tenant, prefix="MEMORY-INDEX"))
    yield from _stored(memory)
