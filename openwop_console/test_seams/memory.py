"""The seams over memory: passes, commitments and the workspace (openwop-memory 2), with their bodies.

A pass is one that a caller may order, carried out while the caller waits; the answer is read from the log of its run. A
ref that holds nothing gets a small corpus first (openwop-memory 11). A commitment fires like any other: a ref without
one of that kind first gets an entry with an intention, from which it is inferred, then the condition is met; called
again, the seam reads what is on record and fires nothing. The owners of the workspace seam are tenants of its own, made
for its caller, so isolation is real and no tenant of the host can be reached by naming it.
"""

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import adapter, commitments, ledger, passes, redaction, tasks, workspace
from memory.api import serializers as wire
from memory.api.workspace import FileParser
from memory.entry_drafts import EntryDraft
from memory.host import access, errors, event_log, ids, registry, request_slots, runs, tenancy, vault
from memory.host.errors import Busy, Conflict, NotFound, Refusal
from memory.host.events import CommitmentFired
from memory.host.http import COUNT, SHA256, TEXT, TIME, AnyField, Closed, Text, also, checked, closed, listed, operation
from memory.host.json_types import JSONObject
from memory.host.models import Run, SecretScope
from memory.host.runs import RunOrder
from memory.host.tenancy import MemoryScope, TenantScope, scope_of
from memory.ledger.entries import Written
from memory.models import Archive, Commitment, CommitmentState, Condition, Firing, Pass, PassState
from memory.passes import compaction, distillation, orders
from memory.passes.orders import RequestedPass
from memory.text import intentions
from memory.text.encodings import forms_of
from memory.workspace import DEFAULT_CONTENT_TYPE, FileDraft, Precondition
from openwop_console.runtime import commitment_firing, streams
from openwop_console.test_seams import seam

SCOPE = "passes:run"
WORKFLOW = "conformance-noop"
CANARY = "conformance-canary"
RESTATED = "conformance-restated"
SPOKEN = "The provider was called with {canary} and answered at once."
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
Given = JSONObject
NEEDS = {"list": "workspace:read", "get": "workspace:read", "put": "workspace:write", "delete": "workspace:write"}
CANARY_IN_TEXT = re.compile(r"INTENT-CANARY-[0-9a-f]{16}")
INTENTIONS = {
    Condition.TIME: "Remind the team in 5 minutes to look at the queue{canary}.",
    Condition.PREDICATE: "Remind the team when the conformance invoice clears{canary}.",
}
LONG_AGO = timedelta(minutes=10)
FIRED = also(closed("SeamCommitmentFired", event={"type": "object"}, fireCount=COUNT, runId=TEXT), intentionCanary=TEXT)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "object",
                "required": ["content"],
                "properties": {"content": {"type": "string", "minLength": 1}, "tags": listed({"type": "string"})},
            },
        ]
    }
)
class Source(AnyField):
    """A text, or an object with a text; what else that says is not looked at, but for its tags."""

    def to_internal_value(self, data: Any) -> JSONObject:
        given = {"content": data} if isinstance(data, str) else data
        tags = given.get("tags", []) if isinstance(given, dict) else None
        sound = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if not sound or not isinstance(given.get("content"), str) or not given["content"]:
            raise serializers.ValidationError("must be a text, or an object with a text as content")
        return {"content": given["content"], "tags": tags}


class DistillMemory(Closed):
    """What to distil, and how much it may cost."""

    memoryRef = Text()
    tokenBudget = serializers.IntegerField(min_value=1, required=False)
    targetTokens = serializers.IntegerField(min_value=1, required=False)
    sources = serializers.ListField(child=Source(), required=False, allow_empty=False, max_length=1000)
    indexEmitted = serializers.BooleanField(required=False)
    includeSecretCanary = serializers.BooleanField(required=False)


class ConsolidateMemory(Closed):
    """What to consolidate."""

    memoryRef = Text()
    includeSecretCanary = serializers.BooleanField(required=False)


class SeededEntry(Closed):
    """An entry as a suite names it; the ledger gives it an id of its own."""

    id = Text()
    content = Text()
    tags = serializers.ListField(child=Text(), required=False)


class SeedMemory(Closed):
    """Entries that are to be there."""

    memoryRef = Text()
    entries = serializers.ListField(child=SeededEntry(), allow_empty=False, max_length=1000)


class CompactMemory(Closed):
    """What to compact; more than the host does at once is as much as it does at once."""

    memoryRef = Text()
    maxInputEntries = serializers.IntegerField(min_value=1, required=False)
    maxOutputBytes = serializers.IntegerField(min_value=1, required=False)


