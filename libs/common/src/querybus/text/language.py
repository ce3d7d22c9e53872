"""Which of the two languages a text is written in: Chinese as soon as it holds a Han character, else English."""

from __future__ import annotations

import re

from querybus.core.catalog import Language

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def detect_language(text: str) -> Language:
    """Return the language in which a question is to be answered.

    >>> detect_language("有多少 customers?")
    'zh'
    >>> detect_language("How many customers are there?")
    'en'
    """
    return "zh" if _HAN.search(text) else "en"
