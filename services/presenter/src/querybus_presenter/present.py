"""concluded -> finished: the outcome phrased for its reader, in the reader's language, with ways on.

The outcome on the log is never changed. For business readers whatever produced a text, it is checked before it
leaves, and the template stands in for what gives something away; without a catalog nothing that a model or a
generator phrased is shown, because it cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, TypeVar

from sqlglot import exp

from querybus.core.asking_back import Clarification, Option, Trigger
from querybus.core.catalog import Catalog
from querybus.core.envelope import Delivery, Envelope
from querybus.core.failure import FailureCode, ModelTrouble
from querybus.core.messages import (
    Answer,
    AnswerColumn,
    ColumnFormat,
    Concluded,
    Finished,
    FormatKind,
    Origin,
    Outcome,
    Reading,
    Result,
)
from querybus.core.stored.choices import Choices
from querybus.sql.check import NOT_ASKED_NOTE
from querybus.sql.write import is_change
from querybus.text.language import grammar_faults
from querybus.text.plain_answer import plain_finished
from querybus.text.rows.masking import seen_result, unmasked
from querybus_presenter.charts.chart import Drawn, chart
from querybus_presenter.charts.shape import Shape, shape_of
from querybus_presenter.confidence import confidence_of
from querybus_presenter.doubts import Doubt, doubts
from querybus_presenter.formats.columns import column_formats
from querybus_presenter.ports import Catalogs, ChoicesOf
from querybus_presenter.summaries.cut_ends import Days, days_of
from querybus_presenter.summaries.headline import first_sentence, headline
from querybus_presenter.summaries.model_summary import Summarizer
from querybus_presenter.summaries.summary import summary
from querybus_presenter.whole_result import Pages, whole_result
from querybus_presenter.wording.absent import is_nothing, why_nothing
from querybus_presenter.wording.confirmation import asking, done, next_step
from querybus_presenter.wording.disclosed import discloses, is_quotable
from querybus_presenter.wording.explain import assurance, counted
from querybus_presenter.wording.labels import distinct_names, is_neutral, labels
from querybus_presenter.wording.lineage import Lineage, lineage
from querybus_presenter.wording.notes import authorship, failed_step, notes_of
from querybus_presenter.wording.options import (
    OFFERING,
    OPTIONS_MAX,
    OPTIONS_MIN,
    Subject,
    class_of,
    options,
    trigger_of,
)
from querybus_presenter.wording.phrases import column_phrases
from querybus_presenter.wording.reading import reading, with_carried
from querybus_presenter.wording.statement import is_plan, read, tables_read
from querybus_presenter.wording.texts import Texts, Words

_EXPLAINED: Final = (Outcome.ANSWERED, Outcome.PREPARED)
_NOTHING_CHOSEN: Final = Choices()
_NOTHING: Final = Result(columns=(), rows=(), row_count=0)
_VALUE_ERRORS: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_MadeT = TypeVar("_MadeT")
LeftOut = Callable[[str, Exception], None]
"""Receives which part an answer goes without, and the error that is the reason."""


async def present(
    envelope: Envelope[Concluded],
    delivery: Delivery,
    *,
    catalogs: Catalogs,
    words: Words,
    pages: Pages | None = None,
    summarizer: Summarizer | None = None,
    choices: ChoicesOf | None = None,
    left_out: LeftOut = lambda _part, _error: None,
) -> Envelope[Finished]:
    """Return the finished event; needs no catalog, but has better labels with one.

    `choices` say which options come first. With pages the facts of a long result are those of all its rows. With a summarizer the summary of an answer is put in a model's words, where those pass every check.
    """
    catalog = await catalogs.read(envelope.connection)
    wants_facts = envelope.options.summary or envelope.options.chart == "auto"
    whole = await whole_result(envelope, pages) if pages is not None and wants_facts else None
    chosen = _NOTHING_CHOSEN
    if choices is not None and envelope.body.outcome in OFFERING:
        chosen = await choices.read(envelope.tenant, envelope.user)
    finished = render(envelope, catalog, words[envelope.language, envelope.audience], left_out, whole, chosen)
    is_change = envelope.body.rows_affected is not None
    if summarizer is None or envelope.body.result is None or is_change or not envelope.options.summary:
        return finished
    return await summarizer.report(finished, envelope.body.result, catalog, now_ms=delivery.now_ms)


def render(
    envelope: Envelope[Concluded],
    catalog: Catalog | None,
    texts: Texts,
    left_out: LeftOut = lambda _part, _error: None,
    whole: Result | None = None,
    chosen: Choices = _NOTHING_CHOSEN,
) -> Envelope[Finished]:
    """Return the finished event of a conclusion; facts and picture are of the `whole` result, where it is at hand."""
    if envelope.body.result is not None:
        seen = seen_result(envelope.body.result, envelope.audience)
        envelope = envelope.with_body(envelope.body.model_copy(update={"result": seen}))
    whole = None if whole is None else seen_result(whole, envelope.audience)
    context = _Context(envelope, catalog, texts, left_out, whole, chosen)
    finished = context.finished()
    if context.is_business and _gives_away(finished.answer, context):
        return plain_finished(envelope)
    return envelope.with_body(finished)


@dataclass(frozen=True, slots=True)
class _Context:
    """One conclusion with all that words it."""

    envelope: Envelope[Concluded]
    catalog: Catalog | None
    texts: Texts
    left_out: LeftOut
    whole: Result | None
    chosen: Choices

    @property
    def is_business(self) -> bool:
        return self.envelope.audience == "business"

    @property
    def tables(self) -> tuple[str, ...]:
        analysis = self.envelope.body.analysis
        return tuple(dict.fromkeys((*analysis.tables, *(link.table for link in analysis.links))))

    def may_say(self, text: str | None) -> bool:
        """Whether a text that is no template may be shown to this reader."""
        if not text or not text.strip():
            return False
        if not self.is_business:
            return True
        return self.catalog is not None and not self.discloses(text)

    def discloses(self, text: str) -> bool:
        """Whether a text gives a technical name away that this business reader has not used."""
        return discloses(text, self.catalog, self.envelope.question, self.envelope.body.analysis)

    def finished(self) -> Finished:
        body = self.envelope.body
        result = body.result or _NOTHING
        names = tuple(column.name for column in result.columns)
        is_answer = body.outcome is Outcome.ANSWERED
        explains = is_answer and is_plan(body.sql)
        is_change = is_answer and (body.rows_affected is not None or body.result is None)
        tree = self._tree()
        spoken = self._labels(result, self._draft_tree()) if self.is_business or is_answer else names
        shown, formats = self._formats(result, spoken if self.is_business else names)
        # Of a change there is its count to say, once.
        is_reported = is_answer and not is_change and not explains
        shape = self._shape(result, shown, formats) if is_reported else None
        is_explained = body.outcome in _EXPLAINED and not is_change and not explains
        labelled = (shown if self.is_business else spoken) if is_answer else ()
        read_as = (
            self._or_none("reading", lambda: self._reading(self._draft_tree(), labelled)) if is_explained else None
        )
        reported = self._summary(result, shape, labelled, tree, self._spoken(read_as, labelled)) if is_reported else ""
        drawn = self._chart(shape, first_sentence(read_as.text, self.texts) if read_as else "")
        doubtful = (
            (self._or_none("doubts", lambda: self._doubts(self._draft_tree(), result)) or ()) if is_reported else ()
        )
        clarification = body.clarification
        answer = Answer(
            outcome=body.outcome,
            language=self.texts.language,
            code=body.code,
            message=reported if is_reported else self.texts.summary["plan"] if explains else self._message(),
            next_step=self._next_step(result) if is_reported else next_step(body, self.texts),
            options=(offered := self._options(clarification)),
            trigger=clarification.trigger
            if clarification
            else (trigger_of(body.outcome, body.code) if offered else None),
            confirmation=body.confirmation
            if not self.is_business or body.confirmation is None
            else body.confirmation.without_names(),
            rows_affected=body.rows_affected,
            columns=self._columns(result, shown, formats),
            row_count=result.row_count,
            truncated=result.truncated,
            total_count=result.total_count,
            total_is_estimate=result.total_is_estimate,
            pages=result.pages,
            summary=reported,
            chart=drawn.spec if drawn else None,
            notes=(
                *notes_of(self.envelope, result, doubtful, self.texts, self.may_say),
                *(drawn.notes if drawn else ()),
            ),
            mended=self._repaired(),
            confidence=confidence_of(self.envelope, doubtful) if is_answer else None,
            explanation=self._explanation(read_as) if is_explained else "",
            reading=read_as,
            connection_label=body.analysis.asked_of if self.may_say(body.analysis.asked_of) else "",
        )
        # The rows were checked when the conclusion was read; checking them again costs more than wording them.
        answer = answer.model_copy(update={"rows": result.rows, **authorship(self.envelope)})
        sql = body.sql or (self.envelope.attempts[-1].sql if self.envelope.attempts else None)
        return Finished(answer=answer) if self.is_business else Finished(answer=answer, sql=sql, detail=body.detail)

    def _shape(self, result: Result, shown: tuple[str, ...], formats: tuple[ColumnFormat, ...]) -> Shape | None:
        spoken_of = unmasked(self.whole or result, distinct_names(shown), self.envelope.audience)
        _, kept = unmasked(result, formats, self.envelope.audience)
        return self._or_none("shape", lambda: shape_of(*spoken_of, kept))

    def _formats(self, result: Result, labels: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[ColumnFormat, ...]]:
        """Return labels and formats that agree; without formats, texts, where the cells are not what they promise."""
        body, language = self.envelope.body, self.texts.language
        found = self._or_none(
            "formats",
            lambda: column_formats(
                body, result, labels, self.catalog, language, whole=self.whole, are_names=not self.is_business
            ),
        )
        return found or (labels, (ColumnFormat(kind=FormatKind.TEXT),) * len(labels))

    def _origins(self, result: Result) -> tuple[Lineage, ...]:
        body = self.envelope.body
        if self.catalog is None or not result.columns or body.sql is None:
            return ()
        return lineage(body.sql, body.dialect or self.catalog.dialect, self.catalog)

    def _next_step(self, result: Result) -> str:
        """Return what to do about an answer; of one that found nothing, which value does not occur."""
        if is_nothing(result):
            absent = self._or_none(
                "next_step",
                lambda: why_nothing(self._draft_tree(), self.catalog, self.texts, with_names=not self.is_business),
            )
            if absent is not None and self.may_say(absent):
                return absent
        return self.texts.next["empty" if result.row_count == 0 else Outcome.ANSWERED]

    def _columns(
        self, result: Result, shown: tuple[str, ...], formats: tuple[ColumnFormat, ...]
    ) -> tuple[AnswerColumn, ...]:
        ids = [f"c{n}" if self.is_business else column.name for n, column in enumerate(result.columns, 1)]
        form = self.texts.labels["with_unit"]
        return tuple(
            AnswerColumn(
                id=id_,
                label=form.format(label=label, unit=how.unit) if how.unit else label,
                kind=column.kind,
                format=how,
                personal=column.personal,
            )
            for id_, label, how, column in zip(ids, shown, formats, result.columns, strict=True)
        )

    def _labels(self, result: Result, tree: exp.Expr | None) -> tuple[str, ...]:
        body = self.envelope.body
        defined = body.analysis.labels
        if len(defined) == len(result.columns) > 0 and all(self.may_say(label) for label in defined):
            return defined
        phrases = self._or_none("reading", lambda: column_phrases(tree, self.catalog, self.texts)) or ()
        said = tuple(label if self.may_say(label) else "" for label in body.analysis.column_labels)
        return labels(result.columns, self.catalog, self.tables, self.texts, self._origins(result), phrases, said)

    def _message(self) -> str:
        body, texts = self.envelope.body, self.texts
        match body.outcome:
            case Outcome.CONFIRMATION if body.confirmation is not None:
                return asking(body.confirmation, texts, with_names=not self.is_business)
            case Outcome.ANSWERED:
                return done(body.rows_affected, texts)
            case Outcome.REFUSED if body.code is FailureCode.COST and self._was_change():
                return texts.confirmation["too_many"]
            case Outcome.REPLIED if body.reply and self.may_say(body.reply):
                return body.reply
            case Outcome.CLARIFICATION:
                return self._asking(body.clarification)
            case Outcome.REFUSED if body.code is None and body.refused_kind is not None:
                return self._of_code(FailureCode.SAFETY)
            case Outcome.FAILED | Outcome.REFUSED if body.code is not None:
                step = failed_step(self.envelope, texts) if body.outcome is Outcome.FAILED else ""
                return _joined(self._of_code(body.code), step, texts) if step else self._of_code(body.code)
            case outcome:
                return texts.outcome[outcome]

    def _was_change(self) -> bool:
        tried = self.envelope.attempts[-1].sql if self.envelope.attempts else ""
        dialect = self.envelope.body.dialect or (self.catalog.dialect if self.catalog else None)
        return dialect is not None and is_change(tried, dialect)

    def _asking(self, clarification: Clarification | None) -> str:
        body, texts = self.envelope.body, self.texts
        if body.code is FailureCode.LLM_EXPLANATION:
            return self._of_code(body.code)
        trigger = clarification.trigger if clarification else None
        if body.reply and is_quotable(self.envelope, body.reply) and self.may_say(body.reply):
            message = body.reply
        elif trigger is not None and (trigger is not Trigger.SQL_EXECUTION_ERROR or body.code is None):
            message = texts.trigger[trigger]
        elif body.code is not None:
            message = self._of_code(body.code)
        else:
            message = texts.outcome[Outcome.CLARIFICATION]
        about = clarification.about.strip() if clarification else ""
        read_as = clarification.read_as if clarification else ""
        if about and f"“{about}”" not in message and self.may_say(f"{about}\n{read_as}"):
            is_plain = trigger is Trigger.AMBIGUOUS_QUESTION and message == texts.trigger[trigger]
            key = "read_as" if read_as else "unclear" if is_plain else "text"
            asked = texts.about[key].format(about=about, question=read_as)
            # What is unclear is said in one line; that something is unclear goes without saying.
            message = asked if is_plain else _joined(message, asked, texts)
        return message

    def _of_code(self, code: FailureCode) -> str:
        body, texts = self.envelope.body, self.texts
        if code is FailureCode.LLM_EXPLANATION:
            if body.reply and is_quotable(self.envelope, body.reply) and self.may_say(body.reply):
                return texts.code[code].format(explanation=body.reply.strip())
            return texts.code.get("llm_explanation_plain") or texts.code[code].format(explanation="").strip()
        if code is FailureCode.MODEL_UNAVAILABLE:
            trouble = body.analysis.model_trouble or ModelTrouble.UNREACHABLE
            return _joined(texts.model_trouble[trouble], texts.model_advice[trouble], texts)
        written_by = self.envelope.attempts[-1].origin if self.envelope.attempts else None
        if code is FailureCode.SAFETY and self.is_business and written_by is Origin.MODEL:
            # The model wrote something else than was asked; that is nothing to hold against the person.
            return texts.notes["not_reading"]
        if code is FailureCode.SAFETY:
            kind = (body.refused_kind or "").strip()
            plain = texts.kinds.get(kind.upper(), texts.kinds["other"])
            return texts.code[code].format(kind=plain if self.is_business else kind or plain)
        return texts.code[code].format(connection=self.envelope.connection, cause=body.detail).strip()

    def _options(self, clarification: Clarification | None) -> tuple[Option, ...]:
        body = self.envelope.body
        given = clarification.options if clarification else ()
        own_faults = grammar_faults(self.envelope.question)
        sound = [link for link in given if grammar_faults(link.question) <= own_faults]
        result = [link for link in sound if self.may_say(f"{link.text}\n{link.question}")][:OPTIONS_MAX]
        name = class_of(body.outcome, body.code, clarification.trigger if clarification else None)
        if name is None or len(result) >= OPTIONS_MIN:
            return tuple(result)
        sql = body.sql or (self.envelope.attempts[-1].sql if self.envelope.attempts else None)
        tables = tables_read(sql, self.catalog) or self.tables
        subject = Subject(self.envelope.question, self.catalog, tables, self.texts, self.chosen)
        for option in options(name, subject):
            if len(result) < OPTIONS_MAX and grammar_faults(option.question) <= own_faults:
                result.append(option.model_copy(update={"id": _free_id(result)}))
        return tuple(result)

    def _tree(self) -> exp.Expr | None:
        return self._parsed(self.envelope.body.sql)

    def _draft_tree(self) -> exp.Expr | None:
        """Return what was drafted: a filter by which a policy narrows a reader's rows is no part of the question."""
        attempts = self.envelope.attempts
        return self._parsed(attempts[-1].sql if attempts else self.envelope.body.sql)

    def _parsed(self, sql: str | None) -> exp.Expr | None:
        body = self.envelope.body
        dialect = body.dialect or (self.catalog.dialect if self.catalog else None)
        return None if sql is None or dialect is None or body.outcome not in _EXPLAINED else read(sql, dialect)

    def _summary(
        self,
        result: Result,
        shape: Shape | None,
        spoken: tuple[str, ...],
        tree: exp.Expr | None,
        read_as: Reading | None,
    ) -> str:
        if shape is None:
            return headline(result.row_count, spoken, self.texts)
        # An analyst's column that has no name for people is called by its own.
        called = [
            facet.name
            if is_neutral(label, self.texts) and not self.is_business and facet.name.isidentifier()
            else label
            for facet, label in zip(shape.facets, unmasked(result, spoken, self.envelope.audience)[1], strict=True)
        ]
        title = first_sentence(read_as.text, self.texts) if read_as else ""
        plain = headline(result.row_count, called, self.texts, shape=shape, title=title)
        if not self.envelope.options.summary:
            return plain
        plural = counted(tree, self.catalog, self.texts)
        said = read_as and read_as.model_copy(update={"text": title})
        reported = self._or_none(
            "summary", lambda: summary(shape, called, self.texts, counted=plural, reading=said, days=self._days())
        )
        return plain if reported is None or (self.is_business and self.discloses(reported)) else reported

    def _days(self) -> Days:
        return days_of(self._draft_tree(), self._today())

    def _today(self) -> date:
        asked_on = datetime.fromtimestamp(self.envelope.asked_at / 1_000, UTC).date()
        return self.catalog.today or asked_on if self.catalog else asked_on

    def _chart(self, shape: Shape | None, title: str) -> Drawn | None:
        if self.envelope.options.chart != "auto" or shape is None or not shape.rows:
            return None
        return self._or_none(
            "chart", lambda: chart(shape, self.texts, self.envelope.question, title=title, days=self._days())
        )

    def _or_none(self, part: str, make: Callable[[], _MadeT]) -> _MadeT | None:
        """Return what was made, or None if the cells or the statement were not what they promise: no answer fails by that."""
        try:
            return make()
        except _VALUE_ERRORS as error:
            self.left_out(part, error)
            return None

    def _doubts(self, tree: exp.Expr | None, result: Result) -> tuple[Doubt, ...]:
        # What definitions answered was compiled by rules that keep each fact at its own grain.
        if self.envelope.body.analysis.labels:
            return ()
        return doubts(tree, self.catalog, self.whole or result, question=self.envelope.question)

    def _spoken(self, read_as: Reading | None, labels: tuple[str, ...]) -> Reading | None:
        """Return how the question was read as a sentence may say it: no name in English within a Chinese one."""
        if self.is_business or read_as is None or self.texts.language == "en":
            return read_as
        return self._or_none("reading", lambda: self._reading(self._draft_tree(), labels, with_names=False))

    def _reading(
        self, tree: exp.Expr | None, labels: tuple[str, ...], *, with_names: bool | None = None
    ) -> Reading | None:
        """Return how the question was read; of what definitions answered, in their words. Analysts get names, unless it is said otherwise."""
        analysis = self.envelope.body.analysis
        read_as = reading(
            tree,
            self.catalog,
            self.texts,
            with_names=not self.is_business if with_names is None else with_names,
            labels=labels,
            rows_max=self.envelope.options.rows_max,
        )
        read_as = with_carried(read_as, analysis.carried) if read_as is not None else None
        if analysis.labels and analysis.reading and self.may_say(analysis.reading):
            own = {"text": analysis.reading, "definitions": analysis.definitions}
            read_as = (analysis.read_as or read_as or Reading(text="")).model_copy(update=own)
        if read_as is None or not self.is_business:
            return read_as
        parts = (read_as.text, *(item.text for item in read_as.filters), *read_as.measures, *read_as.entities)
        return None if any(self.discloses(part) for part in parts) else read_as

    def _explanation(self, read_as: Reading | None) -> str:
        said = assurance(self.envelope, self.texts)
        return ("" if self.texts.language == "zh" else " ").join((*((read_as.text,) if read_as else ()), *said))

    def _repaired(self) -> tuple[str, ...]:
        """Return what the rules changed in what was run; business readers learn only that something was."""
        attempts, body = self.envelope.attempts, self.envelope.body
        if body.outcome is not Outcome.ANSWERED or not attempts or attempts[-1].origin is not Origin.RULE:
            return ()
        if self.is_business:
            return (self.texts.notes["mended"],)
        return tuple(note for note in body.notes if note != NOT_ASKED_NOTE)


def _gives_away(answer: Answer, context: _Context) -> bool:
    """Return whether any words of the answer give something away; rows are the reader's own data."""
    # What a summary quotes from the rows was judged with the summary, and an explanation when it was made.
    said = [
        *(() if answer.outcome is Outcome.ANSWERED else (answer.message,)),
        answer.next_step,
        *(column.label for column in answer.columns),
        *answer.notes,
        *(text for option in answer.options for text in (option.text, option.question)),
    ]
    return any(context.discloses(item) for item in said if item)


def _joined(first: str, second: str, texts: Texts) -> str:
    if texts.language == "zh":
        return f"{first if first.endswith(('。', '？', '！')) else first + '。'}{second}"
    return f"{first if first.endswith(('.', '?', '!')) else first + '.'} {second}"


def _free_id(taken: list[Option]) -> str:
    used = {item.id for item in taken}
    return next(str(n) for n in range(1, len(used) + 2) if str(n) not in used)
