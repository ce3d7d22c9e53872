"""A reading as a whole, as the rules see it that say of a reading whether it is what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from querybus_translator.writing.form import ColumnRef, Comparison, Form, Operator
from querybus_translator.writing.sketch import Sketch
from querybus_translator.writing.write import Written


@dataclass(frozen=True, slots=True)
class Whole:
    """A reading as it was made: what its words were taken for, what is asked, and the SQL of it."""

    sketch: Sketch
    form: Form
    written: Written


Rule = Callable[[Whole], bool]


def columns_said(form: Form) -> set[ColumnRef | None]:
    """Return the columns of which the question says what they are."""
    return {item.left.column for item in form.where if isinstance(item, Comparison) and item.operator is Operator.EQUAL}
