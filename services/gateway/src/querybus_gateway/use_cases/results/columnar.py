"""A whole result as an Arrow stream or as Parquet, with the types that its pages have.

Where types differ between pages, a column travels as JSON text (`querybus.json` in its metadata).
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Final

from querybus.bus.stores.pages import Batch, Field, StreamWriter, read_batches
from querybus.bus.stores.pages import cells_of as cells_of_batch
from querybus.ops.log import get_log
from querybus.text.rows.arrow_columns import JSON, TEXT, ArrowColumn, column_of_values, empty_column
from querybus_gateway.public.redaction import public_columns
from querybus_gateway.use_cases.results.pages import Export

PARQUET_CHILD: Final = "querybus_gateway.use_cases.results.parquet_child"
_CHUNK_BYTES: Final = 256 << 10
_ERROR_LENGTH_MAX: Final = 2_000
_LABEL: Final = b"querybus.label"
_log = get_log(__name__)


class ParquetFailed(Exception):
    """The child that writes Parquet ended before the file was whole."""


async def arrow_stream(export: Export, names: Sequence[str]) -> AsyncGenerator[bytes]:
    """Return the result as an Arrow IPC stream, a chunk a page, under these names of its columns."""
    fields = await _fields(export, names)
    sink = io.BytesIO()
    writer = StreamWriter(sink, fields)
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            for batch in read_batches(data)[1]:
                if fields:
                    columns = [_as_field(batch, index, field) for index, field in enumerate(fields)]
                    writer.write(columns, batch.num_rows)
            yield _drain(sink)
    writer.close()
    yield _drain(sink)


async def parquet_stream(export: Export, names: Sequence[str]) -> AsyncGenerator[bytes]:
    """Return the same as Parquet, made by a child process; raises ParquetFailed where that ends early."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        PARQUET_CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: os.environ[name] for name in ("PATH", "LANG", "HOME", "TMPDIR") if name in os.environ},
    )
    assert process.stdout is not None  # noqa: S101 - both are pipes
    assert process.stderr is not None  # noqa: S101
    feeding = asyncio.create_task(_feed(export, names, process))
    complaint = asyncio.create_task(process.stderr.read())
    try:
        while chunk := await process.stdout.read(_CHUNK_BYTES):
            yield chunk
        await feeding
        if await process.wait():
            reason = (await complaint).decode("utf-8", "replace")
            _log.error("export.parquet_failed", reason=reason[-_ERROR_LENGTH_MAX:])
            raise ParquetFailed(f"the Parquet writer ended with code {process.returncode}")
    finally:
        for task in (feeding, complaint):
            task.cancel()
        await asyncio.gather(feeding, complaint, return_exceptions=True)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _feed(export: Export, names: Sequence[str], process: asyncio.subprocess.Process) -> None:
    into = process.stdin
    assert into is not None  # noqa: S101 - it is a pipe
    try:
        async with aclosing(arrow_stream(export, names)) as chunks:
            async for chunk in chunks:
                into.write(chunk)
                await into.drain()
    except ConnectionError:
        # The child has ended; its code says why.
        return
    except BaseException:
        # A child that met the end of its input would end the file, which then looked whole.
        with suppress(ProcessLookupError):
            process.kill()
        raise
    into.close()


async def _fields(export: Export, names: Sequence[str]) -> list[Field]:
    """Return what each column is, under the name that the reader may see.

    It takes a pass over the pages of its own: an Arrow stream says its schema first and cannot change it.
    """
    columns = public_columns(export.answer, export.audience)
    kinds: list[dict[tuple[str, str], Field]] = [{} for _ in columns]
    async with aclosing(export.pages()) as pages:
        async for data in pages:
            for batch in read_batches(data)[1]:
                for index, column in enumerate(batch.columns):
                    if not column.has_only_null:
                        kinds[index][column.kind, column.mark] = batch.fields[index]
    fields: list[Field] = []
    for name, column, found in zip(names, columns, kinds, strict=True):
        # Nothing but NULL has any type.
        kind, mark = next(iter(found)) if len(found) == 1 else (TEXT, JSON if found else "")
        metadata = {_LABEL: str(column["label"]).encode(), **Field.metadata_of_mark(mark)}
        fields.append(Field(name, kind, metadata))
    return fields


def _as_field(batch: Batch, index: int, field: Field) -> ArrowColumn:
    """Return a page's column as the whole result's field says."""
    column = batch.columns[index]
    if column.has_only_null:
        return empty_column(field.kind, batch.num_rows)
    if (column.kind, column.mark) == (field.kind, field.mark):
        return column
    cells = (row[index] for row in cells_of_batch(batch))
    return column_of_values([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in cells])


def _drain(sink: io.BytesIO) -> bytes:
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data
