"""How text is searched, and how a subject is recognised in it.

*Exact* is a whole name, as it is or in an encoding: ``ana@x.org`` in "write to ana@x.org.", in ``mailto:ANA%40x.org``
and inside base64. *Suspected* is what may be another person, which a person decides: a name inside a longer word
(``joana@x.org``, ``ana@x.org.uk``), without its diacritics (Jose for José), with its words joined as in an identifier
(``ana_quispe``), turned round or with other signs between them (``Quispe, Ana``, ``Ana<br>Quispe``), in two fields or
around a middle name (``{"last": "Quispe", "first": "Ana"}``, docs/decisions/0190-names-in-fields.md), with its signs in
words (``ana [at] x.org``), with letters of other scripts that look the same, in bytes of a charset that nothing names,
or with a tag (``ana+news@x.org``, which is the same mailbox only where the mail host says so).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import chain, permutations, product
from typing import Any, TypeGuard
from uuid import UUID

from memory.host import regexes
from memory.host.erasure import Remains
from memory.host.json_types import JSONMapping
from memory.text import encodings

FORGOTTEN = "[FORGOTTEN]"
SURE_BASE64 = 6  # letters of base64 that no other text has by chance
NO_TEXT = r"[^\x00-\x{10ffff}]"  # a pattern that nothing fits
# A pattern of 600,000 characters runs out of states on a long text with the beginnings of many forms, and takes twenty
# times as long as two; plain text takes the longer the more patterns there are.
MOST_MEMORY, MOST_PATTERN = 256 * 1024 * 1024, 500_000
LONGEST_SHADOW = 40  # characters; a pattern of all spellings of 256 takes half a minute to compile
LONGEST_FIELD, MOST_FIELDS = 64, 40  # characters of a field, and fields of an object, that are looked at together
MOST_APART = 4  # words of a name that are looked for apart from each other
JOINTS = "+_-."  # separators of the words of a name in an address or an identifier
# The signs of an address in words, as they are written to be read by people alone, in search form.
_AT = r"(?: ?[\[({<] ?(?:at|a|@|ät) ?[\])}>] ?| at | ?@ ?|\\?\"@)"
_DOT = r"(?:[.。｡]| ?[\[({<] ?(?:dot|punkt|\.) ?[\])}>] ?| dot )"  # stops that domains have in Asia
# What stands between the words of a name, in search form: one joint, or signs of lists, tables, paths and pages.
_BETWEEN = rf"(?:[ {re.escape(JOINTS)}]|__|(?:<[^<>]{{1,64}}>|[ ,;/|\"'\\()\[\]])+)"
# The same where each word is the value of a field, in JSON, YAML, a query or attributes, and one or two middle names.
# ``whole_text`` has NUL between parts, across which no name reaches.
_FIELD = r"[:=] ?\\{0,2}[\"']?"
_IN_FIELDS = rf"(?!\w)[^{{}}\[\]\x00]{{0,80}}?{_FIELD}"
_MIDDLE = r" (?:[^\s@:=\x00]{1,20} ){1,2}"
# The signs of an address with quotes, tags or a password around them, or as those who return mail write them.
_AT_APART = r"(?:[-_]at[-_]|=|:[^\s@/\x00]{1,64}@|(?:<[^<>]{1,64}>|[ \"'+|\\]){1,6}@(?:<[^<>]{1,64}>|[ \"'+|\\]){0,6})"
# A name in letters of Chinese, Japanese or Korean, which is written with and without a blank between its parts.
_UNSPACED = re.compile("[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,8}")
_OTHER_SCRIPTS = re.compile("[\u0370-\u058f]")
_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
Rule = Callable[[tuple[str, ...], str], bool]


class Mention(IntEnum):
    """How surely a text names the subject."""

    NONE = 0
    SUSPECTED = 1
    EXACT = 2


def search_form(text: str) -> str:
    """The form in which text is searched and subjects are matched: compatibility-normalised, casefolded, and with one
    space wherever there is white space, so that a name is found across a line break."""
    return " ".join(encodings.normalized("NFKC", text).casefold().split())


def name_form(name: str) -> str:
    """A name as it is looked for: in search form, with the apostrophes and hyphens of a keyboard, and without what
    shows nothing (a joiner in a Persian name or an emoji), as it is left out of what is searched too."""
    return search_form(encodings.typed(encodings.visible(name)))


def hidden_form(text: str) -> str:
    """What ``text`` decodes to beyond its search form, without diacritics and invisible characters, in search form.
    Empty for most texts. Stored with the search form, so that a scan for ``needles`` finds every form."""
    found = dict.fromkeys(encodings.plain_readings(text))
    if len(found) == 1 and text.isascii():
        return ""
    folded = search_form(text)
    forms = dict.fromkeys(encodings.bare(search_form(reading)) for reading in found)
    return "\n".join(form for form in forms if form and form != folded)


@lru_cache(maxsize=64)
def needles(terms: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Groups of strings: every text that mentions a name, but in a rare form, has all of one group in its search form
    or in its hidden form."""
    found: set[tuple[str, ...]] = set()
    for term in terms:
        for each in {term, _bare(term), *_otherwise(term)}:
            found |= {tuple(spelling.split("\n")) for spelling in _spellings("\n".join(_parts(each)))}
    return tuple(sorted(found))


