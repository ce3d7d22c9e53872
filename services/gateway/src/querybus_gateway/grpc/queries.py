"""`querybus.v1.QueryService`: ask, follow, read, cancel, confirm, clarify, refine, judge, page, export, draw; it only translates.

The call's deadline is the query's: it lowers `deadline_seconds` as a cap of the server would, so that the request, and
with it its idempotency key's meaning, stays what it was. A call that is not to wait lends its deadline to nobody.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar, cast

from google.protobuf.message import Message

from querybus.core.credential import Credential
from querybus.core.requests.refinement import Change
from querybus.core.subjects import EventName
from querybus.picture import PictureForm
from querybus_gateway.admit import WAIT_SECONDS_MAX, AskRequest, read
from querybus_gateway.grpc.call import GrpcCall, Method
from querybus_gateway.grpc.messages import (
    change_json,
    frame_fields,
    message_of,
    options_json,
    query_message,
    question_json,
    word,
)
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.follow import STREAM_SECONDS_MAX
from querybus_gateway.use_cases.followups.clarify import ClarifyRequest
from querybus_gateway.use_cases.followups.clarify import clarify as clarify_query
from querybus_gateway.use_cases.followups.confirm import ConfirmRequest
from querybus_gateway.use_cases.followups.refine import refine as refine_query
from querybus_gateway.use_cases.knowledge import FeedbackRequest
from querybus_gateway.use_cases.resources import Reply
from querybus_gateway.use_cases.results.export import Format, export_stream, refusal_of
from querybus_gateway.use_cases.results.pages import PageGone
from querybus_gateway.v1 import query_service_pb2 as v1

DEADLINE_SECONDS_MIN: Final = 0.001

ChosenT = TypeVar("ChosenT", bound=StrEnum)

_CUT: Final = Problem(
    ProblemCode.BUS_UNAVAILABLE,
    "the stream ended before the query: follow it from its last event",
    retry_after_seconds=1,
)
_NO_SECONDS: Final = Problem(ProblemCode.INVALID, "wait_seconds is a number of seconds")


async def ask(request: v1.AskRequest, call: GrpcCall) -> Message | Problem:
    """Ask and wait until the answer is there, `wait_seconds` have passed, or the call's deadline."""
    wait = _wait_of(request)
    if isinstance(wait, Problem):
        return wait
    credential = call.credential if wait == 0 else within(call.credential, call.left_seconds)
    first_wait = 0.0 if request.cancel_on_disconnect else min(wait, WAIT_SECONDS_MAX)
    begun = await _ask(request.question, credential, call, first_wait)
    if request.cancel_on_disconnect and isinstance(begun, Reply):
        call.on_disconnect(partial(call.use_cases.queries.cancel, begun.query_id, call.credential))
    reply = await _until_finished(begun, wait - first_wait, call)
    if isinstance(reply, Problem):
        return reply
    return v1.AskResponse(query=query_message(reply.resource), idempotency_replayed=_is_replayed(begun))


async def ask_stream(request: v1.AskStreamRequest, call: GrpcCall) -> AsyncGenerator[Message | Problem]:
    """Ask, give the query, then its events as they are stored."""
    reply = await _ask(request.question, within(call.credential, call.left_seconds), call, 0)
    if isinstance(reply, Problem):
        yield reply
        return
    if request.cancel_on_disconnect:
        call.on_disconnect(partial(call.use_cases.queries.cancel, reply.query_id, call.credential))
    yield v1.AskStreamResponse(query=query_message(reply.resource))
    async with aclosing(call.use_cases.queries.stream(reply.query_id, call.credential, 0)) as frames:
        async for frame in frames:
            yield v1.AskStreamResponse(**frame_fields(frame))
            if frame.event == EventName.FINISHED:
                return
    yield _CUT


async def follow(request: v1.FollowRequest, call: GrpcCall) -> AsyncGenerator[Message | Problem]:
    """Give the events of a query behind a sequence."""
    problem = await call.use_cases.queries.open_stream(request.query_id, call.credential)
    if request.after_sequence < 0:
        problem = Problem(ProblemCode.INVALID, "a sequence is a whole number from 0 on")
    if problem is not None:
        yield problem
        return
    if request.cancel_on_disconnect:
        call.on_disconnect(partial(call.use_cases.queries.cancel, request.query_id, call.credential))
    async with aclosing(
        call.use_cases.queries.stream(request.query_id, call.credential, request.after_sequence)
    ) as frames:
        async for frame in frames:
            yield v1.FollowResponse(**frame_fields(frame))
            if frame.event == EventName.FINISHED:
                return
    if not await call.use_cases.queries.has_ended(request.query_id, call.credential, request.after_sequence):
        yield _CUT


