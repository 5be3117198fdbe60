"""Text to tokens: what each piece of it is, and a 64-bit number that identifies it.

Casefolded and NFKC-normalised; ``a-b``, ``a.b``, addresses and ``$1.23`` stay whole. A token's number is the same on
every machine, in every process and for every corpus.
"""
# ruff: noqa: RUF001 -- the signs are meant

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memory.text import patterns
from memory.text.encodings import bare
from memory.text.remembered import LONGEST, remembered
from memory.text.similarity import values, wordings, words
from memory.text.similarity.spelling import spelled
from memory.text.similarity.words import CANONICAL

KEPT_CHUNKS = 200_000  # or fewer, of more than one token
KEPT_WORDS = 50_000
BITS = (1 << 64) - 1

# What a token is: a set of bits, because a stop word may be a preposition too.
WORD, VALUE, NEGATION, STOP, FILLER, PRONOUN, PREPOSITION, DIRECTION = (1 << place for place in range(8))
TALK, ASIDE, COMMON, UNKNOWN, FOREIGN, CAPITAL, BREAK, ASKS, END, MASKED, PREFERS, TURN, PHRASE = (
    1 << place for place in range(8, 21)
)
BINDS, PAST, HALT, AND, STATUS, HAPPENS, SHOUTED, PROPER, IDIOM, REPLACES = (1 << place for place in range(21, 31))
SHAPED, PERIODIC, SPANNING, CODED, OWNS, STEMMED, WORDED = (1 << place for place in range(31, 38))
SAID = WORD | VALUE | NEGATION
BREAKING = BREAK | END | HALT | ASKS


@dataclass(frozen=True, slots=True)
class Token:
    """``word`` represents its synonyms, ``raw`` is what was written, casefolded; ``code`` is 0 for what may be dropped.

    ``mask`` is the sort of a value: money, percent, date, time, number, or empty for one that is a name. ``base`` is
    the word without its number (singular or plural), ``concept`` stands for all its forms and synonyms, 0 for none.
    """

    word: str
    raw: str
    code: int
    bytes: bytes
    kind: int
    mask: str = ""
    base: int = 0
    concept: int = 0

    def with_kind(self, bits: int) -> "Token":
        return self._of_kind(self.kind | bits) if bits & ~self.kind else self

    def without_kind(self, bits: int) -> "Token":
        return self._of_kind(self.kind & ~bits) if self.kind & bits else self

    def _of_kind(self, kind: int) -> "Token":
        return Token(self.word, self.raw, self.code, self.bytes, kind, self.mask, self.base, self.concept)


