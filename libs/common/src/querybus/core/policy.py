"""What a connection is and what may be done on it. No secret stands in here: it is read by several services."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.catalog import Dialect

ROWS_MAX_DEFAULT: Final = 10_000


class Access(StrEnum):
    """What kinds of statement a connection takes."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"
    FULL = "full"


class ConnectionPolicy(BaseModel):
    """Rules of one connection, applied by the validator and again by the executor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    access: Access = Access.READ_ONLY
    tables_allowed: tuple[str, ...] | None = Field(default=None, description="None: every table of the catalog")
    columns_denied: Mapping[str, tuple[str, ...]] = Field(
        default={}, description="table -> columns that nobody may read"
    )
    functions_allowed: tuple[str, ...] = Field(default=(), description="the database's own functions that are harmless")
    rows_max: int = Field(default=ROWS_MAX_DEFAULT, ge=1)
    statement_timeout_seconds: float = Field(default=30.0, gt=0)
    allow_llm_to_see_data: bool = True


class Connection(BaseModel):
    """A database as every service but the executor knows it: without address and without secret."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    dialect: Dialect
    description: str = ""
    policy: ConnectionPolicy = ConnectionPolicy()
