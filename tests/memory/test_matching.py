"""In which forms a subject is recognised: exact where it is certain, suspected where it may be somebody else."""

import base64
import html
import json
import os
import quopri
import random
import re
import unicodedata
from email.header import Header
from functools import cache
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.encodings import normalized, readings
from memory.text.matching import (
    FORGOTTEN,
    Mention,
    hidden_form,
    is_exact,
    marks,
    mention,
    mentioned_in,
    name_form,
    needles,
    search_form,
    second_look,
    shadows,
    whole_text,
    without_subject,
)
from tests.budgets import cpu_within, examples, tries

ANA = "ana@x.org"
NONE, SUSPECTED, EXACT = Mention


def inside_base64(text: str, before: int, *, url: bool = False) -> str:
    """``text`` inside a longer encoded text, at the alignment that ``before`` gives it."""
    raw = b"\x00\xff zyx"[:before] + f" {text}, and more".encode() + b"\xfe\x01"
    return (base64.urlsafe_b64encode if url else base64.b64encode)(raw).decode()


def has_needles(terms: tuple[str, ...], text: str) -> bool:
    return any(all(needle in text for needle in group) for group in needles(terms))


def folded(text: str, width: int, by: str) -> str:
    return by.join(text[at : at + width] for at in range(0, len(text), width))


