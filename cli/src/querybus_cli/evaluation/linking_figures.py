"""The figures of `querybus evaluate linking`, gathered and printed."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final, cast

import typer

from querybus.llm import EmbeddingServiceSettings
from querybus.ops.settings import load
from querybus_cli.evaluation import linking as evaluation
from querybus_cli.runtime import read_text

_QUESTIONS_TIMED: Final = 60


def measure(data: Path, labels: list[Path], step: int, size: int) -> dict[str, Any]:
    """Return all figures, with embeddings where QUERYBUS_EMBEDDINGS_* names some; ValueError or OSError says what is wrong."""
    catalogs, raw = evaluation.read_folder(data)
    items, unread = evaluation.items_of(raw, catalogs)
    items = items[::step]
    figures = evaluation.evaluate_linking(catalogs, items) | {"references_not_read": unread}
    embeddings = load(EmbeddingServiceSettings)
    if embeddings.embeddings_base_url:
        figures["with_embeddings"] = asyncio.run(evaluation.evaluate_meaning(catalogs, items, embeddings))
    with tempfile.TemporaryDirectory() as folder:
        shop = evaluation.shop_catalog(Path(folder) / "shop.sqlite")
    known = {evaluation.SHOP: shop, **catalogs}
    own = evaluation.SHOP_QUESTIONS.read_text(encoding="utf-8")
    figures["chinese_over_the_shop"] = evaluation.evaluate_labels(known, evaluation.label_items(own))
    for path in labels:
        result = evaluation.evaluate_labels(catalogs, evaluation.label_items(read_text(path)))
        figures[path.name] = result
    timed = [item.question for item in items[:: max(1, len(items) // _QUESTIONS_TIMED)]]
    figures[f"milliseconds_at_{size}_tables"] = evaluation.milliseconds_at(size, timed)
    return figures


def show(name: str, value: Any) -> None:
    """Print one figure, or the figures of one part."""
    if not isinstance(value, dict):
        typer.echo(f"{name:34} {value}")
        return
    typer.echo(name)
    for key, counted in cast("dict[str, Any]", value).items():
        if isinstance(counted, list):
            lines = cast("list[str]", counted)
            typer.echo(f"  {key:32} {len(lines)}")
            for line in lines:
                typer.echo(f"    {line}")
        elif isinstance(counted, dict):
            typer.echo(
                f"  {key:32} "
                + "  ".join(f"{part} {figure}" for part, figure in cast("dict[str, Any]", counted).items())
            )
        else:
            typer.echo(f"  {key:32} {counted}")
