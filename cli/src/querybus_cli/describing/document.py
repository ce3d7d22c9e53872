"""A description as the YAML file that its owner reads, changes and names in the connections file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from querybus_cli.describing.draft import Description

_SAID: Final = {
    "display_names": "names for people, by table and table.column",
    "measure_words": "what the rows of a table are counted in in Chinese",
    "synonyms": "other words that people use for a table",
    "descriptions": "what a table or column holds; a comment of the database comes first",
    "personal": "columns of which no value is kept, shown to a model or searched; take out what is not personal",
    "relations": "references that the database does not declare: take out what only happens to fit",
}


def document(description: Description, rows: Mapping[str, int], *, name: str, day: str) -> str:
    """Return the file's text; `name` is what it will be called, `rows` of how many rows each relation holds."""
    lines = [
        f"# Drafted by `querybus connections describe` on {day} from names, values, keys and counts. Read it and change what is not right.",
        f"# Nothing of it counts until the connection's entry names the file: `described: {name}`.",
    ]
    for key, value in description.as_json().items():
        if not value:
            continue
        lines += ["", f"# {_SAID[key]}", f"{key}:"]
        lines += _listed(key, value, description, rows) if isinstance(value, list) else _mapped(value)
    return "\n".join(lines) + "\n"


def _listed(key: str, values: list[Any], description: Description, rows: Mapping[str, int]) -> Iterator[str]:
    for value in values:
        said = description.reasons.get(value, "") if key == "personal" else f"holds for all {rows.get(value, 0):,} rows"
        yield f"- {_scalar(value)}{f'  # {said}' if said else ''}"


def _mapped(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"  {_scalar(name)}: {_flow(value)}"


def _flow(value: Any) -> str:
    plain = dict(value) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else value
    return (
        yaml.safe_dump(plain, allow_unicode=True, default_flow_style=True, width=10_000, sort_keys=False)
        .removesuffix("\n")
        .removesuffix("\n...")
    )


def _scalar(text: str) -> str:
    return yaml.safe_dump(text, allow_unicode=True, width=10_000).removesuffix("\n").removesuffix("\n...")
