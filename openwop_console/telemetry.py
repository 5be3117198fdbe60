"""OpenTelemetry: spans and metrics for requests and for the event log, by the GenAI conventions.

An event has no field for content, so a span carries only ids, names of kinds and numbers, never text. The span ids of a
run and its nodes are derived from their own ids, so that a run continues its trace in another process and after a
restart. This module is imported only where ``OPENWOP_TELEMETRY`` is set.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from multiprocessing import util
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
)

from memory.host import ids, runs, trace_context
from memory.host.events import (
    AgentToolReturned,
    CallAnswered,
    Event,
    MemoryWritten,
    NodeCancelled,
    NodeCompleted,
    NodeFailed,
    NodeStarted,
    ProviderUsage,
    RunCancelled,
    RunCompleted,
    RunFailed,
)
from memory.host.models import Run, RunEvent
from memory.host.node_types import MEMORY_READ, MEMORY_SEARCH, MEMORY_WRITE
from openwop_console import VERSION
from openwop_console.process import bind_address
from openwop_console.runtime import completions, mcp_servers, workflows
from openwop_console.runtime.calls import OK, PROVIDER
from openwop_console.runtime.node_execution import kind_of

log = logging.getLogger(__name__)
NAME = "openwop-console"
TOOLS = frozenset({MEMORY_READ, MEMORY_SEARCH, MEMORY_WRITE})
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
ENDS = {RunCompleted: "completed", RunFailed: "failed", RunCancelled: "cancelled"}
NODE_ENDS = (NodeCompleted, NodeFailed, NodeCancelled)
TOLD = (*ENDS, *NODE_ENDS, CallAnswered, AgentToolReturned, MemoryWritten)
OPERATION = "gen_ai.operation.name"
Attributes = dict[str, str | int]


class SpanIds(RandomIdGenerator):
    """Generate random ids, unless this thread has set the ids of the span it starts."""

    def __init__(self) -> None:
        self.wanted = threading.local()

    def generate_span_id(self) -> int:
        return int(getattr(self.wanted, "span", 0)) or super().generate_span_id()

    def generate_trace_id(self) -> int:
        return int(getattr(self.wanted, "trace", 0)) or super().generate_trace_id()


@dataclass(frozen=True, slots=True)
class Sdk:
    """The exporters of one process."""

    provider: TracerProvider
    meters: MeterProvider
    close: util.Finalize
    span_ids: SpanIds
    tracer: Tracer
    tokens: Histogram
    calls: Histogram
    requests: Histogram
    writes: Counter
    runs: Counter

    def flush(self) -> None:
        self.provider.force_flush()
        self.meters.force_flush()


def sdk() -> Sdk:
    """Return the exporters of this process; a forked process creates its own."""
    return _sdk_of(os.getpid())


@cache
def _sdk_of(_: int) -> Sdk:
    resource, span_ids = _resource(), SpanIds()
    provider = TracerProvider(resource=resource, id_generator=span_ids, shutdown_on_exit=False)
    if os.environ.get("OTEL_TRACES_EXPORTER") != "none":
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    readers: list[MetricReader] = []
    if os.environ.get("OTEL_METRICS_EXPORTER") != "none":
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    meters = MeterProvider(readers, resource, shutdown_on_exit=False)

    def close() -> None:
        provider.shutdown()
        meters.shutdown()

    meter = meters.get_meter(NAME, VERSION)
    return Sdk(
        provider,
        meters,
        util.Finalize(None, close, exitpriority=1),  # a child of multiprocessing ends without ``atexit``
        span_ids,
        provider.get_tracer(NAME, VERSION),
        meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of what a model was asked and said."),
        meter.create_histogram("gen_ai.client.operation.duration", "s", "How long a model or a tool took."),
        meter.create_histogram("http.server.request.duration", "s", "How long a request took."),
        meter.create_counter("openwop.memory.writes", "{entry}", "Writes of memory entries."),
        meter.create_counter("openwop.runs", "{run}", "Runs that ended."),
    )


def _resource() -> Resource:
    """Merge ``OTEL_RESOURCE_ATTRIBUTES`` and ``OTEL_SERVICE_NAME`` with this host's defaults."""
    own = {SERVICE_NAME: NAME, SERVICE_VERSION: VERSION, SERVICE_INSTANCE_ID: str(uuid4())}
    named = Resource.create()
    if str(named.attributes[SERVICE_NAME]).startswith("unknown_service"):
        return named.merge(Resource(own))
    return Resource(own).merge(named)


# --- requests -------------------------------------------------------------------------------------------------------


