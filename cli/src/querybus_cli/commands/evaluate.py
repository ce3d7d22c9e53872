"""The commands that measure answers, and the linking of tables, against questions with known answers."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from querybus.core.options import Effort, Mode, RepairPolicy
from querybus_cli.commands.groups import DEFAULT, Commands, WithDefault
from querybus_cli.runtime import UsageError, run, usage

if TYPE_CHECKING:
    from querybus_cli.evaluation.asking import Judged

PROGRESS_SECONDS: Final = 5.0
ITEMS_SHOWN_MAX: Final = 20

evaluation: Final = Commands(
    cls=WithDefault, help="Measure answers against known ones, the linking of tables, or a policy."
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


CrossCheck = Annotated[
    bool, typer.Option(help="compare every draft with the translator's reading, or only doubtful ones")
]
DraftsMost = Annotated[
    Effort, typer.Option(help="drafts of a model, at most: 1, 2 or 3; another only where those before disagree")
]


@evaluation.command(name=DEFAULT)
def evaluate_items(
    items: Annotated[
        Path | None, typer.Argument(help="JSON lines {id, db_id, question, gold|expect[, pred][, as_of][, mode]}")
    ] = None,
    databases: Annotated[Path | None, typer.Option(help="folder of <db_id>.sqlite files")] = None,
    items_option: Annotated[Path | None, typer.Option("--items", help="the same as the argument")] = None,
    model: Annotated[
        str, typer.Option(help="replay (the answers in `pred`), builtin, or a model's name at QUERYBUS_LLM_BASE_URL")
    ] = "replay",
    policy: Annotated[
        RepairPolicy | None, typer.Option(help="who repairs what fails; default: a model first, then rules")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="the mode of items that name none")] = Mode.DATABASE,
    cross_check: CrossCheck = True,
    effort: DraftsMost = Effort.STANDARD,
    items_out: Annotated[
        Path | None, typer.Option(help="write one JSON line per item to this file, each as it is known")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="the items of another run, to compare with")] = None,
    report: Annotated[Path | None, typer.Option(help="write a page for people to this file, worst items first")] = None,
    price_in: Annotated[float, typer.Option(min=0, help="per million tokens in")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="per million tokens out")] = 0.0,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Answer questions with known answers and count what is right, fixed and broken.

    An item has `gold`, a reference statement, or `expect`: clarification, refused or replied. A thread has `turns`, a list
    of such questions. What the model answered first is run by itself as well: `broken` was right there and is not at the end.
    `by_writer` says who wrote the answers. A run in which a call of the model failed exits with 1.

    Example: querybus evaluate questions.jsonl --databases databases --model builtin
    """
    if items is not None and items_option is not None:
        raise UsageError("name the items once: as the argument or with --items")
    path = items or items_option
    if path is None or databases is None:
        raise UsageError("name the items and --databases: querybus evaluate questions.jsonl --databases databases")
    from querybus_cli.evaluation.evaluate import compared, evaluate, read_right, totals
    from querybus_cli.evaluation.items import read_threads

    threads = usage(read_threads, path)
    before = None if against is None else usage(read_right, against)
    results = evaluate(threads, databases, model, policy=policy, mode=mode, cross_check=cross_check, effort=effort)
    try:
        judged = run(collected(results, sum(map(len, threads)), items_out))
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    figures = totals(judged, (price_in, price_out))
    if before is not None:
        figures["against"] = compared(judged, before)
    _show(figures, json_output=json_output)
    if report is not None:
        from querybus_cli.evaluation.report import report_page

        report.write_text(report_page(path.name, model, figures, judged), encoding="utf-8")
    if figures["calls_failed"]:
        typer.echo(_failed_calls(model, figures), err=True)
        raise typer.Exit(1)


def _failed_calls(model: str, figures: dict[str, Any]) -> str:
    """Return why the figures measure no model: how many of its calls failed, and with which reasons."""
    reasons = "; ".join(f"{count} x {reason}" for reason, count in figures["call_failures"].items())
    return (
        f"not a measurement of {model}: {figures['calls_failed']} of {figures['calls']} calls failed ({reasons})."
        " `querybus models` lists the models and their addresses."
    )