def _parts(name: str) -> list[str]:
    """What a name has in every form of it that can be read: its words, or what stands between the signs of its
    address."""
    local, at, domain = name.partition("@")
    if at and local and domain:
        return [each for each in (local, *domain.split(".")) if each]
    return name.split()


def _may_name(terms: tuple[str, ...], folded: str) -> bool:
    return any(all(each in folded for each in group) for group in needles(terms))


def _spellings(needle: str) -> Iterator[str]:
    """``needle`` with each apostrophe and hyphen that texts have in search form."""
    apostrophes, hyphens = (
        dict.fromkeys(search_form(each) for each in (sign, *encodings.ALIKE[sign])) if sign in needle else (sign,)
        for sign in ("'", "-")
    )
    for apostrophe, hyphen in product(apostrophes, hyphens):
        yield needle.replace("'", apostrophe).replace("-", hyphen)


def _escaped(name: str) -> str:
    """A pattern for ``name`` with whichever apostrophe and hyphen."""
    pattern = re.escape(name)
    for sign, others in encodings.ALIKE.items():
        pattern = pattern.replace(re.escape(sign), f"[{re.escape(sign)}{others}]")
    return pattern


def mention(terms: tuple[str, ...], text: str) -> Mention:
    """How surely ``text``, as it was written, names the subject."""
    known, found = _patterns(terms), Mention.NONE
    for reading in encodings.readings(text):
        folded = search_form(reading)
        bare = encodings.bare(folded)
        if _may_name(terms, folded) or (bare is not folded and _may_name(terms, bare)):
            if known.whole.search(folded) or (known.spaced and known.spaced.search(_with_spaces(folded))):
                return Mention.EXACT
            if not found and known.part.search(bare):
                found = Mention.SUSPECTED
        if not found and known.shown and known.shown.search(reading):
            found = Mention.SUSPECTED
        if not found and not bare.isascii() and _OTHER_SCRIPTS.search(bare) and known.alike.search(bare):
            found = Mention.SUSPECTED
    if not found and any(known.part.search(encodings.bare(search_form(each))) for each in encodings.guesses(text)):
        found = Mention.SUSPECTED
    return found


def marks(terms: Iterable[str]) -> re.Pattern[str]:
    """The places where a text names the subject and that can be marked: the name itself, its words joined, with a tag,
    with its signs in words or without them, and a number in other groups."""
    names = tuple(terms)
    spellings = {each for name in names for each in (name, *_otherwise(name))}
    numbers = [pattern for name in names if (pattern := encodings.as_number(name))]
    return re.compile("|".join([*map(_marked, sorted(spellings, key=len, reverse=True)), *numbers]), re.IGNORECASE)


