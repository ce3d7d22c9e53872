"""Writes the tables of docs/ that follow from code: options, metrics, failure codes, subjects, verdicts of the guard, and from tests: engines, requirements.

`make docs` calls it.

A rule test compares what it makes with what is committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from querybus.core.catalog import Catalog, Column, Dialect, Table
from querybus.core.failure import TRAITS, Failure
from querybus.core.options import OptionCaps, Options
from querybus.core.policy import ConnectionPolicy
from querybus.core.subjects import READS, WRITES, EventName, StageName
from querybus.engines import ENGINES
from querybus.ops.metrics import TABLE
from querybus.sql.check import check

DOCS = Path(__file__).parent
SERVICES = DOCS.parent / "services"
ENGINES_BEGIN = "<!-- made by `make docs` from the marks of the tests -->"
ENGINES_END = "<!-- end of what the tests show -->"
NOTE = "<!-- made by `make docs` from code; change the code, not this page -->\n\n"


def options_page() -> str:
    """Return docs/options.md: every option with default, range, server cap and meaning."""
    rows = ["| option | default | range | server cap | meaning |", "|---|---|---|---|---|"]
    caps = OptionCaps()
    for name, field in Options.model_fields.items():
        cap = getattr(caps, name, None)
        rows.append(
            f"| `{name}` | `{shown(field.default)}` | {allowed(field)} | {'' if cap is None else f'`{shown(cap)}`'} | {field.description} |"
        )
    return (
        "# Options\n\n"
        + NOTE
        + "What a caller may ask for with a question. A value above the server's cap is lowered to it; caps are set with "
        '`QUERYBUS_OPTION_CAPS` and by credential, as JSON: `{"rows_max": 1000, "forbidden_check_always": true}`. '
        "`QUERYBUS_OPTION_DEFAULTS` says what holds where neither a request nor the person's preferences say otherwise, as JSON: "
        '`{"summary": false, "retries_max": 1}`. `GET /v1/options` and '
        "`querybus doctor` show what holds. `database_direct` and `chat_direct` are other names of two modes. "
        "Units stand in the names.\n\n" + "\n".join(rows) + "\n"
    )


def shown(value: Any) -> str:
    """Return a default as it is written in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(getattr(value, "value", value))


def allowed(field: FieldInfo) -> str:
    """Return the range of a field in words."""
    bounds = [
        f"{sign} {getattr(rule, key)}"
        for rule in field.metadata
        for key, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"))
        if hasattr(rule, key)
    ]
    if bounds:
        return ", ".join(bounds)
    members = getattr(field.annotation, "__members__", None)
    values = (
        [member.value for member in members.values()] if members else list(getattr(field.annotation, "__args__", ()))
    )
    return ", ".join(f"`{value}`" for value in values) if all(isinstance(value, str) for value in values) else ""


def metrics_page() -> str:
    """Return docs/metrics.md: every metric with its labels."""
    rows = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    rows += [f"| `{row.name}` | {row.kind} | {', '.join(row.labels)} | {row.meaning} |" for row in TABLE]
    return (
        "# Metrics\n\n" + NOTE + "\n".join(rows) + "\n\n"
        'First-pass success is `querybus_queries_total{pass="first",outcome="answered"}` over '
        '`querybus_queries_total{pass=~"first|retry"}`; retry success is the same with `pass="retry"` above and below.\n'
    )


def failures_page() -> str:
    """Return docs/failures.md: what follows from each failure code, and what people and models read of it."""
    messages = tomllib.loads((SERVICES / "presenter/src/querybus_presenter/texts/en/messages.toml").read_text())["code"]
    guidance = tomllib.loads((SERVICES / "recovery/src/querybus_recovery/texts/en.toml").read_text())["guidance"]
    rows = [
        "| code | new draft by a model | repair by rule | ends as | a business reader reads | a model is advised |",
        "|---|---|---|---|---|---|",
    ]
    for code, value in TRAITS.items():
        advice = guidance.get(code, guidance["other"]) if value.to_model else ""
        rows.append(
            f"| `{code}` | {'yes' if value.to_model else 'no'} | {'yes' if value.by_rule else 'no'} | {value.ending} "
            f"| {messages.get(code, messages.get('other', ''))} | {advice} |"
        )
    note = "An analyst reads the code and the database's own message, without values that the policy hides.\n\n"
    return "# Failure codes\n\n" + NOTE + note + "\n".join(rows) + "\n"