class FireCommitment(Closed):
    """Of which ref a commitment is to fire, and by which kind of condition."""

    memoryRef = Text()
    condition = serializers.ChoiceField(choices=Condition.choices)
    includeIntentionCanary = serializers.BooleanField(required=False)


@operation("seamDistillMemory", scope=SCOPE, takes=DistillMemory, gives={200: DISTILLED}, tag="seams", waits=True)
@api_view(["POST"])
@seam
def distill(request: Request) -> Response:
    given = checked(DistillMemory, request.data).validated_data
    scope, canary = scope_of(request), given.get("includeSecretCanary", False)
    options = {
        name: given[name] for name in ("tokenBudget", "targetTokens", "indexEmitted", "sources") if name in given
    }
    memory = _memory(scope, RequestedPass("distill", given["memoryRef"], options))
    if "sources" in options:
        options["sources"] = _clean_sources(scope, options["sources"], canary=canary, now=timezone.now())
    else:
        _planted(memory, RECENT, canary=canary, now=timezone.now())
    work = _done(scope, RequestedPass("distill", memory.memory_ref, options))
    outcome = work.outcome
    leaked = {"secretLeaked": leaks(scope.tenant_id, _distilled(memory, work))} if canary else {}
    index = {"indexFile": _index_file(scope)} if outcome["indexUpdated"] else {}
    of_archive = {name: outcome[name] for name in ("archiveChecksum", "indexUpdated")}
    return Response({"event": _fact(scope, work, "memory.compacted"), **of_archive, **index, **leaked, **_run(work)})


