"""Claims on settings, logs, metrics and traces."""

import json
import logging
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from querybus.core.catalog import Dialect
from querybus.core.envelope import Attempt, Envelope
from querybus.core.failure import FailureCode
from querybus.core.messages import Answer, Finished, Origin, Outcome
from querybus.core.subjects import EventName, StageName
from querybus.ops.log import configure_logging, get_log, redact_event, redact_text
from querybus.ops.metrics import TABLE, Metrics, pass_of
from querybus.ops.settings import ServiceSettings, load
from querybus.ops.trace import Tracing, call_span, database_attributes, model_attributes, statement_content


def finished(outcome: Outcome, attempts: int) -> Envelope[Finished]:
    return Envelope[Finished](
        event=EventName.FINISHED,
        query_id="q",
        thread_id="t",
        tenant="acme",
        user="ann",
        audience="analyst",
        connection="shop",
        question="How many?",
        language="en",
        asked_at=1_000,
        deadline_at=61_000,
        attempts=tuple(
            Attempt(origin=Origin.MODEL, sql=f"SELECT {n}", executed=n == attempts - 1) for n in range(attempts)
        ),
        body=Finished(answer=Answer(outcome=outcome, language="en", message="Done.")),
    )


@pytest.mark.parametrize(
    ("outcome", "attempts", "expected"),
    [
        (Outcome.ANSWERED, 1, "first"),
        (Outcome.ANSWERED, 2, "retry"),
        (Outcome.FAILED, 1, "first"),
        (Outcome.FAILED, 3, "retry"),
        (Outcome.FAILED, 0, "none"),
        (Outcome.REPLIED, 0, "none"),
        (Outcome.CLARIFICATION, 0, "none"),
        (Outcome.REFUSED, 1, "none"),
        (Outcome.EXPIRED, 1, "none"),
    ],
)
@pytest.mark.requirement("003.21", "003.22", "card.17")
def test_a_query_counts_in_the_denominator_of_its_attempts(outcome: Outcome, attempts: int, expected: str) -> None:
    assert pass_of(finished(outcome, attempts)) == expected


@pytest.mark.requirement("002.61")
def test_a_finished_query_is_counted_by_outcome_pass_tenant_and_attempt() -> None:
    metrics = Metrics("presenter")
    metrics.query_finished(finished(Outcome.ANSWERED, 2), now_ms=3_500)
    assert metrics.value("querybus_queries_total", outcome="answered", **{"pass": "retry"}) == 1
    assert metrics.value("querybus_tenant_queries_total", tenant="acme", outcome="answered") == 1
    assert metrics.value("querybus_sql_attempts_total", attempt="first", outcome="failure") == 1
    assert metrics.value("querybus_sql_attempts_total", attempt="retry", outcome="success") == 1
    assert metrics.value("querybus_query_seconds_sum", outcome="answered") == 2.5


def test_a_repair_is_counted_by_origin_and_rule_and_again_when_its_answer_is_called_wrong() -> None:
    metrics = Metrics("presenter")
    by_model = finished(Outcome.ANSWERED, 2)
    by_rule = by_model.model_copy(
        update={
            "attempts": (
                by_model.attempts[0],
                Attempt(
                    origin=Origin.RULE,
                    sql="SELECT 2",
                    executed=True,
                    rules=("join_owner", "rename_column", "from_afar"),
                ),
            )
        }
    )
    for item in (by_model, by_rule):
        metrics.query_finished(item, now_ms=3_500)

    def counted(origin: str, rule: str, outcome: str) -> float | None:
        return metrics.value("querybus_repairs_total", origin=origin, rule=rule, outcome=outcome)

    assert counted("model", "none", "success") == 1
    assert counted("rule", "join_owner", "success") == 1
    assert counted("rule", "rename_column", "success") == 1
    assert counted("rule", "join_owner", "contradicted") == 0
    assert "from_afar" not in metrics.exposition().decode()
    metrics.contradicted(by_rule)
    metrics.contradicted(finished(Outcome.ANSWERED, 1))
    assert counted("rule", "join_owner", "contradicted") == 1
    assert counted("model", "none", "contradicted") == 0


@pytest.mark.requirement("003.23")
def test_every_combination_of_closed_enums_exists_before_anything_happened() -> None:
    text = Metrics("executor").exposition().decode()
    assert 'querybus_queries_total{outcome="answered",pass="first"} 0.0' in text
    assert f'querybus_failures_total{{code="{FailureCode.TIMEOUT}",stage="{StageName.EXECUTOR}"}} 0.0' in text


def test_no_metric_bears_a_label_without_bounds() -> None:
    labels = {label for row in TABLE for label in row.labels}
    assert labels.isdisjoint({"query", "question", "subject", "table", "user", "sql"})


def test_a_secret_never_reaches_a_log_line() -> None:
    event = redact_event(
        None, "", {"event": "x", "api_key": "sk-verysecret1", "detail": "mysql://u:pw@h and qb.acme.ann.s3cret"}
    )
    assert "pw" not in json.dumps(event)
    assert "s3cret" not in json.dumps(event)
    assert "sk-verysecret1" not in json.dumps(event)
    assert redact_text("plain words stay") == "plain words stay"


