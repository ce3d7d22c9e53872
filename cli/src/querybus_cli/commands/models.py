"""`querybus models`: which chat models there are, changed while the stack runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from querybus_cli.commands.groups import Commands
from querybus_cli.commands.operate.operator import STORE, Password, Store, Url

if TYPE_CHECKING:
    from querybus.core.stored.models import Models

models: Final = Commands(help="Choose the chat models; a change holds from the next call.")


@models.command(name="show")
def show_models(url: Url = None, password: Password = None, store: Store = STORE) -> None:
    """Print the models that are set as YAML, as `set` reads it.

    Example: querybus models show > models.yaml
    """
    import yaml

    from querybus_cli.operations.models import read_models
    from querybus_cli.operations.operator import place_of
    from querybus_cli.runtime import run

    result = run(read_models(place_of(url, password, store)))
    typer.echo(yaml.safe_dump(result.model_dump(mode="json"), allow_unicode=True, sort_keys=False), nl=False)


@models.command(name="set")
def set_models(
    file: Annotated[Path, typer.Argument(help="YAML: models, default, tenants, fallbacks")],
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
) -> None:
    """Set the models: name, base_url, model, limits and prices of each. Keys stay in the services' environment.

    Example: querybus models set models.yaml
    """
    from querybus_cli.operations.models import parse_models, write_models
    from querybus_cli.operations.operator import place_of
    from querybus_cli.runtime import read_text, run, usage

    wanted = usage(parse_models, read_text(file))
    run(write_models(place_of(url, password, store), wanted))
    typer.echo(f"{len(wanted.models)} models: {', '.join(model.name for model in wanted.models) or 'none'}")


@models.command(name="test")
def probe_model(
    name: Annotated[
        str | None, typer.Argument(help="of the model, or provider:model; default: the one that is asked first")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="YAML as `set` reads it, instead of what is set")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="one short call: settings, address, key, model, reply")
    ] = False,
    url: Url = None,
    password: Password = None,
    store: Store = STORE,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Test a model step by step; exit code 0 where QueryBus can ask it, 1 where it cannot.

    It looks at settings, address, key, model and a whole reply, then at stream, tools, structured output, usage,
    context and cache. Below each miss stands what to do. It makes at most seven calls, two of about 8,000 tokens.

    Example: querybus models test

    Example: querybus models test anthropic:claude-sonnet-4-5 --json
    """
    import json

    from querybus_cli.connecting.model_checks import ModelCheck, check_lines, check_model, is_usable
    from querybus_cli.operations.models import find_model, model_keys, read_model_settings
    from querybus_cli.runtime import consoles, run

    settings = read_model_settings()
    model = find_model(name, _read_known(file, url, password, store), settings)
    _, err = consoles()

    async def checks() -> list[ModelCheck]:
        result: list[ModelCheck] = []
        with err.status(f"testing {model.name} ..."):
            async for check in check_model(model, settings, model_keys(settings, store), is_quick=quick):
                result.append(check)
                for line in () if json_output else check_lines(check):
                    typer.echo(line)
        return result

    found = run(checks())
    works = is_usable(found)
    if json_output:
        listed = [check.as_json() for check in found]
        typer.echo(json.dumps({"name": model.name, "ok": works, "checks": listed}, ensure_ascii=False))
    raise typer.Exit(0 if works else 1)


def _read_known(file: Path | None, url: str | None, password: str | None, store: Path) -> Models | None:
    """Return the models of a file, else those of the stack that runs; None where neither is there."""
    from querybus_cli.operations.models import parse_models, read_models
    from querybus_cli.operations.operator import OPERATOR_FILE, place_of
    from querybus_cli.runtime import read_text, run, usage

    if file is not None:
        return usage(parse_models, read_text(file))
    if not url and not (store / OPERATOR_FILE).is_file():
        return None
    return run(read_models(place_of(url, password, store)))
