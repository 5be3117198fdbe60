"""A run's events over HTTP: as JSON, as a long poll, and as a stream of server-sent events (openwop-host 3.5, 3.6)."""

from collections.abc import Callable, Generator, Iterator
from datetime import datetime
from typing import Any

import orjson
from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from rest_framework.decorators import api_view, content_negotiation_class
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.event_log import Recorded
from memory.host.http import checked, operation, query_of
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope, scope_of
from openwop_console.runtime import runs, streams
from openwop_console.runtime.api import schemas
from openwop_console.runtime.api.serializers import EventsQuery, PollQuery, event_document, run_document
from openwop_console.runtime.streams import Frame, Item, Place

DEFAULT_WAIT = 15
JSON, STREAM = "application/json", "text/event-stream"
KEEPALIVE = b":keepalive\n\n"


class AlwaysJson(BaseContentNegotiation):
    """What the framework renders here, refusals above all, is JSON whatever the client accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


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
    gives={200: schemas.EVENTS, (200, STREAM): schemas.STREAM},
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
            scope, place, reading, render=_rendered, clock=timezone.now, still_holds=_look(scope, place)
        )
        response = StreamingHttpResponse(Body(place, frames), content_type=STREAM)
        response["Cache-Control"] = "no-cache"
        response["X-Accel-Buffering"] = "no"
    patch_vary_headers(response, ["Accept"])
    return response


@operation("pollRunEvents", scope="runs:read", query=PollQuery, gives={200: schemas.EVENTS}, tag="runs")
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


def _look(scope: TenantScope, place: Place) -> Callable[[datetime], bool]:
    return lambda now: runs.still_readable(scope, place.stream_id, now=now)


def _events_document(events: list[Recorded], complete: bool) -> JSONObject:
    return {"events": [event_document(event) for event in events], "isComplete": complete}


def _rendered(frame: Frame) -> bytes:
    """One frame of the stream, as text."""
    if not frame.items:
        return KEEPALIVE
    last = frame.items[-1]
    event = "batch" if frame.batch else _type_of(last)
    data = [_document(item) for item in frame.items] if frame.batch else _document(last)
    head = f"id: {last.sequence}\n" if last.sequence >= 0 else ""
    return f"{head}event: {event}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"


def _type_of(item: Item) -> str:
    return item.type if isinstance(item, Recorded) else "state.snapshot"


def _document(item: Item) -> JSONObject:
    return event_document(item) if isinstance(item, Recorded) else run_document(item.state)
