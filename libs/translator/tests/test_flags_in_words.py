"""What is offered about a column of yes and no says it in words: never "paid is 0"."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Language, Table
from querybus_translator.language.sentence import sentence
from querybus_translator.schema.index import index_of
from querybus_translator.translation import read_question

TODAY = date(2026, 6, 1)


def catalog(dialect: Dialect = Dialect.POSTGRESQL) -> Catalog:
    def flag(
        name: str, en: str, zh: str, kind: ColumnKind = ColumnKind.BOOLEAN, values: tuple[str, ...] = ()
    ) -> Column:
        return Column(name=name, type="", kind=kind, display_names={"en": en, "zh": zh}, values=values)

    columns = (
        Column(name="fine_id", type="INTEGER", kind=ColumnKind.INTEGER, nullable=False),
        flag("is_paid", "paid", "是否支付"),
        flag("has_receipt", "has receipt", "是否有收据", ColumnKind.INTEGER),
        flag("urgent", "urgent", "紧急", ColumnKind.TEXT, ("Y", "N")),
    )
    fines = Table(
        name="fines",
        columns=columns,
        primary_key=("fine_id",),
        display_names={"en": "fines", "zh": "罚款"},
        row_estimate=9,
    )
    return Catalog(connection="fines", dialect=dialect, tables=(fines,))


def said(question: str, language: Language) -> str:
    index = index_of(catalog())
    readings = read_question(question, index, TODAY).readings
    assert readings, question
    return sentence(readings[0].form, index, language)


@pytest.mark.parametrize(
    ("question", "language", "words"),
    [
        ("How many fines are not paid?", "en", "not paid"),
        ("How many paid fines are there?", "en", "only where paid"),
        ("How many fines are not urgent?", "en", "not urgent"),
        ("How many fines are not paid?", "zh", "未支付"),
        ("How many paid fines are there?", "zh", "已支付"),
        ("How many fines are urgent?", "zh", "是紧急"),
    ],
)
def test_yes_and_no_are_words(question: str, language: Language, words: str) -> None:
    text = said(question, language)
    assert words in text, text
    assert not any(sign in text for sign in ("0", "1", "is Y", "为 Y", "True", "False")), text
