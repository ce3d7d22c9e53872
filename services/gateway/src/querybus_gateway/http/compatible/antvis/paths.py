"""`POST /antvis` takes a chart and returns the address of its picture; `GET /antvis/pictures/...` draws it.

The address holds the chart itself, sealed: nothing is stored, any gateway draws it, and nobody can read or make one.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import zlib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastapi import APIRouter, Path, Request, Response

from querybus.bus.log.publish import BusTrouble
from querybus.ops.clock import system_clock
from querybus.picture import PictureForm
from querybus_gateway.access.credentials import presented_key
from querybus_gateway.http.compatible.antvis.specs import spec_of
from querybus_gateway.http.request import JsonResponse, UseCasesOf, links_base, problem_response, read_body
from querybus_gateway.problems import Problem, ProblemCode

ADDRESS_LENGTH_MAX: Final = 24_000
"""Longer ones are cut somewhere between a picture and who looks at it."""
KEPT_MS: Final = 7 * 86_400_000
_NONCE_BYTES: Final = 12
_MISSING: Final = Problem(ProblemCode.NOT_FOUND, "there is no such picture, or it is no longer kept")
Key = Callable[[], Awaitable[bytes]]


def antvis_router(key: Key) -> APIRouter:
    """Return the paths; `key` is the same in every replica."""
    router = APIRouter(prefix="/antvis", tags=["antvis"], include_in_schema=False)

    @router.post("")
    async def draw(request: Request, use_cases: UseCasesOf) -> Response:
        """Return `{success, resultObj, errorMessage}`, as the chart server expects it."""
        source = request.client.host if request.client is not None else ""
        caller = await use_cases.callers.identify(_key_of(request), source)
        if isinstance(caller, Problem):
            return problem_response(request, caller)
        try:
            asked = json.loads(await read_body(request, any_type=True), parse_constant=_no_number)
            spec = spec_of(cast("dict[str, Any]", asked)) if isinstance(asked, dict) else _MISSING
        except ValueError:
            spec = Problem(ProblemCode.MALFORMED, "the body is not JSON")
        if isinstance(spec, Problem):
            return _answer(None, spec.detail)
        address = sealed(spec, await key(), system_clock() + KEPT_MS)
        if len(address) > ADDRESS_LENGTH_MAX:
            return _answer(None, "this is too much data for one picture: send fewer points")
        return _answer(f"{links_base(request)}/antvis/pictures/{address}.png")

    @router.get("/pictures/{address}.png")
    async def picture(
        request: Request, use_cases: UseCasesOf, address: Annotated[str, Path(max_length=ADDRESS_LENGTH_MAX)]
    ) -> Response:
        """Draw the chart that an address holds."""
        try:
            spec = opened(address, await key(), system_clock())
        except BusTrouble:
            spec = Problem(ProblemCode.BUS_UNAVAILABLE)
        if isinstance(spec, Problem):
            return problem_response(request, spec)
        drawn = await use_cases.charts.drawn(spec, PictureForm.PNG)
        if isinstance(drawn, Problem):
            return problem_response(request, drawn)
        return Response(drawn, media_type="image/png", headers={"Cache-Control": "private, max-age=86400"})

    return router


def sealed(spec: dict[str, Any], key: bytes, until_ms: int) -> str:
    """Return a chart as part of an address: packed, encrypted, and good until a time."""
    packed = zlib.compress(json.dumps({"until": until_ms, "spec": spec}, ensure_ascii=False).encode(), 9)
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return base64.urlsafe_b64encode(nonce + AESGCM(key).encrypt(nonce, packed, b"antvis")).decode().rstrip("=")


def opened(address: str, key: bytes, now_ms: int) -> dict[str, Any] | Problem:
    """Return the chart that an address holds."""
    try:
        data = base64.urlsafe_b64decode(address + "=" * (-len(address) % 4))
        packed = AESGCM(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], b"antvis")
        # It was packed here: its size was bounded then.
        held = json.loads(zlib.decompress(packed))
    except (binascii.Error, InvalidTag, ValueError):
        return _MISSING
    return held["spec"] if held["until"] > now_ms else _MISSING


def _answer(address: str | None, trouble: str = "") -> JsonResponse:
    return JsonResponse({"success": address is not None, "resultObj": address, "errorMessage": trouble})


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _key_of(request: Request) -> str | Problem | None:
    """Return the key: as everywhere, or as the password of the address that the chart server was given."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return presented_key(request.headers.items())
    try:
        return base64.b64decode(value).decode().partition(":")[2]
    except ValueError:
        return None
