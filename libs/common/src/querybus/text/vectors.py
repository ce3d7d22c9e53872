"""How near texts are by what an embeddings model says of them: cosines of vectors, from which their mean is taken.

Pure and deterministic, without a numeric library: each vector has a sketch of one bit per dimension, by which the few
candidates are found whose cosine is computed. The figures are a second opinion beside words; they never stand alone
for a choice. Source of the sketch: signs of centred coordinates keep angles (Charikar 2002).
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, mul, sub
from typing import Final, TypeAlias

from querybus.core.catalog import Table

Vector: TypeAlias = "array[float]"

CANDIDATES_MAX: Final = 64
"""Whose cosine is computed; up to so many texts it is that of all of them."""
NEAREST_MAX: Final = 24
COSINE_MIN: Final = 0.2
"""Below it two texts have nothing in common; it becomes 0, and a cosine of 1 stays 1."""
TEXT_CHARS_MAX: Final = 1_500
_COMMENT_CHARS_MAX: Final = 200
# Of few texts the mean says little: it is taken from them only as far as there are more than so many.
_MEAN_AFTER: Final = 2


@dataclass(frozen=True, slots=True)
class Near:
    """What is near a question. `state` is empty where nobody was asked, `used`, or why words stand alone."""

    tables: Mapping[int, float] = field(default_factory=dict[int, float])
    """Nearness in 0..1 by the table's place in the catalog."""
    entries: Mapping[str, float] = field(default_factory=dict[str, float])
    """Nearness in 0..1 by the id of what was taught."""
    state: str = ""
    seconds: float = 0.0


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


def text_of(table: Table) -> str:
    """Return what is embedded of a table: its names and comments and those of its columns, never a value."""
    parts = [_called(table.name, *table.display_names.values(), *table.synonyms), table.comment[:_COMMENT_CHARS_MAX]]
    for column in table.columns:
        parts.append(_called(column.name, *column.display_names.values(), *column.synonyms))
        parts.append(column.comment[:_COMMENT_CHARS_MAX])
    return ", ".join(part for part in parts if part)[:TEXT_CHARS_MAX]


def _called(*names: str) -> str:
    return " ".join(dict.fromkeys(name.replace("_", " ") for name in names))


class NearIndex:
    """Vectors of equal length, prepared; ValueError where their lengths differ."""

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self.vectors = tuple(vectors)
        dimensions = {len(vector) for vector in vectors}
        if len(dimensions) > 1:
            raise ValueError("vectors of different lengths have no angle")
        self.dimensions = dimensions.pop() if dimensions else 0
        total = [0.0] * self.dimensions
        for vector in self.vectors:
            total = list(map(add, total, vector))
        count = len(self.vectors) + _MEAN_AFTER
        self._mean = [item / count for item in total]
        centred = [self._centred(vector) for vector in self.vectors]
        self._lengths = [math.sqrt(sum(map(mul, item, item))) for item in centred]
        self._sketches = [_sketch(item) for item in centred]

    @property
    def size_bytes(self) -> int:
        """What the vectors and their sketches take, about."""
        return len(self.vectors) * (4 * self.dimensions + self.dimensions // 8 + 160)

    def near(self, asked: Vector) -> tuple[tuple[int, float], ...]:
        """Return (place, nearness in 0..1) of the nearest vectors, best first; none for a vector of another length."""
        if len(asked) != self.dimensions:
            return ()
        centred = self._centred(asked)
        length = math.sqrt(sum(map(mul, centred, centred)))
        if not length:
            return ()
        places: Sequence[int] = range(len(self.vectors))
        if len(places) > CANDIDATES_MAX:
            sketch = _sketch(centred)
            differing = [((sketch ^ other).bit_count(), place) for place, other in enumerate(self._sketches)]
            places = [place for _, place in heapq.nsmallest(CANDIDATES_MAX, differing)]
        offset = sum(map(mul, centred, self._mean))
        pairs: list[tuple[float, int]] = []
        for place in places:
            shared = sum(map(mul, centred, self.vectors[place])) - offset
            cosine = shared / (length * self._lengths[place]) if self._lengths[place] else 0.0
            if cosine > COSINE_MIN:
                pairs.append((-min(1.0, (cosine - COSINE_MIN) / (1 - COSINE_MIN)), place))
        return tuple((place, -score) for score, place in heapq.nsmallest(NEAREST_MAX, pairs))

    def _centred(self, vector: Vector) -> list[float]:
        return list(map(sub, vector, self._mean))


def _sketch(centred: Sequence[float]) -> int:
    return int("".join(["1" if item > 0 else "0" for item in centred]) or "0", 2)
