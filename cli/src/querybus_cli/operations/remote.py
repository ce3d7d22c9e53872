"""Asking a running gateway through the Python client: where it is, with which key, and what is reported while it works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from rich.console import Console

from querybus_cli.local.answers import Quick, check, refuse_empty, report, status_of
from querybus_cli.runtime import UsageError, read_json, read_text
from querybus_client import Answer, Client, Conflict, NotFinished, Query, QueryBusError, Unreachable

STORE_KEYS: Final = Path(".querybus/keys.json")
"""Where `querybus up` keeps the keys of this machine, one per audience."""
CANCEL_SECONDS: Final = 20

OnProgress = Callable[[str], None]


def key_of(key: str | None, key_file: Path | None, audience: str) -> str:
    """Return the key to call with; UsageError says how to give one.

    From the option's environment variable, from a file, else what `querybus up` has made in this folder.
    """
    if key:
        return key
    if key_file is not None:
        if not key_file.is_file():
            raise UsageError(f"there is no file {key_file}")
        return read_text(key_file).strip()
    if STORE_KEYS.is_file():
        result = read_json(STORE_KEYS).get(audience)
        if isinstance(result, str):
            return result
    raise UsageError("a gateway needs a key: set QUERYBUS_KEY or say --key-file FILE; `querybus keys` makes one")


def refuse_address(url: str) -> None:
    """Refuse what cannot be the address of a gateway."""
    try:
        is_address = httpx.URL(url).scheme in ("http", "https")
    except httpx.InvalidURL:
        is_address = False
    if not is_address:
        raise UsageError(f"{url!r} is no address of a gateway: say http://127.0.0.1:8080, for instance")


def _client(url: str, key: str) -> Client:
    try:
        return Client(url, key)
    except ValueError as error:
        raise UsageError(str(error)) from error


@contextmanager
def calling(url: str, key: str, audience: str = "analyst") -> Generator[Client]:
    """Give a client, and turn what it meets into a usage error with the gateway's own words.

    An analyst that asks as `business` calls with a token that is no more than that.
    """
    refuse_address(url)
    with ExitStack() as clients:
        try:
            client = clients.enter_context(_client(url, key))
            if audience == "business" and client.me()["audience"] == "analyst":
                client = clients.enter_context(Client(url, client.token(audience="business")))
            yield client
        except Unreachable as error:
            raise UsageError(f"no gateway answers at {url}; `querybus up` runs one ({error})") from error
        except QueryBusError as error:
            raise UsageError(str(error)) from error


def follow(client: Client, query: Query, on_progress: OnProgress) -> Answer:
    """Report the stages of a query while they run and return its answer; Ctrl-C cancels the query and returns that."""
    try:
        for event in client.follow(query.id):
            if event.answer is not None:
                return event.answer
            if event.name == "progress":
                on_progress(str(event.data.get("stage", "")))
    except KeyboardInterrupt:
        on_progress("cancelling")
        try:
            client.cancel(query.id)
        except Conflict:
            # It was concluded before: its own answer is what there is.
            on_progress("it has ended by itself")
        ended = client.query(query.id, wait_seconds=CANCEL_SECONDS)
        if ended.answer is not None:
            return ended.answer
    raise NotFinished(query.id)


def ask_gateway(url: str, key: str | None, key_file: Path | None, quick: Quick, err: Console) -> Mapping[str, Any]:
    """Ask one question of a running gateway and return its public answer; CSV is written where it is wanted."""
    refuse_empty(quick.question)
    check(quick, asks_gateway=True)
    with status_of(err) as status, calling(url, key_of(key, key_file, quick.audience), quick.audience) as client:
        query = client.submit(quick.question, connection=quick.connection, options=options_of(quick.options))
        answer = follow(client, query, lambda stage: report(status, stage))
        if quick.csv_to is not None and answer.columns:
            write_csv(client, answer.query_id)
    return answer.raw


def write_csv(client: Client, query_id: str) -> None:
    """Write the whole result to standard output as CSV."""
    for chunk in client.export(query_id, "csv"):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def options_of(values: Mapping[str, Any]) -> Any:
    """Return the options that were set."""
    return {name: value for name, value in values.items() if value is not None}
