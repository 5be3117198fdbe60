"""A run's events as they come: which of them a reader is shown, when they are handed out, and when it is over.

A stream ends with its run, with the credential that opened it, and with the process. While it waits it holds neither a
slot nor a connection to the database (openwop-host 3.6).
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cache
from uuid import UUID

from memory.host import event_log, runs, slots, tenancy
from memory.host.errors import Unauthenticated, UnsupportedStreamMode
from memory.host.event_log import Recorded
from memory.host.events import NodeSuspended, RunCancelled, RunCompleted, RunFailed
from memory.host.runs import ENDS
from memory.host.tenancy import TenantScope
from openwop_console.runtime import intake, notifier
from openwop_console.runtime.intake import RunState
from openwop_console.runtime.notifier import Place

# What each mode shows; the first pattern that fits an event decides, and one with "!" hides it.
SHOWN: dict[str, tuple[str, ...]] = {
    "updates": (
        "run.*",
        "node.completed",
        "node.failed",
        "node.skipped",
        "node.suspended",
        "node.resumed",
        "node.retried",
        "node.cancelled",
        "node.dispatched",
        "approval.*",
        "clarification.*",
        "interrupt.*",
        "artifact.created",
        "workspace.updated",
        "memory.written",
        "cap.breached",
        "authorization.decided",
        "!agent.*.delta",
        "agent.*",
    ),
    "messages": ("ai.message.chunk",),
    "debug": ("*",),
}
VALUES = "values"
MODES = (VALUES, *SHOWN)
TERMINAL = frozenset(kind.type for kind in (RunCompleted, RunFailed, RunCancelled))
AT_ONCE = TERMINAL | {NodeSuspended.type}

# A client that went away is noticed when a sign of life, or the one after the next, cannot be written.
KEEPALIVE_SECONDS = 5.0
RECHECK_SECONDS = 20.0

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader asked for: everything behind ``after`` that its modes show, held back for ``buffer`` seconds."""

    modes: frozenset[str]
    buffer: float = 0
    after: int = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The run as it stands after the event ``sequence``; -1 before its first."""

    sequence: int
    state: RunState


Item = Recorded | Snapshot


@dataclass(frozen=True, slots=True)
class Frame:
    """What is handed out at once: one item, several as a batch, or none to say that the stream lives."""

    items: tuple[Item, ...] = ()
    batch: bool = False


Render = Callable[[Frame], bytes]


@dataclass(slots=True)
class _Reader:
    """Where a reader stands: ``after`` is the last event read for it, ``held`` waits for ``due``."""

    scope: TenantScope
    run_id: UUID
    reading: Reading
    after: int
    held: list[Item] = field(default_factory=list)
    due: float | None = None
    began: bool = False
    behind: bool = False
    over: bool = False


def modes_of(text: str) -> frozenset[str]:
    """The modes that a comma list names; ``values`` stands alone."""
    modes = frozenset(text.split(","))
    if not modes <= set(MODES) or (VALUES in modes and len(modes) > 1):
        raise UnsupportedStreamMode(supported=list(MODES))
    return modes


@cache
def _shows(mode: str, event_type: str) -> bool:
    fits = (pattern for pattern in SHOWN[mode] if fnmatchcase(event_type, pattern.removeprefix("!")))
    return not next(fits, "!").startswith("!")


def is_shown(modes: Iterable[str], event_type: str) -> bool:
    """Whether a reader in these modes gets events of this type; the terminal one always."""
    return event_type in TERMINAL or any(_shows(mode, event_type) for mode in modes)


def whole_log(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> tuple[list[Recorded], bool]:
    """Every event of the run, and whether the run has ended."""
    intake.find_run(scope, run_id, now=now)
    events, complete = intake.read_events(scope, run_id, after=-1)
    page = events
    while len(page) == event_log.PAGE:
        page, complete = intake.read_events(scope, run_id, after=page[-1].sequence)
        events = events + page
    return events, complete


def await_events(
    scope: TenantScope, run_id: UUID | None, *, after: int, seconds: float, now: datetime
) -> tuple[list[Recorded], bool]:
    """The events behind ``after`` as soon as there are any, the run has ended, or the time is up."""
    intake.find_run(scope, run_id, now=now)
    events, complete = intake.read_events(scope, run_id, after=after)
    if events or complete or seconds <= 0 or run_id is None:
        return events, complete
    until = time.monotonic() + seconds
    with notifier.a_place(scope.tenant_id, run_id, scope.principal) as place:
        while True:
            seen = min(after + 1, event_log.length(scope.tenant_id, run_id))
            grown = notifier.wait(place, seen=seen, seconds=until - time.monotonic())
            if place.lost:
                raise Unauthenticated
            events, complete = intake.read_events(scope, run_id, after=after)
            if events or complete or not grown:
                return events, complete


def open_place(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Place:
    """A place to follow the run from; refused before anything is sent."""
    found = intake.find_run(scope, run_id, now=now)
    place = notifier.take_place(found.tenant_id, found.id, scope.principal)
    place.seen = event_log.length(found.tenant_id, found.id)
    return place


def _always(now: datetime) -> bool:
    return True


def follow(
    scope: TenantScope,
    place: Place,
    reading: Reading,
    *,
    render: Render,
    clock: Clock,
    still_holds: Callable[[datetime], bool] = _always,
) -> Generator[bytes, None, None]:
    """What the reader is shown, rendered, as it comes; every few seconds a sign of life.

    ``still_holds`` is asked when the credential is looked at again: what else the reader may read by.
    """
    reader = _Reader(scope, place.stream_id, reading, after=min(reading.after, place.seen - 1))
    checked = spoke = time.monotonic()
    news = True
    while True:
        if place.lost:
            return
        if time.monotonic() >= checked + RECHECK_SECONDS:
            if not _still_may_read(scope, clock, still_holds):
                return
            checked = time.monotonic()
        if text := _read(reader, render, clock, news=news):
            yield text
            spoke = time.monotonic()
        if reader.over:
            return
        if time.monotonic() >= spoke + KEEPALIVE_SECONDS:
            yield render(Frame())
            spoke = time.monotonic()
        wake = min(spoke + KEEPALIVE_SECONDS, checked + RECHECK_SECONDS, reader.due or float("inf"))
        news = reader.behind or notifier.wait(place, seen=reader.after + 1, seconds=wake - time.monotonic())


def _still_may_read(scope: TenantScope, clock: Clock, still_holds: Callable[[datetime], bool]) -> bool:
    with slots.held():
        now = clock()
        return tenancy.still_holds(scope, "runs:read", now=now) and still_holds(now)


def _read(reader: _Reader, render: Render, clock: Clock, *, news: bool) -> bytes:
    """What is to be sent now, of what is new and of what was held back; nothing when there is nothing to do, or when
    the key of the reader opens nothing any more."""
    reader.over = reader.over or notifier.is_ending()
    due = reader.due is not None and time.monotonic() >= reader.due
    if not (news or due or reader.over):
        return b""
    with slots.held():
        if news and reader.began and tenancy.lost_keys([reader.scope.principal], now=clock()):
            reader.over = True
            return b""
        found = _next_items(reader) if news else []
        return b"".join(render(frame) for frame in _frames(reader, found))


def _next_items(reader: _Reader) -> list[Item]:
    return list(_snapshots(reader) if VALUES in reader.reading.modes else _events(reader))


def _events(reader: _Reader) -> Iterator[Item]:
    """The next page of the log, as far as the reader's modes show it; ``behind`` when there may be another."""
    page, complete = intake.read_events(reader.scope, reader.run_id, after=reader.after)
    reader.behind = len(page) == event_log.PAGE
    reader.over = reader.over or complete
    for event in page:
        reader.after = event.sequence
        reader.over = reader.over or event.type in TERMINAL
        if is_shown(reader.reading.modes, event.type):
            yield event


