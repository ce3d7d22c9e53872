"""How near texts are by what an embeddings model says of them: cosines of vectors, from which their mean is taken.

Deterministic. The figures are a second opinion beside words; they never stand alone for a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from querybus.llm.vectors import Vector

NEAREST_MAX: Final = 24
COSINE_MIN: Final = 0.2
"""Below it two texts have nothing in common; it becomes 0, and a cosine of 1 stays 1."""
# Of few texts the mean says little: it is taken from them only as far as there are more than so many.
_MEAN_AFTER: Final = 2


class VectorIndex:
    """Vectors of equal length, prepared; ValueError where their lengths differ."""

    def __init__(self, vectors: Sequence[Vector]) -> None:
        if len({len(vector) for vector in vectors}) > 1:
            raise ValueError("vectors of different lengths have no angle")
        rows = np.array(vectors, dtype=np.float32).reshape(len(vectors), len(vectors[0]) if vectors else 0)
        self._mean = rows.sum(axis=0) / np.float32(len(rows) + _MEAN_AFTER)
        self._centred = rows - self._mean
        self._lengths = np.linalg.norm(self._centred, axis=1)

    @property
    def size_bytes(self) -> int:
        """What the vectors take."""
        return self._centred.nbytes + self._lengths.nbytes

    def near(self, asked: Vector) -> tuple[tuple[int, float], ...]:
        """Return (place, nearness in 0..1) of the nearest vectors, best first; none for a vector of another length."""
        if not len(self._centred) or len(asked) != len(self._mean):
            return ()
        centred = np.array(asked, dtype=np.float32) - self._mean
        lengths = self._lengths * np.linalg.norm(centred)
        cosines = np.divide(self._centred @ centred, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        best = np.argsort(-cosines, kind="stable")[:NEAREST_MAX]
        return tuple(
            (int(place), min(1.0, (float(cosines[place]) - COSINE_MIN) / (1 - COSINE_MIN)))
            for place in best
            if cosines[place] > COSINE_MIN
        )
