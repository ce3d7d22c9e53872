"""The built-in translator: a question in English or Chinese becomes SQL without a model, or says what it could not read."""

from querybus_translator.translation import NotRead, Translated, translate, translate_in_thread

__all__ = ["NotRead", "Translated", "translate", "translate_in_thread"]
