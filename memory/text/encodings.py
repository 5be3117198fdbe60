"""The forms in which a text can be written: how a value is encoded, and what an encoded text says.

``forms_of`` encodes a needle, for redaction and for the verification of a forget; ``readings`` decodes a haystack, for
the finding. The two know the same forms and share no code path.

``plain_readings`` are those that are stored with an entry when it is written. The others are rare: hex, base32, UTF-16
inside of bytes, words of mail headers in other charsets, escapes of CSS and ``%u``. A forget alone decodes them.
"""

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from encodings.aliases import aliases
from functools import lru_cache
from html.entities import html5
from itertools import chain, compress, groupby, product
from typing import Any, Literal
from urllib.parse import quote, unquote

from memory.host.json_types import JSONObject
from memory.text.storable import UNSTORABLE

SHORTEST_BASE64 = 8
SHORTEST_BASE32 = 8  # letters, which no other text has by chance: 40 bits
SHORTEST_NUMBER = 7  # digits
SHORTEST_LIST = 5  # bytes
SHORTEST_RUN = 7  # of letters of base64 that are decoded: five letters, without padding
ROUNDS = 4  # how often a text is decoded again: %2540 is two, base64 of a percent-encoded address is two
PAYLOADS = 2  # how deep base64 inside base64 is opened

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
URL_ALPHABET = ALPHABET[:-2] + "-_"
BASE64_LETTERS = frozenset(ALPHABET + URL_ALPHABET)
ALPHABET_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# The bytes of which one stands at a place.
Choice = tuple[int, ...] | range
ANY_BYTE, NO_BYTE = range(256), (0,)

# Invisible characters: soft hyphen, joiners, marks of direction, variation selectors, tags.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e007f"
)
# Signs that programs put in the place of the one that is typed: O\u2019Brien for O'Brien.
ALIKE = {"'": "\u2019\u2018\u02bc", "-": "\u2010\u2011\u2013"}
_TYPED = {ord(other): typed for typed, others in ALIKE.items() for other in others}
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_JSON_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\})"
)
_JSON_NUMBER = re.compile(r"\\u([0-9a-f]{4})")
_QUOTED = re.compile(r"(?:=[0-9A-Fa-f]{2})+|=\r?\n")
# A label of a domain has 63 letters. To decode one takes time by the square of its length.
_PUNYCODE = re.compile(r"(?i)\bxn--[a-z0-9-]{1,252}+(?![a-z0-9-])")
# A run that may be base64: with its padding at least two groups.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
# What breaks base64 into lines or groups, in a text and in JSON.
FOLD = r"(?:[ \t\r\n]|\\[rn])*"
ESCAPED_BREAK = re.compile(r"\\[rn]")
# Possessive loops, for long blanks. Not over a group in which something that can fail follows a loop: before Python
# 3.11.5 the match would hold what the failed round has read, too.
_BREAK = re.compile(r"(?:[ \t\r\n]|\\[rn])++")
# A break without letters behind it is taken too: the letter in "\\n" could begin a run of its own, at each of many.
_BROKEN = re.compile(
    rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]++(?:(?:{_BREAK.pattern}[A-Za-z0-9+/_-]++)+|{_BREAK.pattern})"
)
_PIECE = re.compile(rf"([A-Za-z0-9+/_-]++)((?:{_BREAK.pattern})?)")
_MAY_GO_ON = re.compile(rf"(?:[A-Za-z0-9+/_-]|{_BREAK.pattern})++\\?")
_BEHIND_THE_FIRST = re.compile(r"[A-Z0-9+/_-]")
_PERCENT_LAYERS = re.compile(r"%(?:25)+(?=[0-9A-Fa-f]{2})")
_ENTITY_LAYERS = re.compile(r"(?i)&(?:amp;)+(?=[#a-z])")
# A word of a mail header in a charset (RFC 2047), and the end of one with the beginning of the next.
_HEADER_WORD = re.compile(r"=\?([A-Za-z0-9_.:+-]{1,40})(?:\*[A-Za-z0-9-]{0,20})?\?([bBqQ])\?([^?\s]{0,1000}+)\?=")
_BETWEEN_WORDS = re.compile(r"\?=\s+=\?")
# Charsets of texts, by every name that they have; codecs of bytes to bytes, and slow ones, are none.
_CHARSETS = {name: known for name, known in aliases.items() if not known.endswith("_codec") and known != "rot_13"}
_CHARSETS |= {known: known for known in _CHARSETS.values()}
# Charsets that a byte is tried in when nothing says which it is in; and those that mail and files name besides.
GUESSED = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "iso8859_2", "koi8_r", "gb18030", "shift_jis", "euc_kr")
NAMED = ("iso8859_5", "iso8859_7", "iso8859_9", "iso8859_15", "big5", "euc_jp")
_UTF_16 = ("utf_16_le", "utf_16_be")
# Bytes as programs print them: b'Micha\xc5\x82' of Python, "Micha\305\202" of git.
_BYTES_IN_HEX = re.compile(r"(?:\\x[89a-fA-F][0-9a-fA-F]){2,}")
_BYTES_IN_OCTAL = re.compile(r"(?:\\[23][0-7]{2}){2,}")
# UTF-8 that was read as an older charset.
_MISREAD = re.compile(
    "[\u0080-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2,}"
)
# Bytes as a list of numbers, as JSON has them of a buffer.
_COMMA = r"\s*,\s*"
_LIST_OF_BYTES = re.compile(r"(?<!\d)\d{1,3}(?:\s*+,\s*+\d{1,3}(?!\d)){4,}")
# The code of a country (E.164).
_COUNTRY = re.compile(r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3}")
# What stands between the groups of a number.
_GROUPED = "[ \u00a0\u2009\u202f\t\r\n.,()/_\u2010\u2011\u2013-]{0,3}"
# Marks of Markdown that show nothing: those of emphasis, and a backslash before a sign.
_MARKDOWN = re.compile(r"\\([!-/:-@\[-`{-~])|[*`~]+|(?<![^\W_])_+|_+(?![^\W_])")
_MARKS = re.compile(r"[\\*`~_]")
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})[ \t\n]?")
_PERCENT_U = re.compile(r"%(?:25)*u([0-9a-fA-F]{4})", re.IGNORECASE)
# A run of bytes in hex, with what stands between them in dumps and in literals.
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}(?:[ :,-]|0x)?){5,}+")
# A run that may be base32: in capitals, which may be broken into lines or groups, or in small letters.
_BASE32 = re.compile(rf"[A-Z2-7]++(?:{_BREAK.pattern}[A-Z2-7]++)*=?|[a-z2-7]{{8,}}+=?")
_MORE_THAN_WORDS = re.compile("[2-7=]")
_AS_DIGITS = {ord(case): digit for one, digit in zip(ALPHABET_32, "0123456789abcdefghijklmnopqrstuv", strict=True)
              for case in (one, one.lower())}  # fmt: skip
