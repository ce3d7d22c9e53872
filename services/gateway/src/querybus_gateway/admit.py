"""One pure function admits a request of any API: it makes the `asked` event or says why not.

Tenant, user, audience and connections come from the credential; a request has no field for them, and an unknown
field is refused. Options and deadline are lowered to the server's and the credential's caps. No I/O, no clock, no
dice: time, random bits and the known connections are passed in.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from querybus.core.credential import Credential
from querybus.core.envelope import QUESTION_BYTES_MAX, Envelope, PathStep
from querybus.core.ids import derived_id, is_id, time_ordered_id
from querybus.core.messages import Asked, Clarifies, Operation
from querybus.core.options import OptionCaps, Options, cap
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.core.requests.refinement import Refinement
from querybus.core.stored.preferences import Preferences, silent_options
from querybus.core.subjects import EventName, StageName
from querybus.text.language import detect_language
from querybus_gateway.problems import FIELD_ERRORS_MAX, FieldError, Problem, ProblemCode
from querybus_gateway.public.faults import fault_text

SQL_LENGTH_MAX: Final = 65_536
BODY_BYTES_MAX: Final = 262_144
RANDOM_BITS: Final = 74
NAMES_SAID_MAX: Final = 10
ROUTED_MAX: Final = 200
"""Connections among which a question is routed by its words; whoever has more names one."""
WAIT_SECONDS_MAX: Final = 30

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOTHING_PREFERRED: Final = Preferences()
_SQL_OPERATIONS: Final = frozenset({Operation.RUN, Operation.VALIDATE, Operation.EXPLAIN})


class RequestOptions(Options):
    """The options as a request may set them: an unknown one is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_NO_DEFAULTS: Final = RequestOptions()


class AskRequest(BaseModel):
    """A question, or a statement to run, check or explain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = Field(default="", description="in English or Chinese, at most 8 kB")
    connection: str | None = Field(
        default=None, max_length=200, description="if left out, chosen by the question, or asked back"
    )
    operation: Operation = Operation.ASK
    sql: str | None = Field(default=None, max_length=SQL_LENGTH_MAX, description="for run, validate and explain")
    metrics: MetricsQuery | None = Field(
        default=None, description="figures by the names of definitions, instead of words"
    )
    thread_id: str | None = Field(default=None, max_length=36, description="continues this thread")
    options: RequestOptions = RequestOptions()


class AskCall(AskRequest):
    """The same on the bus, where there are no headers to carry the wait and the key."""

    wait_seconds: int = Field(default=0, ge=0, le=3_600, description=f"lowered to {WAIT_SECONDS_MAX}")
    idempotency_key: str | None = None

    def request(self) -> AskRequest:
        """Return the part that is admitted."""
        return AskRequest.model_construct(**{name: getattr(self, name) for name in AskRequest.model_fields})


RequestT = TypeVar("RequestT", bound=BaseModel)


def read(data: bytes, model: type[RequestT]) -> RequestT | Problem:
    """Return the request in these bytes, or the problem with them; raises nothing."""
    if len(data) > BODY_BYTES_MAX:
        return Problem(ProblemCode.TOO_LARGE, f"at most {BODY_BYTES_MAX} bytes are taken")
    try:
        # What is written as something else is not what was meant: 0 is no false, and true no 1.
        return model.model_validate_json(_with_effort(data), strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)[:FIELD_ERRORS_MAX]
    if any(fault["type"] == "int_type" for fault in faults) and (whole := _whole_numbers(data)) != data:
        # To JSON 7.0 is a whole number, and some libraries write one so.
        return read(whole, model)
    errors = tuple(
        FieldError("".join(f"/{str(part)[:80]}" for part in fault["loc"]), _said(fault, model)) for fault in faults
    )
    types = {fault["type"] for fault in faults}
    if "json_invalid" in types:
        return Problem(ProblemCode.MALFORMED, "the body is not JSON", errors)
    if any(fault["loc"][:1] == ("options",) for fault in faults):
        return Problem(ProblemCode.BAD_OPTIONS, f"{errors[0].pointer}: {errors[0].message}", errors)
    if "extra_forbidden" in types:
        unknown = next(error for error, fault in zip(errors, faults, strict=True) if fault["type"] == "extra_forbidden")
        return Problem(ProblemCode.UNKNOWN_FIELD, f"{unknown.pointer}: {unknown.message}", errors)
    return Problem(ProblemCode.INVALID, f"{errors[0].pointer or '/'}: {errors[0].message}", errors)


def _with_effort(data: bytes) -> bytes:
    """Return the JSON with `effort` in place of the option before it, `second_draft`, as long as clients send that."""
    if b'"second_draft"' not in data:
        return data
    try:
        request: Any = json.loads(data)
    except ValueError:
        return data
    options = request.get("options") if isinstance(request, dict) else None
    if not isinstance(options, dict) or not isinstance(options.get("second_draft"), bool):
        return data
    if options.pop("second_draft") is False:
        options.setdefault("effort", "quick")
    return json.dumps(request, ensure_ascii=False).encode()


def _whole_numbers(data: bytes) -> bytes:
    """Return the JSON with every whole number written without a fraction; as it is where there is none."""
    found = False

    def number(text: str) -> int | float:
        nonlocal found
        value = float(text)
        found = found or value.is_integer()
        return int(value) if value.is_integer() else value

    changed = json.dumps(json.loads(data, parse_float=number), ensure_ascii=False)
    return changed.encode() if found else data


def _said(fault: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Return what is wrong in words; of a name that is not known, the one that it may have been meant for."""
    if fault["type"] != "extra_forbidden":
        return fault_text(fault)
    *place, name = fault["loc"]
    known = model.model_fields if not place else RequestOptions.model_fields if place == ["options"] else ()
    close = get_close_matches(str(name)[:80], known, n=1)
    return f"there is no such field; did you mean `{close[0]}`?" if close else "there is no such field"


