"""Simple changes in plain words: what is read whole becomes one statement, everything else is not read."""

from __future__ import annotations

import datetime as dt

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Language, Table
from querybus.sql.edit import read
from querybus_translator import translate_change

TODAY = dt.date(2026, 3, 1)


def column(name: str, kind: ColumnKind, zh: str = "", values: tuple[str, ...] = ()) -> Column:
    return Column(name=name, type=kind.value, kind=kind, display_names={"zh": zh} if zh else {}, values=values)


LIBRARY = Catalog(
    connection="library",
    dialect=Dialect.POSTGRESQL,
    default_schema="public",
    tables=(
        Table(
            name="books",
            display_names={"zh": "图书"},
            primary_key=("id",),
            columns=(
                column("id", ColumnKind.INTEGER),
                column("title", ColumnKind.TEXT, "书名"),
                column("genre", ColumnKind.TEXT, "类别", ("novel", "history", "poetry")),
                column("price", ColumnKind.NUMBER, "价格"),
                column("printed_on", ColumnKind.DATE, "出版日期"),
                column("is_lent", ColumnKind.BOOLEAN),
            ),
        ),
        Table(
            name="loans",
            display_names={"zh": "借阅"},
            primary_key=("id",),
            columns=(
                column("id", ColumnKind.INTEGER),
                column("book_id", ColumnKind.INTEGER),
                column("state", ColumnKind.TEXT, "状态", ("open", "returned", "lost")),
            ),
            foreign_keys=(ForeignKey(columns=("book_id",), referred_table="books", referred_columns=("id",)),),
        ),
    ),
)

READ: list[tuple[Language, str, str]] = [
    ("en", "delete book number 7", 'DELETE FROM "books" WHERE "id" = 7'),
    ("en", "Please remove book 7.", 'DELETE FROM "books" WHERE "id" = 7'),
    ("en", "could you delete the loan with id 12", 'DELETE FROM "loans" WHERE "id" = 12'),
    ("en", "erase all lost loans", "DELETE FROM \"loans\" WHERE \"state\" = 'lost'"),
    ("en", "delete every poetry book", "DELETE FROM \"books\" WHERE \"genre\" = 'poetry'"),
    ("en", "delete books whose price is below 3", 'DELETE FROM "books" WHERE "price" < 3'),
    ("en", "delete all loans", 'DELETE FROM "loans"'),
    ("en", "set the price of book 7 to 12.50", 'UPDATE "books" SET "price" = 12.50 WHERE "id" = 7'),
    ("en", "change the genre of book 7 to History", "UPDATE \"books\" SET \"genre\" = 'history' WHERE \"id\" = 7"),
    ("en", "update book 7's title to \"War and Peace\"", "UPDATE \"books\" SET \"title\" = 'War and Peace' WHERE \"id\" = 7"),
    ("en", "update loan 12, set the state to returned", "UPDATE \"loans\" SET \"state\" = 'returned' WHERE \"id\" = 12"),
    ("en", "set the price of all history books to 9", "UPDATE \"books\" SET \"price\" = 9 WHERE \"genre\" = 'history'"),
    ("en", "set the printed on of book 7 to 2020-05-01", "UPDATE \"books\" SET \"printed_on\" = '2020-05-01' WHERE \"id\" = 7"),
    ("en", "add a book with title Emma and price 8", "INSERT INTO \"books\" (\"title\", \"price\") VALUES ('Emma', 8)"),
    ("en", "insert a new loan with book id 7 and state open", "INSERT INTO \"loans\" (\"book_id\", \"state\") VALUES (7, 'open')"),
    ("zh", "删除图书7", 'DELETE FROM "books" WHERE "id" = 7'),
    ("zh", "请把编号为7的图书删除", 'DELETE FROM "books" WHERE "id" = 7'),
    ("zh", "删除所有状态为lost的借阅", "DELETE FROM \"loans\" WHERE \"state\" = 'lost'"),
    ("zh", "把图书7的价格改为12.5", 'UPDATE "books" SET "price" = 12.5 WHERE "id" = 7'),
    ("zh", "将图书7的类别设为history", "UPDATE \"books\" SET \"genre\" = 'history' WHERE \"id\" = 7"),
    ("zh", "修改借阅12的状态为returned", "UPDATE \"loans\" SET \"state\" = 'returned' WHERE \"id\" = 12"),
    ("zh", "新增一本图书，书名为Emma，价格为8", "INSERT INTO \"books\" (\"title\", \"price\") VALUES ('Emma', 8)"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "request_", "meant"), READ, ids=[item[1] for item in READ])
def test_a_simple_change_is_read(language: Language, request_: str, meant: str) -> None:
    sql = translate_change(request_, LIBRARY, language=language, today=TODAY)
    assert sql is not None
    assert sql.replace('"public".', "") == meant


@pytest.mark.parametrize(
    "request_",
    [
        "delete everything",
        "delete the price of book 7",
        "delete books",
        "delete books that nobody ever liked",
        "delete book 7 and loan 12",
        "delete the most expensive book",
        "delete the number of loans",
        "delete book price 7",
        "set the price of book 7 to cheap",
        "set the weight of book 7 to 5",
        "set the printed on of book 7 to soon",
        "set the title of book 7 to Emma and delete loan 12",
        "set the price of the best books to 3",
        "increase the price of book 7 by 2",
        "add a book",
        "add a book with weight 5",
        "add a book with price 5 and price 6",
        "add a magazine with title Emma",
        "How many books are there?",
        "删除7",
        "把图书7的重量改为5",
        "",
        "delete " * 200,
    ],
)
def test_what_is_not_read_whole_is_not_read(request_: str) -> None:
    assert translate_change(request_, LIBRARY, language="en", today=TODAY) is None


def test_a_change_is_one_statement_of_one_table_whatever_is_cut_or_doubled() -> None:
    for language, request_, _ in READ:
        for end in range(0, len(request_) + 1, 3):
            for text in (request_[:end], request_[end:], f"{request_} {request_[:end]}"):
                sql = translate_change(text, LIBRARY, language=language, today=TODAY)
                assert sql is None or read(f"EXPLAIN {sql}", Dialect.POSTGRESQL) is None or ";" not in sql