_NO_HEX = re.compile(r"0x|[^0-9a-fA-F]")
# Letters of other scripts that look like one of ours, in either case; both are casefolded before they are compared.
LOOK_ALIKES = {
    "a": "\u0430\u03b1", "b": "\u0432\u03b2\u044c", "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u0451\u03b5",
    "g": "\u0261", "h": "\u043d\u04bb\u03b7", "i": "\u0456\u0457\u03b9\u04cf", "j": "\u0458\u03f3", "k": "\u043a\u03ba",
    "l": "\u04cf\u0456", "m": "\u043c\u03bc", "n": "\u03bd\u03b7\u043f", "o": "\u043e\u03bf\u03c3\u0585",
    "p": "\u0440\u03c1", "q": "\u051b", "r": "\u0433", "s": "\u0455", "t": "\u0442\u03c4", "u": "\u03c5\u057d",
    "v": "\u03bd\u0475", "w": "\u051d\u03c9", "x": "\u0445\u03c7", "y": "\u0443\u03c5\u03b3\u04af", "z": "\u03b6",
}  # fmt: skip
_PRINTABLE = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]{5,}")
_LETTERS = str.maketrans(
    {
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "\u0131": "i",
        "ħ": "h",
        "ŧ": "t",
        "ß": "ss",
        "\u06cc": "\u064a",  # the same letter on a Persian and on an Arabic keyboard, as the next two
        "\u0649": "\u064a",
        "\u06a9": "\u0643",
        "\u0629": "\u0647",
        "\u0640": "",  # draws the letters of Arabic out
    }
)
# More than any letter has. Marks are no letters, but for two of Japanese.
_MANY_MARKS = re.compile("(?:[^\\w\x00-\u02ff]|[\uff9e\uff9f]){32,}")
Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
# What bare() takes away behind a letter: of most scripts diacritics, of Hebrew and Arabic vowels and other points too.
_DIACRITICS = "[\u0300-\u036f]*"
_POINTS = "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]*"
_STAYING = [combining < 10 or 36 < combining < 200 for combining in range(256)]  # by combining class
# The letters that are one of these without its diacritics.
_ACCENTED: dict[str, str] = {}
_NAMES: dict[str, list[str]] = {}
for _name, _letter in html5.items():
    if len(_letter) == 1 and _name.endswith(";"):
        _NAMES.setdefault(_letter, []).append(_name)