@dataclass(frozen=True, slots=True)
class Chance:
    """What is not in the request and not in the credential: the time and random bits of one admission."""

    now_ms: int
    random_bits: int


def admit(
    request: AskRequest,
    credential: Credential,
    chance: Chance,
    *,
    connections: Collection[str],
    caps: OptionCaps,
    defaults: RequestOptions = _NO_DEFAULTS,
    idempotency_key: str | None = None,
    thread_until_sequence: int = 0,
    continues: Clarifies | Refinement | None = None,
    preferences: Preferences = _NOTHING_PREFERRED,
    thread_connection: str | None = None,
) -> Envelope[Asked] | Problem:
    """Return the first event of the query, or the problem.

    `connections` are the names of all connections; `caps` and `defaults` are the server's; `thread_until_sequence` is the
    last stream sequence of the caller's thread that the request continues. `preferences` hold where the request is silent,
    and before them `thread_connection`, where the thread's last question was asked. With a key the query's id is the UUIDv5
    of (tenant, user, key), without one a UUIDv7.
    """
    if (fault := _fault(request, credential, idempotency_key)) is not None:
        return fault
    place = _place(request, credential, connections, (thread_connection, preferences.connection))
    if isinstance(place, Problem):
        return place
    question = _CONTROL.sub(" ", request.question).strip() or _in_words(request.metrics)
    options = capped_options(request.options, credential, caps, preferences, defaults)
    query_id = _query_id(credential, chance, idempotency_key)
    return Envelope[Asked](
        event=EventName.ASKED,
        query_id=query_id,
        thread_id=request.thread_id or query_id,
        tenant=credential.tenant,
        user=credential.user,
        audience=credential.audience,
        connection=place.connection,
        question=question,
        language=options.language if options.language != "auto" else detect_language(question),
        options=options,
        asked_at=chance.now_ms,
        deadline_at=chance.now_ms + round(options.deadline_seconds * 1_000),
        path=(
            PathStep(stage=StageName.GATEWAY, event=EventName.ASKED, started_at=chance.now_ms, ended_at=chance.now_ms),
        ),
        body=Asked(
            operation=request.operation,
            sql=request.sql,
            metrics=request.metrics,
            clarifies=continues if isinstance(continues, Clarifies) else None,
            refines=continues if isinstance(continues, Refinement) else None,
            body_sha256=body_hash(request, continues),
            thread_until_sequence=thread_until_sequence,
            connections=place.choices,
            thread_connection=place.connection if place.choices and place.is_of_thread else None,
        ),
    )


def _query_id(credential: Credential, chance: Chance, idempotency_key: str | None) -> str:
    if idempotency_key is None:
        return time_ordered_id(chance.now_ms, chance.random_bits)
    return derived_id("key", credential.tenant, credential.user, idempotency_key)


