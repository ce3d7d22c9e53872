"""A person's boards: named lists of pinned questions that are asked again; one frozen value per tenant and user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from querybus.core.envelope import Audience

BOARDS_MAX: Final = 50
PINS_MAX: Final = 30
NAME_LENGTH_MAX: Final = 100
Schedule = Literal["on_opening", "hourly", "daily"]
PERIOD_MS: Final[Mapping[Schedule, int]] = {"hourly": 3_600_000, "daily": 86_400_000}


class _Value(BaseModel):
    """Frozen; unknown fields survive, so that an older replica takes nothing away."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="allow")


class Pin(_Value):
    """One pinned question, and the query that it was last asked as by its owner."""

    id: str
    question: str
    connection: str
    language: Literal["en", "zh"]
    query_id: str = ""
    asked_at: int = 0


class AskedAs(_Value):
    """With which rights a board is asked on schedule: those that its owner had, as far as the credential still has them."""

    credential: str
    audience: Audience
    connections: tuple[str, ...] | None = None


class Board(_Value):
    """A named list of pins. Times are milliseconds since the epoch."""

    id: str
    name: str
    made_at: int
    is_shared: bool = False
    schedule: Schedule = "on_opening"
    asked_as: AskedAs | None = Field(default=None, description="of a schedule")
    asked_at: int = Field(default=0, description="when its schedule was last carried out")
    pins: tuple[Pin, ...] = ()

    def is_due(self, now_ms: int) -> bool:
        """Return whether its schedule asks it now."""
        period = PERIOD_MS.get(self.schedule)
        return period is not None and self.asked_as is not None and now_ms - self.asked_at >= period

    def with_asked(self, asked: Mapping[str, str], now_ms: int) -> Board:
        """Return it with the queries that its pins, by id, were just asked as."""
        pins = (
            pin.model_copy(update={"query_id": asked[pin.id], "asked_at": now_ms}) if pin.id in asked else pin
            for pin in self.pins
        )
        return self.model_copy(update={"pins": tuple(pins)})


class Boards(_Value):
    """The boards of one person, and in which thread of the person each board is asked, own or shared."""

    user: str
    boards: tuple[Board, ...] = ()
    threads: Mapping[str, str] = Field(default={}, description="board -> thread")

    def get(self, board: str) -> Board | None:
        """Return the board of that id."""
        return next((item for item in self.boards if item.id == board), None)

    def with_board(self, board: Board) -> Boards:
        """Return them with a board replaced, or added at the end."""
        if self.get(board.id) is None:
            return self.model_copy(update={"boards": (*self.boards, board)})
        boards = tuple(board if item.id == board.id else item for item in self.boards)
        return self.model_copy(update={"boards": boards})

    def without(self, board: str) -> Boards:
        """Return them without a board."""
        threads = {name: thread for name, thread in self.threads.items() if name != board}
        return self.model_copy(
            update={"boards": tuple(item for item in self.boards if item.id != board), "threads": threads}
        )