def forms_of(value: str) -> set[str]:
    """The value as it is; escaped for JSON, for JSON inside JSON (the arguments of a tool call) and for HTML;
    percent-encoded, once and twice; in hex; and as base64 at each of the three alignments, also of what is escaped for
    JSON."""
    raw = value.encode("utf-8", "surrogatepass")
    escaped, most_used = _json_forms(value, _JSON_WRITERS), _json_forms(value, _JSON_WRITERS[:3])
    in_base64 = {form for each in {value, *most_used} for form in _base64_forms(each.encode("utf-8", "surrogatepass"))}
    escaped |= {json.dumps(each, ensure_ascii=False)[1:-1] for each in escaped}
    whole = quote(value, safe="")
    encoded = {whole, whole.replace("%2F", "/"), whole.replace("%20", "+"), whole.replace("%", "%25")}
    lowered = {_lower_escapes(form) for form in encoded}
    in_hex = {raw.hex(), raw.hex().upper()} if 2 * len(raw) >= SHORTEST_BASE64 else set()
    return {value} | escaped | _html_forms(value) | encoded | lowered | in_hex | in_base64


def _json_forms(value: str, ways: Iterable[tuple[bool, str, bool]]) -> set[str]:
    """Escaped for JSON in each of the ways, which are of ``_JSON_WRITERS``."""
    if value.isascii() and value.isalnum():
        return {value}
    return {_as_json(value, *way) for way in ways}


def _as_json(value: str, ascii_only: bool, letters: str, in_capitals: bool) -> str:
    """``letters`` are escaped too: a slash as ``\\/``, any other by its number."""
    text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    for letter in letters:
        text = text.replace('\\"' if letter == '"' else letter, "\\/" if letter == "/" else f"\\u{ord(letter):04x}")
    return _JSON_NUMBER.sub(lambda found: f"\\u{found[1].upper()}", text) if in_capitals else text


# How programs escape JSON: ASCII only, further letters, numbers in capitals. The first three are known inside base64.
_JSON_WRITERS = (
    (True, "", False),  # Python
    (False, "", False),  # JavaScript
    (False, "<>&", False),  # Go, Rails
    (True, "", True),  # Jackson, Newtonsoft
    (True, "/", False),  # PHP
    (False, "/", False),  # PHP, without escapes of Unicode
    (False, "<>&='", False),  # Gson
    (True, "<>&", True),  # Django's scripts
    (True, "<>&'", False),  # Jinja
    (True, "<>&'\"+`", True),  # .NET
)


def _html_forms(value: str) -> set[str]:
    """As the text of a page and as an attribute, whose quotes programs write in different ways."""
    text = html.escape(value, quote=False)
    quotes = product(('"', "&quot;", "&#34;"), ("'", "&#x27;", "&#39;"))
    return {text.replace('"', double).replace("'", single) for double, single in quotes}


def _lower_escapes(form: str) -> str:
    parts = form.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _base64_forms(raw: bytes) -> set[str]:
    """The part of ``raw`` that is the same in base64 and base64url, with any bytes before and after it."""
    forms = set()
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + raw).decode()
        first = (0, 2, 3)[shift]
        loose = (shift + len(raw)) % 3
        last = len(text) - (0, 3, 2)[loose] if loose else len(text)
        core = text[first:last]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= SHORTEST_BASE64}


def written_whole(value: str) -> set[str]:
    """``value`` as programs write it into a text that is encoded then: all characters in one way, or some kind of them,
    with the others as they are."""
    escaped = json.dumps(value)[1:-1]
    found = {
        escaped,
        json.dumps(escaped)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote(quote(value, safe=""), safe=""),
    }
    found |= {unicodedata.normalize("NFD", value), in_punycode(value)}
    printed = product(*(f"{typed}{others}" if typed in value else typed for typed, others in ALIKE.items()))
    found |= {value.translate(dict(zip(map(ord, ALIKE), signs, strict=True))) for signs in printed}
    for way, those in product(_WAYS, _LETTERS_WRITTEN_SO):
        found.add("".join(way(one) if those(one) else one for one in value))
    return found - {value}


def _in_percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))


def _named_entity(letter: str) -> str:
    return f"&{min(_NAMES[letter])}" if letter in _NAMES else letter


_WAYS: tuple[Callable[[str], str], ...] = (
    _in_percent,
    lambda letter: _in_percent(letter).replace("%", "="),
    lambda letter: f"&#{ord(letter)};",
    lambda letter: f"&#x{ord(letter):x};",
    lambda letter: json.dumps(letter)[1:-1] if not letter.isascii() else f"\\u{ord(letter):04x}",
    lambda letter: chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter,
    _named_entity,
)


_LETTERS_WRITTEN_SO: tuple[Callable[[str], bool], ...] = (
    lambda letter: True,
    lambda letter: not (letter.isascii() and letter.isalnum()),
    lambda letter: not letter.isascii(),
    lambda letter: letter.isascii() and not letter.isalnum(),
    lambda letter: letter in "@'",
)


