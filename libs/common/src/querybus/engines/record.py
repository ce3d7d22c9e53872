"""What one engine's SQL differs in: a frozen record without defaults, so that a missing fact is a type error.

A record holds plain values and no parser types. What a single package needs stands in that package's own record, keyed
by the same `Dialect`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final, Literal

from querybus.engines.dialect import Dialect

_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ASCII_UPPER: Final = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def names(text: str) -> frozenset[str]:
    """Return the names of a list that is written as prose."""
    return frozenset(text.split())


def keep_case(name: str) -> str:
    """Return the name as it is: the engine compares letters exactly."""
    return name


def ascii_lower(name: str) -> str:
    """Return the name with A to Z in lower case and no other letter changed: U+212A is no k."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


def ascii_upper(name: str) -> str:
    """Return the name with a to z in upper case and no other letter changed."""
    return name.upper() if name.isascii() else name.translate(_ASCII_UPPER)


def lower(name: str) -> str:
    """Return the name in lower case, letter by letter, where the letter comes back from it."""
    if name.isascii():
        return name.lower()
    return "".join(folded if (folded := letter.lower()).upper() == letter else letter for letter in name)


def upper(name: str) -> str:
    """Return the name in upper case, letter by letter, where the letter comes back from it."""
    if name.isascii():
        return name.upper()
    return "".join(folded if (folded := letter.upper()).lower() == letter else letter for letter in name)


class DoubleQuoted(Enum):
    """What the engine makes of a word in double quotes."""

    NAME = "name"
    NAME_OR_TEXT = "name or text"
    """A text where no column has this name."""
    TEXT = "text"


class Grouping(Enum):
    """What the engine does with a column that is neither grouped nor aggregated."""

    REFUSES = "refuses"
    TAKES_ANY_ROW = "takes any row"
    NOT_JUDGED = "not judged"
    """The engine has rules of its own: only the engine can say it."""


class InOperand(Enum):
    """Whether a bare name behind IN is read as a table, which the parser takes for a column."""

    NEVER_TABLE = "never"
    TABLE = "x IN t"
    TABLE_IN_BRACKETS = "x IN t, x IN (t)"


class Dual(Enum):
    """Whether the engine has the table DUAL of one row."""

    NONE = "none"
    OPTIONAL = "optional"
    NEEDED = "needed"
    """A SELECT of constants has to read it."""


