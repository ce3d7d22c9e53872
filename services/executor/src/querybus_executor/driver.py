"""Loads the driver of an engine when a connection needs it, and says which extra brings it where it is not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class DriverMissing(ImportError):
    """The driver is not installed; the message says which extra brings it."""


def driver_module(module: str, extra: str) -> Any:
    """Return the driver's module; DriverMissing says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DriverMissing(
            f"the driver {module} is not installed: pip install 'querybus-executor[{extra}]' brings it"
        ) from error
