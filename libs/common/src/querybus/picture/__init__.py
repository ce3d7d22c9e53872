"""The one API to the picture renderer: a chart's specification becomes PNG or SVG in a child process."""

from __future__ import annotations

from querybus.picture.pictures import PictureForm, Pictures

__all__ = ["PictureForm", "Pictures"]
