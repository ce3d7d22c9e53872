"""The one API to the picture renderer: a chart's specification becomes PNG or SVG in a child process."""

from __future__ import annotations

from querybus.picture.child import has_chinese_font
from querybus.picture.pictures import FONT, NO_FONT_FACTS, PictureForm, Pictures

__all__ = ["FONT", "NO_FONT_FACTS", "PictureForm", "Pictures", "has_chinese_font"]
