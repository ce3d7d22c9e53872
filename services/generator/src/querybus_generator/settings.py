"""What the generator reads at start: the model's address, if any, and where its texts may be replaced."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

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
    tokens_per_question: int = Field(
        default=0, ge=0, description="of models, for one question with all its drafts; 0: no limit"
    )
    cost_per_question: float = Field(
        default=0.0, ge=0, description="the same in the unit of the models' prices; 0: no limit"
    )
    hints: bool = Field(default=False, description="show a model what the built-in translator reads in the question")
    models_editable: bool | None = Field(
        default=None,
        description="owners may list, test and save chat models at the page; default: in development only",
    )
    prompts_directory: Path | None = Field(
        default=None, description="files here replace the texts of the same name, e.g. system.en.md"
    )

    @property
    def allows_model_set_up(self) -> bool:
        """Whether owners may look at models and save one through the gateway."""
        return self.environment == "development" if self.models_editable is None else self.models_editable

    @model_validator(mode="after")
    def require_numpy(self) -> Self:
        """Return the settings; ValueError where an embeddings model is set and its extra is not installed."""
        if self.embeddings_base_url and find_spec("numpy") is None:
            raise ValueError(
                "QUERYBUS_EMBEDDINGS_BASE_URL is set and numpy is missing: pip install 'querybus[embeddings]'"
            )
        return self
