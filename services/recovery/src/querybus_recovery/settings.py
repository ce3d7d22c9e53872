"""What recovery reads at start: only what every service reads."""

from __future__ import annotations

from querybus.ops.settings import ServiceSettings


class Settings(ServiceSettings):
    """The settings of recovery; budgets of retries come with each query's options."""
