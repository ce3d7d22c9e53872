"""An issuer's public keys over HTTPS: its discovery document names them, or the settings do. No redirect is followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

import httpx

from querybus_gateway.access.oidc import KeysUnreachable

FETCH_SECONDS_MAX: Final = 5.0
DOCUMENT_BYTES_MAX: Final = 262_144
DISCOVERY: Final = "/.well-known/openid-configuration"


class HttpKeys:
    """Fetches the keys; a part only to close its connections at the end."""

    def __init__(self, issuer: str, keys_url: str = "") -> None:
        self.name = "oidc-keys"
        self._issuer = issuer
        self._keys_url = keys_url
        self._client: httpx.AsyncClient | None = None

    async def __call__(self) -> Mapping[str, object]:
        """Return the JSON Web Key Set; raises KeysUnreachable."""
        if not self._keys_url:
            result = await self._document(self._issuer.rstrip("/") + DISCOVERY)
            url = result.get("jwks_uri")
            # The document is the issuer's own only if it says so (OpenID Connect Discovery 4.3).
            if result.get("issuer") != self._issuer or not isinstance(url, str):
                raise KeysUnreachable("the discovery document is not this issuer's")
            self._keys_url = url
        return await self._document(self._keys_url)

    async def _document(self, url: str) -> Mapping[str, object]:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=FETCH_SECONDS_MAX, follow_redirects=False)
        data = bytearray()
        try:
            async with self._client.stream("GET", url, headers={"Accept": "application/json"}) as reply:
                if reply.status_code != 200:
                    raise KeysUnreachable(f"status {reply.status_code}")
                async for chunk in reply.aiter_bytes():
                    data += chunk
                    if len(data) > DOCUMENT_BYTES_MAX:
                        raise KeysUnreachable("the document is too large")
            result: object = json.loads(data)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise KeysUnreachable(type(error).__name__) from error
        if not isinstance(result, dict):
            raise KeysUnreachable("the document is no JSON object")
        return cast("dict[str, Any]", result)

    async def start(self) -> None:
        """Nothing is fetched before the first token comes."""

    async def drain(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def ping(self) -> str | None:
        return None
