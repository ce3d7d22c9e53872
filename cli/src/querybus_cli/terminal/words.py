"""What is said and drawn, judged and made line by line: the code of `check-words` and `chart`, which the presenter runs.

JSON lines in, JSON lines out; ValueError names the line that is no such JSON. Nothing is sent anywhere.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from querybus.core.catalog import ColumnKind, Dialect
from querybus.core.messages import Result, ResultColumn
from querybus.text.disclosure import leaks
from querybus.text.language import detect_language
from querybus_cli.evaluation.check_statements import catalog_of
from querybus_cli.runtime import read_json, read_text
from querybus_presenter.charts.chart import chart
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.wording.texts import load_texts

LINE_LENGTH_MAX: Final = 10_000_000

_KINDS: Final = (
    (re.compile(r"bool|^bit$"), ColumnKind.BOOLEAN),
    (re.compile(r"timestamp|datetime"), ColumnKind.DATETIME),
    (re.compile(r"^date"), ColumnKind.DATE),
    (re.compile(r"^time"), ColumnKind.TIME),
    (re.compile(r"int(?!erval)|serial|year"), ColumnKind.INTEGER),
    (re.compile(r"num|dec|real|float|double|money"), ColumnKind.NUMBER),
    (re.compile(r"char|text|string|enum|uuid|clob"), ColumnKind.TEXT),
    (re.compile(r"json"), ColumnKind.JSON),
    (re.compile(r"blob|bytea?|binary"), ColumnKind.BYTES),
)


def check_words_lines(file: Path | None, catalog: Path) -> Iterator[dict[str, Any]]:
    """Say of each line `{"id", "text", "lang"}` whether it gives a name or a technical word away, and which."""
    known = catalog_of(read_json(catalog), Dialect.SQLITE)
    for number, item in _items(file):
        text, language = item.get("text"), item.get("lang", "en")
        if not isinstance(text, str) or language not in ("en", "zh"):
            raise ValueError(f'line {number} is not {{"id", "text", "lang": "en" | "zh"}}')
        result = leaks(text, known, language)
        yield {"id": item.get("id"), "leak": bool(result), "found": list(result)}


def chart_lines(file: Path | None) -> Iterator[dict[str, Any]]:
    """Make the chart of each line `{"columns": [{"name", "type"}], "rows", "row_count", "question"}`."""
    words = load_texts()
    for number, item in _items(file):
        try:
            question = str(item.get("question") or "")
            columns = tuple(
                ResultColumn(name=str(column["name"]), kind=kind_of_type(str(column.get("type") or "")))
                for column in item["columns"]
            )
            rows = tuple(tuple(row) for row in item["rows"])
            count = item.get("row_count")
            result = Result(columns=columns, rows=rows, row_count=len(rows) if count is None else count)
            drawn = chart(shape_of(result, _labels(columns)), words[detect_language(question), "analyst"], question)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f'line {number} is not {{"columns", "rows", "row_count", "question"}}: {error}') from None
        yield {"chart": drawn.kind.value, "spec": drawn.spec}


def kind_of_type(name: str) -> ColumnKind:
    """Return the kind of a type's name; what is not known is reported by its cells.

    >>> kind_of_type("DECIMAL(10,2)"), kind_of_type("timestamp"), kind_of_type("")
    (<ColumnKind.NUMBER: 'number'>, <ColumnKind.DATETIME: 'datetime'>, <ColumnKind.OTHER: 'other'>)
    """
    plain = name.strip().lower()
    return next((kind for pattern, kind in _KINDS if pattern.search(plain)), ColumnKind.OTHER)


def _labels(columns: Iterable[ResultColumn]) -> list[str]:
    names: list[str] = []
    for column in columns:
        label, count = column.name, 2
        while label in names:
            label, count = f"{column.name} ({count})", count + 1
        names.append(label)
    return names


def _items(file: Path | None) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = sys.stdin if file is None else read_text(file).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line[:LINE_LENGTH_MAX])
        except ValueError as error:
            raise ValueError(f"line {number} is no JSON: {error}") from None
        yield number, cast("dict[str, Any]", item if isinstance(item, dict) else {})
