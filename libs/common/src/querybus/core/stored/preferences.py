"""What a person wants where a request says nothing: one small frozen value per tenant and user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field


class Preferences(BaseModel):
    """Each field None where the person has said nothing; a request that says something always wins."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    language: Literal["auto", "en", "zh"] | None = Field(default=None, description="language of the answers")
    connection: str | None = Field(default=None, max_length=200, description="where a request names none")
    chart: Literal["auto", "none"] | None = Field(default=None, description="a chart where one fits, or never")
    summary: bool | None = Field(default=None, description="a summary in words")
    page_size: int | None = Field(default=None, ge=1, le=1_000, description="rows of a page")


OPTIONS: Final = ("language", "chart", "summary", "page_size")
"""The preferences that are options of a query; the connection is chosen apart."""


def silent_options(preferences: Preferences, said: Mapping[str, Any] | frozenset[str]) -> dict[str, Any]:
    """Return the options that the preferences give where the request, which `said` some, is silent.

    >>> silent_options(Preferences(page_size=50, summary=False), frozenset({"summary"}))
    {'page_size': 50}
    """
    values = {name: getattr(preferences, name) for name in OPTIONS}
    return {name: value for name, value in values.items() if value is not None and name not in said}
