"""What the gateway is told at start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from querybus.core.options import OptionCaps, RepairPolicy
from querybus.ops.settings import ServiceSettings


class Settings(ServiceSettings):
    """The gateway's settings; the API listens apart from the probes."""

    api_host: str = Field(default="127.0.0.1", description="where the HTTP and gRPC doors listen")
    api_port: int = Field(default=0, ge=0, le=65_535, description="0: any free port, written to the log")
    grpc_port: int | None = Field(
        default=None, ge=0, le=65_535, description="of the gRPC door; 0: any free port; not set: no such door"
    )
    grpc_calls_max: int = Field(default=4_096, ge=1, description="gRPC calls, streams included, of one replica")
    tenants: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="subject tokens of tenants that have a submit queue, separated by commas"
    )
    development_key_file: Path | None = Field(
        default=None, description="development only: a key is made at the start and written here"
    )
    eraser_password: SecretStr = Field(
        default=SecretStr(""), description="of the bus user `eraser`; empty: threads cannot be deleted here"
    )
    calls_max: int = Field(default=1_024, ge=1, description="calls on the bus that one replica answers at once")
    in_flight_max: int = Field(default=64, ge=1, description="queries of one tenant in flight; more wait their turn")
    rate_per_second: float = Field(default=50.0, gt=0, description="questions of one tenant at one replica")
    rate_burst: int = Field(default=200, ge=1, description="questions of one tenant at once")
    deadline_seconds_max: float = Field(default=300.0, gt=0, le=600, description="longest deadline of a query")
    rows_max: int = Field(default=100_000, ge=1, description="rows of one result")
    page_size_max: int = Field(default=1_000, ge=1, le=1_000, description="rows of one page")
    retries_max: int = Field(default=5, ge=0, le=5, description="new drafts after the first")
    allow_llm_to_see_data: bool = Field(default=True, description="false: no cell value is ever sent to a model")
    allow_execution: bool = Field(default=True, description="false: nothing runs before approval, whoever asks")

    repair_policies: dict[str, RepairPolicy] = Field(
        default={}, description='who mends by tenant, where a request does not say, as JSON: {"acme": "rules_only"}'
    )

    @field_validator("tenants", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    def caps(self) -> OptionCaps:
        """Return the server's caps on a request's options."""
        return OptionCaps(
            retries_max=self.retries_max,
            rows_max=self.rows_max,
            page_size=self.page_size_max,
            deadline_seconds=self.deadline_seconds_max,
            allow_llm_to_see_data=self.allow_llm_to_see_data,
            allow_execution=self.allow_execution,
        )
