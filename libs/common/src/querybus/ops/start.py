"""Where every process begins."""

from __future__ import annotations

import atexit
import gc
import importlib
from typing import Final

OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000
"""Loading makes some hundred thousand objects that all stay. Looking through them as often as Python does by default, and once
more at the end, is a fifth of the time of one question at the terminal (docs/adr/0014)."""


def run_main(module: str) -> None:
    """Load a module and run its `main`."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
    importlib.import_module(module).main()