async def get_query(request: v1.GetQueryRequest, call: GrpcCall) -> Message | Problem:
    """Read a query, once it has finished or `wait_seconds` have passed."""
    if not math.isfinite(request.wait_seconds):
        return _NO_SECONDS
    result = await call.use_cases.queries.read(request.query_id, call.credential)
    reply = await _until_finished(result, request.wait_seconds, call)
    return reply if isinstance(reply, Problem) else v1.GetQueryResponse(query=query_message(reply.resource))


async def cancel(request: v1.CancelRequest, call: GrpcCall) -> Message | Problem:
    """Conclude a query as cancelled."""
    reply = await call.use_cases.queries.cancel(request.query_id, call.credential)
    return reply if isinstance(reply, Problem) else v1.CancelResponse(query=query_message(reply.resource))


async def confirm(request: v1.ConfirmRequest, call: GrpcCall) -> Message | Problem:
    """Begin the query that a yes stands for, and wait for it as Ask does."""
    wait = _wait_of(request)
    body: Json = {"sql_sha256": request.sql_sha256}
    if request.HasField("rows_affected_max"):
        body["rows_affected_max"] = request.rows_affected_max
    wanted = read(json.dumps(body).encode(), ConfirmRequest)
    if isinstance(wanted, Problem) or isinstance(wait, Problem):
        return wanted if isinstance(wanted, Problem) else cast("Problem", wait)
    first_wait = min(wait, WAIT_SECONDS_MAX)
    begun = await call.use_cases.confirmations.confirm(
        request.query_id, wanted, call.credential, wait_seconds=first_wait
    )
    reply = await _until_finished(begun, wait - first_wait, call)
    if isinstance(reply, Problem):
        return reply
    return v1.ConfirmResponse(query=query_message(reply.resource), idempotency_replayed=_is_replayed(begun))


async def clarify(request: v1.ClarifyRequest, call: GrpcCall) -> Message | Problem:
    """Ask what answers a query that asked back, and wait for it as Ask does."""
    wait = _wait_of(request)
    body: Json = {}
    if (answer := request.WhichOneof("answer")) is not None:
        body[answer] = getattr(request, answer)
    if request.HasField("options"):
        body["options"] = options_json(request.options)
    wanted = read(json.dumps(body).encode(), ClarifyRequest)
    if isinstance(wanted, Problem) or isinstance(wait, Problem):
        return wanted if isinstance(wanted, Problem) else cast("Problem", wait)
    first_wait = min(wait, WAIT_SECONDS_MAX)
    begun = await clarify_query(
        call.use_cases.queries,
        request.query_id,
        wanted,
        call.credential if wait == 0 else within(call.credential, call.left_seconds),
        idempotency_key=call.idempotency_key,
        wait_seconds=first_wait,
    )
    reply = await _until_finished(begun, wait - first_wait, call)
    if isinstance(reply, Problem):
        return reply
    return v1.ClarifyResponse(query=query_message(reply.resource), idempotency_replayed=_is_replayed(begun))


async def refine(request: v1.RefineRequest, call: GrpcCall) -> Message | Problem:
    """Read an answer otherwise, and wait for it as Ask does."""
    wait = _wait_of(request)
    wanted = read(json.dumps(change_json(request.change)).encode(), Change)
    if isinstance(wanted, Problem) or isinstance(wait, Problem):
        return wanted if isinstance(wanted, Problem) else cast("Problem", wait)
    first_wait = min(wait, WAIT_SECONDS_MAX)
    begun = await refine_query(
        call.use_cases.queries,
        request.query_id,
        wanted,
        call.credential if wait == 0 else within(call.credential, call.left_seconds),
        idempotency_key=call.idempotency_key,
        wait_seconds=first_wait,
    )
    reply = await _until_finished(begun, wait - first_wait, call)
    if isinstance(reply, Problem):
        return reply
    return v1.RefineResponse(query=query_message(reply.resource), idempotency_replayed=_is_replayed(begun))


async def feedback(request: v1.FeedbackRequest, call: GrpcCall) -> Message | Problem:
    """Say whether an answer was right."""
    wanted = read(json.dumps({"verdict": word(v1.Verdict, request.verdict)}).encode(), FeedbackRequest)
    if isinstance(wanted, Problem):
        return wanted
    result = await call.use_cases.teaching.feedback(request.query_id, call.credential, wanted)
    if isinstance(result, Problem):
        return result
    return v1.FeedbackResponse(query_id=result["query_id"], verdict=request.verdict, entries=result["entries"])


