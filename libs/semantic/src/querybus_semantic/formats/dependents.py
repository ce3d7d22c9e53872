"""What stands on a definition that was left out is left out with it: a figure of half its parts is a wrong figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def fallen(uses: Mapping[str, Collection[str]], left_out: Collection[str]) -> dict[str, str]:
    """Return the definitions that stand on what was left out, each with the part that it lacks.

    `uses` names the parts of every definition; a part of a part counts, in any order.

    >>> fallen({"rate": ["paid", "all"], "double": ["rate"], "all": []}, {"paid"})
    {'rate': 'paid', 'double': 'rate'}
    """
    gone = dict.fromkeys(left_out, "")
    result: dict[str, str] = {}
    while True:
        more = {
            name: next(part for part in parts if part in gone)
            for name, parts in uses.items()
            if name not in gone and any(part in gone for part in parts)
        }
        if not more:
            return result
        result |= more
        gone |= more
