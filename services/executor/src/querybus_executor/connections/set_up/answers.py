"""Answers an owner's requests about connections: tests a database, writes the connections file, has it followed at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from querybus.core.requests.set_up import (
    ExaminedDatabase,
    ExaminedStep,
    PersonalLook,
    SetUpOperation,
    SetUpReply,
    SetUpRequest,
)
from querybus.ops.log import get_log
from querybus_executor.connections.addresses.local import read_address
from querybus_executor.connections.config import BadConnections
from querybus_executor.connections.set_up.file_edit import (
    add_connection,
    name_of_database,
    remove_connection,
    rename_connection,
    set_password,
)

if TYPE_CHECKING:
    from querybus_executor.connections.set_up.examine import Examination

NOT_ALLOWED: Final = (
    "connections are not changed from here: set QUERYBUS_CONNECTIONS_EDITABLE=true at the executor, "
    "or run `querybus connections add` where its connections file is"
)

_log = get_log(__name__)


class SetUp:
    """The executor's answers. `follow` reads the connections file again; `is_allowed`: the setting permits changes."""

    def __init__(self, file: Path, follow: Callable[[], Awaitable[object]], *, is_allowed: bool) -> None:
        self._file = file
        self._follow = follow
        self._is_allowed = is_allowed
        self._turn = asyncio.Lock()

    async def answer(self, tenant: str, request: SetUpRequest) -> SetUpReply:
        """Return what was found or done; a refusal says what is in the way, without secrets."""
        if not self._is_allowed:
            return SetUpReply(problem="not_allowed", detail=NOT_ALLOWED)
        try:
            if request.operation is SetUpOperation.TEST:
                return await self._test(request)
            # One change at a time: each reads the file that the last one wrote.
            async with self._turn:
                reply = await self._change(request)
        except ValueError as error:
            # BadAddress and BadConnections, whose texts hold no secret.
            return SetUpReply(problem="invalid", detail=str(error))
        if reply.problem is None:
            await self._follow()
            _log.info("connections.changed", operation=request.operation.value, connection=reply.name, tenant=tenant)
        return reply

    async def _test(self, request: SetUpRequest) -> SetUpReply:
        entry, password = _entry_of(request)
        examined = await _examine(entry, password)
        return SetUpReply(name=str(entry["name"]), tested=examined_database(examined))

    async def _change(self, request: SetUpRequest) -> SetUpReply:
        match request.operation:
            case SetUpOperation.ADD:
                return await self._add(request)
            case SetUpOperation.REMOVE:
                await asyncio.to_thread(remove_connection, self._file, request.name)
            case SetUpOperation.RENAME:
                await asyncio.to_thread(rename_connection, self._file, request.name, request.new_name)
                return SetUpReply(name=request.new_name)
            case _:
                if not request.password:
                    raise BadConnections("the password is empty")
                await asyncio.to_thread(set_password, self._file, request.name, request.password)
        return SetUpReply(name=request.name)

    async def _add(self, request: SetUpRequest) -> SetUpReply:
        entry, password = _entry_of(request)
        examined = await _examine(entry, password)
        tested = examined_database(examined)
        if not tested.works:
            return SetUpReply(problem="invalid", detail=tested.cause, tested=tested)
        decided = {"personal": list(request.hidden), "not_personal": list(request.shown)}
        entry |= {key: value for key, value in decided.items() if value}
        await asyncio.to_thread(add_connection, self._file, entry, password)
        return SetUpReply(name=str(entry["name"]), tested=tested)


async def _examine(entry: Mapping[str, Any], password: str | None) -> Examination:
    # Loaded by the first request: it brings the clients of every server.
    from querybus_executor.connections.set_up.examine import examine

    return await examine(entry, password)


def _entry_of(request: SetUpRequest) -> tuple[dict[str, Any], str | None]:
    """Return the entry without a password, and the password that was given for it or stands in its URL."""
    address = read_address(request.url)
    if address.is_file and not Path(str(address.url.database)).exists():
        raise BadConnections(f"there is no file or folder {address.url.database} on the machine of the executor")
    url = address.url.set(password=None).render_as_string(hide_password=False)
    entry: dict[str, Any] = {"name": request.name or name_of_database(url), "url": url}
    return entry, request.password or address.url.password


def examined_database(examined: Examination) -> ExaminedDatabase:
    """Return an examination as it travels."""
    finding, catalog = examined.finding, examined.catalog
    first = examined.counted[0] if examined.counted else None
    return ExaminedDatabase(
        name=finding.name,
        works=finding.trouble is None and catalog is not None,
        dialect=finding.dialect.value if finding.dialect is not None else "",
        tables=finding.tables,
        steps=tuple(
            ExaminedStep(name=step.name.value, state=step.state.value, detail=step.detail) for step in finding.steps
        ),
        cause="" if finding.trouble is None else finding.detail,
        setting=finding.setting,
        statements=(*finding.missing, *finding.reader),
        warnings=(*finding.warnings, *finding.notes),
        personal=tuple(
            PersonalLook(column=item.key, kind="person_name" if item.kind == "name" else "contact", reason=item.reason)
            for item in examined.personal
        ),
        readable_share=examined.readable_share,
        question=first.question if first else "",
        question_rows=first.rows if first else None,
    )
