"""`/` and `/page/...`: the page and its files. They hold no data and no secret, so anybody may have them.

The page may run nothing but these files and may be framed by nobody; the element may stand in pages of others, so its
files may be read from there. The chart library comes out of the picture renderer's package when the first chart does.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import sys
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from querybus.ops.log import get_log

_MEDIA_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "ts": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_PAGE_HEADERS: Final = _HEADERS | {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FILE_HEADERS: Final = _HEADERS | {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
CHART_LIBRARY: Final = "charts.js"
BUNDLE_SECONDS_MAX: Final = 120.0
_BUNDLE: Final = (
    "import sys, vl_convert;sys.stdout.write(vl_convert.javascript_bundle('globalThis.querybusVegaEmbed = vegaEmbed;'))"
)

_log = get_log(__name__)


class StaticFile:
    """A file as it is sent: plain and compressed, and a tag that changes with it."""

    def __init__(self, data: bytes, kind: str) -> None:
        self.media_type = _MEDIA_TYPES[kind]
        self.tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
        self.data = data
        self.compressed = gzip.compress(data, 9, mtime=0)

    def response(self, request: Request, headers: dict[str, str]) -> Response:
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers | {"ETag": self.tag})
        packed = "gzip" in request.headers.get("accept-encoding", "")
        more = {"ETag": self.tag, "Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if packed else {})
        data = self.compressed if packed else self.data
        return Response(data, headers=headers | more, media_type=self.media_type)


@cache
def _assets() -> dict[str, StaticFile]:
    folder = files("querybus_gateway.http.browser") / "assets"
    found = [item for item in folder.iterdir() if item.is_file()]
    return {item.name: StaticFile(item.read_bytes(), item.name.rpartition(".")[2]) for item in found}


class _ChartLibrary:
    """Vega, Vega-Lite and vega-embed as one script, made once by a child process: the package is large."""

    def __init__(self) -> None:
        self._made: StaticFile | None = None
        self._turn = asyncio.Lock()

    async def __call__(self) -> StaticFile | None:
        async with self._turn:
            if self._made is None:
                child = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", _BUNDLE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
                )
                try:
                    async with asyncio.timeout(BUNDLE_SECONDS_MAX):
                        data, _ = await child.communicate()
                except TimeoutError:
                    child.kill()
                    data = b""
                if child.returncode != 0 or not data:
                    _log.warning("page.chart_library_missing")
                    return None
                self._made = await asyncio.to_thread(StaticFile, data, "js")
            return self._made


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page."""
    library = _ChartLibrary()

    async def page(request: Request) -> Response:
        return _assets()["index.html"].response(request, _PAGE_HEADERS)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        found = await library() if name == CHART_LIBRARY else _assets().get(name)
        if found is None or name == "index.html":
            return Response("there is no such file\n", 404, headers=_HEADERS, media_type="text/plain")
        return found.response(request, _FILE_HEADERS)

    return [Route("/", page), Route("/page/{name}", asset)]
