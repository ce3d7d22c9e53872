"""A whole result as CSV, JSON lines, an Arrow stream, Parquet or a spreadsheet.

All but the spreadsheet are made a page at a time: memory is one page, however long the result is; a spreadsheet is made whole and
has at most XLSX_ROWS_MAX rows. Headers are what the reader may see: labels in CSV and spreadsheets; an analyst's names or a business
reader's `c1`..`cn` elsewhere. No cell becomes a formula. Arrow and Parquet keep the types that the pages have (`columnar`).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Final

from querybus.bus.stores.pages import decode_page
from querybus.text.rows.csv_cells import csv_cell
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import public_columns
from querybus_gateway.use_cases.results.columnar import arrow_stream, parquet_stream
from querybus_gateway.use_cases.results.pages import Export
from querybus_gateway.use_cases.results.spreadsheet import spreadsheet


class Format(StrEnum):
    """How a result may leave."""

    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"
    PARQUET = "parquet"
    XLSX = "xlsx"


MEDIA_TYPES: Final[dict[Format, str]] = {
    Format.CSV: "text/csv; charset=utf-8; header=present",
    Format.JSONL: "application/jsonl",
    Format.ARROW: "application/vnd.apache.arrow.stream",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
XLSX_ROWS_MAX: Final = 100_000
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def refusal_of(export: Export, how: Format, first_row: int) -> Problem | None:
    """Return why a result cannot leave in this form, from this row on, or None."""
    if first_row > 1 and how not in (Format.CSV, Format.JSONL):
        return Problem(ProblemCode.INVALID, "only csv and jsonl go on from a row: the other forms are one whole")
    if how is Format.PARQUET and not export.answer.columns:
        return Problem(ProblemCode.INVALID, "a result without columns has no form in Parquet; take csv or jsonl")
    if how is Format.XLSX and export.answer.row_count > XLSX_ROWS_MAX:
        return Problem(ProblemCode.TOO_LARGE, f"a spreadsheet has at most {XLSX_ROWS_MAX:,} rows; take csv or parquet")
    return None


def export_stream(export: Export, how: Format, *, bom: bool = False, first_row: int = 1) -> AsyncGenerator[bytes]:
    """Return the bytes of the result, a chunk a page; raises PageGone where a page has gone meanwhile.

    `bom` begins CSV with a byte order mark, by which older spreadsheets know that it is UTF-8. CSV and JSON lines can begin
    with a later row, counted from 1, then without a head: what follows a file that broke off.
    """
    match how:
        case Format.CSV:
            return _csv(export, bom=bom, first_row=first_row)
        case Format.JSONL:
            return _jsonl(export, first_row=first_row)
        case Format.ARROW:
            return arrow_stream(export, _names(export))
        case Format.PARQUET:
            return parquet_stream(export, _names(export))
        case Format.XLSX:
            return spreadsheet(export)


async def _rows(export: Export, first_row: int) -> AsyncGenerator[Sequence[Sequence[Any]]]:
    left = first_row - 1
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            rows = decode_page(data)[1]
            yield rows[left:]
            left = max(0, left - len(rows))


async def _csv(export: Export, *, bom: bool, first_row: int) -> AsyncGenerator[bytes]:
    if bom and first_row == 1:
        yield BYTE_ORDER_MARK
    text = io.StringIO()
    # RFC 4180, line ends included, is what Excel's dialect writes.
    writer = csv.writer(text)
    if first_row == 1:
        writer.writerow([csv_cell(raw_label(column)) for column in public_columns(export.answer, export.audience)])
    async with aclosing(_rows(export, first_row)) as pages:
        async for rows in pages:
            writer.writerows([[csv_cell(cell) for cell in row] for row in rows])
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()


async def _jsonl(export: Export, *, first_row: int) -> AsyncGenerator[bytes]:
    names = _names(export)
    async with aclosing(_rows(export, first_row)) as pages:
        async for rows in pages:
            lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows]
            yield "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def raw_label(column: Mapping[str, Any]) -> str:
    """Return the head of a column whose cells leave as the database has them: cents are called so.

    >>> raw_label({"label": "Amount", "format": {"factor": 0.01}}), raw_label({"label": "Share", "format": None})
    ('Amount (× 0.01)', 'Share')
    """
    factor = (column.get("format") or {}).get("factor", 1)
    return f"{column['label']} (× {factor})" if factor < 1 else str(column["label"])


def _names(export: Export) -> Sequence[str]:
    """Return a distinct name for each column: its id, numbered where a statement used one twice."""
    names: list[str] = []
    for column in public_columns(export.answer, export.audience):
        name, n = str(column["id"]), 2
        while name in names:
            name, n = f"{column['id']}_{n}", n + 1
        names.append(name)
    return names


NAME_LENGTH_MAX: Final = 60
_NAME_SIGNS: Final = re.compile(r"[^\w\u3400-\u9fff]+")


def file_name(question: str, query_id: str, how: Format) -> str:
    """Return what a file is called: by its question, so that people know it again; by the query where it has no words.

    >>> file_name("How many orders / month?", "0190", Format.CSV), file_name("??", "0190", Format.XLSX)
    ('How-many-orders-month.csv', '0190.xlsx')
    """
    words = _NAME_SIGNS.sub("-", question)
    if len(words) > NAME_LENGTH_MAX:
        # At the end of a word, where there is one.
        words = words[: NAME_LENGTH_MAX + 1].rpartition("-")[0] or words[:NAME_LENGTH_MAX]
    words = words.strip("-_")
    return f"{words or query_id}.{how}"
