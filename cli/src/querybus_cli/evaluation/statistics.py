"""How sure the figures of a run are: intervals of shares, a paired test between two runs, percentiles of times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_Z: Final = 1.959964
"""Of the normal distribution, for 95 of 100."""


def share_interval(count: int, of: int) -> tuple[float, float]:
    """Return where a share lies with 95 % confidence, by Wilson's score interval; (0, 1) of nothing.

    >>> share_interval(8, 10)
    (0.4902, 0.9433)
    """
    if of == 0:
        return 0.0, 1.0
    share, spread = count / of, _Z * _Z / of
    middle = share + spread / 2
    width = _Z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return round((middle - width) / (1 + spread), 4), round((middle + width) / (1 + spread), 4)


def paired_p(only_here: int, only_there: int) -> float:
    """Return how likely two equal runs differ so much on the same items, by the exact test of McNemar; 1.0 where nothing differs.

    >>> paired_p(22, 5), paired_p(0, 0)
    (0.0015, 1.0)
    """
    count = only_here + only_there
    tail = sum(math.comb(count, k) for k in range(min(only_here, only_there) + 1))
    return round(min(1.0, 2 * tail / 2**count), 4)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the 50th, 90th and 99th percentile of some values by nearest rank; empty for none.

    >>> percentiles([3.0, 1.0, 2.0])
    {'p50': 2.0, 'p90': 3.0, 'p99': 3.0}
    """
    ordered = sorted(values)
    return {f"p{n}": ordered[max(0, math.ceil(n * len(ordered) / 100) - 1)] for n in (50, 90, 99)} if ordered else {}
