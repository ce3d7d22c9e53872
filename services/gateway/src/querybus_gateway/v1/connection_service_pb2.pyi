from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KnowledgeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KNOWLEDGE_KIND_UNSPECIFIED: _ClassVar[KnowledgeKind]
    KNOWLEDGE_KIND_PAIR: _ClassVar[KnowledgeKind]
    KNOWLEDGE_KIND_INSTRUCTION: _ClassVar[KnowledgeKind]
    KNOWLEDGE_KIND_TERM: _ClassVar[KnowledgeKind]
    KNOWLEDGE_KIND_SYNONYM: _ClassVar[KnowledgeKind]
    KNOWLEDGE_KIND_DEFINITION: _ClassVar[KnowledgeKind]

class ReviewVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_VERDICT_UNSPECIFIED: _ClassVar[ReviewVerdict]
    REVIEW_VERDICT_APPROVE: _ClassVar[ReviewVerdict]
    REVIEW_VERDICT_REJECT: _ClassVar[ReviewVerdict]
KNOWLEDGE_KIND_UNSPECIFIED: KnowledgeKind
KNOWLEDGE_KIND_PAIR: KnowledgeKind
KNOWLEDGE_KIND_INSTRUCTION: KnowledgeKind
KNOWLEDGE_KIND_TERM: KnowledgeKind
KNOWLEDGE_KIND_SYNONYM: KnowledgeKind
KNOWLEDGE_KIND_DEFINITION: KnowledgeKind
REVIEW_VERDICT_UNSPECIFIED: ReviewVerdict
REVIEW_VERDICT_APPROVE: ReviewVerdict
REVIEW_VERDICT_REJECT: ReviewVerdict

class Connection(_message.Message):
    __slots__ = ("name", "description", "dialect", "access")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    dialect: str
    access: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., dialect: _Optional[str] = ..., access: _Optional[str] = ...) -> None: ...

class KnowledgeEntry(_message.Message):
    __slots__ = ("id", "kind", "source", "at_ms", "key", "text", "by", "stale", "is_stale", "score", "reviewed_by", "reviewed_at_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    IS_STALE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REVIEWED_BY_FIELD_NUMBER: _ClassVar[int]
    REVIEWED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: KnowledgeKind
    source: str
    at_ms: int
    key: str
    text: str
    by: str
    stale: str
    is_stale: bool
    score: float
    reviewed_by: str
    reviewed_at_ms: int
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[KnowledgeKind, str]] = ..., source: _Optional[str] = ..., at_ms: _Optional[int] = ..., key: _Optional[str] = ..., text: _Optional[str] = ..., by: _Optional[str] = ..., stale: _Optional[str] = ..., is_stale: _Optional[bool] = ..., score: _Optional[float] = ..., reviewed_by: _Optional[str] = ..., reviewed_at_ms: _Optional[int] = ...) -> None: ...

class TaughtPair(_message.Message):
    __slots__ = ("question", "sql")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    SQL_FIELD_NUMBER: _ClassVar[int]
    question: str
    sql: str
    def __init__(self, question: _Optional[str] = ..., sql: _Optional[str] = ...) -> None: ...

class Synonyms(_message.Message):
    __slots__ = ("words",)
    WORDS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, words: _Optional[_Iterable[str]] = ...) -> None: ...

class Preferences(_message.Message):
    __slots__ = ("language", "connection", "chart", "summary", "page_size")
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    CHART_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    language: str
    connection: str
    chart: str
    summary: bool
    page_size: int
    def __init__(self, language: _Optional[str] = ..., connection: _Optional[str] = ..., chart: _Optional[str] = ..., summary: _Optional[bool] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListConnectionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListConnectionsResponse(_message.Message):
    __slots__ = ("connections",)
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    connections: _containers.RepeatedCompositeFieldContainer[Connection]
    def __init__(self, connections: _Optional[_Iterable[_Union[Connection, _Mapping]]] = ...) -> None: ...

class GetCatalogRequest(_message.Message):
    __slots__ = ("connection", "language")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    connection: str
    language: str
    def __init__(self, connection: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class GetCatalogResponse(_message.Message):
    __slots__ = ("catalog",)
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    catalog: _struct_pb2.Struct
    def __init__(self, catalog: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ListDefinitionsRequest(_message.Message):
    __slots__ = ("connection", "language")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    connection: str
    language: str
    def __init__(self, connection: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class Metric(_message.Message):
    __slots__ = ("name", "label", "description", "synonyms", "unit", "owner", "version", "expression", "condition")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SYNONYMS_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    name: str
    label: str
    description: str
    synonyms: _containers.RepeatedScalarFieldContainer[str]
    unit: str
    owner: str
    version: str
    expression: str
    condition: str
    def __init__(self, name: _Optional[str] = ..., label: _Optional[str] = ..., description: _Optional[str] = ..., synonyms: _Optional[_Iterable[str]] = ..., unit: _Optional[str] = ..., owner: _Optional[str] = ..., version: _Optional[str] = ..., expression: _Optional[str] = ..., condition: _Optional[str] = ...) -> None: ...

class ListDefinitionsResponse(_message.Message):
    __slots__ = ("version", "metrics")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    version: str
    metrics: _containers.RepeatedCompositeFieldContainer[Metric]
    def __init__(self, version: _Optional[str] = ..., metrics: _Optional[_Iterable[_Union[Metric, _Mapping]]] = ...) -> None: ...

class SuggestQuestionsRequest(_message.Message):
    __slots__ = ("connection", "language")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    connection: str
    language: str
    def __init__(self, connection: _Optional[str] = ..., language: _Optional[str] = ...) -> None: ...

class SuggestQuestionsResponse(_message.Message):
    __slots__ = ("questions",)
    QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    questions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, questions: _Optional[_Iterable[str]] = ...) -> None: ...

class ListKnowledgeRequest(_message.Message):
    __slots__ = ("connection", "kind")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    connection: str
    kind: KnowledgeKind
    def __init__(self, connection: _Optional[str] = ..., kind: _Optional[_Union[KnowledgeKind, str]] = ...) -> None: ...

class ListKnowledgeResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[KnowledgeEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[KnowledgeEntry, _Mapping]]] = ...) -> None: ...

class SearchKnowledgeRequest(_message.Message):
    __slots__ = ("connection", "query", "kind", "page_size")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    connection: str
    query: str
    kind: KnowledgeKind
    page_size: int
    def __init__(self, connection: _Optional[str] = ..., query: _Optional[str] = ..., kind: _Optional[_Union[KnowledgeKind, str]] = ..., page_size: _Optional[int] = ...) -> None: ...

class SearchKnowledgeResponse(_message.Message):
    __slots__ = ("hits",)
    HITS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[KnowledgeEntry]
    def __init__(self, hits: _Optional[_Iterable[_Union[KnowledgeEntry, _Mapping]]] = ...) -> None: ...

class TeachKnowledgeRequest(_message.Message):
    __slots__ = ("connection", "pairs", "instructions", "terms", "synonyms")
    class TermsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class SynonymsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Synonyms
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Synonyms, _Mapping]] = ...) -> None: ...
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    SYNONYMS_FIELD_NUMBER: _ClassVar[int]
    connection: str
    pairs: _containers.RepeatedCompositeFieldContainer[TaughtPair]
    instructions: _containers.RepeatedScalarFieldContainer[str]
    terms: _containers.ScalarMap[str, str]
    synonyms: _containers.MessageMap[str, Synonyms]
    def __init__(self, connection: _Optional[str] = ..., pairs: _Optional[_Iterable[_Union[TaughtPair, _Mapping]]] = ..., instructions: _Optional[_Iterable[str]] = ..., terms: _Optional[_Mapping[str, str]] = ..., synonyms: _Optional[_Mapping[str, Synonyms]] = ...) -> None: ...

