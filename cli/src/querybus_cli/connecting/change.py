"""The commands `querybus connections add`, `remove`, `rename` and `set-password`: a running stack follows them without a restart."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from querybus_cli.commands.connections import FILE, File
from querybus_cli.runtime import UsageError, usage

Name = Annotated[str, typer.Argument(help="of the connection")]


def add(
    address: Annotated[str, typer.Argument(help="a URL, a file or a folder")],
    name: Annotated[str | None, typer.Option(help="what it is called; default: as its database")] = None,
    file: File = FILE,
) -> None:
    """Test a database and add it to the file; its password goes to a file that only you can read.

    `querybus connect` also finds a model, asks a first question and opens the page. Exit code 5: the database cannot be used.

    Example: querybus connections add sales.duckdb --name sales
    """
    from querybus.ops.log import configure_logging
    from querybus_cli.connecting.connect import FAILED_EXIT_CODE, examine_target
    from querybus_cli.connecting.dialogue import Dialogue
    from querybus_cli.connecting.target import read_target
    from querybus_executor.connections.set_up.file_edit import add_connection

    configure_logging("error", as_json=False)
    dialogue = Dialogue.of_terminal(yes=False, as_json=False)
    target = read_target(address, name, file, dialogue, os.environ)
    if not target.is_new:
        raise UsageError(
            f"{file} has this database already, as {target.name}: `querybus connections test {target.name}`"
        )
    examined, target = examine_target(target, dialogue, os.environ)
    if examined.catalog is None:
        raise typer.Exit(FAILED_EXIT_CODE)
    usage(add_connection, file, target.entry, target.password)
    dialogue.say("file", "ok", f"{target.name} added to {file}")


def remove(name: Name, file: File = FILE) -> None:
    """Remove a connection from the file, with its stored password. The database itself is not touched.

    Example: querybus connections remove sales
    """
    from querybus_executor.connections.set_up.file_edit import remove_connection

    usage(remove_connection, file, name)
    typer.echo(f"{name} removed from {file}; answers that were given of it stay readable")


def rename(name: Name, new_name: Annotated[str, typer.Argument(help="its new name")], file: File = FILE) -> None:
    """Give a connection another name. Threads, pins and knowledge of the old name stay with the old name.

    Example: querybus connections rename sales sales-2025
    """
    from querybus_executor.connections.set_up.file_edit import rename_connection

    usage(rename_connection, file, name, new_name)
    typer.echo(
        f"{name} is {new_name} now; `querybus knowledge export --connection {name}` prints what was taught under the old name"
    )


def set_password(name: Name, file: File = FILE) -> None:
    """Store a new password, which is asked for at a terminal and else read from standard input.

    Example: querybus connections set-password sales < new-password.txt
    """
    from querybus_executor.connections.set_up.file_edit import set_password as store_password

    is_typed = sys.stdin.isatty()
    password = (
        typer.prompt("New password", hide_input=True, err=True) if is_typed else sys.stdin.readline().rstrip("\r\n")
    )
    if not password:
        raise UsageError("the password is empty: pass it on standard input, or type it at a terminal")
    usage(store_password, file, name, password)
    typer.echo(f"{name} has a new password; `querybus connections test {name}` tries it")
