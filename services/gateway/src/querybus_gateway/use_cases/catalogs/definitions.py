"""What an owner's words mean: the approved metrics of a connection, as each caller may see them.

A definition that reads what the connection's policy hides from the tenant is not there. Business readers get names and
descriptions, analysts the expressions too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from querybus.bus.log.publish import BusTrouble
from querybus.core.catalog import Catalog, Language
from querybus.core.credential import Credential
from querybus.text.disclosure import leaks
from querybus.text.knowledge import EntryKind, Knowledge
from querybus.text.readable_name import readable_name, spoken_name
from querybus_gateway.problems import Problem, ProblemCode
from querybus_gateway.public.redaction import Json
from querybus_gateway.use_cases.catalogs.connections import Catalogs, Seen
from querybus_gateway.use_cases.catalogs.defined_questions import defined_questions
from querybus_gateway.use_cases.catalogs.suggestions import SUGGESTIONS_MAX, suggestions
from querybus_gateway.use_cases.queries import BUS_RETRY_SECONDS

if TYPE_CHECKING:
    from querybus_semantic.layer.definitions import Layer, Metric


class KnowledgeRead(Protocol):
    """What people taught, by tenant and connection. Raises BusTrouble."""

    async def read(self, tenant: str, name: str) -> Knowledge: ...


class Definitions:
    """The definitions of connections, as each caller may see them."""

    def __init__(self, catalogs: Catalogs, knowledge: KnowledgeRead) -> None:
        self._catalogs = catalogs
        self._knowledge = knowledge

    async def listed(self, name: str, credential: Credential, language: Language) -> Json | Problem:
        """Return what is defined: `{connection, version, metrics: [...]}`, drafts left out."""
        usable = await self._usable(name, credential)
        if isinstance(usable, Problem):
            return usable
        seen, layer = usable
        metrics = layer.metrics.values() if layer is not None else ()
        is_analyst = credential.audience == "analyst"
        return {
            "connection": name,
            "version": layer.version if layer is not None else "",
            "metrics": [
                shown
                for metric in metrics
                if metric.words.state == "approved" and metric.words.offered
                if (shown := _metric(metric, seen.whole, language, is_analyst=is_analyst)) is not None
            ],
        }

    async def suggestions(self, name: str, credential: Credential, language: Language) -> Json | Problem:
        """Return questions that can be asked of a connection as they stand, of what is defined first: `{connection, questions}`."""
        usable = await self._usable(name, credential)
        if isinstance(usable, Problem):
            return usable
        seen, layer = usable
        others = await asyncio.to_thread(suggestions, seen.seen, language, credential.audience, seen.whole)
        defined = ()
        if layer is not None:
            defined = await asyncio.to_thread(defined_questions, layer, seen.seen, language, credential.audience)
        questions = dict.fromkeys((*defined, *others))
        return {"connection": name, "questions": list(questions)[:SUGGESTIONS_MAX]}

    async def _usable(self, name: str, credential: Credential) -> tuple[Seen, Layer | None] | Problem:
        """Return the catalog as the caller sees it, and the definitions that read nothing else."""
        seen = await self._catalogs.seen(name, credential)
        if isinstance(seen, Problem):
            return seen
        try:
            known = await self._knowledge.read(credential.tenant, name)
        except BusTrouble:
            return Problem(ProblemCode.BUS_UNAVAILABLE, retry_after_seconds=BUS_RETRY_SECONDS)
        taught = {entry.key: entry.text for entry in known.of(EntryKind.DEFINITION)}
        pieces = {**seen.whole.definitions, **taught}
        return seen, await asyncio.to_thread(_usable, pieces, seen) if pieces else None

    async def defined(self, name: str, metric: str, credential: Credential, language: Language) -> Json | Problem:
        """Return one definition, by its name or by what people call it."""
        known = await self.listed(name, credential, language)
        if isinstance(known, Problem):
            return known
        wanted = metric.strip().casefold()
        for one in known["metrics"]:
            if wanted in (one["name"].casefold(), one["label"].casefold()):
                return {"connection": name, **one}
        return Problem(ProblemCode.NOT_FOUND, "there is no such definition for this credential")


def _usable(pieces: Mapping[str, str], seen: Seen) -> Layer | None:
    """Return the definitions that read only what the caller's tenant may see."""
    # 20 ms and a parser that a gateway without definitions never loads.
    from querybus_semantic.checks.binding import bound
    from querybus_semantic.formats.document import BadFileError
    from querybus_semantic.formats.entries import layer_of

    try:
        layer = layer_of(pieces.items())
    except BadFileError:
        return None
    return bound(layer, seen.seen)[0] if layer is not None else None


def _metric(metric: Metric, catalog: Catalog, language: Language, *, is_analyst: bool) -> Json | None:
    """Return a definition for its reader; None where a business reader would be given a technical name for it."""
    from querybus_semantic.layer.labels import label_of

    def is_shown(text: str) -> bool:
        return is_analyst or not leaks(text, catalog, language)

    words = metric.words
    label = label_of(metric.name, words, language)
    # A label made of a name that is no word is that name in pieces.
    is_a_name = label == spoken_name(metric.name) and not readable_name(metric.name, language)
    if not is_shown(label) or (is_a_name and not is_analyst):
        return None
    shown: Json = {
        "name": metric.name if is_analyst else label,
        "label": label,
        "description": words.description if is_shown(words.description) else "",
        "synonyms": list(filter(is_shown, words.synonyms)),
        "unit": metric.unit,
        "owner": words.owner,
        "version": words.version,
    }
    return shown | ({"expression": metric.expression, "condition": metric.condition} if is_analyst else {})
