"""What the validator reads at start."""

from __future__ import annotations

from pydantic import Field, SecretStr

from querybus.ops.settings import ServiceSettings


class Settings(ServiceSettings):
    """The validator's settings."""

    signing_key: SecretStr = Field(description="private Ed25519 key that signs approvals, base64")