class TeachKnowledgeResponse(_message.Message):
    __slots__ = ("taught", "entries")
    TAUGHT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    taught: int
    entries: int
    def __init__(self, taught: _Optional[int] = ..., entries: _Optional[int] = ...) -> None: ...

class ReviewKnowledgeRequest(_message.Message):
    __slots__ = ("connection", "entry_id", "verdict")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    connection: str
    entry_id: str
    verdict: ReviewVerdict
    def __init__(self, connection: _Optional[str] = ..., entry_id: _Optional[str] = ..., verdict: _Optional[_Union[ReviewVerdict, str]] = ...) -> None: ...

class ReviewKnowledgeResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: int
    def __init__(self, entries: _Optional[int] = ...) -> None: ...

class ForgetKnowledgeRequest(_message.Message):
    __slots__ = ("connection", "entry_id")
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    connection: str
    entry_id: str
    def __init__(self, connection: _Optional[str] = ..., entry_id: _Optional[str] = ...) -> None: ...

class ForgetKnowledgeResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: int
    def __init__(self, entries: _Optional[int] = ...) -> None: ...

class GetPreferencesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetPreferencesResponse(_message.Message):
    __slots__ = ("preferences",)
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    preferences: Preferences
    def __init__(self, preferences: _Optional[_Union[Preferences, _Mapping]] = ...) -> None: ...

class SetPreferencesRequest(_message.Message):
    __slots__ = ("preferences",)
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    preferences: Preferences
    def __init__(self, preferences: _Optional[_Union[Preferences, _Mapping]] = ...) -> None: ...

class SetPreferencesResponse(_message.Message):
    __slots__ = ("preferences",)
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    preferences: Preferences
    def __init__(self, preferences: _Optional[_Union[Preferences, _Mapping]] = ...) -> None: ...

class ListOptionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OptionInfo(_message.Message):
    __slots__ = ("name", "kind", "description", "choices", "minimum", "maximum", "is_fixed", "default_json", "defaults_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    IS_FIXED_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_JSON_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    description: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    minimum: float
    maximum: float
    is_fixed: bool
    default_json: str
    defaults_json: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., description: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ..., minimum: _Optional[float] = ..., maximum: _Optional[float] = ..., is_fixed: _Optional[bool] = ..., default_json: _Optional[str] = ..., defaults_json: _Optional[str] = ...) -> None: ...

class ListOptionsResponse(_message.Message):
    __slots__ = ("options",)
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    options: _containers.RepeatedCompositeFieldContainer[OptionInfo]
    def __init__(self, options: _Optional[_Iterable[_Union[OptionInfo, _Mapping]]] = ...) -> None: ...

class ChosenOption(_message.Message):
    __slots__ = ("kind", "option", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OPTION_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    option: str
    count: int
    def __init__(self, kind: _Optional[str] = ..., option: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ListChoicesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListChoicesResponse(_message.Message):
    __slots__ = ("choices",)
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    choices: _containers.RepeatedCompositeFieldContainer[ChosenOption]
    def __init__(self, choices: _Optional[_Iterable[_Union[ChosenOption, _Mapping]]] = ...) -> None: ...

class ForgetChoicesRequest(_message.Message):
    __slots__ = ("kind",)
    KIND_FIELD_NUMBER: _ClassVar[int]
    kind: str
    def __init__(self, kind: _Optional[str] = ...) -> None: ...

class ForgetChoicesResponse(_message.Message):
    __slots__ = ("choices",)
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    choices: _containers.RepeatedCompositeFieldContainer[ChosenOption]
    def __init__(self, choices: _Optional[_Iterable[_Union[ChosenOption, _Mapping]]] = ...) -> None: ...
