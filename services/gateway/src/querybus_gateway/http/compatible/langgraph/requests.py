"""What LangGraph's clients send, as far as it means something here; every other field is taken and ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError, model_validator

from querybus_gateway.admit import RequestOptions
from querybus_gateway.http.compatible.langgraph.checkpoints import sequence_of
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.faults import fault_text
from querybus_gateway.use_cases.results.pages import PAGE_SIZE_MAX

STREAM_MODES: Final = frozenset(
    ("values", "updates", "custom", "messages", "messages-tuple", "events", "tasks", "checkpoints", "debug")
)
BATCH_MAX: Final = 100
StreamModes = str | tuple[str, ...]


class _Request(BaseModel):
    # Durability, tracing and the like: the SDK sends what its caller set, whatever server it is.
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class Command(_Request):
    """`resume` answers an interrupt."""

    resume: Any = None


class Checkpoint(_Request):
    checkpoint_id: str | None = Field(default=None, max_length=100)


class Config(_Request):
    configurable: dict[str, Any] = {}


class Pagination(BaseModel):
    """Which rows of a result are wanted: a page of a size, or a limit of rows behind an offset that a page begins at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    page: int = Field(default=1, ge=1)
    page_size: int | None = Field(default=None, ge=1, le=PAGE_SIZE_MAX)
    limit: int | None = Field(default=None, ge=1, le=PAGE_SIZE_MAX)
    offset: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _is_one_page(self) -> Self:
        if self.offset and self.page != 1:
            raise ValueError("give page and page_size, or limit and offset")
        if self.limit and self.page_size not in (None, self.limit):
            raise ValueError("page_size and limit are two numbers for one thing")
        if self.offset and not self.size:
            raise ValueError("offset needs a limit")
        if self.offset % (self.size or 1):
            raise ValueError("offset is a multiple of limit: rows are kept in pages")
        return self

    @property
    def size(self) -> int | None:
        """Rows of a page; None for as many as the query is asked with."""
        return self.page_size or self.limit

    @property
    def number(self) -> int:
        """The page, counted from 1."""
        return self.offset // self.size + 1 if self.offset and self.size else self.page

    @property
    def query_text(self) -> str:
        """The page as the parameters of an address."""
        return f"page={self.number}" + (f"&page_size={self.size}" if self.size else "")