# The form, the subject, the text, and how sure the console is.
FORMS = [
    ("as it stands", ANA, "write to ana@x.org.", EXACT),
    ("in brackets", ANA, "Ana <ana@x.org>", EXACT),
    ("as a link to write to", ANA, "mailto:ana@x.org?subject=x", EXACT),
    ("in capitals", ANA, "ANA@X.ORG", EXACT),
    ("in full width", ANA, "\uff41\uff4e\uff41\uff20\uff58\uff0e\uff4f\uff52\uff47", EXACT),
    ("percent-encoded", ANA, "https://h/?q=ana%40x.org&n=1", EXACT),
    ("percent-encoded twice", ANA, "back=%2Fusers%3Fmail%3Dana%2540x.org", EXACT),
    ("every letter percent-encoded", ANA, "".join(f"%{byte:02X}" for byte in ANA.encode()), EXACT),
    ("a link, percent-encoded", ANA, "mailto:ANA%40x.org", EXACT),
    ("with a named entity", ANA, "ana&commat;x&period;org", EXACT),
    ("with decimal entities", ANA, "".join(f"&#{ord(one)};" for one in ANA), EXACT),
    ("with hexadecimal entities", ANA, "".join(f"&#x{ord(one):X};" for one in ANA), EXACT),
    ("with entities, escaped again", ANA, html.escape("ana&#64;x.org"), EXACT),
    ("with JSON escapes", ANA, r'{"mail": "\u0061na\u0040x.org"}', EXACT),
    ("in JSON inside JSON", ANA, r"{\"mail\": \"\\u0061na@x.org\"}", EXACT),
    ("quoted-printable", ANA, "To: =61na=40x.org", EXACT),
    ("quoted-printable across a line break", ANA, "To: ana=\r\n@x.org", EXACT),
    ("with a space that shows nothing", ANA, "an\u200ba@x.org", EXACT),
    ("with soft hyphens", ANA, "ana@\u00adx.\u00adorg", EXACT),
    ("with an entity that shows nothing", ANA, "ana&shy;@x.org", EXACT),
    ("in base64", ANA, base64.b64encode(ANA.encode()).decode(), EXACT),
    ("in base64 with capitals", ANA, base64.b64encode(b"Ana@X.org").decode(), EXACT),
    ("in base64, first alignment", ANA, inside_base64(ANA, 0), EXACT),
    ("in base64, second alignment", ANA, inside_base64(ANA, 1), EXACT),
    ("in base64, third alignment", ANA, inside_base64(ANA, 2), EXACT),
    ("in base64url", ANA, inside_base64(ANA, 4, url=True), EXACT),
    ("in base64 behind other letters", ANA, "id" + base64.b64encode(b"to ana@x.org now").decode(), EXACT),
    ("percent-encoded in base64", ANA, base64.b64encode(b"q=ana%40x.org").decode(), EXACT),
    ("base64, percent-encoded", ANA, quote(inside_base64(ANA, 1), safe=""), EXACT),
    ("base64 over several lines", ANA, base64.encodebytes(b"x" * 53 + b" ana@x.org " + b"y" * 60).decode(), EXACT),
    ("percent-encoded six times", ANA, "q=ana%252525252540x.org", EXACT),
    ("with an entity, escaped six times", ANA, "ana&amp;amp;amp;amp;amp;amp;#64;x.org", EXACT),
    ("base64 over lines of forty", ANA, folded(inside_base64(ANA, 1) + "A" * 80, 40, "\r\n "), EXACT),
    ("base64 over lines of four", ANA, folded(inside_base64(ANA, 1), 4, "\n"), EXACT),
    ("base64, a letter a line, in JSON", ANA, folded(inside_base64(ANA, 0), 1, "\\n"), EXACT),
    ("base64 in groups of four", ANA, folded(inside_base64(ANA, 1), 4, " "), EXACT),
    ("base64 in groups of five, in a sentence", ANA, f"it says {folded(inside_base64(ANA, 0), 5, '  ')} to us", EXACT),
    ("base64 with a blank in the middle", ANA, folded(inside_base64(ANA, 2), 19, " "), EXACT),
    ("base64 in groups, the last one short", ANA, "YW5h QHgu b3Jn IGlz aGk", EXACT),
    ("all of base64 in small letters, which is a word", "nikrik", "bmlrcmlr", NONE),
    ("all of base64 in small letters, which are words", "nikrik", "Bmlr cmlr", NONE),
    ("small letters inside base64", "nikrik", base64.b64encode(b"you, nikrik, and me").decode(), EXACT),
    ("another of which most is the same, in base64", "marta", base64.b64encode(b"to martin").decode(), NONE),
    ("base64 in base64", ANA, base64.b64encode(inside_base64(ANA, 2).encode()).decode(), EXACT),
    ("base64 in base64, in the middle", ANA, inside_base64(inside_base64(ANA, 1), 1), EXACT),
    ("short, in base64 without padding", "marta", "bWFydGE", EXACT),
    ("short, in base64", "marta", base64.b64encode(b"marta").decode(), EXACT),
    ("with its domain in punycode", "ana@k\u00f6ln.de", "ana@xn--kln-sna.de", EXACT),
    ("two words over a line break", "marta kowalska", "Marta\n  Kowalska called", EXACT),
    ("two words, percent-encoded", "marta kowalska", "name=Marta%20Kowalska", EXACT),
    ("two words in a form's address", "marta kowalska", "?name=marta+kowalska&x=1", EXACT),
    ("two words with an entity between", "marta kowalska", "Marta&nbsp;Kowalska", EXACT),
    ("decomposed", "jos\u00e9", "Jose\u0301 called", EXACT),
    ("accented, percent-encoded", "jos\u00e9", "?q=Jos%C3%A9", EXACT),
    ("accented, as an entity", "jos\u00e9", "Jos&eacute; called", EXACT),
    ("accented, in base64", "jos\u00e9", base64.b64encode("für José da".encode()).decode(), EXACT),
    ("accented, quoted-printable", "jos\u00e9", quopri.encodestring("für José".encode()).decode(), EXACT),
    ("without its diacritics", "jos\u00e9 garc\u00eda", "Jose Garcia called", SUSPECTED),
    ("with diacritics that the subject has not", "lukasz", "\u0141ukasz called", SUSPECTED),
    ("with two letters for one", "m\u00fcller", "Frau Mueller", SUSPECTED),
    ("two words, joined as in an identifier", "marta kowalska", "agent marta_kowalska wrote", SUSPECTED),
    ("two words, joined as in a tag", "marta kowalska", "customer-marta-kowalska", SUSPECTED),
    ("two words, joined as in an address", "marta kowalska", "marta.kowalska@x.org", SUSPECTED),
    ("two words, joined and percent-encoded", "marta kowalska", "/files/Marta%5FKowalska.md", SUSPECTED),
    ("accented words, joined", "jos\u00e9 garc\u00eda", "jose_garcia", SUSPECTED),
    ("two words at the end of a sentence and the start of the next", "marta kowalska", "Marta. Kowalska is", NONE),
    ("with its sign in brackets", ANA, "write to ana[at]x.org", SUSPECTED),
    ("with its sign in brackets and blanks", ANA, "write to Ana (at) X (dot) org", SUSPECTED),
    ("with its signs in words", ANA, "write to ana at x dot org", SUSPECTED),
    ("another's signs in words", ANA, "ana is at x, dot org", NONE),
    ("with a tag", ANA, "ana+news@x.org", SUSPECTED),
    ("with a tag, percent-encoded", ANA, "ana%2Bnews%40x.org", SUSPECTED),
    ("the end of a longer name", ANA, "joana@x.org", SUSPECTED),
    ("the end of a longer name, percent-encoded", ANA, "joana%40x.org", SUSPECTED),
    ("the end of a longer name, in base64", ANA, base64.b64encode(b"joana@x.org").decode(), SUSPECTED),
    ("at a longer domain", ANA, "ana@x.org.uk", SUSPECTED),
    ("at a domain with more letters", ANA, "ana@x.organic", SUSPECTED),
    ("as another's tag", ANA, "mail+ana@x.org", SUSPECTED),
    ("another name", ANA, "jo@x.org and anabel@x.org", NONE),
    ("another, encoded", ANA, "bob%40x.org &#64;x.org YmxhYmxhQHgub3Jn", NONE),
    ("with a printed apostrophe", "o'neill", "Pat O\u2019Neill called", EXACT),
    ("with a printed apostrophe, percent-encoded", "o'neill", "?q=Pat%20O%E2%80%99Neill", EXACT),
    ("with a printed apostrophe, as an entity", "o'neill", "Pat O&rsquo;Neill called", EXACT),
    ("with a hyphen that does not break", "anne-marie", "Anne\u2011Marie Smith called", EXACT),
    ("with a printed hyphen", "anne-marie", "Anne\u2010Marie Smith called", EXACT),
    ("with a dash, in JSON", "anne-marie", r"Anne\u2013Marie Smith called", EXACT),
    ("with printed signs inside a longer word", "anne-marie", "the Anne\u2011Maries", SUSPECTED),
    ("without its apostrophe", "o'neill", "O Neill Pat", NONE),
    ("nothing that decodes", ANA, "100% of \\users &such =that a1B2c3D4e5F6 %%%", NONE),
    ("two words, turned round", "marta kowalska", "Kowalska, Marta (owner)", SUSPECTED),
    ("three words, turned round", "marta anna kowalska", "KOWALSKA, Marta Anna", SUSPECTED),
    ("two words over a break of HTML", "marta kowalska", "Marta<br/>Kowalska", SUSPECTED),
    ("two words over an escaped break of HTML", "marta kowalska", "Marta&lt;br&gt;Kowalska", SUSPECTED),
    ("two words over a percent-encoded break of HTML", "marta kowalska", "Marta%3Cbr%3EKowalska", SUSPECTED),
    ("two words in two cells", "marta kowalska", '<tr><td>Marta</td> <td class="n">Kowalska</td></tr>', SUSPECTED),
    ("two words in two cells of Markdown", "marta kowalska", "| Marta | Kowalska |", SUSPECTED),
    ("two words in two fields", "marta kowalska", '7;"Marta";"Kowalska"', SUSPECTED),
    ("two words in a path", "marta kowalska", "/people/kowalska/marta/", SUSPECTED),
    ("two words of different people", "marta kowalska", "Marta Nowak met Jan Kowalska", NONE),
    ("with another sign in brackets", ANA, "ana(a)x.org", SUSPECTED),
    ("with its own sign in brackets", ANA, "ana[@]x[.]org", SUSPECTED),
    ("with its sign in braces", ANA, "ana {at} x.org", SUSPECTED),
    ("with blanks around its sign", ANA, "ana @ x.org", SUSPECTED),
    ("with its box in quotes", ANA, '"ana"@x.org', SUSPECTED),
    ("with a stop of Chinese and Japanese", ANA, "ana@x\u3002org", SUSPECTED),
    ("with a dot alone in words", ANA, "ana@x dot org", SUSPECTED),
    ("without the sign in it", "o'neill", "Sinead ONeill called", SUSPECTED),
    ("with the apostrophe of SQL", "o'neill", "VALUES ('O''Neill')", SUSPECTED),
    ("without its hyphen", "jo-ann o'dea", "Jo Ann O'Dea", SUSPECTED),
    ("without any sign", "jo-ann o'dea", "JO ANN ODEA", SUSPECTED),
    ("joined over its hyphen", "anne-marie", "annemarie was here", SUSPECTED),
    ("turned round and without its signs", "jo-ann o'dea", "ODea, Jo Ann", SUSPECTED),
    (
        "without its signs and in base64",
        "jo-ann o'dea",
        base64.b64encode(b"for Jo Ann ODea").decode(),
        SUSPECTED,
    ),
    ("without the points of its initials", "j.r. lem", "by JR Lem", SUSPECTED),
    ("with blanks for the points of its initials", "j.r. lem", "J R Lem, author", SUSPECTED),
    ("without the point at its end", "ana jr.", "Ana Jr", SUSPECTED),
    (
        "Arabic without its vowels",
        "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
        "\u0645\u062d\u0645\u062f",
        SUSPECTED,
    ),
    (
        "Arabic with its vowels",
        "\u0645\u062d\u0645\u062f",
        "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
        SUSPECTED,
    ),
    ("Arabic with letters drawn out", "\u062f\u0627\u0646\u0627", "\u062f\u0627\u0646\u0640\u0640\u0627", SUSPECTED),
    (
        "Persian with the letters of an Arabic keyboard",
        "\u06a9\u0631\u06cc\u0645\u06cc",
        "\u0643\u0631\u064a\u0645\u0649",
        SUSPECTED,
    ),
    (
        "Arabic with the letters of a Persian keyboard",
        "\u0639\u0644\u064a\u0629",
        "\u0639\u0644\u06cc\u0647",
        SUSPECTED,
    ),
    (
        "another in Arabic",
        "\u0639\u0644\u064a \u0643\u0631\u064a\u0645",
        "\u0639\u0644\u0627 \u0643\u0631\u064a\u0645",
        NONE,
    ),
    (
        "Hebrew without its points",
        "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
        "\u05e9\u05dc\u05d5\u05dd",
        SUSPECTED,
    ),
    ("Hebrew with its points", "\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", SUSPECTED),
    ("Japanese with a blank in it", "\u5c71\u7530\u592a\u90ce", "\u5c71\u7530 \u592a\u90ce\u3055\u3093", SUSPECTED),
    ("Korean with a blank in it", "\uae40\ubbfc\uc218", "\uae40 \ubbfc\uc218", SUSPECTED),
    ("an address without its hyphen", "anne-marie@x.org", "anne marie@x.org", NONE),
]
# Forms that are not stored with an entry: a forget looks for them.
RARE = [
    ("with letters of other scripts", ANA, "\u0430n\u0430@\u0445.\u043erg", SUSPECTED),
    ("with Greek letters", "nina kovo", "\u039d\u0399\u039d\u0391 \u039aovo", SUSPECTED),
    ("letters of other scripts that look otherwise", "nina", "\u0434\u0438\u043d\u0430", NONE),
    ("in a word of a mail header", "micha\u0142 w\u00f3jcik", "=?iso-8859-2?Q?Micha=B3_W=F3jcik?= <m@x.org>", EXACT),
    ("in two words of a mail header", "micha\u0142", "=?utf-8?q?Mic?=\r\n =?utf-8?q?ha=C5=82?=", EXACT),
    (
        "in base64 of a mail header",
        "micha\u0142",
        f"=?ISO-8859-2?B?{base64.b64encode(b'Micha' + bytes([0xB3])).decode()}?=",
        EXACT,
    ),
    ("in a word of a mail header, of which it is a part", "micha\u0142", "=?iso-8859-2?Q?xMicha=B3?=", SUSPECTED),
    ("in a word of a charset that does not exist", "micha\u0142", "=?no-such?Q?Micha=B3?=", SUSPECTED),
    ("percent-encoded in an older charset", "micha\u0142", "?q=Micha%B3", SUSPECTED),
    ("percent-encoded in that of Windows", "jos\u00e9", "?q=Jos%E9", SUSPECTED),
    ("quoted-printable in an older charset", "jos\u00e9", "Jos=E9 called", SUSPECTED),
    (
        "percent-encoded in that of Japan",
        "\u5c71\u7530\u592a\u90ce",
        f"?q={quote('山田太郎'.encode('shift_jis'))}",
        SUSPECTED,
    ),
    ("UTF-16 in base64", ANA, base64.b64encode(f"to {ANA} now".encode("utf-16-le")).decode(), EXACT),
    ("UTF-16 in base64, the other way round", ANA, base64.b64encode(f"x {ANA}".encode("utf-16-be")).decode(), EXACT),
    (
        "UTF-16 beyond ASCII in base64",
        "micha\u0142",
        base64.b64encode("To Michał.".encode("utf-16-le")).decode(),
        EXACT,
    ),
    ("UTF-16 without a byte of zero", "кошкина", base64.b64encode("Кошкина".encode("utf-16-le")).decode(), EXACT),
    (
        "UTF-16 without one, the other way round",
        "кошкина",
        base64.b64encode("Кошкина—".encode("utf-16-be")).decode(),
        EXACT,
    ),
    ("in base32", ANA, f"key {base64.b32encode(f'to {ANA} now'.encode()).decode()}", EXACT),
    ("in base32 of capitals", ANA, base64.b32encode(b"ANA@X.ORG").decode(), EXACT),
    ("in base32 of small letters", ANA, base64.b32encode(f"<{ANA}>".encode()).decode().lower(), EXACT),
    ("in base32, in groups", ANA, "MFXG CQDY FZXX EZY=", EXACT),
    ("in base32 of small letters, without more than letters", ANA, "mfxgcqdyfzxxezy", SUSPECTED),
    ("in base32 of capitals, without more than letters", ANA, "MFXGCQDYFZXXEZY", SUSPECTED),
    ("words of small letters that are no name in base32", ANA, "implementation inconceivable", NONE),
    ("in base32 behind other letters", ANA, f"QQQ{base64.b32encode(ANA.encode()).decode()}", EXACT),
    ("a longer name in base32", ANA, base64.b32encode(b"joana@x.org").decode(), SUSPECTED),
    ("another in base32", ANA, base64.b32encode(b"ana@y.org").decode(), NONE),
    ("in hex", ANA, f"raw {ANA.encode().hex()}", EXACT),
    ("in hex of capitals", ANA, "0x" + b"ANA@X.ORG".hex().upper(), EXACT),
    ("in hex with blanks, behind another byte", ANA, f" {ANA} ".encode().hex(" "), EXACT),
    ("in hex with colons", ANA, ANA.encode().hex(":"), EXACT),
    ("a longer name in hex", ANA, b"joana@x.org".hex(), SUSPECTED),
    ("UTF-16 in hex", ANA, ANA.encode("utf-16-be").hex(), EXACT),
    ("another in hex", ANA, b"ana@y.org".hex(), NONE),
    ("with escapes of CSS", ANA, r"content: '\61na\40 x\2e org'", EXACT),
    ("with long escapes of CSS", ANA, r"\000061na\000040x.org", EXACT),
    ("with escapes of old JavaScript", ANA, "%u0061na%u0040x.org", EXACT),
    *(
        (
            f"every letter and the blank {how}",
            "ana quispe",
            "".join(each.format(ord(one)) for one in "Ana Quispe"),
            EXACT,
        )
        for how, each in (("with escapes of old JavaScript", "%u{:04x}"), ("with escapes of CSS", "\\{:x} "))
    ),
    ("beyond ASCII with escapes of old JavaScript", "micha\u0142", "Micha%u0142", EXACT),
    ("a name as Python prints bytes", "jos\u00e9 garc\u00eda", r"b'Jos\xc3\xa9 Garc\xc3\xada'", EXACT),
    ("a name as git prints paths", "micha\u0142", r'"notes/Micha\305\202"', EXACT),
    ("a name whose UTF-8 was read as that of Windows", "micha\u0142", "To Micha\u00c5\u201a.", EXACT),
    ("a name whose UTF-8 was read as Latin", "jos\u00e9", "Jos\u00c3\u00a9 called", EXACT),
    ("in bold and italics of Markdown", "ana quispe", "**Ana** _Quispe_ and `ana`", EXACT),
    ("with a part in bold", ANA, "**ana**@x.org", EXACT),
    ("with a sign that Markdown quotes", "ana_b@x.org", r"write to ana\_b@x.org", EXACT),
    *(
        (f"its words in fields: {text}", "marta kowalska", text, SUSPECTED)
        for text in (
            '{"first":"Marta","age":41,"last":"Kowalska"}',
            r"{\"given_name\": \"Marta\", \"family_name\": \"Kowalska\"}",
            '{\n  "last": "Kowalska",\n  "first": "Marta"\n}',
            "first: Marta\nlast: Kowalska",
            "/people?first=Marta&last=Kowalska",
            '<person first="Marta" last="Kowalska"/>',
            "sn=Kowalska,givenName=Marta",
            "[[Marta]] [[Kowalska]]",
        )
    ),
    *(
        (f"three words in fields in another order: {text}", "marta anna kowalska", text, SUSPECTED)
        for text in ('{"a":"Anna","b":"Marta","c":"Kowalska"}', "last: Kowalska\nfirst: Marta Anna")
    ),
    ("a word of it within a field", "marta kowalska", "boss: Jan Kowalska-Lis; last: Nowak; first: Marta", NONE),
    ("with a middle name", "marta kowalska", "for Marta Anna Kowalska", SUSPECTED),
    ("with an initial", "marta kowalska", "for Marta A. Kowalska", SUSPECTED),
    ("its words in fields of two objects", "marta kowalska", '[{"first":"Marta"},{"last":"Kowalska"}]', NONE),
    ("its words far from each other", "marta kowalska", "Marta has asked whether Ms Kowalska comes", NONE),
    ("words that begin like it in fields", "marta kowalska", "first=Marta&last=Kowalskaya", NONE),
    *(
        (f"its signs apart: {text}", ANA, text, SUSPECTED)
        for text in (
            "ana_at_x.org",
            "ana-at-x.org",
            "https://ana:secret@x.org/",
            "bounce+ana=x.org@lists.example",
            "ana<b>@</b>x.org",
            '"ana" + "@" + "x.org"',
        )
    ),
    *(
        (f"a number with other signs: {text!r}", "+48 601 234 567", text, SUSPECTED)
        for text in ("601_234_567", "601\u2009234\u2009567", "601\u2013234\u2013567", "601\n234 567")
    ),
    ("joined without a sign", "marta kowalska", "handle MartaKowalska", SUSPECTED),
    ("a number in other groups", "+48 601 234 567", "call (+48) 601.234.567", SUSPECTED),
    ("a number without groups", "+48 601 234 567", "tel:48601234567", SUSPECTED),
    ("an account in groups", "pl61109010140000071219812874", "PL61 1090 1014 0000 0712 1981 2874", SUSPECTED),
    ("another number", "+48 601 234 567", "call 48 601 234 568", NONE),
    ("a number as it is dialled in its country", "+48 601 234 567", "call 601-234-567", SUSPECTED),
    ("a number with the zero of its country", "0044 20 7946 0958", "call (020) 7946 0958", SUSPECTED),
    ("a number with the zero in brackets", "0044 20 7946 0958", "+44 (0)20 7946 0958", SUSPECTED),
    ("a number of a country with three digits", "+353 1 496 0123", "01 496 0123", SUSPECTED),
    ("a number of a country with one digit", "+1 212 555 0123", "(212) 555-0123", SUSPECTED),
    ("the end of a longer number", "+48 601 234 567", "order 9601234567", NONE),
    ("the number of another country", "+48 601 234 567", "+49 601 234 568", NONE),
    ("a list of its bytes", ANA, str(list(f"to {ANA}.".encode())), EXACT),
    ("a list of its bytes in capitals, without blanks", ANA, '{"data":[65,78,65,64,88,46,79,82,71]}', EXACT),
    ("a list of bytes beyond ASCII", "micha\u0142", str(list("Micha\u0142".encode())), EXACT),
    ("a list of other numbers", ANA, "[97, 110, 97, 64, 121, 46, 111, 114, 103, 300, -1]", NONE),
    ("a path that is no escape", ANA, r"C:\data\cafe\ana", NONE),
]


