"""The reading in the making: the nodes with one meaning each, and what has been made of them so far.

The readers (`read_*.py`) take nodes and add to the sketch; a node is taken once. What nobody takes is left over and
costs confidence. This is the translator's only mutable value and never leaves it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from querybus.core.catalog import ColumnKind, Language
from querybus.text.labels import flag_values
from querybus_translator.language.lexicon import POSSESSIVES, Concept, Op, lexicon
from querybus_translator.language.stems import base_form
from querybus_translator.language.time.words import year_word
from querybus_translator.resolve import Assignment
from querybus_translator.schema.comparison import Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, NodeKind
from querybus_translator.writing.form import ColumnRef, Comparison, Condition, Measure, Membership, Ordering

NUMERIC = frozenset({ColumnKind.INTEGER, ColumnKind.NUMBER})
TEMPORAL = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})
TABLES_SEARCHED_MAX = 100
_MONEY = frozenset(
    {"wage", "salary", "price", "cost", "fee", "rate", "amount", "pay", "rent", "budget", "revenue", "income"}
)
_PASSED = frozenset({"'s", ":", '"', "'", "-", "(", ")"})
_SENTENCE_ENDS = frozenset({".", "?", "!", ";", "？", "。", "！", "；"})


@dataclass(frozen=True, slots=True)
class Placed:
    """A condition and the node where it was read."""

    place: int
    condition: Condition
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """A superlative: rows in this order, the first `count` of them behind `nth` - 1. `counted` is the table whose rows are counted."""

    place: int
    by: Measure | None
    descending: bool
    count: int
    counted: int | None = None
    direct: bool = False
    grouped: ColumnRef | int | None = None
    nth: int = 1


@dataclass(slots=True)
class Sketch:
    """The nodes of a question under one assignment, and the parts of the form read from them."""

    nodes: Sequence[Node]
    assignment: Assignment
    index: CatalogIndex
    today: date
    chinese: bool
    taken: list[bool] = field(default_factory=list[bool])
    passed: list[bool] = field(default_factory=list[bool])
    """Nodes that say nothing between two others: stop words, a possessive, a hyphen."""
    asked: list[bool] = field(default_factory=list[bool])
    conditions: list[Placed] = field(default_factory=list[Placed])
    having: list[tuple[int, Comparison]] = field(default_factory=list[tuple[int, Comparison]])
    orderings: list[Ordering] = field(default_factory=list[Ordering])
    rankings: list[Ranking] = field(default_factory=list[Ranking])
    groups: list[tuple[int, ColumnRef | int]] = field(default_factory=list[tuple[int, ColumnRef | int]])
    targets: list[tuple[int, Measure]] = field(default_factory=list[tuple[int, Measure]])
    absences: list[tuple[int, Membership | Comparison]] = field(
        default_factory=list[tuple[int, Membership | Comparison]]
    )
    context: tuple[int, ...] = ()
    anchor: int | None = None
    everything: int | None = None
    beside: int = 0
    done: dict[int, ColumnRef] = field(default_factory=dict[int, ColumnRef])
    """Days that verbs name, by where the verb stands: time is cut by them."""
    hidden_tables: set[int] = field(default_factory=set[int])
    names_kind: bool = False
    """Whether a kind stands for the rows of it: "dogs" for animals."""
    limit: int | None = None
    distinct: bool = False
    notes: list[str] = field(default_factory=list[str])
    in_whole_units: list[str] = field(default_factory=list[str])
    """Figures as they were said, taken as whole units although the amounts are stored in cents and no currency was said."""
    doubts: float = 0.0

    of_roles: dict[int, int] = field(default_factory=dict[int, int])
    """Where a column is said to be one of a role, that role: "their manager's name"."""

    def __post_init__(self) -> None:
        self.taken = [node.kind in {NodeKind.STOP, NodeKind.MARK} for node in self.nodes]
        self.passed = [node.kind is NodeKind.STOP or node.text in _PASSED for node in self.nodes]
        self.asked = _asked_zones(self.nodes)
        for place, pick in self.assignment.picks.items():
            owner = self._owner_said(place)
            if owner is not None and owner != pick.table == self.index.real(owner) and pick.column is not None:
                self.of_roles[place] = owner

    def _owner_said(self, place: int) -> int | None:
        """Return the table whose column a node is said to be: "manager's name", "name of the manager"."""
        if place > 1 and self.nodes[place - 1].text in {"'s", "’s"}:
            return self.table(place - 2)
        behind = self.after(place)
        between = [node.text.lower() for node in self.nodes[place + 1 : behind]]
        return self.table(behind) if between[:1] == ["of"] else None

    @property
    def language(self) -> Language:
        return "zh" if self.chinese else "en"

    # What a node means.

    def pick(self, place: int | None) -> Candidate | None:
        return None if place is None else self.assignment.picks.get(place)

    def op(self, place: int | None) -> Op | None:
        return self.nodes[place].op if place is not None and 0 <= place < len(self.nodes) else None

    def column(self, place: int | None) -> ColumnRef | None:
        """The column that a node means, None for a table, a value and everything else."""
        pick = self.pick(place)
        if pick is None or pick.column is None or pick.value is not None or place is None:
            return None
        return ColumnRef(self.of_roles.get(place, pick.table), pick.column)

    def figure_of_verb(self, place: int | None) -> ColumnRef | None:
        """Return the figure that a verb says of its subject: what a ticket costs is its price. None for other words."""
        node = None if place is None else self.nodes[place]
        if place is None or node is None or node.op is not Op.ADJECTIVE_ASK or node.phrase is None or place == 0:
            return None
        result = self.concept_column(node.phrase.concepts, place, ())
        if result is None and not self.mentioned_tables():
            # "Who earns more than ...": nothing is named but the figure, which one table alone may have.
            result = self.only_concept_column(node.phrase.concepts, place)
        return None if result is None or not self.is_numeric(result[0]) else result[0]

    def flag_values(self, column: ColumnRef) -> tuple[str | int, str | int] | None:
        """Return what a column holds for yes and for no; None where it says something else."""
        return flag_values(self.index.column(column.table, column.column))

    def is_flag(self, column: ColumnRef) -> bool:
        """Whether a column says yes or no of a row."""
        return self.flag_values(column) is not None

    def table(self, place: int | None) -> int | None:
        pick = self.pick(place)
        return pick.table if pick is not None and pick.column is None else None

    def value(self, place: int | None) -> Candidate | None:
        pick = self.pick(place)
        return pick if pick is not None and pick.value is not None else None

    def number(self, place: int | None) -> int | float | None:
        return None if place is None else self.nodes[place].number

    def is_free(self, place: int | None) -> bool:
        return place is not None and not self.taken[place]

    def take(self, *places: int | None) -> None:
        for place in places:
            if place is not None:
                self.taken[place] = True

    # Neighbours.

    def after(self, place: int | None, over: Collection[Op] = ()) -> int | None:
        """Return the next node beyond stop words (and the given phrases), None at a mark or the end."""
        return self._beside(place, 1, over)

    def before(self, place: int | None, over: Collection[Op] = ()) -> int | None:
        """Return the node before, likewise."""
        return self._beside(place, -1, over)

    def _beside(self, place: int | None, step: int, over: Collection[Op]) -> int | None:
        if place is None:
            return None
        other, end = place + step, len(self.nodes)
        while 0 <= other < end:
            if not self.passed[other]:
                node = self.nodes[other]
                if node.op is None or node.op not in over:
                    return None if node.kind is NodeKind.MARK else other
            other += step
        return None

    def has_between(self, start: int, end: int, ops: frozenset[Op]) -> bool:
        return any(node.op in ops for node in self.nodes[min(start, end) + 1 : max(start, end)])

    def free_places(self, *ops: Op) -> list[int]:
        """Return the places of untaken nodes with one of these phrases, in order."""
        return [place for place, node in enumerate(self.nodes) if not self.taken[place] and node.op in ops]

    def sentence_end(self, place: int) -> int:
        for other in range(place + 1, len(self.nodes)):
            if self.nodes[other].text in _SENTENCE_ENDS:
                return other
        return len(self.nodes)

    # What the catalog says.

    def kind(self, column: ColumnRef) -> ColumnKind:
        return self.index.column(column.table, column.column).kind

    def is_numeric(self, column: ColumnRef | None) -> bool:
        return column is not None and self.index.holds_figures(column.table, column.column)

    def can_be_empty(self, column: ColumnRef) -> bool:
        """Return whether rows may lack a value of a column, as far as its rows are known."""
        named = self.index.column(column.table, column.column)
        return named.nullable and (named.profile is None or named.profile.empty_share > 0)

    def is_key(self, column: ColumnRef) -> bool:
        return self.index.is_key(column.table, column.column)

    def refers(self, key: ColumnRef, table: int) -> bool:
        """Return whether a column is by itself a key that refers to rows of `table`."""
        own = self.index.column(key.table, key.column).name
        edges = self.index.graph.edges_of(key.table)
        return any(
            edge.source == key.table and edge.target == table and edge.source_columns == (own,) for edge in edges
        )

    def mentioned_tables(self) -> list[int]:
        """Return tables in the order of their first mention, tables named as such first."""
        named: dict[int, None] = {}
        for place in sorted(self.assignment.picks):
            if self.table(place) is not None or self.assignment.picks[place].with_table:
                named.setdefault(self.assignment.picks[place].table)
        for place in sorted(self.assignment.picks):
            named.setdefault(self.assignment.picks[place].table)
        for table in self.context:
            named.setdefault(table)
        return list(named)

    def nearest_table(self, place: int) -> int | None:
        """Return the table named last before a place, else the first one after it."""
        for other in range(place - 1, -1, -1):
            if self.table(other) is not None:
                return self.table(other)
            value = self.value(other)
            if value is not None and self.op(other + 1) is Op.RELATIVE and not self.chinese:
                # "A cat that is 3 years old": the cat, and not who has it.
                return value.table
        for other in range(place + 1, len(self.nodes)):
            if self.table(other) is not None:
                return self.table(other)
        mentioned = self.mentioned_tables()
        return mentioned[0] if mentioned else None

    def says_sum(self, place: int) -> bool:
        """Return whether a link to a figure begins with a word for the sum: "total order amount", 总金额."""
        if not self.is_numeric(self.column(place)):
            return False
        text = self.nodes[place].text.lower()
        words = lexicon()
        phrases = (*words.english.get((text.split()[0],), ()), *words.chinese.get(text[:1], ()))
        return any(phrase.op is Op.SUM for phrase in phrases)

    def count_column(self, table: int) -> ColumnRef | None:
        """Return the column of another mentioned table that already counts rows of `table`: its `number of orders`."""
        counting = self.index.similar("number") | {"total": 1.0}
        counted = {word for name in self.index.entries_of_table(table).names for word in name}
        for other in self.mentioned_tables():
            if other == table:
                continue
            for number, column in enumerate(self.index.table(other).columns):
                if column.kind not in NUMERIC:
                    continue
                for name in self.index.entry_of_column(other, number).names:
                    words = set(name)
                    if words & counted and words & counting.keys() and not words - counted - counting.keys() - {"of"}:
                        return ColumnRef(other, number)
        return None

    def concept_column(
        self, concepts: Sequence[Concept], place: int, tables: Sequence[int | None]
    ) -> tuple[ColumnRef, bool] | None:
        """Return the column that an adjective compares and whether its order is reversed, looking in `tables` first."""
        wanted = [
            table for table in (*tables, self.nearest_table(place), *self.mentioned_tables()) if table is not None
        ]
        # A gymnast is as old as the person who the gymnast is.
        wanted += [table for one in wanted for table in self.same_rows(one)]
        said = base_form(self.nodes[place].text.lower())
        found = (self._concept_in(concepts, table, said) for table in dict.fromkeys(wanted))
        results = [result for result in found if result is not None]
        # "Students of the Physics department who are older than 25" have an age; the department was only founded some day.
        direct = (result for result in results if not result[1]) if not tables else iter(())
        return next(direct, results[0] if results else None)

    def only_concept_column(self, concepts: Sequence[Concept], place: int) -> tuple[ColumnRef, bool] | None:
        """Return what `concept_column` does where nothing else is named: that of the one table which has one."""
        tables = len(self.index.catalog.tables)
        said = base_form(self.nodes[place].text.lower())
        found = (
            self._concept_in(concepts, table, said) for table in range(tables if tables <= TABLES_SEARCHED_MAX else 0)
        )
        every = [result for result in found if result is not None]
        # A person has an age; a ship was only built some year.
        results = [result for result in every if not result[1]] or every
        return results[0] if len(results) == 1 else None

    def same_rows(self, table: int) -> list[int]:
        """Return the tables that the key of a table refers to."""
        key = self.index.table(self.index.real(table)).primary_key
        edges = self.index.graph.edges_of(table)
        return [edge.target for edge in edges if edge.source == table != edge.target and edge.source_columns == key]

    def _concept_in(self, concepts: Sequence[Concept], table: int, said: str) -> tuple[ColumnRef, bool] | None:
        best: tuple[float, ColumnRef, bool] | None = None
        for concept in concepts:
            for words, reversed_order in ((concept.of, False), (concept.against, True)):
                is_time = "date" in concept.of
                for rank, word in enumerate(words):
                    close = self.index.similar(word)
                    for number, column in enumerate(self.index.table(table).columns):
                        names = self.index.entry_of_column(table, number).names
                        share = max(
                            (max((close.get(part, 0.0) for part in name), default=0.0) / (0.7 + 0.3 * len(name)))
                            for name in names
                        )
                        if share <= 0 or column.kind not in NUMERIC | TEMPORAL | {ColumnKind.TEXT, ColumnKind.TIME}:
                            continue
                        ref = ColumnRef(table, number)
                        # The last five rentals are not those of the most days, the latest visit is not the longest.
                        is_count = is_time and column.kind in NUMERIC and ref not in self.time_columns(table)
                        # The longest serving employee is not the one with the highest hourly wage.
                        is_money = word not in _MONEY and any(not _MONEY.isdisjoint(name) for name in names)
                        # No day is longer or heavier than another; it is only later.
                        is_day = column.kind in TEMPORAL and not (is_time or reversed_order)
                        # The longest film is not that of the latest year.
                        is_day = is_day or (
                            word == "year" and column.name.lower().endswith("year") and not (is_time or reversed_order)
                        )
                        # Who is fast takes little time, and was born in no year.
                        is_day = is_day or (
                            word in _SPANS and reversed_order and LASTING_WORDS.isdisjoint(self.words_of(ref))
                        )
                        if self.is_key(ref) or is_count or is_money or is_day:
                            continue
                        score = share - 0.03 * rank - (0.3 if column.kind is ColumnKind.TEXT else 0.0)
                        # "Items that cost less than ten": their cost, though a price says as much elsewhere.
                        score += 0.07 if word == said else 0.0
                        if score > 0.35 and (best is None or score > best[0] + 1e-9):
                            best = (score, ref, reversed_order)
        return None if best is None else (best[1], best[2])

    def tables_with_time(self, place: int) -> list[int]:
        """Return the tables whose time a bare period may mean: the nearest, the mentioned, then what these refer to."""
        mentioned = self.mentioned_tables()
        nearest = self.nearest_table(place)
        done = (column.table for column in self.done.values())
        first = [table for table in (*done, nearest, *mentioned) if table is not None]
        tables = list(dict.fromkeys((*first, *self._referred_by(first))))
        if not any(self.time_columns(table) for table in tables):
            # "How many fillings did we do in 2026": a kind has no day, and what is of that kind has one.
            rows = {
                edge.source
                for table in first
                for edge in self.index.graph.edges_of(table)
                if edge.target == table and edge.source != table
            }
            tables += [*rows, *self._referred_by(rows)] if len(rows) == 1 else []
        return tables

    def _referred_by(self, tables: Iterable[int]) -> list[int]:
        return [
            edge.target
            for table in tables
            for edge in self.index.graph.edges_of(table)
            if edge.source == table and edge.to_one
        ]

    def figures_of(self, table: int) -> list[ColumnRef]:
        """Return the columns of a table that hold figures and are no keys."""
        columns = (ColumnRef(table, number) for number in range(len(self.index.table(table).columns)))
        return [column for column in columns if self.is_numeric(column) and not self.is_key(column)]

    def time_columns(self, table: int) -> list[ColumnRef]:
        """Return the columns of a table that hold a day or a year, days first."""
        days: list[ColumnRef] = []
        years: list[ColumnRef] = []
        close_to_year = self.index.similar(year_word())
        for number, column in enumerate(self.index.table(table).columns):
            if column.kind in TEMPORAL:
                days.append(ColumnRef(table, number))
            elif column.kind in NUMERIC or column.kind is ColumnKind.TEXT:
                names = self.index.entry_of_column(table, number).names
                if any(close_to_year.get(part, 0.0) >= 0.85 for name in names for part in name):
                    years.append(ColumnRef(table, number))
        # Somebody's birthday is not when something happened, if there is any other day.
        return sorted(days, key=self.is_birthday) + years

    def is_birthday(self, day: ColumnRef) -> bool:
        """Return whether a day is when somebody was born."""
        return not self.words_of(day).isdisjoint(_BIRTH)

    def words_of(self, column: ColumnRef) -> set[str]:
        """Return the words of all names of a column."""
        return {word for name in self.index.entry_of_column(column.table, column.column).names for word in name}


_SPANS = frozenset({"time", "duration"})
LASTING_WORDS = frozenset({"duration", "time", "second", "minute", "hour", "day", "night", "week", "month"})
"""Words of columns that say how long something took."""

_BIRTH = frozenset({"birth", "birthday", "born", "出生日期", "生日", "出生"})


def _asks_again(nodes: Sequence[Node], place: int) -> bool:
    """ "The climber with the highest points, and the name of its mountain": asked for as well, where nothing is said of it."""
    if nodes[place].op is not Op.AND:
        return False
    at = place + 1
    while at < len(nodes) and nodes[at].kind is NodeKind.STOP:
        at += 1
    owner = at + 3
    if owner >= len(nodes) or not nodes[at].candidates or not nodes[owner].candidates:
        return False
    is_of_theirs = nodes[at + 1].text.lower() == "of" and nodes[at + 2].text.lower() in POSSESSIVES
    is_column = nodes[at].candidates[0].column is not None and nodes[owner].candidates[0].column is None
    behind = nodes[owner + 1] if owner + 1 < len(nodes) else None
    is_over = behind is None or behind.kind is NodeKind.MARK or behind.op in (Op.AND, Op.ORDER)
    return is_of_theirs and is_column and is_over


def _asked_zones(nodes: Sequence[Node]) -> list[bool]:
    """Return for each node whether it stands where things are asked for, not where they are described."""
    flags: list[bool] = []
    asked = True
    start = True
    for place, node in enumerate(nodes):
        if node.kind is NodeKind.MARK and node.text in _SENTENCE_ENDS:
            asked, start = True, True
        elif node.op is Op.SHOW:
            first_word = node.text.lower().split()[0] if node.text else ""
            relative = first_word in {"which", "who", "whom"} and not start
            if relative and place and nodes[place - 1].kind is not NodeKind.MARK:
                asked = False
            elif not relative:
                asked = True
            start = False
        elif node.op is Op.RELATIVE or (node.kind is NodeKind.STOP and node.text.lower() in {"who", "which", "whom"}):
            asked = start and node.op is not Op.RELATIVE
            start = False
        elif not asked and _asks_again(nodes, place):
            asked = True
        elif node.kind is not NodeKind.MARK:
            start = False
        flags.append(asked)
    return flags
