"""An answer's chart as its reader may have it: the specification, or a picture drawn from it on request."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

from querybus.core.credential import Credential
from querybus.core.failure import Failure, FailureCode
from querybus.core.messages import Outcome
from querybus.picture import NO_FONT_FACTS, PictureForm
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.use_cases.queries import Queries

BUSY_RETRY_SECONDS: Final = 5
NO_FONT_DETAIL: Final = "the picture has Chinese signs and no font for them is installed here: take the SVG, or install one (Debian: fonts-wqy-microhei)"


class ChartForm(StrEnum):
    """What a chart can be had as."""

    JSON = "json"
    SVG = "svg"
    PNG = "png"


class Renderer(Protocol):
    """Draws a specification."""

    async def draw(self, spec: Mapping[str, object], form: PictureForm) -> bytes | Failure: ...


class Charts:
    """The charts of finished queries."""

    def __init__(self, queries: Queries, renderer: Renderer) -> None:
        self._queries = queries
        self._renderer = renderer

    async def spec(self, query: str, credential: Credential) -> Mapping[str, object] | Problem:
        """Return the Vega-Lite specification of an answer's chart, under the rule of who may read the answer."""
        reply = await self._queries.read(query, credential)
        if isinstance(reply, Problem):
            return reply
        if not reply.is_finished:
            return Problem(ProblemCode.NOT_FINISHED, "the chart is there once the query has finished")
        answer = reply.resource["answer"]
        if answer["outcome"] != Outcome.ANSWERED.value or not answer["chart"]:
            return Problem(ProblemCode.NOT_FOUND, "this answer has no chart")
        return answer["chart"]

    async def picture(self, query: str, credential: Credential, form: PictureForm) -> bytes | Problem:
        """Return the chart as a picture."""
        result = await self.spec(query, credential)
        return result if isinstance(result, Problem) else await self.drawn(result, form)

    async def drawn(self, spec: Mapping[str, object], form: PictureForm) -> bytes | Problem:
        """Return a specification as a picture."""
        drawn = await self._renderer.draw(spec, form)
        if isinstance(drawn, bytes):
            return drawn
        if drawn.code is FailureCode.TIMEOUT:
            return Problem(ProblemCode.PICTURE_UNAVAILABLE, retry_after_seconds=BUSY_RETRY_SECONDS)
        if drawn.facts == NO_FONT_FACTS:
            return Problem(ProblemCode.PICTURE_UNAVAILABLE, NO_FONT_DETAIL)
        return Problem(ProblemCode.INTERNAL, "the picture could not be drawn; the chart itself is there as JSON")
