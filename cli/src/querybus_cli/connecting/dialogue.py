"""What `connect` says and asks: lines for people, the same steps as JSON for programs, defaults where nobody answers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import typer

State = Literal["ok", "note", "failed"]
_SIGNS: Final[dict[State, tuple[str, str]]] = {
    "ok": ("ok    ", typer.colors.GREEN),
    "note": ("note  ", typer.colors.YELLOW),
    "failed": ("failed", typer.colors.RED),
}


@dataclass(slots=True)
class Dialogue:
    """The conversation of one run. `asks`: whether somebody at a terminal answers."""

    as_json: bool = False
    asks: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def of_terminal(cls, *, yes: bool, as_json: bool) -> Dialogue:
        """Return the dialogue that fits: questions only at a terminal, and never with --yes or --json."""
        return cls(as_json=as_json, asks=not yes and not as_json and sys.stdin.isatty() and sys.stderr.isatty())

    def say(self, step: str, state: State, text: str, *lines: str, **facts: Any) -> None:
        """Report a step; `lines` stand below it, `facts` are for programs only."""
        more: dict[str, Any] = {"lines": list(lines)} if lines else {}
        self.steps.append({"step": step, "state": state, "text": text, **more, **facts})
        if self.as_json:
            return
        sign, colour = _SIGNS[state]
        typer.secho(sign, fg=colour, nl=False)
        typer.echo(f" {step:<10} {text}")
        for line in lines:
            typer.echo(f"{'':18}{line}")

    def work(self, text: str) -> None:
        """Say what is under way, where somebody looks."""
        if not self.as_json and sys.stderr.isatty():
            typer.secho(f"       {text} ...", dim=True, err=True)

    def confirm(self, question: str, *, default: bool) -> bool:
        """Return the answer to a yes or no, the default where nobody is asked."""
        return typer.confirm(question, default=default, err=True) if self.asks else default

    def text(self, question: str, default: str | None = None, *, hidden: bool = False) -> str | None:
        """Return what is typed, the default where nobody is asked."""
        if not self.asks:
            return default
        return str(typer.prompt(question, default=default, hide_input=hidden, show_default=not hidden, err=True))

    def choose(self, question: str, names: Sequence[str], default: str) -> str:
        """Return one of the names by its number or itself, the default where nobody is asked."""
        if not self.asks or len(names) == 1:
            return default
        for number, name in enumerate(names, 1):
            typer.echo(f"  {number:>2}. {name}", err=True)
        while True:
            said = str(typer.prompt(question, default=default, err=True)).strip()
            if said in names:
                return said
            if said.isdecimal() and 1 <= int(said) <= len(names):
                return names[int(said) - 1]
            typer.echo(f"say a number from 1 to {len(names)}, or a name of the list", err=True)
