"""Finding standing intentions in what a run has written, and what later statements say of them (RFC 0068).

An intention is a sentence with a cue ("remind me", "follow up", "we need to") and a condition: a time in words, or a
clause that a later statement may fulfil ("when the invoice clears"). Statements of fact, past times, negations,
questions, quotations, code and documentation are none. English, and in less depth German, Spanish, French and Polish;
the same text at the same time in the same zone always gives the same.
"""

from memory.text.intentions.finding import FARTHEST, Intention, called_off, found_in
from memory.text.intentions.predicates import (
    DENIAL,
    LONGEST_TEXT,
    all_words,
    may_speak,
    said_words,
    verdict,
    vocabulary,
    wanted_of,
    words_of,
)

__all__ = [
    "DENIAL",
    "FARTHEST",
    "LONGEST_TEXT",
    "Intention",
    "all_words",
    "called_off",
    "found_in",
    "may_speak",
    "said_words",
    "verdict",
    "vocabulary",
    "wanted_of",
    "words_of",
]