def _snapshots(reader: _Reader) -> Iterator[Item]:
    """The run as it is now, when the reader has not seen it so.

    The length is read first, so a change in between is told again rather than missed; the log of a run that has ended
    grows no more.
    """
    last = event_log.length(reader.scope.tenant_id, reader.run_id) - 1
    state = intake.state_of(runs.find(reader.scope.tenant_id, reader.run_id))
    if state.run.status in ENDS:
        last = event_log.length(reader.scope.tenant_id, reader.run_id) - 1
        reader.over = True
    if last > reader.after or not (reader.began or reader.over):
        yield Snapshot(last, state)
    reader.after = max(last, reader.after)


def _frames(reader: _Reader, found: list[Item]) -> list[Frame]:
    """``found``, one by one or in batches. The backlog, a suspension and the end wait for no buffer."""
    backlog, reader.began = not reader.began, reader.began or not reader.behind
    if not reader.reading.buffer:
        return [Frame((item,)) for item in found]
    reader.held += found
    if VALUES in reader.reading.modes:
        reader.held = reader.held[-1:]
    if not reader.held:
        return []
    reader.due = reader.due or time.monotonic() + reader.reading.buffer
    urgent = backlog or reader.over or any(isinstance(item, Recorded) and item.type in AT_ONCE for item in found)
    if not urgent and time.monotonic() < reader.due:
        return []
    batch, reader.held, reader.due = tuple(reader.held), [], None
    return [Frame(batch, batch=True)]
