"""The tools and resources, and how a question back is asked: of a person by the client, or as an ordinary result."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from typing import Annotated, Any, Final, cast

from mcp.server.apps import Apps
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import Field
from starlette.requests import Request

from querybus import __version__
from querybus.core.credential import Credential
from querybus.core.messages import Operation
from querybus_gateway.admit import WAIT_SECONDS_MAX, AskRequest, RequestOptions
from querybus_gateway.http.compatible.mcp.results import (
    AnswerOut,
    ColumnOut,
    DescriptionOut,
    ExplanationOut,
    FeedbackOut,
    RowsOut,
    TopicOut,
    answer_of,
)
from querybus_gateway.http.request import links_base
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.markdown import markdown
from querybus_gateway.use_cases.bundle import UseCases
from querybus_gateway.use_cases.followups.choice import chosen_option
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest, clarify
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest
from querybus_gateway.use_cases.knowledge import FeedbackRequest
from querybus_gateway.use_cases.resources import Reply

ROWS_MAX: Final = 50
"""Of one tool's result; the rest comes page by page."""
TURNS_MAX: Final = 25
"""How often one call waits for WAIT_SECONDS_MAX: longer than the longest deadline."""
CARD: Final = "ui://querybus/answer.html"
MODERN: Final = "2026-07-28"
_CHOICE: Final = "choice"
_YES: Final = frozenset(("yes", "y", "true", "ok", "confirm", "是", "确认", "同意"))
_INSTRUCTIONS: Final = (
    "QueryBus answers questions about databases. Use `describe` to see what can be asked, `ask` with the person's own words, "
    "and pass `thread` to go on from an answer. If a result's status is clarification, show its options to the person and "
    "call `ask` again with their choice as `question` and the result's query_id as `answers_to`. Never make up figures."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Words = Annotated[str, Field(description="in English or Chinese, as the person said it", max_length=8_000)]
Named = Annotated[str | None, Field(description="of `describe`; needed only where there are several", max_length=200)]
Query = Annotated[str, Field(description="query_id of an answer", max_length=64)]


class _Tools:
    """The tools' bodies, over the use cases."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use_cases = use_cases

    async def ask(
        self,
        context: Context,
        question: Words,
        connection: Named = None,
        thread: Annotated[str | None, Field(description="thread_id of an earlier answer", max_length=64)] = None,
        language: Annotated[str | None, Field(description="en or zh; by default the question's")] = None,
        answers_to: Annotated[
            str | None, Field(description="query_id of the answer whose question back this answers", max_length=64)
        ] = None,
    ) -> Annotated[CallToolResult, AnswerOut] | InputRequiredResult:
        """Ask a database in plain words. Returns the answer in a sentence with its rows, or a question back."""
        caller = _caller(context)
        if context.request_state is not None and context.input_responses:
            reply = await self._continued(context, caller)
        elif answers_to is not None:
            reply = await self._answered_back(answers_to, question, caller)
        else:
            options = RequestOptions.model_validate({"language": language} if language in ("en", "zh") else {})
            request = AskRequest.model_construct(
                question=question, connection=connection, thread_id=thread, options=options
            )
            reply = await self._use_cases.queries.ask(request, caller, wait_seconds=WAIT_SECONDS_MAX)
        ended = await self._ended(reply, caller)
        return _asked_back(context, ended) or _answer(context, ended)

    async def run_sql(
        self,
        context: Context,
        sql: Annotated[str, Field(description="one statement that only reads", max_length=65_536)],
        connection: Named = None,
    ) -> Annotated[CallToolResult, AnswerOut]:
        """Run a statement of one's own through the same checks as every other. For analysts."""
        caller = _caller(context)
        request = AskRequest.model_construct(sql=sql, connection=connection, operation=Operation.RUN)
        reply = await self._use_cases.queries.ask(request, caller, wait_seconds=WAIT_SECONDS_MAX)
        return _answer(context, await self._ended(reply, caller))

    async def describe(self, context: Context, connection: Named = None) -> DescriptionOut:
        """Say what can be asked: the databases, what stands in them, and questions that work as they stand."""
        caller = _caller(context)
        found = _given(await self._use_cases.catalogs.connections(caller))
        chosen = [one for one in found["connections"] if connection in (None, one["name"])]
        if not chosen:
            raise ToolError("there is no such connection for this key")
        return DescriptionOut(connections=[await self._topic(one, caller) for one in chosen])

    async def more_rows(
        self, context: Context, query_id: Query, page: Annotated[int, Field(ge=1, description="from 1")] = 2
    ) -> RowsOut:
        """Return a page of an answer's rows, 50 a page."""
        found = _given(await self._use_cases.results.page(query_id, _caller(context), page, ROWS_MAX))
        columns = [
            ColumnOut(label=column["label"], kind=column["kind"], format=column.get("format"))
            for column in found["columns"]
        ]
        names = ("rows", "page", "has_next", "total_count")
        return RowsOut(columns=columns, **{name: found[name] for name in names})

    async def explain(self, context: Context, query_id: Query) -> ExplanationOut:
        """Say how an answer came about: its statement, what was assumed, and what was tried. For analysts."""
        caller = _caller(context)
        if caller.audience != "analyst":
            raise ToolError("explanations are for analysts")
        reply = _given(await self._use_cases.queries.read(query_id, caller))
        if not reply.is_finished:
            raise ToolError("the question is not answered yet")
        answer = reply.resource["answer"]
        names = ("question", "sql", "explanation", "notes", "attempts")
        return ExplanationOut(**{name: answer.get(name) for name in names})

    async def feedback(
        self, context: Context, query_id: Query, is_right: Annotated[bool, Field(description="whether it was right")]
    ) -> FeedbackOut:
        """Say whether an answer was right; a right one answers the same question from now on."""
        request = FeedbackRequest(verdict="right" if is_right else "wrong")
        _given(await self._use_cases.teaching.feedback(query_id, _caller(context), request))
        return FeedbackOut(query_id=query_id, verdict=request.verdict)

    async def catalog(self, connection: str, context: Context) -> str:
        """What stands in a database, and questions that can be asked of it; `*` for all of them."""
        with _as_resource():
            return (await self.describe(context, None if connection == "*" else connection)).model_dump_json()

    async def definition(self, connection: str, name: str, context: Context) -> str:
        """What an owner's word means, such as revenue; `*` for all that are defined."""
        caller, use_case = _caller(context), self._use_cases.definitions
        with _as_resource():
            found = (
                await use_case.listed(connection, caller, "en")
                if name == "*"
                else await use_case.defined(connection, name, caller, "en")
            )
            return json.dumps(_given(found), ensure_ascii=False)

    async def result_page(self, query_id: str, page: str, context: Context) -> str:
        """A page of an answer's rows."""
        with _as_resource():
            return (
                await self.more_rows(
                    context, query_id, int(page) if page.isascii() and page.isdigit() and len(page) < 10 else 0
                )
            ).model_dump_json()

    async def _topic(self, named: dict[str, Any], caller: Credential) -> TopicOut:
        catalogs, name = self._use_cases.catalogs, named["name"]
        found = await catalogs.catalog(name, caller, "en")
        asked = await self._use_cases.definitions.suggestions(name, caller, "en")
        return TopicOut(
            connection=name,
            description=named["description"],
            tables=[] if isinstance(found, Problem) else found["tables"],
            questions=[] if isinstance(asked, Problem) else asked["questions"],
        )

    async def _continued(self, context: Context, caller: Credential) -> Reply | Problem:
        """Go on with what a person has chosen."""
        chosen = (context.input_responses or {}).get(_CHOICE)
        if not isinstance(chosen, ElicitResult) or chosen.action != "accept" or not chosen.content:
            raise ToolError("the person gave no answer, so nothing was done")
        said = str(next(iter(chosen.content.values())))
        return await self._answered_back(str(context.request_state), said, caller)

    async def _answered_back(self, query: str, said: str, caller: Credential) -> Reply | Problem:
        before = _given(await self._use_cases.queries.read(query, caller))
        if not before.is_finished:
            return Problem(ProblemCode.NOT_FINISHED, "that question is not answered yet")
        answer = before.resource["answer"]
        if answer["outcome"] != "confirmation":
            option = chosen_option(said, answer)
            choice = ClarifyRequest(option_id=option) if option else ClarifyRequest(question=said)
            return await clarify(self._use_cases.queries, query, choice, caller, wait_seconds=WAIT_SECONDS_MAX)
        if said.strip().casefold() not in _YES:
            raise ToolError("nothing was changed: only a yes changes it")
        request = ConfirmRequest(sql_sha256=answer["confirmation"]["sql_sha256"])
        return await self._use_cases.confirmations.confirm(query, request, caller, wait_seconds=WAIT_SECONDS_MAX)

    async def _ended(self, reply: Reply | Problem, caller: Credential) -> Reply:
        found = _given(reply)
        for _ in range(TURNS_MAX):
            if found.is_finished:
                return found
            found = _given(await self._use_cases.queries.wait(found.query_id, caller, WAIT_SECONDS_MAX))
        raise ToolError("the question was not answered in time")


def mcp_server(use_cases: UseCases, state_key: bytes, *, statements: bool) -> MCPServer:
    """Return the server; `state_key` seals what a client carries from a question back to its answer."""
    tools = _Tools(use_cases)
    apps = Apps()
    apps.tool(resource_uri=CARD, annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))(tools.ask)
    card = files("querybus_gateway.http.compatible.mcp").joinpath("answer.html").read_text("utf-8")
    apps.add_html_resource(CARD, card, title="An answer of QueryBus", prefers_border=True)
    server: MCPServer = MCPServer(
        "querybus",
        title="QueryBus",
        instructions=_INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        extensions=[apps],
        request_state_security=RequestStateSecurity(keys=[state_key], bind_principal=_principal),
        subscriptions=False,
    )
    for tool in (tools.describe, tools.more_rows, tools.explain):
        server.add_tool(tool, annotations=_READS)
    server.add_tool(tools.feedback, annotations=ToolAnnotations(idempotent_hint=True, open_world_hint=False))
    if statements:
        server.add_tool(tools.run_sql, annotations=_READS)
    server.resource("querybus://connections/{connection}", mime_type="application/json")(tools.catalog)
    server.resource("querybus://metrics/{connection}/{name}", mime_type="application/json")(tools.definition)
    server.resource("querybus://results/{query_id}/{page}", mime_type="application/json")(tools.result_page)
    return server


