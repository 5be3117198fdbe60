"""A collector of OpenTelemetry: OTLP over HTTP, which decodes the protobuf that it is sent."""

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import receiver
from tests.receiver import Received, Receiver


@dataclass(frozen=True)
class Span:
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    failed: bool
    seconds: float
    attributes: dict[str, Any]
    process: str


class Collector:
    """What was sent to one address so far."""

    def __init__(self, receiving: Receiver) -> None:
        self._receiving = receiving
        self.url = f"http://127.0.0.1:{receiving.server_port}"

    @property
    def raw(self) -> bytes:
        """All that was sent, as bytes."""
        return b"".join(_body(each) for each in self._receiving.received)

    @property
    def spans(self) -> list[Span]:
        bodies = [_body(each) for each in self._receiving.received if each.path == "/v1/traces"]
        return [
            Span(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                span.kind,
                span.status.code == 2,
                (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                _values(span.attributes),
                _values(resource.resource.attributes)["service.instance.id"],
            )
            for body in bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def metrics(self) -> dict[str, list[dict[str, Any]]]:
        """The attributes of each point of each metric, by its name."""
        bodies = [_body(each) for each in self._receiving.received if each.path == "/v1/metrics"]
        found: dict[str, list[dict[str, Any]]] = {}
        for body in bodies:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        points = metric.histogram.data_points or metric.sum.data_points
                        found.setdefault(metric.name, []).extend(_values(point.attributes) for point in points)
        return found

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def trace(self, trace_id: str, *names: str, seconds: float = 30) -> list[Span]:
        """The spans of the trace, once one of each name was sent."""
        end = time.monotonic() + seconds
        while True:
            found = [span for span in self.spans if span.trace_id == trace_id]
            missing = set(names) - {span.name for span in found}
            if not missing:
                return found
            assert time.monotonic() < end, f"{missing} did not come: {[span.name for span in found]}"
            time.sleep(0.05)


def _body(received: Received) -> bytes:
    zipped = received.headers.get("Content-Encoding") == "gzip"
    return gzip.decompress(received.raw) if zipped else received.raw


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    receiving = Receiver(receiver.answer(200))
    try:
        yield Collector(receiving)
    finally:
        receiving.close()
