"""`querybus models`: which chat models there are, changed while the stack runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from querybus_cli.commands.groups import Commands
from querybus_cli.commands.operate.operator import STORE, Password, Store, Url

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