PIECES = patterns.late(
    r"\[redacted:[^\]\s]*\]|<redacted:[^>\s]*>"
    r"|[a-z][a-z0-9+.\-]*://[^\s\"'<>)\]]+"
    r"|(?<![\w.+%\-])[\w.+%\-]+@[\w\-]+(?:\.[\w\-]+)+"
    r"|[#§]?[+\-−]?[$€£¥₹]?\d\w*(?:[.,:/]\d\w*|-\w+)*%?\+?"
    r"|[@#]?\w+(?:[-_.'’&]\w+)*(?:\+\+|\#)?"
    r"|[^\s\w]"
)
IGNORED = frozenset(".,;:!?\"'()[]{}…-–—*_`/\\|~•·“”‘’«»„†‡¡¿、。「」『』\u200b\u200c\u200d\ufeff\u00ad")
BREAKS = ",:;—–.!?"
ENDS = ".!?:"
HALTS = ";—–"
PHONE = patterns.late(r"\+\d{7,15}")
EMAIL = patterns.late(r"[\w.+%\-]+@[\w\-]+(?:\.[\w\-]+)+")
VERSION = patterns.late(r"v\d+(?:\.\d+){1,3}(?:-\w+)?|\d+\.\d+\.\d{1}|\d+(?:\.\d+){3}")
MONEY = patterns.late(r"[+\-−]?[$€£¥₹]\d[\d.]*[kmb]?")
DATE = patterns.late(r"\d{4}-\d{1,2}-\d{1,2}(?:t[\d:.]+z?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}(?:st|nd|rd|th|er)")
TIME = patterns.late(r"\d{1,2}(?::\d{2}){1,2}(?:am|pm)?|\d{1,2}(?:am|pm)")
NUMBER = patterns.late(r"[+\-−]?\d{1,5}(?:\.\d+)?[km]?\+?|[1-9]\d*000|\d{1,3}(?:,\d{3})+(?:\.\d+)?")
MASKS = {
    "phone": PHONE,
    "email": EMAIL,
    "version": VERSION,
    "money": MONEY,
    "date": DATE,
    "time": TIME,
    "number": NUMBER,
}
# Between two values or words, without blanks, a long dash joins as a hyphen does.
DASHES = patterns.late(r"(?<=\w)[–—‑](?=\w)|(?<=\d)\s?[–‑]\s?(?=\d)")
# In English a name is written with and without its accents; elsewhere an accent may be a plural, or another word.
ENGLISH = patterns.late(
    r"\w's\s|\b(?:the|is|has|with|works|likes|lives|plays|runs|uses|drives|owns|speaks|teaches|studies|and|of|at|from|for|without|are|were|that|this|they|our|his|after|before"
    r"|hours?|days?|weeks?|months?)\b",
    re.IGNORECASE,
)
NOT_ENGLISH = patterns.late(
    r"\b(?:(?i:der|das|dem|den|und|ist|sind|hat|nicht|mit|ein|eine|ich|von|que|con|por|una|está|les|est|sont|avec|sera|nie|jest"
    r"|og|er|det|ikke|af|av|och|att|som|het|een|niet)|el|le|la|du)\b"
)
ACCENTED = patterns.late(r"\b[A-Za-zÀ-ɏ]+[À-ɏ][A-Za-zÀ-ɏ]*|\b[À-ɏ][A-Za-zÀ-ɏ]+")
CELSIUS = patterns.late(r"\s?(?:°\s?C|℃)\b")
FRENCH_TIME = patterns.late(r"^(\d{1,2})h(\d{2})$")
WITH_UNIT = patterns.late(r"([+\-−]?\d[\d.,]*)([a-z]+)")
THOUSANDS = patterns.late(r"(?<=\d),(?=\d{3}(?!\d))")
# German, Spanish, French and Polish: "2,5" and, of money, "1.150,00".
DECIMAL_COMMA = patterns.late(r"^([$€£]?\d+),(\d{1,2})(?=$|[a-z%€])")
CENTS = patterns.late(r"(?<=\d)\.0+(?=$|[kmb]$)")
# A chunk that is compared as it is written: a path, a flag, a pattern with stars. Case and each sign count.
AS_WRITTEN = patterns.late(
    r"\*+|--?[a-z][\w\-]*(?:=\S*)?|(?:~|\.{1,2})?/[\w.~\-*][^\s]*|[^\s]*\\[^\s]*|[^\s/]+/[^\s/]+/[^\s]*|[^\s]*\*[^\s]*"
    r"|[^\s]*\w::\w[^\s]*|[a-z][a-z+\-]*/\d+"
    r"|[a-z][\w./\-]*:\d[\d.]*-[a-z][\w.\-]*",  # "node:20-alpine"
    re.IGNORECASE,
)
EXACT_SIGNS = frozenset("/\\*-")
AROUND = "\"'()[]{}<>“”‘’«»`,;:!?"
# A sign in quotes is a value: ";" is another separator than ",".
QUOTED_SIGN = patterns.late(r"[(\[]*[\"'`“‘«]+([^\s\w]{1,3}?)[\"'`”’»]+[)\].,;:!?]*")
# So is a small word: "is" is another operator than "in".
QUOTED_WORD = patterns.late(r"[(\[]*[\"'`“‘«]+([^\W\d_]{1,12})[\"'`”’»]+[)\].,;:!?]*")
ONLY_ENDS = frozenset(".!?…")
LONGEST_SIGN, LONGEST_QUOTED = 3, 16
EMPHASIS = patterns.late(r"^[*_~]+(?=[^\W_])|(?<=[^\W_])[*_~]+(?=[.,;:!?)\"']*$)")
# Capitals inside a name: GitHub, PostgreSQL, iPhone, NDAs. Inside anything else they are part of a code.
LIKE_A_NAME = patterns.late(r"[A-Za-z][A-Z][a-z]{2,}|[A-Z]?[a-z]+(?:[A-Z][a-z]{2,})*[A-Z]*s?|[A-Z]{2,}s")
WRITTEN_MIXED = frozenset(("WiFi", "HiFi", "SciFi"))
DIGITS = "0123456789"
ALPHABETIC = patterns.late(r"[A-Za-z0-9]+")
ELIDED = patterns.late(r"(n'|l'|d'|qu'|j')(?=\w{3})")
CLITICS = ("'s", "'re", "'ve", "'d", "'m")
# The word of each phrase that most statements do not have.
STATING = frozenset(max(phrase.split(), key=len) for phrase in values.STATUSES) | {"being"}
TELLING = frozenset(map(words.telling, words.PHRASES))
IDIOMATIC = frozenset(words.telling(phrase) for phrase in words.IDIOMS)
LATIN_END = 0x250
SMALL = words.STOP | words.FILLERS | words.PREPOSITIONS | words.DIRECTIONS | {*words.PRONOUNS, *words.NEGATIONS}
# With a hyphen they stand in a list of their own.
WHOLE = frozenset(
    word
    for known in (
        values.KINDS_OF_PREFERENCE,
        values.ATTRIBUTES,
        values.DATED,
        values.STATUSES,
        values.NUMBER_WORDS,
        values.UNEVENTFUL,
        IDIOMATIC,
    )
    for word in known
    if "-" in word
)