@evaluation.command(name="policy")
def evaluate_hidden_rows(
    connection: Annotated[str, typer.Argument(help="name of the connection")],
    tenant: Annotated[str, typer.Option(help="for whom the statements run: `:tenant` of the row filters")],
    user: Annotated[str, typer.Option(help="`:user` of the row filters")] = "evaluator",
    file: Annotated[
        Path, typer.Option("--file", envvar="QUERYBUS_CONNECTIONS_FILE", help="the file that lists the connections")
    ] = Path("connections.yaml"),
    count: Annotated[int, typer.Option(min=1, max=100_000, help="statements to make")] = 500,
    seed: Annotated[int, typer.Option(help="another number makes other statements")] = 1,
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Try whether statements reveal rows or columns that your policy hides from a reader; exits with 1 if one does.

    Makes statements of your own tables, with values that hidden rows alone hold, and runs them as that reader. Each has a
    twin with a value that nobody holds: both must look the same. It only reads, and needs no other service.

    Example: querybus evaluate policy shop --tenant acme --count 2000
    """
    from querybus.core.policy import Reader
    from querybus.ops.log import configure_logging
    from querybus_cli.evaluation.hidden_rows.evaluate import evaluate_policy, read_connection

    configure_logging("error", as_json=False)
    reader = Reader(tenant, user)
    config = read_connection(file, connection, reader)
    report = run(evaluate_policy(config, reader, count=count, seed=seed, say=_seldom(PROGRESS_SECONDS)))
    if json_output:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        for line in report.lines():
            typer.echo(line)
    if report.leaks:
        raise typer.Exit(1)


def _seldom(seconds: float) -> Callable[[str], None]:
    """Return what prints a line to stderr, one in that time at most."""
    shown_at = time.monotonic()

    def say(line: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at > seconds:
            shown_at = time.monotonic()
            typer.echo(line, err=True)

    return say


@evaluation.command(name="self-test")
def evaluate_planted(
    json_output: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Plant items that are broken, fixed or crashed on the way, and say whether each is found; exits with 1 if not.

    Example: querybus evaluate self-test
    """
    from querybus_cli.evaluation.self_test import self_test

    missed = run(self_test())
    if json_output:
        typer.echo(json.dumps(missed, ensure_ascii=False))
    else:
        for name, what in missed.items():
            typer.echo(f"{name:30} {f'NOT FOUND: {what}' if what else 'found'}")
    if any(missed.values()):
        raise typer.Exit(1)


async def collected(results: AsyncGenerator[Judged], count: int, items_out: Path | None) -> list[Judged]:
    """Return all results; write each as it comes, and say how far it is."""
    judged: list[Judged] = []
    shown_at = time.monotonic()
    async with aclosing(results):
        with nullcontext() if items_out is None else items_out.open("w", encoding="utf-8") as file:
            async for result in results:
                judged.append(result)
                if file is not None:
                    file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
                    file.flush()
                if time.monotonic() - shown_at > PROGRESS_SECONDS:
                    shown_at = time.monotonic()
                    right = sum(item.final_right for item in judged)
                    typer.echo(f"{len(judged)} of {count} items, {right} right", err=True)
    return judged


def _show(figures: dict[str, Any], *, json_output: bool) -> None:
    if json_output:
        typer.echo(json.dumps(figures, ensure_ascii=False))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for key, counted in cast("dict[str, Any]", value).items():
                typer.echo(f"  {key:28} {counted}")
        elif isinstance(value, list | tuple):
            shown = [str(item) for item in cast("Sequence[Any]", value)]
            rest = f" and {len(shown) - ITEMS_SHOWN_MAX} more" if len(shown) > ITEMS_SHOWN_MAX else ""
            typer.echo(f"{name:30} {', '.join(shown[:ITEMS_SHOWN_MAX])}{rest}")
        else:
            typer.echo(f"{name:30} {value}")
