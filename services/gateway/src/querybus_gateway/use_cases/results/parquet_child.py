"""The child that makes Parquet of an Arrow stream: from standard input to standard output, a group of rows at a time.

It ends by itself when its parent does. The writer is a library of its own process: what it takes in memory ends with it.
"""

from __future__ import annotations

import sys

ROW_GROUP_ROWS_MAX = 131_072


def main() -> None:
    """Read an Arrow IPC stream, write Parquet with the same types and the same metadata of columns."""
    from arro3.io import read_ipc_stream, write_parquet

    stream = read_ipc_stream(sys.stdin.buffer)
    write_parquet(stream, sys.stdout.buffer, compression="snappy", max_row_group_size=ROW_GROUP_ROWS_MAX)


if __name__ == "__main__":
    main()
