"""Loads the driver of an engine when a connection needs it, and says what brings it where it is not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final


class DriverMissing(ImportError):
    """The driver is not installed; the message says what brings it."""


_BY_ENVIRONMENT: Final = {"snowflake": "an environment of requirements-snowflake.lock (make snowflake)"}


def driver_module(module: str, extra: str) -> Any:
    """Return the driver's module; DriverMissing says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        source = _BY_ENVIRONMENT.get(extra, f"pip install 'querybus[{extra}]'")
        raise DriverMissing(f"the driver {module} is not installed: {source} brings it") from error