def code_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=4096)
def salt_of(text: str) -> int:
    """The number of one of few texts."""
    return code_of(text)


class Tokens(dict[str, tuple[Token, ...]]):
    """The tokens of each run of non-space characters, worked out once. 64 KB of signs are one such run, and 10 MB of
    tokens: how many chunks are kept depends on their sizes."""

    _kept = 0

    def __missing__(self, chunk: str) -> tuple[Token, ...]:
        found = tuple(_of_chunk(chunk))
        self._kept += max(len(found), 1) + len(chunk) // LONGEST
        if self._kept > KEPT_CHUNKS:
            self.clear()
            self._kept = 0
        self[chunk] = found
        return found

    def split(self, text: str) -> list[Token]:
        """The tokens of ``text`` in their order."""
        text = spelled(text)
        whole = text if text.isascii() else _plain(text)
        chunks = whole.split()
        if len(chunks) > 2 and chunks[-2].casefold() in values.COPULAS and _is_sign(chunks[-1]):
            sign = chunks.pop()
            return [*(token for chunk in chunks for token in self[chunk]), *_value(f"as written {sign}", sign, "")]
        return [token for chunk in chunks for token in self[chunk]]


def _plain(text: str) -> str:
    """With a hyphen for each dash that joins, the name of the degrees and, in English, names without their accents."""
    text = DASHES.sub("-", unicodedata.normalize("NFKC", CELSIUS.sub(" celsius", text)))
    if not ENGLISH.search(text) or NOT_ENGLISH.search(text):
        return text
    return ACCENTED.sub(lambda found: _unaccented(found[0], text), text)


def _unaccented(name: str, text: str) -> str:
    """The name as it is written without accents, unless the text has that one too, or it is a word of its own."""
    plain = bare(name)
    return name if plain in text or words.classify(plain.lower()) == words.COMMON else plain


def _is_sign(chunk: str) -> bool:
    """Whether it is what a separator or a folder may be: "/", "~", ","."""
    return len(chunk) <= LONGEST_SIGN and not any(map(str.isalnum, chunk)) and not ONLY_ENDS.issuperset(chunk)


def _quoted(chunk: str) -> list[Token]:
    """What stands in quotes as a value: a sign, or a word that is none elsewhere; empty for anything else."""
    found = QUOTED_SIGN.fullmatch(chunk) or QUOTED_WORD.fullmatch(chunk)
    text = found[1].casefold() if found else ""
    if not found or (text.isalpha() and text not in SMALL and text not in words.EMPTY):
        return []
    made = _value(f"as written {text}", text, "")
    for sign in chunk[found.end(1) :]:
        _mark(made, sign)
    return made


