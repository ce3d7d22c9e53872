"""The two or three ways on that an outcome offers, each a complete question with a typed action.

Texts come from the files; the questions are made of the person's own question and of the catalog's names for people
(display names and comments), never of technical names. Without such names the plain form of a question is used. Where
the tables of the question hold nothing but figures, the questions are about these figures, not about periods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from querybus.core.asking_back import Option, OptionAction, Trigger
from querybus.core.catalog import Catalog, Column, ColumnKind, Language, Table
from querybus.core.failure import FailureCode
from querybus.core.messages import Outcome
from querybus.core.stored.choices import Choices
from querybus.text.disclosure import leaks
from querybus.text.labels import column_label, table_label
from querybus.text.language import grammar_faults
from querybus.text.words import plural
from querybus_presenter.wording.phrases import within_sentence
from querybus_presenter.wording.texts import OptionText, Texts

OPTIONS_MIN: Final = 2
OPTIONS_MAX: Final = 3
VALUE_LENGTH_MAX: Final = 40

CLASSES: Final[dict[FailureCode, str]] = {
    FailureCode.COLUMN_NOT_FOUND: "column",
    FailureCode.AMBIGUOUS_COLUMN: "column",
    FailureCode.TABLE_NOT_FOUND: "table",
    FailureCode.MISSING_DATABASE_INFO: "table",
    FailureCode.TIMEOUT: "amount",
    FailureCode.COST: "amount",
    FailureCode.RESOURCE_LIMIT: "amount",
    FailureCode.EXPIRED: "amount",
    FailureCode.PERMISSION: "access",
    FailureCode.NOT_VERIFIED: "access",
    FailureCode.CONNECTION: "later",
    FailureCode.SETUP: "administrator",
    FailureCode.LOCK: "later",
    FailureCode.MODEL_UNAVAILABLE: "later",
    FailureCode.INTERNAL: "later",
    FailureCode.CANCELLED: "later",
    FailureCode.AMBIGUOUS_QUESTION: "detail",
    FailureCode.LLM_EXPLANATION: "detail",
    FailureCode.SAFETY: "reading",
    FailureCode.WRITE_OUTCOME_UNKNOWN: "reading",
}
"""Which ways on a code offers; a code without a row is about the wording of the question."""
OTHER_CLASS: Final = "wording"

TRIGGER_CLASSES: Final[dict[Trigger, str]] = {
    Trigger.AMBIGUOUS_QUESTION: "detail",
    Trigger.SQL_EXECUTION_ERROR: "wording",
    Trigger.MISSING_DATABASE_INFO: "table",
    Trigger.MISSING_VALUE: "column",
    Trigger.COST: "amount",
    Trigger.NOT_ALLOWED: "reading",
    Trigger.UNAVAILABLE: "later",
    Trigger.INTERRUPTED: "later",
}
CODE_TRIGGERS: Final[dict[FailureCode, Trigger]] = {
    FailureCode.AMBIGUOUS_QUESTION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.LLM_EXPLANATION: Trigger.AMBIGUOUS_QUESTION,
    FailureCode.MISSING_DATABASE_INFO: Trigger.MISSING_DATABASE_INFO,
    FailureCode.COST: Trigger.COST,
    FailureCode.SAFETY: Trigger.NOT_ALLOWED,
    FailureCode.CONNECTION: Trigger.UNAVAILABLE,
    FailureCode.SETUP: Trigger.UNAVAILABLE,
    FailureCode.LOCK: Trigger.UNAVAILABLE,
    FailureCode.MODEL_UNAVAILABLE: Trigger.UNAVAILABLE,
    FailureCode.INTERNAL: Trigger.UNAVAILABLE,
    FailureCode.EXPIRED: Trigger.INTERRUPTED,
    FailureCode.CANCELLED: Trigger.INTERRUPTED,
}
"""Why an ending without a clarification offers its options; a code without a row is an execution that failed."""
_FORMS_OF_FIGURES: Final = {
    OptionAction.NARROW_PERIOD: "narrow_figures",
    OptionAction.ADD_FILTER: "add_filter_figures",
    OptionAction.AGGREGATE: "aggregate_figures",
}
OFFERING: Final = frozenset(
    {Outcome.CLARIFICATION, Outcome.REFUSED, Outcome.FAILED, Outcome.CANCELLED, Outcome.EXPIRED}
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What the questions are made of."""

    question: str
    catalog: Catalog | None
    tables: tuple[str, ...]
    texts: Texts
    chosen: Choices
    """What the person chose before: these options come first."""

    @property
    def stem(self) -> str:
        """The question without the sign at its end."""
        return self.question.strip().rstrip("?？.。!！;； \t\r\n")


def class_of(outcome: Outcome, code: FailureCode | None, trigger: Trigger | None) -> str | None:
    """Return the class of options of an outcome, or None if it offers none."""
    if outcome not in OFFERING:
        return None
    if outcome is Outcome.EXPIRED:
        return "amount"
    if outcome is Outcome.CANCELLED:
        return "later"
    # After a failed execution the code says which ways on help; the trigger alone would offer the same for all.
    is_failed_execution = trigger is Trigger.SQL_EXECUTION_ERROR and code is not None
    if trigger is not None and not is_failed_execution and (outcome is Outcome.CLARIFICATION or code is None):
        return TRIGGER_CLASSES[trigger]
    if code is None:
        return "reading" if outcome is Outcome.REFUSED else OTHER_CLASS
    return CLASSES.get(code, OTHER_CLASS)


