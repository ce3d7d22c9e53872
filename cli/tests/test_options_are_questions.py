"""Every option that the presenter offers for the demo shop can be asked as it stands, and changes the statement."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from querybus.core.asking_back import OptionAction
from querybus.core.catalog import Catalog, Language
from querybus.core.stored.choices import Choices
from querybus_cli.local.demo_database import FIXED_TODAY, demo_connection, write_demo
from querybus_executor.engines.sqlite.introspect import introspect
from querybus_presenter.wording.options import Subject, options
from querybus_presenter.wording.texts import load_texts
from querybus_translator import Translated, translate

QUESTIONS: tuple[tuple[Language, str], ...] = (("en", "List all orders"), ("zh", "有多少订单？"))
SAME = (OptionAction.RETRY_AS_IS, OptionAction.REQUEST_ACCESS)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path: Path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    write_demo(path)
    known = demo_connection(path)
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        return introspect(
            engine, "shop", display_names=known["display_names"], synonyms=known["synonyms"], glossary=known["glossary"]
        )
    finally:
        engine.dispose()


@pytest.mark.long
@pytest.mark.parametrize(("language", "question"), QUESTIONS)
@pytest.mark.parametrize("name", ["column", "amount"])
def test_an_option_changes_what_the_built_in_translator_writes(
    shop: Catalog, language: Language, question: str, name: str
) -> None:
    before = translate(question, shop, language=language, today=FIXED_TODAY)
    assert isinstance(before, Translated)
    offered = options(name, Subject(question, shop, ("orders",), load_texts()[(language, "analyst")], Choices()))
    assert len(offered) >= 2
    for item in offered:
        after = translate(item.question, shop, language=language, today=FIXED_TODAY)
        assert isinstance(after, Translated), item.question
        assert (after.sql == before.sql) is (item.action in SAME), item.question
