"""What an owner has said of a database beside its connection: a file that `querybus connections describe` drafts and the owner corrects.

It has the keys that an entry of the connections file has, and the entry outweighs it. Nothing of a draft counts until the
entry names the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from querybus.core.catalog import Language
from querybus_semantic.formats.problems import settings_problem, yaml_problem

RELATION: Final = r"^[^\s=]+\.[^\s=]+ = [^\s=]+\.[^\s=]+$"
MEASURE_WORD_LENGTH_MAX: Final = 4

UNIT_LENGTH_MAX: Final = 16
UnitText = Annotated[str, StringConstraints(min_length=1, max_length=UNIT_LENGTH_MAX)]
Unit = UnitText | Mapping[Language, UnitText]
MeasureWord = Annotated[str, StringConstraints(min_length=1, max_length=MEASURE_WORD_LENGTH_MAX)]
Relation = Annotated[str, StringConstraints(pattern=RELATION)]


class BadDescriptionError(Exception):
    """The file cannot be used; the message says where and why."""


class Described(BaseModel):
    """Names for people and facts of a database, by `table` or `table.column`."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    display_names: Mapping[str, Mapping[Language, str]] = Field(
        default={}, description="`table` or `table.column` -> language -> name"
    )
    measure_words: Mapping[str, MeasureWord] = Field(
        default={}, description="table -> what its rows are counted in in Chinese: 位, 笔, 件"
    )
    units: Mapping[str, Unit] = Field(
        default={}, description="`table.column` -> what its amounts are in: CNY, or {en: days, zh: 天}"
    )
    synonyms: Mapping[str, tuple[str, ...]] = Field(default={}, description="`table` or `table.column` -> other words")
    descriptions: Mapping[str, str] = Field(
        default={}, description="`table` or `table.column` -> what it holds, where the database has no comment"
    )
    personal: tuple[str, ...] = Field(default=(), description="`table` or `table.column` of which no value is kept")
    not_personal: tuple[str, ...] = Field(
        default=(), description="`table` or `table.column` whose name looks personal and that is not"
    )
    relations: tuple[Relation, ...] = Field(
        default=(), description="`orders.customer_id = customers.id`: a reference that the database does not declare"
    )


def read_described(path: Path) -> Described:
    """Return what the file says; BadDescriptionError says what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadDescriptionError(f"{path.name} cannot be read: {type(error).__name__}") from None
    try:
        return Described.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise BadDescriptionError(f"{path.name} {yaml_problem(error)}") from None
    except ValidationError as error:
        raise BadDescriptionError(f"{path.name}: {settings_problem(error, Described, text)}") from None
