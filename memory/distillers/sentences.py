"""A text as its sentences, each a piece of it word for word. Pure.

A full stop ends no sentence inside a number, an address or a mark of redaction, nor after an abbreviation. A line ends
one, unless the next goes on in the middle of it. What has no end is one sentence, however long.
"""

import re


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A run of stops is looked at once, from its beginning: no text takes more than a moment.
ENDS = re.compile(r"(?<![.!?…])[.!?…]++[\"'\u201d\u2019»)\]]*+(?=\s)|[。\uff01\uff1f｡]+[」』\u201d\u2019\uff09]*|\n\s*")
MARK = re.compile(r"\[REDACTED:[^\]]*\]")
BULLET = re.compile(r"(?:[-*+•‣\u2013]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?:\[[ xX]\]\s+)?")
WORD = re.compile(r"[^\W_]")
LAST_WORD = re.compile(r"\S+\Z")
# Never the end of a sentence; the second only before a capital; the third never before a digit.
TITLES = _set(
    "mr mrs ms mx dr prof st sr rev gen sen rep hon e.g i.e cf vs viz approx ca bzw z.b d.h u.a nr tel fig figs sec "
    "ch vol pp ed eds al messrs mme mlle"
)
BEFORE_DIGITS = _set("no nos art jan feb mar apr jun jul aug sep sept oct nov dec p")
WRAPPED = 40


def split(text: str) -> list[str]:
    """The sentences of ``text`` in their order; those without a letter or digit are left out."""
    found = ENDS.search(text)
    if found is None:
        return _clean([text])
    marks = [mark.span() for mark in MARK.finditer(text)] if "[REDACTED:" in text else []
    shouts = text == text.lower()  # a writer without capitals begins sentences without them
    pieces, start = [], 0
    while found is not None:
        at, end = found.span()
        inside = any(first < at < last for first, last in marks)
        if not inside and _ends(text, start, at, end, shouts=shouts):
            pieces.append(text[start:end])
            start = end
        found = ENDS.search(text, end)
    return _clean([*pieces, text[start:]])


def _clean(pieces: list[str]) -> list[str]:
    clean = []
    for piece in pieces:
        kept = piece.strip()
        bullet = BULLET.match(kept)
        kept = kept[bullet.end() :] if bullet else kept
        if WORD.search(kept):
            clean.append(kept)
    return clean


def _ends(text: str, start: int, at: int, end: int, *, shouts: bool) -> bool:
    following = text[end : end + 32].lstrip().lstrip("\"'\u201c\u2018«([")[:1]
    if "\n" in text[at:end]:
        return _line_ends(text, start, at, end, following)
    if text[at] in "。\uff01\uff1f｡":
        return True
    if following.islower() and not shouts:
        return False
    return text[at] != "." or not _abbreviates(text[max(start, at - 24) : at], following)


def _abbreviates(before: str, following: str) -> bool:
    """Whether the full stop behind ``before`` belongs to its last word."""
    last = LAST_WORD.search(before)
    word = last.group().lstrip("(\"'\u201c[").casefold() if last else ""
    if word in TITLES:
        return True
    if word in BEFORE_DIGITS and following.isdigit():
        return True
    if len(word) == 1 and word.isalpha():
        return True
    return word.isdigit() and not before[: -len(word)].strip()


def _line_ends(text: str, start: int, at: int, end: int, following: str) -> bool:
    """A long line that breaks off before a small letter goes on in the next one."""
    if text.count("\n", at, end) > 1 or not following.islower() or BULLET.match(text, end):
        return True
    line = text.rfind("\n", start, at) + 1
    return at - max(line, start) < WRAPPED or text[line:at].rstrip()[-1:] in tuple(".!?:;…")
