"""``ask_human``: a question listed on *Needs you* until a person answers it or its time is up.

The question is a run of the host's own workflow, so it is asked, redacted, answered, withdrawn and forgotten like that
of any run. A caller that waits for the answer counts as a reader of runs, and holds neither a slot nor a database
connection.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memory.host import event_log, ids, interrupts, request_slots, runs
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, Run
from memory.host.tenancy import TenantScope
from openwop_console.mcp import tools
from openwop_console.mcp.tools import ANSWERED, ASK, DEFAULT_SECONDS, INTERRUPTED, TIMED_OUT, WITHDRAWN, Result
from openwop_console.runtime import run_operations, streams
from openwop_console.runtime.run_operations import RunRequest
from openwop_console.runtime.streams import Place

WORKFLOW, NODE, NAME = "console-ask-human", "ask", "answer"
# How often a client hears that its request is alive.
EVERY = 5.0
# A worker opens the question and ends it; when none does for so long, the wait is over without one.
GRACE = 30.0
TOLD = {
    TIMED_OUT: "No answer came in time; the question is closed. Continue without an answer, or ask again.",
    WITHDRAWN: "The question was withdrawn without an answer.",
    INTERRUPTED: "This host is restarting, or your access has changed. People can still answer the question, but "
    "this call no longer waits.",
}


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that stands, and the place at which its answer is waited for."""

    run: Run
    place: Place
    seconds: int

    def result(self, outcome: str, answer: object = None, by: str = "") -> Result:
        text = f"A person answered: {answer}" if outcome == ANSWERED else TOLD[outcome]
        structured: JSONObject = {
            "outcome": outcome,
            "answer": answer,
            "answeredBy": by or None,
            "runId": ids.wire("run", self.run.id),
        }
        return Result([text], structured)

    def close(self) -> None:
        streams.leave(self.place)


def ask_human(scope: TenantScope, given: JSONObject, *, now: datetime) -> OpenQuestion | Result:
    """The question stands, on record; or why it does not."""
    return tools.answered(ASK, scope, given, lambda: _opened(scope, given, now), now=now)


def _opened(scope: TenantScope, given: JSONObject, now: datetime) -> OpenQuestion:
    seconds = given.get("timeoutSeconds", DEFAULT_SECONDS)
    place: Place | None = None
    try:
        with transaction.atomic():
            run = run_operations.create_run(scope, _request(scope, given, seconds), now=now)
            tools.record(ASK, scope, [ids.wire("run", run.id)], now=now)
            # Last, so that a host without room for another waiting caller asks nothing.
            place = streams.take_place(scope.tenant_id, run.id, scope.principal)
    except BaseException:
        if place:
            streams.leave(place)
        raise
    return OpenQuestion(run, place, seconds)


def _request(scope: TenantScope, given: JSONObject, seconds: int) -> RunRequest:
    schema = {"schema": {"type": "string", "enum": given["options"]}} if "options" in given else {}
    inputs = {
        "questions": [{"id": NAME, "question": given["question"], **schema}],
        "timeoutMs": seconds * 1000,
    }
    return RunRequest(WORKFLOW, inputs=inputs, agent_id=scope.principal.first_agent)


def follow(waiting: OpenQuestion) -> Iterator[float | Result]:
    """The seconds that have passed, every few of them, and in the end the result."""
    began = time.monotonic()
    try:
        while True:
            with request_slots.hold_slot():
                # The length is read first: what is written behind it ends the wait at once.
                seen = event_log.length(waiting.run.tenant_id, waiting.run.id)
                found = _outcome(waiting)
                # After the look: an answer that is handed out was given while the key still opened as much.
                if streams.is_lost(waiting.place):
                    found = waiting.result(INTERRUPTED)
            passed = time.monotonic() - began
            if found is None and passed > waiting.seconds + GRACE:
                found = waiting.result(TIMED_OUT)
            if found is None and streams.is_ending():
                found = waiting.result(INTERRUPTED)
            if found:
                yield found
                return
            yield passed
            streams.wait(waiting.place, seen=seen, seconds=EVERY)
    finally:
        waiting.close()


def _outcome(waiting: OpenQuestion) -> Result | None:
    run = runs.find(waiting.run.tenant_id, waiting.run.id)
    asked = interrupts.at_node(run, NODE)
    if asked is None or asked.resolved_at is None:
        return waiting.result(WITHDRAWN) if run.status in runs.ENDING else None
    return _answer_of(waiting, asked)


def _answer_of(waiting: OpenQuestion, asked: Interrupt) -> Result:
    if asked.outcome == interrupts.ANSWERED and asked.resume_value:
        value = asked.resume_value
        return waiting.result(ANSWERED, value["answers"][NAME], value.get("decidedBy", ""))
    return waiting.result(TIMED_OUT if asked.outcome == interrupts.TIMED_OUT else WITHDRAWN)