def in_base64(value: str, *, shortest: int = SHORTEST_BASE64, twice: bool = True, charset: str = "utf-8") -> set[str]:
    """Patterns (RE2) for ``value``, in either case of each letter, at each alignment of base64 and base64url, and with
    ``twice`` of base64 inside base64; the encoded text may be broken anywhere. What has one says ``value`` when it is
    decoded. None where ``charset`` has not all of its letters."""
    ways = [_ways(letter, charset) for letter in value]
    if not all(ways):
        return set()
    once = list(_aligned(_bytes_of(ways), shortest))
    inner = once if twice else []
    again = [each for one in inner for each in _aligned([tuple(letters.encode()) for letters in one], shortest)]
    return {FOLD.join(_one_of(letters) for letters in each) for each in (*once, *again)}


def in_base32(value: str) -> set[str]:
    """Patterns (RE2) for ``value``, in either case of each letter, at each alignment of base32: in capitals that may be
    broken anywhere, or in small letters."""
    ways = [_ways(letter) for letter in value]
    found = set()
    for each in _aligned(_bytes_of(ways), SHORTEST_BASE32, bits=5):
        found |= {FOLD.join(map(_one_of, each)), "".join(map(_one_of, each)).lower()}
    return found


def as_number(value: str) -> str:
    """A pattern (RE2) for a number, such as of a telephone or an account, in whatever groups, and for one with the code
    of its country as it is dialled there; "" when it is none."""
    signs = re.sub(r"[\s./()+-]", "", value)
    digits = sum(each.isdigit() for each in signs)
    if not (signs.isascii() and signs.isalnum() and digits >= SHORTEST_NUMBER and digits >= 0.6 * len(signs)):
        return ""
    forms = [f"(?i:{_GROUPED.join(signs)})"]
    prefix = "00" if signs.startswith("00") else ""
    if signs.isdigit() and (prefix or value.lstrip().startswith("+")):
        code = _COUNTRY.match(signs, len(prefix))
        national = signs[code.end() :] if code else ""
        if code and len(national) >= SHORTEST_NUMBER:
            abroad = rf"(?:(?:00)?{_GROUPED.join(code[0])}{_GROUPED})?"
            forms.append(rf"\b{abroad}(?:(?:06?|8){_GROUPED})?{_GROUPED.join(national)}\b")
    return "|".join(forms)


def said_by_bytes(value: list[Any]) -> str:
    """What a list of bytes says, as JSON has it of a buffer; "" when it is none."""
    is_one = len(value) >= SHORTEST_LIST and all(type(each) is int and 0 <= each < 256 for each in value)
    return _storable(bytes(value).decode(errors="replace")) if is_one else ""


def in_list_of_bytes(value: str) -> str:
    """A pattern (RE2) for the bytes of ``value``, in either case of each letter, as a list of numbers."""
    letters = ("|".join(_COMMA.join(map(str, way)) for way in _ways(letter)) for letter in value)
    return rf"\b{_COMMA.join(f'(?:{each})' for each in letters)}\b"


def in_letters_of_base32(value: str) -> set[str]:
    """Patterns (RE2) for ``value`` in base32 that has no digit there, as a word has none, in either case. Few names
    have one: of 32 letters six are digits."""
    ways = [_ways(letter) for letter in value]
    found = set()
    for each in _aligned(_bytes_of(ways), SHORTEST_BASE32, bits=5):
        letters = ["".join(filter(str.isalpha, one)) for one in each]
        if all(letters):
            found.add(f"(?i:{''.join(map(_one_of, letters))})")
    return found


def _bytes_of(ways: list[list[bytes]]) -> list[Choice]:
    """The choices for each byte of letters of which each is written in one of its ways."""
    return [tuple(sorted({way[place] for way in each})) for each in ways for place in range(len(each[0]))]


