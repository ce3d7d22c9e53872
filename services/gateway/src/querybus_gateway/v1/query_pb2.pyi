from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QueryStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_STATUS_UNSPECIFIED: _ClassVar[QueryStatus]
    QUERY_STATUS_QUEUED: _ClassVar[QueryStatus]
    QUERY_STATUS_RUNNING: _ClassVar[QueryStatus]
    QUERY_STATUS_FINISHED: _ClassVar[QueryStatus]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_ANSWERED: _ClassVar[Outcome]
    OUTCOME_PREPARED: _ClassVar[Outcome]
    OUTCOME_REPLIED: _ClassVar[Outcome]
    OUTCOME_CLARIFICATION: _ClassVar[Outcome]
    OUTCOME_CONFIRMATION: _ClassVar[Outcome]
    OUTCOME_REFUSED: _ClassVar[Outcome]
    OUTCOME_FAILED: _ClassVar[Outcome]
    OUTCOME_CANCELLED: _ClassVar[Outcome]
    OUTCOME_EXPIRED: _ClassVar[Outcome]

class ColumnKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COLUMN_KIND_UNSPECIFIED: _ClassVar[ColumnKind]
    COLUMN_KIND_INTEGER: _ClassVar[ColumnKind]
    COLUMN_KIND_NUMBER: _ClassVar[ColumnKind]
    COLUMN_KIND_TEXT: _ClassVar[ColumnKind]
    COLUMN_KIND_BOOLEAN: _ClassVar[ColumnKind]
    COLUMN_KIND_DATE: _ClassVar[ColumnKind]
    COLUMN_KIND_DATETIME: _ClassVar[ColumnKind]
    COLUMN_KIND_TIME: _ClassVar[ColumnKind]
    COLUMN_KIND_BYTES: _ClassVar[ColumnKind]
    COLUMN_KIND_JSON: _ClassVar[ColumnKind]
    COLUMN_KIND_OTHER: _ClassVar[ColumnKind]

class FormatKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORMAT_KIND_UNSPECIFIED: _ClassVar[FormatKind]
    FORMAT_KIND_INTEGER: _ClassVar[FormatKind]
    FORMAT_KIND_NUMBER: _ClassVar[FormatKind]
    FORMAT_KIND_MONEY: _ClassVar[FormatKind]
    FORMAT_KIND_PERCENT: _ClassVar[FormatKind]
    FORMAT_KIND_YEAR: _ClassVar[FormatKind]
    FORMAT_KIND_DATE: _ClassVar[FormatKind]
    FORMAT_KIND_DATETIME: _ClassVar[FormatKind]
    FORMAT_KIND_ID: _ClassVar[FormatKind]
    FORMAT_KIND_BOOLEAN: _ClassVar[FormatKind]
    FORMAT_KIND_TEXT: _ClassVar[FormatKind]