def _caller(context: Context) -> Credential:
    return cast("Credential", _request(context).state.caller)


def _request(context: Context) -> Request:
    return cast("Request", context.request_context.request)


def _principal(context: Any) -> str | None:
    """Return whose state it is: what one person was asked nobody else answers."""
    request = context.request
    if request is None:
        return None
    caller = cast("Credential", request.state.caller)
    return f"{caller.tenant}/{caller.user}/{caller.name}"


@contextmanager
def _as_resource() -> Generator[None]:
    """Say of a resource that it is not there, or not for this caller, in the way that its readers know."""
    try:
        yield
    except ToolError as error:
        raise ResourceNotFoundError(str(error)) from error


def _given(found: Any) -> Any:
    if isinstance(found, Problem):
        raise ToolError(found.detail or str(found.code))
    return found


def _answer(context: Context, reply: Reply) -> CallToolResult:
    base = links_base(_request(context))
    made = answer_of(reply.resource, base, ROWS_MAX)
    text = markdown(reply.resource, base)
    if reply.resource["answer"]["outcome"] == "clarification" or _asks_yes(reply.resource["answer"]):
        text += f"\n\nTo answer, call `ask` with the choice as `question` and `answers_to` = {made.query_id}."
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=made.model_dump(mode="json"),
        is_error=made.status in ("failed", "expired"),
    )


