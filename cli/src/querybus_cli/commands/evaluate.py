"""The commands that measure answers, and the linking of tables, against questions with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from querybus.core.options import RepairPolicy
from querybus_cli.commands.default_command import DEFAULT, WithDefault
from querybus_cli.runtime import UsageError, run, usage

evaluation: Final = typer.Typer(
    cls=WithDefault, no_args_is_help=True, help="Measure answers, or the linking of tables."
)


@evaluation.command(name="linking")
def evaluate_linking(
    data: Annotated[Path, typer.Option(help="folder laid out as Spider's: questions_*.json, *databases/*.sqlite")],
    labels: Annotated[
        list[Path] | None, typer.Option(help="further questions, a line each: database | question | tables")
    ] = None,
    step: Annotated[int, typer.Option(min=1, help="take each nth question only")] = 1,
    tables: Annotated[int, typer.Option(min=1, help="tables of the made-up catalog that is timed")] = 10_000,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Count the tables and columns that linking keeps, with BM25 beside it; Chinese questions over the demo shop too.

    Example: querybus evaluate linking --data spider
    """
    from querybus_cli.evaluation.linking_figures import measure, show

    figures = usage(measure, data, labels or [], step, tables)
    if json_output:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    for name, value in figures.items():
        show(name, value)


@evaluation.command(name=DEFAULT)
def evaluate_items(
    items: Annotated[Path, typer.Argument(help="JSON lines {id, db_id, question, gold[, pred][, as_of]}")],
    databases: Annotated[Path, typer.Option(help="folder of <db_id>.sqlite files")],
    model: Annotated[
        str, typer.Option(help="replay (the answers in `pred`), builtin, or a model's name at QUERYBUS_LLM_BASE_URL")
    ] = "replay",
    policy: Annotated[
        RepairPolicy | None, typer.Option(help="who repairs what fails; default: a model first, then rules")
    ] = None,
    items_out: Annotated[Path | None, typer.Option(help="write one JSON line per item to this file")] = None,
    against: Annotated[Path | None, typer.Option(help="the items of another run, to compare with")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Answer questions with known reference SQL and count what is right, fixed and broken.

    Example: querybus evaluate questions.jsonl --databases databases --model builtin
    """
    from querybus_cli.evaluation.evaluate import compared, evaluate, read_items, totals, write_items

    try:
        judged = run(evaluate(read_items(items), databases, model, policy=policy))
        figures = totals(judged)
        if against is not None:
            figures["against"] = compared(judged, against)
        if items_out is not None:
            write_items(judged, items_out)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    if json_output:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for key, counted in value.items():
                typer.echo(f"  {key:28} {counted}")
        else:
            typer.echo(f"{name:30} {value}")
