"""The part of an English word that its forms share."""

import re
from functools import lru_cache

from memory.text.intentions.verbs import BASES

SHORTEST = 3
ENDINGS = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
# What ends in these has no such ending: "glass", "exceed", "agrees".
WHOLE = {"s": ("ss", "us", "is"), "ed": ("eed",), "es": ("ees",)}
# Others would be taken for another word.
UNCUT = {"note": "note", "notes": "note", "customs": "customs", "goods": "goods"}
VOWEL = re.compile(r"[aeiouy]")


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The part of an English word that its forms share: clears, cleared and clear are one."""
    if word in BASES:
        return _short(BASES[word])
    if len(word) <= SHORTEST or not word.isalpha():
        return word
    return UNCUT.get(word) or _short(word)


def _short(word: str) -> str:
    for ending, instead in ENDINGS:
        if word.endswith(ending) and not (ending in WHOLE and word.endswith(WHOLE[ending])):
            root = word[: -len(ending)] + instead
            if len(root) >= SHORTEST and VOWEL.search(root):
                word = root
                break
            if (
                len(root) == SHORTEST - 1
                and ending in ("ing", "ed")
                and VOWEL.search(root)
                and not word.endswith("ied")
            ):
                word = root + "e"  # "used", "owing"
                break
    if len(word) > SHORTEST and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > SHORTEST and word.endswith("e") else word
