"""`querybus preferences`: what counts where a question says nothing, and what is learnt of the options that a person chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querybus_cli.commands.groups import Commands

preferences: Final = Commands(help="Show your preferences and what is learnt of your choices; forget the choices.")

Url = Annotated[str, typer.Option(envvar="QUERYBUS_URL", help="address of a gateway")]
Key = Annotated[str | None, typer.Option(envvar="QUERYBUS_KEY", help="key for the gateway", hidden=True)]
KeyFile = Annotated[Path | None, typer.Option(help="file that holds the key")]
Audience = Annotated[str, typer.Option(help="whose key of `querybus up`: analyst or business")]
JsonOutput = Annotated[bool, typer.Option("--json", help="print one JSON object")]
GATEWAY: Final = "http://127.0.0.1:8080"


@preferences.command()
def show(
    url: Url = GATEWAY,
    key: Key = None,
    key_file: KeyFile = None,
    audience: Audience = "analyst",
    json_output: JsonOutput = False,
) -> None:
    """Show your preferences, and which of the options that you were offered you chose how often.

    Example: querybus preferences show
    """
    from querybus_cli.operations.remote import calling, key_of

    with calling(url, key_of(key, key_file, audience), audience) as client:
        found = {"preferences": client.preferences(), **client.choices()}
    typer.echo(json.dumps(found, ensure_ascii=False) if json_output else "\n".join(_lines(found)))


@preferences.command()
def forget(
    kind: Annotated[str | None, typer.Option(help="kind of question, as `show` prints it; default: all")] = None,
    url: Url = GATEWAY,
    key: Key = None,
    key_file: KeyFile = None,
    audience: Audience = "analyst",
    json_output: JsonOutput = False,
) -> None:
    """Forget which options you chose: they come in their usual order again. Preferences stay.

    Example: querybus preferences forget --kind amount
    """
    from querybus_cli.operations.remote import calling, key_of

    with calling(url, key_of(key, key_file, audience), audience) as client:
        left = client.forget_choices(kind)
    typer.echo(json.dumps(left, ensure_ascii=False) if json_output else "\n".join(_choices(left["choices"])))


def _lines(found: dict[str, Any]) -> list[str]:
    said = {name: value for name, value in found["preferences"].items() if value is not None}
    named = [f"{name}: {value}" for name, value in said.items()]
    return [*(named or ["no preference is set"]), *_choices(found["choices"])]


def _choices(choices: list[dict[str, Any]]) -> list[str]:
    if not choices:
        return ["no choice is remembered"]
    return [f"chosen {item['count']}× for {item['kind']}: {item['option']}" for item in choices]
