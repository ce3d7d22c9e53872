"""The child that draws: one request at a time on standard input, the picture on standard output.

It ends by itself when its parent does. It opens no address: data stands in the specification, and a specification
that names one was refused before. Frames are a four-byte length and the bytes.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

from querybus.ops.sandbox import enter_sandbox, offered_walls

LENGTH: Final = struct.Struct(">I")
DRAWN: Final = b"+"
REFUSED: Final = b"-"
NO_FONT: Final = b"?"
"""No font of this machine has the Chinese signs of a picture: it would show boxes."""
REASON_LENGTH_MAX: Final = 300
_FONTS: Final = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/etc/fonts",
    "/usr/share/fontconfig",
    "/var/cache/fontconfig",
)
_FONTS_OF_USER: Final = (".fonts", ".local/share/fonts")
_FONT_FOLDER: Final = re.compile(r"<dir[^>]*>\s*(/[^<]+?)\s*</dir>")
_CONFIGURATION_BYTES_MAX: Final = 1_000_000
_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
SCALE: Final = 2.0
"""Pixels for each point of the specification: sharp on today's screens."""


def read_frame(source: BinaryIO) -> bytes | None:
    """Return the next frame, or None at the end."""
    head = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def has_chinese_font(families: str) -> bool:
    """Return whether Chinese signs are drawn as signs here: without a font for them, any two are the same box."""
    import vl_convert

    frame = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        f'<text x="2" y="30" font-size="24" font-family="{families}">{{}}</text></svg>'
    )
    one, other = (vl_convert.svg_to_png(frame.format(sign)) for sign in "中文")
    return one != other


def draw(request: dict[str, Any]) -> bytes:
    """Return one picture; raises whatever the renderer raises."""
    import vl_convert  # the renderer takes a moment to load, and only a child that draws needs it

    if request["form"] == "svg":
        svg = vl_convert.vegalite_to_svg(request["spec"], config=request["config"], allowed_base_urls=[])
        return svg.encode()
    return vl_convert.vegalite_to_png(request["spec"], config=request["config"], scale=SCALE, allowed_base_urls=[])


def shut_in() -> None:
    """Give up the network, other programs and every file but fonts and the program itself."""
    home = os.environ.get("HOME")
    of_user = () if not home else (f"{home}/{folder}" for folder in _FONTS_OF_USER)
    enter_sandbox(offered_walls(), reads=(*_FONTS, *of_user, *_configured_fonts()))


def _configured_fonts() -> tuple[str, ...]:
    """Return the operator's own description of fonts, where FONTCONFIG_FILE names one, and the folders that it lists."""
    file = Path(os.environ.get("FONTCONFIG_FILE") or "/")
    if not file.is_file():
        return ()
    with file.open(encoding="utf-8", errors="replace") as text:
        return (str(file), *_FONT_FOLDER.findall(text.read(_CONFIGURATION_BYTES_MAX)))


def main() -> None:
    """Draw until the parent closes the pipe."""
    shut_in()
    is_covered: bool | None = None
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while (data := read_frame(source)) is not None:
        try:
            request = json.loads(data)
            has_chinese = request["form"] == "png" and _CHINESE.search(data.decode()) is not None
            if has_chinese and is_covered is None:
                is_covered = has_chinese_font(request["config"]["font"])
            answer = NO_FONT if has_chinese and not is_covered else DRAWN + draw(request)
        except Exception as error:  # noqa: BLE001 - whatever a specification provokes is the parent's to report
            answer = REFUSED + str(error)[:REASON_LENGTH_MAX].encode("utf-8", "replace")
        target.write(LENGTH.pack(len(answer)) + answer)
        target.flush()


if __name__ == "__main__":
    main()
