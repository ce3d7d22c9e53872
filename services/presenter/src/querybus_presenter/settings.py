"""What the presenter reads at start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from querybus.llm import ModelServiceSettings

SUMMARY_SECONDS_MAX: Final = 8.0
"""How long an answer waits for a model's words of its summary, or for its picture."""


class Settings(ModelServiceSettings):
    """The settings of the presenter; every summary is made by rule unless `summary_by_model`."""

    summary_by_model: bool = Field(
        default=False, description="a model words summaries, one more call for each answer; what it says is checked"
    )
    prompts_directory: Path | None = Field(
        default=None, description="`summary.en.md` and `summary.zh.md` here replace what a model is asked for summaries"
    )
    chart_server_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="a chart server of antvis' kind that is asked by MCP for pictures: the data of charts leaves; empty: none",
    )
