"""Sentences from people and memories: cleaned to one line, compared ignoring case and punctuation, and escaped so that
they add no placeholder to a prompt.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from memory.text.encodings import normalized
from memory.text.matching import FORGOTTEN
from memory.text.redactor import MARK
from memory.text.similarity import Reconciliation, Statement, reconcile
from proposals.learning.miners.asked import request

LONGEST = 400  # characters; a longer text is not a sentence to add to a prompt
JOINERS = "\u200c\u200d"  # parts of words in some scripts; other signs without a width are none
KEPT_SIGNS = "%"
SHORT_WAY = 20  # characters before a sentence in which a negation applies to it
LONG_WORD = 3  # letters; sentences are compared when they share a longer word
NEGATIONS = frozenset({"not", "never", "no", "don", "dont", "avoid", "stop", "without"})
EMPTY_WORDS = frozenset({"t", "do", "does", "please", "must", "should", "always", "ever"})
ENDS = re.compile(r"[\n.!?;]+")
NEXT_BRACE = re.compile(r"\{(?=\{)|\}(?=\})")


def cleaned(text: str) -> str:
    """The sentence on one line, without control and direction characters.

    "" for a text that is too long, has no words, or has a redacted or forgotten part.
    """
    if len(text) > 4 * LONGEST or MARK in text or FORGOTTEN in text:
        return ""
    one_line = " ".join("".join(map(_plain, text)).split())
    return one_line if len(one_line) <= LONGEST and folded(one_line) else ""


def _plain(letter: str) -> str:
    category = unicodedata.category(letter)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cf", "Cs", "Co", "Cn") and letter not in JOINERS else letter


def folded(text: str) -> str:
    """The words of ``text``, normalised: case, width, white space and punctuation make no difference."""
    wide = normalized("NFKC", text).casefold()
    return " ".join("".join(map(_word_sign, wide)).split())


def _word_sign(letter: str) -> str:
    if letter in JOINERS:
        return ""
    return " " if unicodedata.category(letter)[0] in "PZC" and letter not in KEPT_SIGNS else letter


def escaped(sentence: str) -> str:
    """The sentence with a space between adjacent braces, which would start or end a placeholder."""
    return NEXT_BRACE.sub(lambda brace: f"{brace[0]} ", sentence)


def is_in(sentence: str, text: str) -> bool:
    """Whether the folded ``text`` has the words of ``sentence`` in a row, without a negation before them."""
    words, rest = folded(sentence), f" {text} "
    place = rest.find(f" {words} ")
    while place >= 0:
        before = rest[max(0, place - SHORT_WAY) : place].split()[-2:]
        if NEGATIONS.isdisjoint(before[-1:]) and before != ["don", "t"]:
            return True
        place = rest.find(f" {words} ", place + 1)
    return False


def says(text: str, parts: set[str], sentence: str) -> bool:
    """Whether a text says ``sentence`` already: its folded ``text`` has the words, its ``parts`` have all the sentences
    of it, or one of the parts means the same."""
    key = folded(sentence)
    if is_in(sentence, text) or parts_of(sentence) <= parts:
        return True
    about = {word for word in key.split() if len(word) > LONG_WORD} or set(key.split())
    near = sorted(part for part in parts if len(part) <= LONGEST and not about.isdisjoint(part.split()))
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    stands, _ = groups_of({part: (part, moment) for part in (*near, key)})
    return any(stands[part] == stands[key] for part in near)


def parts_of(text: str) -> set[str]:
    """The folded sentences of ``text``."""
    return {words for part in ENDS.split(text) if (words := folded(part))}


def without_negation(words: str) -> tuple[str, bool]:
    """The words without negations, and whether there were any: "never mention it" gives "mention it" and True."""
    said = words.split()
    kept = [word for word in said if word not in NEGATIONS | EMPTY_WORDS]
    return " ".join(kept), not NEGATIONS.isdisjoint(said)


def groups_of(said: Mapping[str, tuple[str, datetime]], *, reworded: bool = False) -> tuple[dict[str, str], set[str]]:
    """By folded sentence: the representative of its group of equal meaning; and the representatives that are replaced.

    ``said`` maps each folded sentence to a written form and the time it was last said. A group is replaced by a newer
    statement or its opposite. With ``reworded``, requests for the same in other words are grouped too.
    """
    keys = sorted(said)
    found = _reconciled(keys, said)
    stands = {key: key for key in keys}
    for merge in found.merges:
        members = sorted(keys[each.int - 1] for each in (merge.survivor, *merge.merged))
        stands.update(dict.fromkeys(members, members[0]))
    if reworded:
        _join_requests(said, stands)
    replaced = {stands[keys[each.older.int - 1]] for each in found.superseded}
    return stands, replaced | _denied(said, stands)


def _join_requests(said: Mapping[str, tuple[str, datetime]], stands: dict[str, str]) -> None:
    """Merge the groups of requests for the same, in place."""
    asked = {key: request(said[key][0]) for key in said}
    by_thing: dict[str, list[str]] = defaultdict(list)
    for key in sorted(asked):
        others = {other for thing in asked[key].about for other in by_thing[thing]}
        same = next((other for other in sorted(others) if asked[key].is_same_as(asked[other])), None)
        if same is not None and stands[same] != stands[key]:
            first, second = sorted((stands[same], stands[key]))
            stands.update({each: first for each, head in stands.items() if head == second})
        for thing in asked[key].about:
            by_thing[thing].append(key)


def _reconciled(keys: list[str], said: Mapping[str, tuple[str, datetime]]) -> Reconciliation:
    return reconcile([Statement(UUID(int=at), said[key][0], said[key][1]) for at, key in enumerate(keys, 1)])


def _denied(said: Mapping[str, tuple[str, datetime]], stands: Mapping[str, str]) -> set[str]:
    """The representatives of sentences whose opposite was said later."""
    latest: dict[str, dict[bool, tuple[datetime, str]]] = defaultdict(dict)
    for key, (_, at) in said.items():
        about, denies = without_negation(key)
        latest[about][denies] = max(latest[about].get(denies, (at, key)), (at, key))
    older = {about: min(each.values())[0] for about, each in latest.items() if len(each) == 2}
    return {
        stands[key]
        for key in said
        for about, denies in [without_negation(key)]
        if about in older and latest[about][denies][0] == older[about]
    }