def trigger_of(outcome: Outcome, code: FailureCode | None) -> Trigger:
    """Return why an ending without a clarification offers options.

    >>> trigger_of(Outcome.FAILED, FailureCode.TIMEOUT).value
    'sql_execution_error'
    """
    if outcome in (Outcome.EXPIRED, Outcome.CANCELLED):
        return Trigger.INTERRUPTED
    if code is None:
        return Trigger.NOT_ALLOWED if outcome is Outcome.REFUSED else Trigger.UNAVAILABLE
    return CODE_TRIGGERS.get(code, Trigger.SQL_EXECUTION_ERROR)


def options(name: str, subject: Subject) -> tuple[Option, ...]:
    """Return the options of a class, numbered from 1: what the person chose before comes first, else the owner's order."""
    keyed: dict[str, tuple[OptionText, int]] = {}
    for link in subject.texts.options[name]:
        place = 1 + sum(other.action is link.action for other, _ in keyed.values())
        keyed[f"{name}.{link.action}" + (f"_{place}" if place > 1 else "")] = link, place
    keys = sorted(keyed, key=lambda key: -subject.chosen.count_of(key))[:OPTIONS_MAX]
    choose = subject.texts.questions["choose_source"]
    # Of what nobody counts ("weather") there is no such question.
    sound = (label for label in _tables(subject) if not grammar_faults(choose.format(label=label)))
    offered = list(islice(sound, OPTIONS_MAX))
    figures = _figures(subject)
    options: list[Option] = []
    for n, key in enumerate(keys, 1):
        link, place = keyed[key]
        # The owner's first choice of data asks what there is; each further one names data that there is.
        is_open = name in ("table", "reading") and place == 1
        label = None if is_open or not offered else offered[(place - 2) % len(offered)]
        options.append(_option(str(n), link, subject, label, figures).model_copy(update={"key": key}))
    return tuple(options)


def _option(number: str, link: OptionText, subject: Subject, table: str | None, figures: tuple[str, ...]) -> Option:
    if not figures or not (form := _FORMS_OF_FIGURES.get(link.action)):
        return Option(id=number, text=link.text, question=_question(link, subject, table), action=link.action)
    called = next(_tables(subject), None)
    # Two options say two things: a filter is of the last column of figures, the others of the first.
    label = figures[-1] if link.action is OptionAction.ADD_FILTER else figures[0]
    question = subject.texts.questions[form].format(stem=subject.stem, label=label, table=called or label)
    action = OptionAction.ADD_FILTER if link.action is OptionAction.NARROW_PERIOD else link.action
    return Option(id=number, text=link.text_of_figures or link.text, question=question, action=action)


def _question(option: OptionText, subject: Subject, table: str | None) -> str:
    forms = subject.texts.questions
    known: dict[str, str] = {"question": subject.question.strip(), "stem": subject.stem}
    match option.action:
        case OptionAction.CHOOSE_SOURCE:
            return forms["choose_source"].format(label=table) if table else forms["choose_source_plain"]
        case OptionAction.REPLACE_DIMENSION:
            label = next((label for label, column in _columns(subject) if _groups(column)), None)
            if label is None:
                return forms["replace_dimension_plain"].format(**known)
            return forms["replace_dimension"].format(**known, label=label)
        case OptionAction.ADD_FILTER:
            for label, column in _columns(subject):
                value = _common_value(column)
                if value is not None and not leaks(value, subject.catalog, subject.texts.language):
                    return forms["add_filter"].format(**known, label=label, value=value)
            return forms["add_filter_plain"].format(**known)
        case _:
            return forms[option.action].format(**known)


def _tables(subject: Subject) -> Iterator[str]:
    """Yield the names for people of tables, those of the question first."""
    if subject.catalog is None:
        return
    named = [table for item in subject.tables if (table := subject.catalog.table_at(item)) is not None]
    others = (table for table in subject.catalog.tables if not any(table is known for known in named))
    for table in (*named, *others):
        label = _plural_label(table, subject.texts.language)
        if label is not None:
            yield label


def _plural_label(table: Table, language: Language) -> str | None:
    label = table_label(table, language)
    return plural(within_sentence(label)) if label is not None and language == "en" else label


def _columns(subject: Subject) -> Iterator[tuple[str, Column]]:
    """Yield the columns with a name for people of the tables that the question is about."""
    if subject.catalog is None:
        return
    for item in subject.tables:
        table = subject.catalog.table_at(item)
        for column in table.columns if table else ():
            label = column_label(column, subject.catalog, subject.texts.language)
            if label is not None and not column.personal:
                yield label, column


def _figures(subject: Subject) -> tuple[str, ...]:
    """Return what people call the figures of tables that hold nothing else but keys; empty of all other tables."""
    if subject.catalog is None:
        return ()
    labels: list[str] = []
    for item in subject.tables:
        table = subject.catalog.table_at(item)
        if table is None:
            continue
        keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
        for column in table.columns:
            if column.name in keys:
                continue
            if column.kind not in (ColumnKind.INTEGER, ColumnKind.NUMBER):
                return ()
            label = column_label(column, subject.catalog, subject.texts.language)
            labels += [label] if label is not None and not column.personal else []
    return tuple(labels)


def _groups(column: Column) -> bool:
    return column.kind in (ColumnKind.TEXT, ColumnKind.BOOLEAN) and bool(column.values)


def _common_value(column: Column) -> str | None:
    if column.kind is not ColumnKind.TEXT or not column.values:
        return None
    value = column.values[0]
    return value if value.strip() and len(value) <= VALUE_LENGTH_MAX and value.isprintable() else None
