"""What a connection's user may beyond reading, and whether the connection is refused for it."""

from __future__ import annotations

from typing import Final

from querybus.core.failure import Facts, Failure, FailureCode
from querybus_executor.connections.config import ConnectionConfig
from querybus_executor.connections.trouble import ROLE_MAY_WRITE

_ADVICE: Final = "use one that may only SELECT (docs/connections.md), or set role_may_write"


class WritingRole:
    """The user of one connection. `is_refused`: one that may write is taken only with `role_may_write`, as in production.

    Elsewhere such a user is taken with a warning: every statement runs read-only, by transaction, file or setting.
    `notice`: what else works only in part, such as files that could not be read.
    """

    def __init__(self, config: ConnectionConfig, *, is_refused: bool = True) -> None:
        self._config = config
        self._is_refused = is_refused
        self.excess: str | None = None
        self.notice = ""

    @property
    def warning(self) -> str:
        """What the owner should know: a user that may write and was not taken on purpose, files that were not read."""
        return self.notice if self.excess is None or self._config.role_may_write else self.excess

    def judge(self, excess: str | None) -> Failure | None:
        """Keep in words what the user may beyond reading (None: nothing); return why the connection is refused, or None."""
        self.excess = excess
        if excess is None or self._config.role_may_write or not self._is_refused:
            return None
        return Failure.of(FailureCode.CONNECTION, f"{excess}: {_ADVICE}", Facts(rule=ROLE_MAY_WRITE))
