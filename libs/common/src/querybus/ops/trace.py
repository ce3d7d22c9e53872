"""One trace per question, carried in the headers of its events (W3C `traceparent`).

Span names are stage names, never raw subjects. Without an endpoint nothing is exported, but the context still
travels, so that an operator can switch tracing on one service at a time.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR = TraceContextTextMapPropagator()


class Tracing:
    """The tracer of one process; several may live in one process side by side."""

    def __init__(self, service: str, *, endpoint: str = "", ratio: float = 0.01) -> None:
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": f"querybus-{service}"}),
            sampler=ParentBased(TraceIdRatioBased(ratio)),
            shutdown_on_exit=False,
        )
        if endpoint:
            # Loaded only where traces are sent: it brings protobuf and an HTTP client.
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("querybus")

    @contextmanager
    def span(
        self, name: str, headers: Mapping[str, str] | None = None, **attributes: str | int
    ) -> Generator[trace.Span]:
        """Open a span below the one that the headers name."""
        context = _PROPAGATOR.extract(dict(headers or {}))
        with self._tracer.start_as_current_span(name, context=context, attributes=attributes) as span:
            yield span

    def inject(self, headers: MutableMapping[str, str]) -> None:
        """Write the current span's context into headers."""
        _PROPAGATOR.inject(headers)

    def close(self) -> None:
        """Export what is left and stop."""
        self._provider.shutdown()
