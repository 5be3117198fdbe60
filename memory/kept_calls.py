"""What nodes asked of the world outside and what it answered, kept beside the log. Its only writer.

The log has ids, counts and codes of a call (``console.call.*``); whoever may read memory is shown the texts with them.
They are redacted by what the run has resolved, and a forget reaches them. Calls live as long as their run.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from memory import harness, masking
from memory.host import ids
from memory.host.event_log import Recorded
from memory.host.events import AgentToolCalled, AgentToolReturned, AiMessageChunk, CallAnswered, CallSent
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.models.personal import ERASED
from memory.host.tenancy import TenantScope
from memory.masking import Mask
from memory.models import CallState, KeptCall
from memory.text.matching import FORGOTTEN

WRITER = "memory.kept_calls"
# What is added to an event of a call, and which text of the call it is.
TEXTS = {
    CallSent.type: ("request", "request"),
    CallAnswered.type: ("answer", "answer"),
    AgentToolCalled.type: ("inputs", "request"),
    AgentToolReturned.type: ("outcome", "answer"),
}
SAYS, CHUNK = AiMessageChunk.type, "chunk"


def begin(run: Run, node_id: str, *, kind: str, ordinal: int, request: JSONObject) -> UUID:
    """The call is about to be sent. An earlier one in its place that nobody heard of again is lost."""
    _of_node(run, node_id).filter(state=CallState.SENT).update(state=CallState.LOST)
    row = KeptCall(
        tenant_id=run.tenant_id,
        run_id=run.id,
        node_id=node_id,
        ordinal=ordinal,
        kind=kind,
        state=CallState.SENT,
        request=harness.for_run(run.tenant_id, run.id).redact_json(request),
    )
    return UUID(str(row.insert(by=WRITER).id))


def finish(run: Run, call_id: UUID, answer: JSONObject) -> JSONObject:
    """The call was answered; the node finds the answer, redacted, whenever it is called again."""
    clean: JSONObject = harness.for_run(run.tenant_id, run.id).redact_json(answer)
    _rows(run).filter(id=call_id).update(state=CallState.DONE, answer=clean)
    return clean


def keep_text(run: Run, call_id: UUID, text: str) -> None:
    """What was said so far by a call that is under way, redacted by whoever brings it."""
    _rows(run).filter(id=call_id).update(answer={"text": text})


def fail(run: Run, call_id: UUID) -> None:
    """The call came to nothing."""
    _rows(run).filter(id=call_id).update(state=CallState.FAILED)


def answers_of(run: Run, node_id: str) -> list[JSONObject]:
    """The answers to the calls that the node has made, in order."""
    rows = KeptCall.objects.of(run.tenant_id).filter(run_id=run.id, node_id=node_id, state=CallState.DONE)
    return [answer or {} for answer in rows.order_by("ordinal").values_list("answer", flat=True)]


def with_texts(scope: TenantScope, run: Run, events: list[Recorded]) -> list[Recorded]:
    """The events of the run with what was asked and answered, for a reader who may read memory: agents put it into
    what they ask. A replay tells of the calls of its source, by the same ids."""
    told = [event for event in events if event.type in TEXTS or event.type == SAYS]
    if not told:
        return events
    found = _texts(scope.tenant_id, told) if scope.can("memory:read") else {}
    mask = masking.mask_of_run(run)
    return [
        replace(event, payload={**event.payload, **_said_by(event, found, mask)}) if event in told else event
        for event in events
    ]


def _said_by(event: Recorded, found: dict[str, dict[str, Any]], mask: Mask) -> JSONObject:
    """What the texts of the call add to the event. A piece of a text is there for every reader, if need be empty."""
    kept = found.get(str(event.payload["callId"]), {})
    if event.type == SAYS:
        text = str((kept.get("answer") or {}).get("text", ""))
        piece = text[event.payload["start"] : event.payload["end"]]
        return {CHUNK: ERASED if text == FORGOTTEN else mask.value(piece)}
    name, column = TEXTS[event.type]
    value = kept.get(column)
    return {} if value is None or "error" in event.payload else {name: mask.value(value)}


def _texts(tenant_id: UUID, told: Sequence[Recorded]) -> dict[str, dict[str, Any]]:
    wanted = {call_id for event in told if (call_id := ids.parse("call", str(event.payload["callId"])))}
    rows = KeptCall.objects.of(tenant_id).filter(id__in=wanted).values("id", "request", "answer")
    return {ids.wire("call", row["id"]): {**row} for row in rows}


def _rows(run: Run) -> Any:
    return KeptCall.objects.written_by(WRITER).filter(tenant_id=run.tenant_id)


def _of_node(run: Run, node_id: str) -> Any:
    return _rows(run).filter(run_id=run.id, node_id=node_id)
