"""Replaces known secrets in text (SR-1).

Every overlapping match of every form of every secret is found in one pass (Aho-Corasick), the matches are merged, and
each union is replaced once, by the mark of the longest secret inside it. Replacing the longest first, or taking the
leftmost-longest match, would leave part of a secret where two of them overlap.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Self

import ahocorasick_rs
import re2

from memory.host import ids
from memory.text.encodings import ESCAPED_BREAK, all_members, broken_runs, end_of_stretch, forms_of, unfinished_run

MIN_LENGTH = 8
MOST_REPEATED = 32  # how much of a form that repeats itself is looked for
FEW = 32  # places at which a pattern may begin that are compared one by one
LONG, ANCHOR = 64, 32  # of a pattern longer than that, this much is in the automaton
# Its size and the time to build it grow with the patterns alone; the form that the library chooses for few patterns
# takes 35 seconds for one secret of 4,000 equal characters.
CONTIGUOUS = ahocorasick_rs.Implementation.ContiguousNFA


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without secrets, and how many places were replaced."""

    text: str
    count: int


Redact = Callable[[str], Redacted]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What a form of a secret is found by; of a long one the automaton knows a piece, the ``anchor``.

    It is taken from the middle, since many secrets begin or end alike.
    """

    text: str
    secret_id: str
    length: int  # of the secret

    @property
    def anchor_at(self) -> int:
        return (len(self.text) - ANCHOR) // 2 if len(self.text) > LONG else 0

    @property
    def anchor(self) -> str:
        return self.text[self.anchor_at :][:ANCHOR] if len(self.text) > LONG else self.text


@dataclass(frozen=True, slots=True)
class _Run:
    """Base64 that is broken, put together, and the place in the text of each of its letters."""

    text: str
    places: list[int]

    @classmethod
    def join(cls, text: str, pieces: list[tuple[int, int]]) -> Self:
        """The pieces of ``text`` put together."""
        places = [place for start, end in pieces for place in range(start, end)]
        return cls("".join(text[start:end] for start, end in pieces), places)

    def find(self, pattern: str, start: int, end: int) -> int:
        """The place where the pattern begins first between two places of the text; -1 where it does not."""
        at = self.text.find(pattern, bisect_left(self.places, start), bisect_left(self.places, end))
        return self.places[at] if at >= 0 else -1


class Redactor:
    """Redacts one set of secrets; build it once per set, which is the costly part.

    The automaton has the anchors of long patterns, without those that others cover wherever they occur: these give the
    same unions, with one match per place in a repetitive text instead of one for every length of a secret.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        """``secrets`` are pairs of id and plaintext. Values under 8 characters are not redacted (SR-1 notes)."""
        known = [(secret_id, value) for secret_id, value in secrets if len(value) >= MIN_LENGTH]
        owners: dict[str, tuple[str, int]] = {}
        for secret_id, value in sorted(known, key=lambda each: (len(each[1]), each[0])):
            for form in forms_of(value):
                owners |= dict.fromkeys(patterns_of(form), (secret_id, len(value)))
        patterns = [_Pattern(text, *owner) for text, owner in owners.items()]
        covered = _covered([text for text in owners if len(text) <= LONG])
        self._patterns = [each for each in patterns if each.text not in covered]
        self._covered: dict[str, list[_Pattern]] = {}
        for each in patterns:
            if each.text in covered:
                self._covered.setdefault(covered[each.text], []).append(each)
        anchored: dict[str, list[int]] = {}
        for number, each in enumerate(self._patterns):
            anchored.setdefault(each.anchor, []).append(number)
        self._anchored = list(anchored.values())
        alone = {key: own[0] for key, own in anchored.items() if len(own) == 1}
        self._short = [
            alone[key] if key in alone and len(self._patterns[alone[key]].text) <= LONG else None for key in anchored
        ]
        self._automaton = automaton_of(list(anchored)) if anchored else None
        self._texts = [each.text for each in patterns]

    def redact(self, text: str) -> Redacted:
        """``text`` with every occurrence of every secret, in every form, replaced by its mark."""
        if self._automaton is None or not text:
            return Redacted(text, 0)
        broken = list(self._broken(text))
        matches = {*self._matches(text), *self._matches_in(broken)}
        if not matches:
            return Redacted(text, 0)
        parts, at, count = [], 0, 0
        for start, end, inside in _unions(sorted(matches)):
            parts += [text[at:start], ids.redacted(self._owner(text, broken, start, end, inside))]
            at, count = end, count + 1
        return Redacted("".join([*parts, text[at:]]), count)

    def settled(self, text: str) -> int:
        """How much of a text that goes on will be redacted as it is now: no secret has begun in it, or could have, that
        what follows might complete."""
        last = _Run.join(text, unfinished_run(text))
        cut = len(text) - max((_partial_match_length(text, pattern) for pattern in self._texts), default=0)
        if left := max((_partial_match_length(last.text, pattern) for pattern in self._texts), default=0):
            cut = min(cut, last.places[-left])
        # What is broken is found, or not, by all that it stands between: by where the last piece ends, too.
        broken = {*self._matches_in(self._broken(text)), *self._matches_in([last])}
        apart = {(start, end) for start, end, number in broken if end - start > len(self._patterns[number].text)}
        stretches, reach = set(), 0
        for start in sorted({start for start, _ in apart}):
            reach = reach if start < reach else end_of_stretch(text, start)
            stretches.add((start, reach))
        whole = {(start, end) for start, end, _ in self._matches(text)}
        for start, end in sorted(whole | stretches, reverse=True):
            cut = start if start < cut < end else cut
        return cut

    def is_clean(self, texts: Iterable[str]) -> bool:
        """Whether certainly no text contains a secret: they are searched as one, joined by a character that no stored
        secret contains."""
        joined = "\0".join(texts)
        return next(self._matches(joined), None) is None and next(self._matches_in(self._broken(joined)), None) is None

    def _matches(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Beginning, end and number of each pattern at an anchor that was found."""
        matches = self._automaton.find_matches_as_indexes(text, overlapping=True) if self._automaton else ()
        for anchor, start, end in matches:
            if (short := self._short[anchor]) is not None:
                yield start, end, short
                continue
            for number in self._anchored[anchor]:
                pattern = self._patterns[number]
                begin = start - pattern.anchor_at
                if begin >= 0 and text.startswith(pattern.text, begin):
                    yield begin, begin + len(pattern.text), number

    def _broken(self, text: str) -> Iterator[_Run]:
        """Base64 that is broken into lines or groups, joined.

        All of a run is contained in the text without its breaks: most texts contain nothing there, and are not cut into
        runs.
        """
        if next(self._matches("".join(ESCAPED_BREAK.sub("", text).split())), None) is None:
            return
        for pieces in broken_runs(text):
            yield _Run.join(text, pieces)

    def _matches_in(self, broken: Iterable[_Run]) -> Iterator[tuple[int, int, int]]:
        """Beginning, end and number of each pattern in what was broken, by their places in the text."""
        for run in broken:
            for begin, end, number in self._matches(run.text):
                yield run.places[begin], run.places[end - 1] + 1, number

    def _owner(self, text: str, broken: list[_Run], start: int, end: int, inside: dict[int, int]) -> str:
        """The longest secret in a union, of equally long ones the first; ``inside`` has the first place of each
        pattern."""
        patterns = [(self._patterns[number], at) for number, at in inside.items()]
        covered = [each for pattern, _ in patterns for each in self._covered.get(pattern.text, ())]
        first = bisect_left(broken, start, key=lambda run: run.places[-1])
        runs = list(takewhile(lambda run: run.places[0] < end, islice(broken, first, None))) if covered else []
        for each in covered:
            found = [text.find(each.text, start, end), *(run.find(each.text, start, end) for run in runs)]
            if there := [at for at in found if at >= 0]:
                patterns.append((each, min(there)))
        return min(patterns, key=lambda each: (-each[0].length, each[1], len(each[0].text)))[0].secret_id

    def redact_json(self, value: object) -> Any:
        """A JSON value with every string in it redacted, the keys of objects too; itself where it has no secret."""
        if self._automaton is None or self.is_clean(strings_in(value)):
            return value
        return in_strings(value, lambda text: self.redact(text).text)


def _partial_match_length(text: str, pattern: str) -> int:
    """How many of the last characters of ``text`` are the first ones of ``pattern``, but not all of it."""
    at = text.find(pattern[:4], max(0, len(text) - len(pattern) + 1))
    for _ in range(FEW):
        if at < 0:
            return next((length for length in (3, 2, 1) if text.endswith(pattern[:length])), 0)
        if pattern.startswith(text[at:]):
            return len(text) - at
        at = text.find(pattern[:4], at + 1)
    return _longest_end(text[at:] if at >= 0 else text[-3:], pattern)


def _longest_end(text: str, pattern: str) -> int:
    """The same for a text with many beginnings of the pattern, in time by their lengths (Knuth, Morris and Pratt)."""
    shorter, length = [0], 0  # of each beginning of the pattern, the longest one that it ends with
    for letter in pattern[1 : len(text)]:
        while length and letter != pattern[length]:
            length = shorter[length - 1]
        length += letter == pattern[length]
        shorter.append(length)
    length = 0
    for letter in text:
        while length and letter != pattern[length]:
            length = shorter[length - 1]
        length += letter == pattern[length]
    return length


def unchanged(text: str) -> Redacted:
    """Redacts a text that is known to hold no secret."""
    return Redacted(text, 0)


def strings_in(value: object) -> Iterator[str]:
    """Every string in a JSON value, the keys of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from strings_in(item)


def in_strings(value: object, change: Callable[[str], str]) -> Any:
    """A JSON value with every string in it changed, the keys of objects too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [in_strings(item, change) for item in value]
    if isinstance(value, dict):
        return all_members((change(key), in_strings(item, change)) for key, item in value.items())
    return value


def _unions(matches: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Overlapping matches as one, with the first place of each pattern in it; adjacent matches are two."""
    start, end, inside = -1, -1, dict[int, int]()
    for begin, finish, number in matches:
        if begin >= end and inside:
            yield start, end, inside
            start, end, inside = begin, finish, {number: begin}
        elif not inside:
            start, end, inside = begin, finish, {number: begin}
        else:
            end = max(end, finish)
            inside.setdefault(number, begin)
    if inside:
        yield start, end, inside


def automaton_of(texts: list[str]) -> ahocorasick_rs.AhoCorasick:
    """Find any of the texts, in time by the length of what is searched."""
    return ahocorasick_rs.AhoCorasick(texts, implementation=CONTIGUOUS)


def _covered(texts: list[str]) -> dict[str, str]:
    """The texts that consist entirely of shorter overlapping ones, each with one of these that is not covered itself:
    the shortest that it begins with."""
    found: dict[str, str] = {}
    automaton = automaton_of(texts) if texts else None
    for text in texts:
        matches = automaton.find_matches_as_indexes(text, overlapping=True) if automaton else []
        if len(matches) == 1:
            continue
        shorter = sorted((start, end) for _, start, end in matches if end - start < len(text))
        unions = list(_unions((start, end, 0) for start, end in shorter))
        if len(unions) == 1 and unions[0][:2] == (0, len(text)):
            found[text] = text[: shorter[0][1]]
    return found


def patterns_of(form: str) -> set[str]:
    """What the form is found by: itself; of one that repeats itself, its beginning and its end.

    These cover every occurrence of the form, and a text of many repetitions has few matches of them at each place
    instead of one for each length of such a secret.
    """
    if len(form) <= MOST_REPEATED:
        return {form}
    enough = max(2 * _period_of(form), MOST_REPEATED)
    return {form[:enough], form[-enough:]} if enough < len(form) else {form}


def _period_of(form: str) -> int:
    """The shortest distance at which the form repeats itself; its length when that is not within its half."""
    head, at = form[: MOST_REPEATED // 2], 0
    while 0 < (at := form.find(head, at + 1)) <= len(form) // 2:
        if form.startswith(form[at:]):
            return at
    return len(form)


SHAPES = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bASIA[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{35}",
    r"\bya29\.[0-9A-Za-z_\-]{20,}",
    r"\bgh[pousr]_[0-9A-Za-z]{36,}",
    r"\bgithub_pat_[0-9A-Za-z_]{22,}",
    r"\bglpat-[0-9A-Za-z_\-]{20,}",
    r"\bxox[abprs]-[0-9A-Za-z\-]{10,}",
    r"\bxapp-[0-9A-Za-z\-]{20,}",
    r"\bsk-ant-[0-9A-Za-z_\-]{20,}",
    r"\bsk-[0-9A-Za-z_\-]{20,}",
    r"\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}",
    r"\bwhsec_[0-9A-Za-z]{24,}",
    r"\bSG\.[0-9A-Za-z_\-]{16,}\.[0-9A-Za-z_\-]{16,}",
    r"\bkey-[0-9a-f]{32}\b",
    r"\bnpm_[0-9A-Za-z]{36}\b",
    r"\bpypi-[0-9A-Za-z_\-]{50,}",
    r"\bhf_[0-9A-Za-z]{30,}",
    r"\bdop_v1_[0-9a-f]{64}\b",
    r"\beyJ[0-9A-Za-z_\-]{8,}\.eyJ[0-9A-Za-z_\-]{8,}\.[0-9A-Za-z_\-]{8,}",
    r"\bowk_[0-9a-f]{32}_[0-9a-f]{32}_[0-9A-Za-z_\-]{20,}",
    r"(?i)\b[a-z][a-z0-9+.\-]*://[^/\s:@]+:[^/\s:@]{4,}@",
    r"(?i)\bauthorization:\s*(?:bearer|basic)\s+[0-9a-z._~+/\-]{12,}",
    r"(?i)\b(?:api[_-]?key|secret|password|passwd|token)\b\s*[=:]\s*[\"']?[^\s\"']{12,}",
)


def _compiled() -> Any:
    """The rules as one automaton. The last one fits every text: "nothing found" and "gave up" are two answers."""
    shapes = re2.Set.SearchSet()
    for shape in (*SHAPES, ""):
        shapes.Add(shape)
    shapes.Compile()
    return shapes


_shapes = _compiled()
_one_by_one = [re2.compile(shape) for shape in SHAPES]


def secret_shapes(text: str) -> int:
    """How many kinds of secret the text looks like it holds. When the set gives up, each rule is run by itself."""
    found = _shapes.Match(text)
    if found is None:
        return sum(1 for rule in _one_by_one if rule.search(text))
    return len(found) - 1


SHAPED, MARK = "secret-shape", "[REDACTED:"
PLACEHOLDERS = re.compile(
    r"<REDACTED:(?P<old>[^<>\s]{1,256})>|\[BYOK:(?P<byok>[^\[\]\s]{1,256})\]"
    r"|\{\{\s*secret:(?P<braces>[^{}\s]{1,256})\s*\}\}|\$\{\s*secret:(?P<dollar>[^{}\s]{1,256})\s*\}"
)


def scrub(text: str) -> Redacted:
    """``text`` with whatever has the shape of a secret replaced by a mark, and how many places were; marks stay."""
    count = 0

    def marked(found: re.Match[str]) -> str:
        nonlocal count
        if MARK in found.group(0):
            return str(found.group(0))
        count += 1
        return ids.redacted(SHAPED)

    for rule in _one_by_one if secret_shapes(text) else ():
        text = rule.sub(marked, text)
    return Redacted(text, count)


def rewrite_marks(text: str) -> str:
    """The marks and placeholders of other hosts, in this host's form: square brackets (openwop-memory 10). An id that
    looks like a secret itself is left out."""

    def marked(found: re.Match[str]) -> str:
        assert found.lastgroup  # every form has its group
        secret_id = str(found[found.lastgroup]).replace("]", "")
        return ids.redacted("secret" if not secret_id or secret_shapes(secret_id) else secret_id)

    return PLACEHOLDERS.sub(marked, text)
