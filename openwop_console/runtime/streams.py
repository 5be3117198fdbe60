"""Streams of a run's events: filtering by mode, delivery and buffering, waiting, and the end of a stream.

A stream ends with its run, with the credential that opened it, or with the process. A waiting stream holds neither a
request slot nor a database connection (openwop-host 3.6).
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cache
from math import ceil
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memory.host import event_log, request_slots, runs, tenancy
from memory.host.clock import Clock
from memory.host.errors import Busy, Unauthenticated, UnsupportedStreamMode
from memory.host.event_log import Recorded
from memory.host.events import NodeSuspended, RunCancelled, RunCompleted, RunFailed
from memory.host.runs import ENDS
from memory.host.tenancy import Principal, TenantScope
from memory.host.wakeups import Topic, Waiter
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunState

log = logging.getLogger(__name__)
# Seconds between polls of the logs when no wake-up arrives, and the pause after a wake-up, which batches several.
EVERY = 0.1
PAUSE = 0.005
# Seconds that the notifier keeps its connection after the last reader has left, for the next one.
LINGER = 10.0
CREDENTIALS_EVERY = 1.0
AFTER_A_FAILURE = 2.0
RETRY_AFTER_MS = 5000
# The events each mode shows: the first matching pattern decides, and a pattern with "!" hides the event.
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
# A disconnected client is noticed when a keepalive cannot be written, which may take more than one of them.
KEEPALIVE_SECONDS = 5.0
RECHECK_SECONDS = 20.0


@dataclass(eq=False, slots=True)
class Place:
    """A reader waiting on one run; ``seen`` is the number of its events that the reader has."""

    tenant_id: UUID
    stream_id: UUID
    principal: Principal | None = None
    seen: int = 0
    lost: bool = False  # the reader has gone, or its credential is invalid or grants less than when the stream opened
    woken: threading.Event = field(default_factory=threading.Event)


# The share of all places that one tenant may hold, and of the tenant's that one key or person may, so that none locks
# out the others.
SHARE = 0.9


_guard = threading.Lock()


_arrival = threading.Condition(_guard)


_places: set[Place] = set()


_threads: list[threading.Thread] = []


_ending = threading.Event()


def _require_room(place: Place) -> None:
    most: int = settings.OPENWOP_MAX_STREAMS
    of_tenant = [each.principal for each in _places if each.tenant_id == place.tenant_id]
    if len(_places) >= most or len(of_tenant) >= ceil(most * SHARE):
        raise Busy("This host has no room for another reader that waits.", retryAfterMs=RETRY_AFTER_MS)
    if place.principal is None:
        return
    own = sum(each is not None and each.id == place.principal.id for each in of_tenant)
    if own >= ceil(most * SHARE**2):
        raise Busy("So many readers of one key wait that another one has no room.", retryAfterMs=RETRY_AFTER_MS)


def take_place(tenant_id: UUID, stream_id: UUID, principal: Principal | None = None) -> Place:
    """Take a place until ``leave``; raise Busy when this process, the tenant's share or the principal's is full.

    Starts the notifier thread with the first place.
    """
    place = Place(tenant_id, stream_id, principal)
    with _guard:
        _require_room(place)
        _places.add(place)
        _arrival.notify()
        if not _threads:
            _threads.append(threading.Thread(target=_tell_until_nobody_waits, name="notifier", daemon=True))
            _threads[0].start()
    return place


def leave(place: Place) -> None:
    """Free the place; idempotent."""
    with _guard:
        _places.discard(place)


@contextlib.contextmanager
def a_place(tenant_id: UUID, stream_id: UUID, principal: Principal | None = None) -> Iterator[Place]:
    """Hold a place for the duration of the block."""
    place = take_place(tenant_id, stream_id, principal)
    try:
        yield place
    finally:
        leave(place)


def wait(place: Place, *, seen: int, seconds: float) -> bool:
    """Sleep until the log holds more than ``seen`` events, the time is up, or the process ends.

    Return True only if the place was woken and the process is not ending. Releases the request slot while it sleeps.
    """
    place.seen = seen
    place.woken.clear()
    if _ending.is_set() or place.lost:
        return False
    with request_slots.aside():
        return place.woken.wait(max(seconds, 0)) and not _ending.is_set()


def is_lost(place: Place) -> bool:
    """Whether the reader's credential is now invalid, or grants less than when the stream opened."""
    return place.lost or bool(place.principal and tenancy.revoked_among([place.principal], now=timezone.now()))


def abandon(place: Place) -> None:
    """Wake the reader at this place to end its stream: its client has gone. Needs no lock, thread or database."""
    place.lost = True
    place.woken.set()


