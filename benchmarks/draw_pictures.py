"""Draws what people see, to be looked at: thirty charts and the cards of answers, as PNG.

`make pictures` writes build/pictures/*.png and prints where. The figures are made up from a seed; the words and the
specifications are the presenter's own, and the renderer is the one behind the APIs.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querybus.core.asking_back import Clarification, Trigger
from querybus.core.catalog import ColumnKind, Dialect, Language
from querybus.core.envelope import Attempt, Audience, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Concluded,
    Origin,
    Outcome,
    Result,
    ResultColumn,
    Scalar,
)
from querybus.core.subjects import EventName, StageName
from querybus.picture import PictureForm, Pictures
from querybus_presenter.charts.chart import chart
from querybus_presenter.charts.shape import shape_of
from querybus_presenter.present import render
from querybus_presenter.wording.texts import load_texts

ROOT: Final = Path(__file__).resolve().parents[1]
WORDS: Final = load_texts()
SEED: Final = 7
CARD_WIDTH: Final = 76
"""In columns of a Latin letter; a Chinese sign takes two."""

Row = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the result that it got."""

    name: str
    language: Language
    question: str
    columns: Mapping[str, ColumnKind]
    rows: Sequence[Row]

    @property
    def result(self) -> Result:
        columns = tuple(ResultColumn(name=name, kind=kind) for name, kind in self.columns.items())
        return Result(columns=columns, rows=tuple(self.rows), row_count=len(self.rows))


Shapes = Iterator[tuple[str, tuple[str, str], Sequence[tuple[str, str, ColumnKind]], Sequence[Row]]]
_TEXT, _NUMBER, _WHOLE, _DAY = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.DATE
_REVENUE, _ORDERS = ("Revenue", "销售额", _NUMBER), ("Number of orders", "订单数", _WHOLE)
_MONTH, _CITY = ("Month", "月份", _DAY), ("City", "城市", _TEXT)


def asked() -> Iterator[Asked]:
    """Yield fifteen shapes of results in both languages."""
    for place, language in enumerate(("en", "zh")):
        for name, titles, columns, rows in shapes(random.Random(SEED), place):
            yield Asked(
                f"{name}-{language}",
                "zh" if place else "en",
                titles[place],
                {column[place]: column[2] for column in columns},
                rows,
            )


