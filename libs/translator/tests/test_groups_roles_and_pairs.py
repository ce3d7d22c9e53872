"""Rows of the top group, rows of whoever has the most, people in roles known by name, pairs of places, and columns that only describe."""

from __future__ import annotations

from datetime import date

import pytest

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus_translator import NotRead, Translated, translate

TODAY = date(2026, 6, 1)
KINDS = {"int": ColumnKind.INTEGER, "num": ColumnKind.NUMBER, "day": ColumnKind.DATE, "text": ColumnKind.TEXT}


def table(name: str, columns: str, keys: str = "", /, **values: tuple[str, ...]) -> Table:
    """Make a table of "name:kind" columns, the first its key; keys are "column>table.column", values those of a column."""
    made = []
    for spec in columns.split():
        called, _, kind = spec.partition(":")
        held = {"values": values[called], "values_complete": True} if called in values else {}
        shape = KINDS[kind or "text"]
        made.append(
            Column.model_validate({"name": called, "type": shape.value, "kind": shape, "nullable": False, **held})
        )
    foreign = []
    for key in keys.split():
        own, _, target = key.partition(">")
        foreign.append(
            ForeignKey(
                columns=(own,), referred_table=target.partition(".")[0], referred_columns=(target.partition(".")[2],)
            )
        )
    return Table(name=name, columns=tuple(made), primary_key=(made[0].name,), foreign_keys=tuple(foreign))


def fans() -> Catalog:
    """Users known by a name, and who follows whom since when."""
    users = table("user", "user_name city age:int", city=("Rome", "Paris"), user_name=("Ann", "Ben"))
    follows = table("follow", "user_name follower year:int", "user_name>user.user_name follower>user.user_name")
    follows = follows.model_copy(update={"primary_key": ()})
    return Catalog(connection="fans", dialect=Dialect.SQLITE, tables=(users, follows))


def auction() -> Catalog:
    """Sellers, their items, and bids on these."""
    sellers = table("sellers", "seller_id:int seller_name country joined_year:int", country=("France", "Italy"))
    items = table(
        "items",
        "item_id:int title category start_price:num seller_id:int listed_on:day",
        "seller_id>sellers.seller_id",
        category=("lamps", "chairs"),
    )
    bids = table("bids", "bid_id:int item_id:int amount:num", "item_id>items.item_id")
    return Catalog(connection="auction", dialect=Dialect.SQLITE, tables=(sellers, items, bids))


def league() -> Catalog:
    """Athletes with their times over several lengths, the seasons that they played, and their clubs' countries."""
    countries = table("nation", "nation_id:int nation_name official_language")
    seasons = table(
        "season_played",
        "season_id:int player college position nation_id:int first_year:int last_year:int",
        "nation_id>nation.nation_id",
        college=("Duke", "Maryland"),
        position=("Defender", "Midfielder"),
    )
    swimmers = table("swimmer", "swimmer_id:int name nationality meter_100:num meter_200:num grade:int hall")
    arenas = table("stadium", "stadium_id:int title country city", city=("Salem", "Springfield"))
    addresses = table(
        "address", "address_id:int street city state", city=("Salem", "Springfield"), state=("Ohio", "Oregon")
    )
    return Catalog(
        connection="league", dialect=Dialect.SQLITE, tables=(countries, seasons, swimmers, arenas, addresses)
    )


def shop() -> Catalog:
    """Products, orders with a state, and how many of a product each line of an order is."""
    products = table("products", "product_id:int product_name category", category=("Seeds", "Herbs"))
    orders = table("orders", "order_id:int order_status ordered_on:day", order_status=("Cancelled", "Paid"))
    lines = table(
        "order_items",
        "line_id:int order_id:int product_id:int order_quantity:int",
        "order_id>orders.order_id product_id>products.product_id",
    )
    categories = table("ref_product_categories", "category description")
    settlements = table("settlements", "settlement_id:int amount_claimed:num amount_settled:num")
    schools = table("school", "school_id:int school_name type")
    buses = table("bus", "bus_id:int school_id:int seats:int", "school_id>school.school_id")
    return Catalog(
        connection="shop",
        dialect=Dialect.SQLITE,
        tables=(products, orders, lines, categories, settlements, schools, buses),
    )


CATALOGS = {"fans": fans(), "auction": auction(), "league": league(), "shop": shop()}


def sql(catalog: str, question: str) -> str:
    answer = translate(question, CATALOGS[catalog], today=TODAY)
    assert isinstance(answer, Translated), answer
    return answer.sql


