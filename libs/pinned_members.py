"""Build hook of every member: its wheel requires the other members in its own version, so that no two versions mix."""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PinnedMembers(MetadataHookInterface):
    """Adds `==<version>` to each requirement that is a member."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Change the requirements of a project's metadata in place."""
        optional: dict[str, list[str]] = metadata.get("optional-dependencies", {})
        for requirements in (metadata.get("dependencies", []), *optional.values()):
            requirements[:] = [
                f"{item}=={metadata['version']}" if item.startswith("querybus") else item for item in requirements
            ]
