"""Texts of a folder are replaced while a process runs; what cannot be used is refused, and the texts before stay."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from querybus.ops.live_texts import INTERVAL_SECONDS, BadText, LiveTexts, read_text


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def load(folder: Path | None) -> Mapping[str, str]:
    if folder is None:
        return {"greeting": "own"}
    return {"greeting": read_text(folder / "greeting.md", 100)}


def write(file: Path, data: bytes, at: int) -> None:
    file.write_bytes(data)
    os.utime(file, ns=(at, at))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "greeting.md", b"hello", 1)
    return tmp_path


def test_a_changed_text_is_used_after_the_interval(folder: Path) -> None:
    clock = Clock()
    texts = LiveTexts(folder, load, clock=clock)
    assert texts["greeting"] == "hello"
    write(folder / "greeting.md", b"welcome", 2)
    assert texts["greeting"] == "hello", "the folder is not looked at with every use"
    clock.now += INTERVAL_SECONDS
    assert texts["greeting"] == "welcome"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"one\ntwo \xff", "greeting.md:2: no UTF-8"),
        (b" \n", "greeting.md:1: the text is empty"),
        (b"x" * 101, "101 bytes"),
    ],
)
def test_a_bad_text_is_refused_and_reported_and_the_one_before_stays_until_a_sound_one_comes(
    folder: Path, data: bytes, said: str
) -> None:
    clock, reported = Clock(), list[bool]()
    texts = LiveTexts(folder, load, clock=clock, on_state=reported.append)
    write(folder / "greeting.md", data, 2)
    with pytest.raises(BadText, match=said):
        load(folder)
    clock.now += INTERVAL_SECONDS
    assert (texts["greeting"], reported) == ("hello", [False, True])
    clock.now += INTERVAL_SECONDS
    assert (texts["greeting"], reported) == ("hello", [False, True]), "one change is reported once"
    write(folder / "greeting.md", b"sound", 3)
    clock.now += INTERVAL_SECONDS
    assert (texts["greeting"], reported) == ("sound", [False, True, False])


def test_a_file_that_vanishes_leaves_the_text_before(folder: Path) -> None:
    clock = Clock()
    texts = LiveTexts(folder, load, clock=clock)
    (folder / "greeting.md").unlink()
    clock.now += INTERVAL_SECONDS
    assert texts["greeting"] == "hello"


def test_a_bad_text_at_the_start_ends_it(folder: Path) -> None:
    write(folder / "greeting.md", b"", 2)
    with pytest.raises(BadText):
        LiveTexts(folder, load)


def test_without_a_folder_the_own_texts_hold() -> None:
    texts = LiveTexts(None, load)
    assert (dict(texts), len(texts)) == ({"greeting": "own"}, 1)
