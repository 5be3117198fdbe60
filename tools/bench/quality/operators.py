"""Restatements: each operator says the same in other words, and touches neither a name nor a value."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from random import Random

from tools.bench.quality import slots, words
from tools.bench.quality.facts import SLOT, Piece, Pieces, Template, pieces, rendered, templates

WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*")
LOWER_WORD = re.compile(r"(?<![\w-])[a-z]{6,}(?![\w-])")
VERB = re.compile(rf"\b(?:{'|'.join(words.VERBS)})(?= )")
Restated = Pieces | None
Operator = Callable[[Pieces, Random], Restated]


def case(parts: Pieces, rng: Random) -> Restated:
    """All lower, all upper, or each word with a capital."""
    how = rng.choices((str.lower, str.upper, _capitals), (5, 2, 2))[0]
    return [Piece(how(piece.text), piece.fixed) for piece in parts]


def _capitals(text: str) -> str:
    return re.sub(r"(?<![\w'\u2019])[^\W\d_]", lambda found: found.group().upper(), text)


def filler(parts: Pieces, rng: Random) -> Restated:
    """A word or two that say nothing."""
    return rng.choice((_in_front, _behind, _inside))(parts, rng)


def _in_front(parts: Pieces, rng: Random) -> Restated:
    first = parts[0]
    lowered = first if first.fixed else Piece(first.text[0].lower() + first.text[1:], False)
    return [Piece(f"{rng.choice(words.FILLER_IN_FRONT)} ", True), lowered, *parts[1:]]


def _behind(parts: Pieces, rng: Random) -> Restated:
    last, said = parts[-1], rng.choice(words.FILLER_BEHIND)
    if last.fixed or not last.text.endswith("."):
        return [*parts, Piece(said, True)]
    return [*parts[:-1], Piece(last.text[:-1], False), Piece(said, True), Piece(".", False)]


def _inside(parts: Pieces, rng: Random) -> Restated:
    for at, piece in enumerate(parts):
        verb = None if piece.fixed else VERB.search(piece.text)
        if verb:
            before, behind = piece.text[: verb.end()], piece.text[verb.end() :]
            said = Piece(f" {rng.choice(words.FILLER_INSIDE)}", True)
            return [*parts[:at], Piece(before, False), said, Piece(behind, False), *parts[at + 1 :]]
    return None


def synonyms(parts: Pieces, rng: Random) -> Restated:
    """Words of the list stand for each other."""

    def other(found: re.Match[str]) -> str:
        word = found.group()
        swapped = words.OTHER_WORD.get(word.lower(), word.lower())
        return word if swapped == word.lower() else _like(word, swapped)

    return _changed(parts, [piece if piece.fixed else Piece(WORD.sub(other, piece.text), False) for piece in parts])


def _like(word: str, other: str) -> str:
    return other.capitalize() if word[0].isupper() else other


def _changed(before: Pieces, after: Pieces) -> Restated:
    return None if before == after else after


def typos(parts: Pieces, rng: Random) -> Restated:
    """One slip in a long word, in a long text sometimes in two."""
    many = 2 if len(rendered(parts).split()) > words.LONG_TEXT and rng.random() < 0.5 else 1
    places = [
        (at, found.span())
        for at, piece in enumerate(parts)
        if not piece.fixed
        for found in LOWER_WORD.finditer(piece.text)
    ]
    found = list(parts)
    for at, (start, end) in sorted(rng.sample(places, min(many, len(places))), reverse=True):
        text = found[at].text
        found[at] = Piece(text[:start] + mistyped(text[start:end], rng) + text[end:], False)
    return _changed(parts, found)


def mistyped(word: str, rng: Random) -> str:
    """The word with two letters swapped or one doubled inside it, which makes no other word of the corpus."""
    while True:
        at = rng.randint(1, len(word) - 2)
        edits = (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at] + word[at:],
        )
        edited = rng.choice(edits)
        if edited != word and edited not in vocabulary():
            return edited


@cache
def vocabulary() -> frozenset[str]:
    """Every word that a text of the corpus may hold."""
    said = [text for each in templates() for text in (*each.say, *each.update, *each.paraphrase)]
    said += [text for kind in slots.data("lookalikes").values() for pair in kind["pairs"] for text in pair]
    spelled = {word.lower() for text in said for word in re.findall(r"[A-Za-z]+", SLOT.sub(" ", text))}
    return frozenset(spelled | set(words.OTHER_WORD))


def dropped(parts: Pieces, rng: Random) -> Restated:
    """Function words are missing."""
    pattern = rf"(?i)(?<![\w'\u2019-])(?:{'|'.join(words.FUNCTION_WORDS)}) "

    def missing(found: re.Match[str]) -> str:
        return "" if rng.random() < 0.7 else found.group()

    found = [piece if piece.fixed else Piece(re.sub(pattern, missing, piece.text), False) for piece in parts]
    return _changed(parts, [piece for piece in found if piece.text])


def punctuation(parts: Pieces, rng: Random) -> Restated:
    """Other punctuation, other white space, quotes around it, or a bullet before it: two of these."""
    ways = (_no_stop, _exclaimed, _other_marks, _wrapped, _spaced, _quoted, _bullet)
    for way in sorted(rng.sample(ways, 2), key=ways.index):
        parts = way(parts, rng)
    return parts


def _no_stop(parts: Pieces, rng: Random) -> Pieces:
    last = parts[-1]
    return parts if last.fixed else [*parts[:-1], Piece(last.text.rstrip("."), False)]


def _exclaimed(parts: Pieces, rng: Random) -> Pieces:
    return [*_no_stop(parts, rng), Piece(rng.choice(("!", " !", "...", "!!")), False)]


def _spaced(parts: Pieces, rng: Random) -> Pieces:
    wide = rng.choice(("  ", "\u00a0", "\t"))
    spread = [piece if piece.fixed else Piece(piece.text.replace(" ", wide, 2), False) for piece in parts]
    return [*spread, Piece(rng.choice(("", " ", "\n")), False)]


def _wrapped(parts: Pieces, rng: Random) -> Pieces:
    """The line ends somewhere inside."""
    places = [at for at, piece in enumerate(parts) if not piece.fixed and " " in piece.text]
    at = rng.choice(places)
    return [*parts[:at], Piece(parts[at].text.replace(" ", "\n", 1), False), *parts[at + 1 :]]


def _quoted(parts: Pieces, rng: Random) -> Pieces:
    opening, closing = rng.choice(('""', "“”", "()", "''"))
    return [Piece(opening, False), *parts, Piece(closing, False)]


def _bullet(parts: Pieces, rng: Random) -> Pieces:
    return [Piece(rng.choice(("- ", "* ", "• ", "> ")), False), *parts]


def _other_marks(parts: Pieces, rng: Random) -> Pieces:
    mark = rng.choice((" -", ";", " \u2013", ""))
    return [piece if piece.fixed else Piece(re.sub(r"[,;:](?= )", mark, piece.text), False) for piece in parts]


def exact(parts: Pieces, rng: Random) -> Restated:
    """The very same text once more."""
    return parts


OPERATORS: dict[str, Operator] = {
    "exact": exact,
    "case": case,
    "filler": filler,
    "synonyms": synonyms,
    "typos": typos,
    "function words": dropped,
    "punctuation": punctuation,
}
ORDER, TWO = "order", "two at once"
NAMES = (*OPERATORS, ORDER, TWO)
FOR_PLAIN = {"": (*OPERATORS, ORDER), "json": ("exact",), "foreign": ("exact", "case", "typos", "punctuation", ORDER)}


def restated(template: Template, given: Mapping[str, str], text: str, rng: Random) -> tuple[str, str]:
    """The fact once more, and by which operator; ``text`` is how it was said first."""
    if not template.plain and rng.random() < 0.2:
        return TWO, rendered(_by_two(template, given, text, rng))
    while True:
        name = rng.choice(FOR_PLAIN[template.plain])
        if name == "exact" and template.plain != "json" and rng.random() < 0.5:
            continue
        found = _by(name, template, given, text, rng)
        if found is not None and (rendered(found) != rendered(pieces(text, given)) or name == "exact"):
            return name, rendered(found)


def _by(name: str, template: Template, given: Mapping[str, str], text: str, rng: Random) -> Restated:
    if name != ORDER:
        return OPERATORS[name](pieces(text, given), rng)
    others = [each for each in template.say if each != text]
    return pieces(rng.choice(others), given) if others and text in template.say else None


def _by_two(template: Template, given: Mapping[str, str], text: str, rng: Random) -> Pieces:
    """The word order first, if it is one of the two; case last, which would hide names from the others."""
    while True:
        pair = rng.sample([name for name in OPERATORS if name != "exact"] + [ORDER], 2)
        first, second = sorted(pair, key=lambda name: (name != ORDER, name == "case"))
        once = _by(first, template, given, text, rng)
        twice = OPERATORS[second](once, rng) if once is not None else None
        if twice is not None:
            return twice
