"""Claims on names that follow a key, say it in other words or stand for two columns, and on clauses that lack a word.

Over a real file: what fails is refused by the validator's check or by the engine, and what is repaired must give the rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from querybus.core.catalog import Catalog, Dialect
from querybus.core.failure import Facts, Failure, FailureCode
from querybus.core.messages import Draft, Origin, RuleName
from querybus.core.policy import ConnectionPolicy
from querybus.sql.check import check
from querybus_executor.engines.sqlite.errors import sqlite_failure
from querybus_executor.engines.sqlite.introspect import open_sqlite_catalog
from querybus_recovery.rules.candidate import Repair
from querybus_recovery.rules.confidence import confidence
from querybus_recovery.rules.pipeline import repairs

SCHEMA = """
CREATE TABLE ports (port_code TEXT PRIMARY KEY, port_name TEXT, city TEXT, nation_id INTEGER REFERENCES nations (nation_id));
CREATE TABLE nations (nation_id INTEGER PRIMARY KEY, name TEXT, note TEXT);
CREATE TABLE captains (captain_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, hired_on DATE, wage REAL,
  mate_id INTEGER REFERENCES captains (captain_id));
CREATE TABLE voyages (voyage_id INTEGER PRIMARY KEY, origin TEXT REFERENCES ports (port_code),
  destination TEXT REFERENCES ports (port_code), captain_id INTEGER REFERENCES captains (captain_id),
  sailed_on DATE, cargo_tons INTEGER);