class Grain(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRAIN_UNSPECIFIED: _ClassVar[Grain]
    GRAIN_DAY: _ClassVar[Grain]
    GRAIN_MONTH: _ClassVar[Grain]
    GRAIN_QUARTER: _ClassVar[Grain]
    GRAIN_YEAR: _ClassVar[Grain]
QUERY_STATUS_UNSPECIFIED: QueryStatus
QUERY_STATUS_QUEUED: QueryStatus
QUERY_STATUS_RUNNING: QueryStatus
QUERY_STATUS_FINISHED: QueryStatus
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_ANSWERED: Outcome
OUTCOME_PREPARED: Outcome
OUTCOME_REPLIED: Outcome
OUTCOME_CLARIFICATION: Outcome
OUTCOME_CONFIRMATION: Outcome
OUTCOME_REFUSED: Outcome
OUTCOME_FAILED: Outcome
OUTCOME_CANCELLED: Outcome
OUTCOME_EXPIRED: Outcome
COLUMN_KIND_UNSPECIFIED: ColumnKind
COLUMN_KIND_INTEGER: ColumnKind
COLUMN_KIND_NUMBER: ColumnKind
COLUMN_KIND_TEXT: ColumnKind
COLUMN_KIND_BOOLEAN: ColumnKind
COLUMN_KIND_DATE: ColumnKind
COLUMN_KIND_DATETIME: ColumnKind
COLUMN_KIND_TIME: ColumnKind
COLUMN_KIND_BYTES: ColumnKind
COLUMN_KIND_JSON: ColumnKind
COLUMN_KIND_OTHER: ColumnKind
FORMAT_KIND_UNSPECIFIED: FormatKind
FORMAT_KIND_INTEGER: FormatKind
FORMAT_KIND_NUMBER: FormatKind
FORMAT_KIND_MONEY: FormatKind
FORMAT_KIND_PERCENT: FormatKind
FORMAT_KIND_YEAR: FormatKind
FORMAT_KIND_DATE: FormatKind
FORMAT_KIND_DATETIME: FormatKind
FORMAT_KIND_ID: FormatKind
FORMAT_KIND_BOOLEAN: FormatKind
FORMAT_KIND_TEXT: FormatKind
GRAIN_UNSPECIFIED: Grain
GRAIN_DAY: Grain
GRAIN_MONTH: Grain
GRAIN_QUARTER: Grain
GRAIN_YEAR: Grain

class ColumnFormat(_message.Message):
    __slots__ = ("kind", "digits", "unit", "factor", "grain")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIGITS_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    GRAIN_FIELD_NUMBER: _ClassVar[int]
    kind: FormatKind
    digits: int
    unit: str
    factor: float
    grain: Grain
    def __init__(self, kind: _Optional[_Union[FormatKind, str]] = ..., digits: _Optional[int] = ..., unit: _Optional[str] = ..., factor: _Optional[float] = ..., grain: _Optional[_Union[Grain, str]] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("id", "label", "kind", "format")
    ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    id: str
    label: str
    kind: ColumnKind
    format: ColumnFormat
    def __init__(self, id: _Optional[str] = ..., label: _Optional[str] = ..., kind: _Optional[_Union[ColumnKind, str]] = ..., format: _Optional[_Union[ColumnFormat, _Mapping]] = ...) -> None: ...

class Cell(_message.Message):
    __slots__ = ("text", "integer", "number", "truth")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    text: str
    integer: int
    number: float
    truth: bool
    def __init__(self, text: _Optional[str] = ..., integer: _Optional[int] = ..., number: _Optional[float] = ..., truth: _Optional[bool] = ...) -> None: ...

class Row(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[Cell]
    def __init__(self, cells: _Optional[_Iterable[_Union[Cell, _Mapping]]] = ...) -> None: ...

class ModelUse(_message.Message):
    __slots__ = ("calls", "tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning", "cost")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_IN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_OUT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_CACHED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_REASONING_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    tokens_reasoning: int
    cost: float
    def __init__(self, calls: _Optional[int] = ..., tokens_in: _Optional[int] = ..., tokens_out: _Optional[int] = ..., tokens_cached: _Optional[int] = ..., tokens_reasoning: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class Retries(_message.Message):
    __slots__ = ("generation", "mend")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    MEND_FIELD_NUMBER: _ClassVar[int]
    generation: int
    mend: int
    def __init__(self, generation: _Optional[int] = ..., mend: _Optional[int] = ...) -> None: ...

class Choice(_message.Message):
    __slots__ = ("id", "text", "question", "action", "connection")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    question: str
    action: str
    connection: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., question: _Optional[str] = ..., action: _Optional[str] = ..., connection: _Optional[str] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("origin", "stage", "code", "duration_ms", "validated", "executed", "sql", "detail")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    VALIDATED_FIELD_NUMBER: _ClassVar[int]
    EXECUTED_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    origin: str
    stage: str
    code: str
    duration_ms: float
    validated: bool
    executed: bool
    sql: str
    detail: str
    def __init__(self, origin: _Optional[str] = ..., stage: _Optional[str] = ..., code: _Optional[str] = ..., duration_ms: _Optional[float] = ..., validated: _Optional[bool] = ..., executed: _Optional[bool] = ..., sql: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("stage", "event", "started_at_ms", "ended_at_ms")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    event: str
    started_at_ms: int
    ended_at_ms: int
    def __init__(self, stage: _Optional[str] = ..., event: _Optional[str] = ..., started_at_ms: _Optional[int] = ..., ended_at_ms: _Optional[int] = ...) -> None: ...

class Classification(_message.Message):
    __slots__ = ("kind", "confidence", "method", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    confidence: float
    method: str
    reason: str
    def __init__(self, kind: _Optional[str] = ..., confidence: _Optional[float] = ..., method: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class PageCount(_message.Message):
    __slots__ = ("count", "page_size")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    count: int
    page_size: int
    def __init__(self, count: _Optional[int] = ..., page_size: _Optional[int] = ...) -> None: ...

class Confirmation(_message.Message):
    __slots__ = ("reason", "kind", "sql_sha256", "rows_affected", "rows_known", "rows_affected_max", "table", "columns", "needs_second_person")
    REASON_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SQL_SHA256_FIELD_NUMBER: _ClassVar[int]
    ROWS_AFFECTED_FIELD_NUMBER: _ClassVar[int]
    ROWS_KNOWN_FIELD_NUMBER: _ClassVar[int]
    ROWS_AFFECTED_MAX_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    NEEDS_SECOND_PERSON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    kind: str
    sql_sha256: str
    rows_affected: int
    rows_known: str
    rows_affected_max: int
    table: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    needs_second_person: bool
    def __init__(self, reason: _Optional[str] = ..., kind: _Optional[str] = ..., sql_sha256: _Optional[str] = ..., rows_affected: _Optional[int] = ..., rows_known: _Optional[str] = ..., rows_affected_max: _Optional[int] = ..., table: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., needs_second_person: _Optional[bool] = ...) -> None: ...

class ReadingFilter(_message.Message):
    __slots__ = ("id", "text", "field", "value", "carried")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CARRIED_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    field: str
    value: str
    carried: bool
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., field: _Optional[str] = ..., value: _Optional[str] = ..., carried: _Optional[bool] = ...) -> None: ...

class ReadingPeriod(_message.Message):
    __slots__ = ("text", "field", "first", "last", "carried")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    CARRIED_FIELD_NUMBER: _ClassVar[int]
    text: str
    field: str
    first: str
    last: str
    carried: bool
    def __init__(self, text: _Optional[str] = ..., field: _Optional[str] = ..., first: _Optional[str] = ..., last: _Optional[str] = ..., carried: _Optional[bool] = ...) -> None: ...

class ReadingGroup(_message.Message):
    __slots__ = ("id", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Reading(_message.Message):
    __slots__ = ("text", "measures", "entities", "filters", "period", "groups", "order", "limit", "definitions")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MEASURES_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DEFINITIONS_FIELD_NUMBER: _ClassVar[int]
    text: str
    measures: _containers.RepeatedScalarFieldContainer[str]
    entities: _containers.RepeatedScalarFieldContainer[str]
    filters: _containers.RepeatedCompositeFieldContainer[ReadingFilter]
    period: ReadingPeriod
    groups: _containers.RepeatedCompositeFieldContainer[ReadingGroup]
    order: str
    limit: int
    definitions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., measures: _Optional[_Iterable[str]] = ..., entities: _Optional[_Iterable[str]] = ..., filters: _Optional[_Iterable[_Union[ReadingFilter, _Mapping]]] = ..., period: _Optional[_Union[ReadingPeriod, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[ReadingGroup, _Mapping]]] = ..., order: _Optional[str] = ..., limit: _Optional[int] = ..., definitions: _Optional[_Iterable[str]] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("query_id", "thread_id", "connection", "question", "language", "outcome", "code", "message", "next_step", "options", "trigger", "columns", "rows", "row_count", "truncated", "pages", "summary", "chart_json", "notes", "explanation", "classification", "retries", "attempts", "path", "asked_at_ms", "deadline_at_ms", "sql", "detail", "enriched_question", "more", "confirmation", "rows_affected", "mended", "confidence", "total_count", "total_is_estimate", "reading", "connection_label", "needs_user_confirmation", "written_by", "model", "model_trouble", "model_detail", "model_use")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEP_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CHART_JSON_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    CLASSIFICATION_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    ENRICHED_QUESTION_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    ROWS_AFFECTED_FIELD_NUMBER: _ClassVar[int]
    MENDED_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_IS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_LABEL_FIELD_NUMBER: _ClassVar[int]
    NEEDS_USER_CONFIRMATION_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_TROUBLE_FIELD_NUMBER: _ClassVar[int]
    MODEL_DETAIL_FIELD_NUMBER: _ClassVar[int]
    MODEL_USE_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    thread_id: str
    connection: str
    question: str
    language: str
    outcome: Outcome
    code: str
    message: str
    next_step: str
    options: _containers.RepeatedCompositeFieldContainer[Choice]
    trigger: str
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    row_count: int
    truncated: bool
    pages: PageCount
    summary: str
    chart_json: str
    notes: _containers.RepeatedScalarFieldContainer[str]
    explanation: str
    classification: Classification
    retries: Retries
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    path: _containers.RepeatedCompositeFieldContainer[Step]
    asked_at_ms: int
    deadline_at_ms: int
    sql: str
    detail: str
    enriched_question: str
    more: _struct_pb2.Struct
    confirmation: Confirmation
    rows_affected: int
    mended: _containers.RepeatedScalarFieldContainer[str]
    confidence: float
    total_count: int
    total_is_estimate: bool
    reading: Reading
    connection_label: str
    needs_user_confirmation: bool
    written_by: str
    model: str
    model_trouble: str
    model_detail: str
    model_use: ModelUse
    def __init__(self, query_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., connection: _Optional[str] = ..., question: _Optional[str] = ..., language: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., next_step: _Optional[str] = ..., options: _Optional[_Iterable[_Union[Choice, _Mapping]]] = ..., trigger: _Optional[str] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ..., row_count: _Optional[int] = ..., truncated: _Optional[bool] = ..., pages: _Optional[_Union[PageCount, _Mapping]] = ..., summary: _Optional[str] = ..., chart_json: _Optional[str] = ..., notes: _Optional[_Iterable[str]] = ..., explanation: _Optional[str] = ..., classification: _Optional[_Union[Classification, _Mapping]] = ..., retries: _Optional[_Union[Retries, _Mapping]] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., path: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., asked_at_ms: _Optional[int] = ..., deadline_at_ms: _Optional[int] = ..., sql: _Optional[str] = ..., detail: _Optional[str] = ..., enriched_question: _Optional[str] = ..., more: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., confirmation: _Optional[_Union[Confirmation, _Mapping]] = ..., rows_affected: _Optional[int] = ..., mended: _Optional[_Iterable[str]] = ..., confidence: _Optional[float] = ..., total_count: _Optional[int] = ..., total_is_estimate: _Optional[bool] = ..., reading: _Optional[_Union[Reading, _Mapping]] = ..., connection_label: _Optional[str] = ..., needs_user_confirmation: _Optional[bool] = ..., written_by: _Optional[str] = ..., model: _Optional[str] = ..., model_trouble: _Optional[str] = ..., model_detail: _Optional[str] = ..., model_use: _Optional[_Union[ModelUse, _Mapping]] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("id", "thread_id", "status", "last_event", "created_at_ms", "deadline_at_ms", "message", "answer")
    ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_EVENT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    id: str
    thread_id: str
    status: QueryStatus
    last_event: str
    created_at_ms: int
    deadline_at_ms: int
    message: str
    answer: Answer
    def __init__(self, id: _Optional[str] = ..., thread_id: _Optional[str] = ..., status: _Optional[_Union[QueryStatus, str]] = ..., last_event: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., deadline_at_ms: _Optional[int] = ..., message: _Optional[str] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("name", "sequence", "query_id", "thread_id", "at_ms", "retries", "details", "answer", "result")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    name: str
    sequence: int
    query_id: str
    thread_id: str
    at_ms: int
    retries: Retries
    details: _struct_pb2.Struct
    answer: Answer
    result: EarlyResult
    def __init__(self, name: _Optional[str] = ..., sequence: _Optional[int] = ..., query_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., at_ms: _Optional[int] = ..., retries: _Optional[_Union[Retries, _Mapping]] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ..., result: _Optional[_Union[EarlyResult, _Mapping]] = ...) -> None: ...

class EarlyResult(_message.Message):
    __slots__ = ("columns", "rows", "row_count", "truncated")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    rows: _containers.RepeatedCompositeFieldContainer[Row]
    row_count: int
    truncated: bool
    def __init__(self, columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[Row, _Mapping]]] = ..., row_count: _Optional[int] = ..., truncated: _Optional[bool] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("stage", "state", "n", "at_ms", "text")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    stage: str
    state: str
    n: int
    at_ms: int
    text: str
    def __init__(self, stage: _Optional[str] = ..., state: _Optional[str] = ..., n: _Optional[int] = ..., at_ms: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...