ByZero = Literal["nothing", "infinity", "error"]
"""What a division by zero gives."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Every fact about one engine's SQL that more than one package needs."""

    dialect: Dialect
    title: str
    """What people call the engine."""
    telemetry_name: str
    """`db.system.name` in OpenTelemetry's conventions."""
    is_file: bool
    """Whether a database is a file that a child process opens, and no server."""
    port: int | None
    """The port on which its servers listen by default; None where an address needs none."""

    version_query: str | None
    """Gives one row, its version and its user; None where the engine tells neither."""
    credential_sources: str
    """Where its driver takes a password from that the address leaves out, for people; empty where it takes none."""
    lists_unreadable_tables: bool
    """Whether a user learns that there are tables which this user may not read."""

    has_database_as_host: bool
    """Whether the host of an address names the database above the schemas: a project."""
    takes_readers: bool
    """Whether a statement names its reader to the engine's own row security: `policy.native`."""

    writes_alone: bool
    """Whether nobody may read a file while it is written."""

    # Names.
    fold: Callable[[str], str]
    """How the engine compares a name without quotes."""
    quoted_is_exact: bool
    """Whether letter case counts in a quoted name."""
    quote: str
    """The sign on both sides of a quoted name."""
    double_quoted: DoubleQuoted
    default_schema: str | None
    """The default schema where a catalog names none; None where each connection has another one."""
    table_case_counts: bool
    """Whether tables may differ by case alone although columns do not."""
    has_structs: bool
    """Whether `a.b.c` may be a field of a column; elsewhere only a schema stands before table and column."""
    pseudo_columns: frozenset[str]
    """Columns that every table has although no catalog lists them, folded."""
    system_schemas: frozenset[str]
    """Schemas and databases of the engine's own, in lower case."""
    system_names: re.Pattern[str] | None
    """Matches the names of the engine's own tables in lower case; None where only their schema tells them."""

    # Functions, in lower case. What is not listed is refused.
    functions: frozenset[str]
    """Functions beside those of every dialect: read-only, without side effect, without reach outside the tables."""
    table_functions: frozenset[str]
    """Functions in FROM."""
    table_function_columns: Mapping[str, tuple[str, ...]]
    """Columns of functions in FROM that the parser does not know."""
    function_schemas: frozenset[str]
    """Schemas whose functions may be called by their qualified name."""
    qualified_functions: frozenset[str]
    """Functions that are only known by their qualified name."""
    bare_calls: frozenset[str]
    """Words that the engine reads as a call without brackets although the parser reads them as a column."""
    aggregate_combinators: tuple[str, ...]
    """Endings that make another aggregate of a listed one: `uniqIf`."""
    function_spellings: Mapping[str, str]
    """Functions that the parser takes for another one, with a name of the same function that it leaves alone."""
    functions_as_written: tuple[str, ...]
    """Functions that the renderer would write as another one, in upper case: none of them is read as more than a call."""
    prefix_functions: Mapping[str, str]
    """Operators before an operand that the parser reads as something else, each with its function."""
    calls_by_attribute: bool
    """Whether `row.f` calls the function f on a row that has no column f."""
    calls_by_bare_name: bool
    """Whether a bare name in the place of a lambda calls the function of that name."""
    calls_without_brackets: bool
    """Whether any unknown name may call a function or a method without brackets."""
    package_prefixes: tuple[str, ...]
    """Beginnings of the names of the engine's own packages, whose functions are called by a qualifier."""

    # Statements.
    explain_forms: tuple[str, ...]
    """How a statement that explains may begin, longest first."""
    plan_form: str | None
    """What asks for a plan that people can read; None where no server has shown one."""
    explains_by_preparing: bool
    """Whether EXPLAIN does nothing but prepare, so that a run finds everything that EXPLAIN would."""
    describe_form: str | None
    """What describes a table, as it is rendered; None where DESCRIBE and SHOW are no statements."""
    describes_queries: bool
    """Whether DESCRIBE and SUMMARIZE take a query as well as a table."""
    shows_columns: bool
    """Whether SHOW COLUMNS FROM describes a table."""
    executes_comments: bool
    """Whether the server runs what stands in a comment of its own form."""
    assigns_variables: bool
    """Whether `:=` assigns a variable wherever it stands."""
    escapes_by_backslash: bool
    """Whether a backslash in a text changes what the sign behind it means."""
    integer_type: str
    """The type of whole numbers in a cast."""
    any_word_is_type: bool
    """Whether a cast takes any word as a type."""
    reads_files_by_name: bool
    """Whether a quoted name in FROM may be the path of a file."""
    in_operand: InOperand
    has_wildcard_tables: bool
    """Whether a name that ends in * stands for all tables whose names begin so."""
    has_databases_above_schemas: bool
    """Whether a table may be written as database.schema.table."""
    calls_methods: bool
    """Whether `value.name()` calls a function with the value before the dot."""
    types_unknown_to_parser: frozenset[str]
    """Types of the engine's own that the parser takes for somebody's, in lower case; none that looks names up."""
    casts_interval_texts: bool
    """Whether a text is cast to an interval: `'5 days ago'::interval` is what `INTERVAL '5 days ago'` is."""
    recurses_without_word: bool
    """Whether a WITH table may read itself without the word RECURSIVE."""
    aliases_everywhere: bool
    """Whether the names of outputs may be used in every clause."""
    grouping: Grouping
    groups_by_outputs: bool
    """Whether a name in GROUP BY is an output of the query before it is a column of one of its sources."""
    dual: Dual
    aliases_derived_tables: bool
    """Whether a query in FROM takes a name with AS; elsewhere it stands without one."""
    has_quantifiers: bool
    """Whether comparisons with ALL (...) and ANY (...) exist."""
    brackets_set_operands: bool
    """Whether a part of a UNION may stand in brackets."""

    # Rendering.
    refuses_foreign_forms: bool
    """Whether a form without a word of this engine is refused; elsewhere the engine says it."""
    regexp_is_operator: bool
    """Whether a match of a regular expression is written with the operator, which every server of the engine knows."""
    decimal_type: str | None
    """The type of decimal numbers in a cast, where the renderer writes one that changes the value; None elsewhere."""
    hex_function: str | None
    """Writes a whole number in hexadecimal, where the renderer writes a function of another meaning; None elsewhere."""
    has_hex_numbers: bool
    """Whether 0x1F is a number beside numbers and x'1F' is not, so that the one may not be written as the other."""
    casts_null_to_types: bool
    """Whether NULL can be cast to the type of any column."""
    date_literal: str
    """A known day, with {} for it as 2026-05-01."""

    # What values do.
    dates_are_text: bool
    """Whether there is no type for dates: a date is a text that functions read."""
    text_ignores_case: bool
    """Whether `=` finds a text in another case of letters."""
    pipes_join_text: bool
    """Whether || joins texts; elsewhere it is OR."""
    divides_whole: bool
    """Whether a whole number by a whole number is a whole number."""
    by_zero: ByZero
    has_column_affinity: bool
    """Whether a column converts what it is compared with to its own type, and a text counts as a number."""
    takes_first_row: bool
    """Whether a query in the place of one value may give several rows, of which the first is taken."""
    chooses_ambiguous_columns: bool
    """Whether a column of several tables without a qualifier is taken from one of them."""
    converts_to_compare: bool
    """Whether a comparison of two sides that differ in kind fails or warns for some rows and not for others.

    Most convert each row's value. ClickHouse refuses the kinds only when it reads a part of the table, and its index leaves
    out parts without a match. The others refuse before any row is read, or (SQLite) compare without converting.
    """
    tries_patterns_on_statistics: bool
    """Whether the planner holds a LIKE pattern against values that its statistics keep, and reports a bad one."""
    rewrites: str | None
    """The table of `sql/names/rewrites.toml` with its proven rewrites; None: no server of it runs in tests, so words are not compared."""

    @cached_property
    def folds_to_upper(self) -> bool:
        """Whether a name that was made without quotes is in upper case; a catalog reports it in lower case."""
        return self.fold("a") == "A"
