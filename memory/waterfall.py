"""The waterfall of a run: when each of its nodes worked and when it waited, as places in the span of the whole run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.host.event_log import Recorded
from memory.host.events import NodeCompleted, NodeResumed, NodeRetried, NodeStarted, NodeSuspended
from memory.host.models import Run

UNITS = 1000  # the width of the drawing
THINNEST = 4.0  # what lasts no time is drawn nevertheless
NOTHING = timedelta()


@dataclass(frozen=True, slots=True)
class Span:
    """From the first moment of a run that is drawn to the last; to ``now`` while it goes on."""

    began: datetime
    ended: datetime

    @property
    def length(self) -> timedelta:
        return self.ended - self.began

    def place(self, moment: datetime) -> float:
        """Where the moment stands, from 0 to ``UNITS``."""
        share = (moment - self.began) / self.length if self.length else 0.0
        return round(UNITS * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one node: it worked, or it waited for somebody, for an answer or for its next attempt."""

    x: float
    width: float
    is_wait: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: when it began, counted from the beginning of the run, how long it took, and what share that is."""

    offset: timedelta
    took: timedelta
    share: float
    segments: Sequence[Segment]
    marks: Sequence[float]
    goes_on: bool


def span_of(run: Run, events: Sequence[Recorded], now: datetime) -> Span:
    """The whole run. What an agent elsewhere or OpenIntent tells of has no end of its own: its last event is one."""
    moments = [event.timestamp for event in events]
    began = min([*moments, run.started_at or run.created_at])
    last = now if run.started_at and not (run.completed_at or run.external or run.system) else began
    return Span(began, max([*moments, run.completed_at or last, began]))


def bar_of(events: Sequence[Recorded], span: Span, *, goes_on: bool, marks: Sequence[datetime] = ()) -> Bar:
    """The row of one node with these events, of which there is at least one; it lasts to the end while it goes on."""
    began, ended = events[0].timestamp, span.ended if goes_on else events[-1].timestamp
    took = max(ended - began, NOTHING)
    return Bar(
        offset=began - span.began,
        took=took,
        share=min(took / span.length, 1.0) if span.length else 0.0,
        segments=[_segment(span, *stretch) for stretch in _stretches(events, ended)],
        marks=[span.place(moment) for moment in marks],
        goes_on=goes_on,
    )


def _segment(span: Span, began: datetime, ended: datetime, is_wait: bool) -> Segment:
    x = min(span.place(began), UNITS - THINNEST)
    return Segment(x, max(round(span.place(ended) - x, 1), THINNEST), is_wait)


def _stretches(events: Sequence[Recorded], ended: datetime) -> list[tuple[datetime, datetime, bool]]:
    """The changes between work and wait, each until the next; those of no length are left out where others are."""
    changes = [(events[0].timestamp, False)]
    for event in events:
        if event.type == NodeSuspended.type:
            changes.append((event.timestamp, True))
        elif event.type in (NodeStarted.type, NodeResumed.type, NodeCompleted.type):
            changes.append((event.timestamp, False))
        elif event.type == NodeRetried.type:
            again = event.timestamp + timedelta(milliseconds=event.payload["delayMs"])
            changes += [(event.timestamp, True), (min(again, ended), False)]
    until = [moment for moment, _ in changes[1:]] + [ended]
    drawn = [(began, end, is_wait) for (began, is_wait), end in zip(changes, until, strict=True) if end > began]
    return drawn or [(events[0].timestamp, ended, False)]
