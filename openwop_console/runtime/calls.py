"""Outbound calls of nodes: recorded as sent, sent outside any transaction, and recorded with their answer.

The run's lease is renewed while a call is in flight. When a worker dies meanwhile, the worker that takes the run over
sends the call again with the same idempotency key: delivery is at least once, and exactly once if the other side
honours the key. A recorded answer is never requested again, not even by a replay.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote
from uuid import UUID

from django.conf import settings

from memory import recordings, redaction
from memory.host import ids, leases, runs, trace_context
from memory.host.events import (
    AgentToolCalled,
    AgentToolReturned,
    AiMessageChunk,
    CallAnswered,
    CallSent,
    ChunkMeta,
    Event,
    Failure,
    ProviderUsage,
    TokenUse,
)
from memory.host.json_types import JSONObject
from memory.host.models import Run, Tenant
from memory.host.node_types import Call, NodeFailure, Sending
from memory.host.outbound import OutboundFailed
from openwop_console.runtime import expressions, node_execution, steps
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.node_execution import Acted, Position

log = logging.getLogger(__name__)
OK = "ok"
RENEW_EVERY = 5.0
TELL_EVERY = 0.25
# Streamed text of more than LONG characters is looked through again only when it has grown by GROWTH of its length: all
# of it is searched for secrets while the database is locked, which takes a second for a megabyte.
LONG, GROWTH = 32_768, 1 / 8
SLACK = 1.0  # seconds of grace: a single request times out by itself, a call of several is cut off after this
# A call fits within the task's time limit if the worker has held the run for at most TURN.
TURN = timedelta(seconds=5)
# Bounds of the delay before a run that waits for a worker for its call is tried again.
SOONEST, LATEST = timedelta(seconds=0.5), timedelta(seconds=5)
LONGEST = settings.TASK_TIMEOUT - 15.0
FAILED = node_execution.CRASHED
FINISHED = {each: each for each in ("stop", "length", "tool_calls", "content_filter")}  # the contract's values
PROVIDER = "openai-compatible"  # all that is known of an endpoint's provider
TRY_AGAIN = frozenset({408, 425, 429})
SENTENCES = {
    "timeout": "The server did not answer in time.",
    "refused": "No connection to the server could be made.",
    "not_allowed": "The server has no address that this host may connect to.",
    "too_large": "The request or the answer is larger than this host takes.",
    "malformed": "The server's answer cannot be read.",
    "empty": "The model said nothing.",
}
FINAL = frozenset({"not_allowed", "too_large"})


def failure(reason: str) -> NodeFailure:
    """The node's failure for a reason in SENTENCES."""
    return NodeFailure(reason, SENTENCES[reason], final=reason in FINAL)


def status_failure(status: int) -> NodeFailure:
    """The node's failure for an HTTP status; final, so not retried, if the server would refuse again."""
    final = 300 <= status < 500 and status not in TRY_AGAIN
    return NodeFailure("status", f"The server answered with the status {status}.", final=final)


def failure_of(failed: OutboundFailed) -> NodeFailure:
    """The node's failure for a failed outbound request."""
    return status_failure(failed.status) if failed.reason == "status" else failure(failed.reason)


