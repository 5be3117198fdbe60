"""A call of a node to the world outside: on record before it is sent, sent outside any transaction, on record again.

While it is under way its run's lease is renewed. A worker that dies meanwhile leaves a call that was sent and not
answered; whoever takes the run over sends it again, with the same idempotency key: at least once, and once where the
other side honours the key. An answer that is on record is never asked for again, nor by a replay.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote
from uuid import UUID

from django.conf import settings

from memory import kept_calls
from memory.host import ids, runs
from memory.host.events import CallAnswered, CallSent, Failure
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.node_types import Call, NodeFailure, Sending
from openwop_console.runtime import execution, steps
from openwop_console.runtime.execution import Position
from openwop_console.runtime.models import Step, StepState

log = logging.getLogger(__name__)
OK = "ok"
RENEW_EVERY = 5.0
# A call fits into what a task may take, when the worker has had the run for TURN at most.
TURN = timedelta(seconds=5)
LONGEST = settings.TASK_TIMEOUT - 15.0
FAILED = execution.CRASHED


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A call that is on record as sent."""

    position: Position
    call_id: UUID
    call: Call
    sending: Sending


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended: with an answer, or with a failure, which may be ``final``."""

    took: float
    answer: JSONObject
    failure: Failure | None = None
    final: bool = False


def begin(position: Position, step: Step, call: Call, now: datetime) -> UnderWay:
    """The call is on record as sent, in the transaction of the step; nothing has left this host yet."""
    run, node_id = position.run, position.node_id
    ordinal = len(kept_calls.answers_of(run, node_id))
    call_id = kept_calls.begin(run, node_id, kind=call.kind, ordinal=ordinal, request=call.request)
    steps.settle(step, StepState.STARTED)
    sent = CallSent(node_id, call_id, call.kind, step.attempt)
    runs.progress(run, sent, ready_at=runs.LEASE.end(now), now=now)
    left = [(end - now).total_seconds() for end in (step.deadline_at, run.deadline_at) if end]
    seconds = max(min(call.seconds, LONGEST, *left), 0.001)
    return UnderWay(position, call_id, call, Sending(_key(run, node_id, step.attempt, ordinal), seconds))


def _key(run: Run, node_id: str, attempt: int, ordinal: int) -> str:
    """What names this attempt at this call of this node of this run, and nothing else."""
    return f"{ids.wire('run', run.id)}/{quote(node_id, safe='')}/{attempt}/{ordinal}"


def make(under_way: UnderWay, keep: Callable[[], bool]) -> Ended | None:
    """Send the call and wait for its end. ``keep`` is asked every few seconds whether it is still wanted; it renews the
    lease, and raises when that is lost. None when the call was given up because nobody wants it."""
    began = time.monotonic()
    with _sent(under_way) as future:
        while not concurrent.futures.wait([future], timeout=RENEW_EVERY).done:
            if not keep():
                return None
    took = time.monotonic() - began
    try:
        return Ended(took, future.result())
    except NodeFailure as failed:
        return Ended(took, {}, Failure(failed.code, failed.message), failed.final)
    except Exception as bug:
        log.exception("a call of kind %s crashed: %s", under_way.call.kind, execution.kind_of(bug), exc_info=False)
        return Ended(took, {}, FAILED)


@contextlib.contextmanager
def _sent(under_way: UnderWay) -> Iterator[concurrent.futures.Future[JSONObject]]:
    """The call is made by a thread beside, so that this one can renew the lease; it ends with the block."""
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
    return await under_way.call.send(under_way.sending)


async def _drained() -> None:
    """Whatever was cancelled has closed its connections."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


def record(run: Run, under_way: UnderWay, ended: Ended, *, now: datetime) -> None:
    """How the call ended is on record; the locked run goes on."""
    if ended.failure:
        kept_calls.fail(run, under_way.call_id)
    else:
        kept_calls.finish(run, under_way.call_id, ended.answer)
    code = ended.failure.code if ended.failure else OK
    answered = CallAnswered(
        under_way.position.node_id, under_way.call_id, under_way.call.kind, code, int(ended.took * 1000)
    )
    runs.progress(run, answered, ready_at=runs.LEASE.end(now), now=now)