def _asked_back(context: Context, reply: Reply) -> InputRequiredResult | None:
    """Return the question back as one that the client puts to its person, where it can."""
    answer = reply.resource["answer"]
    capabilities = context.client_capabilities
    can_ask = (context.protocol_version or "") >= MODERN and capabilities is not None and capabilities.elicitation
    form = _form(answer)
    if not can_ask or form is None:
        return None
    request = ElicitRequest(params=ElicitRequestFormParams(message=answer["message"], requested_schema=form))
    return InputRequiredResult(input_requests={_CHOICE: request}, request_state=reply.query_id)


def _asks_yes(answer: dict[str, Any]) -> bool:
    """Whether an answer asks its reader for a yes, and not a second person."""
    return answer["outcome"] == "confirmation" and not answer["confirmation"]["needs_second_person"]


def _form(answer: dict[str, Any]) -> dict[str, Any] | None:
    if _asks_yes(answer):
        field: dict[str, Any] = {"type": "string", "enum": ["yes", "no"], "title": answer["message"]}
    elif answer["outcome"] == "clarification":
        options = answer["options"]
        named = {"oneOf": [{"const": one["id"], "title": one["text"]} for one in options]} if options else {}
        field = {"type": "string", "title": answer["next_step"] or answer["message"], **named}
    else:
        return None
    return {"type": "object", "properties": {_CHOICE: field}, "required": [_CHOICE]}