def _of_chunk(chunk: str) -> Iterable[Token]:
    quoted = _quoted(chunk) if len(chunk) <= LONGEST_QUOTED else []
    if quoted:
        return quoted
    if not EXACT_SIGNS.isdisjoint(chunk) or "::" in chunk:
        exact = _as_written(chunk)
        if exact:
            return exact
    folded = chunk.casefold()
    capital = _capital(chunk)
    found: list[Token] = []
    for piece in PIECES.finditer(folded):
        text = piece.group()
        written = chunk[piece.start() : piece.end()] if len(folded) == len(chunk) else text
        if text == "." and found and found[-1].raw in words.ABBREVIATED:
            continue
        if text in IGNORED:
            _mark(found, text)
        elif _is_code(written):
            found += _value(f"as written {written}", text, "")
        else:
            found += _of_piece(text, capital if not found else 0)
    return found


def _capital(chunk: str) -> int:
    bare = chunk.lstrip("\"'([“‘«*_")
    if not bare[:1].isupper():
        return 0
    word = bare.replace("’", "'").split("'", 1)[0]
    return CAPITAL | SHOUTED if word[1:2].isalpha() and word.isupper() else CAPITAL


def _as_written(chunk: str) -> list[Token]:
    """The chunk as one value, with the end of a clause after it; empty when it is prose."""
    text = EMPHASIS.sub("", chunk).lstrip(AROUND).rstrip(AROUND + ".")
    if not AS_WRITTEN.fullmatch(text) or "://" in text or not (text.strip("*") == "" or re.search(r"[^\W\d]", text)):
        return []
    found = _value(f"as written {text}", text.casefold(), "")
    for sign in chunk[chunk.rfind(text) + len(text) :]:
        _mark(found, sign)
    return found


def _is_code(written: str) -> bool:
    """Whether its case is no matter of style: "aBcDeF" is not "abcdef", while "GitHub" is "github"."""
    if "@" in written or "://" in written:
        return False
    if "_" in written.strip("_"):
        return True
    if written.islower() or written.isupper() or written in WRITTEN_MIXED:
        return False
    return any(_is_mixed(part) for part in ALPHABETIC.findall(written))


def _is_mixed(part: str) -> bool:
    core = part.strip(DIGITS)
    if core.islower() or core.isupper() or not core or LIKE_A_NAME.fullmatch(core):
        return False
    return core.casefold() not in values.UNITS


def proper(token: Token) -> Token:
    """The word as a name: IT is not it, nor is the A of Vitamin A an article."""
    code = code_of(f"w proper {token.raw}")
    kind = WORD | CAPITAL | token.kind & BREAKING
    return Token(token.raw, token.raw, code, code.to_bytes(8, "little"), kind, base=code, concept=code)


def _mark(found: list[Token], sign: str) -> None:
    """A comma ends a clause, and a question mark asks; one that stands alone is a token without a meaning."""
    extra = sum(bit for bit, signs in ((ASKS, "?"), (BREAK, BREAKS), (END, ENDS), (HALT, HALTS)) if sign in signs)
    if extra:
        last = found[-1] if found else Token("", "", 0, b"", 0)
        found[-1:] = [last.with_kind(extra)]


def _of_piece(text: str, capital: int) -> list[Token]:
    text = text.replace("’", "'")
    text = words.JOINED.get(text, text) if capital else words.JOINED.get(text) or words.MISSPELT.get(text, text)
    if text.endswith("n't"):
        stem = {"ca": "can", "wo": "will", "sha": "shall"}.get(text[:-3], text[:-3])
        return [*_of_piece(stem, capital), _negation("not", text)]
    if text == "&":
        return [_word("and", 0)]
    if text.endswith("'ll"):
        return [*_of_piece(text[:-3], capital), _word("will", 0)]
    elided = ELIDED.match(text)
    if elided:
        return [_word(elided.group(1), 0), *_of_piece(text[elided.end() :], capital)]
    clitic = next((end for end in CLITICS if text.endswith(end)), "")
    if clitic == "'s" and text[:-2] in words.SUBJECTS:
        return [_word(text[:-2], capital), _word("is", 0)]
    text = text.removesuffix(clitic) if clitic else text
    if text in words.NEGATIONS:
        return [_negation(words.NEGATIONS[text], text)]
    if not text.isalpha() and (any(map(str.isdigit, text)) or "@" in text or "://" in text or text[0] in "[<#"):
        return _values(text)
    if not text[0].isalnum():
        return _value("percent" if text == "%" else f"sign {text}", text, "")
    if text.startswith("auto-") and text[5:].isalpha():
        return [_word(text[5:], capital), _word("automatically", 0)]
    if "-" in text and (joined := _joined(text)):
        text = joined
    parts = _compound(text)
    if parts:
        return [_word(part, capital) for part in parts]
    return [_word(text, capital).with_kind(OWNS if clitic == "'s" else 0)]


