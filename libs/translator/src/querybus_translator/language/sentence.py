"""A logical form as one sentence for people: names for people only, no name of the schema, no SQL.

"Number of customers, only where city is Lyon, for each store." Limits: a table or column without a display name is
called by the words of its name; whoever shows the sentence to a business reader checks it for leaks as any other text.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from importlib import resources
from typing import Any

from querybus.core.catalog import Language
from querybus.text.labels import flag_values, flag_words
from querybus.text.words import singular
from querybus_translator.answers.options import display, display_rows
from querybus_translator.language.time.words import RECURRING
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.writing.form import (
    Aggregate,
    AllOf,
    AnyOf,
    ColumnRef,
    Comparison,
    Condition,
    Form,
    Literal,
    Measure,
    Membership,
    Operator,
    tables_of,
)
from querybus_translator.writing.sketch import TEMPORAL


@lru_cache(maxsize=1)
def _texts() -> Mapping[str, Mapping[str, Any]]:
    file = resources.files("querybus_translator").joinpath("words", "sentences.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def sentence(form: Form, index: CatalogIndex, language: Language) -> str:
    """Return the form in words of one language."""
    spoken = _Speaker(index, language)
    said = spoken.form(form)
    return said[:1].upper() + said[1:] + spoken.text("end")


class _Speaker:
    def __init__(self, index: CatalogIndex, language: Language) -> None:
        self._index = index
        self._language: Language = language
        self._texts = _texts()[language]

    def text(self, key: str, **parts: str) -> str:
        return str(self._texts[key]).format(**parts)

    def form(self, form: Form) -> str:
        alone = len(tables_of(form)) == 1
        parts = [self._listed([self.measure(target, alone=False) for target in form.targets])] if form.targets else []
        if form.everything is not None:
            parts.append(self.text("everything", what=self.table(form.everything)))
        homes = {target.home for target in form.targets} | {form.everything} | {part.table for part in form.group}
        joined = [table for table in form.tables if table not in homes]
        if joined and parts:
            parts[0] = self.text("of", what=parts[0], table=self._listed([self.table(item) for item in joined]))
        if form.where or form.having:
            conditions = [self.condition(condition, alone=alone) for condition in (*form.where, *form.having)]
            parts.append(self.text("where", what=self._listed(conditions)))
        if form.group:
            # A key beside the label that stands for it says nothing to people.
            shown = [part for part in form.group if not self._is_key(part)] or list(form.group)
            parts.append(
                self.text("each", what=self._listed(list(dict.fromkeys(self.column(column) for column in shown))))
            )
        for ordering in form.order:
            if ordering.by.column in form.group and ordering.by.column.part in RECURRING:
                # Monday to Sunday, as anyone expects it.
                continue
            key = "sorted_down" if ordering.descending else "sorted_up"
            parts.append(self.text(key, what=self.measure(ordering.by, alone=alone)))
        if form.limit is not None:
            parts.append(self.text("first", count=str(form.limit)))
        if form.combined is not None:
            parts.append(self.text(form.combined[0].name.lower(), what=self.form(form.combined[1])))
        return self.text("joint").join(parts)

    def _listed(self, parts: Sequence[str]) -> str:
        return self.text("joined").join(parts)

    def _is_key(self, column: ColumnRef) -> bool:
        name = self._index.column(column.table, column.column).name
        return name in self._index.table(column.table).primary_key

    def table(self, number: int) -> str:
        return self._index.called(number, self._language) or display_rows(self._index.table(number), self._language)

    def column(self, column: ColumnRef, *, alone: bool = True) -> str:
        shown = display(self._index.column(column.table, column.column), self._language)
        if not alone and not self._names_owner(shown, column.table):
            shown = self.text("of", what=shown, table=self.table(column.table))
        if column.part is not None:
            shown = self.text("part", what=shown, unit=str(self._texts["unit"][column.part.name.lower()]))
        return shown

    def _names_owner(self, shown: str, table: int) -> bool:
        """Whether a column's name says whose it is: the customer name is that of customers."""
        owner = display(self._index.table(table), self._language).lower()
        return shown.lower().startswith((owner, singular(owner))) and shown.lower() != owner

    def measure(self, measure: Measure, *, alone: bool) -> str:
        if measure.column is not None:
            shown = self.column(measure.column, alone=alone)
        else:
            shown = self.table(measure.table) if measure.table is not None else self.text("rows")
        if measure.until is not None:
            shown = self.text("days_from", begin=shown, end=self.column(measure.until, alone=alone))
        if measure.distinct:
            shown = self.text("different", what=shown)
        if measure.aggregate is Aggregate.RATE and measure.table is not None:
            return self.text("rate", what=shown, table=self.table(measure.table))
        if measure.share_of is not None:
            return self.text("share_where", what=shown, condition=self.condition(measure.share_of, alone=alone))
        is_total = measure.aggregate is Aggregate.SUM and shown.lower().startswith(self.text("total"))
        return shown if measure.aggregate is None or is_total else self.text(measure.aggregate.name.lower(), what=shown)

    def condition(self, condition: Condition, *, alone: bool) -> str:
        if isinstance(condition, AllOf):
            return self._within(condition, alone=alone) or self._listed(
                [self.condition(item, alone=alone) for item in condition.conditions]
            )
        if isinstance(condition, AnyOf):
            said = [self.condition(item, alone=alone) for item in condition.conditions]
            joined = said[0]
            for item in said[1:]:
                joined = self.text("any", one=joined, other=item)
            return joined
        if isinstance(condition, Membership):
            key = "absent" if condition.negated else "among"
            inner = condition.form
            said_inner = self._listed(
                [
                    *(self.table(table) for table in tables_of(inner)),
                    *(
                        self.condition(condition, alone=True)
                        for condition in inner.where
                        if not (isinstance(condition, Comparison) and condition.operator is Operator.NOT_NULL)
                    ),
                ]
            )
            return self.text(key, left=self.table(condition.left.table), what=said_inner)
        return self._comparison(condition, alone=alone)

    def _flag(self, comparison: Comparison, *, alone: bool) -> str | None:
        """Return a yes or a no in words: "not paid" in place of "paid is 0"."""
        left, right = comparison.left, comparison.right
        is_said = comparison.operator in {Operator.EQUAL, Operator.UNEQUAL} and isinstance(right, Literal)
        if not is_said or left.column is None or left.aggregate is not None or not isinstance(right, Literal):
            return None
        column = self._index.column(left.column.table, left.column.column)
        flags = flag_values(column)
        if flags is None or right.value not in flags:
            return None
        is_yes = (right.value == flags[0]) is (comparison.operator is Operator.EQUAL)
        said = flag_words(display(column, self._language), self._language, is_yes=is_yes)
        return said if alone else self.text("flag", what=said, table=self.table(left.column.table))

    def _comparison(self, comparison: Comparison, *, alone: bool) -> str:
        if (flag := self._flag(comparison, alone=alone)) is not None:
            return flag
        left = self.measure(comparison.left, alone=alone)
        key = comparison.operator.name.lower()
        right = comparison.right
        if isinstance(right, Literal):
            column = comparison.left.column
            if column is not None and self._index.column(column.table, column.column).kind in TEMPORAL:
                key = {"at_least": "since", "less": "until"}.get(key, key)
            said = str(right.value)
        elif isinstance(right, ColumnRef):
            said = self.column(right, alone=alone)
        elif isinstance(right, Form):
            said = self.form(right)
        else:
            said = ""
        return self.text(key, left=left, right=said)

    def _within(self, condition: AllOf, *, alone: bool) -> str | None:
        """Two bounds of one column are said as one span; the last day is said as the day that still counts."""
        if len(condition.conditions) != 2:
            return None
        one, other = condition.conditions
        if not (isinstance(one, Comparison) and isinstance(other, Comparison) and one.left == other.left):
            return None
        if not (isinstance(one.right, Literal) and isinstance(other.right, Literal)):
            return None
        if one.operator is not Operator.AT_LEAST or other.operator not in {Operator.LESS, Operator.AT_MOST}:
            return None
        last = str(other.right.value)
        if other.operator is Operator.LESS:
            try:
                last = (date.fromisoformat(last) - timedelta(days=1)).isoformat()
            except ValueError:
                return None
        left = self.measure(one.left, alone=alone)
        return self.text("within", left=left, first=str(one.right.value), last=last)