def _aligned(choices: list[Choice], shortest: int, *, bits: int = 6) -> Iterator[list[str]]:
    """The base64 letters (base32 with 5 ``bits``) of bytes with a few choices each, at each alignment; the first and
    the last letter share bits with neighbouring bytes. At least ``shortest`` letters do not."""
    for shift in range({6: 3, 5: 5}[bits]):
        begin, end = 8 * shift, 8 * (shift + len(choices))
        if end // bits - -(-begin // bits) >= shortest:
            padded = [ANY_BYTE] * shift + choices + [ANY_BYTE]
            places = (divmod(bits * number, 8) for number in range(begin // bits, -(-end // bits)))
            yield [
                _letters_at(padded[first], padded[first + 1] if offset + bits > 8 else NO_BYTE, offset, bits)
                for first, offset in places
            ]


def _ways(letter: str, charset: str = "utf-8") -> list[bytes]:
    """The bytes of a letter in each case that has as many of them; none where the charset has it not."""
    try:
        known = letter.encode(charset, "surrogatepass") if charset == "utf-8" else letter.encode(charset)
    except UnicodeError:
        return []
    others = (each.encode(charset, "ignore") for each in (letter.upper(), letter.lower()))
    return [known, *(each for each in others if len(each) == len(known))]


def in_other_charsets(value: str, *, shortest: int) -> set[str]:
    """Patterns (RE2) for ``value`` in base64 of UTF-16, and in that of the charsets that mail names; and for its bytes
    in hex, those of UTF-16 too."""
    charsets = _UTF_16 if value.isascii() else (*_UTF_16, *GUESSED, *NAMED)
    found = {each for name in charsets for each in in_base64(value, shortest=shortest, twice=False, charset=name)}
    for charset in ("utf-8", *charsets):
        ways = [_ways(letter, charset) for letter in value]
        if all(ways) and 2 * sum(len(each[0]) for each in ways) >= SHORTEST_BASE64:
            pairs = (
                f"(?:{'|'.join(sorted({way[at : at + 1].hex() for way in each}))})"
                for each in ways
                for at in range(len(each[0]))
            )
            found.add(f"(?i:{r'(?:[ :,-]|0x)?'.join(pairs)})")
    return found


@lru_cache(maxsize=1024)
def _in_charsets(letter: str) -> frozenset[bytes]:
    """The bytes of a letter beyond ASCII in the charsets that nothing needs to name."""
    ways = (way for charset in (*GUESSED, *NAMED) for way in _ways(letter, charset))
    return frozenset(way for way in ways if way != letter.encode())


# A name is looked for at hundreds of thousands of places, but in only a few thousand pairs of bytes.
@lru_cache(maxsize=8192)
def _letters_at(choice: Choice, behind: Choice, offset: int, bits: int) -> str:
    """The letters of base64 that six bits may be, or of base32 that five, from the bit ``offset`` of a byte on."""
    most = (1 << bits) - 1
    values = {((high << 8 | low) >> (16 - bits - offset)) & most for high in choice for low in behind}
    alphabets = (ALPHABET, URL_ALPHABET) if bits == 6 else (ALPHABET_32,)
    return "".join(sorted({alphabet[each] for each in values for alphabet in alphabets}))


@lru_cache(maxsize=4096)
def _one_of(letters: str) -> str:
    return f"[{re.escape(letters)}]" if len(letters) > 1 else re.escape(letters)


def in_punycode(value: str) -> str:
    """``value`` with the labels of a domain as they are looked up."""
    labels = re.split(r"([@.])", value)
    known = (each if each.isascii() else f"xn--{each.encode('punycode').decode()}" for each in labels)
    return "".join(known)


def spelled(value: str) -> str:
    """A pattern (RE2) for ``value`` with each character as it is, percent-encoded, as an entity, escaped as in JSON or
    quoted-printable, in either case, and with characters between them that show nothing."""
    between = (
        f"[{INVISIBLE}]*|&shy;|&#173;|&#x0*ad;|%c2%ad|=c2=ad|\\\\+u00ad|%e2%80%8[b-f]|\\\\+u200[b-f]|&zwn?j;|=\\r?\\n"
        r"|\?=\s*=\?[A-Za-z0-9_.:+*-]{1,60}\?[bq]\?|[*`~]"
    )
    return f"(?i:{f'(?:{between})*'.join(_one_spelled(letter) for letter in value)})"


# What stands between the words of a name in tables, lists, paths and pages, as it is or encoded.
_APART = (
    r"(?:\s|\+|%20|%09|%0[ad]|&nbsp;|[,;/|\"'\\]|%2c|%2f|%3b|%7c|%5c|%22|&quot;|&#34;|&#39;|\\+[nrt]|\\+u002[0-9a-f]"
    r"|<[^<>]{1,64}>|&lt;[^<>&]{1,64}&gt;|%3c[^<>]{1,64}?%3e|\\+u003c[^<>]{1,64}?\\+u003e)+"
)


def _one_spelled(letter: str) -> str:
    if letter == " ":
        blank = (
            r"(?:\s|%20|\+|&nbsp;|&#32;|&#160;|&#x0*20;|&#x0*a0;|%c2%a0|=20|\\+[nrt]|\\+u00[2a]0|%0[9ad]"
            r"|\\0*[2a]0\s?|%(?:25)*u00[2a]0)+"
        )
        return f"_*(?:{'|'.join([blank, _APART, *map(_one_spelled, '_-.')])})?_*"
    ways = []
    alike = LOOK_ALIKES.get(letter, "")
    for each in dict.fromkeys((letter, letter.upper(), letter.lower(), *ALIKE.get(letter, ""), *alike, *alike.upper())):
        raw, code = each.encode("utf-8", "surrogatepass"), "".join(f"{ord(one):04x}" for one in each[:1])
        ways += [
            re.escape(each),
            "".join(f"%(?:25)*{byte:02x}" for byte in raw),
            "".join(f"={byte:02x}" for byte in raw),
        ]
        ways += (
            [
                rf"&(?:amp;)*#0*{ord(each[0])};?",
                f"&(?:amp;)*#x0*{ord(each[0]):x};?",
                rf"\\+u{code}",
                rf"\\0*{ord(each):x}\s?",
                f"%(?:25)*u{code}",
            ]
            if len(each) == 1
            else []
        )
        if len(raw) > 1:
            ways += ["".join(rf"\\+x{byte:02x}" for byte in raw), "".join(rf"\\+{byte:03o}" for byte in raw)]
            ways += [re.escape(read) for charset in ("cp1252", "latin-1") if (read := raw.decode(charset, "ignore"))]
        ways += [rf"\\+x{ord(each):02x}"] if len(each) == 1 and ord(each) < 256 else []
        ways += [f"&(?:amp;)*{re.escape(name)}" for name in _NAMES.get(each, ())]
        for raw in sorted(_in_charsets(each)) if not each.isascii() and each not in alike else ():
            ways += ["".join(_one_escaped(byte) for byte in raw)]
        decomposed = unicodedata.normalize("NFD", each)
        ways += [re.escape(decomposed)] if decomposed != each else []
        ways += [f"[{_ACCENTED[each]}]"] if each in _ACCENTED else []
        ways += [chr(ord(each) + 0xFEE0)] if len(each) == 1 and "!" <= each <= "~" else []
    quoted = "" if letter.isalnum() else r"\\?"
    points = _POINTS if "\u0590" <= letter < "\u0780" else _DIACRITICS
    return f"{quoted}(?:{'|'.join(dict.fromkeys(ways))}){points}"


def _one_escaped(byte: int) -> str:
    """A pattern for a byte as links and mail write it: of two bytes of a letter the second may be one of ASCII."""
    escaped = f"[%=](?:25)*{byte:02x}"
    return escaped if byte >= 0x80 else f"(?:{escaped}|{re.escape(chr(byte))})"


def readings(text: str) -> Iterator[str]:
    """``text`` as it is, and then everything that it decodes to."""
    yield text
    if _MARKS.search(text):
        yield _MARKDOWN.sub(r"\1", text)
    yield from _decoded(text, {text}, PAYLOADS, rare=True)


def plain_readings(text: str) -> Iterator[str]:
    """``text`` as it is, and what it decodes to without the rare forms."""
    yield text
    yield from _decoded(text, {text}, PAYLOADS, rare=False)


def guesses(text: str) -> Iterator[str]:
    """What ``text`` may say where its percent-encoded or quoted-printable bytes are in a charset that nothing names."""
    percents = [_PERCENT_LAYERS.sub("%", text)] if "%" in text else []
    percents += [text.replace("%", "%25").replace("=", "%")] if "=" in text else []
    for raw in percents:
        if "\ufffd" in unquote(raw, errors="replace"):
            yield from dict.fromkeys(_storable(unquote(raw, charset, "replace")) for charset in GUESSED)


def bare(text: str) -> str:
    """``text`` without its diacritics, and without the points of Hebrew and Arabic; marks that are letters of a script
    stay."""
    if text.isascii():
        return text
    spread = normalized("NFD", text.translate(_LETTERS))
    marks = map(unicodedata.combining, spread)
    return unicodedata.normalize("NFC", "".join(compress(spread, map(_STAYING.__getitem__, marks))))


def normalized(form: Form, text: str) -> str:
    """``unicodedata.normalize``, in time by the length of the text.

    Python puts the marks behind a letter in order by the square of their number; here they come to it in order.
    """
    if text.isascii():
        return text
    spread: Form = "NFKD" if "K" in form else "NFD"
    return unicodedata.normalize(form, _MANY_MARKS.sub(lambda found: _in_order(spread, found[0]), text))


def _in_order(form: Form, marks: str) -> str:
    spread = "".join(unicodedata.normalize(form, each) for each in marks)
    runs = (list(run) for _, run in groupby(spread, key=lambda each: unicodedata.combining(each) > 0))
    return "".join(chain.from_iterable(sorted(run, key=unicodedata.combining) for run in runs))


def typed(text: str) -> str:
    """``text`` with the apostrophes and hyphens that a keyboard has."""
    return text if text.isascii() else text.translate(_TYPED)


def visible(text: str) -> str:
    """``text`` without what shows nothing."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


for _code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x620, 0x6D4), *range(0x1E00, 0x2000)):
    _letter = chr(_code)
    if len(_plain := bare(_letter.lower())) == 1 and _plain != _letter.lower():
        _ACCENTED[_plain] = _ACCENTED.get(_plain, "") + _letter


def _decoded(text: str, seen: set[str], depth: int, *, rare: bool) -> Iterator[str]:
    """Every reading of ``text`` but itself; ``seen`` are those that were given already."""
    starts = [text, _storable(_unquoted_printable(text))] if "=" in text else [text]
    starts += map(_storable, _rare_starts(text)) if rare else ()
    for start in starts:
        now = start
        for _ in range(ROUNDS):
            if now not in seen:
                seen.add(now)
                yield now
            if depth:
                for payload in _payloads(now, rare=rare):
                    if payload not in seen:
                        seen.add(payload)
                        yield payload
                        yield from _decoded(payload, seen, depth - 1, rare=rare)
            after = _unescaped(now)
            if after == now:
                break
            now = _storable(after)


def _rare_starts(text: str) -> Iterator[str]:
    """``text`` with what is decoded all over it at once: words of a mail header, ``%u``, and escapes of CSS."""
    if "=?" in text:
        yield _HEADER_WORD.sub(_header_word, _BETWEEN_WORDS.sub("?==?", text))
    if "%" in text and (known := _PERCENT_U.sub(_code_point, text)) != text:
        yield _paired(known)
    if "\\" in text:
        yield _CSS_ESCAPE.sub(_code_point, text)
        yield _BYTES_IN_OCTAL.sub(_printed_octal, _BYTES_IN_HEX.sub(_printed_hex, text))
    if not text.isascii():
        yield _MISREAD.sub(_read_anew, text)
    if "," in text:
        yield _LIST_OF_BYTES.sub(lambda found: said_by_bytes(list(map(int, found[0].split(",")))) or found[0], text)


def _printed_hex(found: re.Match[str]) -> str:
    return _as_utf_8(bytes.fromhex(found[0].replace("\\x", "")), found[0])


def _printed_octal(found: re.Match[str]) -> str:
    return _as_utf_8(bytes(int(each, 8) for each in found[0][1:].split("\\")), found[0])


def _read_anew(found: re.Match[str]) -> str:
    for charset in ("cp1252", "latin-1"):
        try:
            return _as_utf_8(found[0].encode(charset), found[0])
        except UnicodeEncodeError:
            continue
    return found[0]


def _as_utf_8(raw: bytes, otherwise: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return otherwise


def _code_point(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= 0x10FFFF else found[0]


def _header_word(found: re.Match[str]) -> str:
    charset, encoding, said = found.groups()
    known = _CHARSETS.get(charset.lower().replace("-", "_").replace(".", "_"))
    if known is None:
        return found[0]
    try:
        if encoding in "bB":
            raw = binascii.a2b_base64(said + "=" * (-len(said) % 4))
        else:
            raw = binascii.a2b_qp(said, header=True)
        return raw.decode(known, "replace")
    except (LookupError, ValueError):  # no such codec on this system, or base64 cut short
        return found[0]


def _storable(text: str) -> str:
    """``text`` without what no database keeps: a NUL (``%00``), or half a character, as punycode can name one."""
    return UNSTORABLE.sub("\ufffd", text)


def _unescaped(text: str) -> str:
    """``text`` with one layer of every in-place encoding taken away; of one that was applied to itself, all layers."""
    if "\\" in text:
        text = _paired(_JSON_ESCAPE.sub(_escaped_letter, text))
        text = re.sub(r"(?<!\\)\\++[nrtfv]", " ", text)
    if "&" in text:
        text = html.unescape(_ENTITY_LAYERS.sub("&", text))
    if "%" in text:
        text = unquote(_PERCENT_LAYERS.sub("%", text), errors="replace")
    if "xn--" in text.casefold():
        text = _PUNYCODE.sub(_label, text)
    return visible(text)


def _escaped_letter(found: re.Match[str]) -> str:
    code = int(next(group for group in found.groups() if group), 16)
    return chr(code) if code <= 0x10FFFF else found[0]


def _paired(text: str) -> str:
    """Halves of one character, as JSON escapes it, put together; a half without its other is no character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _label(found: re.Match[str]) -> str:
    try:
        return found[0][4:].encode().decode("punycode")
    except ValueError:  # UnicodeError is one
        return found[0]


def _unquoted_printable(text: str) -> str:
    def letters(found: re.Match[str]) -> str:
        if found[0].endswith("\n"):
            return ""
        try:
            return bytes.fromhex(found[0].replace("=", "")).decode()
        except ValueError:
            return found[0]

    return _QUOTED.sub(letters, text)


def _is_mixed(run: str) -> bool:
    """Whether a run of base64 letters is more than a word, which is lower case after its first letter."""
    return len(run) >= SHORTEST_RUN and not (run[1:].isalpha() and run[1:].islower())


def is_in_words(text: str, start: int, end: int) -> bool:
    """Whether the run of base64's letters with a part of it from ``start`` to ``end`` is no more than words."""
    while start and text[start - 1] in BASE64_LETTERS:
        start -= 1
    while end < len(text) and text[end] in BASE64_LETTERS:
        end += 1
    return not _is_mixed(_BREAK.sub("", text[start:end]))


def is_in_words_32(text: str, parts: Iterable[tuple[int, int]]) -> bool:
    """Whether ``parts`` of a text, from one place to another and in order, stand in runs of base32's letters that are
    no more than words."""
    runs = (each for each in _BASE32.finditer(text) if _MORE_THAN_WORDS.search(each[0]))
    run = next(runs, None)
    for start, end in parts:
        while run and run.end() < end:
            run = next(runs, None)
        if run and run.start() <= start:
            return False
    return True


def broken_runs(text: str) -> Iterator[list[tuple[int, int]]]:
    """Where the pieces stand of each run of base64 that is broken into lines or groups.

    The end of a line is always left out. A blank is between pieces of one length, and in a run that is more than words
    before a shorter piece or one that is no word.
    """
    for stretch in _BROKEN.finditer(text):
        start, end = stretch.span()
        if not _BEHIND_THE_FIRST.search(text, start + 1, end):
            continue
        run: list[tuple[int, int]] = []
        mixed, last, on_new_line = False, 0, False
        for piece, gap in _PIECE.findall(text, start, end):
            length = len(piece)
            is_word = length == 1 or (piece.isalpha() and (piece.islower() or piece[1:].islower()))
            if not (on_new_line or length == last or (mixed and (length < last or not is_word))):
                if len(run) > 1:
                    yield run
                run, mixed = [], False
            mixed = mixed or not is_word or (bool(run) and not piece[0].islower())
            run.append((start, start + length))
            start += length + len(gap)
            last, on_new_line = length, gap != " " and bool(gap.strip(" \t"))
        if len(run) > 1:
            yield run


def unfinished_run(text: str) -> list[tuple[int, int]]:
    """Where the pieces stand at the end of a text that goes on: what follows may make a run of them."""
    start = next((each.start() for each in _MAY_GO_ON.finditer(text) if each.end() == len(text)), len(text))
    return [each.span(1) for each in _PIECE.finditer(text, start)]


def end_of_stretch(text: str, at: int) -> int:
    """Where the base64 letters and line breaks around ``at`` end; after a text that may continue so."""
    around = _MAY_GO_ON.match(text, at)
    end = around.end() if around else at
    return end + (end == len(text))


def _runs(text: str) -> Iterator[str]:
    """The runs of letters that may be base64, as they stand and put together where they are broken."""
    for run in _BASE64.findall(text):
        if not (run.islower() and run.isalpha()) and _is_mixed(run):
            yield run
    for pieces in broken_runs(text):
        run = "".join(text[start:end] for start, end in pieces)
        if _is_mixed(run):
            yield run


def _payloads(text: str, *, rare: bool) -> Iterator[str]:
    """The texts inside base64 and base64url, and with ``rare`` inside hex and base32, wherever a run of it begins."""
    if len(text) < SHORTEST_RUN:
        return
    if rare:
        for run in _HEX.findall(text):
            digits = _NO_HEX.sub("", run)
            for first in range(2):
                raw = bytes.fromhex(digits[first : len(digits) - (len(digits) - first) % 2])
                yield from _texts_in(raw, rare=rare)
        for run in _BASE32.findall(text) if _MORE_THAN_WORDS.search(text) else ():
            if _MORE_THAN_WORDS.search(run):
                for raw in _bytes_of_base32(_BREAK.sub("", run.rstrip("="))):
                    yield from _texts_in(raw, rare=rare)
    for run in _runs(text):
        plain = run.rstrip("=").replace("-", "+").replace("_", "/")
        length = len(plain)
        for first in range(4):
            last = length - ((length - first) % 4 == 1)
            raw = binascii.a2b_base64(plain[first:last] + "==")  # more padding than it needs is passed over
            yield from _texts_in(raw, rare=rare)


def _bytes_of_base32(run: str) -> Iterator[bytes]:
    """What a run of base32 says, wherever in a group of eight letters it begins."""
    if len(run) < SHORTEST_BASE32:
        return
    number = int(run.translate(_AS_DIGITS), 32)
    for first in range(8):
        bits = 5 * (len(run) - first)
        yield ((number & ((1 << bits) - 1)) >> bits % 8).to_bytes(bits // 8)


def _may_be_utf_16(raw: bytes) -> bool:
    """Whether bytes have a zero, as Latin letters have in UTF-16, or every other one says the same few alphabets."""
    return 0 in raw or (len(raw) >= 6 and 6 * min(len(set(raw[::2])), len(set(raw[1::2]))) <= len(raw))


def _texts_in(raw: bytes, *, rare: bool) -> Iterator[str]:
    """The stretches of text in bytes: all of them when they are text, else what is legible in between."""
    if rare and _may_be_utf_16(raw):
        for first in range(2):
            for charset in _UTF_16:
                yield from _PRINTABLE.findall(raw[first:].decode(charset, "replace"))
    text = raw.decode(errors="replace")
    # Most bytes are no text, which this shows first.
    if "\ufffd" not in text and text and (text.isprintable() or " ".join(text.split()).isprintable()):
        yield text
    else:
        yield from _PRINTABLE.findall(text)


def all_members(items: Iterable[tuple[str, object]]) -> JSONObject:
    """An object of these members, none of which is lost: where two keys have become one, the later is numbered."""
    made: JSONObject = {}
    for key, item in items:
        name, number = key, 1
        while name in made:
            number += 1
            name = f"{key} ({number})"
        made[name] = item
    return made
