from querybus_gateway.v1 import query_pb2 as _query_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Operation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_UNSPECIFIED: _ClassVar[Operation]
    OPERATION_ASK: _ClassVar[Operation]
    OPERATION_GENERATE: _ClassVar[Operation]
    OPERATION_RUN: _ClassVar[Operation]
    OPERATION_VALIDATE: _ClassVar[Operation]
    OPERATION_EXPLAIN: _ClassVar[Operation]

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_HYBRID: _ClassVar[Mode]
    MODE_DATABASE: _ClassVar[Mode]
    MODE_CHAT: _ClassVar[Mode]

class ExecutionMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_MODE_UNSPECIFIED: _ClassVar[ExecutionMode]
    EXECUTION_MODE_STATIC_ONLY: _ClassVar[ExecutionMode]
    EXECUTION_MODE_ALLOW_EXECUTION: _ClassVar[ExecutionMode]

class OnExecutionFailure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_EXECUTION_FAILURE_UNSPECIFIED: _ClassVar[OnExecutionFailure]
    ON_EXECUTION_FAILURE_REPAIR_FIRST: _ClassVar[OnExecutionFailure]
    ON_EXECUTION_FAILURE_CLARIFY_FIRST: _ClassVar[OnExecutionFailure]

class Effort(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFORT_UNSPECIFIED: _ClassVar[Effort]
    EFFORT_QUICK: _ClassVar[Effort]
    EFFORT_STANDARD: _ClassVar[Effort]
    EFFORT_THOROUGH: _ClassVar[Effort]

class RepairPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPAIR_POLICY_UNSPECIFIED: _ClassVar[RepairPolicy]
    REPAIR_POLICY_RULES_FIRST: _ClassVar[RepairPolicy]
    REPAIR_POLICY_MODEL_FIRST: _ClassVar[RepairPolicy]
    REPAIR_POLICY_RULES_ONLY: _ClassVar[RepairPolicy]
    REPAIR_POLICY_OFF: _ClassVar[RepairPolicy]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_RIGHT: _ClassVar[Verdict]
    VERDICT_WRONG: _ClassVar[Verdict]

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_CSV: _ClassVar[ExportFormat]
    EXPORT_FORMAT_JSONL: _ClassVar[ExportFormat]
    EXPORT_FORMAT_ARROW: _ClassVar[ExportFormat]
    EXPORT_FORMAT_PARQUET: _ClassVar[ExportFormat]
    EXPORT_FORMAT_XLSX: _ClassVar[ExportFormat]

class PictureFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PICTURE_FORMAT_UNSPECIFIED: _ClassVar[PictureFormat]
    PICTURE_FORMAT_SVG: _ClassVar[PictureFormat]
    PICTURE_FORMAT_PNG: _ClassVar[PictureFormat]
OPERATION_UNSPECIFIED: Operation
OPERATION_ASK: Operation
OPERATION_GENERATE: Operation
OPERATION_RUN: Operation
OPERATION_VALIDATE: Operation
OPERATION_EXPLAIN: Operation
MODE_UNSPECIFIED: Mode
MODE_HYBRID: Mode
MODE_DATABASE: Mode
MODE_CHAT: Mode
EXECUTION_MODE_UNSPECIFIED: ExecutionMode
EXECUTION_MODE_STATIC_ONLY: ExecutionMode
EXECUTION_MODE_ALLOW_EXECUTION: ExecutionMode
ON_EXECUTION_FAILURE_UNSPECIFIED: OnExecutionFailure
ON_EXECUTION_FAILURE_REPAIR_FIRST: OnExecutionFailure
ON_EXECUTION_FAILURE_CLARIFY_FIRST: OnExecutionFailure
EFFORT_UNSPECIFIED: Effort
EFFORT_QUICK: Effort
EFFORT_STANDARD: Effort
EFFORT_THOROUGH: Effort
REPAIR_POLICY_UNSPECIFIED: RepairPolicy
REPAIR_POLICY_RULES_FIRST: RepairPolicy
REPAIR_POLICY_MODEL_FIRST: RepairPolicy
REPAIR_POLICY_RULES_ONLY: RepairPolicy
REPAIR_POLICY_OFF: RepairPolicy
VERDICT_UNSPECIFIED: Verdict
VERDICT_RIGHT: Verdict
VERDICT_WRONG: Verdict
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_CSV: ExportFormat
EXPORT_FORMAT_JSONL: ExportFormat
EXPORT_FORMAT_ARROW: ExportFormat
EXPORT_FORMAT_PARQUET: ExportFormat
EXPORT_FORMAT_XLSX: ExportFormat
PICTURE_FORMAT_UNSPECIFIED: PictureFormat
PICTURE_FORMAT_SVG: PictureFormat
PICTURE_FORMAT_PNG: PictureFormat

class Options(_message.Message):
    __slots__ = ("mode", "execution_mode", "enable_syntax_validation", "enable_forbidden_check", "enable_auto_repair", "on_execution_failure", "allow_llm_to_see_data", "retries_max", "rows_max", "page_size", "summary", "chart", "dry_run", "deadline_seconds", "model", "language", "today", "repair_policy", "stream_tokens", "count_total", "second_draft", "cross_check", "only_verified", "effort")
    MODE_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    ENABLE_SYNTAX_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    ENABLE_FORBIDDEN_CHECK_FIELD_NUMBER: _ClassVar[int]
    ENABLE_AUTO_REPAIR_FIELD_NUMBER: _ClassVar[int]
    ON_EXECUTION_FAILURE_FIELD_NUMBER: _ClassVar[int]
    ALLOW_LLM_TO_SEE_DATA_FIELD_NUMBER: _ClassVar[int]
    RETRIES_MAX_FIELD_NUMBER: _ClassVar[int]
    ROWS_MAX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CHART_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TODAY_FIELD_NUMBER: _ClassVar[int]
    REPAIR_POLICY_FIELD_NUMBER: _ClassVar[int]
    STREAM_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COUNT_TOTAL_FIELD_NUMBER: _ClassVar[int]
    SECOND_DRAFT_FIELD_NUMBER: _ClassVar[int]
    CROSS_CHECK_FIELD_NUMBER: _ClassVar[int]
    ONLY_VERIFIED_FIELD_NUMBER: _ClassVar[int]
    EFFORT_FIELD_NUMBER: _ClassVar[int]
    mode: Mode
    execution_mode: ExecutionMode
    enable_syntax_validation: bool
    enable_forbidden_check: bool
    enable_auto_repair: bool
    on_execution_failure: OnExecutionFailure
    allow_llm_to_see_data: bool
    retries_max: int
    rows_max: int
    page_size: int
    summary: bool
    chart: str
    dry_run: bool
    deadline_seconds: float
    model: str
    language: str
    today: str
    repair_policy: RepairPolicy
    stream_tokens: bool
    count_total: bool
    second_draft: bool
    cross_check: bool
    only_verified: bool
    effort: Effort
    def __init__(self, mode: _Optional[_Union[Mode, str]] = ..., execution_mode: _Optional[_Union[ExecutionMode, str]] = ..., enable_syntax_validation: _Optional[bool] = ..., enable_forbidden_check: _Optional[bool] = ..., enable_auto_repair: _Optional[bool] = ..., on_execution_failure: _Optional[_Union[OnExecutionFailure, str]] = ..., allow_llm_to_see_data: _Optional[bool] = ..., retries_max: _Optional[int] = ..., rows_max: _Optional[int] = ..., page_size: _Optional[int] = ..., summary: _Optional[bool] = ..., chart: _Optional[str] = ..., dry_run: _Optional[bool] = ..., deadline_seconds: _Optional[float] = ..., model: _Optional[str] = ..., language: _Optional[str] = ..., today: _Optional[str] = ..., repair_policy: _Optional[_Union[RepairPolicy, str]] = ..., stream_tokens: _Optional[bool] = ..., count_total: _Optional[bool] = ..., second_draft: _Optional[bool] = ..., cross_check: _Optional[bool] = ..., only_verified: _Optional[bool] = ..., effort: _Optional[_Union[Effort, str]] = ...) -> None: ...

class Question(_message.Message):
    __slots__ = ("question", "connection", "operation", "sql", "thread_id", "options", "metrics_json")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    METRICS_JSON_FIELD_NUMBER: _ClassVar[int]
    question: str
    connection: str
    operation: Operation
    sql: str
    thread_id: str
    options: Options
    metrics_json: str
    def __init__(self, question: _Optional[str] = ..., connection: _Optional[str] = ..., operation: _Optional[_Union[Operation, str]] = ..., sql: _Optional[str] = ..., thread_id: _Optional[str] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., metrics_json: _Optional[str] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("question", "wait_seconds", "cancel_on_disconnect")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    CANCEL_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    question: Question
    wait_seconds: float
    cancel_on_disconnect: bool
    def __init__(self, question: _Optional[_Union[Question, _Mapping]] = ..., wait_seconds: _Optional[float] = ..., cancel_on_disconnect: _Optional[bool] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("query", "idempotency_replayed")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_REPLAYED_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    idempotency_replayed: bool
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ..., idempotency_replayed: _Optional[bool] = ...) -> None: ...

class AskStreamRequest(_message.Message):
    __slots__ = ("question", "cancel_on_disconnect")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    CANCEL_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    question: Question
    cancel_on_disconnect: bool
    def __init__(self, question: _Optional[_Union[Question, _Mapping]] = ..., cancel_on_disconnect: _Optional[bool] = ...) -> None: ...

class AskStreamResponse(_message.Message):
    __slots__ = ("query", "event", "progress")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    event: _query_pb2.Event
    progress: _query_pb2.Progress
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ..., event: _Optional[_Union[_query_pb2.Event, _Mapping]] = ..., progress: _Optional[_Union[_query_pb2.Progress, _Mapping]] = ...) -> None: ...

class FollowRequest(_message.Message):
    __slots__ = ("query_id", "after_sequence", "cancel_on_disconnect")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    after_sequence: int
    cancel_on_disconnect: bool
    def __init__(self, query_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., cancel_on_disconnect: _Optional[bool] = ...) -> None: ...

class FollowResponse(_message.Message):
    __slots__ = ("event", "progress")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    event: _query_pb2.Event
    progress: _query_pb2.Progress
    def __init__(self, event: _Optional[_Union[_query_pb2.Event, _Mapping]] = ..., progress: _Optional[_Union[_query_pb2.Progress, _Mapping]] = ...) -> None: ...

class GetQueryRequest(_message.Message):
    __slots__ = ("query_id", "wait_seconds")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    wait_seconds: float
    def __init__(self, query_id: _Optional[str] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class GetQueryResponse(_message.Message):
    __slots__ = ("query",)
    QUERY_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("query_id",)
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    def __init__(self, query_id: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ("query",)
    QUERY_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ...) -> None: ...

class ConfirmRequest(_message.Message):
    __slots__ = ("query_id", "sql_sha256", "rows_affected_max", "wait_seconds")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    SQL_SHA256_FIELD_NUMBER: _ClassVar[int]
    ROWS_AFFECTED_MAX_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    sql_sha256: str
    rows_affected_max: int
    wait_seconds: float
    def __init__(self, query_id: _Optional[str] = ..., sql_sha256: _Optional[str] = ..., rows_affected_max: _Optional[int] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class ConfirmResponse(_message.Message):
    __slots__ = ("query", "idempotency_replayed")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_REPLAYED_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    idempotency_replayed: bool
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ..., idempotency_replayed: _Optional[bool] = ...) -> None: ...

class ClarifyRequest(_message.Message):
    __slots__ = ("query_id", "option_id", "question", "options", "wait_seconds")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    OPTION_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    option_id: str
    question: str
    options: Options
    wait_seconds: float
    def __init__(self, query_id: _Optional[str] = ..., option_id: _Optional[str] = ..., question: _Optional[str] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class ClarifyResponse(_message.Message):
    __slots__ = ("query", "idempotency_replayed")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_REPLAYED_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    idempotency_replayed: bool
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ..., idempotency_replayed: _Optional[bool] = ...) -> None: ...

class NewPeriod(_message.Message):
    __slots__ = ("first", "last")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    first: str
    last: str
    def __init__(self, first: _Optional[str] = ..., last: _Optional[str] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("without", "values", "period", "unit", "by", "lines")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    without: _containers.RepeatedScalarFieldContainer[str]
    values: _containers.ScalarMap[str, str]
    period: NewPeriod
    unit: str
    by: str
    lines: int
    def __init__(self, without: _Optional[_Iterable[str]] = ..., values: _Optional[_Mapping[str, str]] = ..., period: _Optional[_Union[NewPeriod, _Mapping]] = ..., unit: _Optional[str] = ..., by: _Optional[str] = ..., lines: _Optional[int] = ...) -> None: ...

class RefineRequest(_message.Message):
    __slots__ = ("query_id", "change", "wait_seconds")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    WAIT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    change: Change
    wait_seconds: float
    def __init__(self, query_id: _Optional[str] = ..., change: _Optional[_Union[Change, _Mapping]] = ..., wait_seconds: _Optional[float] = ...) -> None: ...

class RefineResponse(_message.Message):
    __slots__ = ("query", "idempotency_replayed")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_REPLAYED_FIELD_NUMBER: _ClassVar[int]
    query: _query_pb2.Query
    idempotency_replayed: bool
    def __init__(self, query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ..., idempotency_replayed: _Optional[bool] = ...) -> None: ...

class FeedbackRequest(_message.Message):
    __slots__ = ("query_id", "verdict")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    verdict: Verdict
    def __init__(self, query_id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ...) -> None: ...

class FeedbackResponse(_message.Message):
    __slots__ = ("query_id", "verdict", "entries")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    verdict: Verdict
    entries: int
    def __init__(self, query_id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., entries: _Optional[int] = ...) -> None: ...

class GetResultPageRequest(_message.Message):
    __slots__ = ("query_id", "page", "page_size", "page_token")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    page: int
    page_size: int
    page_token: str
    def __init__(self, query_id: _Optional[str] = ..., page: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetResultPageResponse(_message.Message):
    __slots__ = ("query_id", "columns", "rows", "page", "page_size", "has_next", "has_prev", "total_count", "total_pages", "total_is_estimate", "next_page_token", "prev_page_token")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    HAS_NEXT_FIELD_NUMBER: _ClassVar[int]
    HAS_PREV_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_PAGES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_IS_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREV_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    columns: _containers.RepeatedCompositeFieldContainer[_query_pb2.Column]
    rows: _containers.RepeatedCompositeFieldContainer[_query_pb2.Row]
    page: int
    page_size: int
    has_next: bool
    has_prev: bool
    total_count: int
    total_pages: int
    total_is_estimate: bool
    next_page_token: str
    prev_page_token: str
    def __init__(self, query_id: _Optional[str] = ..., columns: _Optional[_Iterable[_Union[_query_pb2.Column, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[_query_pb2.Row, _Mapping]]] = ..., page: _Optional[int] = ..., page_size: _Optional[int] = ..., has_next: _Optional[bool] = ..., has_prev: _Optional[bool] = ..., total_count: _Optional[int] = ..., total_pages: _Optional[int] = ..., total_is_estimate: _Optional[bool] = ..., next_page_token: _Optional[str] = ..., prev_page_token: _Optional[str] = ...) -> None: ...

class ExportResultRequest(_message.Message):
    __slots__ = ("query_id", "format")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    format: ExportFormat
    def __init__(self, query_id: _Optional[str] = ..., format: _Optional[_Union[ExportFormat, str]] = ...) -> None: ...

class ExportResultResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class DrawChartRequest(_message.Message):
    __slots__ = ("query_id", "format")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    format: PictureFormat
    def __init__(self, query_id: _Optional[str] = ..., format: _Optional[_Union[PictureFormat, str]] = ...) -> None: ...

class DrawChartResponse(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...
