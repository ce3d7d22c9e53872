"""How the commands stand in help: in sections, never cut, with types and examples that a person can copy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

START: Final = "Start here"
SET_UP: Final = "Set up"
LOOK: Final = "Look at what happened"
SERVE: Final = "Run it for others"
SECTIONS: Final = (START, SET_UP, LOOK, SERVE)

DEFAULT: Final = "answers"
_TYPES: Final = {"str": "TEXT", "path": "PATH", "int": "NUMBER", "float": "NUMBER"}
_EXAMPLE: Final = re.compile(r"^Example: *(.+)$", re.MULTILINE)

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose help shows `PATH` and `analyst|business` as types, and examples as they are typed."""

    def __init__(self, name: str | None, *, help: str | None = None, **settings: Any) -> None:  # noqa: A002 - the base class's name
        text = help or ""
        self._examples = [" ".join(example.split()) for example in _EXAMPLE.findall(text)]
        super().__init__(name, help=_EXAMPLE.sub("", text).strip(), **settings)

    @override
    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        pieces = ["[OPTIONS]"]
        for param in self.params:
            if param.param_type_name == "argument":
                more = "..." if param.nargs != 1 else ""
                name = _argument_name(param)
                pieces.append(f"{name}{more}" if param.required else f"[{name}{more}]")
        return pieces

    @override
    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for param in self.get_params(ctx):
            if param.param_type_name == "option" and getattr(param, "metavar", None) is None:
                param.metavar = _type_name(param, ctx)
            record = param.get_help_record(ctx)
            if record is not None:
                is_argument = param.param_type_name == "argument"
                rows[param.param_type_name].append((_argument_name(param) if is_argument else record[0], record[1]))
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            if rows[kind]:
                with formatter.section(title):
                    formatter.write_dl(rows[kind])
        if self._examples:
            with formatter.section("Examples" if len(self._examples) > 1 else "Example"):
                for example in self._examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class CommandGroup(TyperGroup):
    """Commands in the sections that they name, in the order of SECTIONS, with the whole first paragraph of their help."""

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                first = " ".join((command.help or "").strip().partition("\n\n")[0].split())
                sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append((name, first))
        for title in sorted(sections, key=lambda title: SECTIONS.index(title) if title in SECTIONS else len(SECTIONS)):
            with formatter.section(title):
                formatter.write_dl(sections[title])


class WithDefault(CommandGroup):
    """Puts the default command before what names none: `evaluate items.jsonl` is `evaluate answers items.jsonl`."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


class Commands(typer.Typer):
    """A group of commands; each gets the help of `Command`."""

    def __init__(self, *, help: str, cls: type[CommandGroup] = CommandGroup, **settings: Any) -> None:  # noqa: A002 - the base class's name
        super().__init__(
            cls=cls,
            help=help,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
            **settings,
        )

    @override
    def command(self, name: str | None = None, **settings: Any) -> Callable[[CommandT], CommandT]:  # type: ignore[override]
        settings.setdefault("cls", Command)
        return super().command(name, **settings)

    def add_hidden(self, command: Callable[..., Any] | typer.Typer, name: str) -> None:
        """Keep an older name of a command or of a group working, without a line in help."""
        if isinstance(command, typer.Typer):
            self.add_typer(command, name=name, hidden=True)
        else:
            self.command(name, hidden=True)(command)


def _argument_name(param: Any) -> str:
    return str(param.metavar or param.name).upper()


def _type_name(param: Any, ctx: Any) -> str:
    """Return a type as people write it: `PATH`, `NUMBER`, or the words to choose from."""
    shown = str(param.display_type(ctx)).strip("<>")
    shown = re.sub(r"^list\[(.*)\]$", r"\1", shown).removesuffix(" range")
    return _TYPES.get(shown.lower(), shown)
