"""Pictures are drawn in a child that can be killed, without any network, Chinese included."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from querybus.core.failure import Failure, FailureCode
from querybus.picture import PictureForm, Pictures

FC_LIST = shutil.which("fc-list")
CHART = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "data": {"values": [{"城市": "上海", "订单数": 12}, {"城市": "里昂", "订单数": 30}]},
    "mark": "bar",
    "encoding": {"x": {"field": "城市", "type": "nominal"}, "y": {"field": "订单数", "type": "quantitative"}},
}


def size_of(png: bytes) -> tuple[int, int]:
    return struct.unpack(">II", png[16:24])


@pytest.mark.slow
async def test_one_child_draws_png_and_svg_and_goes_when_it_is_drained() -> None:
    pictures = Pictures(seconds_max=60)
    assert pictures.pid is None, "nothing runs before the first picture"
    png = await pictures.draw(CHART, PictureForm.PNG)
    first = pictures.pid
    svg = await pictures.draw(CHART, PictureForm.SVG)
    try:
        assert isinstance(png, bytes)
        assert png.startswith(b"\x89PNG")
        assert min(size_of(png)) > 100
        assert isinstance(svg, bytes)
        assert "上海" in svg.decode()
        assert pictures.pid == first
    finally:
        await pictures.drain()
    assert pictures.pid is None


async def test_without_a_font_that_has_chinese_signs_a_png_is_refused_and_the_svg_is_given(
    tmp_path: Path,
) -> None:
    fonts = tmp_path / "fonts.conf"
    fonts.write_text(f'<?xml version="1.0"?><fontconfig><dir>{tmp_path}</dir></fontconfig>')
    pictures = Pictures(
        command=("env", f"FONTCONFIG_FILE={fonts}", sys.executable, "-m", "querybus.picture.child"), seconds_max=60
    )
    try:
        refused = await pictures.draw(CHART, PictureForm.PNG)
        assert isinstance(refused, Failure)
        assert refused.facts.rule == "no_font"
        svg = await pictures.draw(CHART, PictureForm.SVG)
        assert isinstance(svg, bytes)
        assert "上海" in svg.decode()
        plain = {
            "data": {"values": [{"n": 1}]},
            "mark": "bar",
            "encoding": {"x": {"field": "n", "type": "quantitative"}},
        }
        assert isinstance(await pictures.draw(plain, PictureForm.PNG), bytes), (
            "a picture without them needs no such font"
        )
    finally:
        await pictures.drain()


@pytest.mark.servers
async def test_chinese_signs_are_drawn_as_signs_and_not_as_boxes() -> None:
    fonts = subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True, check=False) if FC_LIST else None
    if fonts is None or not fonts.stdout:
        if os.environ.get("CI") == "true":
            pytest.fail("no font with Chinese signs: apt-get install fonts-wqy-microhei")
        pytest.skip("needs a font with Chinese signs (Debian: fonts-wqy-microhei) and fc-list (fontconfig)")
    pictures = Pictures(seconds_max=60)
    try:
        drawn = [await pictures.draw(CHART | {"title": sign}, PictureForm.PNG) for sign in ("海", "州", "海")]
    finally:
        await pictures.drain()
    # Without a font every sign is the same box.
    assert drawn[0] != drawn[1]
    assert drawn[0] == drawn[2]


@pytest.mark.slow
async def test_what_cannot_be_drawn_is_a_failure_and_the_child_lives_on() -> None:
    pictures = Pictures(seconds_max=60)
    try:
        wrong = await pictures.draw({"mark": "nothing", "data": {"values": []}}, PictureForm.SVG)
        assert isinstance(wrong, Failure)
        assert wrong.code is FailureCode.INTERNAL
        assert isinstance(await pictures.draw(CHART, PictureForm.SVG), bytes)
    finally:
        await pictures.drain()


@pytest.mark.parametrize(
    "spec",
    [
        {"data": {"url": "http://127.0.0.1:9/rows.json"}, "mark": "bar"},
        {"data": {"values": []}, "mark": {"type": "image", "url": "http://127.0.0.1:9/x.png"}},
        {"data": {"values": []}, "mark": "point", "encoding": {"href": {"field": "link"}}},
        {"layer": [{"mark": "bar"}, {"data": {"url": "file:///etc/passwd"}}]},
    ],
    ids=["rows", "image", "link", "layer"],
)
async def test_a_specification_that_names_an_address_is_not_drawn(spec: dict[str, object]) -> None:
    pictures = Pictures()
    refused = await pictures.draw(spec, PictureForm.PNG)
    assert isinstance(refused, Failure)
    assert refused.code is FailureCode.SAFETY
    assert pictures.pid is None


async def test_a_cell_called_url_is_drawn_and_not_followed() -> None:
    pictures = Pictures(command=child("print_back"))
    spec = CHART | {"data": {"values": [{"url": "http://127.0.0.1:9/x", "n": 1}]}}
    try:
        assert isinstance(await pictures.draw(spec, PictureForm.SVG), bytes)
    finally:
        await pictures.drain()


async def test_a_child_that_draws_for_ever_is_killed_and_the_next_picture_gets_a_new_one() -> None:
    pictures = Pictures(command=child("sleep"), seconds_max=0.5)
    late = await pictures.draw(CHART, PictureForm.PNG)
    assert isinstance(late, Failure)
    assert late.code is FailureCode.TIMEOUT
    assert pictures.pid is None


async def test_a_child_that_dies_is_a_failure_and_is_replaced() -> None:
    pictures = Pictures(command=child("die"))
    for _ in range(2):
        dead = await pictures.draw(CHART, PictureForm.PNG)
        assert isinstance(dead, Failure)
        assert dead.code is FailureCode.INTERNAL


async def test_an_idle_child_goes_by_itself() -> None:
    pictures = Pictures(command=child("print_back"), idle_seconds_max=0.1)
    assert isinstance(await pictures.draw(CHART, PictureForm.SVG), bytes)
    pid = pictures.pid
    assert pid is not None
    async with asyncio.timeout(60):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text():
            await asyncio.sleep(0.05)


async def test_a_specification_has_a_size_limit() -> None:
    large = CHART | {"data": {"values": [{"a": "x" * 1_000, "b": 1}] * 1_000}}
    refused = await Pictures().draw(large, PictureForm.PNG)
    assert isinstance(refused, Failure)
    assert refused.code is FailureCode.RESOURCE_LIMIT


async def test_who_comes_when_too_many_wait_is_informed() -> None:
    pictures = Pictures(command=child("sleep"), seconds_max=600)
    many = [asyncio.create_task(pictures.draw(CHART, PictureForm.PNG)) for _ in range(20)]
    # None of the others can end: the child sleeps for a minute.
    async with asyncio.timeout(50):
        while sum(task.done() for task in many) < 4:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert sum(task.done() for task in many) == 4
    for task in many:
        task.cancel()
    await asyncio.gather(*many, return_exceptions=True)
    await pictures.drain()


def test_the_child_ends_with_its_parent() -> None:
    ended = subprocess.run([sys.executable, "-m", "querybus.picture.child"], input=b"", timeout=30, check=True)
    assert ended.returncode == 0


def child(kind: str) -> tuple[str, ...]:
    """Return the command of a small stand-in that reads one frame and then sleeps, dies or answers."""
    act = {
        "sleep": "import time; time.sleep(60)",
        "die": "raise SystemExit(3)",
        "print_back": "sys.stdout.buffer.write(struct.pack('>I', 4) + b'+svg'); sys.stdout.flush()",
    }[kind]
    loop = "while head := sys.stdin.buffer.read(4):\n sys.stdin.buffer.read(struct.unpack('>I', head)[0])\n "
    return (sys.executable, "-c", f"import struct, sys\n{loop}{act}")
