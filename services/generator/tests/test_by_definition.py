"""What definitions cover is answered by them, also where a model is there; what they do not cover goes its usual way."""

from __future__ import annotations

from typing import Any

import pytest
from services.generator.tests.shop_for_generation import SHOP, KeptHistory, SpokenModel, asked, run

from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import (
    Asked,
    Concluded,
    Drafted,
    Origin,
    Outcome,
)
from querybus.core.policy import ConnectionPolicy
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.core.requests.refinement import Change, Refinement
from querybus.text.knowledge import Entry, EntryKind, Knowledge
from querybus_generator.conversation.turns import Turn
from querybus_semantic.formats.entries import pieces_of
from querybus_semantic.layer.definitions import Dataset, Field, Layer, Metric, Relation, Words

LAYER = Layer(
    "shop",
    {
        "orders": Dataset(
            "orders", "orders", ("id",), fields={name: Field(name, name) for name in ("id", "status", "total")}
        ),
        "customers": Dataset(
            "customers", "customers", ("id",), fields={name: Field(name, name) for name in ("id", "city")}
        ),
    },
    (Relation("buyer", "orders", "customers", ("customer_id",), ("id",)),),
    {
        "turnover": Metric(
            "turnover",
            "SUM(orders.total)",
            words=Words("order totals", synonyms=("收入",), owner="finance", version="3"),
        ),
        "heads": Metric("heads", "COUNT(customers.id)"),
        "later": Metric("later", "SUM(orders.total)", words=Words(state="draft")),
    },
)


class Taught:
    """The layer as it is taught to one tenant."""

    async def read(self, tenant: str, name: str) -> Knowledge:
        entries = tuple(Entry(kind=EntryKind.DEFINITION, key=key, text=text) for key, text in pieces_of(LAYER))
        return Knowledge(connection=name, entries=entries if tenant == "acme" else ())


def drafted(found: Any) -> Drafted:
    """Return the draft."""
    assert isinstance(found, Envelope), found
    assert isinstance(found.body, Drafted), found.body
    return found.body


@pytest.mark.parametrize("question", ["turnover by city", "Turnover by customer city", "各city的收入"])
async def test_a_covered_question_is_answered_without_a_model_and_says_whose_definition_it_was(question: str) -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    body = drafted(await run(asked(question), model=model, taught=Taught()))
    assert body.draft.origin is Origin.BUILTIN
    assert "SUM(orders.total)" in body.draft.sql
    assert "finance" in body.analysis.reading
    assert model.prompts == []


async def test_definitions_answer_where_only_verified_questions_are_answered() -> None:
    only = ConnectionPolicy(only_verified=True)
    assert drafted(await run(asked("turnover by city"), taught=Taught(), policy=only)).analysis.definitions
    refused = await run(asked("turnover by city in good weather"), taught=Taught(), policy=only)
    assert isinstance(refused, Envelope)
    assert isinstance(refused.body, Concluded)
    assert refused.body.code is FailureCode.NOT_VERIFIED


async def test_a_question_with_a_word_more_goes_to_the_model() -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    body = drafted(await run(asked("turnover by city in good weather"), model=model, taught=Taught()))
    assert body.draft.origin is Origin.MODEL


async def test_a_model_is_given_the_expressions_of_the_definitions_that_a_question_speaks_of() -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    await run(asked("turnover by city in good weather"), model=model, taught=Taught())
    assert "turnover (order totals) is SUM(orders.total)" in model.prompt
    assert "heads" not in model.prompt


async def test_a_word_that_nothing_defines_is_asked_about_with_the_definitions_reading_first() -> None:
    found = await run(asked("turnover by city in Atlantis"), taught=Taught())
    assert isinstance(found, Envelope)
    body = found.body
    assert isinstance(body, Concluded)
    assert body.outcome is Outcome.CLARIFICATION
    assert body.clarification is not None
    assert (body.clarification.about, body.clarification.read_as) == ("Atlantis", "turnover by city")
    assert body.clarification.options[0].question == "turnover by city"


async def test_a_defined_figure_with_one_more_word_is_no_list_of_lines() -> None:
    found = await run(asked("show gross turnover"), taught=Taught())
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Concluded), found.body
    assert found.body.clarification is not None
    assert found.body.clarification.about == "gross"


