"""What the presenter reads at start."""

from __future__ import annotations

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
    chart_server_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="a chart server of antvis' kind that is asked by MCP for pictures: the data of charts leaves; empty: none",
    )