def events_page() -> str:
    """Return docs/events.md: who writes and who reads each event."""
    rows = ["| event | written by | read by |", "|---|---|---|"]
    for event in EventName:
        writers = [stage for stage in StageName if event in WRITES[stage]]
        readers = [stage for stage in StageName if event in READS[stage]]
        rows.append(f"| `{event}` | {', '.join(writers)} | {', '.join(readers)} |")
    return (
        "# Events\n\n"
        + NOTE
        + "Subject: `querybus.v1.event.<tenant>.<thread>.<query>.<event>`\n\n"
        + "\n".join(rows)
        + "\n"
    )


def engines_table() -> str:
    """Return what the tests of the executor show of each engine, by the marks of all that are collected."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "table.md"
        command = [
            "-m",
            "pytest",
            "--collect-only",
            "-qq",
            "-p",
            "tests.support.engine_evidence",
            "-p",
            "no:cacheprovider",
        ]
        subprocess.run(
            [sys.executable, *command, "services/executor/tests"],
            cwd=DOCS.parent,
            env=os.environ | {"QUERYBUS_ENGINE_TABLE": str(target)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return target.read_text()


def with_engines(page: str, table: str) -> str:
    """Return docs/connections.md with the table between its two comments."""
    before, rest = page.split(ENGINES_BEGIN)
    return before + ENGINES_BEGIN + "\n" + table + "\n" + ENGINES_END + rest.split(ENGINES_END)[1]


def requirements_page() -> str:
    """Return docs/requirements.md: what was ordered, in our words, and the tests that carry the mark of each row."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.requirements.table import requirements_text

    return (
        "# Requirements\n\n"
        + NOTE.replace("from code; change the code", "from tests; change rows and marks")
        + requirements_text()
    )


def guard_page() -> str:
    """Return docs/guard.md: which constructs of each dialect the guard takes, by asking it about a statement of each."""
    material = tomllib.loads((DOCS / "constructs.toml").read_text())
    tables = tuple(
        Table(name=name, columns=tuple(Column(name=one.split()[0], type=one.split()[1]) for one in columns))
        for name, columns in material["tables"].items()
    )
    rows = [
        f"| construct | {' | '.join(ENGINES[dialect].title for dialect in Dialect)} |",
        f"|---|{'---|' * len(Dialect)}",
    ]
    for name, statements in material["constructs"].items():
        verdicts = [guard_verdict(statements.get(item.value, statements.get("all")), item, tables) for item in Dialect]
        rows.append(f"| {name} | {' | '.join(verdicts)} |")
    return (
        "# What the guard takes\n\n"
        + NOTE
        + "The guard lets through what it knows to be harmless. Each cell is its verdict on one statement of `docs/constructs.toml` "
        "over two tables without a policy.\n\n"
        "- `yes`: the statement runs.\n"
        "- `syntax_error` and the like: it is not supported here. A model or a rule may write it in another way.\n"
        "- `safety`: it could change, leak or reach outside. Nobody repairs it.\n"
        "- empty: the dialect has no such construct, or `docs/constructs.toml` has no statement of it.\n\n"
        + "\n".join(rows)
        + "\n"
    )


def guard_verdict(sql: str | None, dialect: Dialect, tables: tuple[Table, ...]) -> str:
    """Return `yes`, a failure code, or nothing where there is no statement."""
    if not sql:
        return ""
    catalog = Catalog(connection="guard", dialect=dialect, tables=tables)
    checked = check(sql, dialect=dialect, catalog=catalog, policy=ConnectionPolicy(), row_limit=100)
    return f"`{checked.code}`" if isinstance(checked, Failure) else "yes"


PAGES = {
    "guard.md": guard_page,
    "options.md": options_page,
    "metrics.md": metrics_page,
    "failures.md": failures_page,
    "events.md": events_page,
    "requirements.md": requirements_page,
}


def main() -> None:
    """Write every page."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
    connections = DOCS / "connections.md"
    connections.write_text(with_engines(connections.read_text(), engines_table()))


if __name__ == "__main__":
    main()
