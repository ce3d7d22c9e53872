"""What a person is asked to say yes to, and what was done after it, in words: how much would change, and how sure.

Names of the database are said to analysts only; an estimate is called one, and what is not known is said so.
"""

from __future__ import annotations

from querybus.core.asking_back import Confirmation
from querybus.core.messages import Concluded
from querybus_presenter.wording.texts import Texts


def asking(confirmation: Confirmation, texts: Texts, *, with_names: bool) -> str:
    """Return the question in one or two sentences."""
    words = texts.confirmation
    rows = _counted(confirmation.rows_known, confirmation.rows_affected, texts)
    kind = "cost" if confirmation.reason == "cost" else confirmation.kind.lower()
    said = [words.get(kind, words["other"]).format(rows=rows)]
    if with_names and confirmation.table:
        columns = f" ({', '.join(confirmation.columns)})" if confirmation.columns else ""
        said.append(words["names"].format(table=confirmation.table, columns=columns))
    if confirmation.reason == "write":
        said.append(words["not_yet"])
    return ("" if texts.language == "zh" else " ").join(said)


def next_step(body: Concluded, texts: Texts) -> str:
    """Return what a person can do about a conclusion without rows."""
    if body.confirmation is not None and body.confirmation.needs_second_person:
        return texts.confirmation["second_person"]
    return texts.next[body.outcome]


def done(rows_affected: int | None, texts: Texts) -> str:
    """Return what a confirmed change did."""
    if rows_affected is None:
        return texts.confirmation["done_structure"]
    return _counted("done", rows_affected, texts)


def _counted(name: str, count: int | None, texts: Texts) -> str:
    """Return a text with its count; some have words of their own for one and for none."""
    words = texts.confirmation
    own = {0: f"{name}_none", 1: f"{name}_one"}.get(-1 if count is None else count, name)
    return words.get(own, words[name]).format(count="?" if count is None else f"{count:,}")