CREATE TABLE cargo_kinds (cargo_kind_id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE loads (voyage_id INTEGER REFERENCES voyages (voyage_id),
  cargo_kind_id INTEGER REFERENCES cargo_kinds (cargo_kind_id), crates INTEGER, PRIMARY KEY (voyage_id, cargo_kind_id));
CREATE TABLE papers (paper_id INTEGER PRIMARY KEY, burned_by_captain_id INTEGER REFERENCES captains (captain_id),
  signed_by_captain_id INTEGER REFERENCES captains (captain_id));
CREATE TABLE medals (medal_id INTEGER PRIMARY KEY, captain_id INTEGER REFERENCES captains (captain_id), is_gold TEXT);
INSERT INTO papers VALUES (1, 1, 2), (2, 3, 2);
INSERT INTO medals VALUES (1, 2, 'yes'), (2, 3, 'no');
INSERT INTO nations VALUES (1, 'Norway', 'n'), (2, 'Spain', 's');
INSERT INTO ports VALUES ('OSL', 'Old Quay', 'Oslo', 1), ('BGO', 'North Pier', 'Bergen', 1), ('CAD', 'Sunny Dock', 'Cadiz', 2);
INSERT INTO captains VALUES (1, 'Ada', 'Berg', '2019-03-01', 31.5, NULL), (2, 'Ole', 'Lie', '2021-05-09', 28.0, 1),
  (3, 'Ida', 'Vik', '2020-07-20', 40.0, 1);
INSERT INTO voyages VALUES (1, 'OSL', 'CAD', 1, '2024-01-05', 120), (2, 'CAD', 'OSL', 1, '2024-02-07', 80),
  (3, 'BGO', 'CAD', 2, '2025-03-01', 60), (4, 'OSL', 'BGO', 3, '2025-04-11', 200);
INSERT INTO cargo_kinds VALUES (1, 'Oranges'), (2, 'Timber');
INSERT INTO loads VALUES (1, 2, 40), (2, 1, 30), (3, 2, 10), (4, 2, 70);
"""


class Place:
    """The file, its catalog, and what the validator and the engine say of a statement."""

    def __init__(self, path: Path) -> None:
        with sqlite3.connect(path) as made:
            made.executescript(SCHEMA)
        self.opened = sqlite3.connect(path)
        self.catalog: Catalog = open_sqlite_catalog(path)

    def refused(self, sql: str) -> Failure | None:
        checked = check(sql, dialect=Dialect.SQLITE, catalog=self.catalog, policy=ConnectionPolicy(), row_limit=1_000)
        if isinstance(checked, Failure):
            return checked
        try:
            self.opened.execute(checked.sql).fetchall()
        except sqlite3.Error as error:
            return sqlite_failure(error.sqlite_errorcode, error.sqlite_errorname, str(error), checked.sql)
        return None

    def repaired(self, sql: str, question: str = "") -> tuple[Repair, ...]:
        failure = self.refused(sql)
        assert failure is not None
        draft = Draft(sql=sql, dialect=Dialect.SQLITE, origin=Origin.MODEL)
        return repairs(draft, failure, self.catalog, check=self.refused, question=question)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return sorted(self.opened.execute(sql).fetchall(), key=repr)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    known = Place(tmp_path_factory.mktemp("repair") / "sea.sqlite")
    yield known
    known.opened.close()


AFTER_A_KEY = [
    ("SELECT voyage_id, captain FROM voyages", "SELECT voyage_id, first_name FROM voyages JOIN captains USING (captain_id)"),
    ("SELECT cargo_kind, SUM(crates) FROM loads GROUP BY cargo_kind",
     "SELECT title, SUM(crates) FROM loads JOIN cargo_kinds USING (cargo_kind_id) GROUP BY title"),
    ("SELECT voyage_id FROM loads WHERE cargo_kind = 'Timber'",
     "SELECT voyage_id FROM loads JOIN cargo_kinds USING (cargo_kind_id) WHERE title = 'Timber'"),
    ("SELECT COUNT(*) FROM voyages WHERE origin_city = 'Oslo'",
     "SELECT COUNT(*) FROM voyages JOIN ports ON origin = port_code WHERE city = 'Oslo'"),
    ("SELECT destination_city, COUNT(*) FROM voyages GROUP BY destination_city",
     "SELECT city, COUNT(*) FROM voyages JOIN ports ON destination = port_code GROUP BY city"),
    ("SELECT port_name, nation FROM ports", "SELECT port_name, name FROM ports JOIN nations USING (nation_id)"),
    # what is joined already is used
    ("SELECT nation_name, COUNT(*) FROM ports JOIN nations ON ports.nation_id = nations.nation_id GROUP BY nation_name",
     "SELECT name, COUNT(*) FROM ports JOIN nations USING (nation_id) GROUP BY name"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), AFTER_A_KEY[1:])
def test_a_name_that_follows_a_key_is_taken_from_what_it_refers_to(place: Place, broken: str, meant: str) -> None:
    assert place.rows(place.repaired(broken)[0].sql) == place.rows(meant)


def test_a_key_is_no_name_where_two_columns_name_a_row(place: Place) -> None:
    broken, _ = AFTER_A_KEY[0]
    assert all("captains.first_name" not in repair.sql for repair in place.repaired(broken))


def test_a_key_is_never_compared_with_the_text_of_a_name(place: Place) -> None:
    likely = place.repaired("SELECT voyage_id FROM voyages WHERE captain = 'Berg'")
    assert all(confidence(repair) is None or (confidence(repair) or 0) < 0.2 for repair in likely)


def test_a_key_that_a_sub_query_gives_stays_a_key(place: Place) -> None:
    broken = "SELECT port_name FROM ports WHERE nation_id IN (SELECT nation FROM ports WHERE city = 'Oslo')"
    meant = "SELECT port_name FROM ports WHERE nation_id = 1"
    assert place.rows(place.repaired(broken)[0].sql) == place.rows(meant)


PERSONS = [
    ("SELECT name FROM captains", "SELECT first_name, last_name FROM captains"),
    ("SELECT c.name, COUNT(*) FROM captains AS c JOIN voyages AS v ON c.captain_id = v.captain_id GROUP BY c.captain_id",
     "SELECT first_name, last_name, COUNT(*) FROM captains JOIN voyages USING (captain_id) GROUP BY captain_id"),
    ("SELECT captain_name, COUNT(*) FROM captains JOIN voyages ON captains.captain_id = voyages.captain_id GROUP BY captain_name",
     "SELECT first_name, last_name, COUNT(*) FROM captains JOIN voyages USING (captain_id) GROUP BY first_name, last_name"),
    ("SELECT wage FROM captains WHERE name = 'Ole Lie'", "SELECT 28.0"),
    ("SELECT wage FROM captains WHERE full_name LIKE 'Ida%'", "SELECT 40.0"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), PERSONS)
def test_the_name_of_a_person_is_both_of_its_columns(place: Place, broken: str, meant: str) -> None:
    assert place.rows(place.repaired(broken)[0].sql) == place.rows(meant)


def test_persons_in_the_order_of_their_names_stand_by_the_last(place: Place) -> None:
    assert "ORDER BY last_name, first_name" in place.repaired("SELECT wage FROM captains ORDER BY name")[0].sql


OTHER_WORDS = [
    ("SELECT last_name FROM captains ORDER BY salary DESC LIMIT 1", "SELECT 'Vik'"),
    ("SELECT MAX(hire_date) FROM captains", "SELECT '2021-05-09'"),
    ("SELECT a.last_name FROM captains a JOIN captains b ON a.mate_id = b.captain_id WHERE a.salary > b.salary", "SELECT 'Vik'"),
    # the one date of the voyages
    ("SELECT MAX(voyage_date) FROM voyages", "SELECT '2025-04-11'"),
    ("SELECT COUNT(*) FROM voyages WHERE date >= '2025-01-01'", "SELECT 2"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), OTHER_WORDS)
def test_a_column_is_known_by_other_words_and_forms(place: Place, broken: str, meant: str) -> None:
    found = place.repaired(broken)[0]
    assert place.rows(found.sql) == place.rows(meant)
    assert not found.keeps_meaning


@pytest.mark.parametrize(
    "broken", ["SELECT AVG(rating) FROM captains", "SELECT birthday FROM captains", "SELECT fuel FROM voyages"]
)
def test_that_a_column_is_left_over_says_nothing(place: Place, broken: str) -> None:
    assert place.repaired(broken) == ()


def test_a_date_never_becomes_a_key(place: Place) -> None:
    assert all("voyage_id)" not in repair.sql for repair in place.repaired("SELECT MAX(voyage_day) FROM voyages"))


OUTPUTS = [
    ("SELECT origin, COUNT(*) AS number_of_voyages FROM voyages GROUP BY origin HAVING num_voyages > 1", "SELECT 'OSL', 2"),
    ("SELECT origin FROM voyages GROUP BY origin HAVING count > 1", "SELECT 'OSL'"),
    ("SELECT origin, AVG(cargo_tons) AS average_tons FROM voyages GROUP BY origin ORDER BY avg_tons DESC LIMIT 1", "SELECT 'OSL', 160.0"),
    ("SELECT origin, SUM(cargo_tons) FROM voyages GROUP BY origin ORDER BY total DESC LIMIT 1", "SELECT 'OSL', 320"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), OUTPUTS)
def test_groups_are_ordered_and_chosen_by_their_results(place: Place, broken: str, meant: str) -> None:
    assert place.rows(place.repaired(broken)[0].sql) == place.rows(meant)


CLAUSES = [
    ("SELECT port_name FROM ports WHERE nation_id = 1 WHERE city = 'Oslo'", "SELECT 'Old Quay'"),
    ("SELECT voyage_id FROM voyages WHERE cargo_tons BETWEEN 70 TO 130", "SELECT 1 UNION SELECT 2"),
    ("SELECT origin, COUNT(*) FROM voyages GROUP origin ORDER COUNT(*) DESC LIMIT 1", "SELECT 'OSL', 2"),
    ("SELECT v.voyage_id p.city FROM voyages v JOIN ports p ON v.origin = p.port_code WHERE p.city = 'Bergen'", "SELECT 3, 'Bergen'"),
    ("SELECT city FROM ports WHERE nation_id = 2 AND;", "SELECT 'Cadiz'"),
    ("SELCT city FROM ports WHERE nation_id = 2", "SELECT 'Cadiz'"),
    ("WTIH p AS (SELECT city FROM ports WHERE nation_id = 2) SELECT city FROM p", "SELECT 'Cadiz'"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), CLAUSES)
def test_a_clause_gets_the_word_that_it_lacks_and_nothing_is_assumed(place: Place, broken: str, meant: str) -> None:
    found = place.repaired(broken)[0]
    assert [step.rule for step in found.steps] == [RuleName.CLAUSE_WORD]
    assert found.keeps_meaning
    assert place.rows(found.sql) == place.rows(meant)


def test_a_second_where_behind_an_or_becomes_no_and(place: Place) -> None:
    found = place.repaired("SELECT city FROM ports WHERE city = 'Oslo' OR city = 'Cadiz' WHERE nation_id = 1")
    assert all(step.rule is not RuleName.CLAUSE_WORD for repair in found for step in repair.steps)


SUB_QUERIES = [
    ("SELECT last_name FROM captains WHERE captain_id IN (SELECT captain_id, COUNT(*) FROM voyages GROUP BY captain_id HAVING COUNT(*) > 1)", "SELECT 'Berg'"),
    ("SELECT voyage_id FROM voyages WHERE cargo_tons = (SELECT origin, MAX(cargo_tons) FROM voyages)", "SELECT 4"),
    ("SELECT voyage_id FROM voyages WHERE voyage_id IN (SELECT voyage_id, SUM(crates) AS n FROM loads GROUP BY voyage_id ORDER BY n DESC LIMIT 1)", "SELECT 4"),
    ("SELECT last_name FROM captains HAVING wage > AVG(wage)", "SELECT 'Vik'"),
    ("SELECT voyage_id, RANK() OVER (ORDER BY cargo_tons DESC) AS place FROM voyages WHERE place <= 1", "SELECT 4, 1"),
    ("SELECT voyage_id, RANK() OVER (ORDER BY cargo_tons DESC) AS place FROM voyages WHERE place <= 3 ORDER BY place LIMIT 1 OFFSET 1", "SELECT 1, 2"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "meant"), SUB_QUERIES)
def test_a_value_is_compared_with_one_value(place: Place, broken: str, meant: str) -> None:
    assert place.rows(place.repaired(broken)[0].sql) == place.rows(meant)


JOINS = [
    ("SELECT p.city FROM voyages v JOIN ports p ON v.port_code = p.port_code", "To which cities, by destination?",
     "SELECT city FROM voyages JOIN ports ON destination = port_code"),
    ("SELECT last_name FROM captains c JOIN papers p ON c.captain_id = p.captain_id", "Who burned a paper?",
     "SELECT last_name FROM captains WHERE captain_id IN (1, 3)"),
    ("SELECT last_name FROM captains WHERE gold = 'yes' AND wage > 0", "", "SELECT 'Lie'"),
    ("SELECT b.city FROM voyages v JOIN ports b ON v.destination_port = b.port_code", "",
     "SELECT city FROM voyages JOIN ports ON destination = port_code"),
    ("SELECT a.last_name, m.last_name FROM captains a JOIN captains m ON a.mate = m.captain_id", "",
     "SELECT a.last_name, m.last_name FROM captains a JOIN captains m ON a.mate_id = m.captain_id"),
    ("SELECT captains.last_name, mates.last_name FROM captains JOIN mates ON captains.mate_id = mates.captain_id", "",
     "SELECT a.last_name, m.last_name FROM captains a JOIN captains m ON a.mate_id = m.captain_id"),
    ("SELECT city, name FROM ports JOIN nations ON nation_id = nation_id", "",
     "SELECT city, name FROM ports JOIN nations USING (nation_id)"),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "question", "meant"), JOINS)
def test_a_join_is_over_the_key_that_is_called_or_asked_for(
    place: Place, broken: str, question: str, meant: str
) -> None:
    assert place.rows(place.repaired(broken, question)[0].sql) == place.rows(meant)


def test_of_two_keys_none_is_taken_where_nothing_says_which(place: Place) -> None:
    assert (
        place.repaired("SELECT p.city FROM voyages v JOIN ports p ON v.port_code = p.port_code", "Which cities?") == ()
    )


def test_a_function_that_sqlite_lacks_is_never_written_as_something_else(place: Place) -> None:
    broken = "SELECT COUNT(*) FROM voyages WHERE TO_CHAR(sailed_on, 'YYYY-MM') = '2024-02'"
    failure = place.refused(broken)
    assert failure == Failure.of(
        FailureCode.FUNCTION_NOT_FOUND, "SQLite has no such function: TO_CHAR", Facts(name="TO_CHAR")
    )
    assert place.rows(place.repaired(broken)[0].sql) == [(1,)]


def test_whole_years_are_counted_as_the_writer_of_timestampdiff_counts_them(place: Place) -> None:
    broken = "SELECT voyage_id, TIMESTAMPDIFF(YEAR, hired_on, sailed_on) FROM captains JOIN voyages USING (captain_id)"
    assert place.rows(place.repaired(broken)[0].sql) == [(1, 4), (2, 4), (3, 3), (4, 4)]


def test_a_key_without_a_word_in_its_name_hurts_no_rule(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "odd.sqlite") as made:
        made.executescript(
            'CREATE TABLE "_" ("_" INTEGER PRIMARY KEY, n TEXT); CREATE TABLE b (x TEXT, "_" INTEGER REFERENCES "_" ("_"))'
        )
    catalog = open_sqlite_catalog(tmp_path / "odd.sqlite")
    draft = Draft(sql="SELECT lacking, x FROM b ORDER BY other_name", dialect=Dialect.SQLITE, origin=Origin.MODEL)
    failure = Failure.of(FailureCode.COLUMN_NOT_FOUND, "no such column: lacking", Facts(name="lacking"))
    assert repairs(draft, failure, catalog, check=lambda _: failure) == ()
