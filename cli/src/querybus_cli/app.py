"""The `querybus` command. Every verb says what to do when it cannot go on; programs take `--json`.

Exit codes: 0 answered, replied or prepared; 2 usage; 3 clarification or confirmation; 4 refused; 5 failed; 6 expired;
7 cancelled; 130 ended by Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from querybus import __version__
from querybus_cli.commands import confirm, connections, evaluate, keys, models, preferences, questions, start
from querybus_cli.commands.groups import LOOK, SERVE, SET_UP, START, Commands
from querybus_cli.commands.inspect import commands as inspecting
from querybus_cli.commands.operate import audit, backup, bus, logs, operator
from querybus_cli.commands.taught import definitions, describe, knowledge
from querybus_cli.connecting import change
from querybus_cli.connecting.command import connect
from querybus_cli.runtime import guarded

app: Final = Commands(name="querybus", help="Ask databases in plain English or Chinese.")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"querybus {__version__}")
        raise typer.Exit


@app.callback()
def common_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    # No docstring: it would replace the help of the whole command.
    _ = version


for command in (connect, questions.ask, questions.chat, start.up, start.demo, start.doctor):
    app.command(rich_help_panel=START)(command)

for name, command in (
    ("add", change.add),
    ("remove", change.remove),
    ("rename", change.rename),
    ("set-password", change.set_password),
):
    connections.connections.command(name)(command)
connections.connections.command(name="describe")(describe.describe)
app.add_typer(connections.connections, name="connections", rich_help_panel=SET_UP)
app.add_typer(models.models, name="models", rich_help_panel=SET_UP)
app.add_typer(definitions.semantic, name="definitions", rich_help_panel=SET_UP)
app.add_typer(knowledge.knowledge, name="knowledge", rich_help_panel=SET_UP)
app.add_typer(keys.keys, name="keys", rich_help_panel=SET_UP)
app.add_typer(preferences.preferences, name="preferences", rich_help_panel=SET_UP)

for command in (confirm.confirm, operator.history, operator.replay, logs.logs):
    app.command(rich_help_panel=LOOK)(command)
app.add_typer(audit.audit, name="audit", rich_help_panel=LOOK)
app.add_typer(inspecting.inspect, name="inspect", rich_help_panel=LOOK)
app.add_typer(evaluate.evaluation, name="evaluate", rich_help_panel=LOOK)

operate: Final = Commands(help="Prepare, migrate, back up and restore the bus; look at dead letters.")
for name, command in (
    ("migrate", bus.migrate),
    ("bus-config", bus.bus_config),
    ("backup", backup.backup),
    ("restore", backup.restore),
):
    operate.command(name)(command)
    app.add_hidden(command, name)
operate.add_typer(operator.dead, name="dead")
app.add_typer(operate, name="operate", rich_help_panel=SERVE)
app.command(rich_help_panel=SERVE)(questions.mcp)

# Names of earlier versions.
for name, command in (
    ("explain-question", inspecting.explain_question),
    ("prompt", inspecting.prompt),
    ("check-sql", inspecting.check_sql),
    ("check-words", inspecting.check_words),
    ("chart", inspecting.chart),
    ("describe", describe.describe),
):
    app.add_hidden(command, name)
app.add_hidden(definitions.semantic, "semantic")
app.add_hidden(operator.dead, "dead")


def main() -> None:
    """Run the command; whatever goes wrong is one line on standard error."""
    from querybus.ops.log import configure_logging

    configure_logging("error", as_json=False)
    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
