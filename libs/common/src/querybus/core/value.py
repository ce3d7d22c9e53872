"""The base of everything that a message is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen part of a message; unknown fields survive."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")
