"""Writes a connections file and its files of secrets: whole or not at all, secrets for their owner alone.

A password never stands in the connections file: it goes to `<file's name>.secrets/<connection>` beside it, mode 600, and the
entry's URL names that file.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from querybus_executor.connections.config import BadConnections
from querybus_executor.connections.set_up.file_text import add_entry, entries_of, remove_entry, set_value

_LOGIN: Final = re.compile(
    r"(?P<head>[A-Za-z][\w+.-]*://)(?P<user>[^:@/?#]*)(?::(?P<password>(?:\$\{[^}]*\}|[^@/])*))?@(?P<rest>.*)",
    re.DOTALL,
)
_FILE: Final = re.compile(r"\$\{file:(?P<path>[^}]+)\}")
_VARIABLE: Final = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)\}")
NAME: Final = re.compile(r"[\w.-]{1,64}")
_OWNER_ONLY: Final = 0o600


def add_connection(file: Path, entry: Mapping[str, Any], password: str | None = None) -> None:
    """Add an entry; a password, given or in its URL, goes to a file of secrets. BadConnections says what is in the way."""
    name = str(entry["name"])
    _must_be_name(name)
    url, found = split_password(str(entry["url"]))
    secret = password if password is not None else found
    text = _text_of(file)
    # Refused before a secret is written that nobody would need.
    changed = add_entry(text, {**entry, "url": with_secret(url, secret_file(file, name)) if secret else url})
    if secret:
        write_secret(secret_file(file, name), secret)
    write_whole(file, changed)


def remove_connection(file: Path, name: str) -> None:
    """Remove an entry and the secret that it alone uses; BadConnections where there is none of the name."""
    text = _text_of(file)
    changed = remove_entry(text, name)
    write_whole(file, changed)
    secret = secret_file(file, name)
    if str(secret) not in changed:
        with contextlib.suppress(OSError):
            secret.unlink()


def rename_connection(file: Path, name: str, new_name: str) -> None:
    """Give an entry another name; its secret stays where it is. BadConnections where the new name is taken."""
    _must_be_name(new_name)
    text = _text_of(file)
    if any(item.get("name") == new_name for item in entries_of(text)):
        raise BadConnections(f"there is a connection {new_name} already: choose another name")
    write_whole(file, set_value(text, name, "name", new_name))


def set_password(file: Path, name: str, password: str) -> None:
    """Give an entry a new password; BadConnections where its URL takes it from the environment or names no user."""
    text = _text_of(file)
    entry = next((item for item in entries_of(text) if item.get("name") == name), None)
    if entry is None:
        there = ", ".join(str(item.get("name")) for item in entries_of(text)) or "none"
        raise BadConnections(f"there is no connection {name}; there are: {there}")
    login = _LOGIN.fullmatch(str(entry.get("url", "")))
    if login is None or not login["user"]:
        raise BadConnections(f"the URL of {name} names no user: write user@ before the host")
    held = login["password"] or ""
    if variable := _VARIABLE.fullmatch(held):
        raise BadConnections(
            f"the password of {name} is in the environment's variable {variable['name']}: set it there and start again"
        )
    if named := _FILE.fullmatch(held):
        write_secret(Path(named["path"]), password)
        return
    secret = secret_file(file, name)
    changed = set_value(text, name, "url", with_secret(split_password(str(entry["url"]))[0], secret))
    write_secret(secret, password)
    write_whole(file, changed)


def split_password(url: str) -> tuple[str, str | None]:
    """Return a URL without the password that stands in it, and that password; a variable or a file in its place stays.

    >>> split_password("postgresql://ann:p%40ss@h/d")
    ('postgresql://ann@h/d', 'p@ss')
    >>> split_password("postgresql://ann:${PW}@h/d")
    ('postgresql://ann:${PW}@h/d', None)
    """
    login = _LOGIN.fullmatch(url)
    if login is None or not login["password"] or "${" in login["password"]:
        return url, None
    return f"{login['head']}{login['user']}@{login['rest']}", unquote(login["password"])


def with_secret(url: str, secret: Path) -> str:
    """Return a URL whose password is read from a file.

    >>> with_secret("postgresql://ann@h/d", Path("/run/pw"))
    'postgresql://ann:${file:/run/pw}@h/d'
    """
    login = _LOGIN.fullmatch(url)
    if login is None or not login["user"]:
        raise BadConnections("the URL names no user whose password this is: write user@ before the host")
    return f"{login['head']}{login['user']}:${{file:{secret}}}@{login['rest']}"


def name_of_database(url: str) -> str:
    """Return what a connection is called after its database.

    >>> name_of_database("postgresql://ann@h/sales"), name_of_database("sqlite:////data/my shop.sqlite"), name_of_database("files:////data/bikes")
    ('sales', 'my-shop', 'bikes')
    """
    path = re.sub(r"^[\w+.-]+://[^/]*", "", url).partition("?")[0]
    name = re.sub(r"[^\w.-]+", "-", Path(path).stem if "/" in path.strip("/") or "." in path else path.strip("/"))
    return name.strip("-.")[:64] or "database"


def secret_file(file: Path, name: str) -> Path:
    """Return where the password of a connection stands."""
    return file.resolve().parent / f"{file.stem}.secrets" / name


def write_secret(path: Path, secret: str) -> None:
    """Write a secret that only this user may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, secret + "\n", mode=_OWNER_ONLY)


def write_whole(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file in one step; whoever reads it meanwhile sees the old one. BadConnections where that is not allowed."""
    target = path.resolve()
    try:
        if mode is None:
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            Path(made).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(made).unlink()
            raise
    except OSError as error:
        raise BadConnections(
            f"{path} cannot be written ({error.strerror}): choose a folder that this user may write"
        ) from error


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadConnections(f"{file.name} cannot be read: {type(error).__name__}") from error


def _must_be_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadConnections(
            f"the name {name[:80]!r} may have letters, digits, '_', '-' and '.' only, at most 64 of them"
        )