class RunRequest(_Request):
    """The body of every path that begins a run."""

    assistant_id: str | None = Field(default=None, max_length=300)
    input: Any = None
    command: Command | None = None
    config: Config | None = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    stream_mode: StreamModes | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = Field(default=None, max_length=100)
    multitask_strategy: Literal["reject", "interrupt", "rollback", "enqueue"] | None = None
    if_not_exists: Literal["create", "reject"] | None = None
    on_disconnect: Literal["cancel", "continue"] | None = None
    webhook: str | None = None
    thread_id: str | None = Field(default=None, max_length=100)

    @property
    def modes(self) -> tuple[str, ...]:
        """The stream modes, `values` without any."""
        return modes_of(self.stream_mode)

    @property
    def question(self) -> str | None:
        """The last words of a person in `input`: of its messages, or its `question`."""
        return question_in(self.input)

    @property
    def pagination(self) -> Pagination | Problem | None:
        """The page of rows that `input.pagination` asks for; None where it asks for none."""
        asked = cast("Mapping[str, Any]", self.input) if isinstance(self.input, Mapping) else {}
        return pagination_of(asked.get("pagination"), "input.pagination")

    @property
    def until_sequence(self) -> int | None:
        """The event that the run goes on from; None for the thread as it stands."""
        named = self.checkpoint_id or (self.checkpoint.checkpoint_id if self.checkpoint is not None else None)
        return None if named is None else sequence_of(named)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What `config.configurable` and `context` say."""
        return {**(self.config.configurable if self.config is not None else {}), **(self.context or {})}

    def options(self) -> RequestOptions | Problem:
        """Return the options that the settings hold: `language`, `rows_max`, ... as `/v1/queries` has them."""
        known = {name: value for name, value in self.settings.items() if name in RequestOptions.model_fields}
        try:
            return RequestOptions.model_validate(known)
        except ValueError as error:
            first = str(error).splitlines()
            return Problem(ProblemCode.BAD_OPTIONS, "config.configurable: " + " ".join(first[1:3])[:300])


class BatchRequest(RootModel[tuple[RunRequest, ...]]):
    """Runs to begin."""

    root: tuple[RunRequest, ...] = Field(max_length=BATCH_MAX)


class ThreadRequest(_Request):
    """A thread to make."""

    thread_id: str | None = Field(default=None, max_length=100)
    metadata: dict[str, Any] | None = None
    if_exists: Literal["raise", "do_nothing"] | None = None


class MetadataRequest(_Request):
    metadata: dict[str, Any] | None = None


class SearchRequest(_Request):
    """Which threads or assistants are listed."""

    limit: int = Field(default=10, ge=1, le=1_000)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    metadata: dict[str, Any] | None = None
    values: dict[str, Any] | None = None
    ids: tuple[str, ...] | None = None
    status: str | None = None
    graph_id: str | None = None
    name: str | None = None


class HistoryRequest(_Request):
    limit: int = Field(default=10, ge=1, le=1_000)
    before: str | Checkpoint | Config | None = None
    checkpoint: Checkpoint | None = None


class StateCheckpointRequest(_Request):
    checkpoint: Checkpoint


class CancelRequest(_Request):
    thread_id: str | None = Field(default=None, max_length=100)
    run_ids: tuple[str, ...] | None = Field(default=None, max_length=BATCH_MAX)
    status: Literal["pending", "running", "all"] | None = None


class PruneRequest(_Request):
    thread_ids: tuple[str, ...] = Field(default=(), max_length=BATCH_MAX)


def modes_of(named: StreamModes | Sequence[str] | None) -> tuple[str, ...]:
    """Return stream modes as they were named, once each.

    >>> modes_of("updates"), modes_of(None), modes_of(["custom", "custom"])
    (('updates',), ('values',), ('custom',))
    """
    names = (named,) if isinstance(named, str) else tuple(named or ())
    return tuple(dict.fromkeys(names)) or ("values",)


def pagination_of(given: Any, where: str) -> Pagination | Problem | None:
    """Return the page that a client asks for, None where it asks for none, or the problem with it.

    >>> pagination_of({"limit": 10, "offset": 20}, "pagination").number
    3
    >>> pagination_of({"page": 0}, "pagination").detail
    'pagination.page: must be at least 1'
    """
    if given is None:
        return None
    try:
        return Pagination.model_validate(given)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join((where, *(str(part)[:80] for part in fault["loc"])))
    return Problem(ProblemCode.INVALID, f"{place}: {fault_text(fault)}")


def question_in(given: Any) -> str | None:
    """Return what an input asks: its last message of a person, or its `question`; None where it asks nothing.

    >>> question_in({"messages": [{"role": "user", "content": [{"type": "text", "text": "How many?"}]}]})
    'How many?'
    >>> question_in({"question": "How many?"}), question_in("How many?"), question_in({"messages": []})
    ('How many?', 'How many?', None)
    """
    if isinstance(given, str):
        return given or None
    if not isinstance(given, Mapping):
        return None
    known = cast("Mapping[str, Any]", given)
    messages = known.get("messages")
    if isinstance(messages, Mapping | str):
        messages = [messages]
    for message in reversed(cast("Sequence[Any]", messages) if isinstance(messages, list | tuple) else ()):
        if (text := _words_of(message)) is not None:
            return text
    question = known.get("question")
    return question if isinstance(question, str) and question else None


def _words_of(message: Any) -> str | None:
    if isinstance(message, str):
        return message or None
    if isinstance(message, list | tuple) and len(cast("Sequence[Any]", message)) == 2:
        role, content = cast("Sequence[Any]", message)
    elif isinstance(message, Mapping):
        known = cast("Mapping[str, Any]", message)
        role, content = known.get("role") or known.get("type"), known.get("content")
    else:
        return None
    if role not in ("user", "human"):
        return None
    if isinstance(content, str):
        return content or None
    parts = cast("Sequence[Any]", content) if isinstance(content, list | tuple) else ()
    texts = [part if isinstance(part, str) else str(part.get("text") or "") for part in parts if part]
    return "\n".join(filter(None, texts)) or None
