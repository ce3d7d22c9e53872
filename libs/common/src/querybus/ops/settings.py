"""What every service reads at start: frozen settings, read once, by its composition root only.

A setting comes from the environment (`QUERYBUS_<NAME>`) or from a file of that name in `QUERYBUS_SECRETS_DIR`.
Units stand last in the names.
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeVar, cast

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """The settings that all six services share."""

    model_config = SettingsConfigDict(env_prefix="QUERYBUS_", frozen=True, extra="ignore")

    environment: Literal["development", "production"] = Field(
        default="development", description="production refuses to start unless the bus syncs every write"
    )
    nats_url: str = Field(default="nats://127.0.0.1:4222", description="comma-separated addresses of the bus")
    nats_password: SecretStr = Field(default=SecretStr(""), description="of the bus user named as the service")
    nats_monitoring_url: str = Field(
        default="", description="HTTP addresses of the servers' monitoring, comma-separated, for the sync check"
    )
    http_host: str = Field(default="127.0.0.1", description="where /livez, /readyz and /metrics listen")
    http_port: int = Field(default=0, ge=0, le=65_535, description="0: any free port, written to the log")
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_json: bool = Field(default=True, description="false: for people at a terminal")
    slots: int = Field(
        default=64, ge=1, le=1_024, description="messages of each event that one replica works on at once"
    )
    drain_seconds: float = Field(default=25.0, gt=0, description="time that running work has after SIGTERM")
    otlp_endpoint: str = Field(default="", description="where traces go; empty: nowhere")
    trace_ratio: float = Field(default=0.01, ge=0, le=1, description="share of queries that are traced")
    trace_content: bool = Field(default=False, description="prompts and statements are part of traces")


SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def load(settings: type[SettingsT], **given: Any) -> SettingsT:
    """Return the settings of this process, `given` ones first; raises pydantic's ValidationError, which names each bad setting."""
    # pydantic-settings takes it at construction, but the class's generated signature does not show it.
    return cast("Any", settings)(_secrets_dir=os.environ.get("QUERYBUS_SECRETS_DIR"), **given)
