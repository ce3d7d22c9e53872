"""ClickHouse's HTTP interface in front of chdb, ClickHouse's own engine in this process: what tests run the edge against.

Real: parser, settings, `readonly`, execution, limits, formats, error codes and texts. Not real: users and grants, the
server's network, and KILL QUERY, which ends a statement here between two blocks. Every request has a session of its
own with the settings of its URL, and `GET /asked` lists what came. Started as `clickhouse_over_chdb.py PORT FOLDER`.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from chdb import session

_OF_HTTP: Final = frozenset(
    {"database", "query", "query_id", "session_id", "default_format", "user", "password", "client_protocol_version",
     "wait_end_of_query", "compress", "role", "cancel_http_readonly_queries_on_client_close", "max_http_get_redirects",
     "http_headers_progress_interval_ms", "send_progress_in_http_headers", "enable_http_compression"}
)  # fmt: skip
_KILL: Final = re.compile(r"KILL QUERY WHERE query_id = '([\w-]+)'")


def _blocks(opened: session.Session, sql: str) -> Iterator[bytes]:
    """Return the output of a statement; a query's comes block by block."""
    try:
        result = opened.send_query(sql, "TabSeparated")
    # The package's two halves each bring an error of that name; which one is imported depends on how they were installed.
    except Exception as error:
        if "Streaming query is not supported" not in str(error):
            raise
        data = opened.query(sql, "TabSeparated").bytes()
        if data:
            yield data
        return
    with contextlib.closing(result):
        for block in result:
            yield block.bytes()


class Interface(BaseHTTPRequestHandler):
    """One request: settings, then one statement."""

    protocol_version = "HTTP/1.1"
    folder = ""
    asked: Final[list[dict[str, str]]] = []
    running: Final[dict[str, threading.Event]] = {}
    opening: Final = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class's name

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/asked":
            self._send(200, json.dumps(self.asked).encode())
        elif path.path == "/ping":
            self._send(200, b"Ok.\n")
        else:
            self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

    def _answer(self, body: str) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        sql = f"{given.get('query', '')}\n{body}".strip() if given.get("query") else body.strip()
        name = given.get("query_id", "")
        self.asked.append({"query_id": name, "sql": sql, "settings": json.dumps(given)})
        kill = _KILL.match(sql)
        if kill is not None:
            event = self.running.get(kill[1])
            if event is not None:
                event.set()
            self._send(200, b"")
            return
        ended = self.running.setdefault(name, threading.Event())
        started = False
        try:
            with self.opening:
                opened = session.Session(self.folder)
            opened.query(f"USE `{given.get('database') or 'default'}`")
            settings = {key: value for key, value in given.items() if key not in _OF_HTTP}
            ordered = sorted(settings.items(), key=lambda item: item[0] == "readonly")
            for key, value in ordered:
                opened.query(f"SET {key} = '{value}'")
            for data in _blocks(opened, sql):
                if not started:
                    self._head()
                    started = True
                if ended.is_set():
                    self._chunk(b"Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)")
                    self.close_connection = True
                    return
                self._chunk(data)
            if not started:
                self._head()
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 - whatever the engine says goes to the client
            said = str(error)
            text = f"{said[max(0, said.find('Code: ')) :]} (version 26.9.2.1 (official build))\n".encode()
            code = re.search(r"Code: (\d+)", said)
            if started:
                with contextlib.suppress(OSError):
                    self._chunk(text)
                self.close_connection = True
            else:
                self._send(500, text, {"X-ClickHouse-Exception-Code": code[1] if code else "0"})
        finally:
            self.running.pop(name, None)

    def _head(self) -> None:
        self.send_response(200)
        self.send_header("X-ClickHouse-Summary", "{}")
        self.send_header("X-ClickHouse-Timezone", "UTC")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("X-ClickHouse-Timezone", "UTC")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    """Serve until killed."""
    Interface.folder = sys.argv[2]
    kept = session.Session(Interface.folder)
    kept.query("SELECT 1")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Interface).serve_forever()


if __name__ == "__main__":
    main()
