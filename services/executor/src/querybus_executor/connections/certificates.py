"""The TLS of a server's connection by its URL: encrypted only, or with a look at the server's certificate."""

from __future__ import annotations

import ssl
from typing import Final

from sqlalchemy.engine import URL

OPTIONS: Final = ("ssl", "ssl_ca", "ssl_cert", "ssl_key")


def server_context(url: URL) -> ssl.SSLContext | None:
    """Return the TLS that the URL asks for, None where it does not insist on any; OSError where a file cannot be read.

    `ssl`: require encrypts, verify-ca looks at the certificate, verify-full at the server's name as well. The
    authorities are those of the system or of the file `ssl_ca`: a driver itself would look in somebody's home.
    """
    mode, authority = url.query.get("ssl"), url.query.get("ssl_ca")
    if mode is None and authority is not None:
        mode = "verify-full"
    if mode not in ("require", "verify-ca", "verify-full"):
        return None
    context = ssl.create_default_context(cafile=None if authority is None else str(authority))
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
    if "ssl_cert" in url.query:
        key = url.query.get("ssl_key")
        context.load_cert_chain(str(url.query["ssl_cert"]), None if key is None else str(key))
    return context
