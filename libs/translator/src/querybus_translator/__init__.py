"""The built-in translator: a question in English or Chinese becomes SQL without a model, or says what it could not read."""

from querybus_translator.changes import translate_change
from querybus_translator.definitions.refine import refine_defined
from querybus_translator.refine import CannotRefineError, refine
from querybus_translator.threads.complete import is_complete, is_fragment
from querybus_translator.translation import NotRead, Translated, likely_sql, translate, translate_in_thread

__all__ = [
    "CannotRefineError",
    "NotRead",
    "Translated",
    "is_complete",
    "is_fragment",
    "likely_sql",
    "refine",
    "refine_defined",
    "translate",
    "translate_change",
    "translate_in_thread",
]
