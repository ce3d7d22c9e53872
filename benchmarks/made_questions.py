"""Questions made from templates over any database, with the statement that each one is made from.

They say every table and column by its name, so they show how far the translator reads what is said plainly, on as many
schemas as there are: which column of which table, which join, which order. They say nothing of synonyms, verbs and what
people leave out. One of a few wordings is drawn for each; the same seed makes the same questions.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from querybus.text.words import plural, singular

ROWS_MIN = 3
VALUES_MAX = 60
TRIES_PER_QUESTION = 12
_WORD_VALUE = re.compile(r"[A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)?")
_KEY_WORDS = ("id", "code", "key")
_NAME_WORDS = ("name", "title")
_NO_KIND = ("date", "time", "year", "url", "phone", "email", "description", "detail", "address")


@dataclass(frozen=True)
class Template:
    """Wordings and the statement that they are made from.

    `needs` are the pieces that must be there: c and v, a column of words and one of its values; d and x, one of figures;
    A_ and B_ before them, of a table and of the one that it refers to. `ranks` says that one of equally good rows is meant.
    """

    wordings: tuple[str, ...]
    sql: str
    needs: str = ""
    ranks: bool = False


@dataclass
class _Table:
    name: str
    one: str
    many: str
    label: str = ""
    key: str = ""
    texts: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    figures: list[tuple[str, list[float]]] = field(default_factory=list[tuple[str, list[float]]])


@dataclass(frozen=True)
class Made:
    """A made question, what it is made from, and whether one of several rows answers it."""

    question: str
    gold: str
    ranks: bool


_ONE = (
    Template(("What are the {ns} of {many} whose {c} is {v}?", "List the {ns} of all {many} with {v} as their {c}.", "Please show me the {ns} of the {many} with {c} {v}."), "SELECT {N} FROM {T} WHERE {C} = {V}", "cv"),
    Template(("What are the {ns} of {many} whose {c} is not {v}?", "List the {ns} of the {many} that do not have {v} as their {c}."), "SELECT {N} FROM {T} WHERE {C} <> {V}", "cv"),
    Template(("How many {many} have {c} {v}?", "Count the {many} whose {c} is {v}.", "What is the number of {many} with {v} as {c}?"), "SELECT COUNT(*) FROM {T} WHERE {C} = {V}", "cv"),
    Template(("Which {many} have a {d} above {x}? Show their {ns}.", "What are the {ns} of {many} whose {d} is greater than {x}?", "List the {ns} of {many} with a {d} over {x}."), "SELECT {N} FROM {T} WHERE {D} > {X}", "dx"),
    Template(("What are the {ns} of {many} with {c} {v} and a {d} of at least {x}?",), "SELECT {N} FROM {T} WHERE {C} = {V} AND {D} >= {X}", "cvdx"),
    Template(("What is the average {d} of {many} whose {c} is {v}?", "Find the mean {d} of the {many} with {c} {v}."), "SELECT AVG({D}) FROM {T} WHERE {C} = {V}", "cvdx"),
    Template(("What are the maximum and minimum {d} of all {many}?", "Find the highest and lowest {d} of {many}."), "SELECT MAX({D}), MIN({D}) FROM {T}", "dx"),
    Template(("How many {many} are there for each {c}?", "Show each {c} and the number of {many} with that {c}.", "Count the {many} by {c}."), "SELECT {C}, COUNT(*) FROM {T} GROUP BY {C}", "cv"),
    Template(("What is the average {d} of {many} for each {c}?", "For each {c}, what is the average {d} of the {many}?"), "SELECT {C}, AVG({D}) FROM {T} GROUP BY {C}", "cvdx"),
    Template(("For each {c}, show the highest and lowest {d} of the {many}.",), "SELECT {C}, MAX({D}), MIN({D}) FROM {T} GROUP BY {C}", "cvdx"),
    Template(("List the {ns} of {many} sorted by {d} in descending order.", "Show the {ns} of all {many} from the highest {d} to the lowest.", "List the {ns} of the {many} by {d}, highest first."), "SELECT {N} FROM {T} ORDER BY {D} DESC", "dx"),
    Template(("Sort the {many} by {d} and show their {ns}.", "What are the {ns} of all {many}, ordered by {d} from smallest to largest?"), "SELECT {N} FROM {T} ORDER BY {D}", "dx"),
    Template(("What are the {ns} of {many} whose {d} is above the average?", "Which {many} have a {d} greater than the average {d}? Show their {ns}."), "SELECT {N} FROM {T} WHERE {D} > (SELECT AVG({D}) FROM {T})", "dx"),
    Template(("Which {c} is most common among {many}?", "What is the most frequent {c} of {many}?"), "SELECT {C} FROM {T} WHERE {C} IS NOT NULL GROUP BY {C} HAVING COUNT(*) >= ALL_COUNTS", "cv", ranks=True),
    Template(("What is the {n} of the {one} with the highest {d}?", "Which {one} has the largest {d}? Show its {n}."), "SELECT {N} FROM {T} WHERE {D} = (SELECT MAX({D}) FROM {T})", "dx", ranks=True),
    Template(("List the {ns} of {many} with {c} either {v} or {v2}.", "What are the {ns} of {many} whose {c} is {v} or {v2}?"), "SELECT {N} FROM {T} WHERE {C} IN ({V}, {V2})", "cv"),
    Template(("What are the ids of {many} with a {d} of at most {x}?", "List the id of each {one} whose {d} is at most {x}."), "SELECT {K} FROM {T} WHERE {D} <= {X}", "dxk"),
)  # fmt: skip
_TWO = (
    Template(("Show the {an} of each {a} and the {bn} of its {b}.", "List every {a}'s {an} along with the {bn} of the {b}."), "SELECT A.{AN}, B.{BN} FROM {J}", "A_n"),
    Template(("What are the {ans} of {as_} whose {b} has {c} {v}?", "List the {ans} of the {as_} of {bs} with {c} {v}."), "SELECT A.{AN} FROM {J} WHERE B.{C} = {V}", "A_nB_cv"),
    Template(("Find the {bns} of the {bs} with a {a} whose {c} is {v}.", "Which {bs} have {as_} with {c} {v}? Show the {bns}."), "SELECT B.{BN} FROM {B} AS B WHERE B.{BK} IN (SELECT A.{F} FROM {A} AS A WHERE A.{C} = {V})", "A_cv"),
    Template(("What is the average {d} of {as_} whose {b} has {c} {v}?", "For {bs} with {c} {v}, what is the average {d} of their {as_}?"), "SELECT AVG(A.{D}) FROM {J} WHERE B.{C} = {V}", "A_dxB_cv"),
    Template(("How many {as_} does each {b} have? Show the {bn} and the number.", "Show the {bn} of each {b} and its number of {as_}.", "Give the number of {as_} per {b} together with the {bn}."), "SELECT B.{BN}, COUNT(*) FROM {J} GROUP BY B.{BK}"),
    Template(("For each {b}, how many {as_} with {c} {v} are there? List the {bn} as well.",), "SELECT B.{BN}, COUNT(*) FROM {J} WHERE A.{C} = {V} GROUP BY B.{BK}", "A_cv"),
    Template(("For every {b}, give the {bn} and the mean {d} of its {as_}.", "Show the {bn} of each {b} with the average {d} of its {as_}."), "SELECT B.{BN}, AVG(A.{D}) FROM {J} GROUP BY B.{BK}", "A_dx"),
    Template(("Show the {bn} of each {b} along with the highest {d} among its {as_}.", "For each {b}, list the {bn} and the maximum {d} of its {as_}."), "SELECT B.{BN}, MAX(A.{D}) FROM {J} GROUP BY B.{BK}", "A_dx"),
    Template(("Which {bs} have more than one {a}? Show their {bns}.", "Find the {bns} of the {bs} that have two or more {as_}."), "SELECT B.{BN} FROM {J} GROUP BY B.{BK} HAVING COUNT(*) > 1"),
    Template(("Show the {bn} and the number of {as_} for each {b} that has more than 1 {as_}.", "List the {bns} of {bs} having over 1 {as_}, and how many they have."), "SELECT B.{BN}, COUNT(*) FROM {J} GROUP BY B.{BK} HAVING COUNT(*) > 1"),
    Template(("What are the {bns} of {bs} without any {as_}?", "Which {bs} have no {as_}? List their {bns}."), "SELECT {BN} FROM {B} WHERE {BK} NOT IN (SELECT {F} FROM {A} WHERE {F} IS NOT NULL)"),
    Template(("Which {bs} do not have any {a} with {c} {v}? Show the {bns}.",), "SELECT {BN} FROM {B} WHERE {BK} NOT IN (SELECT {F} FROM {A} WHERE {C} = {V} AND {F} IS NOT NULL)", "A_cv"),
    Template(("Which {b} has the {a} with the largest {d}? Give the {bn}.", "Find the {bn} of the {b} of the {a} with the greatest {d}."), "SELECT B.{BN} FROM {J} WHERE A.{D} = (SELECT MAX(A.{D}) FROM {J})", "A_dx", ranks=True),
    Template(("What is the {an} of the {a} with the highest {d}, and the {bn} of its {b}?", "For the {a} with the greatest {d}, give the {an} and the {bn} of the {b}."), "SELECT A.{AN}, B.{BN} FROM {J} WHERE A.{D} = (SELECT MAX(A.{D}) FROM {J})", "A_nA_dx", ranks=True),
)  # fmt: skip
_ALL_COUNTS = "(SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM {T} WHERE {C} IS NOT NULL GROUP BY {C}))"


def made_questions(path: Path, count: int, seed: int) -> Iterator[Made]:
    """Yield at most `count` different questions about a SQLite file."""
    dice = random.Random(f"{seed}:{path.stem}")
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = _tables(database)
        pairs = _references(database, tables)
    seen: set[str] = set()
    for _ in range(count * TRIES_PER_QUESTION):
        if len(seen) == count:
            return
        template = dice.choice((*_ONE, *_TWO))
        made = _of_one(template, tables, dice) if template in _ONE else _of_two(template, tables, pairs, dice)
        if made is not None and made.question not in seen:
            seen.add(made.question)
            yield made


def _of_one(template: Template, tables: dict[str, _Table], dice: random.Random) -> Made | None:
    named = [table for table in tables.values() if table.label]
    if not named:
        return None
    table = dice.choice(named)
    pieces = _values(table, template.needs, dice)
    if pieces is None or ("k" in template.needs and not table.key):
        return None
    pieces |= {"one": table.one, "many": table.many, "n": _said(table.label), "ns": plural(_said(table.label))}
    pieces |= {"T": _quoted(table.name), "N": _quoted(table.label), "K": _quoted(table.key)}
    return _filled(template, pieces, dice)


def _of_two(
    template: Template, tables: dict[str, _Table], pairs: Sequence[tuple[str, str, str, str]], dice: random.Random
) -> Made | None:
    if not pairs:
        return None
    source, key, target, target_key = dice.choice(pairs)
    child, parent = tables[source], tables[target]
    needs = template.needs.split("A_")
    of_parent = template.needs.partition("B_")[2]
    of_child = "".join(needs[1:]).partition("B_")[0]
    own, other = _values(child, of_child, dice), _values(parent, of_parent, dice)
    if not parent.label or own is None or other is None or ("n" in of_child and not child.label):
        return None
    pieces = own | other
    pieces |= {"a": child.one, "as_": child.many, "an": _said(child.label), "ans": plural(_said(child.label))}
    pieces |= {"b": parent.one, "bs": parent.many, "bn": _said(parent.label), "bns": plural(_said(parent.label))}
    pieces |= {"A": _quoted(source), "B": _quoted(target), "F": _quoted(key), "BK": _quoted(target_key)}
    pieces |= {"AN": _quoted(child.label), "BN": _quoted(parent.label)}
    pieces["J"] = f"{pieces['A']} AS A JOIN {pieces['B']} AS B ON A.{pieces['F']} = B.{pieces['BK']}"
    return _filled(template, pieces, dice)


def _values(table: _Table, needs: str, dice: random.Random) -> dict[str, str] | None:
    """Draw a column of words with two values, and one of figures with one; None where the table has none."""
    pieces: dict[str, str] = {}
    if "c" in needs:
        texts = [(name, values) for name, values in table.texts if len(values) > 1]
        if not texts:
            return None
        name, values = dice.choice(texts)
        one, other = dice.sample(values, 2)
        pieces |= {"c": _said(name), "C": _quoted(name), "v": one, "v2": other, "V": f"'{one}'", "V2": f"'{other}'"}
    if "d" in needs:
        if not table.figures:
            return None
        name, figures = dice.choice(table.figures)
        figure = dice.choice(figures)
        pieces |= {"d": _said(name), "D": _quoted(name), "x": str(figure), "X": str(figure)}
    return pieces


def _filled(template: Template, pieces: dict[str, str], dice: random.Random) -> Made:
    question = dice.choice(template.wordings).format(**pieces)
    return Made(
        question,
        template.sql.replace("ALL_COUNTS", _ALL_COUNTS).format(**pieces),
        template.ranks,
    )


def _tables(database: sqlite3.Connection) -> dict[str, _Table]:
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    tables: dict[str, _Table] = {}
    for (name,) in found.fetchall():
        rows = database.execute(f"SELECT COUNT(*) FROM {_quoted(name)}").fetchone()[0]
        if rows >= ROWS_MIN:
            tables[name] = _table(database, name)
    return tables


def _table(database: sqlite3.Connection, name: str) -> _Table:
    words = _said(name).split()
    one = " ".join([*words[:-1], singular(words[-1])])
    table = _Table(name, one, plural(one))
    foreign = {row[3].lower() for row in database.execute(f"PRAGMA foreign_key_list({_quoted(name)})")}
    columns = database.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
    keys = [row[1] for row in columns if row[5]]
    table.key = keys[0] if len(keys) == 1 else ""
    for _, column, *_ in columns:
        said = _said(column)
        if column in keys or column.lower() in foreign or said.split()[-1] in _KEY_WORDS:
            continue
        statement = f"SELECT DISTINCT {{0}} FROM {{1}} WHERE {{0}} IS NOT NULL LIMIT {VALUES_MAX}"
        values = [row[0] for row in database.execute(statement.format(_quoted(column), _quoted(name)))]
        words_held = [value for value in values if isinstance(value, str) and _WORD_VALUE.fullmatch(value)]
        if values and all(isinstance(value, int | float) for value in values):
            table.figures.append((column, values))
        elif values and all(isinstance(value, str) for value in values):
            if said.split()[-1] in _NAME_WORDS and not table.label:
                table.label = column
            elif words_held and not any(word in said for word in _NO_KIND):
                table.texts.append((column, words_held))
    return table


def _references(database: sqlite3.Connection, tables: dict[str, _Table]) -> list[tuple[str, str, str, str]]:
    """Return child, its column, parent and its key, where only one column of the child refers to that parent."""
    spelt = {name.lower(): name for name in tables}
    result: list[tuple[str, str, str, str]] = []
    for source in tables:
        found = database.execute(f"PRAGMA foreign_key_list({_quoted(source)})").fetchall()
        parents = [row[2].lower() for row in found]
        for _, _, parent, column, key, *_ in found:
            target = spelt.get(parent.lower())
            referred = key or (tables[target].key if target else "")
            if target and target != source and parents.count(parent.lower()) == 1 and referred:
                result.append((source, column, target, referred))
    return result


def _said(name: str) -> str:
    return " ".join(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
