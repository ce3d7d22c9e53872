"""Keys of chat models that an owner typed: one file a key, which only the user that runs the services may read.

A key is named like a variable of the environment, so that a model names it as it names one. Each key gets a name of its
own that nobody can guess: another tenant's owner, who may type any address, cannot have it sent anywhere.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

KEY_PREFIX: Final = "QUERYBUS_MODEL_KEY_"
"""Before the host's name in the variable that holds the key of an address: QUERYBUS_MODEL_KEY_API_GROQ_COM."""
_KEPT: Final = re.compile(KEY_PREFIX + r"KEPT_[0-9A-F]{24}")


def is_kept(name: str) -> bool:
    """Return whether a name is that of a kept key, and no variable of the environment."""
    return _KEPT.fullmatch(name) is not None


class KeptKeys(Mapping[str, str]):
    """The variables of the environment and, by name only, the keys that are kept in a directory.

    Who goes through all names finds those of the environment.
    """

    def __init__(self, directory: Path | None, environment: Mapping[str, str] = os.environ) -> None:
        self._directory = directory
        self._environment = environment

    @property
    def takes_keys(self) -> bool:
        """Whether a key can be kept here."""
        return self._directory is not None

    def __getitem__(self, name: str) -> str:
        file = self._file(name)
        if file is None:
            return self._environment[name]
        try:
            return file.read_text(encoding="utf-8")
        except OSError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)

    def keep(self, key: str) -> str:
        """Write a key to a file of its own, mode 600, and return its name; OSError where that cannot be done."""
        name = f"{KEY_PREFIX}KEPT_{secrets.token_hex(12).upper()}"
        file = self._file(name)
        if file is None:
            raise OSError("no directory of keys is set")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(key)
        return name

    def forget(self, name: str) -> None:
        """Remove a kept key; a name of the environment is left alone."""
        file = self._file(name)
        if file is not None:
            with contextlib.suppress(OSError):
                file.unlink()

    def _file(self, name: str) -> Path | None:
        return self._directory / name if self._directory is not None and is_kept(name) else None