@pytest.mark.parametrize(
    ("question", "direction"),
    [
        ("How many followers does Ann have?", """t3."user_name" = 'Ann'"""),
        ("What is the average age of Ann's followers?", """SELECT t1."follower" FROM"""),
        ("Which users have no followers?", """NOT "user_name" IN (SELECT "user_name" FROM "follow\""""),
        ("Which user has the most followers?", """ON t2."follower" = t3."user_name" GROUP BY t1."user_name\""""),
        ("Which users have followers from Rome?", """JOIN "user" AS t2 ON t1."follower" = t2."user_name\""""),
        ("Who are the followers of users from Rome?", """SELECT t1."follower" FROM"""),
    ],
)
def test_who_follows_and_who_is_followed_are_not_confused_where_both_are_names(question: str, direction: str) -> None:
    assert direction in sql("fans", question)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("How many items were listed in or after 2025?", """"listed_on" >= '2025-01-01'"""),
        ("Which sellers joined in or before 2010?", '"joined_year" <= 2010'),
        ("Which sellers joined on or after 2015?", '"joined_year" >= 2015'),
        ("Which sellers have listed least two items?", "HAVING COUNT(*) >= 2"),
        ("How many sellers joined after joined year 2010?", '"joined_year" > 2010'),
    ],
)
def test_a_bound_includes_its_day_where_it_is_said_to(question: str, condition: str) -> None:
    assert condition in sql("auction", question)


def test_a_word_that_says_before_or_after_is_never_passed_over() -> None:
    answer = translate("Which sellers listed items after the flood?", CATALOGS["auction"], today=TODAY)
    assert isinstance(answer, NotRead)


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("What are the titles of the items in the most common category?", "title"),
        ("Which items belong to the rarest category?", "title"),
        ("Which sellers come from the country with the most sellers?", "seller_name"),
    ],
)
def test_rows_of_the_top_group_are_all_of_its_rows(question: str, shown: str) -> None:
    statement = sql("auction", question)
    assert statement.startswith(f'SELECT "{shown}" FROM')
    assert "= (SELECT" in statement
    assert statement.endswith("LIMIT 1)")


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("Which categories does the seller with the most items sell?", "category"),
        ("What are the titles of the items of the seller with the most items?", "title"),
    ],
)
def test_what_is_of_whoever_has_the_most_is_of_that_one(question: str, shown: str) -> None:
    statement = sql("auction", question)
    assert statement.startswith(f'SELECT "{shown}" FROM "items" WHERE "seller_id" = (SELECT t1."seller_id"')


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        (
            "What are the official languages of the nations of players from Duke college?",
            'SELECT "official_language" FROM "nation"',
        ),
        (
            "Which colleges have both players with position defender and players with position midfielder?",
            'SELECT "college" FROM "season_played"',
        ),
        (
            "Show the first year and last year of players from Duke college",
            'SELECT "first_year", "last_year" FROM "season_played"',
        ),
        (
            "Sort the names of swimmers by their 100 meter scores",
            'SELECT "name" FROM "swimmer" ORDER BY "meter_100" ASC',
        ),
        ("What is the average 200 meter time of swimmers?", 'SELECT AVG("meter_200") FROM "swimmer"'),
        (
            "For each hall, report the number of grades using it",
            'SELECT "hall", COUNT(DISTINCT "grade") FROM "swimmer" GROUP BY "hall"',
        ),
    ],
)
def test_columns_that_only_describe_or_have_a_number_in_their_name_are_read(question: str, statement: str) -> None:
    assert sql("league", question).startswith(statement)


def test_a_city_stays_with_its_own_state() -> None:
    statement = sql("league", "Find the streets of addresses in Springfield, Ohio or in Salem, Oregon.")
    assert """("city" = 'Springfield' AND "state" = 'Ohio') OR ("city" = 'Salem' AND "state" = 'Oregon')""" in statement


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("What is the total number of products in orders with status Cancelled?", 'SELECT SUM(t1."order_quantity")'),
        ("Count the number of products in the category 'Seeds'.", 'SELECT COUNT(*) FROM "products"'),
        ("What is the total amount of all the settlements?", 'SELECT SUM("amount_settled")'),
        (
            "Show the type of school and the number of buses for each type.",
            'SELECT t1."type", COUNT(*) FROM "school" AS t1 JOIN "bus" AS t2 ON t2."school_id" = t1."school_id" GROUP BY t1."type"',
        ),
        ("Count the number of total products.", 'SELECT COUNT(*) FROM "products"'),
    ],
)
def test_what_is_counted_and_added_up_is_what_was_asked_for(question: str, statement: str) -> None:
    assert sql("shop", question).startswith(statement)


