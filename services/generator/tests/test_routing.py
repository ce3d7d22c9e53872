"""A question that names no connection goes where its words stand; where they do not decide, a person chooses."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from services.generator.tests.shop_for_generation import (
    NOW_MS,
    SHOP,
    TEXTS,
    KeptCatalogs,
    KeptConnections,
    KeptHistory,
    asked,
)

from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, Table
from querybus.core.envelope import Delivery, Envelope
from querybus.core.messages import Asked, Concluded, Drafted, Outcome
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.text.knowledge import Entry, EntryKind, Knowledge
from querybus_generator.generate import Resources, generate
from querybus_generator.linking.linker import Linker
from querybus_generator.linking.routing import Candidate, Profile, Route, Router, decide, rank
from querybus_generator.ports import Ports
from querybus_translator import Translated, translate


def catalog(name: str, **tables: tuple[str, ...]) -> Catalog:
    return Catalog(
        connection=name,
        dialect=Dialect.SQLITE,
        tables=tuple(
            Table(
                name=table,
                columns=tuple(Column(name=column, type="TEXT", kind=ColumnKind.TEXT) for column in columns),
                row_estimate=10,
            )
            for table, columns in tables.items()
        ),
    )


CLINIC = catalog("clinic", patients=("id", "name", "ward"), nurses=("id", "name", "shift"), customers=("id", "insurer"))
LIBRARY = catalog("library", books=("id", "title", "author"), customers=("id", "card"))
CATALOGS = (SHOP, CLINIC, LIBRARY)
CONNECTIONS = (
    Connection(name="shop", dialect=Dialect.SQLITE, description="The web shop"),
    Connection(name="clinic", dialect=Dialect.SQLITE, description="Wards and patients of the clinic"),
    Connection(name="library", dialect=Dialect.SQLITE),
)


class Taught:
    def __init__(self, **entries: Entry) -> None:
        self._entries = entries

    async def read(self, tenant: str, name: str) -> Knowledge:
        del tenant
        return Knowledge(connection=name, entries=(self._entries[name],) if name in self._entries else ())


async def run(question: str, *, connections: tuple[str, ...] = ("clinic", "library", "shop"), **more: Any) -> Any:
    thread = more.pop("thread", None)
    body = Asked(connections=connections, thread_until_sequence=9 if thread else 0, thread_connection=thread)
    return await generate(
        asked(question, body=body, connection=thread or connections[0], audience=more.pop("audience", "business")),
        Delivery(sequence=1, deliveries=1, now_ms=NOW_MS),
        ports=Ports(
            catalogs=KeptCatalogs(*CATALOGS),
            connections=KeptConnections(*more.pop("known", CONNECTIONS)),
            history=KeptHistory(),
            **more,
        ),
        resources=Resources(linker=Linker(), texts=TEXTS, router=Router()),
    )


async def test_a_question_goes_to_the_connection_that_its_words_stand_in_and_the_answer_names_it():
    found = await run("How many nurses are there?")
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Drafted)
    assert found.connection == "clinic"
    assert found.body.analysis.asked_of == "Wards and patients of the clinic"
    assert (await run("How many orders are there?")).connection == "shop"
    assert (await run("有多少个订单？")).connection == "shop"


async def test_a_value_decides_where_names_do_not():
    found = await run("How many customers are in Berlin?")
    assert (found.connection, type(found.body)) == ("shop", Drafted)


async def test_where_the_lead_is_small_a_person_chooses_among_names_for_people():
    found = await run("How many customers are there?")
    assert isinstance(found.body, Concluded)
    assert found.body.outcome is Outcome.CLARIFICATION
    assert found.body.clarification is not None
    options = found.body.clarification.options
    assert [option.connection for option in options] == ["clinic", "library", "shop"]
    assert [option.text for option in options] == ["Wards and patients of the clinic", "library", "The web shop"]
    assert {option.question for option in options} == {"How many customers are there?"}
    assert (found.body.reply or "").endswith("Which one do you mean?")
    chinese = await run("有多少个customers？")
    assert "您指的是哪一个" in chinese.body.reply


async def test_a_connection_that_the_caller_may_not_use_is_neither_chosen_nor_named():
    found = await run("How many nurses are there?", connections=("library", "shop"))
    assert found.connection in ("library", "shop")
    assert "clinic" not in found.model_dump_json()
    closed = tuple(
        item.model_copy(update={"policy": ConnectionPolicy(tenants_allowed=("other",))})
        if item.name == "clinic"
        else item
        for item in CONNECTIONS
    )
    found = await run("How many nurses are there?", connections=("library", "shop"), known=closed)
    assert "clinic" not in found.model_dump_json()


async def test_a_thread_stays_where_it_is_unless_the_question_says_otherwise():
    assert (await run("How many customers are there?", thread="library")).connection == "library"
    assert (await run("and by card?", thread="library")).connection == "library"
    assert (await run("Show the patients of each ward", thread="library")).connection == "clinic"
    assert (await run("How many customers are in the shop database?", thread="library")).connection == "shop"


async def test_in_a_thread_one_word_of_another_connection_and_none_of_its_own_is_asked_about():
    found = await run("How many books are there?", thread="clinic")
    assert found.body.outcome is Outcome.CLARIFICATION
    assert [option.connection for option in found.body.clarification.options] == ["library", "clinic"]


async def test_a_greeting_is_answered_without_asking_which_connection():
    found = await run("hello")
    assert found.body.outcome is Outcome.REPLIED


async def test_a_question_about_nothing_that_is_known_asks_where_to_look():
    found = await run("How many zebras are there?")
    assert found.body.outcome is Outcome.CLARIFICATION
    assert len(found.body.clarification.options) == 3


async def test_where_no_connection_fits_the_question_back_says_so_with_the_names_of_what_there_is():
    found = await run("Which penguins won a title at the winter games?")
    assert found.body.outcome is Outcome.CLARIFICATION
    assert found.body.reply.startswith("Nothing in the connected data seems to be about this. There are “")
    assert {option.connection for option in found.body.clarification.options} == {"clinic", "library", "shop"}
    chinese = await run("今年有多少企鹅？")
    assert chinese.body.reply.startswith("已连接的数据似乎与这个问题无关")


async def test_a_follow_up_stays_with_its_thread_whatever_its_words_name_elsewhere():
    for question in ("only those by author", "and per author?", "what about the books?", "按author分呢？"):
        assert (await run(question, thread="clinic")).connection == "clinic", question
    assert (await run("Which author has the most books?", thread="clinic")).connection == "library"


async def test_a_verified_question_goes_where_it_was_taught():
    entry = Entry(kind=EntryKind.PAIR, key="How many customers are there?", text="SELECT COUNT(*) FROM customers")
    found = await run("how many customers are there?", taught=Taught(library=entry))
    assert (found.connection, type(found.body)) == ("library", Drafted)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How many rows has the clinic database?", "clinic"),
        ("shop库里有多少条记录", "shop"),
        ("customers in the database library", "library"),
    ],
)
@pytest.mark.requirement("002.13")
def test_a_connection_that_is_named_is_taken(question: str, name: str):
    profiles = {item.connection: Profile(item) for item in CATALOGS}
    assert decide(question, CONNECTIONS, profiles) == Route(name)


def test_a_definition_and_a_term_speak_of_their_connection():
    defined = CLINIC.model_copy(
        update={"definitions": {"metric:occupancy": '{"name": "occupancy", "expression": "x"}'}}
    )
    termed = LIBRARY.model_copy(update={"glossary": {"overdue loan": "a loan whose date has passed"}})
    profiles = {"shop": Profile(SHOP), "clinic": Profile(defined), "library": Profile(termed)}
    assert rank("occupancy last month", profiles)[0].name == "clinic"
    assert rank("number of overdue loans", profiles)[0].name == "library"


@pytest.mark.parametrize(
    ("question", "name"),
    [("How many patients are there?", "ward"), ("list all invoices", "office"), ("How many vehicles are there?", None)],
)
def test_a_word_that_no_connection_has_leads_to_a_table_whose_name_shortens_it(question: str, name: str | None):
    catalogs = (
        catalog("ward", TBL_PAT=("PAT_NO", "NM_LAST"), TBL_ENC=("ENC_NO", "PAT_NO")),
        catalog("office", INV_HDR=("INV_NO", "AMT"), BR=("BR_CD",)),
    )
    profiles = {item.connection: Profile(item) for item in catalogs}
    connections = [Connection(name=item.connection, dialect=Dialect.SQLITE) for item in catalogs]
    route = decide(question, connections, profiles)
    assert (route.connection if route is not None and route.fits else None) == name


def test_a_table_that_is_called_so_goes_before_one_whose_name_shortens_it():
    profiles = {item.connection: Profile(item) for item in (CLINIC, catalog("ward", TBL_PAT=("PAT_NO",)))}
    assert [item.name for item in rank("How many patients are there?", profiles)] == ["clinic", "ward"]


def test_the_same_question_is_ranked_alike_whatever_the_order_of_connections():
    one = {item.connection: Profile(item) for item in CATALOGS}
    other = {item.connection: Profile(item) for item in reversed(CATALOGS)}
    assert rank("customers with a card in a ward", one) == rank("customers with a card in a ward", other)


async def test_a_profile_is_made_once_for_a_catalog():
    router = Router()
    candidates = [
        Candidate(connection, item, Knowledge(connection=connection.name))
        for connection, item in zip(CONNECTIONS, CATALOGS, strict=True)
    ]
    await router.route("nurses", candidates, tenant="acme")
    first = dict(router._kept)  # pyright: ignore[reportPrivateUsage]
    await router.route("orders", candidates, tenant="acme")
    assert all(first[key][1] is profile for key, (_, profile) in router._kept.items())  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("What data do you have?", "- The web shop: "),
        ("what can I ask?", "- The web shop: "),
        ("你有哪些数据？", "- The web shop："),
        ("Which tables are there?", "- The web shop: "),
    ],
)
async def test_what_there_is_to_ask_names_every_connection_with_its_subjects(question: str, opening: str):
    said = (await run(question)).body.reply
    assert opening in said, said
    assert "- Wards and patients of the clinic" in said
    assert "patient" in said or "病人" in said
    assert "- library" in said
    assert "book" in said.lower() or "图书" in said


async def test_every_example_of_what_can_be_asked_has_been_read():
    said = (await run("What data do you have?")).body.reply
    examples = [line for line in said.splitlines() if line.endswith("?")]
    assert len(examples) == 3, said
    for example in examples:
        assert isinstance((await run(example)).body, Drafted | Concluded)
        assert any(isinstance(translate(example, known, today=date(2026, 6, 1)), Translated) for known in CATALOGS)


async def test_a_connection_that_does_not_serve_the_tenant_is_not_named():
    closed = tuple(
        item.model_copy(update={"policy": ConnectionPolicy(tenants_allowed=("other",))})
        if item.name == "clinic"
        else item
        for item in CONNECTIONS
    )
    said = (await run("What data do you have?", known=closed)).body.reply
    assert "clinic" not in said
    assert "patient" not in said
    assert "The web shop" in said