def capped_options(
    requested: RequestOptions,
    credential: Credential,
    caps: OptionCaps,
    preferences: Preferences,
    defaults: RequestOptions,
) -> Options:
    """Return the options: what the request says, else what the person prefers, else the server's defaults, within the caps."""
    said = frozenset(requested.model_fields_set)
    silent = {name: getattr(defaults, name) for name in defaults.model_fields_set - said}
    silent |= silent_options(preferences, said)
    options = cap(cap(Options.model_construct(**(dict(requested) | silent)), caps), credential.caps)
    return options if credential.audience == "analyst" else options.model_copy(update={"stream_tokens": False})


def body_hash(request: AskRequest, continues: Clarifies | Refinement | None = None) -> str:
    """Return the SHA-256 of the canonical request: equal for equal meaning, whatever the order of its fields."""
    # What is as it is by default is left out, so that an option that is new changes no hash of a request without it.
    meaning = request.model_dump(mode="json", exclude_defaults=True)
    if continues is not None:
        meaning["clarifies" if isinstance(continues, Clarifies) else "refines"] = continues.model_dump(mode="json")
    canonical = json.dumps(meaning, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _fault(request: AskRequest, credential: Credential, idempotency_key: str | None) -> Problem | None:
    if idempotency_key is not None and not _KEY.fullmatch(idempotency_key):
        return Problem(ProblemCode.INVALID, "an idempotency key is 1 to 255 visible ASCII characters")
    if request.thread_id is not None and not is_id(request.thread_id):
        return Problem(ProblemCode.NOT_FOUND, "there is no such thread")
    if len(request.question.encode()) > QUESTION_BYTES_MAX:
        return Problem(ProblemCode.QUESTION_TOO_LONG, f"a question has at most {QUESTION_BYTES_MAX} bytes")
    if request.operation in _SQL_OPERATIONS:
        if credential.audience != "analyst":
            return Problem(ProblemCode.SCOPE, "statements of one's own are for analysts")
        if not (request.sql or "").strip():
            return Problem(ProblemCode.SQL_MISSING, f"{request.operation} needs `sql`")
        return None
    if request.sql is not None:
        return Problem(ProblemCode.SQL_UNEXPECTED, f"{request.operation} takes a question, not `sql`")
    if request.metrics is not None and request.operation is not Operation.ASK:
        return Problem(ProblemCode.INVALID, "`metrics` are asked for, they cannot be run, validated or explained")
    if not _CONTROL.sub(" ", request.question).strip() and request.metrics is None:
        return Problem(ProblemCode.QUESTION_EMPTY, "a question is needed")
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a question is asked; with `choices`, where it is unless its words speak of another of them."""

    connection: str
    choices: tuple[str, ...] = ()
    is_of_thread: bool = False


def _place(
    request: AskRequest,
    credential: Credential,
    connections: Collection[str],
    preferred: tuple[str | None, str | None],
) -> _Place | Problem:
    # A connection that is not the caller's and one that does not exist are distinguished by nobody outside.
    own = sorted(name for name in set(connections) if credential.connections is None or name in credential.connections)
    if request.connection is not None:
        if request.connection in own:
            return _Place(request.connection)
        return Problem(
            ProblemCode.UNKNOWN_CONNECTION,
            f"there is no such connection for this credential, or it was removed or renamed; name one of its own{_choice(own)}",
        )
    if len(own) == 1:
        return _Place(own[0])
    of_thread, of_person = preferred
    is_question = request.operation not in _SQL_OPERATIONS and request.metrics is None
    choices = tuple(own) if is_question and len(own) <= ROUTED_MAX else ()
    if of_thread in own:
        return _Place(of_thread, choices, is_of_thread=True)
    if of_person in own:
        return _Place(of_person)
    if choices:
        return _Place(own[0], choices)
    return Problem(ProblemCode.CONNECTION_MISSING, f"name one of your connections in `connection`{_choice(own)}")


def _in_words(metrics: MetricsQuery | None) -> str:
    """Return what a thread shows of a request by name."""
    if metrics is None:
        return ""
    groups = [item.name or item.field for item in metrics.group_by]
    return ", ".join(metrics.metrics) + (f" by {', '.join(groups)}" if groups else "")


def _choice(names: Sequence[str]) -> str:
    """Return the names that can be said instead, as the end of a sentence."""
    more = ", ..." if len(names) > NAMES_SAID_MAX else ""
    return f": {', '.join(names[:NAMES_SAID_MAX])}{more}" if names else "; there is none"