@pytest.mark.parametrize(
    ("catalog", "question", "statement"),
    [
        ("auction", "What is the avarage start price of items?", 'SELECT AVG("start_price")'),
        ("auction", "Show the nubmer of items for each category", 'SELECT "category", COUNT(*)'),
        (
            "auction",
            "Which item has the higest start price?",
            'SELECT "title" FROM "items" ORDER BY "start_price" DESC',
        ),
        (
            "auction",
            "List items in acsending order of start price",
            'SELECT "title" FROM "items" ORDER BY "start_price" ASC',
        ),
    ],
)
def test_a_slip_in_a_word_that_asks_is_read_as_that_word(catalog: str, question: str, statement: str) -> None:
    assert sql(catalog, question).startswith(statement)


def test_a_word_of_the_data_is_no_slip() -> None:
    answer = translate("How many lattes are there?", CATALOGS["auction"], today=TODAY)
    assert isinstance(answer, NotRead)
    assert answer.about == "lattes"


def club() -> Catalog:
    """Drivers, vehicles and who drove which; performances that are scored; what was borrowed of a library's titles."""
    drivers = table("driver", "driver_id:int name citizenship")
    vehicles = table("vehicle", "vehicle_id:int model build_year room_count:int power:int")
    drives = table(
        "vehicle_driver", "driver_id:int vehicle_id:int", "driver_id>driver.driver_id vehicle_id>vehicle.vehicle_id"
    ).model_copy(update={"primary_key": ("driver_id", "vehicle_id")})
    scores = table("performance_score", "score_id:int driver_id:int total_points:num", "driver_id>driver.driver_id")
    borrowed = table("borrowing", "borrowing_id:int driver_id:int returned_on:day", "driver_id>driver.driver_id")
    return Catalog(connection="club", dialect=Dialect.SQLITE, tables=(drivers, vehicles, drives, scores, borrowed))


CATALOGS["club"] = club()


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("How many vehicles are built in each year?", 'SELECT "build_year", COUNT(*)'),
        ("What are the total points of performances, sorted from lowest to highest?", 'SELECT "total_points" FROM'),
        (
            "Find the model of the vehicle with the largest number of rooms",
            'SELECT "model" FROM "vehicle" ORDER BY "room_count" DESC',
        ),
    ],
)
def test_figures_are_those_of_the_columns_that_count_and_of_each_that_is_listed(question: str, statement: str) -> None:
    assert sql("club", question).startswith(statement)


def test_the_order_of_letters_is_that_of_the_names_and_the_number_is_shown() -> None:
    statement = sql(
        "club", "List the names of drivers in alphabetical order with the number of vehicles they have driven"
    )
    assert statement.startswith('SELECT t1."name", COUNT(')
    assert statement.endswith('ORDER BY t1."name" ASC')


def test_rows_that_must_be_there_and_must_not_are_asked_about() -> None:
    answer = translate(
        "Which drivers have borrowed a vehicle that they have not returned?", CATALOGS["club"], today=TODAY
    )
    assert isinstance(answer, NotRead)


def test_all_of_the_rows_of_the_one_with_the_most_are_meant_though_each_has_several() -> None:
    statement = sql("club", "Show the names of all drivers of the vehicle with the most power")
    assert "= (SELECT" in statement
    assert not statement.endswith("DESC LIMIT 1")


def gallery() -> Catalog:
    """Directors and painters, their programs and paintings, and staff of departments."""
    directors = table("director", "director_id:int name age:int", name=("Dracula", "Scott"))
    programs = table(
        "program", "program_id:int title director_id:int", "director_id>director.director_id", title=("Dracula", "Salt")
    )
    paintings = table(
        "painting",
        "painting_id:int label location medium surface death_year:int support_rate:num source",
        location=("East", "West"),
        medium=("oil", "pastel"),
        surface=("panel", "paper"),
        source=("CNN", "Fox"),
    )
    departments = table("department", "department_id:int department_name", department_name=("marketing", "purchasing"))
    staff = table(
        "staff",
        "staff_id:int staff_name department_id:int job",
        "department_id>department.department_id",
        job=("clerk", "seller"),
    )
    return Catalog(
        connection="gallery", dialect=Dialect.SQLITE, tables=(directors, programs, paintings, departments, staff)
    )


CATALOGS["gallery"] = gallery()


