"""What a pronoun stands for, in the same sentence or the one before: "Dana hesitated, but she signed".

A statement says it of the condition's subject when that began the clause before, or was whom "I" or "we" dealt with
there, and nobody else was named between.
"""

import re
from collections.abc import Callable, Iterator, Set

from memory.text import patterns

# A new clause about somebody or something that was named.
SUBJECT = patterns.late(
    r"(?:^\W*|(?<=[,;:\u2013\u2014])\s*|\s-\s+|\b(?:and|but|so|yet|because|since|as|now|today|then|finally|yes"
    r"|yep)\b,?\s+)"
    r"(?:(?:and|but|so|yet|now|today|yesterday|then|finally|yes|yep|luckily|fortunately|sadly|well|in the end"
    r"|this morning"
    r"|last night|at last|meanwhile|just|both)\b,?\s+)*"
    r"(?P<pronoun>he|she|it|they|(?:both|all|each) of them|both|(?:the|this) (?:thing|one|lot))(?P<end>'(?:s|ve|re"
    r"|d))?(?=\s)",
    re.IGNORECASE,
)
ENDS = {"'s": " has", "'ve": " have", "'re": " are", "'d": " had"}
OBJECT = patterns.late(
    r"\b(?P<verb>[a-z]+)\s+(?:(?:up|off|out|back|in|on|for|to|with|over)\s+)?(?:it|them|him|her"
    r"|that one)\b(?!\s+(?:is|was|has|were|are|[a-z]{3,}ed)\b)",
    re.IGNORECASE,
)
OURS = patterns.late(
    r"^\W*(?:(?:so|and|but|yesterday|today)\s+)*(?:i|we)\b|^\W*(?:asked|called|met|emailed|phoned|texted|wrote)\b",
    re.IGNORECASE,
)
NAME = patterns.late(r"(?<![.!?:] )(?<!^)\b(?!(?:I|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?:day)?\b)[A-Z][a-z]\w+")
WORD = patterns.late(r"[^\W_]+(?:-[^\W_]+)*")
LEAD = 6  # so many words may begin a clause up to its subject
MOST_CLAUSES = 6  # in a sentence
MOST = 60  # statements of a text that are read again


def clauses_of(text: str) -> Iterator[tuple[str, str]]:
    """What stands before each clause that begins with a pronoun, and that clause behind the pronoun."""
    for number, found in enumerate(SUBJECT.finditer(text)):
        if number == MOST_CLAUSES:
            return
        yield text[: found.start()], ENDS.get((found["end"] or "").casefold(), "") + text[found.end() :]


def named(ahead: str, missing: Set[str], stems_of: Callable[[str], list[str]], *, anywhere: bool = False) -> str:
    """The words of ``ahead`` for the stems that are ``missing``, when they stand together as its subject, or are whom
    "I" and "we" dealt with; "" otherwise."""
    words = [(found[0], stems_of(found[0])) for found in WORD.finditer(ahead)]
    at = [place for place, (_, stems) in enumerate(words) if missing & {*stems}]
    found = {stem for place in at for stem in words[place][1]}
    if not at or not missing <= found or at[-1] - at[0] > len(missing) + 1:
        return ""
    if not (anywhere or at[0] < LEAD or OURS.search(ahead)):
        return ""
    others = [each for each in NAME.findall(ahead) if missing.isdisjoint(stems_of(each))]
    if others and not anywhere:
        return ""
    return " ".join(words[place][0] for place in range(at[0], at[-1] + 1))
