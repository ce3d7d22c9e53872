"""A stream that takes nothing more, as where the disk below it is full."""

from __future__ import annotations

from dataclasses import replace

from querybus.core.topology import Topology


def without_space(table: Topology, name: str, bytes_max: int) -> Topology:
    """Return the table with a stream that refuses what is beyond so many bytes, instead of forgetting its oldest."""
    streams = tuple(
        replace(stream, max_bytes=bytes_max, discard="new") if stream.name == name else stream
        for stream in table.streams
    )
    return replace(table, streams=streams)
