"""Without the gRPC library everything but the gRPC API runs, and what adds it is said."""

from __future__ import annotations

import importlib.util
import io
from importlib.machinery import ModuleSpec

import pytest
from pydantic import ValidationError
from rich.console import Console

from querybus_cli.local import up
from querybus_cli.local.up import Ports
from querybus_cli.runtime import UsageError
from querybus_gateway.settings import GRPC_INSTALL, Settings


@pytest.fixture
def _no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    original = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "grpc_reflection" else original(name, package)

    monkeypatch.setattr("querybus_gateway.settings.find_spec", find_spec)


@pytest.mark.usefixtures("_no_library")
def test_up_opens_no_grpc_api_and_prints_what_adds_one() -> None:
    apis = Ports(0, 0, 0).grpc_apis(2)
    out = Console(file=io.StringIO(), width=200)
    out.print(up.grpc_text(apis))
    assert not apis
    assert isinstance(out.file, io.StringIO)
    assert GRPC_INSTALL in out.file.getvalue()
    assert "[grpc]" in out.file.getvalue()


@pytest.mark.process
@pytest.mark.usefixtures("_no_library")
def test_a_grpc_port_is_refused_with_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"--grpc-port needs the gRPC library: pip install 'querybus\[grpc\]'"):
        Ports(0, 50_051, 0).must_be_free(1)
    with pytest.raises(ValidationError, match=r"QUERYBUS_GRPC_PORT is set .* pip install 'querybus\[grpc\]'"):
        Settings(grpc_port=50_051)


@pytest.mark.process
def test_with_the_library_each_gateway_has_a_grpc_port() -> None:
    assert Ports(0, 50_051, 0).grpc_apis(2) == [50_051, 50_052]
    assert len(Ports(0, 0, 0).grpc_apis(3)) == 3
