from querybus_gateway.v1 import query_pb2 as _query_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForkedFrom(_message.Message):
    __slots__ = ("thread_id", "sequence")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    sequence: int
    def __init__(self, thread_id: _Optional[str] = ..., sequence: _Optional[int] = ...) -> None: ...

class Thread(_message.Message):
    __slots__ = ("thread_id", "title", "connection", "created_at_ms", "forked_from")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    title: str
    connection: str
    created_at_ms: int
    forked_from: ForkedFrom
    def __init__(self, thread_id: _Optional[str] = ..., title: _Optional[str] = ..., connection: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., forked_from: _Optional[_Union[ForkedFrom, _Mapping]] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("query_id", "question", "status", "outcome", "code", "message", "summary", "row_count", "asked_at_ms", "deadline_at_ms", "sequence", "last_sequence", "sql", "connection")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ROW_COUNT_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    question: str
    status: _query_pb2.QueryStatus
    outcome: _query_pb2.Outcome
    code: str
    message: str
    summary: str
    row_count: int
    asked_at_ms: int
    deadline_at_ms: int
    sequence: int
    last_sequence: int
    sql: str
    connection: str
    def __init__(self, query_id: _Optional[str] = ..., question: _Optional[str] = ..., status: _Optional[_Union[_query_pb2.QueryStatus, str]] = ..., outcome: _Optional[_Union[_query_pb2.Outcome, str]] = ..., code: _Optional[str] = ..., message: _Optional[str] = ..., summary: _Optional[str] = ..., row_count: _Optional[int] = ..., asked_at_ms: _Optional[int] = ..., deadline_at_ms: _Optional[int] = ..., sequence: _Optional[int] = ..., last_sequence: _Optional[int] = ..., sql: _Optional[str] = ..., connection: _Optional[str] = ...) -> None: ...

class ListThreadsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListThreadsResponse(_message.Message):
    __slots__ = ("threads", "next_page_token")
    THREADS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    threads: _containers.RepeatedCompositeFieldContainer[Thread]
    next_page_token: str
    def __init__(self, threads: _Optional[_Iterable[_Union[Thread, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetThreadRequest(_message.Message):
    __slots__ = ("thread_id", "at_sequence")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    AT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    at_sequence: int
    def __init__(self, thread_id: _Optional[str] = ..., at_sequence: _Optional[int] = ...) -> None: ...

class GetThreadResponse(_message.Message):
    __slots__ = ("thread_id", "forked_from", "connection", "sequence", "at_ms", "event", "query_id", "status", "turns")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    forked_from: ForkedFrom
    connection: str
    sequence: int
    at_ms: int
    event: str
    query_id: str
    status: _query_pb2.QueryStatus
    turns: _containers.RepeatedCompositeFieldContainer[Turn]
    def __init__(self, thread_id: _Optional[str] = ..., forked_from: _Optional[_Union[ForkedFrom, _Mapping]] = ..., connection: _Optional[str] = ..., sequence: _Optional[int] = ..., at_ms: _Optional[int] = ..., event: _Optional[str] = ..., query_id: _Optional[str] = ..., status: _Optional[_Union[_query_pb2.QueryStatus, str]] = ..., turns: _Optional[_Iterable[_Union[Turn, _Mapping]]] = ...) -> None: ...

class ListTurnsRequest(_message.Message):
    __slots__ = ("thread_id", "page_size", "before_sequence")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    page_size: int
    before_sequence: int
    def __init__(self, thread_id: _Optional[str] = ..., page_size: _Optional[int] = ..., before_sequence: _Optional[int] = ...) -> None: ...

class ListTurnsResponse(_message.Message):
    __slots__ = ("thread_id", "forked_from", "turns")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    forked_from: ForkedFrom
    turns: _containers.RepeatedCompositeFieldContainer[Turn]
    def __init__(self, thread_id: _Optional[str] = ..., forked_from: _Optional[_Union[ForkedFrom, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[Turn, _Mapping]]] = ...) -> None: ...

class ListThreadEventsRequest(_message.Message):
    __slots__ = ("thread_id", "page_size", "after_sequence")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    page_size: int
    after_sequence: int
    def __init__(self, thread_id: _Optional[str] = ..., page_size: _Optional[int] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class ListThreadEventsResponse(_message.Message):
    __slots__ = ("thread_id", "events", "next_after_sequence")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    events: _containers.RepeatedCompositeFieldContainer[_query_pb2.Event]
    next_after_sequence: int
    def __init__(self, thread_id: _Optional[str] = ..., events: _Optional[_Iterable[_Union[_query_pb2.Event, _Mapping]]] = ..., next_after_sequence: _Optional[int] = ...) -> None: ...

class ForkThreadRequest(_message.Message):
    __slots__ = ("thread_id", "at_sequence", "query_id")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    AT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    at_sequence: int
    query_id: str
    def __init__(self, thread_id: _Optional[str] = ..., at_sequence: _Optional[int] = ..., query_id: _Optional[str] = ...) -> None: ...

class ForkThreadResponse(_message.Message):
    __slots__ = ("thread",)
    THREAD_FIELD_NUMBER: _ClassVar[int]
    thread: Thread
    def __init__(self, thread: _Optional[_Union[Thread, _Mapping]] = ...) -> None: ...

class DeleteThreadRequest(_message.Message):
    __slots__ = ("thread_id",)
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    def __init__(self, thread_id: _Optional[str] = ...) -> None: ...

class DeleteThreadResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
