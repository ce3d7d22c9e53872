"""A refusal says in plain words why there is no number, and what is possible instead. Codes are a closed set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Why a request cannot be compiled."""

    UNKNOWN_METRIC = "unknown_metric"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_FILTER = "unknown_filter"
    NOT_APPROVED = "not_approved"
    NO_PATH = "no_path"
    AMBIGUOUS_PATH = "ambiguous_path"
    CLOSED_RELATION = "closed_relation"
    FINER_GRAIN = "finer_grain"
    NO_DATE = "no_date"
    NO_KEY = "no_key"
    CYCLE = "cycle"
    BAD_EXPRESSION = "bad_expression"
    UNSUPPORTED = "unsupported"
    TOO_MUCH = "too_much"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`detail` is an English sentence for an analyst; `options` can be chosen from; `about` names the definition at fault."""

    code: Code
    detail: str
    about: str = ""
    options: tuple[str, ...] = ()


class RefusedError(Exception):
    """Carries a refusal out of nested compilation; never leaves the package."""

    def __init__(self, code: Code, detail: str, about: str = "", options: tuple[str, ...] = ()) -> None:
        super().__init__(detail)
        self.refusal = Refusal(code, detail, about, options)
