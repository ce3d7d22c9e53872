"""concluded -> finished: the outcome worded for its reader, in the reader's language, with ways on.

The outcome on the log is never changed. For business readers whatever produced a text, it is checked before it
leaves, and the template stands in for what gives something away; without a catalog nothing that a model or a
generator worded is shown, because it cannot be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from querybus.core.catalog import Catalog
from querybus.core.delivery import Delivery
from querybus.core.envelope import Envelope
from querybus.core.failure import FailureCode
from querybus.core.leak import leaks
from querybus.core.messages import (
    Answer,
    AnswerColumn,
    Clarification,
    Concluded,
    Finished,
    Option,
    Origin,
    Outcome,
    Result,
    Trigger,
)
from querybus.core.plain import plain_finished
from querybus_presenter.chart import chart
from querybus_presenter.labels import labels
from querybus_presenter.lineage import Lineage, lineage
from querybus_presenter.options import OPTIONS_MAX, OPTIONS_MIN, Subject, class_of, options
from querybus_presenter.ports import Catalogs
from querybus_presenter.summary import fixed_summary, summary
from querybus_presenter.texts import Texts, Words

_NOTHING: Final = Result(columns=(), rows=(), row_count=0)
_VALUE_ERRORS: Final = (ArithmeticError, LookupError, TypeError, ValueError)
_MadeT = TypeVar("_MadeT")


async def present(
    envelope: Envelope[Concluded], delivery: Delivery, *, catalogs: Catalogs, words: Words
) -> Envelope[Finished]:
    """Return the finished event; needs no catalog, but has better labels with one."""
    del delivery
    catalog = await catalogs.read(envelope.connection)
    return worded(envelope, catalog, words[envelope.language, envelope.audience])


def worded(envelope: Envelope[Concluded], catalog: Catalog | None, texts: Texts) -> Envelope[Finished]:
    """Return the finished event of a conclusion."""
    desk = _Desk(envelope, catalog, texts)
    finished = desk.finished()
    if desk.is_business and _gives_away(finished.answer, desk):
        return plain_finished(envelope)
    return envelope.with_body(finished)


@dataclass(frozen=True, slots=True)
class _Desk:
    """One conclusion on the desk of one presenter."""

    envelope: Envelope[Concluded]
    catalog: Catalog | None
    texts: Texts

    @property
    def is_business(self) -> bool:
        return self.envelope.audience == "business"

    @property
    def tables(self) -> tuple[str, ...]:
        analysis = self.envelope.body.analysis
        return tuple(dict.fromkeys((*analysis.tables, *(each.table for each in analysis.links))))

    def may_say(self, text: str | None) -> bool:
        """Whether a text that is no template may be shown to this reader."""
        if not text or not text.strip():
            return False
        if not self.is_business:
            return True
        return self.catalog is not None and not leaks(
            text, self.catalog, self.texts.language, said=self.envelope.question
        )

    def finished(self) -> Finished:
        body = self.envelope.body
        result = body.result or _NOTHING
        names = [each.name for each in result.columns]
        shown = self._labels(result) if self.is_business else tuple(names)
        is_answer = body.outcome is Outcome.ANSWERED
        told = self._summary(result, names, shown) if is_answer else ""
        clarification = body.clarification
        answer = Answer(
            outcome=body.outcome,
            language=self.texts.language,
            code=body.code,
            message=told if is_answer else self._message(),
            next_step=self.texts.next["empty" if is_answer and result.row_count == 0 else body.outcome],
            options=self._options(clarification),
            trigger=clarification.trigger if clarification else None,
            columns=tuple(
                AnswerColumn(id=f"c{n}" if self.is_business else each.name, label=label, kind=each.kind)
                for n, (each, label) in enumerate(zip(result.columns, shown, strict=True), 1)
            ),
            rows=result.rows,
            row_count=result.row_count,
            truncated=result.truncated,
            pages=result.pages,
            summary=told,
            chart=self._chart(result, names, shown) if is_answer else None,
            notes=self._notes(result),
        )
        if self.is_business:
            return Finished(answer=answer)
        sql = body.sql or (self.envelope.attempts[-1].sql if self.envelope.attempts else None)
        return Finished(answer=answer, sql=sql, detail=body.detail)

    def _labels(self, result: Result) -> tuple[str, ...]:
        body = self.envelope.body
        origins: tuple[Lineage, ...] = ()
        if self.catalog is not None and result.columns and body.sql is not None:
            origins = lineage(body.sql, body.dialect or self.catalog.dialect, self.catalog)
        return labels(result.columns, self.catalog, self.tables, self.texts, origins)

    def _message(self) -> str:
        body, texts = self.envelope.body, self.texts
        match body.outcome:
            case Outcome.REPLIED if body.reply and self.may_say(body.reply):
                return body.reply
            case Outcome.CLARIFICATION:
                return self._asking(body.clarification)
            case Outcome.REFUSED if body.code is None and body.refused_kind is not None:
                return self._of_code(FailureCode.SAFETY)
            case Outcome.FAILED | Outcome.REFUSED if body.code is not None:
                return self._of_code(body.code)
            case outcome:
                return texts.outcome[outcome]

    def _asking(self, clarification: Clarification | None) -> str:
        body, texts = self.envelope.body, self.texts
        if body.code is FailureCode.LLM_EXPLANATION:
            return self._of_code(body.code)
        trigger = clarification.trigger if clarification else None
        if body.reply and self.may_say(body.reply):
            message = body.reply
        elif trigger is not None and (trigger is not Trigger.SQL_EXECUTION_ERROR or body.code is None):
            message = texts.trigger[trigger]
        elif body.code is not None:
            message = self._of_code(body.code)
        else:
            message = texts.outcome[Outcome.CLARIFICATION]
        about = clarification.about.strip() if clarification else ""
        if about and self.may_say(about):
            message = _joined(message, texts.about["text"].format(about=about), texts)
        return message

    def _of_code(self, code: FailureCode) -> str:
        body, texts = self.envelope.body, self.texts
        if code is FailureCode.LLM_EXPLANATION:
            if body.reply and self.may_say(body.reply):
                return texts.code[code].format(explanation=body.reply.strip())
            return texts.code.get("llm_explanation_plain") or texts.code[code].format(explanation="").strip()
        if code is FailureCode.SAFETY:
            kind = (body.refused_kind or "").strip()
            plain = texts.kinds.get(kind.upper(), texts.kinds["other"])
            return texts.code[code].format(kind=plain if self.is_business else kind or plain)
        return texts.code[code]

    def _options(self, clarification: Clarification | None) -> tuple[Option, ...]:
        body = self.envelope.body
        given = clarification.options if clarification else ()
        found = [each for each in given if self.may_say(f"{each.text}\n{each.question}")][:OPTIONS_MAX]
        name = class_of(body.outcome, body.code, clarification.trigger if clarification else None)
        if name is None or len(found) >= OPTIONS_MIN:
            return tuple(found)
        subject = Subject(self.envelope.question, self.catalog, self.tables, self.texts)
        for each in options(name, subject):
            if len(found) < OPTIONS_MAX:
                found.append(each.model_copy(update={"id": _free_id(found)}))
        return tuple(found)

    def _summary(self, result: Result, names: list[str], shown: tuple[str, ...]) -> str:
        fixed = fixed_summary(result.row_count, self.texts)
        if not self.envelope.options.summary:
            return fixed
        told = _or_none(lambda: summary(result, names, shown, self.texts))
        if told is None or (self.is_business and leaks(told, self.catalog, self.texts.language)):
            return fixed
        return told

    def _chart(self, result: Result, names: list[str], shown: tuple[str, ...]) -> Mapping[str, object] | None:
        is_whole = len(result.rows) == result.row_count and not result.truncated
        if self.envelope.options.chart != "auto" or not is_whole:
            return None
        kinds = [each.kind for each in result.columns]
        return _or_none(lambda: chart(names, kinds, shown, result.rows))

    def _notes(self, result: Result) -> tuple[str, ...]:
        body, texts = self.envelope.body, self.texts
        if not self.is_business:
            return (*body.notes, *result.warnings)
        if body.outcome is not Outcome.ANSWERED:
            return ()
        is_mended = any(each.origin is Origin.RULE for each in self.envelope.attempts)
        notes: list[str] = []
        if is_mended or body.notes:
            notes.append(texts.notes["mended" if is_mended else "assumed"])
        if result.warnings:
            notes.append(texts.notes["warned"])
        return tuple(notes)


def _gives_away(answer: Answer, desk: _Desk) -> bool:
    """Return whether any words of the answer give something away; rows are the reader's own data."""
    # What a summary quotes from the rows was judged with the summary; a label or a text is judged here.
    said = [
        *(() if answer.outcome is Outcome.ANSWERED else (answer.message,)),
        answer.next_step,
        *(each.label for each in answer.columns),
        *answer.notes,
        *(text for each in answer.options for text in (each.text, each.question)),
    ]
    return bool(leaks("\n".join(said), desk.catalog, desk.texts.language, said=desk.envelope.question))


def _or_none(make: Callable[[], _MadeT]) -> _MadeT | None:
    """Return what was made, or None if the cells were not what their kinds promise: that never fails an answer."""
    try:
        return make()
    except _VALUE_ERRORS:
        return None


def _joined(first: str, second: str, texts: Texts) -> str:
    if texts.language == "zh":
        return f"{first if first.endswith(('。', '？', '！')) else first + '。'}{second}"
    return f"{first if first.endswith(('.', '?', '!')) else first + '.'} {second}"


def _free_id(taken: list[Option]) -> str:
    used = {each.id for each in taken}
    return next(str(n) for n in range(1, len(used) + 2) if str(n) not in used)
