"""Text files in other encodings than UTF-8, as spreadsheets of Windows and older systems write them, as UTF-8.

A byte order mark decides; without one a file that is no UTF-8 is looked at by charset-normalizer, among the encodings that
tables come in. DuckDB's own reader of encodings is an extension that would be downloaded at run time.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

CHUNK_BYTES: Final = 1 << 20
SAMPLE_BYTES: Final = 256 << 10
ENCODINGS: Final = (
    "cp1252",
    "gb18030",
    "big5",
    "shift_jis",
    "euc_jp",
    "euc_kr",
    "cp1251",
    "cp1250",
    "cp1253",
    "cp1254",
)
"""The likeliest first: where two fit alike it counts."""
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def utf8_file(path: str, folder: Path) -> str:
    """Return the path of a file that holds the same text as UTF-8: the file itself where it does, else a copy in `folder`.

    ValueError where no encoding fits; it names what to do.
    """
    if Path(path).suffix.lower() == ".zst":
        # Only DuckDB unpacks it; what it holds is UTF-8 or listed as unread.
        return path
    encoding = encoding_of(path)
    if encoding in ("utf-8", "utf-8-sig"):
        return path
    target = folder / f"{len(list(folder.iterdir()))}-{Path(path).name.removesuffix('.gz')}"
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with target.open("w", encoding="utf-8", newline="") as out:
            for chunk in _chunks(path):
                out.write(decoder.decode(chunk))
            out.write(decoder.decode(b"", final=True))
    except UnicodeDecodeError:
        raise ValueError(f"its text looks like {encoding} and is not: save it as UTF-8") from None
    return str(target)


def encoding_of(path: str) -> str:
    """Return the encoding of a text file; ValueError where none of those that tables come in fits."""
    with _opened(path) as file:
        head = file.read(len(codecs.BOM_UTF8))
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = _not_utf8(path)
    if sample is None:
        return "utf-8"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(ENCODINGS)).best()
    if best is None:
        raise ValueError("its text is neither UTF-8 nor in an encoding that is known here: save it as UTF-8")
    # The letters of Windows-1252 and its neighbours are the same signs in a short text: the commonest of them is meant.
    likely = [name for name in ENCODINGS if name in (best.encoding, *best.could_be_from_charset)]
    return likely[0] if likely else best.encoding


def _not_utf8(path: str) -> bytes | None:
    """Return some of the file from shortly before its first byte that is no UTF-8; None where all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for chunk in _chunks(path):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            # Begun at a line, so that no sign of several bytes is cut.
            start = chunk.rfind(b"\n", 0, max(0, error.start - SAMPLE_BYTES // 2)) + 1
            return chunk[start : start + SAMPLE_BYTES]
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return next(_chunks(path))[-SAMPLE_BYTES:]
    return None


def _chunks(path: str) -> Iterator[bytes]:
    with _opened(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _opened(path: str) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.lower().endswith(".gz") else Path(path).open("rb")
