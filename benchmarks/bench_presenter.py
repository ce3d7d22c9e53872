"""Measures the presenter: leaks missed and false alarms, invented numbers, chart practice, and CPU of an answer.

Half of the labelled sentences stand in data/words.txt, the other half is made, with a fixed seed, from databases laid
out as Spider's (names, and questions that people asked of them); without that folder only the first half is measured,
and that is said. Labels never come from the code under test: a made name is technical if it is written as no word is,
or if nobody says it in a question; a word that is also a name is reported apart.
Prints a table and writes build/bench/presenter.json.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import random
import re
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus.core.envelope import Audience, Envelope
from querybus.core.messages import (
    Analysis,
    Concluded,
    Outcome,
    Result,
    ResultColumn,
    Scalar,
)
from querybus.core.subjects import EventName, StageName
from querybus.text.disclosure import leaks
from querybus_cli.evaluation.check_statements import catalog_of
from querybus_presenter.charts.chart import Drawn, chart
from querybus_presenter.charts.kinds import Kind
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.present import render
from querybus_presenter.summaries.summary import summary
from querybus_presenter.wording.texts import load_texts

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).resolve().parent / "data"
SEED = 20_240_317
WORDS = load_texts()
REQUIRED = {
    "leaks_missed": 0.0,
    "false_alarm_share": 0.03,
    "numbers_invented": 0.0,
    "cpu_ms_100_rows": 1.0,
    "cpu_ms_2000_columns": 1_000.0,
}
REQUIRED_AT_LEAST = {"sentences": 300.0, "shapes": 120.0, "charts_accepted_share": 0.95, "summaries": 500.0}


# Leaks


@dataclass(frozen=True)
class Sentence:
    """A labelled sentence: `leak`, `plain`, or `both` for a word that is a name as well."""

    label: str
    language: Language
    text: str
    catalog: Catalog


LEAKING: dict[Language, list[str]] = {
    "en": [
        "There is no {name} here.",
        "Please check {name} and ask again.",
        "The highest {name} is 12.",
        "I looked at {name} for you.",
        "({name}) is empty.",
        "Sorted by {name}, highest first.",
    ],
    "zh": [
        "没有找到{name}，请调整。",
        "按{name}排序。",
        "{name}的合计是 12。",
        "请检查{name}。",
        "其中{name}为空。",
        "查询了{name}。",
    ],
}
NAMING: dict[Language, list[str]] = {
    "en": [
        "The column {name} is unknown.",
        "{table}.{name} was read.",
        "`{name}` is not there.",
        "table {table} is away",
    ],
    "zh": ["字段 {name} 不存在。", "使用了{table}.{name}。", "`{name}`没有值。", "表{table}里没有。"],
}
SPEAKING: dict[Language, list[str]] = {
    "en": [
        "The highest {word} is 1,234.5.",
        "12 results. Half of the {word} are new.",
        "From January to June the {word} rose from 5 to 12.",
        "Please say which {word} you mean.",
    ],
    "zh": [
        "共 12 条结果，{word}最多。",
        "最高：{word}（5）。",
        "从1月到6月，{word}由 5 上升到 12。",
        "请说明您指的{word}。",
    ],
}


def authored() -> Iterator[Sentence]:
    catalog = catalog_of(json.loads((DATA / "words_catalog.json").read_text()), Dialect.SQLITE)
    for line in (DATA / "words.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            label, language, text = line.split("|", 2)
            yield Sentence(label, "zh" if language == "zh" else "en", text, catalog)


def catalogs_in(folder: Path) -> Iterator[tuple[str, Catalog]]:
    for path in sorted((*folder.glob("databases/*.sqlite"), *folder.glob("train_databases/*.sqlite"))):
        tables: dict[str, dict[str, str]] = {}
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:
                quoted = name.replace('"', '""')
                rows = database.execute(f'PRAGMA table_info("{quoted}")')
                tables[name] = {row[1]: row[2] or "TEXT" for row in rows}
        yield path.stem, catalog_of({"tables": tables}, Dialect.SQLITE)


def made(folder: Path) -> Iterator[Sentence]:
    """Make labelled sentences of each database; which words people say is read from their questions."""
    chooser = random.Random(SEED)
    asked: dict[str, list[str]] = {}
    for file in ("questions_dev.json", "questions_train.json"):
        for item in json.loads((folder / file).read_text()):
            asked.setdefault(item["db_id"], []).append(item["question"])
    speech: Counter[str] = Counter()
    for questions in asked.values():
        speech.update({word for text in questions for word in re.findall(r"[a-z]+", text.lower())})
    for database, catalog in catalogs_in(folder):
        names = sorted(catalog.identifiers)
        technical = [name for name in names if is_technical(name, speech)]
        spoken = [name for name in names if name.lower() in speech and len(name) > 2]
        lowered = {name.lower() for name in names}
        for language in ("en", "zh"):
            table = chooser.choice(catalog.tables)
            if technical:
                text = chooser.choice(LEAKING[language]).format(name=chooser.choice(technical))
                yield Sentence("leak", language, text, catalog)
            naming = chooser.choice(NAMING[language])
            column = chooser.choice(table.columns).name
            if re.fullmatch(r"\w+", column) and column.lower() not in ("name", "type", "title", "number", "size"):
                yield Sentence("leak", language, naming.format(table=table.name, name=column), catalog)
            others = [
                item for item, count in speech.most_common(1_500) if count > 3 and item not in lowered and len(item) > 3
            ]
            text = chooser.choice(SPEAKING[language]).format(word=chooser.choice(others))
            yield Sentence("plain", language, text, catalog)
            if spoken:
                text = chooser.choice(SPEAKING[language]).format(word=chooser.choice(spoken).lower())
                yield Sentence("both", language, text, catalog)
        for question in chooser.sample(asked.get(database, []), min(2, len(asked.get(database, [])))):
            words = set(re.findall(r"\w+", question.lower()))
            if not any(is_technical(word, speech) for word in words & lowered):
                yield Sentence("both" if words & lowered else "plain", "en", question, catalog)


def is_technical(name: str, speech: Counter[str]) -> bool:
    """Whether a name is written as no word is, or is said by nobody and glued together. Other rare words: neither side."""
    if re.search(r"[_$#0-9]|[a-z][A-Z]", name):
        return len(name) > 1 and not name.isdigit()
    glued = re.fullmatch(r"[a-z]+(?:id|no|num|name|code|desc|date|type|cd|abbr)", name.lower())
    return (
        name.isalpha()
        and len(name) > 2
        and name.lower() not in speech
        and bool(glued or not re.search("[aeiouy]", name.lower()))
    )


def judge_words(folder: Path) -> tuple[dict[str, float], list[str]]:
    sentences = list(authored())
    figures = {"sentences_authored": float(len(sentences))}
    if folder.is_dir():
        sentences += made(folder)
    wrong: list[str] = []
    counts: Counter[tuple[str, bool]] = Counter()
    for sentence in sentences:
        result = leaks(sentence.text, sentence.catalog, sentence.language)
        counts[sentence.label, bool(result)] += 1
        if bool(result) != (sentence.label == "leak"):
            wrong.append(f"{sentence.label} {sentence.language}: {sentence.text}  -> {', '.join(result) or 'nothing'}")
    plain = counts["plain", True] + counts["plain", False]
    both = counts["both", True] + counts["both", False]
    return {
        **figures,
        "sentences": float(len(sentences)),
        "sentences_zh": float(sum(sentence.language == "zh" for sentence in sentences)),
        "leaks": float(counts["leak", True] + counts["leak", False]),
        "leaks_missed": float(counts["leak", False]),
        "plain": float(plain),
        "false_alarms": float(counts["plain", True]),
        "false_alarm_share": counts["plain", True] / plain,
        "both_word_and_name": float(both),
        "both_alarms": float(counts["both", True]),
        "both_alarm_share": counts["both", True] / both,
    }, wrong


# Results


NAMES = [
    "Bern",
    "Lyon",
    "Rome",
    "Oslo",
    "Kyiv",
    "Riga",
    "Graz",
    "Brno",
    "Nice",
    "Cork",
    "Gent",
    "Metz",
    "Pisa",
    "Turin",
]
KINDS = {
    "int": ColumnKind.INTEGER, "pos": ColumnKind.INTEGER, "id": ColumnKind.INTEGER, "year": ColumnKind.INTEGER,
    "hour": ColumnKind.INTEGER, "gaps": ColumnKind.INTEGER, "money": ColumnKind.NUMBER, "signed": ColumnKind.NUMBER,
    "share": ColumnKind.NUMBER, "rate": ColumnKind.NUMBER, "rising": ColumnKind.NUMBER, "falling": ColumnKind.NUMBER,
    "latitude": ColumnKind.NUMBER, "longitude": ColumnKind.NUMBER, "day": ColumnKind.DATE, "stamp": ColumnKind.DATETIME,
    "bool": ColumnKind.BOOLEAN, "blob": ColumnKind.BYTES,
}  # fmt: skip


def word(n: int) -> str:
    """Return the n-th of many names without a digit."""
    return NAMES[n % len(NAMES)] + (
        "" if n < len(NAMES) else " " + "".join(chr(97 + int(item)) for item in str(n // len(NAMES)))
    )


def cells(how: str, rows: int, chooser: random.Random, *, is_time: bool = False) -> list[Scalar]:
    if match := re.fullmatch(r"(outer|inner|few)(\d+)", how):
        k = int(match[2])
        places = [n // k if match[1] == "outer" else n % k for n in range(rows)]
        if is_time and match[1] == "outer":
            return [f"{2_020 + place // 12}-{place % 12 + 1:02d}" for place in places]
        return [word(place) for place in places]
    start = dt.date(2_023, 1, 1)
    made: dict[str, Any] = {
        "name": word,
        "long": lambda n: f"{word(n)} and its wider surroundings",
        "day": lambda n: str(start + dt.timedelta(days=n)),
        "stamp": lambda n: f"{start + dt.timedelta(days=n // 24)} {n % 24:02d}:00:00",
        "month": lambda n: f"{2_020 + n // 12}-{n % 12 + 1:02d}",
        "year": lambda n: 2_000 + n,
        "quarter": lambda n: f"{2_020 + n // 4}-Q{n % 4 + 1}",
        "weekday": lambda n: ["Fri", "Mon", "Sat", "Sun", "Thu", "Tue", "Wed"][n % 7],
        "monthname": lambda n: ["April", "August", "December", "February", "January", "July", "June", "March", "May", "November", "October", "September"][n],
        "chinesemonth": lambda n: f"{n + 1}月",
        "chineseday": lambda n: f"周{'一二三四五六日'[n]}",
        "age": lambda n: ["60+", "18-29", "30-44", "45-59", "<18"][n],
        "hour": lambda n: n % 24,
        "id": lambda n: 1_000 + n * 7,
        "bool": lambda n: n % 2 == 0,
        "latitude": lambda _: round(chooser.uniform(45, 48), 4),
        "longitude": lambda _: round(chooser.uniform(5, 10), 4),
        "int": lambda _: chooser.randint(18, 90),
        "pos": lambda _: chooser.randint(1, 900),
        "money": lambda _: round(chooser.uniform(5, 950), 2),
        "signed": lambda n: round(chooser.uniform(-500, 500), 2) if n else -12.5,
        "share": lambda n: [40.0, 30.0, 20.0, 10.0][n],
        "rate": lambda _: round(chooser.uniform(0.1, 0.9), 3),
        "rising": lambda n: (n + 1) * 112.5,
        "falling": lambda n: 5_000.5 - n,
        "gaps": lambda n: None if n == 1 else chooser.randint(1, 900),
        "blob": lambda _: "89504e47",
        "note": lambda n: f"remark {word(n)}",
    }  # fmt: skip
    result = [made[how](n) for n in range(rows)]
    if how in ("day", "month", "year", "quarter", "stamp") and rows > 2:
        chooser.shuffle(result)
    return result


def result_of(columns: Sequence[tuple[str, str]], rows: int, chooser: random.Random) -> Result:
    made = [cells(how, rows, chooser, is_time=name in ("month", "月份")) for name, how in columns]
    if any(how.startswith("outer") and name == "month" for name, how in columns):
        order = chooser.sample(range(rows), rows)
        made = [[column[n] for n in order] for column in made]
    lines = tuple(zip(*made, strict=True)) if made else ()
    known = tuple(ResultColumn(name=name, kind=KINDS.get(how, ColumnKind.TEXT)) for name, how in columns)
    return Result(columns=known, rows=lines, row_count=len(lines))


# Charts


def shapes() -> Iterator[tuple[set[str], Result, str]]:
    chooser = random.Random(SEED)
    for line in (DATA / "shapes.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        kinds, rows, question, listed = line.split("|")
        columns = [(item.rsplit(":", 1)[0], item.rsplit(":", 1)[1]) for item in listed.split(",") if item]
        yield set(kinds.split(",")), result_of(columns, int(rows), chooser), question


def breaches(drawn: Drawn, result: Result) -> list[str]:
    """Return which rules of chart practice a picture breaks; written without a look at how pictures are made."""
    if drawn.spec is None:
        return [] if drawn.kind is Kind.TABLE else ["no specification"]
    spec: Any = json.loads(json.dumps(drawn.spec, allow_nan=False))
    values, encoding, mark = spec["data"]["values"], spec["encoding"], spec["mark"]["type"]
    names = {re.sub(r"\\(.)", r"\1", item["field"]) for item in encoding.values() if "field" in item}
    outcome: list[str] = []
    if not values:
        outcome.append("nothing is drawn")
    if any(name not in value for name in names for value in values):
        outcome.append("a field that the data lacks")
    if any("title" not in encoding[axis] for axis in ("x", "y") if axis in encoding):
        outcome.append("an axis without a title")
    amounts = [item for item in encoding.values() if item.get("type") == "quantitative" and "field" in item]
    for amount in amounts:
        field = re.sub(r"\\(.)", r"\1", amount["field"])
        if any(type(value[field]) not in (int, float) for value in values):
            outcome.append("an amount that is no number")
    if mark in ("bar", "area") and not is_from_zero(encoding):
        outcome.append("bars or areas not from zero")
    if mark == "arc":
        parts = [value[encoding["theta"]["field"]] for value in values]
        if not 2 <= len(parts) <= 6 or min(parts) <= 0:
            outcome.append("a pie of many or not positive parts")
    x = encoding.get("x", {})
    if mark in ("line", "area") and "field" in x:
        steps = [value[x["field"]] for value in values]
        known = [order_of(step) for step in steps]
        if x["type"] == "nominal" or known != sorted(known):
            outcome.append("time out of order")
    if mark == "bar" and "bin" not in x:
        place = next(item for item in (x, encoding["y"]) if item["type"] != "quantitative")
        shown = [str(value[place["field"]]) for value in values]
        if len(set(shown)) > 30:
            outcome.append("too many bars")
        if "color" not in encoding and len(set(shown)) != len(shown):
            outcome.append("two bars in one place")
    if len(set(colours(encoding, values))) > 10:
        outcome.append("too many colours")
    drawn_rows = len(values) if encoding.get("color", {}).get("field") != "series" else result.row_count
    if drawn_rows < result.row_count and not spec["usermeta"]["notes"]:
        outcome.append("left out without a word")
    return outcome


def is_from_zero(encoding: Any) -> bool:
    used = [encoding[axis] for axis in ("x", "y") if encoding.get(axis, {}).get("type") == "quantitative"]
    scales = [item.get("scale", {}) for item in used if "bin" not in item]
    return bool(scales) and all(scale.get("zero") is True for scale in scales)


def colours(encoding: Any, values: Any) -> list[str]:
    colour = encoding.get("color", {})
    return [str(value[colour["field"]]) for value in values] if colour.get("type") == "nominal" else []


def order_of(step: Scalar) -> tuple[float, str]:
    text = str(step).lower()
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    if text[:3] in months:
        return float(months.index(text[:3])), ""
    number = re.match(r"\d+(?=月|$)", text)
    return (float(number[0]), "") if number else (0.0, text)


def judge_charts() -> tuple[dict[str, float], list[str]]:
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    count = accepted = 0
    for wanted, result, question in shapes():
        language: Language = "zh" if re.search(r"[\u4e00-\u9fff]", question) else "en"
        drawn = chart(
            shape_of(result, [column.name for column in result.columns]), WORDS[language, "business"], question
        )
        broken = breaches(drawn, result)
        if drawn.kind.value not in wanted:
            broken.append(f"{drawn.kind} where {' or '.join(sorted(wanted))} fits")
        count += 1
        accepted += not broken
        kinds[drawn.kind.value] += 1
        if broken:
            wrong.append(f"chart: {question!r} ({result.row_count} rows): {'; '.join(broken)}")
    figures = {"shapes": float(count), "charts_accepted_share": accepted / count}
    return figures | {f"charts_{kind}": float(item) for kind, item in sorted(kinds.items())}, wrong


# Summaries


def judge_summaries(count: int) -> tuple[dict[str, float], list[str]]:
    """Make results and look for numbers in their summaries that neither the cells nor plain sums of them hold."""
    chooser = random.Random(SEED)
    hows = [
        "name",
        "few3",
        "day",
        "month",
        "year",
        "int",
        "pos",
        "money",
        "signed",
        "rate",
        "gaps",
        "id",
        "stamp",
        "bool",
        "note",
    ]
    named = {
        "pos": ["count", "数量", "total_amount"],
        "money": ["SUM(amount)", "销售额", "price"],
        "day": ["day", "日期"],
        "month": ["month"],
        "year": ["year", "年份"],
        "id": ["id"],
    }
    wrong: list[str] = []
    for number in range(count):
        columns = [
            (chooser.choice(named.get(how, [how])), how)
            for how in chooser.choices(hows, k=chooser.choice([1, 1, 2, 2, 2, 3, 5]))
        ]
        if number % 3 == 0:
            columns = [
                chooser.choice([("city", "name"), ("day", "day"), ("year", "year")]),
                chooser.choice([("SUM(amount)", "money"), ("count", "pos")]),
            ]
        rows = chooser.choice([0, 1, 1, 2, 3, 8, 12, 40, 100])
        result = result_of(columns, rows, chooser)
        if number % 7 == 0 and rows > 1:
            result = result.model_copy(update={"row_count": rows * 31, "truncated": number % 2 == 0})
        language: Language = "zh" if number % 2 else "en"
        labels = [f"c{'x' * n} {name}" for n, (name, _) in enumerate(columns, 1)]
        reported = summary(shape_of(result, labels), labels, WORDS[language, "business"])
        said = reported
        for label in sorted(labels, key=len, reverse=True):
            said = said.replace(label, " ").replace(label[0].lower() + label[1:], " ")
        invented = [item for item in stated(said) if not is_known(item, result)]
        if invented:
            wrong.append(f"summary: {reported!r}: {', '.join(map(str, invented))}")
    return {"summaries": float(count), "numbers_invented": float(len(wrong))}, wrong


def stated(text: str) -> list[Decimal]:
    return [Decimal(match.replace(",", "")) for match in re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)]


def is_known(stated_number: Decimal, result: Result) -> bool:
    known: list[Decimal] = [Decimal(result.row_count), Decimal(len(result.rows)), Decimal(1)]
    shares: list[Decimal] = []
    for column in zip(*result.rows, strict=True):
        numbers = [Decimal(str(value)) for value in column if type(value) in (int, float)]
        known += numbers
        known += [Decimal(part) for value in column if isinstance(value, str) for part in re.findall(r"\d+", value)]
        known.append(Decimal(len({str(value) for value in column if value is not None})))
        known += [Decimal(times) for times in Counter(column).values()]
        if numbers and sum(numbers):
            known.append(sum(numbers, Decimal(0)))
            shares.append(max(numbers) * 100 / sum(numbers))
    as_reported = any(abs(stated_number - item) <= Decimal("0.0051") for item in known)
    return as_reported or any(stated_number == round(share, 1) for share in shares)


# CPU


def cpu_ms(audience: Audience, language: Language, columns: int) -> tuple[float, float]:
    """Return the median and the best tenth, in milliseconds of CPU, of an answer of 100 rows.

    Each answer has a statement of its own. On a busy machine CPU time itself grows: the best tenth says what is ours.
    """
    catalog = Catalog(
        connection="shop", dialect=Dialect.SQLITE,
        tables=tuple(
            Table(name=f"tbl_{n}", display_names={"en": f"goods of kind {n}", "zh": f"商品{n}"},
                  columns=tuple(Column(name=f"col_{n}_{m}", type="TEXT", kind=ColumnKind.TEXT, comment=f"thing {m}") for m in range(10)))
            for n in range(20)
        ),
    )  # fmt: skip
    chooser = random.Random(SEED)
    hows = [
        ("col_0_1", "name"),
        ("SUM(col_0_2)", "money"),
        ("col_0_3", "few4"),
        ("col_0_4", "day"),
        ("col_0_5", "pos"),
        ("col_0_6", "money"),
    ]
    result = result_of(hows[:columns], 100, chooser)
    listed = ", ".join(name for name, _ in hows[:columns])
    taken: list[float] = []
    for number in range(240):
        sql = (
            f"SELECT {listed} FROM tbl_0 JOIN tbl_1 ON tbl_0.col_0_0 = tbl_1.col_1_0 WHERE col_0_7 = 'x{number}' AND col_1_3 > {number}"
            " GROUP BY col_0_1 ORDER BY 2 DESC LIMIT 101"
        )
        body = Concluded(
            outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql=sql, dialect=Dialect.SQLITE, result=result,
            analysis=Analysis(tables=("tbl_0", "tbl_1"), confidence=0.9),
        )  # fmt: skip
        envelope = Envelope[Concluded](
            event=EventName.CONCLUDED, query_id="q", thread_id="t", tenant="a", user="u", audience=audience, connection="shop",
            question="Which things sell best?", language=language, asked_at=0, deadline_at=60_000, body=body,
        )  # fmt: skip
        begun = time.process_time_ns()
        render(envelope, catalog, WORDS[language, audience])
        if number >= 40:
            taken.append((time.process_time_ns() - begun) / 1e6)
    return statistics.median(taken), statistics.quantiles(taken, n=10)[0]


def wide_cpu_ms(audience: Audience, language: Language, columns: int, prefix: str) -> float:
    """Return the milliseconds of CPU of an answer of ten rows with that many columns, all of one table."""
    names = [f"{prefix}{number}" for number in range(columns)]
    known = tuple(Column(name=name, type="REAL", kind=ColumnKind.NUMBER) for name in names)
    catalog = Catalog(connection="wide", dialect=Dialect.SQLITE, tables=(Table(name="wide", columns=known),))
    listed = tuple(ResultColumn(name=name, kind=ColumnKind.NUMBER) for name in names)
    rows = tuple(tuple(float(row + at) for at in range(columns)) for row in range(10))
    body = Concluded(
        outcome=Outcome.ANSWERED, stage=StageName.EXECUTOR, sql="SELECT * FROM wide LIMIT 11", dialect=Dialect.SQLITE,
        result=Result(columns=listed, rows=rows, row_count=10), analysis=Analysis(tables=("wide",), confidence=0.9),
    )  # fmt: skip
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED, query_id="q", thread_id="t", tenant="a", user="u", audience=audience, connection="wide",
        question="Show everything", language=language, asked_at=0, deadline_at=60_000, body=body,
    )  # fmt: skip
    begun = time.process_time_ns()
    render(envelope, catalog, WORDS[language, audience])
    return (time.process_time_ns() - begun) / 1e6


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("QUERYBUS_DATA", ROOT / ".." / "shared" / "data"))
    options.add_argument("--data", type=Path, default=data / "spider", help="a folder laid out as Spider's")
    options.add_argument("--show", action="store_true", help="print what was judged wrong")
    chosen = options.parse_args()
    figures: dict[str, float] = {}
    wrong: list[str] = []
    for result, missed in (judge_words(chosen.data), judge_charts(), judge_summaries(500)):
        figures |= result
        wrong += missed
    for columns in (2, 6):
        for audience in ("business", "analyst"):
            for language in ("en", "zh"):
                name = f"cpu_ms_{audience}_{language}_{columns}_columns"
                figures[f"{name}_median"], figures[name] = cpu_ms(audience, language, columns)
    figures["cpu_ms_100_rows"] = max(value for name, value in figures.items() if name.endswith("_columns"))
    figures["cpu_ms_2000_columns"] = max(
        wide_cpu_ms(audience, language, 2_000, prefix)
        for audience in ("business", "analyst")
        for language in ("en", "zh")
        for prefix in ("c", "sensor_value_")
    )
    figures["load_average"] = os.getloadavg()[0]
    figures = {name: round(value, 4) for name, value in figures.items()}
    met = all(figures[name] <= limit for name, limit in REQUIRED.items())
    met = met and all(figures[name] >= limit for name, limit in REQUIRED_AT_LEAST.items())
    for name, value in figures.items():
        limit = f"  (at most {REQUIRED[name]:g})" if name in REQUIRED else ""
        limit = f"  (at least {REQUIRED_AT_LEAST[name]:g})" if name in REQUIRED_AT_LEAST else limit
        print(f"{name:<36} {value:>10.4g}{limit}")
    if not chosen.data.is_dir():
        print(
            f"the folder {chosen.data.name} with databases is absent: only the written half of the sentences was measured"
        )
    if chosen.show:
        print(*wrong, sep="\n")
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    report = {
        "name": "presenter",
        "figures": figures,
        "required_at_most": REQUIRED,
        "required_at_least": REQUIRED_AT_LEAST,
        "met": met,
        "seed": SEED,
        "wrong": wrong,
        "machine": machine,
    }
    target = ROOT / "build" / "bench" / "presenter.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