@dataclass(slots=True)
class UnderWay:
    """A call recorded as sent: its streamed parts, how many of them were heard, and the characters looked through and
    published."""

    position: Position
    call_id: UUID
    call: Call
    idempotency_key: str
    seconds: float
    said: list[str] = field(default_factory=list)
    heard: int = 0
    looked_through: int = 0
    told: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended, after ``took`` seconds: with an answer, or with a failure, which may be ``final``."""

    took: float
    answer: JSONObject
    failure: Failure | None = None
    final: bool = False


def may_begin(run: Run, *, now: datetime) -> bool:
    """Whether a call of the locked run leaves one of this host's workers to work without calls and to other tenants.

    A host with one tenant or one worker reserves none. Of several runs of a tenant, one decides after the other: the
    transaction that begins a call has recorded it when the next decides.
    """
    most = settings.OPENWOP_WORKERS - 1
    if not most or not Tenant.objects.exclude(id=run.tenant_id).exists():
        return True
    host = f"{run.holder.rpartition('/')[0]}/"
    leases.decide_in_turn(run.tenant_id, f"calls of {host}")
    held = Run.objects.of(run.tenant_id).filter(holder__startswith=host, ready_at__gt=now).exclude(id=run.id)
    others = list(held.order_by().values_list("id", flat=True)[: settings.OPENWOP_WORKERS])
    if len(others) < most:
        return True
    calling = Step.objects.of(run.tenant_id).filter(run_id__in=others, state=StepState.STARTED)
    return calling.order_by().values("run_id").distinct().count() < most


def next_try(run: Run, *, now: datetime) -> datetime:
    """When to retry a run whose call has no worker. The delay grows with the time waited, so that many waiting runs do
    not occupy the workers with retries."""
    waited = now - (run.started_at or now)
    return now + min(max(waited / 10, SOONEST), LATEST)


def begin(position: Position, step: Step, call: Call, now: datetime) -> UnderWay:
    """Record the call as sent, in the step's transaction; nothing has left this host yet."""
    run, node_id = position.run, position.node_id
    ordinal = len(recordings.answers_of(run, node_id))
    call_id = recordings.begin_call(run, node_id, kind=call.kind, ordinal=ordinal, request=call.request)
    steps.settle(step, StepState.STARTED)
    sent = CallSent(node_id, call_id, call.kind, step.attempt)
    runs.progress(run, sent, ready_at=runs.LEASE.end(now), now=now)
    left = [(end - now).total_seconds() for end in (step.deadline_at, run.deadline_at) if end]
    seconds = max(min(call.seconds, LONGEST, *left), 0.001)
    return UnderWay(position, call_id, call, _key(run, node_id, step.attempt, ordinal), seconds)


def _key(run: Run, node_id: str, attempt: int, ordinal: int) -> str:
    """The idempotency key, unique to the run, node, attempt and ordinal of the call."""
    return f"{ids.wire('run', run.id)}/{quote(node_id, safe='')}/{attempt}/{ordinal}"


def make(under_way: UnderWay, keep: Callable[[], bool]) -> Ended | None:
    """Send the call and wait for its end; None when the call is no longer wanted.

    ``keep`` is called every few seconds and after new streamed text: it renews the lease, returns whether the call is
    still wanted, and raises when the lease is lost.
    """
    began = kept = time.monotonic()
    pause = TELL_EVERY if under_way.call.streams else RENEW_EVERY
    with _sent(under_way) as future:
        while not concurrent.futures.wait([future], timeout=pause).done:
            if len(under_way.said) == under_way.heard and time.monotonic() < kept + RENEW_EVERY:
                continue
            kept = time.monotonic()
            if not keep():
                return None
    took = time.monotonic() - began
    try:
        return Ended(took, future.result())
    except NodeFailure as failed:
        return Ended(took, {}, Failure(failed.code, failed.message), failed.final)
    except Exception as bug:
        log.exception("a call of kind %s crashed: %s", under_way.call.kind, node_execution.kind_of(bug), exc_info=False)
        return Ended(took, {}, FAILED)