SHORTEST_REST = 3


def _joined(text: str) -> str:
    """ "Cooperate" for "co-operate"; empty for what is not one word."""
    first, _, rest = text.partition("-")
    if first not in words.PREFIXES or text in CANONICAL or text in words.APART or not (first + rest).isalpha():
        return ""
    if first in words.JOINING and len(rest) > SHORTEST_REST:
        return first + rest
    return first + rest if words.classify(first + rest) == words.COMMON else ""


def _compound(text: str) -> list[str]:
    """The words of "part-time", which is "part time" as well; empty where one of them is small: "check-in" stays."""
    if "-" not in text or text in CANONICAL or text in WHOLE or _number_of(text):
        return []
    parts = text.split("-")
    plain = all(part.isalpha() and part not in SMALL and (len(part) > 2 or not at) for at, part in enumerate(parts))
    named = all(part in values.SHORT_DAYS or part in values.WEEKDAYS or part in values.MONTHS for part in parts)
    return parts if plain and not named else []


@remembered(KEPT_WORDS)
def meant_by(slip: str) -> tuple[Token, ...]:
    """The words of which it may be a slip."""
    return tuple(_of_piece(word, 0)[0] for word in words.meant_by(slip))


def _negation(word: str, raw: str) -> Token:
    code = code_of(f"n {word}")
    direction = DIRECTION if word in words.DIRECTIONS else 0
    kind = NEGATION | direction | (IDIOM if raw in IDIOMATIC else 0)
    kind |= 0 if wordings.TELLING.isdisjoint((word, raw)) else WORDED
    return Token(word, raw, code, code.to_bytes(8, "little"), kind, base=code, concept=code)


def _values(text: str) -> list[Token]:
    if text.startswith("<redacted:"):
        text = f"[{text[1:-1]}]"
    text = FRENCH_TIME.sub(r"\1:\2", text) if "h" in text else text
    plain = THOUSANDS.sub("", DECIMAL_COMMA.sub(r"\1.\2", text)) if "," in text else text
    plain = CENTS.sub("", plain) if "." in plain and not VERSION.fullmatch(plain) else plain
    if text.endswith("%") and NUMBER.fullmatch(text[:-1].lstrip("#")):
        return _value(CENTS.sub("", plain.removesuffix("%")) + "%", text, "percent")
    parts = WITH_UNIT.fullmatch(plain) if plain[-1:].isalpha() else None
    if parts and parts.group(2) in values.UNITS and not TIME.fullmatch(plain):
        return [*_value(CENTS.sub("", parts.group(1)), text, "number"), _word(parts.group(2), 0)]
    mask = next((name for name, form in MASKS.items() if form.fullmatch(plain)), "")
    if not mask and NUMBER.fullmatch(text):
        mask = "number"
    if mask == "number" and len(plain) == 4 and plain == text and plain[:2] in ("19", "20"):
        mask = "date"
    return _value(plain, text, mask)


def value_token(text: str, raw: str, mask: str) -> Token:
    code = code_of(f"v {text}")
    kind = VALUE | (MASKED if mask else 0) | (SPANNING if "-" in raw else 0)
    return Token(text, raw, code, code.to_bytes(8, "little"), kind, mask, code, code)


def _value(text: str, raw: str, mask: str) -> list[Token]:
    return [value_token(text, raw, mask)]


def word_token(text: str) -> Token:
    return _word(text, 0)


def leading(token: Token) -> Token:
    """The word as a preposition, which it is in another language."""
    number = code_of(f"b {token.raw}").to_bytes(8, "little")
    return Token(token.raw, token.raw, 0, number, STOP | PREPOSITION | BINDS | token.kind & BREAKING)