def _marked(term: str) -> str:
    local, at, domain = term.partition("@")
    if at and local and domain:
        sign = rf"(?:(?:\+[^\s@]{{0,64}})?@|{_AT}|{_AT_APART})"
        return _look_alike(local) + sign + _DOT.join(map(_look_alike, domain.split(".")))
    turned = _turned(term)
    between = rf"(?:\s+|{_BETWEEN}|{_IN_FIELDS}|{_MIDDLE})?" if _can_be_apart(turned[0]) else rf"(?:\s+|{_BETWEEN})?"
    return "|".join(between.join(map(_look_alike, words)) for words in turned)


def _turned(term: str) -> list[list[str]]:
    """The words of a name, and turned round as in a list: the last one first, and so on."""
    words = term.split()
    return [words[at:] + words[:at] for at in range(len(words))] if _is_spaced(term) else [words]


def is_exact(terms: tuple[str, ...], text: str) -> bool:
    """Whether ``text`` holds one of the names as a whole, in whatever encoding."""
    return mention(terms, text) is Mention.EXACT


def is_mentioned(terms: tuple[str, ...], text: str) -> bool:
    """Whether ``text`` holds one of the names at all, or what may be one."""
    return mention(terms, text) is not Mention.NONE


class Remembered:
    """``mention`` with a cache of short texts: an id, a label or an entry occurs in many rows, and decoding a text
    takes longer than finding it here. For one search: it holds the texts themselves."""

    LONGEST, MOST = 512, 32_768  # letters of a text, and texts

    def __init__(self) -> None:
        self._known = lru_cache(self.MOST)(mention)

    def mention(self, terms: tuple[str, ...], text: str) -> Mention:
        return self._known(terms, text) if len(text) <= self.LONGEST else mention(terms, text)

    def is_exact(self, terms: tuple[str, ...], text: str) -> bool:
        return self.mention(terms, text) is Mention.EXACT

    def is_mentioned(self, terms: tuple[str, ...], text: str) -> bool:
        return self.mention(terms, text) is not Mention.NONE


class _Patterns:
    """The names as they are looked for in one reading of a text, in search form."""

    def __init__(self, terms: tuple[str, ...]) -> None:
        self.whole = _whole(terms)
        of_words = [term for term in terms if _is_spaced(term)]
        self.spaced = _whole(of_words) if of_words else None
        parts = {_escaped(each) for term in terms for each in (term, _bare(term), *_otherwise(term))}
        spaced = [each for term in terms for each in (_bare(term), *_otherwise(term)) if _is_spaced(each)]
        turned = [list(map(_escaped, words)) for each in spaced for words in _turned(each)]
        parts |= {rf"(?:{_BETWEEN})?".join(words) for words in turned}
        parts |= {
            rf"(?<!\w){rf'(?:{_BETWEEN}|{_MIDDLE})'.join(words)}(?!\w)" for words in turned if _can_be_apart(words)
        }
        parts |= {
            rf"{_FIELD}{rf'(?:{_BETWEEN}|{_IN_FIELDS})'.join(map(_escaped, words))}(?!\w)"
            for each in spaced
            for words in _in_any_order(each)
        }
        for local, _, domain in (_bare(term).partition("@") for term in terms):
            if local and domain:
                parts.add(rf"{_escaped(local)}\+[^\s@]*@{_escaped(domain)}")
                parts.add(_escaped(local) + f"(?:{_AT}|{_AT_APART})" + _escaped(domain).replace(r"\.", _DOT))
        self.part = re.compile("|".join(sorted(parts, key=len, reverse=True)))
        shown = {form for term in terms for each in (term, _bare(term)) for form in _in_letters(each)}
        shown |= {number for term in terms if (number := encodings.as_number(term))}
        self.shown = _compiled(sorted(shown)) if shown else None
        self.alike = re.compile("|".join(map(_look_alike, sorted(map(_bare, terms), key=len, reverse=True))))


@lru_cache(maxsize=64)
def _patterns(terms: tuple[str, ...]) -> _Patterns:
    return _Patterns(terms)


def _in_letters(name: str) -> set[str]:
    return encodings.in_letters_of_base32(name[:LONGEST_SHADOW].rstrip())


