"""Is a question written in a language that the built-in translator cannot read? English and Chinese it can.

Decided by script, and for Latin script by function words; unsure means readable, because names and values of a
database come in any language.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_FOREIGN_SCRIPTS: Final = (
    "HIRAGANA", "KATAKANA", "HANGUL", "CYRILLIC", "ARABIC", "GREEK", "HEBREW", "THAI", "DEVANAGARI", "ARMENIAN",
    "GEORGIAN", "BENGALI", "TAMIL", "KHMER", "LAO", "MYANMAR", "ETHIOPIC",
)  # fmt: skip
_FOREIGN_SHARE_MIN: Final = 0.3

_ENGLISH_WORDS = (
    "how many what which who whose when where the of in is are was were list show find give count for each with "
    "and by all have has had do does did than that most least per from between to total average number names "
    "name their"
)
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
# French, Spanish, Portuguese, Italian, German, Dutch: words that ask, and no English word among them.
_ASKING_WORDS = (
    "combien quels quelle quelles quel montre montrez affiche affichez liste-moi cuantos cuántos cuantas "
    "cuántas cuales cuáles cuál muestra muéstrame lista-me quantos quantas quais mostre quanti quante quali "
    "mostra mostrami wieviel wieviele welche welcher welches zeige liste hoeveel welke toon"
)
_ASKING: Final = frozenset(_ASKING_WORDS.split())
_FUNCTION_WORDS = (
    "les des est sont dans avec pour une chaque ont qui que y-a-t-il il-y-a los las del hay cada con por para "
    "una tienen existem são dos das uma com gli della dei delle ogni sono und ist sind gibt es der wie viele "
    "von mit für jede jeder nicht haben er zijn het een met voor elke"
)
_FUNCTION: Final = frozenset(_FUNCTION_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def is_third_language(question: str) -> bool:
    """Return whether the question is clearly in neither English nor Chinese.

    >>> [is_third_language(each) for each in ("Combien de clients y a-t-il ?", "顧客は何人いますか", "How many in Los Angeles?")]
    [True, True, False]
    """
    letters = [item for item in question if item.isalpha()]
    if not letters:
        return False
    foreign = sum(1 for letter in letters if unicodedata.name(letter, "").startswith(_FOREIGN_SCRIPTS))
    if foreign / len(letters) >= _FOREIGN_SHARE_MIN:
        return True
    if any("CJK" in unicodedata.name(letter, "") for letter in letters):
        return False
    words = [result[0].casefold() for result in _WORD.finditer(question)]
    english = sum(1 for word in words if word in _ENGLISH)
    foreign_words = sum(2 if word in _ASKING else 1 for word in words if word in _ASKING or word in _FUNCTION)
    return foreign_words >= 2 and foreign_words > english
