"""Which options a person chose when a question could not be answered, so that these come first the next time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

KINDS_MAX: Final = 32
OPTIONS_MAX: Final = 16
COUNT_MAX: Final = 100
_KEY: Final = re.compile(r"([a-z_]{1,32})\.([a-z0-9_]{1,48})")
_PREFIX: Final = "\0choices\0"


class Choices(BaseModel):
    """How often each option was chosen, by the kind of question that it was offered for.

    At most KINDS_MAX kinds of OPTIONS_MAX options. Counts are halved at COUNT_MAX, so that newer habits win.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    counts: Mapping[str, Mapping[str, int]] = Field(default={}, description="kind -> option -> how often it was chosen")

    def with_choice(self, key: str) -> Choices:
        """Return the choices with one more of `kind.option`; the same for a key that is none or has no place.

        >>> Choices().with_choice("column.narrow_period").with_choice("column.narrow_period").counts
        {'column': {'narrow_period': 2}}
        """
        match = _KEY.fullmatch(key)
        if match is None:
            return self
        kind, option = match.groups()
        of_kind = dict(self.counts.get(kind, {}))
        if (kind not in self.counts and len(self.counts) >= KINDS_MAX) or (
            option not in of_kind and len(of_kind) >= OPTIONS_MAX
        ):
            return self
        of_kind[option] = of_kind.get(option, 0) + 1
        if of_kind[option] > COUNT_MAX:
            of_kind = {name: count // 2 for name, count in of_kind.items() if count > 1}
        return Choices(counts={**self.counts, kind: of_kind})

    def without(self, kind: str | None) -> Choices:
        """Return the choices without those of a kind, or without any."""
        return Choices(counts={name: of_kind for name, of_kind in self.counts.items() if kind and name != kind})

    def count_of(self, key: str) -> int:
        """Return how often `kind.option` was chosen."""
        kind, _, option = key.partition(".")
        return self.counts.get(kind, {}).get(option, 0)


def choices_name(user: str) -> str:
    """Return the name under which a person's choices are kept beside the preferences; no person is called so."""
    return _PREFIX + user