def test_a_subject_is_recognised_in_each_form_and_by_the_second_look_without_decoding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of one subject after the other: its patterns are made once, and a text is searched for them once.
    monkeypatch.setattr("memory.text.matching.shadows", cache(shadows))
    for form, subject, text, sure in sorted(FORMS + RARE, key=lambda each: each[1]):
        terms = (search_form(subject),)
        assert mention(terms, text) is sure, form
        with monkeypatch.context() as patching:
            patching.setattr("memory.text.encodings.readings", lambda text: iter([text]))
            assert bool(second_look(terms, text)) is bool(sure), form
        assert second_look(terms, text) is sure, form


@pytest.mark.parametrize(
    "subject", ["marta@example.com", "jos\u00e9 m\u00fcller", "ana@ex\u00e4mple.org", "o'brien-smith"]
)
def test_the_second_look_knows_inside_base64_how_programs_write_a_name(subject: str) -> None:
    written = {
        "for a link": quote(subject, safe=""),
        "for a link, in small letters": quote(subject, safe="").lower(),
        "for a link in a link": quote(quote(subject, safe=""), safe=""),
        "in JSON": json.dumps(subject)[1:-1],
        "in JSON inside JSON": json.dumps(json.dumps(subject)[1:-1])[1:-1],
        "each letter escaped": "".join(f"\\u{ord(one):04x}" for one in subject),
        "in HTML": html.escape(subject),
        "in HTML of ASCII alone": subject.encode("ascii", "xmlcharrefreplace").decode(),
        "each letter as an entity": "".join(f"&#{ord(one)};" for one in subject),
        "each letter as a hexadecimal entity": "".join(f"&#x{ord(one):X};" for one in subject),
        "with its sign as an entity": subject.replace("@", "&commat;"),
        "quoted-printable": quopri.encodestring(subject.encode()).decode(),
        "decomposed": unicodedata.normalize("NFD", subject),
        "in full width": "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in subject),
        "with printed signs": subject.replace("'", "\u2019").replace("-", "\u2011"),
        "over a line break": subject.replace(" ", "\n"),
        "with its words joined": subject.replace(" ", "_"),
        "with its sign in words": subject.replace("@", " at ").replace(".", " dot "),
        "with its sign in brackets": subject.replace("@", "[at]"),
    }
    terms, ways = (search_form(subject),), dict[str, str]()
    for way, text in written.items():
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            ways.setdefault(encode(f"to {text} now".encode()).decode(), way)
    for said, way in ways.items():
        assert mention(terms, said), way
        assert shadows(terms, said), way


