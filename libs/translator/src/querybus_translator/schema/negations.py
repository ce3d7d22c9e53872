"""A negation that belongs to a name denies nothing: what is out of service has `is_out_of_service`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from querybus_translator.language.lexicon import Op
from querybus_translator.language.names import name_words
from querybus_translator.schema.comparison import EXACT_SCORE, Candidate
from querybus_translator.schema.index import CatalogIndex
from querybus_translator.schema.phrases import Node, NodeKind


def without_named_negations(nodes: Sequence[Node], index: CatalogIndex) -> list[Node]:
    """Return the nodes with each negation joined to the name behind it that it is a part of."""
    result: list[Node] = []
    for node in nodes:
        said = tuple(result[-1].text.lower().split()) if result and result[-1].op is Op.NOT else ()
        within = tuple(
            one for one in node.candidates if said and any(_holds(name, said) for name in _names(one, index))
        )
        if within:
            named = tuple(replace(one, score=max(one.score, EXACT_SCORE)) for one in within)
            result[-1] = Node(NodeKind.LINK, f"{result[-1].text} {node.text}", candidates=named)
        else:
            result.append(node)
    return result


def _names(candidate: Candidate, index: CatalogIndex) -> Iterator[tuple[str, ...]]:
    if candidate.value is None:
        table = index.table(candidate.table)
        thing = table if candidate.column is None else table.columns[candidate.column]
        yield from (tuple(name_words(name)) for name in (thing.name, *thing.display_names.values()))


def _holds(name: Sequence[str], said: Sequence[str]) -> bool:
    return any(tuple(name[at : at + len(said)]) == tuple(said) for at in range(len(name)))
