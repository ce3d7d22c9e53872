"""A service reaches a bus with TLS by its `tls://` address and `SSL_CERT_FILE`, as the prod overlay sets them."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from querybus.bus.admin.embedded_server import server_binary
from tests.journeys.test_up import free_port, until

pytestmark = pytest.mark.connected

REACH = """
import asyncio, sys
from querybus.bus.broker import make_broker
from querybus.core.subjects import StageName
from querybus.ops.metrics import Metrics
from querybus.ops.settings import ServiceSettings
async def main():
    broker = make_broker(ServiceSettings(), StageName.RECOVERY, Metrics("recovery"))
    connection = await asyncio.wait_for(broker.connect(), 60)
    assert connection.is_connected
    await connection.flush()
    await broker.stop()
    print("reached")
asyncio.run(main())
"""


def certificates(folder: Path) -> None:
    """Write ca.crt, and tls.crt and tls.key for localhost signed by it."""
    now = dt.datetime.now(dt.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("authority", "localhost")]

    def builder(subject: int) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(names[subject])
            .issuer_name(names[0])
            .public_key(keys[subject].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=subject == 0, path_length=None), critical=True)
        )

    authority = builder(0).sign(keys[0], hashes.SHA256())
    alternative = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    server = builder(1).add_extension(alternative, critical=False).sign(keys[0], hashes.SHA256())
    (folder / "ca.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.crt").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(
        keys[1].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("knows_authority", [True, False])
def test_the_authority_of_the_bus_is_believed_only_where_it_is_given(tmp_path: Path, knows_authority: bool) -> None:
    certificates(tmp_path)
    port = free_port()
    (tmp_path / "nats.conf").write_text(
        f'listen: "127.0.0.1:{port}"\nlog_file: "{tmp_path}/log"\n'
        f'tls {{ cert_file: "{tmp_path}/tls.crt", key_file: "{tmp_path}/tls.key" }}\n'
        'authorization { users: [ { user: "recovery", password: "secret" } ] }\n'
    )
    server = subprocess.Popen([str(server_binary()), "-c", str(tmp_path / "nats.conf")])
    try:
        until(
            lambda: (tmp_path / "log").exists() and "Server is ready" in (tmp_path / "log").read_text(), 10, "the bus"
        )
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("QUERYBUS_", "SSL_"))},
            "QUERYBUS_NATS_URL": f"tls://localhost:{port}",
            "QUERYBUS_NATS_PASSWORD": "secret",
            **({"SSL_CERT_FILE": str(tmp_path / "ca.crt")} if knows_authority else {}),
        }
        done = subprocess.run(
            [sys.executable, "-c", REACH], env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.stdout.strip() == "reached") == knows_authority, done.stderr[-600:]
    finally:
        server.terminate()
        server.wait(timeout=10)