class Requests:
    """Record a span for each request that reaches a view, within the trace that its ``traceparent`` names."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in bind_address.PROBES:
            return self.get_response(request)
        method = request.method if request.method in METHODS else "_OTHER"
        attributes: Attributes = {"http.request.method": str(method)}
        parent = _parent(trace_context.accepted(request.headers.get(trace_context.HEADER)))
        began = time.monotonic()
        # The message of an exception may quote memory.
        with sdk().tracer.start_as_current_span(
            str(method), parent, SpanKind.SERVER, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            response = self.get_response(request)
            attributes["http.response.status_code"] = response.status_code
            if request.resolver_match:
                attributes["http.route"] = f"/{request.resolver_match.route}"
                span.update_name(f"{method} {attributes['http.route']}")
            span.set_attributes(attributes)
            if response.status_code >= 500:
                span.set_status(Status(StatusCode.ERROR))
        sdk().requests.record(time.monotonic() - began, attributes)
        return response


def _parent(traceparent: str) -> Any:
    """Return the context that the header names; an empty header starts a trace."""
    if not traceparent:
        return trace.set_span_in_context(trace.INVALID_SPAN)
    _, trace_id, span_id, flags = traceparent.split("-")
    return _context(int(trace_id, 16), int(span_id, 16), TraceFlags(int(flags, 16) & TraceFlags.SAMPLED), remote=True)


def _context(trace_id: int, span_id: int, flags: TraceFlags, *, remote: bool) -> Any:
    return trace.set_span_in_context(NonRecordingSpan(SpanContext(trace_id, span_id, remote, flags)))


# --- the event log --------------------------------------------------------------------------------------------------


def follow(tenant_id: UUID, stream_id: UUID, events: Sequence[Event], now: datetime) -> None:
    """Record spans for these events when the transaction commits; a rollback records none."""
    if any(isinstance(event, TOLD) for event in events):
        transaction.on_commit(partial(_try_to_tell, tenant_id, stream_id, list(events), now))


def _try_to_tell(tenant_id: UUID, stream_id: UUID, events: Sequence[Event], now: datetime) -> None:
    """Record the spans and log a failure instead of raising: the committed work continues without telemetry."""
    try:
        _export_events(tenant_id, stream_id, events, now)
    except Exception as bug:
        log.exception("spans of run %s were lost: %s", stream_id, kind_of(bug), exc_info=False)


def _export_events(tenant_id: UUID, stream_id: UUID, events: Sequence[Event], now: datetime) -> None:
    run = runs.find_many(tenant_id, [stream_id]).get(stream_id)
    if run is None:
        return
    recorder, model = _RunRecorder(run, now), ""
    for event in events:
        if isinstance(event, ProviderUsage):
            model = event.model
    for event in events:
        if isinstance(event, CallAnswered):
            recorder.call(event, model)
        elif isinstance(event, AgentToolReturned):
            recorder.tool(event)
        elif isinstance(event, MemoryWritten):
            recorder.write(event)
        elif isinstance(event, NODE_ENDS):
            recorder.node(event)
        elif type(event) in ENDS:
            recorder.end(event)


class _RunRecorder:
    """The spans and metrics of one run, recorded event by event."""

    def __init__(self, run: Run, now: datetime) -> None:
        self.run, self.now, self.sdk = run, now, sdk()
        self.trace_id = int(trace_context.trace_id(run.traceparent) or run.id.hex, 16)

    def end(self, event: Event) -> None:
        """Record the span of the whole run, in the caller's trace or in a trace of its own."""
        run, status = self.run, ENDS[type(event)]
        attributes: Attributes = {
            OPERATION: "invoke_workflow",
            "gen_ai.workflow.name": run.workflow_id,
            "openwop.run.status": status,
        }
        if isinstance(event, RunFailed):
            attributes["error.type"] = event.error.code
        began = run.started_at or run.created_at
        name = f"invoke_workflow {run.workflow_id}"
        self._span(name, attributes, began, parent=_parent(run.traceparent), span_id=trace_context.span_id(run.id))
        self.sdk.runs.add(1, {"openwop.run.status": status})

    def node(self, event: NodeCompleted | NodeFailed | NodeCancelled) -> None:
        """Record the span of a node, from its first attempt on."""
        begun = RunEvent.objects.of(self.run.tenant_id).filter(
            stream_id=self.run.id, type=NodeStarted.type, node_id=event.node_id
        )
        first = begun.order_by("sequence").first()
        if first is None:
            return
        type_id = first.payload["typeId"]
        attributes: Attributes = {"openwop.node.id": event.node_id, "openwop.node.type": type_id}
        if type_id == workflows.AGENT:
            attributes[OPERATION] = "invoke_agent"
        if isinstance(event, NodeFailed):
            attributes["error.type"] = event.error.code
        name = f"{attributes.get(OPERATION, 'node')} {type_id}"
        span_id = trace_context.span_id(self.run.id, event.node_id)
        self._span(name, attributes, first.timestamp, parent=self._within(), span_id=span_id)

    def call(self, event: CallAnswered, model: str) -> None:
        """Record the span of a node's outbound call, and its token usage."""
        attributes: Attributes = {"openwop.node.id": event.node_id, "openwop.call.id": ids.wire("call", event.call_id)}
        operation = OPERATIONS.get(event.kind)
        if operation:
            attributes[OPERATION] = operation
        if operation == "chat":
            attributes["gen_ai.provider.name"] = PROVIDER
        if model:
            attributes |= {"gen_ai.request.model": model}
        for name, count in (("input", event.prompt_tokens), ("output", event.completion_tokens)):
            if count is not None:
                self.sdk.tokens.record(count, _of_operation(attributes) | {"gen_ai.token.type": name})
                attributes[f"gen_ai.usage.{name}_tokens"] = count
        if event.code != OK:
            attributes["error.type"] = event.code
        name = " ".join(filter(None, (operation or event.kind, model)))
        self._took(name, attributes, event.duration_ms, event.node_id, SpanKind.CLIENT)

    def tool(self, event: AgentToolReturned) -> None:
        """Record the span of an agent's tool call. An unknown tool name is the model's own text, so it becomes
        ``unknown``."""
        attributes: Attributes = {
            OPERATION: "execute_tool",
            "gen_ai.tool.name": event.tool_name if event.tool_name in TOOLS else "unknown",
            "gen_ai.tool.call.id": ids.wire("call", event.call_id),
            "openwop.node.id": event.node_id,
        }
        if event.error:
            attributes["error.type"] = event.error.code
        self._took(f"execute_tool {attributes['gen_ai.tool.name']}", attributes, event.duration_ms, event.node_id)

    def write(self, event: MemoryWritten) -> None:
        """Record the write of an entry by a node, a request or the host."""
        attributes: Attributes = {"openwop.memory.id": ids.wire("mem", event.memory_id)}
        asked = trace.get_current_span()
        parent = None if asked.get_span_context().is_valid else self._within(event.node_id or "")
        self._span("memory.write", attributes, self.now, parent=parent)
        self.sdk.writes.add(1)

    def _took(
        self, name: str, attributes: Attributes, milliseconds: int, node_id: str, kind: SpanKind = SpanKind.INTERNAL
    ) -> None:
        began = self.now - timedelta(milliseconds=milliseconds)
        self._span(name, attributes, began, parent=self._within(node_id), kind=kind)
        if OPERATION in attributes:
            self.sdk.calls.record(milliseconds / 1000, _of_operation(attributes))

    def _within(self, node_id: str = "") -> Any:
        """Return the context of the run's own span, or of the span of one of its nodes."""
        flags = TraceFlags(int(self.run.traceparent[-2:], 16) & TraceFlags.SAMPLED) if self.run.traceparent else None
        if flags is None:
            decided = self.sdk.provider.sampler.should_sample(None, self.trace_id, "").decision
            flags = TraceFlags(TraceFlags.SAMPLED if decided is Decision.RECORD_AND_SAMPLE else TraceFlags.DEFAULT)
        return _context(self.trace_id, trace_context.span_id(self.run.id, node_id), flags, remote=False)

    def _span(
        self,
        name: str,
        attributes: Attributes,
        began: datetime,
        *,
        parent: Any,
        span_id: int = 0,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        wanted = self.sdk.span_ids.wanted
        wanted.span, wanted.trace = span_id, self.trace_id
        try:
            attributes = {"openwop.run.id": ids.wire("run", self.run.id), **attributes}
            span = self.sdk.tracer.start_span(name, parent, kind, attributes, start_time=_nanoseconds(began))
        finally:
            wanted.span = wanted.trace = 0
        if "error.type" in attributes:
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(self.now))


OPERATIONS = {completions.KIND: "chat", mcp_servers.KIND: "execute_tool"}
METERED = (OPERATION, "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.tool.name", "error.type")


def _of_operation(attributes: Attributes) -> Attributes:
    """Return the attributes that a metric may be broken down by: only those with a bounded number of values."""
    return {name: attributes[name] for name in METERED if name in attributes}


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1000