def shapes(chance: random.Random, place: int) -> Shapes:
    """Yield each shape's name, its title in both languages, its columns and rows; `place` chooses the names in them."""
    months = [f"2025-{month:02d}-01" for month in range(1, 13)]
    cities = (["Lyon", "Bern", "Oslo", "Porto", "Graz"], ["上海", "北京", "广州", "深圳", "成都"])[place]
    more = [*cities, *(["Turin", "Malmö", "Ghent", "Cork"], ["杭州", "南京", "武汉", "西安"])[place]]
    ways = (["Card", "Transfer", "Cash", "Voucher"], ["微信支付", "支付宝", "银行卡", "现金"])[place]
    yield "bars", ("Total revenue per city", "销售额合计，按城市统计"), (_CITY, _REVENUE), [
        (name, round(chance.uniform(20_000, 90_000), 2)) for name in cities
    ]  # fmt: skip
    yield "bars-many", ("Total revenue per city, highest first", "销售额合计，按城市统计，从高到低"), (_CITY, _REVENUE), [(name, 8_400_000 // (step + 1)) for step, name in enumerate(more)]  # fmt: skip
    yield "bars-negative", ("Change of revenue per city", "销售额变化，按城市统计"), (_CITY, ("Change", "变化", _NUMBER)), [
        (name, chance.randint(-9_000, 12_000)) for name in cities
    ]  # fmt: skip
    years = [(str(year), chance.randint(400_000, 2_400_000)) for year in (2022, 2024, 2023, 2025, 2021)]
    yield "years", ("Total revenue per year", "销售额合计，按年统计"), (("Year", "年份", _TEXT), _REVENUE), years
    quarters = (["Q1", "Q3", "Q2", "Q4"], ["一季度", "三季度", "二季度", "四季度"])[place]
    yield "quarters", ("Number of orders per quarter", "订单数，按季度统计"), (("Quarter", "季度", _TEXT), _ORDERS), [
        (name, chance.randint(900, 2_400)) for name in quarters
    ]  # fmt: skip
    yield "line", ("Total revenue per month in 2025", "2025年销售额合计，按月统计"), (_MONTH, _REVENUE), [
        (month, 840_000 + 93_000 * step + chance.randint(-90_000, 90_000)) for step, month in enumerate(months)
    ]  # fmt: skip
    yield "days", ("Number of orders per day from January to June 2025", "2025年1月至6月订单数，按日统计"), (
        ("Day", "日期", _DAY), _ORDERS
    ), [(f"2025-{1 + n // 30:02d}-{1 + n % 28:02d}", 20 + n // 12 + chance.randint(0, 15)) for n in range(180) if n % 30 < 28]  # fmt: skip
    yield "series", ("Total revenue per month and city in 2025", "2025年销售额合计，按月和城市统计"), (_MONTH, _CITY, _REVENUE), [
        (month, name, chance.randint(10_000, 60_000)) for month in months for name in cities[:3]
    ]  # fmt: skip
    yield "area", ("Cumulative orders per month in 2025", "2025年累计订单数，按月统计"), (
        _MONTH, ("Cumulative orders", "累计订单数", _WHOLE)
    ), [(month, 120 * (step + 1) + chance.randint(0, 60)) for step, month in enumerate(months)]  # fmt: skip
    yield "pie", ("Share of orders per way of payment, as a pie", "各支付方式的订单占比，画成饼图"), (
        ("Way of payment", "支付方式", _TEXT), _ORDERS
    ), list(zip(ways, (380, 420, 150, 40), strict=True))  # fmt: skip
    yield "scatter", ("Price and weight of products", "商品的价格与重量"), (
        ("Weight", "重量", _NUMBER), ("Price", "价格", _NUMBER)
    ), [(step / 10, round(step * 1.7 + chance.uniform(-9, 9), 2)) for step in range(10, 90, 2)]  # fmt: skip
    yield "histogram", ("Order values, as a histogram", "订单金额，画成直方图"), (("Order value", "订单金额", _NUMBER),), [
        (round(chance.gauss(80, 22), 2),) for _ in range(200)
    ]  # fmt: skip
    days = (["Mon", "Tue", "Wed", "Thu", "Fri"], ["周一", "周二", "周三", "周四", "周五"])[place]
    yield "heatmap", ("Number of orders per day and hour, as a heatmap", "订单数，按星期和小时统计，画成热力图"), (
        ("Weekday", "星期", _TEXT), ("Hour", "小时", _WHOLE), _ORDERS
    ), [(name, hour, chance.randint(0, 60)) for name in days for hour in range(8, 18)]  # fmt: skip
    yield "two-amounts", ("Total revenue and total cost per city", "销售额合计和成本合计，按城市统计"), (
        _CITY, _REVENUE, ("Cost", "成本", _NUMBER)
    ), [(name, chance.randint(40_000, 90_000), chance.randint(20_000, 50_000)) for name in cities]  # fmt: skip
    yield "number", ("Number of customers", "客户数"), (("Number of customers", "客户数", _WHOLE),), [(48_082_187,)]


def conclusions(language: Language) -> Iterator[tuple[str, str, Concluded]]:
    """Yield a name, a question and how it ended, for the cards."""
    question = {"en": "revenue by city", "zh": "每个城市的销售额"}[language]
    result = Asked(
        "", language, question, {"city": ColumnKind.TEXT, "revenue": ColumnKind.NUMBER},
        [("Lyon", 52_400.5), ("Bern", 31_200.0), ("Oslo", 48_900.25)],
    ).result  # fmt: skip
    answered = Concluded(
        outcome=Outcome.ANSWERED,
        stage=StageName.EXECUTOR,
        result=result,
        sql="SELECT city, revenue FROM t",
        dialect=Dialect.SQLITE,
    )
    yield "answer", question, answered
    nothing = result.model_copy(update={"rows": (), "row_count": 0})
    yield "empty", question, answered.model_copy(update={"result": nothing})
    yield (
        "refusal",
        question,
        Concluded(outcome=Outcome.REFUSED, code=FailureCode.SAFETY, refused_kind="DROP", stage=StageName.VALIDATOR),
    )
    yield (
        "failure",
        question,
        Concluded(
            outcome=Outcome.FAILED, code=FailureCode.CONNECTION, detail="could not connect", stage=StageName.EXECUTOR
        ),
    )
    yield (
        "clarification",
        question,
        Concluded(
            outcome=Outcome.CLARIFICATION,
            code=FailureCode.AMBIGUOUS_QUESTION,
            clarification=Clarification(trigger=Trigger.AMBIGUOUS_QUESTION, about=question),
            stage=StageName.GENERATOR,
        ),
    )


def card(language: Language, audience: Audience, question: str, body: Concluded) -> list[str]:
    """Return the lines that a reader gets for a conclusion."""
    envelope = Envelope[Concluded](
        event=EventName.CONCLUDED,
        query_id="01900000-0000-7000-8000-000000000001",
        thread_id="01900000-0000-7000-8000-000000000001",
        tenant="acme",
        user="ana",
        audience=audience,
        connection="shop",
        question=question,
        language=language,
        asked_at=0,
        deadline_at=60_000,
        attempts=(Attempt(origin=Origin.MODEL, sql=body.sql, stage=StageName.VALIDATOR),) if body.sql else (),
        body=body,
    )
    answer = render(envelope, None, WORDS[language, audience]).body.answer
    said = [answer.message, answer.next_step, answer.explanation, *answer.notes]
    lines = [f"» {question}", "", *(line for text in said if text for line in wrapped(text))]
    return [*lines, *(line for option in answer.options for line in wrapped(f"[{option.id}] {option.text}"))]


def wrapped(text: str) -> list[str]:
    """Return the text in lines of CARD_WIDTH."""
    lines, line, width = list[str](), "", 0
    for sign in text:
        wide = 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        if width + wide > CARD_WIDTH and (sign == " " or wide == 2):
            lines.append(line)
            line, width = "", 0
        line, width = line + sign, width + wide
    return [text.strip() for text in (*lines, line)]


def as_picture(lines: Sequence[str], title: str) -> dict[str, Any]:
    """Return a specification that shows lines of text."""
    values = [{"line": line, "y": number} for number, line in enumerate(lines)]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title, "anchor": "start"},
        "width": 640,
        "height": 20 * len(lines),
        "data": {"values": values},
        "mark": {"type": "text", "align": "left", "baseline": "top", "fontSize": 13},
        "encoding": {
            "x": {"value": 8},
            "y": {"field": "y", "type": "ordinal", "axis": None},
            "text": {"field": "line", "type": "nominal"},
        },
        "config": {"view": {"stroke": "#ccc"}},
    }


def specifications() -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield every picture's name and specification."""
    for table in asked():
        shape = shape_of(table.result, tuple(table.columns))
        drawn = chart(shape, WORDS[table.language, "analyst"], table.question, title=table.question)
        if drawn.spec is None:
            raise ValueError(f"{table.name}: a table, no picture")
        yield f"chart-{table.name}-is-{drawn.kind}", drawn.spec
    for language in ("en", "zh"):
        for audience in ("business", "analyst"):
            for name, question, body in conclusions(language):
                lines = card(language, audience, question, body)
                yield f"card-{language}-{audience}-{name}", as_picture(lines, f"{audience}, {name}")


async def draw(folder: Path) -> int:
    """Draw everything into a folder; return how many could not be drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures, failed = Pictures(seconds_max=60), 0
    try:
        for name, spec in specifications():
            picture = await pictures.draw(spec, PictureForm.PNG)
            if isinstance(picture, Failure):
                failed += 1
                print(f"{name}: {picture.detail}", file=sys.stderr)
                continue
            (folder / f"{name}.png").write_bytes(picture)
            print(f"{len(picture):9,} bytes  {folder / name}.png")
    finally:
        await pictures.drain()
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pictures")
    return min(1, asyncio.run(draw(parser.parse_args().folder)))


if __name__ == "__main__":
    sys.exit(main())
