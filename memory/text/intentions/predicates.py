"""What a text says about the condition of a commitment: that it holds, that it does not, or nothing.

A condition is a few stems, all of which must be in one sentence (its entry's labels counted in). A wish, a plan, a
question or another condition asserts nothing; a sentence that denies says the opposite.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

LONGEST_TEXT = 20_000
LONGEST = 400
BREAK = re.compile(r"[.!?]+(?=[\s\"')\]]|$)|;|\n+")
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[a-z]|[ap]\.m|e\.g|i\.e|mr|mrs|ms|dr|st|no|vs|inc|ltd|co|approx"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri|sat|sun)$",
    re.IGNORECASE,
)
GERMAN_DATE = re.compile(r"\d\. (?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|`[^`\n]{0,400}`"
    r"|(?<![\w'])'(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){0,400}'(?!\w)"
)
QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
SINGLE_WORDS = re.compile(r"\S+")
TITLE = 3  # so many words in quotation marks may be a name
WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
MOST_WORDS = 12
PAID = "pay"
IRREGULAR = {
    "paid": "pay",
    "sent": "send",
    "met": "meet",
    "came": "come",
    "went": "go",
    "gone": "go",
    "goes": "go",
    "left": "leave",
    "made": "make",
    "gave": "give",
    "given": "give",
    "got": "get",
    "gotten": "get",
    "said": "say",
    "told": "tell",
    "sold": "sell",
    "bought": "buy",
    "found": "find",
    "lost": "lose",
    "won": "win",
    "began": "begin",
    "begun": "begin",
    "broke": "break",
    "broken": "break",
    "wrote": "write",
    "written": "write",
    "chose": "choose",
    "chosen": "choose",
    "built": "build",
    "ran": "run",
    "fell": "fall",
    "fallen": "fall",
    "rose": "rise",
    "risen": "rise",
    "done": "do",
    "did": "do",
    "dies": "die",
}
UNSAYING = """
a an the this that these those it its he she they we i you me us him her them my our your their his and or but so then
also just now already finally again is are was were be been being has have had having am do does to of in on at by for
from with into as got get gets getting there here which who whom whose when once after if soon moment until before since
while very too some any each every all both can today yesterday tomorrow tonight morning successfully 's
"""
STOP = frozenset(UNSAYING.split())
# Words for the same state, by the stem that represents them.
ALIKE = """
finish complete finished succeed done ready
arrive receive land come delivered deliver reach
mail email e-mail
custom client customer
reply answer respond response replied
return back
expire end lapse ended
down offline crash unreachable outage
stock available
fix repair resolve solve
ship dispatch
release publish launch live rollout
approve accept greenlight
begin start commence
rise increase grow climb
fall drop decrease decline sink
cancel annul
agree consent
sign countersign
"""
# A present tense with a time to come: "the trial expires in December", "Anna arrives on Monday".
AHEAD = re.compile(
    r"\b(?:tomorrow|tonight|later|next (?:week|month|year|quarter|time|\w+day)|in (?:a|an|\d+|two|three|four"
    r"|five|six|ten)"
    r" (?:minutes?|hours?|days?|weeks?|months?|years?)|(?:on|by|this|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:in|on|by|until) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?(?:january|february|march|april|may"
    r"|june|july|august"
    r"|september|october|november|december))\b",
    re.IGNORECASE,
)
PAST = re.compile(rf"\b(?:was|were|has|have|had|been|did|{'|'.join(IRREGULAR)}|\w{{2,}}ed)\b", re.IGNORECASE)
UNDONE = re.compile(
    r"\bun(?=(?:paid|signed|filed|approved|cleared|delivered|resolved|confirmed|shipped)\b)", re.IGNORECASE
)
DENIAL = re.compile(
    r"\b(?:not|never|no longer|without|yet to|failed to|fails to|unable to|neither|nor|cannot|refused to|reopened"
    r"|\w+n't"
    r"|no (?!doubt|problem|issue)\w+ (?:has|have|was|were|is|are|had))\b"
    r"|\b(?:has|have|is|are) still (?:to|un\w+|pending|outstanding|open|missing)\b"
    r"|\b(?:out of (?:stock|order|service)|sold out|nothing|nobody|lost|failed)\b"
    r"|\b(?:half|halfway|almost|nearly|partly|partially|mostly|largely|not quite)[ -]"
    r"(?:\w+ed|done|complete|ready|through|over|there|back|built|written|sent|paid|shut|dry|full|empty|gone)\b"
    r"|\b(?:pending|outstanding|overdue|rolled back|reversed|revoked|withdrawn)\b",
    re.IGNORECASE,
)
# After such a word there is no statement, up to the next comma.
SUBORDINATE = re.compile(
    r"\b(?:when|whenever|once|if|unless|until|till|before|as soon as|whether|the moment|after)\b[^,]*", re.IGNORECASE
)
NO_STATEMENT = re.compile(
    r"\b(?:will|would|shall|should|may|might|could|must|can)\b|\b\w+'(?:ll|d)\b|\b(?:have|has|had) to\b|"
    r"\b(?:going|due|about|expect(?:s|ed)?|hope[sd]?|hoping|want(?:s|ed)?|plan(?:s|ned)?|need(?:s|ed)?|wait(?:s|ed"
    r"|ing)?"
    r"|supposed|likely|try(?:ing)?|tries|ready|scheduled?|ask(?:s|ed)?|promis(?:es|ed)|intend(?:s|ed)?|ought)"
    r"\s+(?:[\w']+\s+){0,4}?(?:to|for|by)\b|"
    r"\b(?:remind|don't forget|todo|to-do|please|let (?:me|us) know|make sure|expecting|awaiting|hopefully|probably"
    r"|perhaps"
    r"|maybe|soon)\b",
    re.IGNORECASE,
)


class Sentence(NamedTuple):
    """From character ``starts`` to ``ends`` of the text; ``text`` has the same length."""

    starts: int
    ends: int
    text: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"') ]").endswith("?")


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of the first 20,000 characters, in order; one of more than 400 characters is not looked at."""
    plain = _unquoted(_of_document(text[:LONGEST_TEXT]).replace("\u2019", "'").replace("\u00a0", " "))
    begins = 0
    for ends in [*_breaks(plain), len(plain)]:
        piece = plain[begins:ends]
        starts = begins + len(piece) - len(piece.lstrip())
        stops = begins + len(piece.rstrip())
        if 0 < stops - starts <= LONGEST:
            yield Sentence(starts, stops, plain[starts:stops])
        begins = ends


