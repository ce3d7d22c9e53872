"""dbt's Jinja calls, read as calls with plain values and never run: `ref('core', 'orders')`, `Dimension("order__day")`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its name, its values by position and by name, and the call that follows behind a dot."""

    name: str
    values: tuple[object, ...] = ()
    named: dict[str, object] = field(default_factory=dict[str, object])
    then: Call | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The values by position, if all of them are texts, else none."""
        found = tuple(value for value in self.values if isinstance(value, str))
        return found if len(found) == len(self.values) else ()


def read_call(text: str) -> Call | None:
    """Return the call that a text is, or None: `name(values).then(values)`, each value a literal."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _call(tree, None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _call(node: ast.expr, then: Call | None) -> Call | None:
    if not isinstance(node, ast.Call):
        return None
    values = tuple(ast.literal_eval(value) for value in node.args)
    named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    match node.func:
        case ast.Name(id=name):
            return Call(name, values, named, then)
        case ast.Attribute(value=inner, attr=name) if then is None:
            return _call(inner, Call(name, values, named))
        case _:
            return None
