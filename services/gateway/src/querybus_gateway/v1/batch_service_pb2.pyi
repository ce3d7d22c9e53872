from querybus_gateway.v1 import query_pb2 as _query_pb2
from querybus_gateway.v1 import query_service_pb2 as _query_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchItemStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BATCH_ITEM_STATUS_UNSPECIFIED: _ClassVar[BatchItemStatus]
    BATCH_ITEM_STATUS_WAITING: _ClassVar[BatchItemStatus]
    BATCH_ITEM_STATUS_RUNNING: _ClassVar[BatchItemStatus]
    BATCH_ITEM_STATUS_FINISHED: _ClassVar[BatchItemStatus]
BATCH_ITEM_STATUS_UNSPECIFIED: BatchItemStatus
BATCH_ITEM_STATUS_WAITING: BatchItemStatus
BATCH_ITEM_STATUS_RUNNING: BatchItemStatus
BATCH_ITEM_STATUS_FINISHED: BatchItemStatus

class TimeWindow(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: str
    end: str
    def __init__(self, start: _Optional[str] = ..., end: _Optional[str] = ...) -> None: ...

class BatchQuestion(_message.Message):
    __slots__ = ("id", "name", "question", "sql", "connection", "requirements", "objective", "context", "time_window")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TIME_WINDOW_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    question: str
    sql: str
    connection: str
    requirements: str
    objective: str
    context: str
    time_window: TimeWindow
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., question: _Optional[str] = ..., sql: _Optional[str] = ..., connection: _Optional[str] = ..., requirements: _Optional[str] = ..., objective: _Optional[str] = ..., context: _Optional[str] = ..., time_window: _Optional[_Union[TimeWindow, _Mapping]] = ...) -> None: ...

class BatchTotals(_message.Message):
    __slots__ = ("items", "waiting", "running", "finished", "answered", "failed", "first_pass", "after_retry", "mending", "first_pass_success", "retry_success")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    FIRST_PASS_FIELD_NUMBER: _ClassVar[int]
    AFTER_RETRY_FIELD_NUMBER: _ClassVar[int]
    MENDING_FIELD_NUMBER: _ClassVar[int]
    FIRST_PASS_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    RETRY_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    items: int
    waiting: int
    running: int
    finished: int
    answered: int
    failed: int
    first_pass: int
    after_retry: int
    mending: int
    first_pass_success: float
    retry_success: float
    def __init__(self, items: _Optional[int] = ..., waiting: _Optional[int] = ..., running: _Optional[int] = ..., finished: _Optional[int] = ..., answered: _Optional[int] = ..., failed: _Optional[int] = ..., first_pass: _Optional[int] = ..., after_retry: _Optional[int] = ..., mending: _Optional[int] = ..., first_pass_success: _Optional[float] = ..., retry_success: _Optional[float] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("id", "status", "cancelled", "created_at_ms", "deadline_at_ms", "ended_at_ms", "concurrency", "totals")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: _query_pb2.QueryStatus
    cancelled: bool
    created_at_ms: int
    deadline_at_ms: int
    ended_at_ms: int
    concurrency: int
    totals: BatchTotals
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[_query_pb2.QueryStatus, str]] = ..., cancelled: _Optional[bool] = ..., created_at_ms: _Optional[int] = ..., deadline_at_ms: _Optional[int] = ..., ended_at_ms: _Optional[int] = ..., concurrency: _Optional[int] = ..., totals: _Optional[_Union[BatchTotals, _Mapping]] = ...) -> None: ...

