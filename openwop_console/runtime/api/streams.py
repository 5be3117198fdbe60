"""Events over HTTP: of a run as JSON, long poll and server-sent events (openwop-host 3.5, 3.6), and OpenIntent's.

Those of an intent or an agent are server-sent events in the form of the published client (R65, C20), from the same
notifier under the same bounds. Such a stream begins with the next event, or after the one that ``Last-Event-ID`` names;
it ends with the credential, with the reader's part in the work, and with the process.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from rest_framework.decorators import api_view, content_negotiation_class
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import event_log, ids
from memory.host.event_log import Recorded
from memory.host.http import checked, operation, query_of
from memory.host.json_types import JSONObject, json_bytes
from memory.host.tenancy import TenantScope, scope_of
from memory.openintent import events
from memory.openintent.access import READ, Caller
from memory.openintent.api.http import caller_of, described
from memory.openintent.events import Log
from openwop_console.runtime import run_operations, streams
from openwop_console.runtime.api import serializers
from openwop_console.runtime.api.serializers import EventsQuery, PollQuery, event_document, run_document
from openwop_console.runtime.streams import Frame, Item, Place, Reading

DEFAULT_WAIT = 15
JSON, STREAM = "application/json", "text/event-stream"
KEEPALIVE = b":keepalive\n\n"
ALL = frozenset({"debug"})
MOST_DIGITS = 18
TEXT_STREAM: dict[object, object] = {(200, STREAM): {"type": "string"}}
RESUMED = ("Last-Event-ID",)
Look = Callable[[datetime], Log | None]


class AlwaysJson(BaseContentNegotiation):
    """What the framework renders here, refusals above all, is JSON whatever the client accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class EventStream(StreamingHttpResponse):
    """A stream at a place; ``abandon`` ends it soon when its client has gone."""

    def __init__(self, place: Place, body: Iterator[bytes], content_type: str = STREAM) -> None:
        super().__init__(body, content_type=content_type)
        self["Cache-Control"] = "no-cache"
        self["X-Accel-Buffering"] = "no"
        self.abandon = partial(streams.abandon, place)


class Body:
    """The bytes of a stream. Closed, whether it was begun or not, it gives its place back."""

    def __init__(self, place: Place, frames: Generator[bytes, None, None]) -> None:
        self._place, self._frames = place, frames

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._frames)

    def close(self) -> None:
        self._frames.close()
        streams.leave(self._place)


@operation(
    "readRunEvents",
    scope="runs:read",
    query=EventsQuery,
    headers=("Last-Event-ID",),
    gives={200: serializers.EVENTS, (200, STREAM): serializers.STREAM},
    tag="runs",
)
@api_view(["GET"])
@content_negotiation_class(AlwaysJson)
def run_events(request: Request, run_id: str) -> HttpResponseBase:
    reading = checked(EventsQuery, query_of(request)).reading(request.headers.get("Last-Event-ID", ""))
    scope, found, now = scope_of(request), ids.parse("run", run_id), timezone.now()
    if request.get_preferred_type([JSON, STREAM]) != STREAM:
        events, complete = streams.whole_log(scope, found, now=now)
        response: HttpResponseBase = Response(_events_document(events, complete))
    else:
        place = streams.open_place(scope, found, now=now)
        frames = streams.follow(
            scope, place, reading, render=_rendered, clock=timezone.now, still_holds=_readability_check(scope, place)
        )
        response = EventStream(place, Body(place, frames))
    patch_vary_headers(response, ["Accept"])
    return response


@operation("pollRunEvents", scope="runs:read", query=PollQuery, gives={200: serializers.EVENTS}, tag="runs")
@api_view(["GET"])
def run_events_poll(request: Request, run_id: str) -> Response:
    given = checked(PollQuery, query_of(request)).validated_data
    events, complete = streams.await_events(
        scope_of(request),
        ids.parse("run", run_id),
        after=given.get("lastSequence", -1),
        seconds=given.get("timeout", DEFAULT_WAIT),
        now=timezone.now(),
    )
    return Response(_events_document(events, complete))


def _readability_check(scope: TenantScope, place: Place) -> Callable[[datetime], bool]:
    return lambda now: run_operations.still_readable(scope, place.stream_id, now=now)


