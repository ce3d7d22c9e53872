"""Structured logs: one JSON object a line, event names as dotted facts, and no secret or question text in any.

Never logged: question text, SQL, rows, credentials, addresses with passwords. The redaction processor is the net
below that rule, not the rule itself.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final

from opentelemetry import trace

from querybus.ops.start import without_package

with without_package("rich"):
    # It would load its consoles and highlighters for a form of logs that is not used.
    import structlog

_SECRET_KEYS: Final = frozenset({"password", "secret", "token", "api_key", "key", "authorization", "dsn", "url"})
_NEVER_KEYS: Final = frozenset({"question", "sql", "rows", "prompt", "answer"})
_URL_PASSWORD = re.compile(r"(\w[\w+.-]*://[^\s:/@]*):[^\s@]+@")
_KEY = re.compile(r"\bqb\.[a-z0-9-]{1,64}\.[a-z0-9-]{1,64}\.[\w-]+|\bsk-[\w-]{8,}|\bBearer\s+\S+")
TEXT_LENGTH_MAX: Final = 2_000
# Locals of a frame may hold a question, SQL or a secret.
_FRAMES_ONLY: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)

Event = MutableMapping[str, Any]


def redact_event(_: object, __: str, event: Event) -> Event:
    """Return the log event without secrets: by key, and by shape inside any text."""
    for key, value in list(event.items()):
        if key.lower() in _SECRET_KEYS or key.lower() in _NEVER_KEYS:
            event[key] = "[redacted]"
        elif isinstance(value, str):
            event[key] = redact_text(value)[:TEXT_LENGTH_MAX]
    return event


def redact_text(text: str) -> str:
    """Return the text without passwords in addresses and without keys.

    >>> redact_text("connect to postgresql://bob:hunter2@db/x with Bearer abc")
    'connect to postgresql://bob:[redacted]@db/x with [redacted]'
    """
    return _KEY.sub("[redacted]", _URL_PASSWORD.sub(r"\1:[redacted]@", text))


def _add_trace(_: object, __: str, event: Event) -> Event:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = format(context.trace_id, "032x")
        event["span_id"] = format(context.span_id, "016x")
    return event


class _Lines:
    """Writes each rendered event as one line to what standard error is at that moment."""

    def msg(self, line: str) -> None:
        sys.stderr.write(line + "\n")

    debug = info = warning = error = critical = exception = msg


def _lines(*_: object) -> _Lines:
    return _Lines()


def configure_logging(level: str = "info", *, as_json: bool = True) -> None:
    """Send structlog's and the standard library's logs through one renderer to standard error."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        _FRAMES_ONLY if as_json else structlog.processors.format_exc_info,
        redact_event,
    ]
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        # Our own lines skip the standard library's machinery, which costs four times as much; what is below the level
        # is dropped before anything is done for it.
        processors=[*shared, renderer],
        logger_factory=_lines,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # A logger that was used before must not stay with what was configured then.
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # One line per request and per message is what metrics are for.
    for noisy in ("uvicorn.access", "httpx", "httpcore", "openai", "nats", "sqlglot"):
        logging.getLogger(noisy).setLevel(logging.ERROR)


def get_log(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module."""
    return structlog.stdlib.get_logger(name)
