"""A stream of server-sent events, read as it comes over the wire."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

STREAM = "text/event-stream"


@dataclass(frozen=True)
class Frame:
    """One frame: its fields, and when it came."""

    id: int | None
    event: str
    data: Any
    at: float

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The events it carries, one or a batch."""
        return self.data if self.event == "batch" else [self.data]


def frames(chunks: Iterable[str]) -> Iterator[Frame]:
    """The frames of a stream as each is complete; comments are none."""
    text = ""
    for chunk in chunks:
        *complete, text = (text + chunk).split("\n\n")
        for each in complete:
            lines = dict(line.split(": ", 1) for line in each.split("\n") if not line.startswith(":"))
            if lines:
                number = int(lines["id"]) if "id" in lines else None
                yield Frame(number, lines["event"], json.loads(lines["data"]), time.monotonic())
    assert not text.replace(":keepalive", "").strip(), "the stream broke off inside a frame"


@contextmanager
def opened(client: httpx.Client, run_id: str, *, last: object = None, **query: Any) -> Iterator[httpx.Response]:
    """The answer to a reader who accepts a stream, still open."""
    headers = {"Accept": STREAM} | ({} if last is None else {"Last-Event-ID": str(last)})
    with client.stream("GET", f"/v1/runs/{run_id}/events", params=query, headers=headers) as answer:
        yield answer


def read(client: httpx.Client, run_id: str, *, last: object = None, **query: Any) -> list[Frame]:
    """Every frame until the host closes the stream."""
    with opened(client, run_id, last=last, **query) as answer:
        assert answer.status_code == 200, answer.read()
        return list(frames(answer.iter_text()))


def types(found: Iterable[Frame]) -> list[str]:
    """The types of the events that the frames carry, in order."""
    return [document["type"] for frame in found for document in frame.documents]
