"""An answer of definitions is read otherwise by changing what was asked of them: each figure keeps its grain, its owner and its words."""

from __future__ import annotations

from datetime import date

import pytest
from libs.translator.tests.test_definitions import ASKER, shop

from querybus.core.catalog import Language
from querybus.core.messages import Reading
from querybus.core.requests.metrics_query import MetricsDimension, MetricsQuery
from querybus.core.requests.refinement import Change, NewPeriod
from querybus_translator import CannotRefineError, refine_defined
from querybus_translator.definitions.answer import ByDefinition
from tests.support.semantic_shop import shop_rows

QUESTION = "revenue by region last month"


def refined(asked: str | MetricsQuery, *changes: Change, language: Language = "en") -> ByDefinition:
    found = refine_defined(asked, (), changes, shop(), ASKER, language)
    assert isinstance(found, ByDefinition), found
    return found


def rows(asked: str | MetricsQuery, *changes: Change) -> list[tuple[object, ...]]:
    return sorted(shop_rows().execute(refined(asked, *changes).sql).fetchall(), key=str)


def parts(read_as: Reading) -> tuple[object, ...]:
    """Return what a page shows of a reading as parts that can be taken away."""
    period = read_as.period
    return (
        read_as.measures,
        tuple((item.id, item.text, item.value) for item in read_as.filters),
        (period.first, period.last) if period is not None else None,
        tuple((group.id, group.text) for group in read_as.groups),
        read_as.limit,
    )


@pytest.mark.parametrize(
    ("question", "changes", "expected"),
    [
        (QUESTION, (), (("revenue",), (), ("2025-05-01", "2025-05-31"), (("g1", "region"),), None)),
        (QUESTION, (Change(without=("period",)),), (("revenue",), (), None, (("g1", "region"),), None)),
        (QUESTION, (Change(without=("g1",)),), (("revenue",), (), ("2025-05-01", "2025-05-31"), (), None)),
        (
            "revenue in East",
            (),
            (("revenue",), (("f1", "region East", "East"),), None, (), None),
        ),
        (
            "revenue in East",
            (Change(values={"f1": "west"}),),
            (("revenue",), (("f1", "region West", "West"),), None, (), None),
        ),
        (
            "revenue in East",
            (Change(without=("f1",), by="region"),),
            (("revenue",), (), None, (("g1", "region"),), None),
        ),
        (
            QUESTION,
            (Change(period=NewPeriod(first=date(2025, 1, 1), last=date(2025, 3, 31))), Change(lines=1)),
            (("revenue",), (), ("2025-01-01", "2025-03-31"), (("g1", "region"),), 1),
        ),
    ],
)
def test_a_reading_has_its_parts_and_a_change_is_one_of_them(
    question: str, changes: tuple[Change, ...], expected: tuple[object, ...]
) -> None:
    assert parts(refined(question, *changes).read_as) == expected


def test_changes_of_changes_add_up_and_the_figure_is_the_owners() -> None:
    whole = rows("revenue by region")
    assert rows(QUESTION, Change(without=("period",))) == whole
    assert rows(QUESTION, Change(without=("g1",)), Change(without=("period",)), Change(by="region")) == whole
    assert rows("revenue", Change(by="region"), Change(by="month")) == rows("revenue by region and month")
    assert rows("revenue by month", Change(unit="year")) == rows("revenue by year")
    assert "definition" in refined(QUESTION, Change(without=("g1",))).read_as.text


def test_a_request_by_name_is_changed_like_a_question() -> None:
    query = MetricsQuery(metrics=("revenue",), group_by=(MetricsDimension(field="customers.region"),))
    assert rows(query, Change(without=("g1",))) == rows("revenue")
    assert parts(refined(query, Change(without=("g1",))).read_as)[3] == ()


def test_a_chinese_change_is_read_in_chinese() -> None:
    found = refined("上个月的收入", Change(by="region"), language="zh")
    assert [group.id for group in found.read_as.groups] == ["g1"]
    assert found.read_as.text.startswith("收入，按")


@pytest.mark.parametrize(
    ("question", "change", "about"),
    [
        (QUESTION, Change(by="zebra"), "zebra"),
        (QUESTION, Change(without=("f7",)), ""),
        (QUESTION, Change(unit="month"), "month"),
        ("revenue in East and West", Change(values={"f1": "East"}), "East"),
    ],
)
def test_a_change_that_has_no_place_says_what_it_was_about(question: str, change: Change, about: str) -> None:
    with pytest.raises(CannotRefineError) as found:
        refine_defined(question, (), (change,), shop(), ASKER, "en")
    assert found.value.about == about


def test_what_definitions_had_not_answered_is_left_to_the_statement() -> None:
    assert refine_defined("which customers are blue?", (), (Change(lines=1),), shop(), ASKER, "en") is None
