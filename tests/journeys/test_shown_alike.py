"""One answer reads alike at the page, in the terminal, as Markdown and in a spreadsheet: the server decides, the others apply."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import AsyncGenerator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from querybus.bus.stores.pages import encode_page
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.core.envelope import Envelope
from querybus.core.messages import Analysis, Concluded, Finished, Outcome, Result, ResultColumn, Scalar
from querybus.core.subjects import EventName, StageName
from querybus_cli.terminal.outcome import result_table
from querybus_gateway.public.markdown import markdown
from querybus_gateway.public.redaction import public_answer
from querybus_gateway.use_cases.results.pages import Export
from querybus_gateway.use_cases.results.spreadsheet import spreadsheet
from querybus_presenter.present import render
from querybus_presenter.wording.texts import load_texts

VALUES_JS = Path(__file__).parents[2] / "services/gateway/src/querybus_gateway/http/browser/assets/values.js"
WORDS = load_texts()
LANGUAGES: tuple[Language, ...] = ("en", "zh")
INT, NUM, DAY, MOMENT = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.DATE, ColumnKind.DATETIME
CATALOG = Catalog(
    connection="gym",
    dialect=Dialect.POSTGRESQL,
    tables=(
        Table(
            name="visits",
            primary_key=("visit_id",),
            columns=(
                Column(name="visit_id", type="int8", kind=INT),
                Column(name="came_on", type="date", kind=DAY),
                Column(name="came_at", type="timestamptz", kind=MOMENT),
                Column(name="fee", type="numeric(12,2)", kind=NUM, unit={"en": "EUR", "zh": "欧元"}),
                Column(name="tip_cents", type="int8", kind=INT),
                Column(name="joined_year", type="int4", kind=INT),
                Column(name="minutes", type="float8", kind=NUM),
                Column(name="left_early", type="bool", kind=ColumnKind.BOOLEAN),
            ),
        ),
    ),
)
FIELDS: list[tuple[str, ColumnKind, tuple[Scalar, ...]]] = [
    ("visit_id", INT, (1048576, 7, None)),
    ("joined_year", INT, (2024, 1999, None)),
    ("date_trunc('month', came_on)", DAY, ("2026-01-01", "2026-02-01", None)),
    ("date_trunc('quarter', came_at)", MOMENT, ("2026-01-01 00:00:00+00:00", "2026-04-01 00:00:00+00:00", None)),
    ("date_trunc('year', came_on)", DAY, ("2026-01-01", "2025-01-01", None)),
    ("came_on", DAY, ("2026-03-17", "2026-02-01", None)),
    ("came_at", MOMENT, ("2026-03-17 10:30:05+00:00", "2026-03-17T23:59:59.5+00:00", None)),
    ("sum(fee) AS number", NUM, (878072.460000008, 0.1 + 0.2, "1234.125")),
    ("sum(tip_cents) AS tips", INT, (1703134404, 5, None)),
    ("avg(left_early::int)", NUM, (0.2768, 0.2765, 1)),
    ("100.0 * count(*) FILTER (WHERE left_early) / count(*)", NUM, (27.675, 0.05, None)),
    ("avg(minutes) AS year", NUM, (1.005, 7.5, 2.345)),
    ("avg(minutes) * 2", NUM, (0.00001234, 12, -1e-20)),
    ("count(*)", INT, (1234567, 0, None)),
]
TEXTS = {"en": {"yesWord": "yes", "noWord": "no"}, "zh": {"yesWord": "是", "noWord": "否"}}


def finished(language: Language) -> Envelope[Finished]:
    rows = tuple(zip(*(cells for _, _, cells in FIELDS), strict=True))
    columns = tuple(ResultColumn(name=f"x{n}", kind=kind) for n, (_, kind, _) in enumerate(FIELDS))
    body = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        sql=f"SELECT {', '.join(sql for sql, _, _ in FIELDS)} FROM visits",
        dialect=Dialect.POSTGRESQL,
        result=Result(columns=columns, rows=rows, row_count=len(rows)),
        analysis=Analysis(tables=("visits",)),
    )
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="business",
        connection="gym",
        question="Visits / year: how many?",
        language=language,
        asked_at=0,
        deadline_at=60_000,
        body=body,
    )
    return render(envelope, CATALOG, WORDS[language, "business"])


def at_the_page(answer: dict[str, Any]) -> list[list[str]]:
    node = shutil.which("node")
    if node is None:
        assert not os.environ.get("CI"), "node is not installed; apt-get install nodejs"
        pytest.skip("node is not installed: apt-get install nodejs")
    script = f"""
        import {{ shown }} from {json.dumps(VALUES_JS.as_uri())};
        const {{ answer, texts }} = JSON.parse(process.argv[1]);
        const cells = answer.rows.map((row) => row.map((cell, n) => cell === null ? "" : shown(cell, answer.columns[n], answer.language, texts)));
        console.log(JSON.stringify(cells));
    """
    given = json.dumps({"answer": answer, "texts": TEXTS[answer["language"]]})
    done = subprocess.run(
        [node, "--input-type=module", "-e", script, given], capture_output=True, check=True, text=True
    )
    return json.loads(done.stdout)


def in_the_terminal(answer: dict[str, Any]) -> list[list[str]]:
    table = result_table(answer)
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return [["" if cell == "-" else cell for cell in row] for row in zip(*columns, strict=True)]


def in_markdown(answer: dict[str, Any]) -> list[list[str]]:
    text = markdown({"id": "q", "answer": answer}, "http://localhost")
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| ---")]


async def in_a_spreadsheet(envelope: Envelope[Finished]) -> tuple[str, list[list[str]]]:
    answer = envelope.body.answer
    kept = tuple(ResultColumn(name=column.id, kind=column.kind) for column in answer.columns)

    async def pages() -> AsyncGenerator[bytes]:
        yield encode_page(kept, answer.rows)

    data = b"".join([part async for part in spreadsheet(Export("q", envelope.question, answer, "business", pages))])
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        return opened(book, len(answer.columns))


def opened(book: zipfile.ZipFile, width: int) -> tuple[str, list[list[str]]]:
    """Return a sheet's name and its cells as a program of spreadsheets shows them."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}

    def tree(name: str) -> ET.Element:
        return ET.fromstring(book.read(name))

    texts = ["".join(item.itertext()) for item in tree("xl/sharedStrings.xml").findall("m:si", space)]
    styles = tree("xl/styles.xml")
    own = {item.attrib["numFmtId"]: item.attrib["formatCode"] for item in styles.findall("m:numFmts/m:numFmt", space)}
    builtin = {"1": "0", "3": "#,##0", "4": "#,##0.00", "0": "General"}
    codes = [{**builtin, **own}[item.attrib["numFmtId"]] for item in styles.findall("m:cellXfs/m:xf", space)]
    rows: list[list[str]] = []
    for row in tree("xl/worksheets/sheet1.xml").findall("m:sheetData/m:row", space)[1:]:
        cells = [""] * width
        for cell in row.findall("m:c", space):
            letters = re.sub(r"\d", "", cell.attrib["r"])
            value = cell.find("m:v", space)
            assert len(letters) == 1
            assert value is not None
            text = str(value.text)
            is_text = cell.attrib.get("t") == "s"
            cells[ord(letters) - ord("A")] = (
                texts[int(text)] if is_text else by_code(text, codes[int(cell.attrib.get("s", "0"))])
            )
        rows.append(cells)
    return tree("xl/workbook.xml").findall("m:sheets/m:sheet", space)[0].attrib["name"], rows


