"""The body of each event: one frozen type per event, nothing optional that the event always has.

Unknown fields survive a hop. Times are milliseconds since the epoch (UTC).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from querybus.core.asking_back import Clarification, Confirmation, Option, OptionAction, Trigger
from querybus.core.catalog import ColumnKind, Dialect, Language, Personal
from querybus.core.failure import Facts, FailureCode, ModelTrouble, is_unset
from querybus.core.options import Agreement
from querybus.core.requests.metrics_query import MetricsQuery
from querybus.core.requests.refinement import Refinement
from querybus.core.stored.models import ModelUse
from querybus.core.subjects import EventName, StageName
from querybus.core.value import Value

Scalar = str | int | float | bool | None
"""A cell as JSON carries it: decimals and dates as text, bytes as hexadecimal text."""


class Operation(StrEnum):
    """What a caller wants: an answer, only the SQL, to run or check given SQL, or to have it explained."""

    ASK = "ask"
    GENERATE = "generate"
    RUN = "run"
    VALIDATE = "validate"
    EXPLAIN = "explain"


class Origin(StrEnum):
    """Where a SQL text came from."""

    MODEL = "model"
    RULE = "rule"
    BUILTIN = "builtin"
    VERIFIED = "verified"
    USER = "user"


class RuleName(StrEnum):
    """The repair rules, each named as its file in recovery."""

    EXTRACT = "extract"
    CLOSE_PARENTHESIS = "close_parenthesis"
    CLAUSE_WORD = "clause_word"
    QUOTE_KEYWORD = "quote_keyword"
    QUOTE_SPACED_NAME = "quote_spaced_name"
    FOREIGN_DIALECT = "foreign_dialect"
    LAST_STATEMENT = "last_statement"
    CUT_TAIL = "cut_tail"
    QUOTED_LITERAL = "quoted_literal"
    USE_ALIAS = "use_alias"
    OUTPUT_NAME = "output_name"
    FOREIGN_FUNCTION = "foreign_function"
    PSEUDO_FUNCTION = "pseudo_function"
    SET_OPERANDS = "set_operands"
    QUALIFY_AMBIGUOUS = "qualify_ambiguous"
    CHOOSE_AMBIGUOUS = "choose_ambiguous"
    REFERENCED_TEXT = "referenced_text"
    FOLLOW_KEY = "follow_key"
    SPLIT_NAME = "split_name"
    JOIN_ON_KEY = "join_on_key"
    COMPARE_KEYS = "compare_keys"
    REQUALIFY = "requalify"
    RENAME_TABLE = "rename_table"
    FITTING_TABLE = "fitting_table"
    RENAME_COLUMN = "rename_column"
    OTHER_WORD = "other_word"
    JOIN_ALIAS = "join_alias"
    SWAP_TABLE = "swap_table"
    JOIN_OWNER = "join_owner"
    ROWS_OF_CHILD = "rows_of_child"
    ONE_COLUMN = "one_column"
    WINDOW_CONDITION = "window_condition"
    AGGREGATE_CONDITION = "aggregate_condition"
    AGGREGATE_OF_AGGREGATE = "aggregate_of_aggregate"
    GROUP_COMPLETION = "group_completion"
    ALL_OR_ANY = "all_or_any"
    NULL_COMPARISON = "null_comparison"


class Outcome(StrEnum):
    """How a query ends."""

    ANSWERED = "answered"
    PREPARED = "prepared"
    REPLIED = "replied"
    CLARIFICATION = "clarification"
    CONFIRMATION = "confirmation"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Link(Value):
    """One word of the question linked to a table, column or value, with its score in 0..1."""

    text: str
    table: str
    column: str | None = None
    value: str | None = None
    score: float
    reason: str = ""


class ReadingFilter(Value):
    """A condition on the rows of an answer, in words; `id` names it in a refinement."""

    id: str
    text: str
    field: str = Field(default="", description="what is compared, in words; empty where it is not one thing")
    value: str = Field(default="", description="what it is compared with; empty where it is not one value")
    carried: bool = Field(default=False, description="set by the question before, which this one changes")


class ReadingPeriod(Value):
    """The days that an answer is about."""

    text: str
    field: str = Field(description="the date that counts, in words")
    first: str | None = Field(default=None, description="the first day, as YYYY-MM-DD; None: open")
    last: str | None = Field(default=None, description="the last day, as YYYY-MM-DD; None: open")
    carried: bool = Field(default=False, description="set by the question before, which this one changes")


class ReadingGroup(Value):
    """What there is one line for each of; `id` names it in a refinement."""

    id: str
    text: str


class Reading(Value):
    """How a question was read, by its statement: in one line, and in its parts."""

    text: str = Field(description="one sentence")
    measures: tuple[str, ...] = Field(default=(), description="the figures; empty for a list")
    entities: tuple[str, ...] = Field(default=(), description="what is looked at")
    filters: tuple[ReadingFilter, ...] = ()
    period: ReadingPeriod | None = None
    groups: tuple[ReadingGroup, ...] = ()
    order: str = ""
    limit: int | None = Field(default=None, description="the first so many lines")
    definitions: tuple[str, ...] = Field(
        default=(), description="the owner's definitions that were used, by their labels"
    )


class Analysis(Value):
    """How a draft came about."""

    links: tuple[Link, ...] = ()
    tables: tuple[str, ...] = ()
    catalog_fingerprint: str = ""
    example_ids: tuple[str, ...] = ()
    model: str | None = None
    prompt_version: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    reading: str = Field(default="", description="how its author, the translator or a model, read the question")
    assumptions: tuple[str, ...] = Field(default=(), description="what a model says that it assumed")
    column_labels: tuple[str, ...] = Field(
        default=(), description="a model's names of columns, in the reader's language"
    )
    labels: tuple[str, ...] = Field(
        default=(), description="what definitions call each column, in the reader's language"
    )
    units: tuple[str, ...] = Field(default=(), description="what definitions say each column is in; empty: nothing")
    definitions: tuple[str, ...] = Field(
        default=(), description="what people call the definitions that answered, in the reader's language"
    )
    read_as: Reading | None = Field(default=None, description="how definitions read the question, in its parts")
    carried: tuple[str, ...] = Field(
        default=(),
        description="conditions that the last question of the thread set, by their ids in the reading",
        exclude_if=lambda value: not value,
    )
    doubts: tuple[str, ...] = Field(default=(), description="why a first draft is doubtful, as codes")
    agreement: Agreement | None = Field(
        default=None, description="what a second draft came to; `replaced`: it is shown instead"
    )
    second_reading: str | None = Field(
        default=None, description="how the translator reads what a model drafted for; empty: it cannot; None: not asked"
    )
    second_confidence: float = Field(default=0.0, ge=0, le=1, description="of the second reading")
    second_unread: tuple[str, ...] = Field(default=(), description="words that the second reading passes over")
    votes_sql: tuple[str, ...] = Field(
        default=(), exclude_if=is_unset, description="a model's further drafts, in order"
    )
    votes: tuple[Agreement, ...] = Field(
        default=(), exclude_if=is_unset, description="their results beside the first's"
    )
    asked_of: str = Field(default="", description="what people call the connection, where it was chosen among several")
    confidence: float | None = Field(default=None, ge=0, le=1)
    embeddings: str = Field(default="", description="empty: not asked; `used`; else why words stood alone")
    model_trouble: ModelTrouble | None = Field(default=None, exclude_if=is_unset, description="why a model gave none")
    model_detail: str = Field(default="", exclude_if=is_unset, description="the model's fault, for analysts")


class Clarifies(Value):
    query_id: str
    option_id: str
    action: OptionAction
    key: str = Field(
        default="", exclude_if=lambda value: not value, description="of the option, by which choices are counted"
    )


class ForkedFrom(Value):
    thread_id: str
    sequence: int


class Draft(Value):
    """One SQL text with its origin."""

    sql: str
    dialect: Dialect
    origin: Origin


class Asked(Value):
    event: ClassVar[EventName] = EventName.ASKED

    operation: Operation = Operation.ASK
    sql: str | None = Field(default=None, description="SQL given by the person")
    metrics: MetricsQuery | None = Field(default=None, description="figures asked for by the names of definitions")
    clarifies: Clarifies | None = None
    refines: Refinement | None = Field(default=None, description="an answer of the thread that is read otherwise")
    body_sha256: str = Field(default="", description="of the canonical request, for Idempotency-Key")
    thread_until_sequence: int = Field(default=0, description="turns of the thread up to here count")
    forked_from: ForkedFrom | None = None
    connections: tuple[str, ...] = Field(
        default=(), description="where the caller may ask, if the request names none: the generator chooses"
    )
    thread_connection: str | None = Field(
        default=None, description="where the thread's last question was asked, if the caller may ask there"
    )


class Advice(Value):
    """What a new draft learns about the last one."""

    code: FailureCode
    detail: str = Field(default="", description="the cleaned error")
    guidance: str = ""
    facts: Facts = Facts()
    candidates_sql: tuple[str, ...] = Field(default=(), description="the rules' near misses")


class Returned(Value):
    event: ClassVar[EventName] = EventName.RETURNED

    operation: Operation
    draft: Draft | None = Field(description="the failed draft, or the one that ran; None if no SQL was made")
    advice: Advice | None = Field(default=None, description="None: the draft ran, and another is wanted beside it")
    notes: tuple[str, ...] = Field(default=(), exclude_if=is_unset, description="of a draft that ran")
    analysis: Analysis = Field(default=Analysis(), description="of the failed draft, should no other come")
    alternative_sql: str | None = None


class Drafted(Value):
    event: ClassVar[EventName] = EventName.DRAFTED

    draft: Draft
    operation: Operation = Operation.ASK
    analysis: Analysis = Analysis()
    alternative_sql: str | None = Field(
        default=None, description="a second draft by the translator or the model, in the same dialect: it is compared"
    )
    probe: bool = Field(default=False, description="a probe is wanted before approval")
    rules: tuple[str, ...] = Field(default=(), description="the rules that repaired the draft, in order")
    notes: tuple[str, ...] = Field(default=(), description="what was assumed or repaired, for analysts")


class Confirmed(Value):
    event: ClassVar[EventName] = EventName.CONFIRMED

    asking_query_id: str
    sql_sha256: str
    rows_affected_max: int = Field(ge=0)
    confirmed_by: str = Field(default="", exclude_if=is_unset, description="the second person, if it was one")


class Alternative(Value):
    """A second draft as it was written, and as it may run."""

    draft: str
    sql: str


class Approved(Value):
    event: ClassVar[EventName] = EventName.APPROVED

    sql: str = Field(description="as the validator rendered it")
    dialect: Dialect
    origin: Origin
    tables: tuple[str, ...]
    alternative: Alternative | None = Field(default=None, description="a second draft, whose result is compared")
    votes: tuple[Alternative, ...] = Field(default=(), exclude_if=is_unset, description="further drafts, compared too")
    row_limit: int = Field(ge=1, description="rows to fetch at most; the statement itself is bound to one more")
    checked: tuple[Literal["static", "explain", "probe"], ...]
    probed_rows: int | None = Field(default=None, ge=0, description="rows that the probe has read")
    limit_asked: int | None = Field(
        default=None, ge=1, description="the statement's own limit where it was as large as the bound or larger"
    )
    rows_affected_max: int | None = Field(
        default=None, ge=0, description="set for a confirmed write: it is rolled back if it touches more"
    )
    analysis: Analysis = Analysis()
    notes: tuple[str, ...] = ()


class Failed(Value):
    event: ClassVar[EventName] = EventName.FAILED

    code: FailureCode
    stage: StageName
    detail: str = ""
    facts: Facts = Facts()
    draft: Draft | None = None
    operation: Operation = Operation.ASK
    analysis: Analysis = Analysis()
    alternative_sql: str | None = Field(default=None, description="a second draft, which a repair is compared with")
    notes: tuple[str, ...] = Field(default=(), description="what the failed draft had assumed or repaired")


class ResultColumn(Value):
    name: str
    kind: ColumnKind = ColumnKind.OTHER
    type: str = ""
    personal: Personal | None = Field(default=None, description="what business readers see masked")


class PagesAddress(Value):
    """Where a result is kept: `querybus.v1.page.<tenant>.<query>.<run>.<1..count>`.

    What is kept as one page is as many rows as fit one message well; readers page by `page_size`.
    """

    run: str
    count: int
    page_size: int = Field(description="rows of a page as readers see them")
    sha256: tuple[str, ...] = Field(description="of each kept page's Arrow IPC bytes, in order")
    rows: tuple[int, ...] = Field(default=(), description="rows of each kept page; none: `page_size` each")

    def spans(self, first: int, count: int) -> tuple[tuple[int, int, int], ...]:
        """Return which kept pages hold these rows: number from 1, first row and end within it.

        >>> PagesAddress(run="1-1", count=3, page_size=2, sha256=("", "", ""), rows=(4, 4, 1)).spans(3, 3)
        ((1, 3, 4), (2, 0, 2))
        """
        pairs: list[tuple[int, int, int]] = []
        start = 0
        for number, rows in enumerate(self.rows or (self.page_size,) * self.count, start=1):
            begin, end = max(first - start, 0), min(first + count - start, rows)
            if begin < end:
                pairs.append((number, begin, end))
            start += rows
        return tuple(pairs)


class Result(Value):
    """The first page of a result and the address of the rest."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Scalar, ...], ...] = Field(description="first page, at most 256 KB as JSON")
    row_count: int = Field(ge=0, description="rows kept: at most the row limit")
    truncated: bool = Field(default=False, description="the database had more rows than were kept")
    total_count: int | None = Field(default=None, ge=0, description="of a truncated result: all its rows, if asked for")
    total_is_estimate: bool = False
    pages: PagesAddress | None = None
    warnings: tuple[str, ...] = ()
    cut_at_tie: bool = Field(default=False, description="of a ranking: the row behind the last one has its figure")
    values_cut: int = Field(default=0, ge=0, description="values of which `rows` hold only the beginning")