def _of_document(text: str) -> str:
    """The texts of a JSON object, where they stand in it; anything else as it is."""
    if not (text.startswith('{"') and text.endswith("}")):
        return text
    inside = JSON_TEXT.sub(lambda found: " " * len(found[0]) if found[2] else f"\n{found[1]}\n", text)
    return inside.replace("\\n", " \n")


def _breaks(text: str) -> Iterator[int]:
    for found in BREAK.finditer(text):
        before = text[max(0, found.start() - 10) : found.start()]
        if found[0] != "." or not (ABBREVIATION.search(before) or GERMAN_DATE.search(text, found.start() - 2)):
            yield found.end()


def _unquoted(text: str) -> str:
    """Quotations are blanks; a name of up to three words in quotation marks loses only the marks."""
    lines = QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)
    return QUOTED.sub(_blank, lines)


def _blank(found: re.Match[str]) -> str:
    inside = found[0][1:-1]
    is_title = len(SINGLE_WORDS.findall(inside)) <= TITLE and inside[:1].isupper()
    return f" {inside} " if is_title else " " * len(found[0])


def stem(word: str) -> str:
    """The part of an English word that its forms share: clears, cleared and clear are one."""
    if word in IRREGULAR:
        return _short(IRREGULAR[word])
    if len(word) <= 3 or not word.isalpha():
        return word
    return _short(word)


def _short(word: str) -> str:
    for ending, instead in (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and not (ending == "s" and word.endswith(("ss", "us", "is"))):
            root = word[: -len(ending)] + instead
            if len(root) >= 3 and re.search(r"[aeiouy]", root):
                word = root
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _stems(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = [word.removesuffix("'s") for word in WORD.findall(folded)]
    return [STANDS_FOR.get(each, each) for each in (stem(word) for word in plain if word not in STOP) if each]


STANDS_FOR = {stem(word): stem(line.split()[0]) for line in ALIKE.strip().splitlines() for word in line.split()}


def vocabulary(content: str, tags: Iterable[str] = ()) -> frozenset[str]:
    """Every word that a statement of the entry could be made of: what is not in here, it says nothing of."""
    return _all_words(UNDONE.sub("not ", " ".join([content[:LONGEST_TEXT], *map(_label, tags)]).replace("\u2019", "'")))


def _all_words(text: str) -> frozenset[str]:
    found = _stems(text)
    return frozenset([*found, *_of_payment(found)])


def words_of(text: str) -> tuple[str, ...]:
    """The stems that carry the sense of ``text``, in order, each once."""
    return tuple(dict.fromkeys(_of_payment(_stems(text))))


def _of_payment(found: list[str]) -> list[str]:
    """Treats "a payment arrives" and "a person pays" as the same."""
    paying = {"payment", "money", "transfer"} & set(found)
    coming = {"arriv", "come", "clear", "settl", "go", "book"} & set(found)
    if paying and coming:
        return [each for each in found if each not in paying | coming | {"through"}] + [PAID]
    return found


def verdict(words: Collection[str], content: str, tags: Iterable[str] = ()) -> bool | None:
    """Whether an entry says that what ``words`` stand for holds; None when it says nothing of it.

    The last statement counts. A label alone may say it.
    """
    wanted = set(words)
    labels = [_label(tag) for tag in tags]
    shared = {word for label in labels for word in _all_words(label)}
    said = [_affirms(wanted, each, shared) for each in sentences(content) if not each.asks]
    answers = [each for each in said if each is not None]
    if answers:
        return answers[-1]
    if wanted and wanted <= shared:
        return not any(DENIAL.search(label) for label in labels)
    return None


def _label(tag: str) -> str:
    return tag.replace("-", " ").replace("_", " ").replace(":", " ")


def _affirms(wanted: set[str], sentence: Sentence, shared: set[str]) -> bool | None:
    main = UNDONE.sub("not ", SUBORDINATE.sub(" ", sentence.text))
    if not _speaks_of(wanted, main, shared):
        return None
    piece = next((each for each in main.split(",") if _speaks_of(wanted, each, shared)), main)
    if NO_STATEMENT.search(piece) or (AHEAD.search(piece) and not PAST.search(piece)):
        return None
    return not DENIAL.search(piece)


def _speaks_of(wanted: set[str], text: str, shared: set[str]) -> bool:
    own = _all_words(text)
    return bool(wanted & own) and wanted <= own | shared
