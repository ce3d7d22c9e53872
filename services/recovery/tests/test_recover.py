"""Claims on recovery: what each code leads to, how often a query may be tried, and that it always ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from querybus.core.asking_back import Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Dialect, ForeignKey, Table
from querybus.core.envelope import Attempt, Delivery, Envelope, PathStep, drafted, failed
from querybus.core.failure import TRAITS, Ending, Facts, Failure, FailureCode
from querybus.core.messages import (
    Advice,
    Analysis,
    Concluded,
    Draft,
    Drafted,
    Failed,
    Origin,
    Outcome,
    Returned,
    RuleName,
)
from querybus.core.options import Agreement, OptionCaps, Options, RepairPolicy, cap
from querybus.core.policy import Connection, ConnectionPolicy
from querybus.core.subjects import EventName, StageName
from querybus.sql.check import check
from querybus_recovery.guidance import LANGUAGES, load_guidance
from querybus_recovery.recover import (
    REPAIRS_PER_FAILURE_MAX,
    REPAIRS_PER_QUERY_MAX,
    RETRY_MS_MIN,
    clean_error,
    conclude_failed,
    decide,
    recover,
)
from querybus_recovery.rules.candidate import Candidate, Repair

NOW = 1_000_000
GUIDANCE = load_guidance()
CATALOG = Catalog(
    connection="shop",
    dialect=Dialect.SQLITE,
    tables=(
        Table(
            name="customers",
            columns=(
                Column(name="id", type="INTEGER", kind=ColumnKind.INTEGER),
                Column(name="city", type="TEXT", kind=ColumnKind.TEXT),
            ),
        ),
    ),
)


def advice_of(body: Returned) -> Advice:
    assert body.advice is not None
    return body.advice


@dataclass
class Catalogs:
    """Catalogs in memory."""

    known: dict[str, Catalog] = field(default_factory=lambda: {"shop": CATALOG})
    reads: int = 0

    async def read(self, connection: str) -> Catalog | None:
        self.reads += 1
        return self.known.get(connection)


class Connections:
    """Connections in memory."""

    async def get(self, name: str) -> Connection | None:
        return Connection(name=name, dialect=Dialect.SQLITE) if name == "shop" else None


def failure_event(
    code: FailureCode,
    *,
    sql: str | None = "SELECT nonsense FROM customers",
    origin: Origin = Origin.MODEL,
    stage: StageName = StageName.VALIDATOR,
    facts: Facts | None = None,
    earlier: tuple[Attempt, ...] = (),
    left_ms: int = 60_000,
    options: Options | None = None,
    generation: int = 0,
    repair: int = 0,
    path: tuple[PathStep, ...] = (),
    notes: tuple[str, ...] = (),
    detail: str = "no such thing",
) -> Envelope[Failed]:
    draft = None if sql is None else Draft(sql=sql, dialect=Dialect.SQLITE, origin=origin)
    attempts = earlier if draft is None else (*earlier, Attempt(origin=origin, sql=draft.sql, stage=stage, code=code))
    envelope = Envelope[Failed](
        event=EventName.FAILED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="Which cities?",
        language="en",
        options=options or Options(),
        asked_at=NOW,
        deadline_at=NOW + left_ms,
        attempts=attempts,
        path=path,
        body=Failed(code=code, stage=stage, detail=detail, facts=facts or Facts(), draft=draft, notes=notes),
    )
    return envelope.model_copy(
        update={"retries": envelope.retries.model_copy(update={"generation": generation, "mend": repair})}
    )


async def recovered(
    envelope: Envelope[Failed], catalogs: Catalogs | None = None
) -> Envelope[Drafted] | Envelope[Returned] | Envelope[Concluded]:
    return await recover(
        envelope,
        Delivery(sequence=7, deliveries=1, now_ms=NOW),
        catalogs=catalogs or Catalogs(),
        connections=Connections(),
        guidance=GUIDANCE,
    )


ENDINGS = {
    Ending.FAILED: Outcome.FAILED,
    Ending.REFUSED: Outcome.REFUSED,
    Ending.CLARIFICATION: Outcome.CLARIFICATION,
    Ending.EXPIRED: Outcome.EXPIRED,
    Ending.CANCELLED: Outcome.CANCELLED,
}


@pytest.mark.parametrize("code", list(FailureCode))
@pytest.mark.requirement("001.7", "003.18")
async def test_with_a_budget_a_model_gets_back_only_what_a_new_draft_may_help(code: FailureCode) -> None:
    after = await recovered(failure_event(code))
    if TRAITS[code].to_model:
        assert isinstance(after.body, Returned)
        assert after.retries.generation == 1
        assert advice_of(after.body).code is code
        assert advice_of(after.body).guidance == GUIDANCE["en"].advice(code)
    else:
        assert isinstance(after.body, Concluded)
        assert after.body.outcome is ENDINGS[TRAITS[code].ending]
        assert after.body.code is code


@pytest.mark.parametrize("code", list(FailureCode))
@pytest.mark.requirement("000.17", "001.10", "003.18")
async def test_without_a_budget_every_code_ends_the_query(code: FailureCode) -> None:
    spent = failure_event(code, generation=2, options=Options(retries_max=2))
    events = [
        spent,
        failure_event(code, options=Options(retries_max=0)),
        failure_event(code, left_ms=RETRY_MS_MIN - 1),
        failure_event(code, options=Options(enable_auto_repair=False)),
    ]
    if code is FailureCode.SAME_SQL:
        # A draft that came again is no attempt of its own: the attempts keep why it failed before.
        events = [event.model_copy(update={"attempts": ()}) for event in events]
    for envelope in events:
        after = await recovered(envelope)
        assert isinstance(after.body, Concluded)
        assert after.body.outcome is ENDINGS[TRAITS[code].ending]
        assert after.body.code is code
        assert after.body.detail == "no such thing"
        assert after.body.sql == "SELECT nonsense FROM customers"
        assert after.body.stage is StageName.VALIDATOR


@pytest.mark.parametrize("origin", [Origin.BUILTIN, Origin.VERIFIED, Origin.USER])
@pytest.mark.parametrize("code", list(FailureCode))
async def test_only_a_models_draft_goes_back_to_a_model(code: FailureCode, origin: Origin) -> None:
    after = await recovered(failure_event(code, origin=origin))
    assert isinstance(after.body, Concluded)


@pytest.mark.requirement("000.18")
async def test_a_failed_run_is_repaired_also_where_the_syntax_is_not_validated() -> None:
    unchecked = Options(enable_syntax_validation=False)
    ran = failure_event(FailureCode.COLUMN_NOT_FOUND, stage=StageName.EXECUTOR, options=unchecked)
    assert isinstance((await recovered(ran)).body, Returned)
    neither = unchecked.model_copy(update={"enable_auto_repair": False})
    stopped = failure_event(FailureCode.COLUMN_NOT_FOUND, stage=StageName.EXECUTOR, options=neither)
    assert isinstance((await recovered(stopped)).body, Concluded)


async def test_a_model_without_a_usable_statement_is_asked_again() -> None:
    after = await recovered(failure_event(FailureCode.UNKNOWN_GENERATION_FAILURE, sql=None, stage=StageName.GENERATOR))
    assert isinstance(after.body, Returned)
    assert after.body.draft is None


@pytest.mark.parametrize(
    ("code", "trigger"),
    [
        (FailureCode.MISSING_DATABASE_INFO, Trigger.MISSING_DATABASE_INFO),
        (FailureCode.AMBIGUOUS_QUESTION, Trigger.AMBIGUOUS_QUESTION),
        (FailureCode.LLM_EXPLANATION, Trigger.AMBIGUOUS_QUESTION),
    ],
)
async def test_what_the_person_can_clear_up_is_asked_back(code: FailureCode, trigger: Trigger) -> None:
    envelope = failure_event(code, sql=None, stage=StageName.GENERATOR, facts=Facts(name="recently"))
    after = await recovered(envelope)
    assert isinstance(after.body, Concluded)
    assert after.body.clarification is not None
    assert after.body.clarification.trigger is trigger
    assert after.body.clarification.about == "recently"
    assert after.body.reply == ("no such thing" if code is FailureCode.LLM_EXPLANATION else None)


@pytest.mark.requirement("000.13")
async def test_a_refusal_reports_the_kind_of_the_statement() -> None:
    after = await recovered(failure_event(FailureCode.SAFETY, facts=Facts(name="DROP")))
    assert isinstance(after.body, Concluded)
    assert (after.body.outcome, after.body.refused_kind) == (Outcome.REFUSED, "DROP")


@pytest.mark.parametrize(("retries_max", "drafts"), [(0, 1), (1, 2), (5, 6)])
@pytest.mark.requirement("000.19", "001.8", "003.9")
async def test_an_always_wrong_model_makes_an_exact_number_of_drafts(retries_max: int, drafts: int) -> None:
    envelope = failure_event(
        FailureCode.COLUMN_NOT_FOUND, sql="SELECT nonsense0 FROM customers", options=Options(retries_max=retries_max)
    )
    made = 1
    while True:
        after = await recovered(envelope)
        if isinstance(after.body, Concluded):
            break
        assert isinstance(after.body, Returned)
        draft = Draft(sql=f"SELECT nonsense{made} FROM customers", dialect=Dialect.SQLITE, origin=Origin.MODEL)
        made += 1
        envelope = failed(
            drafted(after, Drafted(draft=draft)), Failure.of(FailureCode.COLUMN_NOT_FOUND), StageName.VALIDATOR
        )
    assert made == drafts
    assert len(after.attempts) == drafts
    assert after.retries.generation == retries_max


@pytest.mark.requirement("003.19")
async def test_the_same_statement_in_other_clothes_ends_the_query() -> None:
    earlier = (Attempt(origin=Origin.MODEL, sql="select  nonsense\nfrom customers;"),)
    after = await recovered(
        failure_event(FailureCode.COLUMN_NOT_FOUND, earlier=earlier, options=Options(retries_max=5))
    )
    assert isinstance(after.body, Concluded)
    # What a person reads is why it failed; that it came again stands in the detail.
    assert after.body.code is FailureCode.COLUMN_NOT_FOUND
    assert "same" in after.body.detail
    assert "no such thing" in after.body.detail


async def test_text_that_is_no_sql_repeats_as_well() -> None:
    earlier = (Attempt(origin=Origin.MODEL, sql="I do not know 'that"),)
    after = await recovered(failure_event(FailureCode.SYNTAX_ERROR, sql="I do not know 'that", earlier=earlier))
    assert isinstance(after.body, Concluded)


TYPO: dict[str, Any] = {"sql": "SELECT citty FROM customers", "facts": Facts(name="citty")}
ALIAS: dict[str, Any] = {
    "sql": "SELECT customers.city FROM customers AS c",
    "facts": Facts(name="city", qualifier="customers"),
}


async def test_a_repair_that_keeps_the_meaning_goes_before_a_models_retry() -> None:
    after = await recovered(
        failure_event(FailureCode.COLUMN_NOT_FOUND, sql=ALIAS["sql"], facts=ALIAS["facts"], notes=("earlier",))
    )
    assert isinstance(after.body, Drafted)
    assert after.body.draft == Draft(
        sql="SELECT c.city FROM customers AS c", dialect=Dialect.SQLITE, origin=Origin.RULE
    )
    assert after.body.notes == ("earlier", "customers was replaced by its alias c.")
    assert (after.retries.mend, after.retries.generation) == (1, 0)
    assert len(after.attempts) == 2


async def test_a_repair_that_assumes_something_is_a_hint_for_a_model() -> None:
    after = await recovered(failure_event(FailureCode.COLUMN_NOT_FOUND, sql=TYPO["sql"], facts=TYPO["facts"]))
    assert isinstance(after.body, Returned)
    assert advice_of(after.body).candidates_sql == ("SELECT city FROM customers",)
    assert advice_of(after.body).facts.name == "citty"


ASSUMED = {"sql": "SELECT citty FROM customers", "facts": Facts(name="citty")}
PLAIN = {"sql": "```sql\nSELECT city FROM customers\n```"}


@pytest.mark.parametrize(
    ("policy", "broken", "follows"),
    [
        (None, ASSUMED, Returned),
        (RepairPolicy.MODEL_FIRST, ASSUMED, Returned),
        (RepairPolicy.MODEL_FIRST, PLAIN, Drafted),
        (RepairPolicy.RULES_FIRST, ASSUMED, Drafted),
        (RepairPolicy.RULES_FIRST, {"sql": "SELECT zzz FROM customers"}, Returned),
        (RepairPolicy.RULES_ONLY, ASSUMED, Drafted),
        (RepairPolicy.RULES_ONLY, {"sql": "SELECT zzz FROM customers"}, Concluded),
        (RepairPolicy.OFF, PLAIN, Concluded),
    ],
)
@pytest.mark.requirement("000.16")
async def test_the_policy_says_who_repairs_a_models_statement(
    policy: RepairPolicy | None, broken: dict[str, Any], follows: type
) -> None:
    code = FailureCode.SYNTAX_ERROR if broken is PLAIN else FailureCode.COLUMN_NOT_FOUND
    after = await recovered(failure_event(code, options=Options(repair_policy=policy), **broken))
    assert isinstance(after.body, follows)


def test_a_cap_fixes_the_policy_whatever_is_asked_for() -> None:
    asked = Options(repair_policy=RepairPolicy.RULES_FIRST)
    assert cap(asked, OptionCaps()).repair_policy is RepairPolicy.RULES_FIRST
    assert cap(asked, OptionCaps(repair_policy=RepairPolicy.OFF)).repair_policy is RepairPolicy.OFF


async def test_without_a_model_an_assumed_repair_is_tried_and_says_so() -> None:
    after = await recovered(
        failure_event(FailureCode.COLUMN_NOT_FOUND, sql=TYPO["sql"], facts=TYPO["facts"], origin=Origin.BUILTIN)
    )
    assert isinstance(after.body, Drafted)
    assert after.body.draft.origin is Origin.RULE
    assert after.body.notes == ("Assumption: citty was read as city.",)
    assert after.body.analysis.confidence is not None
    assert after.body.analysis.confidence < 0.7


@pytest.mark.parametrize(
    "code", [FailureCode.MODEL_UNAVAILABLE, FailureCode.UNKNOWN_GENERATION_FAILURE, FailureCode.SAME_SQL]
)
async def test_where_a_model_gives_no_further_draft_its_last_one_is_repaired(code: FailureCode) -> None:
    last = Attempt(
        origin=Origin.MODEL, sql=TYPO["sql"], stage=StageName.VALIDATOR, code=FailureCode.COLUMN_NOT_FOUND, detail="x"
    )
    # A reply without SQL may be followed by one with it.
    for generation in (2,) if TRAITS[code].to_model else (1, 2):
        silent = after_silence(failure_event(code, sql=None, earlier=(last,), generation=generation))
        after = await recovered(silent)
        assert isinstance(after.body, Drafted)
        assert after.body.draft.sql == "SELECT city FROM customers"
        assert after.body.notes


def after_silence(event: Envelope[Failed]) -> Envelope[Failed]:
    """The event as the generator publishes it: its body still has the draft that was returned to the model."""
    draft = Draft(sql=event.attempts[-1].sql, dialect=Dialect.SQLITE, origin=Origin.MODEL)
    body = event.body.model_copy(update={"draft": draft, "stage": StageName.GENERATOR})
    return event.model_copy(update={"body": body, "path": (step(StageName.GENERATOR, EventName.FAILED),)})


def step(stage: StageName, event: EventName) -> PathStep:
    return PathStep(stage=stage, event=event, started_at=NOW, ended_at=NOW)


@pytest.mark.parametrize(
    ("last_of_generator", "follows"), [(EventName.FAILED, Concluded), (EventName.DRAFTED, Returned)]
)
async def test_a_model_that_gave_no_further_draft_is_not_asked_again_when_the_repair_fails(
    last_of_generator: EventName, follows: type
) -> None:
    first = Attempt(
        origin=Origin.MODEL,
        sql="SELECT zzz FROM customers",
        stage=StageName.VALIDATOR,
        code=FailureCode.COLUMN_NOT_FOUND,
    )
    event = failure_event(
        FailureCode.COLUMN_NOT_FOUND,
        sql="SELECT yyy FROM customers",
        origin=Origin.RULE,
        earlier=(first,),
        generation=1,
        path=(step(StageName.GENERATOR, last_of_generator), step(StageName.RECOVERY, EventName.DRAFTED)),
    )
    assert isinstance((await recovered(event)).body, follows)


@pytest.mark.parametrize(("doubt", "outcome"), [(3.0, Outcome.CLARIFICATION), (2.0, None)])
def test_a_repair_that_is_hardly_ever_right_is_asked_about_and_not_run(doubt: float, outcome: Outcome | None) -> None:
    event = failure_event(FailureCode.COLUMN_NOT_FOUND, sql=TYPO["sql"], origin=Origin.BUILTIN)
    step_ = Candidate(RuleName.RENAME_COLUMN, "SELECT city FROM customers", keeps_meaning=False, doubt=doubt)
    after = decide(
        event,
        Failure.of(FailureCode.COLUMN_NOT_FOUND),
        (Repair(step_.sql, (step_,)),),
        GUIDANCE["en"],
        draft=event.body.draft,
        remaining_ms=60_000,
    )
    assert (after.body.outcome if isinstance(after.body, Concluded) else None) is outcome


async def test_a_repeated_draft_that_no_rule_repairs_ends_with_why_it_failed() -> None:
    last = Attempt(
        origin=Origin.MODEL, sql="SELECT * FROM nowhere_at_all", code=FailureCode.TABLE_NOT_FOUND, detail="not there"
    )
    after = await recovered(failure_event(FailureCode.SAME_SQL, sql=None, earlier=(last,), stage=StageName.GENERATOR))
    assert isinstance(after.body, Concluded)
    assert after.body.code is FailureCode.TABLE_NOT_FOUND
    assert "not there" in after.body.detail


async def test_a_last_draft_is_repaired_by_the_name_that_only_the_engine_missed() -> None:
    # The sub-query's own table has no such column, the outer one has: to the catalog all is well.
    sql = "SELECT city FROM customers WHERE id = (SELECT id FROM visits GROUP BY id)"
    visits = Table(
        name="visits",
        columns=(Column(name="visitor", type="INTEGER", kind=ColumnKind.INTEGER),),
        foreign_keys=(ForeignKey(columns=("visitor",), referred_table="customers", referred_columns=("id",)),),
    )
    customers = CATALOG.tables[0].model_copy(update={"primary_key": ("id",)})
    known = CATALOG.model_copy(update={"tables": (customers, visits)})
    tried = Attempt(origin=Origin.MODEL, sql=sql, code=FailureCode.COLUMN_NOT_FOUND, detail="no such column", name="id")
    event = failure_event(FailureCode.MODEL_UNAVAILABLE, sql=None, earlier=(tried,), stage=StageName.GENERATOR)
    after = await recovered(event, Catalogs({"shop": known}))
    assert isinstance(after.body, Drafted)
    assert "SELECT visitor FROM visits" in after.body.draft.sql


async def test_a_model_without_retries_left_gets_its_draft_repaired_and_marked() -> None:
    after = await recovered(
        failure_event(FailureCode.COLUMN_NOT_FOUND, sql=TYPO["sql"], facts=TYPO["facts"], generation=2)
    )
    assert isinstance(after.body, Drafted)
    assert after.body.draft.origin is Origin.RULE
    assert after.body.analysis.confidence is not None


async def test_a_persons_own_statement_is_never_changed_but_reported_how_it_would_pass() -> None:
    for facts_and_sql in (TYPO, ALIAS):
        after = await recovered(failure_event(FailureCode.COLUMN_NOT_FOUND, origin=Origin.USER, **facts_and_sql))
        assert isinstance(after.body, Concluded)
        assert after.body.outcome is Outcome.FAILED
        assert after.body.sql == facts_and_sql["sql"]
        assert "SELECT" in after.body.detail.removeprefix("no such thing")


@pytest.mark.parametrize(
    ("rules_in_a_row", "repair", "goes_on"),
    [
        (REPAIRS_PER_FAILURE_MAX - 1, 2, True),
        (REPAIRS_PER_FAILURE_MAX, 3, False),
        (0, REPAIRS_PER_QUERY_MAX - 1, True),
        (0, REPAIRS_PER_QUERY_MAX, False),
    ],
)
async def test_repairs_are_bounded_per_failure_and_per_query(rules_in_a_row: int, repair: int, goes_on: bool) -> None:
    earlier = (
        Attempt(origin=Origin.BUILTIN, sql="SELECT a FROM customers"),
        *(Attempt(origin=Origin.RULE, sql=f"SELECT a{n} FROM customers") for n in range(rules_in_a_row)),
    )
    origin = Origin.RULE if rules_in_a_row else Origin.BUILTIN
    after = await recovered(
        failure_event(
            FailureCode.COLUMN_NOT_FOUND,
            sql=TYPO["sql"],
            facts=TYPO["facts"],
            origin=origin,
            earlier=earlier[: len(earlier) - (1 if rules_in_a_row else 0)],
            repair=repair,
        )
    )
    assert isinstance(after.body, Drafted if goes_on else Concluded)


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("SELECT citty FROM customers", "SELECT city FROM customers"),
        ("SELECT c.city FROM customer AS c", "SELECT c.city FROM customers AS c"),
        ("SELECT customers.city FROM customers AS c", "SELECT c.city FROM customers AS c"),
        ("SELECT COUNT(* FROM customers", "SELECT COUNT(*) FROM customers"),
        ("Sure: SELECT city FROM customers;", "SELECT city FROM customers"),
        (
            "SELECT id FROM customers AS a JOIN customers AS b ON a.id = b.id",
            "SELECT a.id FROM customers AS a JOIN customers AS b ON a.id = b.id",
        ),
    ],
)
async def test_what_the_validator_reports_of_a_failure_is_enough_for_the_rules(broken: str, mended: str) -> None:
    refused = check(broken, dialect=Dialect.SQLITE, catalog=CATALOG, policy=ConnectionPolicy(), row_limit=10)
    assert isinstance(refused, Failure)
    after = await recovered(failure_event(refused.code, sql=broken, facts=refused.facts, origin=Origin.BUILTIN))
    assert isinstance(after.body, Drafted)
    assert after.body.draft.sql == mended


async def test_a_repair_that_was_tried_before_is_not_tried_again() -> None:
    earlier = (
        Attempt(origin=Origin.BUILTIN, sql="SELECT x FROM customers"),
        Attempt(origin=Origin.RULE, sql="select city from customers"),
    )
    after = await recovered(
        failure_event(
            FailureCode.COLUMN_NOT_FOUND,
            sql=TYPO["sql"],
            facts=TYPO["facts"],
            origin=Origin.BUILTIN,
            earlier=earlier,
        )
    )
    assert isinstance(after.body, Concluded)


async def test_a_query_that_began_with_a_confirmation_is_never_repaired_nor_returned() -> None:
    path = (PathStep(stage="gateway", event=EventName.CONFIRMED, started_at=1, ended_at=2),)
    for code in FailureCode:
        after = await recovered(failure_event(code, sql=ALIAS["sql"], facts=ALIAS["facts"], path=path))
        assert isinstance(after.body, Concluded)


@pytest.mark.requirement("004.8")
async def test_clarify_first_asks_the_person_when_the_execution_failed() -> None:
    options = Options.model_validate({"on_execution_failure": "clarify_first"})
    after = await recovered(failure_event(FailureCode.TYPE_MISMATCH, stage=StageName.EXECUTOR, options=options))
    assert isinstance(after.body, Concluded)
    assert after.body.outcome is Outcome.CLARIFICATION
    assert after.body.clarification is not None
    assert after.body.clarification.trigger is Trigger.SQL_EXECUTION_ERROR
    before_execution = await recovered(failure_event(FailureCode.TYPE_MISMATCH, options=options))
    assert isinstance(before_execution.body, Returned)


@pytest.mark.parametrize("code", [FailureCode.TIMEOUT, FailureCode.PERMISSION])
@pytest.mark.requirement("004.8")
async def test_clarify_first_asks_about_a_time_out_and_a_missing_right(code: FailureCode) -> None:
    options = Options.model_validate({"on_execution_failure": "clarify_first"})
    after = await recovered(failure_event(code, stage=StageName.EXECUTOR, options=options))
    assert isinstance(after.body, Concluded)
    assert (after.body.outcome, after.body.code) == (Outcome.CLARIFICATION, code)
    # Without the option they end as ever, and a change that was confirmed is never offered again.
    ended = await recovered(failure_event(code, stage=StageName.EXECUTOR))
    assert isinstance(ended.body, Concluded)
    assert ended.body.outcome is not Outcome.CLARIFICATION
    path = (PathStep(stage="gateway", event=EventName.CONFIRMED, started_at=1, ended_at=2),)
    confirmed = await recovered(failure_event(code, stage=StageName.EXECUTOR, options=options, path=path))
    assert isinstance(confirmed.body, Concluded)
    assert confirmed.body.outcome is not Outcome.CLARIFICATION


async def test_without_a_catalog_a_model_still_gets_advice() -> None:
    after = await recovered(failure_event(FailureCode.COLUMN_NOT_FOUND), Catalogs(known={}))
    assert isinstance(after.body, Returned)
    assert advice_of(after.body).candidates_sql == ()


async def test_what_no_rule_may_repair_reads_no_catalog() -> None:
    catalogs = Catalogs()
    await recovered(failure_event(FailureCode.CONNECTION), catalogs)
    assert catalogs.reads == 0


async def test_recoverys_own_failure_is_an_end_that_keeps_the_statement() -> None:
    after = conclude_failed(failure_event(FailureCode.COLUMN_NOT_FOUND), Failure.of(FailureCode.INTERNAL, "ValueError"))
    assert after.event is EventName.CONCLUDED
    assert (after.body.outcome, after.body.code, after.body.detail) == (
        Outcome.FAILED,
        FailureCode.INTERNAL,
        "ValueError",
    )
    assert after.body.sql == "SELECT nonsense FROM customers"


async def test_an_error_is_sent_in_one_line_without_escapes_and_secrets() -> None:
    raw = "\x1b[4mboom\x1b[0m\n at postgresql://bob:hunter2@db/x " + "y" * 5_000
    cleaned = clean_error(raw)
    assert cleaned.startswith("boom at postgresql://bob:[redacted]@db/x")
    assert len(cleaned) <= 600
    after = await recovered(failure_event(FailureCode.TYPE_MISMATCH, detail=raw[:1_000]))
    assert isinstance(after.body, Returned)
    assert "hunter2" not in advice_of(after.body).detail


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.requirement("003.17")
def test_every_code_that_goes_back_has_its_guidance_and_every_rule_its_note(language: str) -> None:
    texts = GUIDANCE[language]  # type: ignore[index]
    assert set(texts.by_code) == {"other", *(code for code in FailureCode if TRAITS[code].to_model)}
    assert set(texts.notes) == set(RuleName)
    assert set(texts.details) == set(GUIDANCE["en"].details)
    assert texts.instruction in texts.advice(FailureCode.INTERNAL)


SQL = st.sampled_from(
    [
        "SELECT city FROM customers",
        "SELECT citty FROM customers",
        "SELECT customers.city FROM customers AS c",
        "SELECT cty FROM custmers",
        "```sql\nSELECT city FROM customers\n```",
        "SELECT COUNT(* FROM customers",
        "not sql at all '",
        "",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 5))
@pytest.mark.requirement("000.37", "003.19")
async def test_recovery_ends_whatever_fails_in_whatever_order(data: st.DataObject, retries_max: int) -> None:
    codes = st.sampled_from(list(FailureCode))
    names = st.sampled_from(["citty", "city", "custmers", "nonsense"])
    envelope = failure_event(data.draw(codes), sql=data.draw(SQL), options=Options(retries_max=retries_max))
    steps = 0
    while True:
        after = await recovered(envelope)
        if isinstance(after.body, Concluded):
            break
        steps += 1
        assert steps <= retries_max + REPAIRS_PER_QUERY_MAX
        event = after
        if isinstance(after.body, Returned):
            draft = Draft(sql=data.draw(SQL), dialect=Dialect.SQLITE, origin=Origin.MODEL)
            event = drafted(after, Drafted(draft=draft, operation=after.body.operation))
        failure = Failure.of(data.draw(codes), "x", Facts(name=data.draw(names)))
        envelope = failed(event, failure, StageName.VALIDATOR)
    assert after.retries.generation <= retries_max
    assert after.retries.mend <= REPAIRS_PER_QUERY_MAX


@pytest.mark.parametrize("policy", ["rules_first", "model_first"])
async def test_a_second_draft_goes_with_what_follows_a_failure(policy: RepairPolicy):
    analysis = Analysis(model="m", second_reading="Cities.", second_confidence=0.9, agreement=Agreement.SAME_STATEMENT)
    envelope = failure_event(FailureCode.COLUMN_NOT_FOUND, sql="SELECT citty FROM customers", facts=Facts(name="citty"))
    changes = {"analysis": analysis, "alternative_sql": "SELECT city FROM customers AS c"}
    envelope = envelope.with_body(envelope.body.model_copy(update=changes), options=Options(repair_policy=policy))
    after = (await recovered(envelope)).body
    assert isinstance(after, Drafted if policy == "rules_first" else Returned)
    assert after.alternative_sql == "SELECT city FROM customers AS c"
    assert (after.analysis.model, after.analysis.second_reading) == ("m", "Cities.")
    if isinstance(after, Drafted):
        assert after.analysis.agreement is None, "the statement that both wrote is not the one that runs now"


@pytest.mark.parametrize(
    ("changes", "is_read"),
    [
        ({}, True),
        ({"origin": Origin.USER}, False),
        ({"policy": "off"}, False),
        ({"code": FailureCode.SAFETY}, False),
        ({"second": None}, False),
        ({"reading": ""}, False),
        ({"earlier": (Attempt(origin=Origin.BUILTIN, sql="SELECT city FROM customers"),)}, False),
    ],
    ids=["a model's", "a person's", "no repair wanted", "refused", "none", "not read", "tried"],
)
async def test_where_no_rule_has_anything_the_translators_reading_is_better_than_nothing(
    changes: dict[str, Any], is_read: bool
):
    envelope = failure_event(
        changes.get("code", FailureCode.TABLE_NOT_FOUND),
        sql="SELECT zzz FROM qqq",
        origin=changes.get("origin", Origin.MODEL),
        facts=Facts(name="qqq"),
        earlier=changes.get("earlier", ()),
        options=Options(repair_policy=changes.get("policy", "rules_only")),
    )
    analysis = Analysis(
        column_labels=("Z",), second_reading=changes.get("reading", "Cities."), second_confidence=0.9, model="m"
    )
    second = changes.get("second", "SELECT city FROM customers")
    after = await recovered(
        envelope.with_body(envelope.body.model_copy(update={"analysis": analysis, "alternative_sql": second}))
    )
    if not is_read:
        assert not isinstance(after.body, Drafted)
        return
    assert isinstance(after.body, Drafted)
    assert (after.body.draft.sql, after.body.draft.origin) == ("SELECT city FROM customers", Origin.BUILTIN)
    assert (after.body.analysis.reading, after.body.analysis.confidence) == ("Cities.", 0.9)
    assert (after.body.analysis.column_labels, after.body.alternative_sql) == ((), None)
    again = await recovered(
        failed(after, Failure.of(FailureCode.TABLE_NOT_FOUND, "no such table"), StageName.VALIDATOR)
    )
    assert not isinstance(again.body, Drafted), "it is tried once"


async def test_words_that_the_reading_passes_over_are_asked_about_instead_of_answered():
    envelope = failure_event(
        FailureCode.TABLE_NOT_FOUND,
        sql="SELECT zzz FROM qqq",
        origin=Origin.MODEL,
        facts=Facts(name="qqq"),
        options=Options(repair_policy=RepairPolicy.RULES_ONLY),
    )
    analysis = Analysis(second_reading="Cities.", second_confidence=0.9, second_unread=("wobbly",), model="m")
    changes = {"analysis": analysis, "alternative_sql": "SELECT city FROM customers"}
    after = await recovered(envelope.with_body(envelope.body.model_copy(update=changes)))
    assert isinstance(after.body, Concluded)
    asked = after.body.clarification
    assert (after.body.outcome, asked and asked.about) == (Outcome.CLARIFICATION, "wobbly")
    assert asked is not None
    assert [(option.text, option.question) for option in asked.options] == [("Cities.", "Cities.")]
