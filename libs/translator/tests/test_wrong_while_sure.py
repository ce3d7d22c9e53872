"""What a ski rental asks that must not be answered wrongly: small words, values of one column, negations in names, sums, follow-ups."""

from __future__ import annotations

from datetime import date

import pytest

from querybus_translator import NotRead, Translated, translate, translate_in_thread
from querybus_translator.failsafe import reads_or, report_failures_to
from tests.support.scripted_catalog import catalog_of, rows_of

TODAY = date(2026, 11, 26)
ROWS = """
CREATE TABLE country (country_id INTEGER, country_name TEXT);
CREATE TABLE town (town_id INTEGER, town_name TEXT, country_id INTEGER);
CREATE TABLE shop (shop_id INTEGER, shop_name TEXT, town_id INTEGER, opened_on DATE);
CREATE TABLE renter (renter_id INTEGER, renter_name TEXT, level TEXT, town_id INTEGER, joined_on DATE);
CREATE TABLE item (item_id INTEGER, item_name TEXT, kind TEXT, price REAL, is_out_of_service BOOLEAN);
CREATE TABLE rental (rental_id INTEGER, renter_id INTEGER, shop_id INTEGER, item_id INTEGER, rented_on DATE, fee REAL, status TEXT);
CREATE TABLE fine (fine_id INTEGER, renter_id INTEGER, issued_on DATE, paid_on DATE, amount REAL);
INSERT INTO country VALUES (1,'United States'),(2,'Austria'),(3,'France');
INSERT INTO town VALUES (1,'Aspen',1),(2,'Vail',1),(3,'Lech',2),(4,'Chamonix',3);
INSERT INTO shop VALUES (1,'Peak',1,'2020-01-05'),(2,'Slope',3,'2024-02-01'),(3,'Glide',4,'2025-03-01'),(4,'Powder',2,'2025-06-01');
INSERT INTO renter VALUES (1,'Ann','gold',1,'2025-01-02'),(2,'Bea','silver',2,'2025-02-02'),(3,'Cid','gold',3,'2024-03-03'),
    (4,'Dan','bronze',4,'2026-01-01'),(5,'Eve','silver',3,'2025-05-05');
INSERT INTO item VALUES (1,'Carver','ski',50,0),(2,'Racer','ski',80,1),(3,'Twin','board',60,0),(4,'Kid','boot',20,0);
INSERT INTO rental VALUES (1,1,1,1,'2025-01-10',30,'closed'),(2,2,1,2,'2025-02-10',40,'closed'),(3,3,2,3,'2026-01-10',55,'open'),
    (4,4,3,4,'2026-02-10',15,'closed'),(5,1,2,3,'2026-11-01',25,'open'),(6,5,3,1,'2025-12-01',35,'lost');
INSERT INTO fine VALUES (1,1,'2025-01-13','2025-02-01',5),(2,3,'2026-01-20',NULL,10),(3,5,'2025-12-04','2026-01-04',20);
"""
SKI = catalog_of(
    ROWS,
    {
        "country_name": ("United States", "Austria", "France"),
        "town_name": ("Aspen", "Vail", "Lech", "Chamonix"),
        "shop_name": ("Peak", "Slope", "Glide", "Powder"),
        "level": ("gold", "silver", "bronze"),
        "kind": ("ski", "board", "boot"),
        "status": ("open", "closed", "lost"),
        "item_name": ("Carver", "Racer", "Twin", "Kid"),
    },
    nullable=frozenset({"paid_on"}),
)


def rows(question: str, *earlier: str) -> list[tuple[object, ...]]:
    found = translate_in_thread(question, earlier, SKI, today=TODAY)
    assert isinstance(found, Translated), found
    return rows_of(ROWS, found.sql)


def names(question: str, *earlier: str) -> set[object]:
    return {row[0] for row in rows(question, *earlier)}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Show us the renters", 5),
        ("Give us all shops", 4),
        ("Which items can you show us?", 4),
        ("List for us the towns", 4),
        ("Tell us the names of the renters", 5),
        ("Let us see the shops", 4),
        ("Who joined us last year?", 3),
        ("renters with us since 2025", 4),
        ("Renters in the US", 2),
        ("Which renters live in the United States?", 2),
        ("shops in the USA", 2),
    ],
)
def test_us_are_we_unless_it_is_written_as_a_country(question: str, shown: int) -> None:
    assert len(names(question)) == shown


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How many renters joined us in 2025?", 3),
        ("How many of us are renters?", 5),
        ("How many renters are from the US?", 2),
        ("How many US renters are there?", 2),
        ("How many renters does the us have?", 2),
    ],
)
def test_us_is_counted_as_a_country_only_where_it_is_one(question: str, count: int) -> None:
    assert rows(question) == [(count,)]


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("renters in Aspen and Lech", {"Ann", "Cid", "Eve"}),
        ("list renters in Aspen, Vail and Lech", {"Ann", "Bea", "Cid", "Eve"}),
        ("shops in Aspen and Lech", {"Peak", "Slope"}),
        ("Which shops are in Austria and France?", {"Slope", "Glide"}),
        ("list the renters from Austria and France", {"Cid", "Dan", "Eve"}),
        ("gold and silver renters", {"Ann", "Bea", "Cid", "Eve"}),
        ("top 2 renters in Aspen and Lech by total fees", {"Ann", "Cid"}),
        ("fines of renters from Lech and Aspen", {1, 2, 3}),
        ("级别为gold和silver", {"Ann", "Bea", "Cid", "Eve"}),
        ("renter来自Austria或France", {"Cid", "Dan", "Eve"}),
    ],
)
def test_values_of_what_each_row_has_one_of_are_alternatives(question: str, shown: set[object]) -> None:
    assert names(question) == shown


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("how many renters in Aspen and Lech", 3),
        ("How many shops are in Austria and France?", 2),
        ("How many rentals were there in Peak and Slope?", 4),
        ("total fee of rentals in Peak and Slope", 150.0),
        ("number of rentals of renters in Aspen and Chamonix", 3),
        ("Aspen和Lech有多少租客", 3),
    ],
)
def test_figures_over_such_values_are_of_all_of_them(question: str, figure: float) -> None:
    assert rows(question) == [(figure,)]