def test_many_and_long_names_are_looked_for_at_once_and_what_looks_for_them_logs_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    addresses = [f"ana.quispe{letter}@example.org" for letter in "ab"]
    names = tuple(map(name_form, (*addresses, "Anne Marie Quispe Flores " * 10)))
    for name in names:
        assert shadows(names, f"see {base64.b64encode(f'write to {name} soon'.encode()).decode()}")
        assert shadows(names, f"see {quote(name)}")
    assert not shadows(names, "see Ana")
    assert capfd.readouterr() == ("", "")


def test_what_is_kept_to_look_for_a_subject_makes_room_for_the_next() -> None:
    def megabytes() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    assert not shadows(("ana@example.org",), "see Ana")
    before = megabytes()
    for number in range(8):
        assert not shadows((f"ana.quispe{number}@example.org",), "see Ana")
    assert megabytes() - before < 60


def test_a_scan_for_the_needles_finds_what_mentions_the_subject() -> None:
    for form, subject, text, sure in FORMS:
        looked_in = f"{search_form(text)}\n{hidden_form(text)}"
        assert not sure or has_needles((search_form(subject),), looked_in), form


def test_a_name_is_the_same_with_typed_and_with_printed_signs() -> None:
    assert name_form("Anne\u2011Marie O\u2019Brien") == name_form("anne-marie o'brien") == "anne-marie o'brien"
    assert marks(["pat o'brien"]).search("with Pat O\u2019Brien")