def is_ending() -> bool:
    """Whether ``end`` was called in this process."""
    return _ending.is_set()


def end() -> None:
    """Wake every waiting reader and refuse further waits; called when the process is asked to end."""
    _ending.set()
    with _guard:
        for place in _places:
            place.woken.set()
        _arrival.notify()


def _tell_until_nobody_waits() -> None:
    looked, waiter = time.monotonic(), Waiter(Topic.EVENTS)
    try:
        while places := _waiting():
            if time.monotonic() >= looked + CREDENTIALS_EVERY:
                _wake_the_lost(places)
                looked = time.monotonic()
            if not _wake_changed(places):
                time.sleep(AFTER_A_FAILURE)
            elif waiter.wait(EVERY):
                time.sleep(PAUSE)
    finally:
        waiter.close()
        connection.close()


def _waiting() -> list[Place]:
    """The places taken now; when there are none, those that are taken within LINGER.

    When none is, forget the thread, so that the next place starts a new one.
    """
    with _guard:
        if not _places and not _ending.is_set():
            _arrival.wait(LINGER)
        if not _places:
            _threads.clear()
        return list(_places)


def _wake_the_lost(places: list[Place]) -> None:
    """Mark as lost and wake the readers whose key was revoked, rotated, expired or reduced."""
    try:
        lost = tenancy.revoked_among([each.principal for each in places if each.principal], now=timezone.now())
    except Exception:
        log.exception("The keys of those who wait could not be looked at; the next look is in a second")
        connection.close()
        return
    for place in places:
        if place.principal in lost:
            place.lost = True
            place.woken.set()


def _wake_changed(places: list[Place]) -> bool:
    """Wake the readers whose log has grown; return False when the database query failed and must be retried."""
    try:
        lengths = event_log.lengths({(place.tenant_id, place.stream_id) for place in places})
    except Exception:
        log.exception("The watched logs could not be looked at; the next look is in %s seconds", AFTER_A_FAILURE)
        connection.close()
        return False
    for place in places:
        if lengths.get(place.stream_id, 0) > place.seen:
            place.woken.set()
    return True


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's request: the events after sequence ``after`` that its modes show, batched for ``buffer`` seconds."""

    modes: frozenset[str]
    buffer: float = 0
    after: int = -1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The run's state after the event ``sequence``; -1 before its first event."""

    sequence: int
    state: RunState


Item = Recorded | Snapshot


@dataclass(frozen=True, slots=True)
class Frame:
    """A unit of output: one item, several as a batch, or none as a keepalive."""

    items: tuple[Item, ...] = ()
    batch: bool = False


# Frames are rendered together: what they need of the database is read once for a page of the log.
Render = Callable[[Sequence[Frame]], bytes]


@dataclass(slots=True)
class _Reader:
    """The state of one stream: ``after`` is the last event read, and ``held`` is buffered until ``due``.

    ``behind`` is set when the log may have another page; ``over`` when the stream has ended.
    """

    scope: TenantScope
    place: Place
    reading: Reading
    still_holds: Callable[[datetime], bool]
    after: int
    held: list[Item] = field(default_factory=list)
    due: float | None = None
    began: bool = False
    behind: bool = False
    over: bool = False


def modes_of(text: str) -> frozenset[str]:
    """Parse a comma-separated list of modes; ``values`` cannot be combined. Raises UnsupportedStreamMode."""
    modes = frozenset(text.split(","))
    if not modes <= set(MODES) or (VALUES in modes and len(modes) > 1):
        raise UnsupportedStreamMode(supported=list(MODES))
    return modes


@cache
def _shows(mode: str, event_type: str) -> bool:
    fits = (pattern for pattern in SHOWN[mode] if fnmatchcase(event_type, pattern.removeprefix("!")))
    return not next(fits, "!").startswith("!")


def is_shown(modes: Iterable[str], event_type: str) -> bool:
    """Whether these modes show events of this type; terminal events are always shown."""
    return event_type in TERMINAL or any(_shows(mode, event_type) for mode in modes)


