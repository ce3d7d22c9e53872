"""What the executor reads at start."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from querybus.ops.settings import ServiceSettings


class Settings(ServiceSettings):
    """The executor's settings."""

    connections_file: Path = Field(default=Path("connections.yaml"), description="which databases there are")
    connections_editable: bool | None = Field(
        default=None,
        description="owners may test, add, change and remove connections at the page; default: in development only",
    )
    verify_key: str = Field(description="the validator's public Ed25519 key, base64")
    children: int = Field(default=4, ge=1, le=64, description="processes of each embedded database for statements")
    result_bytes_max: int = Field(
        default=16 << 20, ge=1 << 16, le=1 << 30, description="bytes of one result, as JSON, before it is cut"
    )

    @property
    def allows_set_up(self) -> bool:
        """Whether owners may change connections through the gateway."""
        is_development = self.environment == "development"
        return is_development if self.connections_editable is None else self.connections_editable
