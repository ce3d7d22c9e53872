"""The `querybus` command, before anything of it is loaded."""

from __future__ import annotations

import os

INTERRUPTED_EXIT_CODE = 130


def main() -> None:
    """Run the command."""
    try:
        # Loaded here, so that Ctrl-C while it loads ends in one line too.
        from querybus.ops.start import run_main

        run_main("querybus_cli.app")
    except KeyboardInterrupt:
        os.write(2, b"querybus: ended by Ctrl-C\n")
        os._exit(INTERRUPTED_EXIT_CODE)
