"""The first credential of a stack is made by `querybus keys`, lets its owner in, and is revoked again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from querybus.bus.admin.embedded_server import EmbeddedNats
from querybus.bus.application import Service
from querybus.bus.connection import Held
from querybus.bus.stores.buckets import ConnectionStore
from querybus.core.catalog import Dialect
from querybus.core.policy import Connection
from querybus_cli.app import app
from querybus_cli.operations.keys import create, listed, revoke
from querybus_cli.operations.operator import Place
from querybus_cli.runtime import UsageError
from querybus_gateway.app import build
from querybus_gateway.http.server import HttpApi
from querybus_gateway.settings import Settings

pytestmark = pytest.mark.connected


def address_of(service: Service) -> str:
    return next(part.address for part in service.parts if isinstance(part, HttpApi))


async def test_a_key_is_shown_once_lets_its_owner_in_and_is_revoked() -> None:
    async with EmbeddedNats((), sync="2m") as bus:
        await bus.migrate()
        executor = await bus.connect("executor")
        for name in ("shop", "crm"):
            await ConnectionStore(Held(executor)).write(Connection(name=name, dialect=Dialect.SQLITE))
        await executor.close()
        gateway = build(Settings(nats_url=bus.url, nats_password=bus.password("gateway"), drain_seconds=1))  # type: ignore[arg-type]
        await gateway.start()
        try:
            place = Place(bus.url, bus.password("gateway"))
            assert await listed(place, None) == []
            key = await create(
                place,
                tenant="acme",
                name="reports",
                user="ann",
                audience="business",
                connections=("shop",),
                replace=False,
            )
            result = await listed(place, "acme")
            assert result[0] | {"has_key": True} == result[0]
            assert key not in json.dumps(result)
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx.AsyncClient(base_url=address_of(gateway), headers=headers) as http:
                seen = await http.get("/v1/connections")
                assert seen.json()["connections"] == [{"name": "shop", "description": ""}]
                assert (await http.get("/v1/connections/crm")).status_code == 404
                with pytest.raises(UsageError, match="is there already"):
                    await create(
                        place,
                        tenant="acme",
                        name="reports",
                        user="eve",
                        audience="analyst",
                        connections=None,
                        replace=False,
                    )
                await revoke(place, "acme", "reports")
                assert (await http.get("/v1/connections")).status_code == 401
            with pytest.raises(UsageError, match="no credential"):
                await revoke(place, "acme", "reports")
            assert await listed(place, None) == []
        finally:
            await gateway.stop()
        records = await exported(bus)
        deeds = [(item["kind"], item["tenant"], item["about"], item.get("code")) for item in records]
        assert deeds == [
            ("key_made", "acme", "reports of ann", None),
            ("key_revoked", "acme", "reports", None),
            ("refusal", "-", "acme.reports", "unauthenticated"),
        ]
        assert key.rpartition(".")[2] not in json.dumps(records)


async def exported(bus: EmbeddedNats) -> list[dict[str, Any]]:
    """Return the records that `querybus audit export` prints, after `querybus audit verify` has found them whole."""
    arguments = ["audit", "export", "--nats-url", bus.url, "--password", bus.password("operator")]
    result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert result.exit_code == 0, result.output
    verified = await asyncio.to_thread(CliRunner().invoke, app, ["audit", "verify", "-"], input=result.output)
    assert (verified.exit_code, "fit; last hash" in verified.output) == (0, True), verified.output
    tampered = result.output.replace("reports of ann", "reports of eve")
    refused = await asyncio.to_thread(CliRunner().invoke, app, ["audit", "verify", "-"], input=tampered)
    assert (refused.exit_code, ":1: record 1 of tenant acme was changed" in refused.output) == (1, True)
    return [json.loads(line) for line in result.output.splitlines()]


async def test_a_connection_that_is_not_there_is_refused_with_those_that_are() -> None:
    async with EmbeddedNats(()) as bus:
        await bus.migrate()
        executor = await bus.connect("executor")
        await ConnectionStore(Held(executor)).write(Connection(name="shop", dialect=Dialect.SQLITE))
        await executor.close()
        with pytest.raises(UsageError, match="there is no connection nosuch; there are: shop"):
            await create(
                Place(bus.url, bus.password("gateway")),
                tenant="acme",
                name="web",
                user="ann",
                audience="business",
                connections=("nosuch",),
                replace=False,
            )


@pytest.mark.parametrize("name", ["a.b", "*", ">", "", "Name", "x" * 65, "名"])
async def test_a_name_that_fits_no_subject_is_refused_before_anything_is_asked(name: str) -> None:
    with pytest.raises(UsageError, match="may have"):
        await create(
            Place("nats://127.0.0.1:1", "x"),
            tenant="acme",
            name=name,
            user="ann",
            audience="business",
            connections=None,
            replace=False,
        )


def test_without_a_bus_the_command_says_what_to_set(tmp_path: object) -> None:
    result = CliRunner().invoke(app, ["keys", "list", "--store", str(tmp_path)], env={"QUERYBUS_NATS_URL": ""})
    assert result.exit_code != 0
    assert "QUERYBUS_NATS_PASSWORD" in str(result.exception) + result.output