class Concluded(Value):
    event: ClassVar[EventName] = EventName.CONCLUDED

    outcome: Outcome
    code: FailureCode | None = None
    detail: str = Field(default="", description="for engineers, cleaned; never for the business audience")
    stage: StageName | Literal["sweeper"]
    sql: str | None = None
    dialect: Dialect | None = None
    result: Result | None = None
    reply: str | None = Field(default=None, description="chat reply, or a model's own explanation")
    clarification: Clarification | None = None
    confirmation: Confirmation | None = Field(default=None, description="what is asked, of a `confirmation`")
    rows_affected: int | None = Field(default=None, description="rows that a confirmed write changed")
    refused_kind: str | None = Field(default=None, description="kind of the refused statement, in plain words")
    analysis: Analysis = Analysis()
    notes: tuple[str, ...] = ()


Grain = Literal["day", "month", "quarter", "year"]
"""What one date of a column stands for."""


class FormatKind(StrEnum):
    """What the cells of a column are to a reader."""

    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    PERCENT = "percent"
    YEAR = "year"
    DATE = "date"
    DATETIME = "datetime"
    ID = "id"
    BOOLEAN = "boolean"
    TEXT = "text"


class ColumnFormat(Value):
    """The format of one column. A cell times `factor` is what is shown; the cell itself stays as the database has it."""

    kind: FormatKind
    digits: int = Field(
        default=0, ge=0, le=20, description="behind the decimal point at most, and at least the smaller of it and 2"
    )
    unit: str = Field(default="", description="what amounts are in, where the owner has said it: a currency, days")
    factor: float = Field(default=1.0, gt=0, description="100 for a share, 0.01 for hundredths of a currency")
    grain: Grain = Field(default="day", description="of a date: what one of them stands for")

    @property
    def is_figure(self) -> bool:
        """Whether the cells are amounts."""
        return self.kind in ("integer", "number", "money", "percent")


