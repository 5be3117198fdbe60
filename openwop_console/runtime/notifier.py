"""Who waits in this process for the events of which run, and the one thread that tells them.

The thread exists while somebody waits. Ten times a second it asks the database, in one query, how long the watched logs
are; whoever waits sleeps until its log is longer than what it has seen, and costs nothing until then. Of tenants it
knows ids, and of logs their lengths.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from memory.host import event_log, slots, tenancy
from memory.host.errors import Busy
from memory.host.tenancy import Principal

log = logging.getLogger(__name__)

EVERY = 0.1
CREDENTIALS_EVERY = 1.0
AFTER_A_FAILURE = 2.0
RETRY_AFTER_MS = 5000


@dataclass(eq=False, slots=True)
class Place:
    """A place to wait for one run; ``seen`` is how many of its events the one who waits has."""

    tenant_id: UUID
    stream_id: UUID
    principal: Principal | None = None
    seen: int = 0
    lost: bool = False  # the key that the reader came with opens nothing any more
    woken: threading.Event = field(default_factory=threading.Event)


# What one tenant may take of the places, so that no tenant keeps all the others out.
SHARE = 0.9

_guard = threading.Lock()
_places: set[Place] = set()
_threads: list[threading.Thread] = []
_ending = threading.Event()


def _share() -> int:
    return ceil(settings.OPENWOP_MAX_STREAMS * SHARE)


def take_place(tenant_id: UUID, stream_id: UUID, principal: Principal | None = None) -> Place:
    """A place that is the caller's until it leaves; refused when this process has no more."""
    place = Place(tenant_id, stream_id, principal)
    with _guard:
        own = sum(place.tenant_id == tenant_id for place in _places)
        if len(_places) >= settings.OPENWOP_MAX_STREAMS or own >= _share():
            raise Busy("This host has no room for another reader that waits.", retryAfterMs=RETRY_AFTER_MS)
        _places.add(place)
        if not _threads:
            _threads.append(threading.Thread(target=_tell_until_nobody_waits, name="notifier", daemon=True))
            _threads[0].start()
    return place


def leave(place: Place) -> None:
    """The place is free; leaving twice is leaving once."""
    with _guard:
        _places.discard(place)


@contextlib.contextmanager
def a_place(tenant_id: UUID, stream_id: UUID, principal: Principal | None = None) -> Iterator[Place]:
    """A place for as long as the block lasts."""
    place = take_place(tenant_id, stream_id, principal)
    try:
        yield place
    finally:
        leave(place)


def wait(place: Place, *, seen: int, seconds: float) -> bool:
    """Sleep until the log holds more than ``seen`` events, the time is up, or the process ends; whether it does."""
    place.seen = seen
    place.woken.clear()
    if _ending.is_set():
        return False
    with slots.aside():
        return place.woken.wait(max(seconds, 0)) and not _ending.is_set()


def is_ending() -> bool:
    """Whether this process was asked to end."""
    return _ending.is_set()


def end() -> None:
    """This process was asked to end: everything that waits here does so now, and nothing waits any more."""
    _ending.set()
    with _guard:
        for place in _places:
            place.woken.set()


def _tell_until_nobody_waits() -> None:
    looked = time.monotonic()
    try:
        while places := _waiting():
            if time.monotonic() >= looked + CREDENTIALS_EVERY:
                _wake_the_lost(places)
                looked = time.monotonic()
            time.sleep(EVERY if _tell(places) else AFTER_A_FAILURE)
    finally:
        connection.close()


def _waiting() -> list[Place]:
    """Who waits now; when nobody does, the next one starts a thread of its own."""
    with _guard:
        if not _places:
            _threads.clear()
        return list(_places)


def _wake_the_lost(places: list[Place]) -> None:
    """Readers whose key was revoked, rotated or has expired, or whose person was deactivated, are awake and know it."""
    try:
        lost = tenancy.lost_keys([each.principal for each in places if each.principal], now=timezone.now())
    except Exception:
        log.exception("The keys of those who wait could not be looked at; the next look is in a second")
        connection.close()
        return
    for place in places:
        if place.principal and place.principal.credential in lost:
            place.lost = True
            place.woken.set()


def _tell(places: list[Place]) -> bool:
    """Those whose log has grown are awake. False when the database could not say; it is asked again."""
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