def _events_document(events: list[Recorded], complete: bool) -> JSONObject:
    return {"events": [event_document(event) for event in events], "isComplete": complete}


def _rendered(frames: Sequence[Frame]) -> bytes:
    return b"".join(map(_rendered_frame, frames))


def _rendered_frame(frame: Frame) -> bytes:
    """One frame of the stream, as text."""
    if not frame.items:
        return KEEPALIVE
    last = frame.items[-1]
    event = "batch" if frame.batch else _type_of(last)
    data = [_document(item) for item in frame.items] if frame.batch else _document(last)
    head = f"id: {last.sequence}\n" if last.sequence >= 0 else ""
    return f"{head}event: {event}\ndata: ".encode() + json_bytes(data) + b"\n\n"


def _type_of(item: Item) -> str:
    return item.type if isinstance(item, Recorded) else "state.snapshot"


def _document(item: Item) -> JSONObject:
    return event_document(item) if isinstance(item, Recorded) else run_document(item.state)


@described("subscribeToIntent", scope=READ, headers=RESUMED, gives=TEXT_STREAM)
@api_view(["GET"])
@content_negotiation_class(AlwaysJson)
def intent_subscription(request: Request, intent_id: str) -> HttpResponseBase:
    """What happens to an intent, to its tasks and in the memory of those who work on it."""
    caller = caller_of(request)
    log = events.intent_log(caller, intent_id, now=timezone.now())
    return _stream(request, _Subscription(caller, log, lambda now: events.readable_intent(caller, intent_id, now=now)))


@described("subscribeToAgent", scope=READ, headers=RESUMED, gives=TEXT_STREAM)
@api_view(["GET"])
@content_negotiation_class(AlwaysJson)
def agent_subscription(request: Request, agent_id: str) -> HttpResponseBase:
    """What is assigned to an agent, and what happens in its memory outside of any intent."""
    caller = caller_of(request)
    log = events.open_agent_log(caller, agent_id, now=timezone.now())
    return _stream(request, _Subscription(caller, log, lambda now: events.readable_agent(caller, agent_id, now=now)))


@dataclass(slots=True)
class _Subscription:
    """Who reads which log. ``look`` says what of it the reader may see at a moment, None when nothing any more."""

    caller: Caller
    log: Log
    look: Look

    def still_holds(self, now: datetime) -> bool:
        found = self.look(now)
        self.log = found or self.log
        return found is not None

    def rendered(self, frames: Sequence[Frame]) -> bytes:
        """Nothing for a fact of OpenWOP on the same log."""
        found = [each for frame in frames for each in frame.items if isinstance(each, Recorded)]
        documents = events.whole_documents(self.log, found)
        return (
            b"".join(_frame(event.sequence, events.frame_name(self.log, each), each) for event, each in documents)
            if found
            else KEEPALIVE
        )


def _stream(request: Request, subscription: _Subscription) -> HttpResponseBase:
    log = subscription.log
    assert log.stream_id is not None
    place = streams.take_place(log.tenant_id, log.stream_id, subscription.caller.scope.principal)
    place.seen = event_log.length(log.tenant_id, log.stream_id)
    after = _last_seen(request.headers.get("Last-Event-ID", ""), place)
    return EventStream(place, Body(place, _following(subscription, place, after)))


def _last_seen(text: str, place: Place) -> int:
    """The number of the last event that the reader has; without one, or with one that is none, all that is there.

    One that is not written yet is none: the reader would ask for what follows it, and miss what comes before.
    """
    known = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return min(int(text), place.seen - 1) if known else place.seen - 1


def _following(subscription: _Subscription, place: Place, after: int) -> Generator[bytes, None, None]:
    """First where the stream begins, so that a reader who loses it at once knows from where on to ask again."""
    log = subscription.log
    named = {name: value for name in ("intent_id", "agent_id") if (value := getattr(log, name))}
    yield _frame(after, "connected", named)
    yield from streams.follow(
        subscription.caller.scope,
        place,
        Reading(ALL, after=after),
        render=subscription.rendered,
        clock=timezone.now,
        still_holds=subscription.still_holds,
    )


def _frame(sequence: int, event: str, document: JSONObject) -> bytes:
    head = f"id: {sequence}\n" if sequence >= 0 else ""
    return f"{head}event: {event}\ndata: ".encode() + json_bytes(document) + b"\n\n"
