"""Where every process begins."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import sys
from collections.abc import Generator
from typing import Final

OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000
"""Loading makes some hundred thousand objects that all stay. Looking through them as often as Python does by default, and once
more at the end, is a fifth of the time of one question at the terminal (docs/adr/0014)."""


def run_main(module: str) -> None:
    """Load a module and run its `main`."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)
    with without_collections():
        main = importlib.import_module(module).main
    main()


@contextlib.contextmanager
def without_collections() -> Generator[None]:
    """Look for no garbage while the block runs: what it loads stays, and is never looked through afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class _Without:
    """Finds no package of this name, whoever asks."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == self._package:
            raise ModuleNotFoundError(name, name=name)


@contextlib.contextmanager
def without_package(name: str) -> Generator[None]:
    """Let nothing load this package while the block runs: what can do without it then does, and costs less."""
    without = _Without(name)
    sys.meta_path.insert(0, without)
    try:
        yield
    finally:
        sys.meta_path.remove(without)
