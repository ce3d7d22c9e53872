"""A group of commands whose own word may be left out: `evaluate items.jsonl` is `evaluate answers items.jsonl`."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

DEFAULT: Final = "answers"


class WithDefault(TyperGroup):
    """Puts the default command before what names none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left to parse, as click has it."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)
