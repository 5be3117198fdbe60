"""Which words are common English ones, which are none, and which of the latter are a slip of the former.

A slip is a word nobody knows, one keystroke (two in a long word) from a word everybody does. Two common words are never
a slip of each other (payer, payee), two unknown ones neither (Kowalska, Kowalski): those are names. What is common is
looked up in the vocabulary that ``rs-bpe`` carries, the same on every machine and for every corpus.
"""

from functools import cache
from typing import Any

from rs_bpe.bpe import openai

from memory.similarity.words import NAMES, STOP

COMMON, UNKNOWN, OTHER = "common", "unknown", "other"
SHORTEST, LONG = 4, 8
NAME_RATIO = 1.5
ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "ly", "ment", "able")
BEGINNINGS = ("re", "un", "pre", "over", "non", "mis", "sub")


@cache
def _vocabulary() -> Any:
    return openai.cl100k_base()


def _rank(word: str) -> int:
    """The place of a word that is one token, a small number when it is a frequent one; 0 for any other."""
    found = _vocabulary().encode(f" {word}")
    return int(found[0]) if len(found) == 1 else 0


def standing(word: str) -> str:
    """``COMMON``, ``UNKNOWN``, or ``OTHER``: names, short words, and whatever is not plain letters."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return OTHER
    lower, name = _rank(word), _rank(word.capitalize())
    if lower:
        return OTHER if name and name * NAME_RATIO < lower else COMMON
    if name:
        return OTHER
    return COMMON if any(_rank(base) for base in _bases(word)) else UNKNOWN


def _bases(word: str) -> list[str]:
    """What the word may be made of, when it is longer than three letters."""
    cut = [word.removesuffix(end) for end in ENDINGS if word.endswith(end) and _takes(word.removesuffix(end), end)]
    cut += [base + "e" for base in cut if not word.endswith("s")]
    cut += [word.removeprefix(start) for start in BEGINNINGS if word.startswith(start)]
    return [base for base in cut if len(base) > SHORTEST]


def _takes(base: str, ending: str) -> bool:
    """Whether a base may have that ending: neither addresss nor invoicees."""
    if ending == "es":
        return base.endswith(("s", "x", "z", "ch", "sh", "o"))
    return base.endswith("e") if ending == "d" else not (ending == "s" and base.endswith("s"))


def is_slip(slip: str, word: str) -> bool:
    """Whether ``slip`` is the common ``word``, mistyped; of one that is a name too, with two letters swapped."""
    most = 2 if len(word) >= LONG else 1
    if word in NAMES and sorted(slip) != sorted(word):
        return False
    if slip[0] != word[0] or (slip[-1] != word[-1] and sorted(slip) != sorted(word)):
        return False
    return len(word) >= SHORTEST and abs(len(slip) - len(word)) <= most and distance(slip, word, most) <= most


def is_slip_of_an_odd_word(one: str, other: str) -> bool:
    """Whether two words that nobody knows, and that are no names, are one but for a slip that is in no ending."""
    ends_alike = one[-2:] == other[-2:] or sorted(one) == sorted(other)
    return (
        one != other
        and min(len(one), len(other)) > SHORTEST
        and ends_alike
        and one[0] == other[0]
        and (distance(one, other, 1) == 1)
    )


def distance(a: str, b: str, most: int) -> int:
    """Keystrokes between two words: one letter more, less or other, or two neighbours swapped; ``most`` + 1 is more."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row, oldest = row, [i], before
        for j, other in enumerate(b, 1):
            best = min(row[j - 1] + 1, above[j] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, oldest[j - 2] + 1)
            row.append(best)
        before = above
        if min(row) > most:
            return most + 1
    return row[-1]


def without_one(word: str) -> set[str]:
    """The word, and all that is left of it when one letter is taken away: words one keystroke apart share one."""
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


_NEAR = {form: word for word in sorted(STOP) if len(word) >= 3 for form in without_one(word)}


def is_slip_of_a_small_word(word: str) -> bool:
    """Whether an unknown word is a word that may be dropped, with two letters swapped."""
    for form in without_one(word):
        near = _NEAR.get(form)
        if near and len(near) > 5 and is_slip(word, near):
            return True
        if near and sorted(near) == sorted(word) and distance(word, near, 1) == 1:
            return True
    return False
