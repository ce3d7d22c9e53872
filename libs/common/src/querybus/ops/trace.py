"""One trace per question, carried in the headers of its events (W3C `traceparent`).

Span names are stage names and operations, never raw subjects. What is not sampled costs almost nothing: its context
is passed on and no span is made, until something fails: from there on the trace is kept. Prompts and statements are
attributes only where `content` is switched on. Names are those of OpenTelemetry's conventions for messaging,
databases and GenAI (the last still in development), all in this module.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

from querybus.engines import ENGINES
from querybus.engines.dialect import Dialect
from querybus.ops.settings import ServiceSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

Attributes = Mapping[str, str | int | float | bool]

PARENT_HEADER: Final = "traceparent"
_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_NOT_SAMPLED: Final = trace.INVALID_SPAN


@dataclass(frozen=True, slots=True)
class _Here:
    tracer: trace.Tracer
    with_content: bool


_here: ContextVar[_Here | None] = ContextVar("querybus_trace", default=None)


def parent_of(headers: Mapping[str, str] | None) -> SpanContext | None:
    """Return the span that the headers name, or None if they name none that can be."""
    result = _PARENT.fullmatch((headers or {}).get(PARENT_HEADER, ""))
    if result is None:
        return None
    context = SpanContext(
        int(result[1], 16), int(result[2], 16), is_remote=True, trace_flags=TraceFlags(int(result[3], 16))
    )
    return context if context.is_valid else None


class Tracing:
    """The tracer of one service; several may live in one process side by side. A part: its drain sends what is left."""

    name = "traces"

    def __init__(
        self,
        service: str,
        *,
        endpoint: str = "",
        ratio: float = 0.01,
        with_content: bool = False,
        processor: SpanProcessor | None = None,
    ) -> None:
        """`endpoint` is where OTLP goes over HTTP; `processor` takes the spans instead (tests)."""
        self._keeps_failures = processor is not None or bool(endpoint)
        self._provider = _provider(service, ratio, endpoint, processor) if ratio or self._keeps_failures else None
        self._tracer = trace.NoOpTracer() if self._provider is None else self._provider.get_tracer("querybus")
        self._place = _Here(self._tracer, with_content)

    @contextmanager
    def span(
        self, name: str, headers: Mapping[str, str] | None = None, *, kind: SpanKind = SpanKind.SERVER
    ) -> Generator[trace.Span]:
        """Open a span below the one that the headers name; where that is not sampled, only pass it on."""
        parent = parent_of(headers)
        if parent is not None and not parent.trace_flags & TraceFlags.SAMPLED:
            span: trace.Span = NonRecordingSpan(parent)
        else:
            above = contexts.Context() if parent is None else trace.set_span_in_context(NonRecordingSpan(parent))
            span = self._tracer.start_span(name, context=above, kind=kind)
        with self._within(span):
            yield span

    @contextmanager
    def kept(self, name: str, code: str) -> Generator[None]:
        """Keep the trace of what failed with this code: the span, or from here on a new one, is sampled."""
        span = trace.get_current_span()
        if span.is_recording():
            fail(code)
            yield
            return
        parent = span.get_span_context()
        if not self._keeps_failures or not parent.is_valid:
            yield
            return
        sampled = SpanContext(
            parent.trace_id,
            parent.span_id,
            is_remote=True,
            trace_flags=TraceFlags(parent.trace_flags | TraceFlags.SAMPLED),
        )
        above = trace.set_span_in_context(NonRecordingSpan(sampled))
        with self._within(self._tracer.start_span(name, context=above, kind=SpanKind.CONSUMER)):
            fail(code)
            yield

    @contextmanager
    def _within(self, span: trace.Span) -> Generator[None]:
        before = contexts.attach(trace.set_span_in_context(span))
        place = _here.set(self._place)
        try:
            yield
        except Exception as error:
            if span.is_recording():
                span.set_status(StatusCode.ERROR, type(error).__name__)
            raise
        finally:
            _here.reset(place)
            contexts.detach(before)
            span.end()

    def inject(self, headers: MutableMapping[str, str]) -> None:
        """Write the current span's context into headers."""
        headers.update(carried())

    async def start(self) -> None:
        """Do nothing: spans are taken from the beginning."""

    async def drain(self) -> None:
        """Export what is left and stop."""
        if self._provider is not None:
            await asyncio.to_thread(self._provider.shutdown)

    async def ping(self) -> str | None:
        """Return None: a collector that is away costs traces, it does not make the service unready."""
        return None