@pytest.mark.parametrize(
    ("question", "part"),
    [
        (
            "Show the locations which have both paintings with medium oil and paintings on panel",
            """= 'oil' INTERSECT SELECT "location" FROM "painting" WHERE "surface" = 'panel'""",
        ),
        (
            "Find the staff who work in the marketing department but not as a clerk",
            """t2."department_name" = 'marketing' AND t1."job" <> 'clerk'""",
        ),
        ("How many paintings are of those who died in 1917?", '"death_year" = 1917'),
        ("Show the labels of paintings supported by CNN", """SELECT "label" FROM "painting" WHERE "source" = 'CNN'"""),
    ],
)
def test_values_belong_to_whom_and_to_what_the_words_around_them_say(question: str, part: str) -> None:
    assert part in sql("gallery", question)


def test_how_many_rows_have_both_is_asked_about() -> None:
    question = "How many locations have both paintings with medium oil and paintings on panel?"
    assert isinstance(translate(question, CATALOGS["gallery"], today=TODAY), NotRead)


def test_who_is_still_working_is_asked_about_where_no_row_says_so() -> None:
    assert isinstance(translate("Which staff are still working?", CATALOGS["gallery"], today=TODAY), NotRead)


def presses() -> Catalog:
    """Presses and their books, vehicles with the year as text, people and the gymnasts among them."""
    press = table("press", "press_id:int name")
    books = table("book", "book_id:int title release_date press_id:int", "press_id>press.press_id")
    vehicles = table("vehicle", "vehicle_id:int model build_year", build_year=("1996", "2000", "2002"))
    people = table("people", "people_id:int name age:int")
    gymnasts = table("gymnast", "people_id:int total_points:num", "people_id>people.people_id")
    return Catalog(connection="presses", dialect=Dialect.SQLITE, tables=(press, books, vehicles, people, gymnasts))


CATALOGS["presses"] = presses()


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("每家出版社出版了多少本书？", 'GROUP BY t1."press_id", t1."name"'),
        ("2000年以后制造的车有几辆？", "> 2000"),
        ("总分最高的体操运动员多大年纪？", 'ORDER BY t2."total_points" DESC LIMIT 1'),
    ],
)
def test_chinese_verbs_years_in_text_and_totals_that_are_held(question: str, part: str) -> None:
    assert part in sql("presses", question)


def test_where_something_is_said_to_be_is_never_passed_over_in_chinese() -> None:
    assert isinstance(translate("住在家里的人有哪些？", CATALOGS["presses"], today=TODAY), NotRead)


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        (
            "How old is the youngest gymnast?",
            'SELECT "age" FROM "people" WHERE "people_id" IN (SELECT "people_id" FROM "gymnast")',
        ),
        (
            "Which gymnast is the oldest?",
            'SELECT "name" FROM "people" WHERE "people_id" IN (SELECT "people_id" FROM "gymnast")',
        ),
        ("Which gymnasts have total points above 50?", 'SELECT "name" FROM "people" WHERE "people_id" IN (SELECT'),
        ("Show the titles of books and the names of presses", 'SELECT t1."title", t2."name"'),
    ],
)
def test_rows_that_are_rows_of_another_table_have_its_names_and_ages(question: str, statement: str) -> None:
    assert sql("presses", question).startswith(statement)


def test_who_has_something_is_not_answered_by_all_there_is() -> None:
    readers = table("reader", "reader_id:int first_name last_name")
    named = (item.model_copy(update={"personal": True, "person_name": True}) for item in readers.columns[1:])
    readers = readers.model_copy(update={"columns": (readers.columns[0], *named)})
    books = table("book", "book_id:int title reader_id:int", "reader_id>reader.reader_id")
    catalog = Catalog(connection="library", dialect=Dialect.SQLITE, tables=(readers, books))
    assert isinstance(translate("Who still has a book?", catalog, today=TODAY), NotRead)


def test_a_group_is_not_each_number_of_a_column_that_only_resembles_it() -> None:
    assert isinstance(translate("What is the average age per points?", CATALOGS["presses"], today=TODAY), NotRead)


def test_a_verb_behind_what_is_asked_for_shows_no_figure() -> None:
    clubs = table("club", "club_id:int sponsor name", name=("Arsenal", "Everton"))
    players = table("player", "player_id:int name earnings:num club_id:int", "club_id>club.club_id")
    catalog = Catalog(connection="soccer", dialect=Dialect.SQLITE, tables=(clubs, players))
    answer = translate("Which sponsor pays for Arsenal?", catalog, today=TODAY)
    assert isinstance(answer, Translated)
    assert "earnings" not in answer.sql
