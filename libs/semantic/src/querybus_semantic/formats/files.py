"""Files of any of the four formats become layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from querybus_semantic.formats.cube import read_cube
from querybus_semantic.formats.dbt.read import read_dbt
from querybus_semantic.formats.document import BadFileError, Report, read_documents
from querybus_semantic.formats.ossie import read_ossie
from querybus_semantic.formats.snowflake import read_snowflake
from querybus_semantic.layer.definitions import Layer

Format = Literal["ossie", "dbt", "snowflake", "cube"]


def read_layers(texts: Sequence[str], format_: Format, name: str) -> list[tuple[Layer, Report]]:
    """Return the layers of some files, each with what was not taken. `name` is for formats that name no layer.

    Ossie and Snowflake describe one layer a file, dbt and Cube spread one over several. Unreadable: BadFileError.
    """
    documents = [document for text in texts for document in read_documents(text)]
    if not documents:
        raise BadFileError("No file is given.")
    if format_ == "dbt":
        return [read_dbt(documents, name)]
    if format_ == "cube":
        return [read_cube(documents, name)]
    result: list[tuple[Layer, Report]] = []
    for document, lines in documents:
        result += read_ossie(document, lines) if format_ == "ossie" else [read_snowflake(document, lines)]
    return result
