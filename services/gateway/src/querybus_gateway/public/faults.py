"""What is wrong with a part of a request, in words of its own: a library's words name things that no caller has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TEXT_LENGTH_MAX: Final = 300

_TEXTS: Final[Mapping[str, str]] = {
    "missing": "is needed",
    "extra_forbidden": "there is no such field",
    "string_type": "must be a text",
    "string_too_long": "has at most {max_length} characters",
    "string_too_short": "has at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "too_long": "has at most {max_length} entries",
    "too_short": "has at least {min_length} entries",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "date_type": "must be a day, as YYYY-MM-DD",
    "date_parsing": "must be a day, as YYYY-MM-DD",
    "date_from_datetime_parsing": "must be a day, as YYYY-MM-DD",
    "json_invalid": "is not JSON",
    "none_required": "must be null",
}


def fault_text(fault: Mapping[str, Any]) -> str:
    """Return one fault of pydantic in words of ours.

    >>> fault_text({"type": "too_long", "msg": "Tuple should have at most 2 items", "ctx": {"max_length": 2}})
    'has at most 2 entries'
    >>> fault_text({"type": "value_error", "msg": "Value error, the ids must differ"})
    'the ids must differ'
    """
    text = _TEXTS.get(str(fault["type"]))
    if text is None:
        return str(fault["msg"]).removeprefix("Value error, ")[:TEXT_LENGTH_MAX]
    try:
        return text.format(**fault.get("ctx", {}))[:TEXT_LENGTH_MAX]
    except (KeyError, IndexError):
        return text.partition("{")[0].strip()