def test_bytes_in_json_are_read_as_the_text_that_they_say() -> None:
    buffer, numbers = {"type": "Buffer", "data": list(b"to Ana@x.org")}, [65, 110, 97, 64, 120, 46, 111, 114, 1000]
    assert mentioned_in((ANA,), {"k": [buffer]})
    assert without_subject((ANA,), {"k": [buffer, numbers]}, is_exact) == {
        "k": [{"type": "Buffer", "data": FORGOTTEN}, numbers]
    }


def test_what_is_suspected_is_marked_where_it_stands() -> None:
    for subject, text, marked in (
        ("marta kowalska", "see Kowalska, Marta here", "Kowalska, Marta"),
        ("marta kowalska", "<td>Marta</td><td>Kowalska</td>", "Marta</td><td>Kowalska"),
        ("marta kowalska", "\u041c\u0430rta Kowalska", "\u041c\u0430rta Kowalska"),
        (ANA, "to ana[@]x[.]org now", "ana[@]x[.]org"),
        (ANA, 'to "ana"@x.org now', 'ana"@x.org'),
        ("marta kowalska", "user MartaKowalska2", "MartaKowalska"),
        ("sinead o'neill", "for Sinead ONeill here", "Sinead ONeill"),
        ("anne-marie", "with Anne Marie there", "Anne Marie"),
        ("j.r.r. tolkien", "by J R R Tolkien, then", "J R R Tolkien"),
        ("\u5c71\u7530\u592a\u90ce", "\u3010\u5c71\u7530 \u592a\u90ce\u3011", "\u5c71\u7530 \u592a\u90ce"),
        ("+48 601 234 567", "call (+48) 601.234.567 now", "+48) 601.234.567"),
        ("marta kowalska", '{"first":"Marta","last":"Kowalska"}', 'Marta","last":"Kowalska'),
        ("marta kowalska", "with Marta Anna Kowalska", "Marta Anna Kowalska"),
        (ANA, "by ana_at_x.org", "ana_at_x.org"),
        ("+48 601 234 567", "call 601-234-567 now", "601-234-567"),
        (ANA, "to \u0430na@x.\u043erg now", "\u0430na@x.\u043erg"),
    ):
        hit = marks([subject]).search(text)
        assert hit, (subject, text, marked)
        assert hit[0] == marked, (subject, text, marked)