def _whole(names: Iterable[str]) -> re.Pattern[str]:
    either = "|".join(_escaped(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?<!\w[.@+\-])(?:{either})(?!\w)(?![.@\-]\w)")


def _look_alike(term: str) -> str:
    """A pattern for ``term`` with letters of other scripts in the place of those that look the same."""
    return "".join(
        f"[{one}{encodings.LOOK_ALIKES[one]}]" if one in encodings.LOOK_ALIKES else _escaped(one) for one in term
    )


def _is_spaced(term: str) -> bool:
    """Whether it is a name of several words, which an address writes with a plus between them."""
    return " " in term and "@" not in term


def _in_any_order(name: str) -> Iterable[Sequence[str]]:
    """The orders in which the words of a name may stand in fields: every one of few, since an object has none."""
    words = name.split()
    if not _can_be_apart(words):
        return ()
    return list(permutations(words)) if len(words) < MOST_APART else _turned(name)


def _can_be_apart(words: list[str]) -> bool:
    """Whether the words are of a person's name, and not so many or so alike that a text could make the search long."""
    return len(set(words)) == len(words) <= MOST_APART and all(any(map(str.isalpha, word)) for word in words)


def _with_spaces(folded: str) -> str:
    return " ".join(folded.replace("+", " ").split())


def _bare(term: str) -> str:
    return encodings.bare(encodings.visible(term))


def _otherwise(term: str) -> tuple[str, ...]:
    """Spellings that may be another's name: Mueller for Müller, ONeill and O''Neill (in SQL) for O'Neill, Anne Marie
    for Anne-Marie, JRR for J.R.R., and a Chinese, Japanese or Korean name with blanks in it. In an address a sign more
    or less is another mailbox."""
    written, bare = term.translate(_TWO_LETTERS), _bare(term)
    found = [encodings.bare(written)] if written != term else []
    if "@" not in term:
        found += [bare.replace("'", sign).replace("-", " ") for sign in ("'", "")]
        found += [bare.replace("'", sign) for sign in ("", "''")]
        found += [bare.replace(".", sign) for sign in ("", " ")] if _is_spaced(term) else []
        found += [" ".join(bare)] if _UNSPACED.fullmatch(bare) else []
    return tuple(each for each in dict.fromkeys(" ".join(each.split()) for each in found) if each not in {term, bare})


def _in_words(term: str) -> set[str]:
    """The name with its words joined, or with the signs of an address in words."""
    found: set[str] = set()
    for name in (term, _bare(term)):
        local, at, domain = name.partition("@")
        found |= (
            {name.replace(" ", joint) for joint in ("", *JOINTS, "\n", "\u00a0", "%20")} if _is_spaced(term) else set()
        )
        signs = product(("[at]", " [at] ", "(at)", " (at) ", " at "), (".", "[dot]", " dot ")) if at and local else ()
        found |= {f"{local}{sign}{domain.replace('.', dot)}" for sign, dot in signs}
    return found


class _Shadow:
    """Patterns (RE2) of the forms in which a text may name the subject: of all, of those in base64 and hex, of those in
    base32, of the others. The latter three are compiled for the first text that has one of all."""

    def __init__(self, payloads: list[str], in_base32: list[str], others: list[str]) -> None:
        self._payloads, self._in_base32, self._others = payloads or [NO_TEXT], in_base32 or [NO_TEXT], others
        self.anyhow = _compiled([*payloads, *in_base32, *others])

    @cached_property
    def payload(self) -> Any:
        return _compiled(self._payloads)

    @cached_property
    def in_base32(self) -> Any:
        return _compiled(self._in_base32)

    @cached_property
    def other(self) -> Any:
        return _compiled(self._others)


class _Either:
    """Two patterns as one."""

    def __init__(self, *patterns: Any) -> None:
        self._patterns = patterns

    def search(self, text: str) -> Any:
        return next((found for each in self._patterns if (found := each.search(text))), None)

    def finditer(self, text: str) -> Iterator[Any]:
        return chain.from_iterable(each.finditer(text) for each in self._patterns)


def _compiled(forms: list[str]) -> Any:
    """A pattern for any of the forms; of many long ones several, since RE2 has room for so much in one."""
    if len(forms) > 1 and sum(map(len, forms)) > MOST_PATTERN:
        half = len(forms) // 2
        return _Either(_compiled(forms[:half]), _compiled(forms[half:]))
    return regexes.compile_once("|".join(forms), memory=MOST_MEMORY)


@lru_cache(maxsize=1)  # 25 to 50 MB
def _shadow(terms: tuple[str, ...]) -> _Shadow:
    found: dict[str, None] = {}
    payloads: dict[str, None] = {}
    in_base32: dict[str, None] = {}
    for name in terms:
        # What begins like a long name is enough: it finds more, never less.
        spellings = (_bare(name), *_otherwise(name))
        turned = [" ".join(words)[:LONGEST_SHADOW].rstrip() for each in spellings for words in _turned(each)[1:]]
        term = name[:LONGEST_SHADOW].rstrip()
        local, at, domain = _bare(term).partition("@")
        found |= dict.fromkeys(encodings.spelled(each) for each in (term, _bare(term), *_otherwise(term)))
        found |= dict.fromkeys(map(encodings.spelled, turned))
        if at and local and domain:
            tag, sign = r"[^\s@]{0,64}", encodings.spelled("@")
            found[encodings.spelled(f"{local}+") + tag + sign + encodings.spelled(domain)] = None
            labels = _DOT.join(map(encodings.spelled, domain.split(".")))
            found[f"{encodings.spelled(local)}(?i:{_AT}){labels}"] = None
        if not term.isascii():
            found[encodings.spelled(encodings.in_punycode(term))] = None
        if number := encodings.as_number(term):
            found[number] = None
        plain = {term, _bare(term), *_otherwise(term)}
        for each in sorted(plain | _in_words(term)):
            payloads |= dict.fromkeys(sorted(encodings.in_base64(each, shortest=SURE_BASE64)))
        for each in sorted({term, _bare(term)}):
            in_base32 |= dict.fromkeys(sorted(encodings.in_base32(each)))
            found |= dict.fromkeys([*sorted(_in_letters(each)), encodings.in_list_of_bytes(each)])
            payloads |= dict.fromkeys(sorted(encodings.in_other_charsets(each, shortest=SURE_BASE64)))
        for each in sorted({form for one in plain for form in encodings.written_whole(one)} - plain):
            payloads |= dict.fromkeys(sorted(encodings.in_base64(each, shortest=SURE_BASE64, twice=False)))
    return _Shadow(list(payloads), list(in_base32), list(found))


def shadows(terms: tuple[str, ...], text: str) -> bool:
    """Whether ``text`` may mention a name: by searching the text for the name's encodings, without decoding.

    A receipt relies on it: a second way, apart from ``mention``, for the same forms. Base64 letters that are all lower
    case count as words in both, since nothing distinguishes them from words.
    """
    known = _shadow(terms)
    if known.anyhow.search(text) is None:  # most texts have none
        return False
    return (
        known.other.search(text) is not None
        or any(not encodings.is_in_words(text, *found.span()) for found in known.payload.finditer(text))
        or not encodings.is_in_words_32(text, (found.span() for found in known.in_base32.finditer(text)))
    )


def texts_in(value: object) -> list[str]:
    """Every string and every number inside a JSON value, the keys of objects too: a telephone number may be either."""
    found: list[str] = []
    _collect(value, found.append)
    return found


def _collect(value: object, keep: Callable[[str], None]) -> None:
    if isinstance(value, str):
        keep(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            keep(key)
            _collect(item, keep)
    elif isinstance(value, list):
        if said := encodings.said_by_bytes(value):
            keep(said)
        for item in value:
            _collect(item, keep)
    elif is_number(value):
        keep(json.dumps(value))


def passages_in(value: object) -> list[str]:
    """``texts_in``, and the short texts of each object together: a name may have a field for each of its words."""
    found: list[str] = []
    _collect(value, found.append)
    _collect_fields(value, found.append)
    return found


def _collect_fields(value: object, keep: Callable[[str], None]) -> None:
    if isinstance(value, dict):
        if fields := _fields_of(value):
            keep(fields)
        for item in value.values():
            _collect_fields(item, keep)
    elif isinstance(value, list):
        for item in value:
            _collect_fields(item, keep)


def _fields_of(value: JSONMapping) -> str:
    """The short texts of an object as one; "" when there are none that could be the words of a name."""
    fields = {name: item for name, item in value.items() if isinstance(item, str) and 0 < len(item) <= LONGEST_FIELD}
    return (
        "; ".join(f"{name}: {item}" for name, item in sorted(fields.items())) if 1 < len(fields) <= MOST_FIELDS else ""
    )


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole_text(value: object) -> str:
    """All that a JSON value says as one text, for a look that knows nothing of which part holds what. What ends in one
    part and begins in the next is no name, but for the fields of one object."""
    return "\x00".join(passages_in(value))


def mentioned_in(terms: tuple[str, ...], value: object, rule: Rule = is_mentioned) -> bool:
    """Whether any string inside a JSON value names the subject, by ``rule``, or the fields of an object do."""
    return any(rule(terms, text) for text in passages_in(value))


def without_subject(terms: tuple[str, ...], value: object, rule: Rule) -> Any:
    """A JSON value in which every string that names the subject, by ``rule``, is replaced as a whole, keys too; and
    where the fields of an object name it together, each that has a word of it."""
    if isinstance(value, str):
        return FORGOTTEN if rule(terms, value) else value
    if is_number(value):
        return FORGOTTEN if rule(terms, json.dumps(value)) else value
    if isinstance(value, list):
        if (said := encodings.said_by_bytes(value)) and rule(terms, said):
            return FORGOTTEN
        return [without_subject(terms, item, rule) for item in value]
    if isinstance(value, dict):
        replaced = (tuple(without_subject(terms, each, rule) for each in member) for member in value.items())
        rest = encodings.all_members(replaced)
        if (fields := _fields_of(rest)) and rule(terms, fields):
            words = [word for term in terms for word in _parts(_bare(term))]
            return encodings.all_members((_unless_among(words, key), _unless_among(words, rest[key])) for key in rest)
        return rest
    return value


def _unless_among(words: Sequence[str], value: Any) -> Any:
    """The value, unless it is a text that holds one of these words in any form."""
    if not isinstance(value, str):
        return value
    readings = (encodings.bare(search_form(reading)) for reading in encodings.readings(value))
    return FORGOTTEN if any(word in reading for reading in readings for word in words) else value


def rule_for(*, ticked: bool) -> Rule:
    """What goes of a row: whole names; of one that a person ticked, every mention."""
    return is_mentioned if ticked else is_exact


def judged(
    terms: tuple[str, ...], found: Iterable[tuple[UUID, str]], chosen: frozenset[UUID], spared: frozenset[UUID]
) -> Remains:
    """What is left among ``found`` rows and their texts: whole names and ticked rows had to go.

    A text is looked through for the encodings of the names; only what has one is decoded, to see how sure it is.
    """
    return counted(((row, second_look(terms, text)) for row, text in found), chosen, spared)


def counted(found: Iterable[tuple[UUID, Mention]], chosen: frozenset[UUID], spared: frozenset[UUID]) -> Remains:
    """What is left among rows that were looked at already."""
    left = undecided = 0
    for row, how in found:
        had_to_go = how is Mention.EXACT or (how is Mention.SUSPECTED and row in chosen)
        left += had_to_go
        undecided += how is Mention.SUSPECTED and not had_to_go and row not in spared
    return Remains(left, undecided)


def second_look(terms: tuple[str, ...], text: str) -> Mention:
    """How surely ``text`` names the subject, found by another path than ``mention``: what has the look of an encoded
    name is suspected at least, whatever it decodes to."""
    if shadows(terms, text):
        return max(mention(terms, text), Mention.SUSPECTED)
    return mention(terms, text) if _may_name(terms, encodings.bare(search_form(text))) else Mention.NONE
