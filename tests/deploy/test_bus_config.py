"""`querybus operate bus-config` prints what nats-server accepts, without a secret in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from querybus.bus.admin.embedded_server import server_binary
from querybus.bus.admin.issuer import generate_issuer
from querybus.bus.admin.permissions import ISSUER_VARIABLE, variables
from querybus_cli.operations.setup import bus_configuration


def test_the_printed_file_passes_the_servers_own_check(tmp_path: Path) -> None:
    printed = subprocess.run(
        [str(Path(sys.executable).parent / "querybus"), "bus-config", "--tenant", "acme"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file = tmp_path / "permissions.conf"
    file.write_text(f'jetstream {{ store_dir: "{tmp_path}" }}\n{printed}')
    wanted = {ISSUER_VARIABLE: generate_issuer()[1]}
    for password in variables().values():
        assert not isinstance(password, str)
        wanted[password.name] = f"secret-{password.name}"
        assert f"${password.name}" in printed
    command = [str(server_binary()), "-t", "-c", str(file)]
    assert subprocess.run(command, env={**os.environ, **wanted}, check=False).returncode == 0
    # Negative control: a variable that is not set stops the server instead of leaving a user without a password.
    wanted.popitem()
    assert subprocess.run(command, env={**os.environ, **wanted}, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("wrong", ["Acme", "ac me", "acme.app", "*", ""])
def test_a_tenant_that_fits_no_subject_is_refused_with_what_to_type(wrong: str) -> None:
    with pytest.raises(ValueError, match="a-z, 0-9 and '-' only"):
        bus_configuration([wrong])