def _provider(service: str, ratio: float, endpoint: str, processor: SpanProcessor | None) -> TracerProvider:
    # Loaded only where a trace may be made: one question at the terminal makes none.
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    provider = TracerProvider(
        resource=Resource.create({"service.name": f"querybus-{service}"}),
        sampler=ParentBased(TraceIdRatioBased(ratio)),
        shutdown_on_exit=False,
    )
    if endpoint and processor is None:
        # It brings protobuf and an HTTP client.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        processor = BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint))
    if processor is not None:
        provider.add_span_processor(processor)
    return provider


def tracing_of(service: str, settings: ServiceSettings) -> Tracing:
    """Return the tracer that a service's settings describe."""
    return Tracing(
        service, endpoint=settings.otlp_endpoint, ratio=settings.trace_ratio, with_content=settings.trace_content
    )


def carried() -> dict[str, str]:
    """Return the headers that pass the current span on; none where there is none."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {PARENT_HEADER: f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}


@contextmanager
def call_span(name: str, attributes: Attributes, *, content: Attributes | None = None) -> Generator[trace.Span]:
    """Open a span of a call to something outside, if what it is part of is sampled; else yield one that drops all.

    `content` (a statement, a prompt) is kept only where the operator has switched that on.
    """
    place = _here.get()
    if place is None or not trace.get_current_span().is_recording():
        yield _NOT_SAMPLED
        return
    with place.tracer.start_as_current_span(name, kind=SpanKind.CLIENT, attributes=dict(attributes)) as span:
        if content is not None and place.with_content:
            span.set_attributes(dict(content))
        yield span


def describe(attributes: Attributes) -> None:
    """Set attributes of the current span, if it is sampled."""
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attributes(dict(attributes))


def is_sampled() -> bool:
    """Return whether the current span is kept: what is dear to describe is described only then."""
    return trace.get_current_span().is_recording()


def fail(code: str) -> None:
    """Mark the current span as failed with a code of the closed set."""
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("error.type", code)
        span.set_status(StatusCode.ERROR, code)


def stage_attributes(
    stage: str, event: str, *, message_id: str, deliveries: int, query: str, thread: str
) -> Attributes:
    """Return what describes a stage's work on one message; the template has no name of anybody."""
    return {
        "messaging.system": "nats",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.template": f"querybus.v1.event.{{tenant}}.{{thread}}.{{query}}.{event}",
        "messaging.consumer.group.name": stage,
        "messaging.message.id": message_id,
        "querybus.deliveries": deliveries,
        "querybus.query_id": query,
        "gen_ai.conversation.id": thread,
    }


def database_attributes(dialect: Dialect, connection: str, purpose: str) -> Attributes:
    """Return what describes a call of a database."""
    return {
        "db.system.name": ENGINES[dialect].telemetry_name,
        "db.namespace": connection,
        "db.operation.name": purpose,
        "db.query.summary": f"{purpose} {connection}",
    }


def statement_content(sql: str) -> Attributes:
    """Return a statement as content."""
    return {"db.query.text": sql}


def model_attributes(model: str) -> Attributes:
    """Return what describes a call of a chat model."""
    return {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": model}


def model_trouble(trouble: str) -> Attributes:
    """Return why a call of a chat model gave no usable reply."""
    return {"querybus.model_trouble": trouble}


def model_usage(model: str, tokens_in: int, tokens_out: int) -> Attributes:
    """Return what a call of a chat model has used."""
    return {
        "gen_ai.response.model": model,
        "gen_ai.usage.input_tokens": tokens_in,
        "gen_ai.usage.output_tokens": tokens_out,
    }


def prompt_content(messages_json: str) -> Attributes:
    """Return a prompt as content."""
    return {"gen_ai.input.messages": messages_json}
