"""Each rewrite on the list of proven ones loses its word, writes the other one, and gives the same rows on the engine."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from benchmarks.bench_render import ENGINES_HERE, catalog_of, compare
from querybus.core.catalog import Dialect
from querybus.core.failure import Failure, FailureCode
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import Checked, check_in_doubt
from querybus.sql.names.lost_words import lost_word
from querybus.sql.parse import GRAMMARS, Statement, parse

REWRITES: dict[str, dict[str, list[str]]] = tomllib.loads(
    resources.files("querybus.sql.names").joinpath("rewrites.toml").read_text()
)


def rendered(sql: str, dialect: Dialect) -> Checked | Failure:
    return check_in_doubt(sql, dialect=dialect, catalog=catalog_of(dialect), policy=ConnectionPolicy(), row_limit=1_000)


def words_of(sql: str, dialect: Dialect) -> list[str]:
    statement = parse(sql, dialect)
    assert isinstance(statement, Statement)
    return [token.text.casefold() for token in statement.tokens]


@pytest.mark.parametrize("engine", REWRITES)
def test_each_rewrite_gives_the_same_rows_on_its_engine(engine: str) -> None:
    dialect = Dialect(engine)
    examples = list(dict.fromkeys(example for _, example, *manual in REWRITES[engine].values() if not manual))
    with ENGINES_HERE[dialect]() as run:
        outcome = compare(dialect, run, iter(examples))
    assert outcome.different == []
    assert outcome.counts["equal"] == len(examples), (outcome.counts, outcome.unsafe)


@pytest.mark.parametrize(
    ("engine", "word"), [(engine, word) for engine, words in REWRITES.items() for word in words], ids=str
)
def test_each_rewrite_is_needed(engine: str, word: str) -> None:
    dialect, (_, example, *_) = Dialect(engine), REWRITES[engine][word]
    checked = rendered(example, dialect)
    assert isinstance(checked, Checked), checked
    before, after = words_of(example, dialect), words_of(checked.sql, dialect)
    lost = "3" if word.endswith("(n)") else word
    assert before.count(lost) > after.count(lost), checked.sql


@pytest.mark.parametrize(
    ("written", "kept", "lost"),
    [
        ("SELECT a FROM t WHERE + a = 1", "SELECT a FROM t WHERE a = 1", "+"),
        ("SELECT a FROM t WHERE a = 10", "SELECT a FROM t WHERE a = 1", "10"),
        ("SELECT DISTINCT a FROM t", "SELECT a FROM t", "distinct"),
        ("SELECT a FROM t WHERE NOT a = 1", "SELECT a FROM t WHERE a = 1", "not"),
        ("SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a < 1", ">"),
        ("SELECT a, b FROM t", "SELECT a FROM t", "b"),
        ("SELECT - - a FROM t", "SELECT - a FROM t", "-"),
        ("SELECT a FROM t ORDER BY a DESC", "SELECT a FROM t ORDER BY a", "desc"),
        ("SELECT a FROM t UNION ALL SELECT 1", "SELECT a FROM t UNION SELECT 1", "all"),
        ("SELECT a AS b FROM t INNER JOIN u USING (a)", "SELECT a AS b FROM t JOIN u USING (a)", None),
        ("SELECT 0.5 FROM t", "SELECT 0.50 FROM t", None),
    ],
)
def test_a_word_that_a_rendering_loses_is_found(written: str, kept: str, lost: str | None) -> None:
    dialect = Dialect.SQLITE
    before, after = (GRAMMARS[dialect].tokenize(sql) for sql in (written, kept))
    assert lost_word(before, after, dialect) == lost


def test_a_lost_word_is_refused_for_a_new_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querybus.sql.check.lost_word", lambda *_: "ties")
    checked = rendered("SELECT name FROM people", Dialect.SQLITE)
    assert isinstance(checked, Failure)
    assert checked.code is FailureCode.SYNTAX_ERROR
