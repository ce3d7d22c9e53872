"""A text's direction by an embeddings model."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from operator import mul
from typing import TypeAlias

Vector: TypeAlias = "array[float]"


def unit(numbers: Sequence[float], dimensions_max: int) -> Vector | None:
    """Return the first dimensions at length 1; None for no direction, or what is no number.

    >>> list(unit([3.0, 4.0, 12.0], 2))
    [0.6000000238418579, 0.800000011920929]
    >>> unit([0.0, 0.0], 2) is None
    True
    """
    kept = numbers[:dimensions_max]
    length = math.sqrt(sum(map(mul, kept, kept)))
    return array("f", [item / length for item in kept]) if 0 < length < math.inf else None
