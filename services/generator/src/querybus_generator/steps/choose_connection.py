"""Which connection a question goes to that names none: the one that its words speak of, else a person chooses.

Only connections of the caller are looked at, named or offered: the gateway has put them on the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from querybus.core.asking_back import Option, OptionAction, Trigger
from querybus.core.envelope import Envelope
from querybus.core.messages import Asked
from querybus.core.policy import Connection
from querybus.text.disclosure import leaks
from querybus.text.knowledge import Knowledge
from querybus_generator.linking.routing import CHOICES_MAX, Candidate, Router
from querybus_generator.ports import Catalogs, Connections, History, Taught
from querybus_generator.prompts.template import fill
from querybus_generator.steps.classify import unsettled
from querybus_generator.subject import Drafting, Subject, clarification, with_header

if TYPE_CHECKING:
    from querybus.core.messages import Concluded

LABEL_LENGTH_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Routed:
    """The event with its connection, which was chosen among several, or `choices` of which a person takes one."""

    envelope: Drafting
    is_one_of_several: bool = False
    fits: bool = True
    """Whether any connection seems to be about the question."""
    choices: tuple[Connection, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """All connections that the caller may ask."""


async def route(
    envelope: Envelope[Asked], router: Router, catalogs: Catalogs, connections: Connections, taught: Taught | None
) -> Routed:
    """Return the event with the connection that the question speaks of; in a thread the thread's own stays if it can."""
    candidates: list[Candidate] = []
    for name in envelope.body.connections:
        catalog, connection = await catalogs.read(name), await connections.get(name)
        if catalog is None or connection is None or not connection.policy.serves(envelope.tenant):
            continue
        knowledge = await taught.read(envelope.tenant, name) if taught is not None else Knowledge(connection=name)
        candidates.append(Candidate(connection, catalog, knowledge))
    known = {item.connection.name: item.connection for item in candidates}
    of_thread = envelope.body.thread_connection
    is_thread = of_thread in known
    result = await router.route(
        envelope.question,
        candidates,
        tenant=envelope.tenant,
        thread_connection=of_thread if is_thread else None,
    )
    if result is None:
        # Small talk is answered from any of them; a question about data is asked about.
        names = () if is_thread else tuple(known)[:CHOICES_MAX]
        first = envelope.connection if is_thread else next(iter(known), envelope.connection)
        choices = tuple(known[name] for name in names) if len(names) > 1 else ()
        return Routed(
            _at(envelope, first),
            is_one_of_several=len(known) > 1,
            fits=False,
            choices=choices,
            candidates=tuple(candidates),
        )
    return Routed(
        _at(envelope, result.connection),
        is_one_of_several=len(known) > 1,
        fits=result.fits,
        choices=tuple(known[name] for name in result.choices) if len(result.choices) > 1 else (),
        candidates=tuple(candidates),
    )


def _at(envelope: Envelope[Asked], connection: str) -> Drafting:
    return cast("Drafting", envelope.with_body(envelope.body, connection=connection))


async def ask_which_connection(subject: Subject, _: Asked, __: History) -> Envelope[Concluded] | Subject:
    """Let the person choose among two or three connections, called as people call them."""
    if not subject.choices:
        return subject
    envelope = subject.envelope
    labels = _distinct([label_of(item, envelope) for item in subject.choices], subject.choices)
    options = tuple(
        Option(
            id=str(number),
            text=label,
            question=envelope.question,
            action=OptionAction.CHOOSE_SOURCE,
            connection=connection.name,
        )
        for number, (label, connection) in enumerate(zip(labels, subject.choices, strict=True), 1)
    )
    names = _join_names([f"“{label}”" for label in labels], envelope.language, is_choice=subject.fits)
    return clarification(
        with_header(subject, classification=envelope.classification or unsettled()),
        Trigger.AMBIGUOUS_QUESTION,
        "",
        (),
        reply=fill(
            subject.texts.which_connection if subject.fits else subject.texts.no_connection, {"connections": names}
        ),
        options=options,
    )


def label_of(connection: Connection, envelope: Drafting) -> str:
    """Return what people call a connection: its description where that is short and plain, else its name."""
    said = connection.description.strip().rstrip(".。")
    is_plain = envelope.audience == "analyst" or not leaks(said, None, envelope.language)
    return said if said and len(said) <= LABEL_LENGTH_MAX and "\n" not in said and is_plain else connection.name


def _distinct(labels: list[str], connections: tuple[Connection, ...]) -> list[str]:
    return [
        label if labels.count(label) == 1 else f"{label} ({connection.name})"
        for label, connection in zip(labels, connections, strict=True)
    ]


def _join_names(names: list[str], language: str, *, is_choice: bool) -> str:
    if language == "zh":
        return "、".join(names[:-1]) + f"{'或' if is_choice else '和'}{names[-1]}"
    return ", ".join(names[:-1]) + f" {'or' if is_choice else 'and'} {names[-1]}"
