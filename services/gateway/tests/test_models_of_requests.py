"""The models that FastAPI reads of a request are made when the gateway starts: it warns about those made at the first request."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from querybus_gateway.http.app import ROUTERS


def _endpoints(node: Any) -> Iterator[Any]:
    for route in getattr(node, "routes", ()):
        if hasattr(route, "endpoint"):
            yield route.endpoint
        yield from _endpoints(route)


def test_no_model_that_fastapi_reads_is_made_at_the_first_request() -> None:
    models = {
        kind
        for router in ROUTERS
        for endpoint in _endpoints(router)
        for name, hint in typing.get_type_hints(endpoint).items()
        if name not in ("return", "credential")
        for kind in (hint, *typing.get_args(hint))
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    }
    assert {"AskedRequest", "QueriesRequest"} <= {kind.__name__ for kind in models}
    assert sorted(kind.__name__ for kind in models if kind.model_config.get("defer_build")) == []
