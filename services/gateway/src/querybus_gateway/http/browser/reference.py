"""`/docs`: the OpenAPI document to read and try in a browser, without anything from another host.

The viewer is Swagger UI out of a package's wheel. The page holds no data and no key; whoever tries a call types a key in.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from querybus_gateway.http.browser.page import StaticFile

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # The viewer writes style attributes.
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>QueryBus: the HTTP API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
"""
_START: Final = """SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#ui",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
"""
_VIEWER: Final = {"swagger-ui-bundle.js": "js", "swagger-ui.css": "css"}


@cache
def _files() -> dict[str, StaticFile]:
    folder = files("fastapi_offline") / "static"
    viewer = {name: StaticFile((folder / name).read_bytes(), kind) for name, kind in _VIEWER.items()}
    return {**viewer, "start.js": StaticFile(_START.encode(), "js"), "": StaticFile(_PAGE.encode(), "html")}


def reference_routes() -> list[BaseRoute]:
    """Return the routes of the document to read."""

    async def answer(request: Request) -> Response:
        found = _files().get(request.path_params.get("name", ""))
        if found is None:
            return Response("there is no such file\n", 404, headers=_HEADERS, media_type="text/plain")
        return found.response(request, _HEADERS)

    return [Route("/docs", answer), Route("/docs/{name}", answer)]
