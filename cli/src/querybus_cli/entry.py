"""The `querybus` command, before anything of it is loaded."""

from __future__ import annotations

from querybus.ops.start import run_main


def main() -> None:
    """Run the command."""
    run_main("querybus_cli.app")
