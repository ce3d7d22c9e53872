"""What the presenter is told at start."""

from __future__ import annotations

from pydantic import Field

from querybus.ops.settings import ServiceSettings


class Settings(ServiceSettings):
    """The settings of the presenter."""

    catalog_wait_seconds: float = Field(
        default=1.0, gt=0, description="how long a query's words wait for the catalog; without it labels are numbered"
    )