@contextlib.contextmanager
def _sent(under_way: UnderWay) -> Iterator[concurrent.futures.Future[JSONObject]]:
    """Run the call in another thread, so that this one can renew the lease; cancel it at the end of the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="call", daemon=True)
    thread.start()
    future = asyncio.run_coroutine_threadsafe(_awaited(under_way), loop)
    try:
        yield future
    finally:
        if not future.done():
            future.cancel()
        asyncio.run_coroutine_threadsafe(_drained(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _awaited(under_way: UnderWay) -> JSONObject:
    run, node_id = under_way.position.run, under_way.position.node_id
    trace = trace_context.within_node(run.traceparent, run.id, node_id)
    sending = Sending(under_way.idempotency_key, under_way.seconds, under_way.said.append, trace)
    try:
        async with asyncio.timeout(under_way.seconds + SLACK):
            answer = await under_way.call.send(sending)
    except TimeoutError:
        raise failure("timeout") from None
    if not expressions.is_storable(answer):
        raise failure("malformed")
    return answer


async def _drained() -> None:
    """Wait until cancelled tasks have closed their connections, and close streams that were not read to their end."""
    for _ in range(2):  # closing a stream may leave a task of its own
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_asyncgens()


def publish_chunks(run: Run, under_way: UnderWay, *, now: datetime) -> None:
    """Publish newly streamed text to the locked run's log and renew the lease.

    Text that could be the beginning of a secret is held back until it is complete.
    """
    facts: list[Event] = []
    if raw := _new_text(under_way):
        redactor = redaction.for_run(run.tenant_id, run.id)
        text = redactor.redact(raw[: redactor.settled(raw)]).text
        if len(text) > under_way.told:
            recordings.store_partial_answer(run, under_way.call_id, text)
            facts.append(_chunk(run, under_way, len(text)))
    runs.progress(run, *facts, ready_at=runs.LEASE.end(now), now=now)


def _new_text(under_way: UnderWay) -> str:
    """Return all of the streamed text, if enough of it is new."""
    if len(under_way.said) == under_way.heard:
        return ""
    under_way.heard = len(under_way.said)
    raw = "".join(under_way.said[: under_way.heard])
    if len(raw) > LONG and len(raw) < under_way.looked_through * (1 + GROWTH):
        return ""
    under_way.looked_through = len(raw)
    return raw


def _chunk(run: Run, under_way: UnderWay, end: int, *, meta: ChunkMeta | None = None) -> AiMessageChunk:
    start, under_way.told = under_way.told, end
    return AiMessageChunk(
        under_way.position.node_id,
        ids.wire("run", run.id),
        under_way.call_id,
        start,
        end,
        is_last=meta is not None,
        meta=meta,
    )


def record(run: Run, under_way: UnderWay, ended: Ended, *, now: datetime) -> None:
    """Record the end of the call on the locked run, and renew its lease."""
    facts: list[Event] = []
    if ended.failure:
        recordings.fail_call(run, under_way.call_id)
    else:
        answer = recordings.finish_call(run, under_way.call_id, ended.answer)
        facts += _last_words(run, under_way, answer) if under_way.call.streams else []
    code = ended.failure.code if ended.failure else OK
    answered = CallAnswered(
        under_way.position.node_id,
        under_way.call_id,
        under_way.call.kind,
        code,
        int(ended.took * 1000),
        ended.answer.get("promptTokens"),
        ended.answer.get("completionTokens"),
    )
    runs.progress(run, *facts, answered, ready_at=runs.LEASE.end(now), now=now)


def _last_words(run: Run, under_way: UnderWay, answer: JSONObject) -> list[Event]:
    """Events for the last chunk of a model's text, and for its token usage if the endpoint reports it."""
    asked, said = answer.get("promptTokens"), answer.get("completionTokens")
    use = TokenUse(asked, said) if asked is not None or said is not None else None
    meta = ChunkMeta(answer["model"], FINISHED.get(answer["finishReason"]), use)
    facts: list[Event] = [_chunk(run, under_way, len(answer["text"]), meta=meta)]
    if asked is not None and said is not None:
        facts.append(ProviderUsage(PROVIDER, answer["model"], asked, said, under_way.position.node_id))
    return facts


def record_act(position: Position, step: Step, acted: Acted, now: datetime) -> bool:
    """Record an agent's use of a host tool, in the transaction of that use; return True."""
    run, node_id, act = position.run, position.node_id, acted.act
    ordinal = len(recordings.answers_of(run, node_id))
    call_id = recordings.begin_call(run, node_id, kind="tool", ordinal=ordinal, request=act.request)
    recordings.finish_call(run, call_id, acted.answer)
    steps.settle(step, StepState.STARTED)
    error = Failure(**acted.answer["error"]) if "error" in acted.answer else None
    status = ("forbidden" if error.code == node_execution.NOT_ALLOWED.code else "error") if error else OK
    called = AgentToolCalled(act.agent_id, act.tool, call_id, "native", node_id)
    returned = AgentToolReturned(act.agent_id, act.tool, call_id, status, int(acted.took * 1000), node_id, error)
    runs.progress(run, called, returned, ready_at=runs.LEASE.end(now), now=now)
    return True
