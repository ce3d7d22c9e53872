"""What a request is called in logs and answers: as its caller named it, if that is a plain name, else 128 random bits."""

from __future__ import annotations

import re
from typing import Final

from querybus.ops.clock import RandomBits

_GIVEN: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")


def request_id(given: str | None, random_bits: RandomBits) -> str:
    """Return the id of a request.

    >>> request_id("report-7", lambda _: 0), request_id("a b", lambda _: 1)
    ('report-7', '00000000000000000000000000000001')
    """
    return given if given is not None and _GIVEN.fullmatch(given) else f"{random_bits(128):032x}"