class AnswerColumn(Value):
    """A column as its reader sees it: business readers get `c1`..`cn` and a label."""

    id: str
    label: str
    kind: ColumnKind = ColumnKind.OTHER
    format: ColumnFormat | None = Field(
        default=None, description="None: nobody has decided it; cells are shown as they are"
    )
    personal: Personal | None = Field(default=None, description="what business readers see masked")


class Answer(Value):
    """The outcome, phrased for its reader."""

    outcome: Outcome
    language: Language
    code: FailureCode | None = None
    message: str
    next_step: str = ""
    options: tuple[Option, ...] = ()
    trigger: Trigger | None = None
    confirmation: Confirmation | None = Field(default=None, description="for business readers without names")
    rows_affected: int | None = None
    columns: tuple[AnswerColumn, ...] = ()
    rows: tuple[tuple[Scalar, ...], ...] = ()
    row_count: int = 0
    truncated: bool = False
    total_count: int | None = Field(default=None, description="of a truncated result: all its rows, if asked for")
    total_is_estimate: bool = False
    pages: PagesAddress | None = None
    summary: str = ""
    chart: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()
    mended: tuple[str, ...] = Field(default=(), description="what rules changed in the statement that was run")
    confidence: float | None = Field(default=None, ge=0, le=1, description="how likely the answer is right, if stated")
    explanation: str = Field(default="", description="how the question was read, in words, and how sure that is")
    written_by: Origin | None = Field(default=None, exclude_if=is_unset, description="who wrote the statement")
    model: str = Field(default="", exclude_if=is_unset, description="for analysts: the model that wrote it")
    model_trouble: ModelTrouble | None = Field(default=None, exclude_if=is_unset, description="why a model gave none")
    model_detail: str = Field(default="", exclude_if=is_unset, description="the model's fault, for analysts")
    model_use: ModelUse | None = Field(default=None, exclude_if=is_unset, description="for analysts: what calls took")
    reading: Reading | None = None
    connection_label: str = Field(default="", description="what people call the connection, if chosen among several")


class Finished(Value):
    event: ClassVar[EventName] = EventName.FINISHED

    answer: Answer
    sql: str | None = Field(default=None, description="the last statement, for analysts only")
    detail: str = Field(default="", description="for analysts only")


Body = Asked | Returned | Drafted | Confirmed | Approved | Failed | Concluded | Finished
