"""An `approved` event carries the validator's Ed25519 signature over its subject, message id and body.

Inside one account whoever may send any request can name an event's subject as the reply and so forge an event;
a signature is what such a forger lacks. Keys travel as base64 of their 32 raw bytes. The library is imported by whoever
has a key: it takes 7 MB, which the services that only pass events on must not hold.
"""

from __future__ import annotations

import base64
import binascii


def generate_keys() -> tuple[str, str]:
    """Return a new pair (private, public), each as base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private = Ed25519PrivateKey.generate()
    raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return base64.b64encode(raw).decode(), base64.b64encode(public).decode()


def _signed_bytes(subject: str, message_id: str, body: bytes) -> bytes:
    return b"\x00".join((subject.encode(), message_id.encode(), body))


class Signer:
    """Signs events; raises ValueError for anything that is no private key."""

    def __init__(self, private_key_base64: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(_key_bytes(private_key_base64))

    def sign(self, subject: str, message_id: str, body: bytes) -> str:
        """Return the signature as base64, fit for a header."""
        return base64.b64encode(self._key.sign(_signed_bytes(subject, message_id, body))).decode()


class Verifier:
    """Verifies events; raises ValueError for anything that is no public key."""

    def __init__(self, public_key_base64: str) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        self._refusals = (InvalidSignature, binascii.Error, ValueError)
        self._key = Ed25519PublicKey.from_public_bytes(_key_bytes(public_key_base64))

    def verify(self, subject: str, message_id: str, body: bytes, signature: str) -> bool:
        """Return whether the signature is the key owner's, for exactly this subject, message id and body."""
        try:
            self._key.verify(base64.b64decode(signature, validate=True), _signed_bytes(subject, message_id, body))
        except self._refusals:
            return False
        return True


def _key_bytes(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("a signing key is the base64 text of 32 bytes") from None
    if len(raw) != 32:
        raise ValueError("a signing key is the base64 text of 32 bytes")
    return raw
