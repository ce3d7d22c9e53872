"""The gRPC API's translation: requests into what is admitted, the public JSON of a query into messages.

No decision is taken here: what a caller may see was decided before (`text/public.py`), and a value of an enum that is
not known is handed on as it came, for admission to refuse. What the contract has no field for travels in `more`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.resources import Frame
from querybus_gateway.v1 import query_pb2 as v1
from querybus_gateway.v1 import query_service_pb2 as service

MessageT = TypeVar("MessageT", bound=Message)
INT64_MAX: Final = 2**63 - 1

_ENUM_OPTIONS: Final[Mapping[str, Any]] = {
    "mode": service.Mode,
    "execution_mode": service.ExecutionMode,
    "on_execution_failure": service.OnExecutionFailure,
    "repair_policy": service.RepairPolicy,
    "effort": service.Effort,
}


def question_json(question: service.Question) -> Json:
    """Return a question as the JSON body that the other APIs take."""
    body: Json = {"question": question.question, "options": options_json(question.options)}
    for name in ("connection", "sql", "thread_id"):
        if question.HasField(name):
            body[name] = getattr(question, name)
    if question.operation:
        body["operation"] = word(service.Operation, question.operation)
    if question.HasField("metrics_json"):
        body["metrics"] = _parsed(question.metrics_json)
    return body


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        # What is no JSON is no request by name either: the check of the body says so.
        return text


def options_json(options: service.Options) -> Json:
    """Return the options that are set, as the other APIs take them."""
    result: Json = {}
    for field, value in options.ListFields():
        known = _ENUM_OPTIONS.get(field.name)
        result[field.name] = value if known is None else word(known, value)
    return result


def change_json(change: service.Change) -> Json:
    """Return a change to a reading as the other APIs take it: what is set, and nothing else."""
    result = json_format.MessageToDict(change, preserving_proto_field_name=True)
    return {name: value for name, value in result.items() if value != ""}


def word(enum: Any, number: int) -> str:
    """Return the word of an enum's number, `run` for OPERATION_RUN; the number itself if it is not known."""
    if number not in enum.values():
        return str(number)
    return enum.Name(number)[len(_prefix(enum)) :].lower()


def _prefix(enum: Any) -> str:
    return enum.Name(0).removesuffix("UNSPECIFIED")


def message_of(kind: type[MessageT], found: Json) -> MessageT:
    """Return a public object as its message, field by field as the contract names them.

    A field takes the member of its name; `x_ms` that of `x`, `x_json` the JSON text of `x`. Words of enums become their
    numbers, 0 for one that the contract does not know; rows become cells. Members that the contract has no field for
    are put into its `more` or `details`, where it has one.
    """
    message = kind()
    _fill(message, found)
    return message


_FURTHER: Final = ("more", "details")
_NOT_SENT: Final = frozenset({"status", "audience", "event", "links"})
"""What is said otherwise: by the message that an answer or an event stands in, or by the contract itself."""


@cache
def _plan(kind: Descriptor) -> tuple[tuple[FieldDescriptor, tuple[str, ...]], ...]:
    """Return each field of a message with the names that its member may have."""
    return tuple(
        (field, tuple(dict.fromkeys((field.name, *(field.name.removesuffix(end) for end in ("_ms", "_json"))))))
        for field in kind.fields
        if field.name not in _FURTHER
    )


def _fill(message: Any, found: Json) -> None:
    taken = set[str](_NOT_SENT)
    for field, names in _plan(message.DESCRIPTOR):
        name = next((name for name in names if name in found), None)
        if name is None:
            continue
        taken.add(name)
        if found[name] is not None:
            _set(message, field, found[name], is_text=field.name.endswith("_json"))
    further = next((name for name in _FURTHER if name in message.DESCRIPTOR.fields_by_name), None)
    rest = {name: value for name, value in found.items() if name not in taken and value is not None}
    if further is not None and rest:
        getattr(message, further).update(rest)


def _set(message: Any, field: FieldDescriptor, value: Any, *, is_text: bool) -> None:
    if is_text:
        setattr(message, field.name, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    elif field.message_type is None:
        words = field.enum_type
        value = value if words is None else _number(words, value)
        if field.is_repeated:
            getattr(message, field.name).extend(value)
        else:
            setattr(message, field.name, value)
    elif field.message_type is v1.Row.DESCRIPTOR:
        getattr(message, field.name).extend(_row(row) for row in value)
    elif field.is_repeated:
        target = getattr(message, field.name)
        for item in value:
            _fill(target.add(), item)
    else:
        target = getattr(message, field.name)
        target.SetInParent()
        _fill(target, value)


def _number(words: Any, text: object) -> int:
    """Return the number of an enum's word; 0 for one that the contract does not know."""
    name = f"{words.values[0].name.removesuffix('UNSPECIFIED')}{str(text).upper()}"
    known = words.values_by_name.get(name)
    return 0 if known is None else known.number


def _row(row: Sequence[Any]) -> v1.Row:
    return v1.Row(cells=[_cell(cell) for cell in row])


def _cell(value: Any) -> v1.Cell:
    """Return one value; an integer beyond 64 bits travels as text."""
    if isinstance(value, str):
        return v1.Cell(text=value)
    if value is None:
        return v1.Cell()
    if isinstance(value, bool):
        return v1.Cell(truth=value)
    if isinstance(value, int):
        return v1.Cell(integer=value) if -INT64_MAX <= value <= INT64_MAX else v1.Cell(text=str(value))
    return v1.Cell(number=value)


def query_message(resource: Json) -> v1.Query:
    """Return a query resource as a message."""
    return message_of(v1.Query, resource)


def event_message(view: Json, sequence: int | None) -> v1.Event:
    """Return a stored event as a message."""
    return message_of(v1.Event, view | {"name": view["event"], "sequence": sequence or 0})


def frame_fields(frame: Frame) -> dict[str, Any]:
    """Return the field of an update that this frame sets: `event` or `progress`."""
    if frame.sequence is None:
        return {"progress": message_of(v1.Progress, frame.data)}
    return {"event": event_message(frame.data, frame.sequence)}
