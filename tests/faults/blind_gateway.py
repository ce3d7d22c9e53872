"""A gateway that ends no conclusion whose words do not come: without it the harness would have nothing to find."""

from __future__ import annotations

from querybus_gateway.app import main
from querybus_gateway.lifecycle.in_flight import OpenQueries, OpenQuery


def nothing(self: OpenQueries, now_ms: int) -> tuple[OpenQuery, ...]:
    return ()


if __name__ == "__main__":
    OpenQueries.unrendered = nothing
    main()
