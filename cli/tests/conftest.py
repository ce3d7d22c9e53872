"""What the tests of the command share: logs as `querybus` itself sets them, whatever ran before in this process."""

from __future__ import annotations

import pytest

from querybus.ops.log import configure_logging


@pytest.fixture(autouse=True)
def logs_as_the_command_sets_them() -> None:
    configure_logging("error", as_json=False)