class ItemFailure(_message.Message):
    __slots__ = ("code", "stage", "detail")
    CODE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    code: str
    stage: str
    detail: str
    def __init__(self, code: _Optional[str] = ..., stage: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class BatchItem(_message.Message):
    __slots__ = ("id", "name", "status", "outcome", "run", "attempts", "finished_as", "first_failure", "last_failure", "query_id", "answer")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AS_FIELD_NUMBER: _ClassVar[int]
    FIRST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    status: BatchItemStatus
    outcome: _query_pb2.Outcome
    run: int
    attempts: int
    finished_as: int
    first_failure: ItemFailure
    last_failure: ItemFailure
    query_id: str
    answer: _query_pb2.Answer
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[_Union[BatchItemStatus, str]] = ..., outcome: _Optional[_Union[_query_pb2.Outcome, str]] = ..., run: _Optional[int] = ..., attempts: _Optional[int] = ..., finished_as: _Optional[int] = ..., first_failure: _Optional[_Union[ItemFailure, _Mapping]] = ..., last_failure: _Optional[_Union[ItemFailure, _Mapping]] = ..., query_id: _Optional[str] = ..., answer: _Optional[_Union[_query_pb2.Answer, _Mapping]] = ...) -> None: ...

class SubmitBatchRequest(_message.Message):
    __slots__ = ("items", "connection", "options", "concurrency", "deadline_seconds")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[BatchQuestion]
    connection: str
    options: _query_service_pb2.Options
    concurrency: int
    deadline_seconds: float
    def __init__(self, items: _Optional[_Iterable[_Union[BatchQuestion, _Mapping]]] = ..., connection: _Optional[str] = ..., options: _Optional[_Union[_query_service_pb2.Options, _Mapping]] = ..., concurrency: _Optional[int] = ..., deadline_seconds: _Optional[float] = ...) -> None: ...

class SubmitBatchResponse(_message.Message):
    __slots__ = ("batch", "idempotency_replayed")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_REPLAYED_FIELD_NUMBER: _ClassVar[int]
    batch: Batch
    idempotency_replayed: bool
    def __init__(self, batch: _Optional[_Union[Batch, _Mapping]] = ..., idempotency_replayed: _Optional[bool] = ...) -> None: ...

class GetBatchRequest(_message.Message):
    __slots__ = ("batch_id", "offset")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    offset: int
    def __init__(self, batch_id: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class GetBatchResponse(_message.Message):
    __slots__ = ("batch", "offset", "items", "next_offset")
    BATCH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    batch: Batch
    offset: int
    items: _containers.RepeatedCompositeFieldContainer[BatchItem]
    next_offset: int
    def __init__(self, batch: _Optional[_Union[Batch, _Mapping]] = ..., offset: _Optional[int] = ..., items: _Optional[_Iterable[_Union[BatchItem, _Mapping]]] = ..., next_offset: _Optional[int] = ...) -> None: ...

class FollowBatchRequest(_message.Message):
    __slots__ = ("batch_id", "after")
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    after: int
    def __init__(self, batch_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class Mending(_message.Message):
    __slots__ = ("n", "message")
    N_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    n: int
    message: str
    def __init__(self, n: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class FollowBatchResponse(_message.Message):
    __slots__ = ("item", "mending", "finished")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    MENDING_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    item: BatchItem
    mending: Mending
    finished: Batch
    def __init__(self, item: _Optional[_Union[BatchItem, _Mapping]] = ..., mending: _Optional[_Union[Mending, _Mapping]] = ..., finished: _Optional[_Union[Batch, _Mapping]] = ...) -> None: ...

class CancelBatchRequest(_message.Message):
    __slots__ = ("batch_id",)
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    def __init__(self, batch_id: _Optional[str] = ...) -> None: ...

class CancelBatchResponse(_message.Message):
    __slots__ = ("batch",)
    BATCH_FIELD_NUMBER: _ClassVar[int]
    batch: Batch
    def __init__(self, batch: _Optional[_Union[Batch, _Mapping]] = ...) -> None: ...

class RetryBatchRequest(_message.Message):
    __slots__ = ("batch_id",)
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    batch_id: str
    def __init__(self, batch_id: _Optional[str] = ...) -> None: ...

class RetryBatchResponse(_message.Message):
    __slots__ = ("batch",)
    BATCH_FIELD_NUMBER: _ClassVar[int]
    batch: Batch
    def __init__(self, batch: _Optional[_Union[Batch, _Mapping]] = ...) -> None: ...
