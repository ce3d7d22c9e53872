"""Writes what the laptop's compose file needs beside it: `.env` with made-up secrets, and the bus's permission file.

Run it once with the Python of the image querybus-cli (compose.yaml says how); a second run keeps what is there. Nothing of it is for production.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from querybus.bus.admin.issuer import generate_issuer
from querybus.bus.admin.permissions import ISSUER_VARIABLE, Variable, permission_file, variables
from querybus.bus.log.sign import generate_keys

TENANTS = ("local",)
"""As compose.yaml says to the gateway and to `migrate`."""


def prepare(folder: Path) -> tuple[str, ...]:
    """Write the files that are missing; return their names."""
    passwords = variables()
    made: list[str] = []
    secret_file, permissions = folder / ".env", folder / "permissions.conf"
    if not secret_file.exists():
        private, public = generate_keys()
        # A letter first: nats-server would read a value of digits as a number.
        lines = [
            f"{password.name}=p{secrets.token_hex(16)}"
            for password in passwords.values()
            if isinstance(password, Variable)
        ]
        issuer_key, issuer = generate_issuer()
        lines += [f"{ISSUER_VARIABLE}={issuer}", f"QUERYBUS_BUS_ISSUER_KEY={issuer_key}"]
        lines += [f"QUERYBUS_SIGNING_KEY={private}", f"QUERYBUS_VERIFY_KEY={public}"]
        lines += [f"GRAFANA_PASSWORD={secrets.token_hex(12)}", "QUERYBUS_LLM_BASE_URL=", "QUERYBUS_LLM_MODEL="]
        lines += ["QUERYBUS_LLM_API_KEY="]
        secret_file.touch(mode=0o600)
        secret_file.write_text("\n".join(lines) + "\n")
        made.append(secret_file.name)
    if not permissions.exists():
        permissions.write_text(permission_file(passwords, Variable(ISSUER_VARIABLE), TENANTS))
        made.append(permissions.name)
    return tuple(made)


if __name__ == "__main__":
    sys.stdout.write(f"made: {', '.join(prepare(Path(__file__).parent)) or 'nothing, it is all there'}\n")