def whole_log(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> tuple[list[Recorded], bool]:
    """Every event of the run, and whether the run has ended."""
    run = run_operations.find_run(scope, run_id, now=now)
    events, complete = run_operations.read_events(scope, run, after=-1)
    page = events
    while len(page) == event_log.PAGE:
        page, complete = run_operations.read_events(scope, run, after=page[-1].sequence)
        events = events + page
    return events, complete


def await_events(
    scope: TenantScope, run_id: UUID | None, *, after: int, seconds: float, now: datetime
) -> tuple[list[Recorded], bool]:
    """Long poll: return the events after ``after``, and whether they complete the log.

    Waits until there are events, the run has ended, or ``seconds`` are up. Raises Unauthenticated when the credential
    is lost meanwhile.
    """
    run = run_operations.find_run(scope, run_id, now=now)
    events, complete = run_operations.read_events(scope, run, after=after)
    if events or complete or seconds <= 0:
        return events, complete
    until = time.monotonic() + seconds
    with a_place(scope.tenant_id, run.id, scope.principal) as place:
        grown = True
        while True:
            # The length is read before the events: an event written in between ends the wait at once.
            length = event_log.length(scope.tenant_id, run.id)
            if length != after + 1:  # else the log is as it was read above
                run = runs.find(scope.tenant_id, run.id)
                events, complete = run_operations.read_events(scope, run, after=after)
            over = bool(events) or complete or not grown
            # Checked after the read: every event returned was written while the credential was still valid.
            if place.lost or (over and is_lost(place)):
                raise Unauthenticated
            if over:
                return events, complete
            grown = wait(place, seen=min(after + 1, length), seconds=until - time.monotonic())


def open_place(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Place:
    """Take a place for ``follow``; every refusal is raised here, before the response starts."""
    found = run_operations.find_run(scope, run_id, now=now)
    place = take_place(found.tenant_id, found.id, scope.principal)
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
    """Yield rendered frames as events arrive, with a keepalive after KEEPALIVE_SECONDS of silence.

    ``still_holds`` is called at every credential check and tests any further right that the reader depends on.
    """
    reader = _Reader(scope, place, reading, still_holds, after=min(reading.after, place.seen - 1))
    checked = spoke = time.monotonic()
    news = True
    while True:
        if place.lost:
            return
        if time.monotonic() >= checked + RECHECK_SECONDS:
            with request_slots.hold_slot():
                if not _may_read(reader, clock):
                    return
            checked = time.monotonic()
        if text := _read(reader, render, clock, news=news):
            yield text
            spoke = time.monotonic()
        if reader.over:
            return
        if time.monotonic() >= spoke + KEEPALIVE_SECONDS:
            yield render([Frame()])
            spoke = time.monotonic()
        wake = min(spoke + KEEPALIVE_SECONDS, checked + RECHECK_SECONDS, reader.due or float("inf"))
        news = reader.behind or wait(place, seen=reader.after + 1, seconds=wake - time.monotonic())


def _may_read(reader: _Reader, clock: Clock) -> bool:
    return not is_lost(reader.place) and reader.still_holds(clock())


def _read(reader: _Reader, render: Render, clock: Clock, *, news: bool) -> bytes:
    """Render the new and the buffered items that are due; empty when there are none or the reader lost its right.

    The right is checked after the read: everything sent was written while the reader still had it.
    """
    reader.over = reader.over or is_ending()
    due = reader.due is not None and time.monotonic() >= reader.due
    if not (news or due or reader.over):
        return b""
    with request_slots.hold_slot():
        frames = _frames(reader, _next_items(reader) if news else [])
        if frames and not _may_read(reader, clock):
            reader.over = True
            return b""
        return render(frames) if frames else b""


def _next_items(reader: _Reader) -> list[Item]:
    return list(_snapshots(reader) if VALUES in reader.reading.modes else _events(reader))


def _events(reader: _Reader) -> Iterator[Item]:
    """The shown events of the next page of the log; sets ``behind`` when there may be another page."""
    run = runs.find(reader.scope.tenant_id, reader.place.stream_id)
    page, complete = run_operations.read_events(reader.scope, run, after=reader.after)
    reader.behind = len(page) == event_log.PAGE
    reader.over = reader.over or complete
    for event in page:
        reader.after = event.sequence
        reader.over = reader.over or event.type in TERMINAL
        if is_shown(reader.reading.modes, event.type):
            yield event


def _snapshots(reader: _Reader) -> Iterator[Item]:
    """A snapshot of the run, if the reader has not seen its current state.

    The length is read before the state, so a change in between is sent twice rather than missed. The length is read
    again once the run has ended, because its log is then final.
    """
    last = event_log.length(reader.scope.tenant_id, reader.place.stream_id) - 1
    run = runs.find(reader.scope.tenant_id, reader.place.stream_id)
    state = run_operations.state_of(reader.scope, run)
    if state.run.status in ENDS:
        last = event_log.length(reader.scope.tenant_id, reader.place.stream_id) - 1
        reader.over = True
    if last > reader.after or not (reader.began or reader.over):
        yield Snapshot(last, state)
    reader.after = max(last, reader.after)


def _frames(reader: _Reader, found: list[Item]) -> list[Frame]:
    """Frames of ``found``, one per item or batched. The backlog, a suspension and the end are sent unbuffered."""
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
