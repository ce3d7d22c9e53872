"""Read an answer otherwise, without a model: its statement with one part changed is asked as a new query of the thread."""

from __future__ import annotations

from typing import Final

from querybus.core.catalog import Language
from querybus.core.credential import Credential
from querybus.core.messages import Outcome, Reading
from querybus.core.requests.refinement import PERIOD, Change, NewPeriod, Refinement
from querybus_gateway.admit import AskRequest, RequestOptions
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.queries import Queries
from querybus_gateway.use_cases.resources import Reply


async def refine(
    queries: Queries,
    query: str,
    change: Change,
    credential: Credential,
    *,
    idempotency_key: str | None = None,
    wait_seconds: float = 0,
) -> Reply | Problem:
    """Ask the changed query on the same connection and thread; `not_refinable` for an answer without a reading."""
    finished = await queries.finished(query, credential)
    if isinstance(finished, Problem):
        return finished
    answer = finished.body.answer
    read_as = answer.reading
    if read_as is None or answer.outcome not in (Outcome.ANSWERED, Outcome.PREPARED):
        return Problem(ProblemCode.NOT_REFINABLE, more={"outcome": answer.outcome.value, "query_id": query})
    if (unknown := sorted({*change.without, *change.values} - _ids(read_as))) != []:
        known = ", ".join(sorted(_ids(read_as))) or "none"
        return Problem(ProblemCode.UNKNOWN_PART, f"the reading has no {', '.join(unknown)}; it has: {known}")
    said = _TEXTS[finished.language]
    known_options = {name: getattr(finished.options, name) for name in RequestOptions.model_fields}
    known_options["language"] = finished.language
    return await queries.ask(
        AskRequest.model_construct(
            question=said["line"].format(
                question=finished.question.rstrip("?？.。 "),
                changes=said["comma"].join(_in_words(change, read_as, said)),
            ),
            connection=finished.connection,
            thread_id=finished.thread_id,
            options=RequestOptions.model_construct(**known_options),
        ),
        credential,
        idempotency_key=idempotency_key,
        wait_seconds=wait_seconds,
        continues=Refinement(query_id=finished.query_id, change=change),
    )


_TEXTS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "line": "{question} ({changes})",
        "comma": "; ",
        "without": "without “{part}”",
        "value": "“{value}” instead of “{part}”",
        "all_time": "of all time",
        "between": "from {first} to {last}",
        "since": "since {first}",
        "until": "until {last}",
        "unit": "by {unit}",
        "by": "by {by}",
        "lines": "the first {lines}",
        **{unit: unit for unit in ("day", "week", "month", "quarter", "year")},
    },
    "zh": {
        "line": "{question}（{changes}）",
        "comma": "；",
        "without": "不限“{part}”",
        "value": "“{part}”改为“{value}”",
        "all_time": "不限时间",
        "between": "{first}至{last}",
        "since": "{first}以来",
        "until": "截至{last}",
        "unit": "按{unit}",
        "by": "按{by}",
        "lines": "前{lines}条",
        "day": "日",
        "week": "周",
        "month": "月",
        "quarter": "季度",
        "year": "年",
    },
}


def _ids(read_as: Reading) -> set[str]:
    named = {item.id for item in (*read_as.filters, *read_as.groups)}
    return named | {PERIOD} if read_as.period is not None else named


def _in_words(change: Change, read_as: Reading, said: dict[str, str]) -> list[str]:
    """Return what a thread shows of a change."""
    parts = {item.id: item.text for item in (*read_as.filters, *read_as.groups)}
    words = [said["without"].format(part=parts[name]) for name in change.without if name != PERIOD]
    words += [said["value"].format(part=parts[name], value=value) for name, value in change.values.items()]
    if change.period is not None:
        words.append(_period(change.period, said))
    elif PERIOD in change.without:
        words.append(said["all_time"])
    if change.unit is not None:
        words.append(said["unit"].format(unit=said[change.unit]))
    if change.by:
        words.append(said["by"].format(by=change.by))
    if change.lines is not None:
        words.append(said["lines"].format(lines=change.lines))
    return words


def _period(period: NewPeriod, said: dict[str, str]) -> str:
    key = "between" if period.first and period.last else "since" if period.first else "until"
    return said[key].format(first=period.first, last=period.last)
