"""What a connection's columns were recognised as, and the owner's decisions about it, kept in the described file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import yaml

from querybus_cli.operations.measuring import opened_connection
from querybus_cli.runtime import UsageError
from querybus_executor.catalog.personal_columns import BY_ITS_VALUES, list_personal
from querybus_executor.connections.config import BadConnections, ConnectionConfig, load_connections
from querybus_executor.connections.described import BadDescriptionError, read_described

State = Literal["hidden, not decided", "hidden", "shown"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """A column that is or looks personal: what it holds, how it was recognised, and what its owner decided."""

    key: str
    kind: str
    reason: str
    state: State

    @property
    def is_open(self) -> bool:
        """Whether its owner has decided nothing yet."""
        return self.state == "hidden, not decided"

    def decided(self, hidden: Collection[str], shown: Collection[str]) -> Recognised:
        """Return it with a decision, where one was made."""
        if self.key in hidden:
            return replace(self, state="hidden")
        return replace(self, state="shown") if self.key in shown else self

    def as_json(self) -> dict[str, str]:
        """Return its public form."""
        return {"column": self.key, "kind": self.kind, "recognised": self.reason, "state": self.state}


def recognised(file: Path, name: str) -> tuple[ConnectionConfig, list[Recognised]]:
    """Return the connection's entry and its columns that are or look personal; UsageError where it cannot be read."""
    try:
        configs = load_connections(file)
    except BadConnections as error:
        raise UsageError(str(error)) from error
    config = next((config for config in configs if config.name == name), None)
    if config is None:
        raise UsageError(f"{file.name} has no connection {name}; it has {', '.join(item.name for item in configs)}")
    decided = {key.casefold() for key in config.personal}
    made: list[Recognised] = []
    with opened_connection(config) as (catalog, _):
        for item in list_personal(catalog, config.not_personal):
            is_decided = not decided.isdisjoint((item.key.casefold(), item.table.name.casefold()))
            state: State = "hidden" if is_decided else "hidden, not decided"
            reason = "by its owner" if is_decided and item.reason == BY_ITS_VALUES else item.reason
            kind = "names of persons" if item.kind == "name" else "contact or identity data"
            made.append(Recognised(item.key, kind, reason, state if item.column.personal else "shown"))
    return config, made


def decide(config: ConnectionConfig, hidden: Sequence[str], shown: Sequence[str], out: Path | None) -> Path:
    """Write decisions to `out` or the entry's described file and return its path; UsageError where there is none."""
    target = out or config.described
    if target is None:
        raise UsageError("the entry names no `described` file: say with --out where the decisions are to stand")
    both = sorted(set(hidden) & set(shown))
    if both:
        raise UsageError(f"{both[0]} cannot be both hidden and shown")
    try:
        text = target.read_text(encoding="utf-8") if target.exists() else ""
        said = read_described(target) if text else None
    except (OSError, BadDescriptionError) as error:
        raise UsageError(str(error)) from error
    personal = [key for key in (said.personal if said else ()) if key not in shown]
    others = [key for key in (said.not_personal if said else ()) if key not in hidden]
    lists = {
        "personal": list(dict.fromkeys((*personal, *hidden))),
        "not_personal": list(dict.fromkeys((*others, *shown))),
    }
    target.write_text(with_lists(text, lists), encoding="utf-8")
    return target


def with_lists(text: str, lists: dict[str, list[str]]) -> str:
    """Return a YAML file's text with its top-level lists replaced; every other line and comment stays.

    >>> print(with_lists("a: 1\\npersonal:\\n- t.x  # by its name\\nb: 2\\n", {"personal": ["t.y"]}), end="")
    a: 1
    b: 2
    personal:
    - t.y
    """
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines():
        is_inside = line.partition(":")[0] in lists or (is_inside and line[:1] in ("-", " ", ""))
        if not is_inside:
            kept.append(line)
    for name, values in lists.items():
        if values:
            kept += yaml.safe_dump({name: values}, allow_unicode=True, default_flow_style=False).splitlines()
    return "\n".join(kept) + "\n"
