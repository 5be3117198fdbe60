"""``POST /v1/host/sample/commitment/fire`` (openwop-memory 2.3): a commitment fires, the way every one does.

A ref without a commitment of that kind gets one first: an entry with an intention, written through the ledger by a
run, from which it is inferred; then what satisfies it. Asked again, the seam tells what is on record and fires nothing.
"""

import re
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import adapter, commitments, ledger
from memory.entry_drafts import EntryDraft
from memory.host import event_log, ids, registry, runs, tenancy
from memory.host.errors import Conflict, NotFound
from memory.host.events import CommitmentFired
from memory.host.http import COUNT, TEXT, also, checked, closed, operation
from memory.host.json_types import JSONObject
from memory.host.runs import RunOrder
from memory.host.tenancy import MemoryScope, TenantScope, scope_of
from memory.models import Commitment, CommitmentState, Condition, Firing
from memory.text import intentions
from openwop_console.runtime.timed import commitments as timed_commitments
from openwop_console.test_seams import serializers as wire
from openwop_console.test_seams.principals import seam

WORKFLOW = "conformance-noop"
CANARY = re.compile(r"INTENT-CANARY-[0-9a-f]{16}")
INTENTIONS = {
    Condition.TIME: "Remind the team in 5 minutes to look at the queue{canary}.",
    Condition.PREDICATE: "Remind the team when the conformance invoice clears{canary}.",
}
LONG_AGO = timedelta(minutes=10)
FIRED = also(closed("SeamCommitmentFired", event={"type": "object"}, fireCount=COUNT, runId=TEXT), intentionCanary=TEXT)


@operation(
    "seamFireCommitment",
    scope="memory:write memory:read passes:run",
    takes=wire.FireCommitment,
    gives={200: FIRED},
    tag="seams",
)
@api_view(["POST"])
@seam
def fire(request: Request) -> Response:
    given = checked(wire.FireCommitment, request.data).validated_data
    memory, kind = _memory(scope_of(request), given["memoryRef"]), Condition(given["condition"])
    canary = given.get("includeIntentionCanary", False)
    row = _of(memory, kind) or _inferred(memory, kind, canary=canary)
    if row.state in commitments.OPEN:
        _satisfy(memory, row)
    return Response(_told(memory, row) | (_canary(memory, row) if canary else {}))


def _memory(scope: TenantScope, raw_ref: str) -> MemoryScope:
    for needed in ("passes:run", "memory:write", "memory:read"):
        scope.check(needed)
    tenancy.require_well_formed(raw_ref)
    found = tenancy.memory_scope(scope, raw_ref)
    if found is None:
        raise NotFound("There is no memory by that ref.")
    return found


def _of(memory: MemoryScope, kind: Condition) -> Commitment | None:
    """The ref's commitment of this kind that has fired last; one that may fire when none has."""
    timed_commitments.keep_commitments(memory.tenant_id, clock=timezone.now)
    mine = Commitment.objects.of(memory.tenant_id).filter(memory_ref=memory.memory_ref, condition=kind)
    fired: Commitment | None = mine.filter(state=CommitmentState.FIRED).order_by("-last_fired_at", "-id").first()
    return fired or mine.filter(state__in=commitments.OPEN).order_by("-id").first()


def _inferred(memory: MemoryScope, kind: Condition, *, canary: bool) -> Commitment:
    """The commitment that was inferred from an entry which now is there."""
    spoken = f" ({_fresh_canary()})" if canary else ""
    written_at = timezone.now() - (LONG_AGO if kind == Condition.TIME else timedelta())
    _write(memory, INTENTIONS[kind].format(canary=spoken), written_at)
    found = _of(memory, kind)
    if found is None:
        raise Conflict("The intention was written, but nothing was inferred from it.")
    return found


def _fresh_canary() -> str:
    return f"INTENT-CANARY-{secrets.token_hex(8)}"


@transaction.atomic
def _write(memory: MemoryScope, text: str, written_at: datetime) -> None:
    """The entry is there, written by a run that is over."""
    scope, now = memory.tenant, timezone.now()
    definition = registry.workflow_text(scope.tenant_id, WORKFLOW)
    assert definition is not None, "the host brings this workflow along"
    order = RunOrder(WORKFLOW, definition, scope.principal.id)
    run = runs.find(scope.tenant_id, runs.open_run(scope.tenant_id, order, now=now, ready=False).id)
    runs.start(run, snapshot_position=ledger.position(scope.tenant_id), now=now)
    ledger.write_entry(memory, EntryDraft(text, ("conformance",)), run=run, node_id=None, now=written_at)
    runs.complete(run, now=now)


def _satisfy(memory: MemoryScope, row: Commitment) -> None:
    """What the commitment waits for has happened: it was said, or so much time is said to have passed."""
    if row.condition == Condition.PREDICATE:
        _write(memory, f"{_clause_of(memory, row)}.", timezone.now())
        timed_commitments.keep_commitments(memory.tenant_id, clock=timezone.now)
    elif row.due_at is not None:
        timed_commitments.fire(row.tenant_id, row.id, now=max(timezone.now(), row.due_at))


def _clause_of(memory: MemoryScope, row: Commitment) -> str:
    entry = adapter.entries_by_id(memory.tenant, [row.entry_id], now=timezone.now()).get(row.entry_id)
    text = entry.content[row.starts : row.ends] if entry else ""
    found = intentions.found_in(text, zone=row.timezone, written_at=timezone.now())
    return found[0].clause if found else " ".join(row.predicate["words"])


def _told(memory: MemoryScope, row: Commitment) -> JSONObject:
    """What the log says of the last firing, and how many firings are on record."""
    fired = Firing.objects.of(memory.tenant_id).filter(commitment_id=row.id)
    last: Firing | None = fired.order_by("-fired_at", "-id").first()
    if last is None:
        raise Conflict(
            "The commitment has not fired.", state=commitments.find(memory.tenant, row.id, now=timezone.now()).row.state
        )
    events = event_log.read(memory.tenant_id, last.run_id)
    event = next(each.payload for each in events if each.type == CommitmentFired.type)
    return {"event": event, "fireCount": fired.count(), "runId": ids.wire("run", last.run_id)}


def _canary(memory: MemoryScope, row: Commitment) -> dict[str, str]:
    """The canary as it stands in the intention, read from memory at this moment."""
    shown = commitments.find(memory.tenant, row.id, now=timezone.now())
    found = CANARY.search(shown.intention or "")
    return {"intentionCanary": found[0]} if found else {}
