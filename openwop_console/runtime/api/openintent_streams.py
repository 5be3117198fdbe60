"""The events of an intent, or of an agent, as they come: server-sent events in the published client's form (R65, C20).

A stream stands on the runtime's notifier beside those of OpenWOP, and under the same bounds. It begins with what comes
from now on, or behind the event that ``Last-Event-ID`` names; it ends with the credential, with the reader's part in
the work, and with the process.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from rest_framework.decorators import api_view, content_negotiation_class
from rest_framework.request import Request

from memory.host import event_log
from memory.host.event_log import Recorded
from memory.host.json_types import JSONObject
from memory.openintent import events
from memory.openintent.access import READ, Caller
from memory.openintent.api.http import caller_of, described, json_bytes
from memory.openintent.events import Log
from openwop_console.runtime import streams
from openwop_console.runtime.api.streams import KEEPALIVE, STREAM, AlwaysJson, Body
from openwop_console.runtime.streams import Frame, Place, Reading

ALL = frozenset({"debug"})
MOST_DIGITS = 18
TEXT_STREAM: dict[Any, Any] = {(200, STREAM): {"type": "string"}}
RESUMED = ("Last-Event-ID",)
Look = Callable[[datetime], Log | None]


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
    """What happens in the memory of an agent outside of any intent."""
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

    def rendered(self, frame: Frame) -> bytes:
        """Nothing for a fact of OpenWOP on the same log."""
        told = events.documents(self.log, [each for each in frame.items if isinstance(each, Recorded)])
        frames = [_frame(frame.items[-1].sequence, each["event_type"], each) for each in told]
        return b"".join(frames) if frame.items else KEEPALIVE


def _stream(request: Request, subscription: _Subscription) -> HttpResponseBase:
    log = subscription.log
    assert log.stream_id is not None
    place = streams.take_place(log.tenant_id, log.stream_id, subscription.caller.scope.principal)
    place.seen = event_log.length(log.tenant_id, log.stream_id)
    after = _last_seen(request.headers.get("Last-Event-ID", ""), place)
    response = StreamingHttpResponse(Body(place, _following(subscription, place, after)), content_type=STREAM)
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _last_seen(text: str, place: Place) -> int:
    """The number of the last event that the reader has; without one, or with one that is none, all that is there."""
    known = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    return int(text) if known else place.seen - 1


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