@operation(
    "seamConsolidateMemory",
    scope=SCOPE,
    takes=ConsolidateMemory,
    gives={200: CONSOLIDATED},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def consolidate(request: Request) -> Response:
    given = checked(ConsolidateMemory, request.data).validated_data
    scope, wanted = scope_of(request), RequestedPass("consolidate", given["memoryRef"])
    memory = _memory(scope, wanted)
    _planted(memory, STANDING, canary=given.get("includeSecretCanary", False), now=timezone.now())
    work = _done(scope, wanted)
    leaked = leaks(scope.tenant_id, _stored(memory))
    event = _fact(scope, work, "agent.memory.consolidated")
    return Response({"event": event, "secretLeaked": leaked, **_run(work)})


@operation("seamSeedMemory", scope=f"{SCOPE} memory:write", takes=SeedMemory, gives={201: SEEDED}, tag="seams")
@api_view(["POST"])
@seam
def seed(request: Request) -> Response:
    """The entries are there. Their ids are the ledger's, given back in the order of the request's."""
    given = checked(SeedMemory, request.data).validated_data
    memory = _memory(scope_of(request), RequestedPass("compact", given["memoryRef"]))
    drafts = [EntryDraft(each["content"], tuple(each.get("tags", ()))) for each in given["entries"]]
    written = plant(memory, drafts, now=timezone.now())
    return Response({"plantedIds": [ids.wire("mem", each.id) for each in written], "seeded": len(written)}, status=201)


@operation(
    "seamCompactMemory",
    scope=SCOPE,
    takes=CompactMemory,
    gives={200: COMPACTED, 204: None},
    tag="seams",
    waits=True,
)
@api_view(["POST"])
@seam
def compact(request: Request) -> Response:
    """Two live entries or more are one; with fewer there is nothing to say (204)."""
    given = checked(CompactMemory, request.data).validated_data
    options = {name: min(given[name], most) for name, most in compaction.LIMITS.items() if name in given}
    scope, wanted = scope_of(request), RequestedPass("compact", given["memoryRef"], options)
    memory = _memory(scope, wanted)
    work = _over(scope, wanted)
    if work.code == errors.NothingToCompact.code:
        return Response(status=204)
    _require_done(work)
    payload = _fact(scope, work, "memory.compacted")
    made_id = ids.parse("mem", payload["outputId"])
    made = adapter.runs.get_entry(memory, made_id, now=timezone.now()) if made_id else None
    assert made is not None, "what was compacted is there"
    return Response({"type": "memory.compacted", "payload": payload, "outputContent": made.content, **_run(work)})


def _memory(scope: TenantScope, wanted: RequestedPass) -> MemoryScope:
    """Return the scope of the pass's ref; refused as the pass itself would be, before anything is written."""
    found = tenancy.memory_scope(scope, orders.checked_order(scope, wanted).memory_ref)
    assert found is not None, "it was checked"
    return found


def _planted(memory: MemoryScope, texts: tuple[str, ...], *, canary: bool, now: datetime) -> None:
    """Write ``texts`` under a ref that holds nothing, and the two canary entries where a canary is asked for."""
    drafts = [EntryDraft(text, ("conformance",)) for text in texts] if is_empty(memory, now=now) else []
    plant(memory, drafts, canary=canary, now=now)


def _clean_sources(scope: TenantScope, sources: list[JSONObject], *, canary: bool, now: datetime) -> list[JSONObject]:
    """Redact the tenant's secrets from the sources, because a pass stores its request."""
    spoken = [{"content": spoken_canary(scope, now=now), "tags": []}] if canary else []
    found: list[JSONObject] = redaction.for_tenant(scope.tenant_id).redact_json([*sources, *spoken])
    return found


def _done(scope: TenantScope, wanted: RequestedPass) -> Pass:
    """Return the finished pass; raises the refusal that the pass failed with."""
    work = _over(scope, wanted)
    _require_done(work)
    return work


def _over(scope: TenantScope, wanted: RequestedPass) -> Pass:
    """Return the pass once it is over, whether this process or a worker carried it out; raises ``Busy`` after
    ``PATIENCE_S``."""
    work = orders.order(scope, wanted, now=timezone.now())
    found, deadline = _carried_out(work), time.monotonic() + PATIENCE_S
    while found.state not in passes.OVER:
        if time.monotonic() >= deadline:
            raise Busy("The pass takes longer than a seam waits.", retryAfterMs=1000)
        with request_slots.aside():
            time.sleep(LOOK_EVERY)
        found = _carried_out(work)
    return found


def _carried_out(work: Pass) -> Pass:
    """Try to take the pass in this process, and return its current state."""
    found = passes.find(work.tenant_id, work.id) or work
    if found.state != PassState.WAITING:
        return found
    with request_slots.aside():
        return tasks.carry_out(work.tenant_id, work.id) or found


def _require_done(work: Pass) -> None:
    if work.state != PassState.DONE:
        kind: type[Refusal] = KNOWN.get(work.code, errors.Internal)
        said = runs.find(work.tenant_id, work.run_id).error or {}
        raise kind(said.get("message"), **work.outcome.get("details", {}))


def _fact(scope: TenantScope, work: Pass, kind: str) -> JSONObject:
    """Return the payload of the first event of that type in the log of the pass's run."""
    events, _ = streams.whole_log(scope, work.run_id, now=timezone.now())
    return next(event.payload for event in events if event.type == kind)


def _run(work: Pass) -> dict[str, str]:
    return {"runId": ids.wire("run", work.run_id)}


def _index_file(scope: TenantScope) -> JSONObject:
    document = json.loads(workspace.read_file(scope, INDEX).content)
    return {name: document[name] for name in INDEXED}


def _stored(memory: MemoryScope) -> Iterator[str]:
    """Yield the text of every entry readable under the ref."""
    for chunk in adapter.passes.corpus(memory, now=timezone.now()):
        for entry in chunk:
            yield "\n".join((entry.content, *entry.tags, entry.subject))


def _distilled(memory: MemoryScope, work: Pass) -> Iterator[str]:
    """Yield the archive, the index, and the text of every entry readable under the ref."""
    found = Archive.objects.of(work.tenant_id).filter(sha256=work.outcome["archiveChecksum"])
    yield from (bytes(row.body).decode() for row in found)
    yield from (file.content for file in workspace.list_files(memory.tenant, prefix="MEMORY-INDEX"))
    yield from _stored(memory)


@operation(
    "seamWorkspaceOp",
    scope="workspace:write",
    takes=wire.WorkspaceOp,
    gives={200: {"oneOf": [wire.FILES, wire.FILE, wire.DONE]}},
    tag="seams",
)
@api_view(["POST"])
@parser_classes([FileParser])
@seam
def workspace_op(request: Request) -> Response:
    given = checked(wire.WorkspaceOp, request.data).validated_data
    caller = scope_of(request)
    caller.check(NEEDS[given["op"]])
    return Response(OPS[given["op"]](_stand_in(caller, given["tenant"], given["workspace"]), given))


@transaction.atomic
def _stand_in(caller: TenantScope, tenant: str, owned: str) -> TenantScope:
    """Return the scope of this caller's owner of that name, creating its tenant; other callers have their own."""
    named = "\x1f".join((caller.tenant_id.hex, tenant, owned))
    slug = f"seam-{hashlib.sha256(named.encode()).hexdigest()[:40]}"
    access.lock_tenant(caller.tenant_id)
    found = access.tenant_by_slug(slug) or access.create_tenant(slug, name="Stand-in of a seam", now=timezone.now())
    return tenancy.host_scope(found)


def _list(owner: TenantScope, given: Given) -> Given:
    return {
        "files": [wire.FILE_ROW.document(each) for each in workspace.list_files(owner, prefix=given.get("prefix", ""))]
    }


def _get(owner: TenantScope, given: Given) -> Given:
    return wire.file_document(workspace.read_file(owner, given["path"], version=given.get("version")))


def _put_file(owner: TenantScope, given: Given) -> Given:
    draft = FileDraft(given["content"], given.get("contentType", DEFAULT_CONTENT_TYPE))
    expected = Precondition(given.get("ifMatch"))
    written = workspace.write_file(owner, given["path"], draft, expected=expected, now=timezone.now())
    return wire.file_document(written)


def _delete(owner: TenantScope, given: Given) -> Given:
    expected = Precondition(given.get("ifMatch"))
    workspace.delete_file(owner, given["path"], expected=expected, now=timezone.now())
    return {"ok": True}


OPS: dict[str, Callable[[TenantScope, Given], Given]] = {
    "list": _list,
    "get": _get,
    "put": _put_file,
    "delete": _delete,
}


@operation(
    "seamFireCommitment",
    scope="memory:write memory:read passes:run",
    takes=FireCommitment,
    gives={200: FIRED},
    tag="seams",
)
@api_view(["POST"])
@seam
def fire(request: Request) -> Response:
    given = checked(FireCommitment, request.data).validated_data
    memory, kind = _commitments_memory(scope_of(request), given["memoryRef"]), Condition(given["condition"])
    canary = given.get("includeIntentionCanary", False)
    row = _fired_commitment(memory, kind) or _inferred(memory, kind, canary=canary)
    if row.state in commitments.lifecycle.OPEN:
        _satisfy(memory, row)
    return Response(_firing_document(memory, row) | (_canary(memory, row) if canary else {}))


def _commitments_memory(scope: TenantScope, raw_ref: str) -> MemoryScope:
    for needed in ("passes:run", "memory:write", "memory:read"):
        scope.check(needed)
    tenancy.require_well_formed(raw_ref)
    found = tenancy.memory_scope(scope, raw_ref)
    if found is None:
        raise NotFound("There is no memory by that ref.")
    return found


def _fired_commitment(memory: MemoryScope, kind: Condition) -> Commitment | None:
    """Return the ref's commitment of this kind that fired last, or else the newest open one."""
    commitment_firing.process_commitments(memory.tenant_id, clock=timezone.now)
    mine = Commitment.objects.of(memory.tenant_id).filter(memory_ref=memory.memory_ref, condition=kind)
    fired: Commitment | None = mine.filter(state=CommitmentState.FIRED).order_by("-last_fired_at", "-id").first()
    return fired or mine.filter(state__in=commitments.lifecycle.OPEN).order_by("-id").first()


def _inferred(memory: MemoryScope, kind: Condition, *, canary: bool) -> Commitment:
    """Write an intention, and return the commitment inferred from it; raises ``Conflict`` when there is none."""
    spoken = f" ({_fresh_canary()})" if canary else ""
    written_at = timezone.now() - (LONG_AGO if kind == Condition.TIME else timedelta())
    _write(memory, INTENTIONS[kind].format(canary=spoken), written_at)
    found = _fired_commitment(memory, kind)
    if found is None:
        raise Conflict("The intention was written, but nothing was inferred from it.")
    return found


def _fresh_canary() -> str:
    return f"INTENT-CANARY-{secrets.token_hex(8)}"


@transaction.atomic
def _write(memory: MemoryScope, text: str, written_at: datetime) -> None:
    """Write the entry in the name of a run that is complete."""
    scope, now = memory.tenant, timezone.now()
    definition = registry.workflow_text(scope.tenant_id, WORKFLOW)
    assert definition is not None, "the host brings this workflow along"
    order = RunOrder(WORKFLOW, definition, scope.principal.id)
    run = runs.open_running(scope.tenant_id, order, snapshot_position=ledger.head.position(scope.tenant_id), now=now)
    ledger.entries.write_entry(memory, EntryDraft(text, ("conformance",)), run=run, node_id=None, now=written_at)
    runs.complete(run, now=now)


def _satisfy(memory: MemoryScope, row: Commitment) -> None:
    """Meet the commitment's condition: write its predicate, or pass a later time to it."""
    if row.condition == Condition.PREDICATE:
        _write(memory, f"{_clause_of(memory, row)}.", timezone.now())
        commitment_firing.process_commitments(memory.tenant_id, clock=timezone.now)
    elif row.due_at is not None:
        commitment_firing.fire(row.tenant_id, row.id, now=max(timezone.now(), row.due_at))


def _clause_of(memory: MemoryScope, row: Commitment) -> str:
    entry = adapter.console.entries_by_id(memory.tenant, [row.entry_id], now=timezone.now()).get(row.entry_id)
    text = entry.content[row.starts : row.ends] if entry else ""
    found = intentions.found_in(text, zone=row.timezone, written_at=timezone.now())
    return found[0].clause if found else " ".join(row.predicate["words"])


def _firing_document(memory: MemoryScope, row: Commitment) -> JSONObject:
    """Return the last firing's event, and the number of firings on record; raises ``Conflict`` when there is none."""
    fired = Firing.objects.of(memory.tenant_id).filter(commitment_id=row.id)
    last: Firing | None = fired.order_by("-fired_at", "-id").first()
    if last is None:
        raise Conflict(
            "The commitment has not fired.",
            state=commitments.lifecycle.find(memory.tenant, row.id, now=timezone.now()).row.state,
        )
    events = event_log.read(memory.tenant_id, last.run_id)
    event = next(each.payload for each in events if each.type == CommitmentFired.type)
    return {"event": event, "fireCount": fired.count(), "runId": ids.wire("run", last.run_id)}


def _canary(memory: MemoryScope, row: Commitment) -> dict[str, str]:
    """Return the canary in the intention, read from memory now."""
    shown = commitments.lifecycle.find(memory.tenant, row.id, now=timezone.now())
    found = CANARY_IN_TEXT.search(shown.intention or "")
    return {"intentionCanary": found[0]} if found else {}


# Memory that a seam writes for a suite: through the ledger, in the name of a small system run of the caller's tenant.
#
# Nothing is stored that the ledger would not store for any caller. A canary is a secret of the vault that such a run
# has resolved, so a stored text contains its mark instead; ``leaks`` checks that it is nowhere else.


@transaction.atomic
def plant(scope: MemoryScope, drafts: Sequence[EntryDraft], *, canary: bool = False, now: datetime) -> list[Written]:
    """Write the entries under the ref in their order; with ``canary`` two more, unless the ref has those already.

    Both have the same content under different tags, so a consolidation rewrites them.
    """
    canary = canary and not adapter.runs.list_entries(scope, now=now, limit=1, tag=CANARY)
    if not drafts and not canary:
        return []
    with _a_run(scope.tenant, now) as run:
        said = _spoken(run, now) if canary else ""
        spoken = [EntryDraft(said, (CANARY,)), EntryDraft(said, (RESTATED,))] if canary else []
        return [
            ledger.entries.write_entry(scope, draft, run=run, node_id=None, now=now) for draft in [*drafts, *spoken]
        ]


@transaction.atomic
def spoken_canary(scope: TenantScope, *, now: datetime) -> str:
    """Return a text with a new canary in clear, to be redacted before it is stored."""
    with _a_run(scope, now) as run:
        return _spoken(run, now)


def is_empty(scope: MemoryScope, *, now: datetime) -> bool:
    """Return whether the ref has no live entry of its own; entries that passes distilled do not count."""
    return all(
        entry.derived == distillation.DISTILLED for chunk in adapter.passes.corpus(scope, now=now) for entry in chunk
    )


def leaks(tenant_id: UUID, texts: Iterable[str]) -> bool:
    """Return whether a canary of the tenant occurs in one of ``texts``, in any form that a redactor would find."""
    values = [vault.unseal(secret) for secret in vault.held_by(tenant_id) if secret.name == CANARY]
    forms = {form for value in values for form in forms_of(value)}
    return any(form in text for text in texts for form in forms)


@contextmanager
def _a_run(scope: TenantScope, now: datetime) -> Iterator[Run]:
    """Yield a started run, completed at the end of the block."""
    definition = registry.workflow_text(scope.tenant_id, WORKFLOW)
    assert definition is not None, "the host brings this workflow along"
    order = RunOrder(WORKFLOW, definition, scope.principal.id, system=True)
    run = runs.open_running(scope.tenant_id, order, snapshot_position=ledger.head.position(scope.tenant_id), now=now)
    yield run
    runs.complete(run, now=now)


def _spoken(run: Run, now: datetime) -> str:
    """Return a text with a secret that belongs to this run alone and that it has resolved."""
    owner, value = ids.wire("run", run.id), f"canary-{secrets.token_hex(16)}"
    vault.store_secret(run.tenant_id, CANARY, value, scope=SecretScope.RUN, owner=owner, now=now)
    return SPOKEN.format(canary=vault.resolve(run, CANARY, now=now))