async def get_result_page(request: v1.GetResultPageRequest, call: GrpcCall) -> Message | Problem:
    """Read one page of a result."""
    results = call.use_cases.results
    if request.page < 0 or request.page_size < 0:
        return Problem(ProblemCode.INVALID, "pages are counted from 1")
    if request.page_token and (request.page or request.page_size):
        return Problem(ProblemCode.INVALID, "a page token names its page by itself")
    result = (
        await results.page_of_token(request.query_id, call.credential, request.page_token)
        if request.page_token
        else await results.page(request.query_id, call.credential, request.page or 1, request.page_size or None)
    )
    return result if isinstance(result, Problem) else message_of(v1.GetResultPageResponse, result)


async def export_result(request: v1.ExportResultRequest, call: GrpcCall) -> AsyncGenerator[Message | Problem]:
    """Give the whole result, a piece at a time."""
    how = _chosen(Format, v1.ExportFormat, request.format, Format.CSV)
    result = how if isinstance(how, Problem) else await call.use_cases.results.export(request.query_id, call.credential)
    if isinstance(how, Problem) or isinstance(result, Problem):
        yield cast("Problem", result)
        return
    if (refused := refusal_of(result, how, 1)) is not None:
        yield refused
        return
    try:
        async with aclosing(export_stream(result, how)) as pieces:
            async for piece in pieces:
                yield v1.ExportResultResponse(data=piece)
    except PageGone:
        yield Problem(ProblemCode.RESULT_EXPIRED, "ask the question again for a new result")


async def draw_chart(request: v1.DrawChartRequest, call: GrpcCall) -> Message | Problem:
    """Draw the chart of an answer."""
    form = _chosen(PictureForm, v1.PictureFormat, request.format, PictureForm.SVG)
    if isinstance(form, Problem):
        return form
    drawn = await call.use_cases.charts.picture(request.query_id, call.credential, form)
    return drawn if isinstance(drawn, Problem) else v1.DrawChartResponse(data=drawn)


QUERY_METHODS: Final[dict[str, Method]] = {
    "Ask": Method(v1.AskRequest, ask),
    "AskStream": Method(v1.AskStreamRequest, ask_stream, is_streaming=True),
    "Follow": Method(v1.FollowRequest, follow, is_streaming=True),
    "GetQuery": Method(v1.GetQueryRequest, get_query),
    "Cancel": Method(v1.CancelRequest, cancel),
    "Confirm": Method(v1.ConfirmRequest, confirm),
    "Clarify": Method(v1.ClarifyRequest, clarify),
    "Refine": Method(v1.RefineRequest, refine),
    "Feedback": Method(v1.FeedbackRequest, feedback),
    "GetResultPage": Method(v1.GetResultPageRequest, get_result_page),
    "ExportResult": Method(v1.ExportResultRequest, export_result, is_streaming=True),
    "DrawChart": Method(v1.DrawChartRequest, draw_chart),
}


def within(credential: Credential, left_seconds: float | None) -> Credential:
    """Return the credential with its cap on deadlines lowered to what is left of the call."""
    if left_seconds is None:
        return credential
    left = max(DEADLINE_SECONDS_MIN, min(credential.caps.deadline_seconds, left_seconds))
    return credential.model_copy(update={"caps": credential.caps.model_copy(update={"deadline_seconds": left})})


async def _ask(question: v1.Question, credential: Credential, call: GrpcCall, wait_seconds: float) -> Reply | Problem:
    # Read as the JSON that the other APIs take, so that the same request is refused in the same words.
    asked = read(json.dumps(question_json(question)).encode(), AskRequest)
    if isinstance(asked, Problem):
        return asked
    return await call.use_cases.queries.ask(
        asked, credential, idempotency_key=call.idempotency_key, wait_seconds=wait_seconds
    )


def _chosen(words: type[ChosenT], numbers: Any, number: int, default: ChosenT) -> ChosenT | Problem:
    """Return the word of an enum's number, the default for none."""
    if not number:
        return default
    try:
        return words(word(numbers, number))
    except ValueError:
        return Problem(ProblemCode.INVALID, f"format is one of {', '.join(words)}")


def _wait_of(request: v1.AskRequest | v1.ConfirmRequest | v1.ClarifyRequest | v1.RefineRequest) -> float | Problem:
    """Return the seconds to wait: 0 for not at all; without a limit of its own the call's deadline ends the wait."""
    if not request.HasField("wait_seconds"):
        return STREAM_SECONDS_MAX
    return max(0.0, request.wait_seconds) if math.isfinite(request.wait_seconds) else _NO_SECONDS


def _is_replayed(reply: Reply | Problem) -> bool:
    return isinstance(reply, Reply) and reply.is_replayed


async def _until_finished(reply: Reply | Problem, seconds: float, call: GrpcCall) -> Reply | Problem:
    while isinstance(reply, Reply) and not reply.is_finished and seconds > 0:
        reply = await call.use_cases.queries.wait(reply.query_id, call.credential, min(seconds, WAIT_SECONDS_MAX))
        seconds -= WAIT_SECONDS_MAX
    return reply