def test_a_plain_text_hides_nothing() -> None:
    assert hidden_form("The customer asked for invoice 12345 by e-mail; see Documentation, mem_0192aabb.") == ""


@tries()
@given(st.text(max_size=80), st.integers(0, 2), st.text(max_size=10))
def test_whatever_is_around_it_a_name_in_base64_is_recognised(before: str, shift: int, after: str) -> None:
    said = f"{'x' * shift}{before} ana@x.org {after}".encode("utf-8", "surrogatepass")
    assert mention((ANA,), f"see {base64.b64encode(said).decode()}") is EXACT


@pytest.mark.parametrize("by", ["", " ", "\t", "\n", "\r\n ", "\\n"])
def test_each_alignment_of_base64_is_recognised_by_both_looks_however_it_is_broken(by: str) -> None:
    for inner, shift in product([None, 0, 1, 2], range(3)):
        said = ANA if inner is None else base64.b64encode(b"(" * inner + ANA.encode() + b")").decode()
        whole = base64.b64encode(b"(" * shift + said.encode() + b")").decode()
        other = base64.b64encode(b"(" * shift + b"ana@x.orh)").decode()
        for text in (folded(whole, 4, by), folded(whole, 76, by), folded(whole, 1, by)) if by else (whole,):
            assert mention((ANA,), text) is EXACT, text
            assert shadows((ANA,), text), text
        assert not shadows((ANA,), folded(other, 4, by or " ")), "its last letters are looked at too"