def by_code(value: str, code: str) -> str:
    """Return a number under a number format, for the codes that spreadsheets are written with here."""
    if code.startswith('"'):
        return code.strip('"')
    if "yy" in code:
        moment = dt.datetime(1899, 12, 30, tzinfo=dt.UTC) + dt.timedelta(days=float(value))
        moment = (moment + dt.timedelta(microseconds=500_000)).replace(microsecond=0)
        code = code.replace("[$-409]", "").replace("mmm", "%b").replace("yyyy", "%Y").replace("hh:mm:ss", "%H:%M:%S")
        code = code.replace("-mm-", "-%m-").replace("dd", "%d").replace('m"', f'{moment.month}"').replace('"', "")
        return moment.strftime(code)
    number = Decimal(value) * (100 if code.endswith(("0%", "#%")) else 1)
    digits = code.partition(".")[2]
    most, least = len(re.findall(r"[0#]", digits)), digits.count("0")
    text = f"{number.quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_UP):{',' if ',' in code else ''}f}"
    while most > least and text.endswith("0"):
        text, most = text[:-1], most - 1
    text = text.removeprefix("-") if not Decimal(text.replace(",", "")) else text
    return text + ("%" if "%" in code else "")


EXPECTED = {
    "en": [
        ["1048576", "2024", "Jan 2026", "Q1 2026", "2026", "2026-03-17", "2026-03-17 10:30:05 UTC", "878,072.46",
         "17,031,344.04", "27.7%", "27.7%", "1.01", "0.000012", "1,234,567"],
        ["7", "1999", "Feb 2026", "Q2 2026", "2025", "2026-02-01", "2026-03-17 23:59:59 UTC", "0.30", "0.05", "27.7%",
         "0.1%", "7.50", "12.00", "0"],
        ["", "", "", "", "", "", "", "1,234.13", "", "100.0%", "", "2.35", "0.00", ""],
    ],
    "zh": [
        ["1048576", "2024", "2026年1月", "2026年第1季度", "2026年", "2026-03-17", "2026-03-17 10:30:05 UTC",
         "878,072.46", "17,031,344.04", "27.7%", "27.7%", "1.01", "0.000012", "1,234,567"],
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_answer_reads_alike_at_the_page_in_the_terminal_as_markdown_and_in_a_spreadsheet(
    language: Language,
) -> None:
    envelope = finished(language)
    answer = json.loads(json.dumps(public_answer(envelope, "business")))
    for row, expected in zip(in_the_terminal(answer), EXPECTED[language], strict=False):
        assert row == expected
    assert in_markdown(answer) == in_the_terminal(answer)
    assert at_the_page(answer) == in_the_terminal(answer)
    name, cells = await in_a_spreadsheet(envelope)
    assert cells == in_the_terminal(answer)
    assert name == "Visits year how many"


async def test_a_spreadsheet_keeps_dates_as_dates_and_shares_as_shares() -> None:
    envelope = finished("en")
    answer = envelope.body.answer

    async def pages() -> AsyncGenerator[bytes]:
        yield encode_page(
            tuple(ResultColumn(name=column.id, kind=column.kind) for column in answer.columns), answer.rows
        )

    data = b"".join([part async for part in spreadsheet(Export("q", "?", answer, "business", pages))])
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        workbook = book.read("xl/workbook.xml").decode()
    assert "<v>46023</v>" in sheet, "1 January 2026 is day 46,023"
    assert "<v>0.2768</v>" in sheet
    assert "<v>878072.46</v>" in sheet, "no noise of adding floats"
    assert 'name="Answer"' in workbook


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_old_answer_without_formats_is_shown_as_it_is(language: Language) -> None:
    columns = [
        {"id": name, "label": name, "kind": kind, "format": None}
        for name, kind in (("Year", "integer"), ("Number", "number"), ("Month", "date"))
    ]
    answer = {
        "language": language,
        "columns": columns,
        "rows": [[12345, 0.1 + 0.2, "2025-01-01"]],
        "row_count": 1,
        "outcome": "answered",
        "summary": "s",
    }
    assert in_the_terminal(answer) == in_markdown(answer) == at_the_page(answer) == [["12345", "0.3", "2025-01-01"]]