@remembered(KEPT_WORDS)
def _word(text: str, capital: int) -> Token:
    base = CANONICAL.get(text) or words.american(text)
    if base in values.WEEKDAYS or base in values.MONTHS:
        unsure = base in ("may", "march") and not capital
        raw = base if text in values.SHORT_DAYS else text
        return _value(base, raw, "" if unsure else "date")[0].with_kind(IDIOM if raw in IDIOMATIC else 0)
    number = _number_of(text)
    if number:
        return value_token(number, text, "number")
    if text in values.NAMED_TIMES:
        return value_token(values.NAMED_TIMES[text], text, "time")
    kind = capital | _roles(text)
    if not kind & (STOP | FILLER | PRONOUN):
        kind |= WORD | _spelled(text, base, capital)
    if kind & UNKNOWN and not capital and words.is_slip_of_a_small_word(text):
        kind = STOP | TALK
    if capital and not kind & WORD and text not in words.SAID_WITH_CAPITALS:
        kind |= PROPER
    code = (
        code_of(values.ORDINALS.get(text) or f"w {base}")
        if kind & WORD
        else code_of(f"p {words.PRONOUNS[text]}")
        if kind & PRONOUN
        else 0
    )
    shown = code or (code_of(f"b {text}") if kind & BINDS else 0)
    any_number = code_of(f"base {words.without_number(base)}") if kind & WORD else 0
    meant = (
        code_of(values.ORDINALS.get(text) or f"concept {words.concept(text, is_name=not kind & COMMON)}")
        if kind & WORD
        else 0
    )
    if kind & WORD and not capital and not kind & COMMON and (kind & UNKNOWN or not text.isascii()):
        kind |= STEMMED
        meant = code_of(f"concept {words.stem_abroad(text)}")
    meant = 0 if text in words.EMPTY else meant
    return Token(base, text, code, shown.to_bytes(8, "little"), kind, "", any_number, meant)


def _number_of(text: str) -> str:
    """The digits of a number word, also of "twenty-five"; empty for any other word."""
    tens, _, ones = text.partition("-")
    if tens not in values.NUMBER_WORDS or not ones:
        return values.NUMBER_WORDS.get(text, "")
    return str(int(values.NUMBER_WORDS[tens]) + int(values.NUMBER_WORDS[ones])) if ones in values.NUMBER_WORDS else ""


def _roles(text: str) -> int:
    roles = (
        (text in words.STOP, STOP | TALK),
        (text in words.FILLERS, FILLER | TALK | ASIDE),
        (text in words.PRONOUNS, PRONOUN),
        (text in words.PREPOSITIONS, PREPOSITION),
        (text in words.PREPOSITIONS, BINDS),
        (text in words.PAST, PAST | BINDS),
        (text in ("and", "&", "plus"), AND),
        (text in words.DIRECTIONS, DIRECTION),
        (text in words.DISCOURSE, TALK | ASIDE),
        (text in TELLING, PHRASE),
        (text in IDIOMATIC, IDIOM),
        (text in values.REPLACING or words.is_undone(text), REPLACES),
        (text in words.SHAPES, SHAPED),
        (text in wordings.TELLING, WORDED),
        (text in values.PERIODS, PERIODIC),
        (text in values.CODES, CODED),
        (text in values.SPAN_WORDS or text in values.UNSURE_DATES or "-" in text, SPANNING),
        (text in values.PREFERS, PREFERS),
        (text in STATING, STATUS),
        (_happens(text), HAPPENS),
        (text in values.TURNS, TURN),
    )
    return _together(roles)


def _happens(text: str) -> bool:
    past = text.endswith(("ed", "ó")) and len(text) > 4 and text not in values.UNEVENTFUL
    return text in values.EVENTS or (past and text not in words.STOP)


def _together(roles: Iterable[tuple[bool, int]]) -> int:
    kind = 0
    for holds, bits in roles:
        kind |= bits if holds else 0
    return kind


def _spelled(text: str, base: str, capital: int) -> int:
    if any(ord(letter) >= LATIN_END for letter in text):
        return FOREIGN
    frequency = words.COMMON if base in CANONICAL else words.classify(text)
    return COMMON if frequency == words.COMMON else UNKNOWN if frequency == words.UNKNOWN else 0