async def test_another_tenants_definitions_do_not_exist() -> None:
    model = SpokenModel("```sql\nSELECT 1 FROM orders\n```")
    body = drafted(await run(asked("turnover by city", tenant="other"), model=model, taught=Taught()))
    assert body.draft.origin is Origin.MODEL


async def test_a_follow_up_changes_the_grouping_and_keeps_the_figure() -> None:
    history = KeptHistory(Turn(question="turnover by city"))
    body = drafted(await run(asked("and by status?"), taught=Taught(), history=history))
    assert "SUM(orders.total)" in body.draft.sql
    assert "GROUP BY orders.status" in body.draft.sql


def changed(query_id: str, **change: Any) -> Asked:
    return Asked(refines=Refinement(query_id=query_id, change=Change(**change)))


def with_answers(**asked_as: Envelope[Asked]) -> KeptHistory:
    """Return the history of answers by definitions, by the ids of their queries."""
    attempt = Attempt(origin=Origin.BUILTIN, sql="SELECT city, SUM(total) FROM orders GROUP BY city")
    return KeptHistory(attempts=dict.fromkeys(asked_as, (attempt,)), questions=asked_as)


async def test_a_change_of_a_change_is_made_to_what_was_asked_of_the_definitions() -> None:
    history = with_answers(q1=asked("turnover by city"), q2=asked("turnover (…)", body=changed("q1", without=("g1",))))
    body = drafted(await run(asked("…", body=changed("q2", by="status")), taught=Taught(), history=history))
    assert "GROUP BY orders.status" in body.draft.sql
    assert "SUM(orders.total)" in body.draft.sql
    assert body.analysis.read_as is not None
    assert [group.text for group in body.analysis.read_as.groups] == ["status"]
    assert body.analysis.definitions == ("turnover",)


async def test_a_change_that_no_definition_has_a_word_for_is_asked_back() -> None:
    history = with_answers(q1=asked("turnover by city"))
    found = await run(asked("…", body=changed("q1", by="zebra")), taught=Taught(), history=history)
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Concluded)
    assert found.body.clarification is not None
    assert found.body.clarification.about == "zebra"


async def test_an_answer_that_was_no_definitions_is_changed_as_a_statement() -> None:
    history = with_answers(q1=asked("how much did every city buy?"))
    body = drafted(await run(asked("…", body=changed("q1", lines=1)), taught=Taught(), history=history))
    assert body.draft.sql.endswith("LIMIT 1")
    assert body.analysis.read_as is None


async def test_what_multiplies_rows_is_asked_back_about_and_not_computed() -> None:
    found = await run(asked("heads by status"), taught=Taught())
    assert isinstance(found, Envelope)
    assert isinstance(found.body, Concluded)
    assert found.body.outcome is Outcome.CLARIFICATION


async def test_figures_are_asked_for_by_name() -> None:
    wanted = Asked(
        metrics=MetricsQuery.model_validate({"metrics": ["turnover"], "group_by": [{"field": "customers.city"}]})
    )
    body = drafted(await run(asked("turnover by customers.city", body=wanted), taught=Taught()))
    assert "customers.city" in body.draft.sql


@pytest.mark.parametrize(("name", "why"), [("nothing", "no metric `nothing`"), ("later", "draft")])
async def test_a_name_without_an_approved_definition_is_a_failure_that_names_it(name: str, why: str) -> None:
    found = await run(asked(name, body=Asked(metrics=MetricsQuery(metrics=(name,)))), taught=Taught())
    assert isinstance(found, Failure)
    assert found.code is FailureCode.MISSING_DATABASE_INFO
    assert why in found.detail


async def test_without_definitions_nothing_is_asked_for_by_name() -> None:
    found = await run(asked("turnover", body=Asked(metrics=MetricsQuery(metrics=("turnover",)))))
    assert isinstance(found, Failure)
    assert "nothing is defined" in found.detail


async def test_the_file_of_a_connection_defines_and_what_was_taught_outweighs_it() -> None:
    file = {key: text.replace("SUM(orders.total)", "MAX(orders.total)") for key, text in pieces_of(LAYER)}
    catalog = SHOP.model_copy(update={"definitions": file})
    assert "MAX(orders.total)" in drafted(await run(asked("turnover"), catalog=catalog)).draft.sql
    assert "SUM(orders.total)" in drafted(await run(asked("turnover"), catalog=catalog, taught=Taught())).draft.sql