def test_whatever_the_second_look_notices_the_finding_has_found() -> None:
    rng = random.Random(7)
    between = ["", "", "", "\u200b", "&shy;", "%c2%ad", "=c2=ad", "\\u00ad", "%e2%80%8b", "&zwj;", "=\r\n"]

    def spelled(letter: str) -> str:
        code, deep = ord(letter), rng.randrange(7)
        ways = [letter, letter.upper(), f"%{'25' * deep}{code:02X}", f"={code:02x}", chr(code + 0xFEE0)]
        ways += [f"&{'amp;' * deep}#{'0' * deep}{code};", f"&{'amp;' * deep}#x{code:x};"]
        ways += ["\\" * (1 + deep) + f"u{code:04x}", "\\" * (1 + deep) + f"x{code:02x}"]
        ways += [f"&{'amp;' * deep}{name}" for name in {"@": ["commat;"], ".": ["period;"]}.get(letter, [])]
        return rng.choice(ways)

    for _ in range(examples(4000)):
        text = "".join(spelled(letter) + rng.choice(between) for letter in ANA)
        assert shadows((ANA,), text), text
        assert mention((ANA,), text), text
        assert has_needles((ANA,), f"{search_form(text)}\n{hidden_form(text)}"), text


LETTERS = st.text("abcxyzABCXYZ0189+/_-", min_size=7, max_size=48)
HALF_LEGIBLE = st.lists(st.sampled_from([b"ana@x", b"\xff", b"\x1f", b"\t", "é€".encode(), b"\xe2\x82"])).map(b"".join)


@tries()
@given(st.one_of(LETTERS, HALF_LEGIBLE.map(lambda raw: base64.b64encode(raw).decode())))
def test_whatever_base64_says_at_any_of_its_alignments_is_read(run: str) -> None:
    found = set(readings(run))
    letters = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(run) < 7 or (run[1:].isalpha() and run[1:].islower()):
        return  # a word
    for first in range(4):
        part = letters[first:]
        part = part[:-1] if len(part) % 4 == 1 else part
        raw = base64.b64decode(part + "=" * (-len(part) % 4))
        said = raw.decode(errors="replace")
        is_text = said and "\ufffd" not in said and " ".join(said.split()).isprintable()
        legible = [said] if is_text else re.findall("[\t-\r -~\xa0-\ufffc\ufffe-\U0010ffff]{5,}", said)
        assert found >= set(legible), first


def test_two_keys_that_name_the_subject_stay_two_members() -> None:
    said = {"ana@x.org": 1, "k": 2, "ANA@x.org": 3, "[FORGOTTEN] (2)": 4}
    assert without_subject((ANA,), said, is_exact) == {
        "[FORGOTTEN]": 1, "k": 2, "[FORGOTTEN] (2)": 3, "[FORGOTTEN] (2) (2)": 4,
    }  # fmt: skip


