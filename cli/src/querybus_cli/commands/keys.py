"""The commands `querybus keys create`, `list` and `revoke`."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from querybus_cli.commands.groups import Commands

Url = Annotated[str | None, typer.Option("--nats-url", envvar="QUERYBUS_NATS_URL", help="address of the bus")]
Password = Annotated[
    str | None,
    typer.Option(
        "--password", envvar="QUERYBUS_NATS_PASSWORD", help="of the bus user `gateway`, who keeps the registry"
    ),
]
Store = Annotated[Path, typer.Option(help="store of a running `querybus up`, where no address is given")]
Tenant = Annotated[str, typer.Option(help="whose credential it is")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print JSON")]

STORE: Final = Path(".querybus")

keys: Final = Commands(help="Make, list and revoke the keys that let callers in.")


class For(StrEnum):
    """Who reads the answers."""

    BUSINESS = "business"
    ANALYST = "analyst"


@keys.command(name="create")
def create_key(
    name: Annotated[str, typer.Argument(help="of the credential: a-z, 0-9 and '-'")],
    user: Annotated[str, typer.Option(help="who is calling with it")],
    tenant: Tenant = "local",
    audience: Annotated[For, typer.Option(help="analysts see SQL and names")] = For.BUSINESS,
    connection: Annotated[list[str] | None, typer.Option(help="that it may ask; repeat for each; default: all")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="give a credential that is there a new key")] = False,
    trusted_proxy: Annotated[
        bool, typer.Option("--trusted-proxy", help="believe its header of the person that it asks for, at /openai/v1")
    ] = False,
    owner: Annotated[
        bool, typer.Option("--owner", help="an analyst who may see what the tenant's people asked, and make keys")
    ] = False,
    may_share_boards: Annotated[
        bool, typer.Option("--may-share-boards", help="its boards may be opened by the tenant's others")
    ] = False,
    only_verified: Annotated[
        bool, typer.Option("--only-verified", help="answer by verified questions and definitions alone")
    ] = False,
    group: Annotated[
        str, typer.Option(help="of the gateway's QUERYBUS_GROUPS, whose limits hold; an unknown one lets nobody in")
    ] = "",
    days: Annotated[
        int | None, typer.Option(min=1, max=3_650, help="after which the key ends; default: no end")
    ] = None,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """Make a credential and print its key, this once.

    Example: querybus keys create reports --user ann --tenant acme --connection shop
    """
    from querybus_cli.operations.keys import create, place_of
    from querybus_cli.runtime import run

    key = run(
        create(
            place_of(url, password, store),
            tenant=tenant,
            name=name,
            user=user,
            audience=audience.value,
            connections=tuple(connection) if connection else None,
            replace=replace,
            is_trusted_proxy=trusted_proxy,
            is_owner=owner,
            may_share_boards=may_share_boards,
            days=days,
            only_verified=only_verified,
            group=group,
        )
    )
    if json_output:
        typer.echo(json.dumps({"tenant": tenant, "name": name, "user": user, "key": key}))
    else:
        typer.echo(key)
        typer.echo("It is not shown again: only its hash is kept.", err=True)


@keys.command(name="list")
def list_keys(
    tenant: Annotated[str | None, typer.Option(help="of this tenant only")] = None,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: JsonOutput = False,
) -> None:
    """List the credentials; keys themselves are known to nobody.

    Example: querybus keys list --tenant acme
    """
    from querybus_cli.operations.keys import day_of, listed, place_of
    from querybus_cli.runtime import run

    result = run(listed(place_of(url, password, store), tenant))
    for item in result:
        if json_output:
            typer.echo(json.dumps(item, ensure_ascii=False))
        else:
            may_ask = "all connections" if item["connections"] is None else ", ".join(item["connections"])
            api = "" if item["has_key"] else "; has no key"
            end = f"; until {day_of(item['valid_until'])}" if item["valid_until"] else ""
            role = "; owner" if item["role"] == "owner" else ""
            role += "; only verified questions" if item["only_verified"] else ""
            role += f"; group {item['group']}" if item["group"] else ""
            who = f"{item['tenant']}.{item['name']:24} {item['user']:20} {item['audience']:8}"
            typer.echo(f"{who} {may_ask}{api}{role}{end}")
    if not json_output and not result:
        typer.echo("no credentials; make one with `querybus keys create`")


@keys.command(name="revoke")
def revoke_key(
    name: Annotated[str, typer.Argument(help="of the credential")],
    tenant: Tenant = "local",
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Let a credential in no more, at any API, from now on.

    Example: querybus keys revoke reports --tenant acme
    """
    from querybus_cli.operations.keys import place_of, revoke
    from querybus_cli.runtime import run

    run(revoke(place_of(url, password, store), tenant, name))
    typer.echo(f"{tenant}.{name} is revoked")
