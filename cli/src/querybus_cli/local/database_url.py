"""What `--database` takes: any address that a connections file takes, or the path of a file or folder that is there."""

from __future__ import annotations

from pathlib import Path


def database_url(text: str) -> str:
    """Return the URL of a database that is named by its address or its file; ValueError says what is wrong."""
    # Loaded at first use: most questions bring no database.
    from querybus_executor.connections.addresses.local import read_address

    address = read_address(text)
    if address.is_file and not Path(str(address.url.database)).exists():
        raise ValueError(
            f"there is no database file {text}; --database takes a file, a folder or a URL such as postgresql://host/name"
        )
    return address.text