@tries()
@given(st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]), st.text(max_size=20), st.integers(0, 2), st.booleans())
def test_whatever_is_around_it_a_name_in_bytes_of_a_charset_is_recognised_by_both_looks(
    charset: str, before: str, shift: int, in_hex: bool
) -> None:
    raw = b"\x07" * shift + f"{before} ana@x.org.".encode(charset, "ignore")
    said = raw.hex() if in_hex else base64.b64encode(raw).decode()
    assert mention((ANA,), said) is EXACT
    assert shadows((ANA,), said)


@tries()
@given(st.sampled_from(["iso-8859-2", "windows-1250", "utf-8", "utf-16", "UTF-7"]), st.text("aąłś ?=_.", max_size=20))
def test_a_name_in_a_word_of_a_mail_header_is_recognised(charset: str, before: str) -> None:
    for word in (
        Header(f"{before} michał.", charset, maxlinelen=998).encode(),
        Header(f"{before} michał", charset).encode(),
    ):
        assert mention(("michał",), f"From: {word} <m@x.org>") is EXACT, word


@tries()
@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert next(readings(text)) == text
    assert all(isinstance(reading, str) for reading in readings(text))
    hidden_form(text)


@tries()
@given(
    st.lists(st.sampled_from(["%00", "%2500", "\\u0000", "\\x00", "=00", "\\ud800", "=ED=A0=80", "xn--xy-zd9k", "a"]))
)
def test_what_a_text_decodes_to_can_be_stored(parts: list[str]) -> None:
    for text in ("".join(parts), " ".join(parts), base64.b64encode(" ".join(parts).encode()).decode()):
        assert not re.search("[\\x00\\ud800-\\udfff]", hidden_form(text)), text


def test_a_long_text_of_codes_is_read_in_a_moment() -> None:
    assert len(list(readings("%25" * 6_000 + "&amp;" * 6_000 + "QUFB" * 6_000 + "=41" * 6_000))) < 100
    assert len(list(readings("QUFB YWFh" * 3_000 + " a1" * 6_000))) < 100


def _mention_within(seconds: float, name: tuple[str, ...], text: str) -> Mention:
    """What ``mention`` finds. The limits are about six times what it takes, so that a cost that is quadratic shows in
    texts of this length."""
    with cpu_within(seconds):
        return mention(name, text)


def test_long_texts_of_rare_codes_are_read_in_a_moment() -> None:
    for part in (
        "=?utf-8?Q?",
        "=?utf-8?Q?a?= ",
        "6d 61 ",
        "0x6d61",
        "\\6d ",
        "%u006d",
        "%B3",
        "=B3",
        "<a ",
        "\u0430na ",
    ):
        text = part * (60_000 // len(part))
        assert _mention_within(1, (search_form(ANA), "marta kowalska"), text) is NONE, part


def test_a_name_in_many_words_of_base32_is_looked_for_in_a_moment() -> None:
    """Each may be no more than words, since it has no digit."""
    word = " ".join(re.findall(".{1,4}", base64.b32encode(b"\0Ada Lovelace\0\0").decode().rstrip("=")))
    with cpu_within(3):
        assert not shadows(("Ada Lovelace",), f"{word}. " * 10_000)
        assert shadows(("Ada Lovelace",), f"{word}. " * 10_000 + f"2{word}")


def test_a_name_does_not_reach_from_one_part_of_a_value_to_the_next() -> None:
    for parts in (["for Marta x", "y Kowalska"], ["first: Marta", "last: Kowalska"], ["ana:", "x@x.org"]):
        assert mention(("marta kowalska", ANA), whole_text(parts)) is NONE, parts


def test_a_long_text_of_fields_is_read_in_a_moment() -> None:
    assert _mention_within(2, ("ab cd ef gh",), "ab: cd: ef: " * 2000 + "gh") is SUSPECTED
    alike = "words so alike are not looked for apart"
    assert _mention_within(0.4, ("li li li wu",), "li: " * 6_000 + "wu") is NONE, alike


def test_a_run_of_backslashes_is_read_in_a_moment() -> None:
    with cpu_within(2):
        assert hidden_form("\\" * 65_000) == ""


def test_breaks_without_letters_and_marks_without_end_are_read_in_a_moment() -> None:
    for text in ("\\n" * 32_000, "\\r\n" * 20_000, "a" + "\u0315\u0300" * 16_000, "\uff9e\u0301" * 16_000):
        with cpu_within(2):
            hidden_form(text)
            search_form(text)


@tries()
@given(st.lists(st.sampled_from(["\u0315", "\u0300", "\u0f73", "\uff9e", "\u3099", "a", "\u304b", " "]), max_size=99))
def test_marks_in_whatever_order_are_put_as_unicode_has_them(marks: list[str]) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        text = "".join(marks)
        assert normalized(form, text) == unicodedata.normalize(form, text)


def test_a_label_that_never_ends_is_read_in_a_moment() -> None:
    text = "xn--" + "a" * 60_000 + "-" + "9z" * 50_000
    assert _mention_within(1, (search_form(ANA),), text) is NONE