def test_a_setting_is_read_from_the_environment_and_a_bad_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYBUS_SLOTS", "3")
    assert load(ServiceSettings).slots == 3
    monkeypatch.setenv("QUERYBUS_SLOTS", "none")
    with pytest.raises(ValueError, match="slots"):
        load(ServiceSettings)


def test_a_secret_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "querybus_nats_password").write_text("from-file")
    monkeypatch.setenv("QUERYBUS_SECRETS_DIR", str(tmp_path))
    assert load(ServiceSettings).nats_password.get_secret_value() == "from-file"


@pytest.mark.requirement("002.61")
def test_a_trace_goes_on_over_a_hop() -> None:
    first, second = Tracing("gateway", ratio=1.0), Tracing("generator", ratio=1.0)
    headers: dict[str, str] = {}
    with first.span("gateway") as before:
        first.inject(headers)
    with second.span("generator", headers) as after:
        assert after.get_span_context().trace_id == before.get_span_context().trace_id


class Kept(SpanProcessor):
    """Keeps every span that ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


UNSAMPLED = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-00"}


def test_what_is_not_sampled_is_passed_on_and_makes_no_span() -> None:
    kept, headers = Kept(), dict[str, str]()
    tracing = Tracing("generator", ratio=1.0, processor=kept)
    with tracing.span("generator", UNSAMPLED):
        tracing.inject(headers)
        with call_span("chat m", model_attributes("m")) as call:
            assert not call.is_recording()
    assert headers == UNSAMPLED
    assert kept.spans == []


def test_a_failure_is_kept_from_where_it_happened_also_if_its_trace_was_not_sampled() -> None:
    kept, headers = Kept(), dict[str, str]()
    first, second = Tracing("validator", ratio=0, processor=kept), Tracing("recovery", ratio=0, processor=kept)
    with first.span("validator", UNSAMPLED), first.kept("validator", "column_not_found"):
        first.inject(headers)
    with second.span("recovery", headers):
        pass
    assert [span.name for span in kept.spans] == ["validator", "recovery"]
    assert {format(span.context.trace_id, "032x") for span in kept.spans if span.context} == {"ab" * 16}
    assert (kept.spans[0].attributes or {})["error.type"] == "column_not_found"
    assert not kept.spans[0].status.is_ok
    assert headers["traceparent"].endswith("-01")


def test_a_sampled_failure_needs_no_second_span() -> None:
    kept = Kept()
    tracing = Tracing("validator", ratio=1.0, processor=kept)
    with tracing.span("validator"), tracing.kept("validator", "syntax_error"):
        pass
    assert [span.name for span in kept.spans] == ["validator"]
    assert (kept.spans[0].attributes or {})["error.type"] == "syntax_error"


def test_without_anywhere_to_send_it_nothing_is_kept() -> None:
    tracing, headers = Tracing("validator", ratio=0), dict[str, str]()
    with tracing.span("validator", UNSAMPLED), tracing.kept("validator", "syntax_error"):
        tracing.inject(headers)
    assert headers == UNSAMPLED


@pytest.mark.parametrize("with_content", [True, False])
def test_a_statement_is_in_a_span_only_where_content_is_switched_on(with_content: bool) -> None:
    kept = Kept()
    tracing = Tracing("executor", ratio=1.0, processor=kept, with_content=with_content)
    with (
        tracing.span("executor"),
        call_span(
            "execute shop", database_attributes(Dialect.POSTGRESQL, "shop", "execute"), content=statement_content("S")
        ),
    ):
        pass
    result = dict(kept.spans[0].attributes or {})
    assert result["db.system.name"] == "postgresql"
    assert ("db.query.text" in result) == with_content


@pytest.mark.parametrize("header", ["", "nonsense", f"00-{'0' * 32}-{'cd' * 8}-01", f"00-{'ab' * 16}-{'0' * 16}-01"])
def test_a_parent_that_cannot_be_begins_a_trace_of_its_own(header: str) -> None:
    kept = Kept()
    with Tracing("gateway", ratio=1.0, processor=kept).span("gateway", {"traceparent": header}):
        pass
    assert kept.spans[0].parent is None


def test_flags_other_than_sampled_do_not_hide_it() -> None:
    kept = Kept()
    with Tracing("gateway", ratio=0, processor=kept).span("gateway", {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-03"}):
        pass
    assert len(kept.spans) == 1


def test_a_logged_exception_shows_frames_but_no_locals(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.handlers
    configure_logging("info")
    planted = "SELECT planted_secret"
    try:
        planted.index("nowhere in it")
    except ValueError:
        get_log("test").exception("test.failed")
    finally:
        # The handler writes to this test's captured stream, which is closed after it.
        root.handlers = before
    line = capsys.readouterr().err
    assert "ValueError" in line
    assert "planted_secret" not in line
