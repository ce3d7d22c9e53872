"""Questions that can be asked of a catalog as they stand, in either language, made of what its tables are called.

For business readers only names for people are used; where a table has none, nothing is suggested of it. Each question is
sound in its language, averages only measures, has rows to count, and was read by the built-in translator. Where there is
none, none is suggested. Deterministic: the same catalog suggests the same on one day.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from typing import Final

from querybus.core.catalog import USUAL_MEASURE_WORD, Catalog, Column, ColumnKind, Language, Table
from querybus.core.envelope import Audience
from querybus.ops.clock import system_clock
from querybus.text.labels import column_label, table_label
from querybus.text.language import grammar_faults
from querybus.text.readable_name import spoken_name
from querybus.text.words import plural, singular

SUGGESTIONS_MAX: Final = 12
GROUPS_MAX: Final = 50
TABLES_TRIED_MAX: Final = 200
"""Of a larger catalog the tables with most rows are tried among themselves."""
TRIED_MAX: Final = 60
_KEPT_MAX: Final = 64

_DATES: Final = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})
_TEXTS: Final[dict[Language, tuple[tuple[str, ...], ...]]] = {
    "en": (
        ("How many {table} per month?",),
        ("How many {table} are there for each {column}?",),
        ("What is the average {column} of {table}?",),
        ("How many {table} are there?",),
    ),
    "zh": (
        ("每个月有多少{measure}{table}？",),
        ("每个{column}有多少{measure}{table}？",),
        ("{table}的平均{column}是多少？",),
        ("有多少{measure}{table}？",),
    ),
}
_kept: OrderedDict[tuple[str, str, Language, Audience, date], tuple[str, ...]] = OrderedDict()


def suggestions(
    catalog: Catalog, language: Language, audience: Audience, whole: Catalog | None = None
) -> tuple[str, ...]:
    """Return up to SUGGESTIONS_MAX questions, larger tables before smaller, each beginning with another kind of question.

    `whole` is the catalog before anything was hidden from this reader: no name of it is given away.
    """
    shown = whole or catalog
    today = catalog.today or datetime.fromtimestamp(system_clock() / 1_000, UTC).date()
    key = (catalog.fingerprint, shown.fingerprint, language, audience, today)
    if key not in _kept:
        _kept[key] = _suggestions(catalog, language, audience, shown, today)
        while len(_kept) > _KEPT_MAX:
            _kept.popitem(last=False)
    return _kept[key]


def _suggestions(
    catalog: Catalog, language: Language, audience: Audience, whole: Catalog, today: date
) -> tuple[str, ...]:
    # A parser and word lists that a gateway which is asked for no suggestions never loads.
    from querybus_translator import Translated, translate

    largest = sorted(enumerate(catalog.tables), key=lambda item: (-(item[1].row_estimate or 0), item[0]))
    tried = catalog
    if len(largest) > TABLES_TRIED_MAX:
        kept = sorted(place for place, _ in largest[:TABLES_TRIED_MAX])
        tried = catalog.model_copy(update={"tables": tuple(catalog.tables[place] for place in kept)})

    def is_read(question: str) -> bool:
        return not grammar_faults(question) and isinstance(
            translate(question, tried, language=language, today=today, asks_back=False), Translated
        )

    by_table = [
        _rotate(list(_of_table(table, whole, language, audience)), place)
        for place, (_, table) in enumerate(largest[:SUGGESTIONS_MAX])
    ]
    forms = [forms[place] for place in range(len(_TEXTS[language])) for forms in by_table if place < len(forms)]
    questions = (next(filter(is_read, form), None) for form in islice(forms, TRIED_MAX))
    return tuple(islice(dict.fromkeys(filter(None, questions)), SUGGESTIONS_MAX))


def _of_table(table: Table, catalog: Catalog, language: Language, audience: Audience) -> Iterator[Sequence[str]]:
    """Yield questions about a table that has rows, each in the ways to say it, the best first."""
    from querybus_translator.answers.offered import average_of, is_measure

    monthly, grouped, average, count = _TEXTS[language]
    name = table_label(table, language, catalog) or (spoken_name(table.name) if audience == "analyst" else "")
    called = _subject(name, language)
    if not called or table.row_estimate == 0:
        return
    measure = table.measure_word or USUAL_MEASURE_WORD
    rows = _several(_within(called)) if language == "en" else _within(called)
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    others = [column for column in table.columns if column.name not in keys and not column.personal]

    def fill_forms(forms: Sequence[str], column: Column | None = None) -> list[str]:
        name = _within(label(column) or "") if column is not None else ""
        names = average_of(name, column) if column is not None and forms is average and language == "en" else (name,)
        return [form.format(table=rows, column=item, measure=measure) for form in forms for item in names]

    def label(column: Column) -> str | None:
        return column_label(column, catalog, language) or (spoken_name(column.name) if audience == "analyst" else None)

    def first(fits: Callable[[Column], bool]) -> Column | None:
        return next((column for column in others if fits(column) and label(column)), None)

    # Of several dates nobody says which one counts.
    if len([column for column in others if column.kind in _DATES]) == 1:
        yield fill_forms(monthly)
    group = first(lambda column: column.kind is ColumnKind.TEXT and 1 < (column.distinct_count or 0) <= GROUPS_MAX)
    if group is not None:
        yield fill_forms(grouped, group)
    figure = first(lambda column: is_measure(column, table, catalog))
    if figure is not None:
        yield fill_forms(average, figure)
    yield fill_forms(count)


_OF_FILES: Final = re.compile(
    r"[(（\[][^)）\]]*[)）\]]|\b(?:19|20)\d\d(?:[-_. ]?\d\d?){0,2}\b|\b(?:v|version|rev|nr|no) ?\d+\b|\bq ?[1-4]\b"
    r"|\b(?:copy(?: of)?|kopie(?: von)?|copie(?: de)?|copia(?: de)?|backup)\b|(?<![^\W\d_])\d+\b|副本|备份",
    re.IGNORECASE,
)
"""What people add to the names of files: a date, a version, the number of a copy."""
_BESIDE_THEM: Final = re.compile(
    r"\b(?:final|new|old|latest|tmp|temp|draft)\b|最终版?|(?:^|[\s_-]+)(?:table|file|report|list|query|results?)s?$|(?:表格|导出|列表)$",
    re.IGNORECASE,
)
"""Words that stand beside such an addition and say nothing of the rows."""
_NO_SUBJECT: Final = re.compile(
    r"(?:raw |my )?(?:data|datasets?|sheet|tab|exports?|imports?|dump|extract|untitled|workbook|output|input|csv)|数据|导出|工作表|表格|导入",
    re.IGNORECASE,
)


def _subject(label: str, language: Language) -> str:
    """Return what the rows of a table are, without what a file's name adds; empty where nothing is left to ask about.

    >>> [_subject(label, "en") for label in ("export (3)", "Orders 20240301", "customer-list (copy)", "2023 invoices", "Sheet 1", "price lists")]
    ['', 'Orders', 'customer', 'invoices', '', 'price lists']
    """
    text = _trimmed(_OF_FILES.sub(" ", label))
    if text != label:
        while (shorter := _trimmed(_BESIDE_THEM.sub(" ", text))) != text:
            text = shorter
    is_odd = language == "en" and re.search(r"[^\w\s'’&/-]|\d", text) is not None
    return "" if is_odd or _NO_SUBJECT.fullmatch(text) else text


def _trimmed(text: str) -> str:
    return " ".join(text.split()).strip(" -_.,")


def _several(label: str) -> str:
    """Return what the rows of a table are called: a label in the plural stays."""
    start, space, last = label.rpartition(" ")
    return label if singular(last) != last else f"{start}{space}{plural(last)}"


def _rotate(questions: list[Sequence[str]], places: int) -> list[Sequence[str]]:
    first = places % len(questions) if questions else 0
    return questions[first:] + questions[:first]


def _within(label: str) -> str:
    """Return a label as it stands within a sentence."""
    return label[:1].lower() + label[1:] if not label[:2].isupper() else label