def test_values_of_what_rows_have_many_of_hold_at_once() -> None:
    found = translate("Which renters rented in Peak and Slope?", SKI, today=TODAY)
    assert isinstance(found, NotRead) or rows_of(ROWS, found.sql) == [("Ann",)]


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("items out of service", {"Racer"}),
        ("which items are out of service", {"Racer"}),
        ("which items are not out of service", {"Carver", "Twin", "Kid"}),
    ],
)
def test_a_negation_that_is_part_of_a_name_denies_nothing(question: str, shown: set[object]) -> None:
    assert names(question) == shown


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("What was our fee in 2025?", 105.0),
        ("What were our fees in 2026?", 95.0),
        ("fees in 2025", 105.0),
        ("How much did renters pay in fines?", 25.0),
    ],
)
def test_what_was_ours_is_a_sum(question: str, figure: float) -> None:
    assert rows(question) == [(figure,)]


@pytest.mark.parametrize("question", ["How much do items cost?", "How much are the fines?"])
def test_a_list_of_amounts_is_no_answer_to_how_much(question: str) -> None:
    assert isinstance(translate(question, SKI, today=TODAY), NotRead)


def test_the_price_of_one_row_is() -> None:
    assert rows("What is the price of the Twin?") == [(60.0,)]


@pytest.mark.parametrize(
    ("first", "then", "shown"),
    [
        ("Gold renters", "their fines", {1, 2}),
        ("Silver renters", "their rentals", {2, 6}),
        ("renters who joined in 2025", "what are their fines?", {1, 3}),
        ("gold级别的renter", "他们的fine", {1, 2}),
        ("Items out of service", "their rentals", {2}),
        ("Gold renters", "their total fees", {110.0}),
        ("Which renters are in Lech?", "what are their total fees?", {90.0}),
        ("Renters in Lech", "Who paid the most among them?", {"Eve"}),
        ("Renters in Lech", "which of these are silver?", {"Eve"}),
        ("Open rentals", "which of those are in Slope?", {3, 5}),
    ],
)
def test_a_follow_up_keeps_what_the_rows_before_were_narrowed_to(first: str, then: str, shown: set[object]) -> None:
    assert names(then, first) == shown


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Shops in Austria", "which renters rented there?"),
        ("Renters from Austria", "which of them have fines?"),
        ("How many gold renters are there?", "how many of them are in Aspen?"),
        ("有多少gold级别的renter", "其中Aspen的有多少"),
        ("Open rentals", "their items"),
        ("Lost rentals", "who had them?"),
    ],
)
def test_what_refers_back_is_not_answered_as_if_it_stood_alone(first: str, then: str) -> None:
    assert isinstance(translate_in_thread(then, (first,), SKI, today=TODAY), NotRead)


def test_how_many_there_are_refers_to_no_place() -> None:
    assert rows("How many fines are there?", "Shops in Austria") == [(3,)]


QUESTIONS = (
    "list renters in Aspen, Vail and Lech", "total fee of rentals in Peak and Slope", "有多少renter在Aspen和Lech",
    "级别为gold和silver", "上周末有多少rental？", "那Aspen和Lech的呢？", "What was our fee in 2025?", "items out of service",
    "Which renters rented both skis and boards?", "top 2 renters in Aspen and Lech by total fees",
)  # fmt: skip


def test_no_cut_doubled_or_stripped_question_ends_in_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[str] = []
    reports = {"test": lambda kind, places: failed.append(f"{kind} {places}")}
    monkeypatch.setattr("querybus_translator.failsafe._reports", reports)
    for question in QUESTIONS:
        words = question.split(" ") if question.isascii() else list(question)
        joint = " " if question.isascii() else ""
        cut = [joint.join(words[:end]) for end in range(1, len(words))] + [joint.join(words[1:]), joint.join(words[2:])]
        for changed in (
            *cut,
            question + question,
            f"{question} {question}",
            question.rstrip("?？"),
            f"{question}和",
            f"both {question}",
        ):
            translate(changed, SKI, today=TODAY, asks_back=False)
            translate_in_thread(changed, ("Gold renters",), SKI, today=TODAY, asks_back=False)
            assert not failed, changed


def test_a_reader_that_fails_reads_nothing_and_is_reported_without_a_word_of_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @reads_or(lambda: "not read")
    def read(question: str) -> str:
        return {"": ""}[question]

    monkeypatch.setattr("querybus_translator.failsafe._reports", {})
    reported: list[tuple[str, tuple[str, ...]]] = []
    report_failures_to(lambda kind, places: reported.append((kind, places)))
    assert read("secret question") == "not read"
    [(kind, places)] = reported
    assert kind == "KeyError"
    assert places[-1].endswith(" read")
    assert "secret" not in str(reported)
