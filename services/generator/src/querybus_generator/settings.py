"""What the generator reads at start: the model's address, if any, and where its texts may be replaced."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from querybus.llm import EmbeddingServiceSettings
from querybus_generator.linking.index import SCHEMA_TOKENS_MAX


class Settings(EmbeddingServiceSettings):
    """The settings of the generator."""

    definitions: dict[str, str] = Field(
        default={}, description="words that otherwise are asked about -> what they mean, on every connection"
    )
    schema_tokens_max: int = Field(
        default=SCHEMA_TOKENS_MAX,
        ge=500,
        description="about how many tokens of a prompt the schema may take; a larger one is shown in part",
    )
    hints: bool = Field(default=False, description="show a model what the built-in translator reads in the question")
    prompts_directory: Path | None = Field(
        default=None, description="files here replace the texts of the same name, e.g. system.en.md"
    )
