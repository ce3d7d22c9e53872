"""`querybus bus-config` prints what nats-server accepts, without a secret in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from querybus.bus.admin.embedded_server import server_binary
from querybus.bus.admin.permissions import Outsider, variables
from querybus_cli.operations.setup import bus_configuration


def test_the_printed_file_passes_the_servers_own_check(tmp_path: Path) -> None:
    printed = subprocess.run(
        [str(Path(sys.executable).parent / "querybus"), "bus-config", "--outsider", "acme.app=alice"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file = tmp_path / "permissions.conf"
    file.write_text(f'jetstream {{ store_dir: "{tmp_path}" }}\n{printed}')
    wanted: dict[str, str] = {}
    for password in variables([Outsider("acme", "app", "alice")]).values():
        assert not isinstance(password, str)
        wanted[password.name] = f"secret-{password.name}"
        assert f"${password.name}" in printed
    command = [str(server_binary()), "-t", "-c", str(file)]
    assert subprocess.run(command, env={**os.environ, **wanted}, check=False).returncode == 0
    # Negative control: a variable that is not set stops the server instead of leaving a user without a password.
    wanted.popitem()
    assert subprocess.run(command, env={**os.environ, **wanted}, check=False, capture_output=True).returncode != 0


@pytest.mark.parametrize("wrong", ["acme", "acme.app", "acme.=alice", "acme.app=", "ac me.app=alice", "acme.a.b=alice"])
def test_an_outsider_that_is_none_is_refused_with_what_to_type(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"TENANT\.CREDENTIAL=USER|subject token"):
        bus_configuration([wrong])


def test_an_outsider_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="same password variable"):
        bus_configuration(["acme.app=alice", "acme.app=bob"])
