"""A run as one page for people: the figures, then every item that is not right, the worst first, with both statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from querybus_cli.evaluation.asking import CRASHED, Judged

ITEMS_SHOWN_MAX: Final = 500
_SURE: Final = 0.8
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1c2430}"
    "h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.1rem;margin-top:2rem}p.sub{color:#5b6675;margin-top:0}"
    ".cards{display:flex;flex-wrap:wrap;gap:.8rem}.card{border:1px solid #d8dde5;border-radius:.5rem;padding:.6rem 1rem;min-width:8rem}"
    ".card b{display:block;font-size:1.4rem}.card span{color:#5b6675;font-size:.85rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #e5e9ef}"
    "td.n,th.n{text-align:right}article{border:1px solid #d8dde5;border-left:.35rem solid #b3261e;border-radius:.4rem;padding:.6rem 1rem;margin:.8rem 0}"
    "article h3{margin:0;font-size:1rem}article p{margin:.2rem 0;color:#5b6675}pre{background:#f5f7fa;padding:.5rem;overflow-x:auto;white-space:pre-wrap;margin:.3rem 0}"
    ".warn{background:#fdecea;border:1px solid #b3261e;border-radius:.4rem;padding:.6rem 1rem}"
)


def report_page(name: str, model: str, figures: Mapping[str, Any], judged: Sequence[Judged]) -> str:
    """Return a run as an HTML page without scripts; everything that came from outside is escaped."""
    worst = sorted((item for item in judged if not item.final_right), key=lambda item: (_rank(item), item.id))
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(name)}: {escape(model)}</title>",
        f"<style>{_STYLE}</style></head><body><h1>{escape(name)}, answered with {escape(model)}</h1>",
        f"<p class='sub'>{len(judged)} items, {len(worst)} of them not right</p>",
        _warning(model, figures),
        f"<div class='cards'>{''.join(_card(value, label) for value, label in _cards(figures, len(judged)))}</div>",
        _table("Who wrote the answers", ("written by", "answers", "right"), _writers(figures)),
        _table("How sure, and how often right", ("stated", "answers", "right"), _tenths(figures)),
        _against(figures),
        f"<h2>Not right, the worst first</h2>{''.join(map(_item, worst[:ITEMS_SHOWN_MAX])) or '<p>None.</p>'}",
        f"<p>{len(worst) - ITEMS_SHOWN_MAX} more are not shown.</p>" if len(worst) > ITEMS_SHOWN_MAX else "",
        "</body></html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


_KINDS: Final = (
    "Crashed",
    "Broken: right at first, not at the end",
    "Wrong though stated sure",
    "Wrong",
    "Failed",
    "Not ended as expected",
)


def _rank(item: Judged) -> int:
    """Return the place of an item's kind in `_KINDS`; what a reader would believe stands before what says that it failed."""
    if item.outcome == CRASHED:
        return 0
    if item.is_broken:
        return 1
    if item.expect is not None:
        return 5
    if not item.final_executable:
        return 4
    return 2 if item.confidence is not None and item.confidence >= _SURE else 3


def _warning(model: str, figures: Mapping[str, Any]) -> str:
    if not figures["calls_failed"]:
        return ""
    reasons = "; ".join(f"{count} times {reason}" for reason, count in figures["call_failures"].items())
    said = (
        f"{figures['calls_failed']} of {figures['calls']} calls failed ({reasons}). This is no measurement of {model}."
    )
    return f"<p class='warn'>{escape(said)}</p>"


def _cards(figures: Mapping[str, Any], count: int) -> list[tuple[str, str]]:
    low, high = figures["final_right_interval"]
    times = figures["milliseconds_per_item"]
    cards = [
        (_percent(figures["final_right"], count), f"right, {low:.0%} to {high:.0%} with 95 % confidence"),
        (_percent(figures["first_right"], count), "right in the model's first answer"),
        (f"{figures['fixed']} / {figures['broken']}", "fixed / broken on the way"),
        (str(figures["calls"]), "calls of the model"),
    ]
    if times:
        cards.append((f"{times['p50'] / 1_000:.2g} s", f"in the middle; {times['p99'] / 1_000:.2g} s for 99 of 100"))
    if figures["right_per_1000_calls"] is not None:
        cards.append((f"{figures['right_per_1000_calls']:g}", "right per 1,000 calls"))
    if figures["cost"] is not None:
        cards.append((f"{figures['cost']:.4g}", "cost, in the unit of the prices"))
    return cards


def _percent(part: int, of: int) -> str:
    return f"{part / of:.1%}" if of else "-"


def _card(value: str, label: str) -> str:
    return f"<div class='card'><b>{escape(value)}</b><span>{escape(label)}</span></div>"


def _writers(figures: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, str(counts["items"]), _percent(counts.get("right", 0), counts["items"]))
        for name, counts in figures["by_writer"].items()
    ]


def _tenths(figures: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (
            "nothing" if counts["stated"] is None else f"{counts['stated']:.0%}",
            str(counts["items"]),
            f"{counts['right']:.1%}",
        )
        for counts in figures["by_confidence"].values()
    ]


def _against(figures: Mapping[str, Any]) -> str:
    if (other := figures.get("against")) is None:
        return ""
    rows = [
        ("right only here", str(len(other["only_here"])), ", ".join(other["only_here"][:12])),
        ("right only in the other run", str(len(other["only_there"])), ", ".join(other["only_there"][:12])),
        ("chance makes as large a difference", f"p = {other['p']:g}", f"{other['items_in_both']} items in both"),
    ]
    return _table("Against the other run", ("", "items", ""), rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>"


def _item(item: Judged) -> str:
    sure = "says not how sure it is" if item.confidence is None else f"{item.confidence:.0%} sure"
    facts = [
        _KINDS[_rank(item)],
        item.database,
        f"ended as {item.outcome}",
        f"written by {item.writer}" if item.writer else "",
    ]
    facts += [sure if item.final_executable else "", f"expected: {item.expect}" if item.expect else "", item.error]
    lines = [
        f"<article><h3>{escape(item.question)}</h3><p>{escape(item.id)}: {escape(', '.join(filter(None, facts)))}</p>"
    ]
    for label, sql in (("Answered with", item.sql), ("Reference", item.gold)):
        if sql:
            lines.append(f"<p>{label}</p><pre>{escape(sql)}</pre>")
    return "".join(lines) + "</article>"
