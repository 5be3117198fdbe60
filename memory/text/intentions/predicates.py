"""What a text says about the condition of a commitment: that it holds, that it does not, or nothing.

A condition is a few stems, all of which must be in one sentence (its entry's labels counted in). A wish, a plan, a
question or another condition asserts nothing; a sentence that denies says the opposite.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from memory.text import json_texts, patterns, search_words
from memory.text.encodings import normalized
from memory.text.intentions import documents, occurrences, verbs
from memory.text.similarity.spelling import with_signs
from memory.text.similarity.values import NUMBER_WORDS

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes
LONGEST_TEXT = 20_000
LONGEST = 400
MOST_SENTENCES = 500  # more of them, in a text of that length, are no prose
BREAK = patterns.late(r"[.!?]+(?=[\s\"')\]]|$)|;|\n+")
ABBREVIATION = patterns.late(
    r"(?:^|[\s(])(?:[a-z]|[ap]\.m|e\.g|i\.e|mr|mrs|ms|dr|st|no|vs|inc|ltd|co|approx"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri|sat|sun)$",
    re.IGNORECASE,
)
GERMAN_DATE = patterns.late(r"\d\. (?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöüß])")
QUOTED = patterns.late(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|`[^`\n]{0,400}`"
    r"|(?<![\w'])'(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){0,400}'(?!\w)"
)
QUOTED_LINE = patterns.late(r"^[ \t]*>[^\n]*", re.MULTILINE)
SINGLE_WORDS = patterns.late(r"\S+")
TITLE = 3  # so many words in quotation marks may be a name
WORD = patterns.late(r"(?:(?<![\w-])-)?\d+(?:[.,]\d+)+(?![\w])|(?<![\w-])-\d+\b|[^\W_]+(?:'[a-z]+)?")
THOUSANDS = patterns.late(r"(?<=\d),(?=\d{3}\b)")
FOREIGN_STEM = 6  # letters; endings of verbs change the last of a stem
MOST_WORDS = 12
PAID, OWED = "pay", frozenset(("deposit", "rent", "fe", "instalment", "sum", "fund"))
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
    "children": "kid",
    **{
        f"{verb}l{end}": verb
        for verb in ("cancel", "travel", "label", "total", "model", "fulfil")
        for end in ("ed", "ing")
    },
    "withdrew": "withdraw",
    "withdrawn": "withdraw",
    "held": "hold",
    "taken": "take",
    "took": "take",
    "grew": "grow",
    "grown": "grow",
    "flew": "fly",
    "drove": "drive",
    "woke": "wake",
    "froze": "freeze",
    "stole": "steal",
    "stolen": "steal",
    "kept": "keep",
    "slept": "sleep",
    "caught": "catch",
    "taught": "teach",
    "brought": "bring",
    "spoke": "speak",
    "spoken": "speak",
}
UNSAYING = """
a an the this that these those it its he she they we i you me us him her them my our your their his and or but so then
also just now already finally again because
is are was were be been being has have had having am do does to of in on at by for
from with into as got get gets getting there here which who whom whose when once after if soon moment until before since
while very too some any each every all both can today yesterday tomorrow tonight morning successfully 's
"""
STOP = frozenset(UNSAYING.split())
# Without one of these a text may be in another language.
ENGLISH = frozenset("the is are was were has have had been of with from this our my we i it to".split())
# A present tense with a time to come: "the trial expires in December", "Anna arrives on Monday".
AHEAD = patterns.late(
    r"\b(?:tomorrow|tonight|later|not before|(?<!heute )morgen|übermorgen|demain|jutro|pojutrze|(?<!esta )mañana"
    r"|next (?:week|month|year|quarter|time|\w+day)|in (?:a|an|\d+|two|three|four"
    r"|five|six|ten)"
    r" (?:minutes?|hours?|days?|weeks?|months?|years?)|(?:on|by|this|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|at (?:\d{1,2}(?::\d\d|\s?[ap]m)|noon|midnight|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"|(?:in|on|by|until) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?(?:january|february|march|april|may"
    r"|june|july|august"
    r"|september|october|november|december))\b",
    re.IGNORECASE,
)
PAST = patterns.late(rf"\b(?:was|were|has|have|had|been|did|{'|'.join(IRREGULAR)}|\w{{2,}}ed)\b", re.IGNORECASE)
UNDONE = patterns.late(
    r"\bun(?=(?:paid|signed|filed|approved|cleared|delivered|resolved|confirmed|shipped)\b)", re.IGNORECASE
)
DENIAL = patterns.late(
    r"\b(?:not|never|no longer"
    r"|without(?! (?:an? |any )?(?:error|problem|issue|incident|delay|trouble|hitch|fault)s?\b)"
    r"|yet to|failed to|fails to|unable to|neither|nor|cannot|refused to|reopened"
    r"|\w+n't"
    r"|no (?!doubt|problem|issue)\w+ (?:has|have|was|were|is|are|had)"
    r"|(?:has|have|had|got|shows?) no (?!doubt|problem|issue|more\b))\b"
    r"|\b(?:has|have|is|are) still (?:to|un\w+|pending|outstanding|open|missing)\b"
    r"|\b(?:out of (?:stock|order|service)|sold out|nothing|nobody|lost|failed)\b"
    r"|\b(?:half|halfway|almost|nearly|partly|partially|mostly|largely|not quite)[ -]"
    r"(?:\w+ed|set|done|complete|ready|through|over|there|back|built|written|sent|paid|shut|dry|full|empty|gone)\b"
    r"|\b(?:nicht|ohne|kein\w*|(?:todavía|aún|ya) no|no (?:ha|han|hay|se|fue|está|llegó)|pas|nie)\b"
    r"|^\W*no \w+ \w+ed\b|\bonly (?:half|partly|partially)\b|\b(?:passed over|turned down|rejected) for\b"
    r"|\bmissed out on\b"
    r"|\b(?:half|part) of\b|\b(?:almost|nearly|not quite)\b|\bno (?=\w+(?:á|án|ó|aron|ieron)\b)|\bstill being\b"
    r"|\bin progress\b|\bunder ?way\b|\bongoing\b|\bagainst\b"
    r"|\b(?:pending|outstanding|overdue|rolled back|reversed|revoked|withdrawn)\b",
    re.IGNORECASE,
)
# After such a word there is no statement, up to the next comma. A copy of a condition says no more than the condition.
SUBORDINATE = patterns.late(
    r"\b(?:when|whenever|once|if|unless|until|till|before|as soon as|whether|the moment|after|provided(?: that)?"
    r"|in case|as long as|(?:each|every|the next|next) time|wenn|sobald|sofern|nachdem|cuando|en cuanto|quand|lorsqu\w*"
    r"|dès qu\w*|gdy|kiedy|jeśli|jeżeli|(?-i:[Ss]i(?= [a-zé])))\b[^,]*"
    r"|\bfalls (?:der|die|das|dies\w*|ein\w*|es|sie|ich|wir|er)\b[^,]*",
    re.IGNORECASE,
)
NO_STATEMENT = patterns.late(
    r"\b(?:will|would|shall|should|may|might|could(?! not)|must|can)\b|\b\w+'(?:ll|d)\b|\b(?:have|has|had) to\b|"
    r"\b(?:going|due|about|expect(?:s|ed|ing)?|hope[sd]?|hoping|want(?:s|ed|ing)?|plan(?:s|ned|ning)?|need(?:s|ed)?"
    r"|wait(?:s|ed"
    r"|ing)?"
    r"|supposed|meant|set|likely|try(?:ing)?|tries|ready|scheduled?|ask(?:s|ed)?|promis(?:es|ed)|intend(?:s|ed)?"
    r"|ought)"
    r"\s+(?:[\w']+\s+){0,4}?(?:to|for|by)\b|"
    r"\b(?:forg[eo]t(?:s|ten)?|declin(?:es|ed)|agreed?|hesitat(?:es|ed)|offer(?:s|ed)?|invited|avoid(?:s|ed)"
    r"|refus(?:es|ed)"
    r"|stopp?(?:s|ed)?|prevent(?:s|ed)?)\s+(?:[\w']+\s+){0,3}?(?:to\s+(?!(?:the|an?|my|our|your|his|her|its|their"
    r"|this|that|these|those|it|all)\b)\w|from\s+\w+ing\b|\w+ing\b)"
    r"|\btoo \w+ to\b|\bwants? (?:[\w']+ ){1,4}\w+(?:ed|t|n)\b|"
    r"\b(?:hopes?|hoping|wish(?:es)?|guess|doubts?|wonders?|fears?) (?!to\b)|"
    r"\b(?:thinks?|believes?|assumes?|suspects?|claims?|predicts?|expects?|rumou?rs?) (?:that )?(?:the|an?|he|she"
    r"|it|we|they)\b|"
    r"\b(?:thinking|considering|planning|talking|dreaming) (?:of|about)\b|"
    r"\bon (?:their|its|his|her|the|our|my) way\b|\b(?:fast )?asleep\b|"
    r"\b(?:consider|discuss|suggest|recommend|propos|contemplat|mull)(?:s|es|ed|ing|e|ing over)? \w+ing\b|"
    r"\b(?:pense(?:nt)?|espère|compte|veut|veulent|souhaite|prévoit|envisage|hésite|piensa|espera|quiere|planea"
    r"|prevé|intenta"
    r"|denkt|hofft|plant|möchte|wollen|erwägt|überlegt|chce|planuje|zamierza|rozważa|devrait|devraient|va|vont|doit"
    r"|doivent|debería\w*|soll|sollte|sollten|wird|werden|muss|will bald|powin\w+"
    r"|ma|mają"
    r"|będzie|sera|seront|\w{3,}(?:ará|erá|irá|arán|erán|irán)|vielleicht|peut-être|quizás?|tal vez|może|pronto"
    r"|bientôt|bald|wkrótce)\b|"
    r"\b(?:chance|risk|probability|likelihood|danger|odds) of\b|\bforecasts?\b|"
    r"\b(?:remind|don't forget|todo|to-do|please|let (?:me|us) know|make sure|expecting|awaiting|hopefully|probably"
    r"|perhaps"
    r"|maybe|soon)\b",
    re.IGNORECASE,
)


# Said of how it always is, of what would be good, or to one another: nothing has happened.
GENERALLY = patterns.late(
    r"\b(?:always|usually|often|generally|normally|sometimes|in general|tends? to|(?:every|each) (?:day|week|month"
    r"|year))\b"
    r"|\b(?:let's|let us)\b|\b(?:it's|it is|is|are) (?:so |very |super |really |always )*(?:important|essential"
    r"|crucial|key)\b"
    r"|^\W*(?:\w+:\s+)?\w{2,}ing\s+(?!is\b|are\b|was\b|were\b|has\b)[^,.;]*\b(?:is|are) (?:so |very |super |really )*"
    r"(?:great|good|fun|hard|tough|nice|amazing|what|a|an|my|something|worth)\b",
    re.IGNORECASE,
)
# "I", "we" and "I'm" in a condition: who it is that did it; a note without a subject is its writer's.
OWN = patterns.late(
    r"\b(?:i|we)\b|\b(?:the|this) (?:user|author|writer)\b"
    r"|^\W*(?:(?:now|just|finally|all|already)\s+)*(?:\w{2,}ed|done|home|back|here|there|sent|paid|made|read)\b",
    re.IGNORECASE,
)
# A note of so few words may have no verb: "CI green again".
SHORTEST_NOTE = 4
# A word that says by itself what is, and how many words before it say so.
BEING = frozenset(
    "is are was were am be been being it's that's he's she's there's they're we're i'm has have had got gets get went"
    " goes came comes became turned turns ran runs now again".split()
)
NEAR = 4
WEATHER = frozenset(("rain", "snow", "freez", "storm", "hail", "drizzl"))
HAPPENS = frozenset(verbs.third_person(verb) for verb in verbs.ACTIONS | verbs.HAPPENING)
CONTRACTED = patterns.late(r"(?:i|you|he|she|it|we|they|there|that|who)'(?:m|re|ve|d|ll|s)$")
UNITS = frozenset(
    "percent euro dollar pound degre kg km m cm mm gb mb tb ms bar volt watt hour minut day week litr liter".split()
)
CODE = patterns.late(r"\w*\d{3,}\w*$|[a-z]+\d\w*$")
LEAST_NEEDED = 2
# What a number changed by or from, and what there is too much of, is none to be held against a limit.
DIFFERENCE = patterns.late(
    r"\b(?:by|from)\s+(?:about |around |almost |nearly |up to )?[$€£]?\d[\d.,]*\s?(?:%|(?!to\b|and\b)[^\W\d]+)?"
    r"|[$€£]?\b\d[\d.,]*\s?(?:%|[^\W\d]+)?\s+(?:too|less|fewer|more|higher|lower|cheaper|short|off|extra)\b",
    re.IGNORECASE,
)
# What one or some of them did, what is put off, and what a relative did.
PARTLY = patterns.late(
    r"\b(?:only )?(?:one|some|most|two|three|a few|several|none) of (?:the|them|us|our|my|its|those)\b", re.IGNORECASE
)
PUT_OFF = patterns.late(
    r"\b(?:postponed|delayed|deferred|rescheduled|suspended|on hold|put off|pushed back|held up|stalled|blocked"
    r"|(?:is|are|was|were|'s|'re) (?:\w+ly )?being(?! held\b)"
    r"|verschoben|aplazad[oa]s?|reporté\w*|przełożon\w+)\b",
    re.IGNORECASE,
)
OTHERS = patterns.late(
    r"\b(?:his|her|their|my|your|our) (?:\w+ )?(sister|brother|mother|father|mum|mom|dad|wife|husband|son|daughter"
    r"|child|friend"
    r"|colleague|boss|neighbou?r|cousin|aunt|uncle|partner|assistant|flatmate|roommate|niece|nephew|grandmother"
    r"|grandfather)s?\b",
    re.IGNORECASE,
)
# The parts of German verbs that stand at the end of a clause: "liegt vor" of "vorliegt".
APART = frozenset("ab an auf aus bei ein fest her hin los mit nach vor weg zu zurück zusammen statt".split())
# What was done and undone in one sentence has not happened.
REVERSED = patterns.late(
    r"\band (?:then |later |was |has been )*(?:reopened|reverted|rolled back|undone|withdrawn)\b", re.IGNORECASE
)
# Another one of the kind, or what only stands for it: "another package", "a copy of the contract".
ANOTHER = patterns.late(
    r"\b(?:another|a (?:different|second|further)|(?:the|a) wrong|(?:some|the|every|an) other|someone else's|somebody"
    r" else's)\s+((?:[\w-]+ ){0,2}?[\w-]+)\b",
    re.IGNORECASE,
)
STANDS_IN = patterns.late(
    r"\b(copy|copies|draft|scan|photo|picture|page|excerpt|translation|summary|template|sample|mock-?up|replica"
    r"|version|part|first half)s?\s+of\s+(?:the|an?|our|my|your|his|her|their|this|that)\b"
    r"|\b(draft|mock|sample|dummy|test|fake|preliminary|provisional|partial|copied)\s+(?=([\w-]+))",
    re.IGNORECASE,
)
# "Passed on staging but failed in production"; with another subject, "but" says nothing of the first.
ON_BALANCE = patterns.late(
    r"\b(?:but|yet|although|though|however)\s+(?:(?:then|later|still|also|it|they|he|she)\s+)?"
    r"(?:(?:was|were|has|have|is|are|had|been|got)\s+)*(?:then |later |still |again |immediately )?"
    r"(?:fail(?:s|ed)?|broke|breaks|broken|crash(?:es|ed)|reject(?:s|ed)|refused|reverted|withdrawn|cancel(?:l?ed|s)"
    r"|undone|rolled back|reopened|invalid|void|not\b)",
    re.IGNORECASE,
)
OWNER = patterns.late(
    r"\b(?!(?i:it|he|she|that|there|what|who|let|here)'s)([^\W_]+)'s ((?:(?:new|old|own|first|last|next|current|final"
    r"|second|other) )*[\w-]+)"
)
POSSIBLE = patterns.late(r"\bcan\b", re.IGNORECASE)
PIECE_END = patterns.late(r",(?!\d)|\b(?:and|but)\b", re.IGNORECASE)


# Who is in it arrives with it.
CARRYING = frozenset("plane flight train bus car taxi ship ferry boat cab coach".split())


class Sentence(NamedTuple):
    """From character ``starts`` to ``ends`` of the text; ``text`` has the same length."""

    starts: int
    ends: int
    text: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"') ]").endswith("?")


def sentences(text: str) -> Iterator[Sentence]:
    """The first 500 sentences within 20,000 characters, in order; one of more than 400 characters is not looked at, so
    that to look at one takes a moment, whatever is written in it."""
    return islice(_all_sentences(text), MOST_SENTENCES)


def _all_sentences(text: str) -> Iterator[Sentence]:
    said = documents.without_code(json_texts.in_place(text[:LONGEST_TEXT]))
    plain = _unquoted(said.replace("\u2019", "'").replace("\u00a0", " "))
    begins = 0
    for ends in [*_breaks(plain), len(plain)]:
        piece = plain[begins:ends]
        starts = begins + len(piece) - len(piece.lstrip())
        stops = begins + len(piece.rstrip())
        if 0 < stops - starts <= LONGEST:
            yield Sentence(starts, stops, plain[starts:stops])
        begins = ends


def _breaks(text: str) -> Iterator[int]:
    for found in BREAK.finditer(text):
        before = text[max(0, found.start() - 10) : found.start()]
        if found[0] != "." or not (ABBREVIATION.search(before) or GERMAN_DATE.match(text, found.start() - 1)):
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
    return "note" if word in ("note", "notes") else _short(word)


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
    folded = normalized("NFKC", THOUSANDS.sub("", text.replace("%", " percent "))).casefold()
    plain = [word.removesuffix("'s") for word in WORD.findall(with_signs(folded)) if not CONTRACTED.match(word)]
    return [STANDS_FOR.get(each, each) for each in (stem(word) for word in plain if word not in STOP) if each]


def foreign_stems(text: str, languages: int) -> list[str]:
    """The stems of a text in other languages, without stop words; what happens in English."""
    words = WORD.findall(normalized("NFKC", text).casefold())
    words += [part + word for part in APART.intersection(words) for word in words if len(word) > len(part)]
    said = [word for word in search_words.without_stop_words(words, languages) if word not in occurrences.HELPING]
    return [each for word in said for each in _foreign_forms(word, languages)]


def _foreign_forms(word: str, languages: int) -> set[str]:
    if word.endswith(("ła", "ło")):
        word = word[:-1]  # what she or it did, in Polish, is what he did
    stems = {
        FOREIGN.get(word) or FOREIGN.get(each[:FOREIGN_STEM], each[:FOREIGN_STEM])
        for each in search_words.stems_of(word, languages)
    }
    return stems or {word}


def _lines(words: str) -> Iterator[list[str]]:
    return (line.split() for line in words.replace("\n ", " ").strip().splitlines())


STANDS_FOR = {stem(word): stem(line[0]) for line in _lines(occurrences.ALIKE) for word in line}
FOREIGN = {
    form: STANDS_FOR.get(stem(line[0]), stem(line[0]))
    for line in _lines(occurrences.FOREIGN)
    for word in line[1:]
    for form in (word, *(each[:FOREIGN_STEM] for each in search_words.stems_of(word) if len(each) >= FOREIGN_STEM))
}
# Numbers in words, from two: one may be anything.
COUNTED = {stem(word): number for word, number in NUMBER_WORDS.items() if number not in "01"} | {"dozen": "12"}
SIDES = tuple(
    (name, frozenset(map(stem, words)))
    for name, words in (("above", occurrences.ABOVE), ("below", occurrences.BELOW), ("least", occurrences.AT_LEAST))
)
DIRECTIONS = frozenset.union(occurrences.MOVING, *(words for _, words in SIDES))
LEFT_OUT = frozenset(stem(word) for word in occurrences.LEFT_OUT.split())


def vocabulary(content: str, tags: Iterable[str] = ()) -> frozenset[str]:
    """Every word that a statement of the entry could be made of: what is not in here, it says nothing of."""
    said = " ".join([content[:LONGEST_TEXT], *map(_label, tags)]).replace("\u2019", "'")
    return _all_words(UNDONE.sub("not ", said)) | _all_words(UNDONE.sub("not ", occurrences.rewritten(said)))


def _all_words(text: str) -> frozenset[str]:
    found = _stems(text)
    language = search_words.language_of(text.casefold().split())
    if language != search_words.ENGLISH:
        found += foreign_stems(text, language)
    elif ENGLISH.isdisjoint(text.casefold().split()):
        found += foreign_stems(text, search_words.ALL)  # too short to tell
    also = [each for word in found for each in occurrences.ALSO.get(word, ())]
    paid = [PAID, "transfer"] if any(one in OWED and following == "arriv" for one, following in pairwise(found)) else []
    return frozenset([*found, *also, *paid, *_of_payment(found)])


def words_of(text: str) -> tuple[str, ...]:
    """The stems that carry the sense of ``text``, in order, each once."""
    return tuple(dict.fromkeys(_of_payment(_stems(occurrences.rewritten(text)))))


def foreign_words_of(text: str, language: int) -> tuple[str, ...]:
    """The same of a text in another language."""
    return tuple(dict.fromkeys(foreign_stems(occurrences.rewritten(text), language)))


def _of_payment(found: list[str]) -> list[str]:
    """Treats "a payment arrives" and "a person pays" as the same."""
    paying = {"payment", "money", "transfer"} & set(found)
    coming = {"arriv", "come", "clear", "settl", "go", "book"} & set(found)
    if paying and coming:
        return [each for each in found if each not in paying | coming | {"through"}] + [PAID]
    return found


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be said: all of ``words``, and with a ``limit`` a number in its ``unit`` on that ``side`` of it.

    ``said`` are the words of the condition, those that need not be said again among them; ``of`` is the first, of whom
    or what it is said."""

    words: frozenset[str]
    limit: float | None = None
    side: str = ""
    unit: str = ""
    said: frozenset[str] = frozenset()
    of: str = ""


@lru_cache(maxsize=1024)
def wanted_of(words: tuple[str, ...]) -> Wanted:
    """What a condition's words ask for; those that its other words say already are left out."""
    said = frozenset(words)
    if words and words[0][0].isdigit() and (limit := _number(words[0])) is not None and len(words) > 1:
        return Wanted(_needed(words[1:]), limit, "least", said=said)  # "once we have 50 registrations"
    for at, word in enumerate(words[1:], 1):
        before = words[at - 1] if words[at - 1] != "than" else words[at - 2]
        side = next((name for name, given in SIDES if before in given), "")
        if side and (limit := _number(word)) is not None:
            rest = [each for each in words[:at] if each not in DIRECTIONS]
            behind = words[at + 1 : at + 2]
            unit = behind[0] if behind and behind[0] in UNITS else ""
            rest += [each for each in words[at + 1 :] if each != unit]
            return Wanted(_needed(rest), limit, side, unit, said)
    return Wanted(_needed(words), said=said, of=words[0] if words else "")


def _needed(words: Sequence[str]) -> frozenset[str]:
    kept = [
        word
        for at, word in enumerate(words)
        if word not in LEFT_OUT and not (word.isalpha() and words[at + 1 : at + 2] and CODE.match(words[at + 1]))
    ]
    return frozenset(kept if len(kept) >= LEAST_NEEDED else words)


def _number(word: str) -> float | None:
    try:
        return float(COUNTED.get(word) or word.replace(",", "."))
    except ValueError:
        return None


def verdict(words: Sequence[str], content: str, tags: Iterable[str] = (), *, own: bool = False) -> bool | None:
    """Whether an entry says that what ``words``, in their order, stand for holds; None when it says nothing of it.

    The last statement counts. A label alone may say it. ``own``: it is about whoever writes, "when I am home".
    """
    wanted = wanted_of(tuple(words))
    labels = [_label(tag) for tag in tags]
    shared = {word for label in labels for word in _all_words(label)}
    heard = (each for each in sentences(content) if not each.asks and (not own or OWN.search(each.text)))
    said = [_affirms(wanted, each, shared) for each in heard]
    answers = [each for each in said if each is not None]
    if answers:
        return answers[-1]
    if wanted.words and wanted.words <= shared and wanted.limit is None:
        return not any(DENIAL.search(label) for label in labels)
    return None


def _label(tag: str) -> str:
    return tag.replace("-", " ").replace("_", " ").replace(":", " ")


def _affirms(wanted: Wanted, sentence: Sentence, shared: set[str]) -> bool | None:
    main = UNDONE.sub("not ", SUBORDINATE.sub(" ", sentence.text))
    main = occurrences.OF_AN_EVENT.sub(lambda found: found[0] if wanted.said >= {*_stems(found[0])} else " ", main)
    main = _of_itself(wanted.said, main)
    denied = said_as = main
    if not _speaks_of(wanted.words, main, shared):
        possible = POSSIBLE.search(main) and SUBORDINATE.search(sentence.text)  # "can be collected once it is paid"
        main = main if possible else occurrences.rewritten(main)
        if not _speaks_of(wanted.words, main, shared):
            return _has_happened(wanted, denied, main, shared)
    piece = next((each for each in PIECE_END.split(main) if _speaks_of(wanted.words, each, shared)), main)
    if (found := REVERSED.search(main)) and wanted.said.isdisjoint(_all_words(found[0])):
        return False
    if _is_of_others(wanted.words, piece) or _is_another(wanted.said, piece):
        return None
    if (found := ON_BALANCE.search(main)) and wanted.said.isdisjoint(_all_words(found[0])):
        return None
    if _states_nothing(wanted.said, piece) or (_lies_ahead(wanted.said, piece) and not PAST.search(denied)):
        return None
    if wanted.limit is not None:
        return _is_beyond(wanted, piece)
    if _denies(wanted.words, piece):
        return False
    return True if main is not said_as or _is_affirmed(wanted, piece, shared, main) else None


def _is_affirmed(wanted: Wanted, piece: str, shared: set[str], main: str) -> bool:
    """Whether what happens is said to happen, to have happened or to be: "the bug is fixed", and not "fix the bug"."""
    happens = wanted.words - shared
    words = WORD.findall(piece.casefold())
    is_note = len(main.split()) <= SHORTEST_NOTE and words[0] != "to" and words[0] not in verbs.ACTIONS
    if not happens or is_note or ENGLISH.isdisjoint(words):
        return True
    for at, word in enumerate(words):
        root = STANDS_FOR.get(stem(word), stem(word))
        before = words[max(0, at - NEAR) : at]
        if before[-1:] == ["to"] or happens.isdisjoint((root, *occurrences.ALSO.get(root, ()))):
            continue
        if word in IRREGULAR or word.endswith("ed") or word in verbs.LIKE_PAST:
            return True
        if root == wanted.of and root not in WEATHER:
            continue  # "the tests"
        if word in HAPPENS or (not BEING.isdisjoint(before) and "to" not in before):
            return True
    return False


def _states_nothing(said: frozenset[str], piece: str) -> bool:
    """Whether a word other than those that are waited for keeps it from being a statement: "stops" where a stop is."""
    if any(said.isdisjoint(_all_words(found[0])) for found in GENERALLY.finditer(piece)):
        return True
    return any(said.isdisjoint(_all_words(found[0].split()[0])) for found in NO_STATEMENT.finditer(piece))


def _lies_ahead(said: frozenset[str], piece: str) -> bool:
    """Whether it speaks of a time to come that is not itself waited for."""
    return any(not said >= {*_stems(found[0])} for found in AHEAD.finditer(piece))


def _denies(wanted: frozenset[str], piece: str) -> bool:
    """Whether the piece denies, by more than a word that is waited for: "lost" where a loss is."""
    return any(not found[0].isalpha() or wanted.isdisjoint(_all_words(found[0])) for found in DENIAL.finditer(piece))


def _is_of_others(wanted: frozenset[str], piece: str) -> bool:
    """Whether only some did it, another person did, or it is put off."""
    if "on" not in wanted and "one" not in wanted and PARTLY.search(piece):
        return True
    if any(wanted.isdisjoint(_stems(found[0])) for found in PUT_OFF.finditer(piece)):
        return True
    return any(wanted.isdisjoint(_stems(found[1])) for found in OTHERS.finditer(piece))


def _is_another(said: frozenset[str], piece: str) -> bool:
    """Whether it is said of another one than what is waited for, or of what only stands for it, a copy or a draft."""
    if any(not said.isdisjoint(_stems(found[1])) and "another" not in said for found in ANOTHER.finditer(piece)):
        return True
    return any(
        said.isdisjoint(_stems(found[1] or found[2])) and (not found[3] or not said.isdisjoint(_stems(found[3])))
        for found in STANDS_IN.finditer(piece)
    )


def _has_happened(wanted: Wanted, said_as: str, main: str, shared: set[str]) -> bool | None:
    """Whether it is told by a noun, and a word that says that it is over: "the installation is complete"."""
    over = occurrences.OVER.search(said_as)
    if not over or wanted.limit is not None or NO_STATEMENT.search(main) or AHEAD.search(main):
        return None
    verbs = {stem(verb) for word in WORD.findall(main.casefold()) for verb in occurrences.verbs_of(word)}
    said = _all_words(main) | {STANDS_FOR.get(verb, verb) for verb in verbs}
    others = _is_of_others(wanted.words, main) or _is_another(wanted.said, main)
    if not (wanted.words & said and wanted.words <= said | shared) or others:
        return None
    return not _denies(wanted.words, main)


def _of_itself(wanted: frozenset[str], text: str) -> str:
    """The text without owners of what is not waited for: of "Ewa's colleague" it is the colleague who acts."""
    return OWNER.sub(
        lambda found: found[0] if wanted & _all_words(found[2]) or found[2] in CARRYING else f" {found[2]}", text
    )


def _is_beyond(wanted: Wanted, piece: str) -> bool | None:
    """Whether the first number of the unit is on that side of the limit, or the limit itself is said to be passed."""
    said = _stems(DIFFERENCE.sub(" ", piece))
    for at, word in enumerate(said):
        number = _number(word)
        if number is None or word in wanted.words or (wanted.unit and wanted.unit not in said[at + 1 : at + 2]):
            continue
        limit = wanted.limit or 0.0
        if number == limit:
            passed = any(each in given for name, given in SIDES if name == wanted.side for each in said)
            return passed and not DENIAL.search(piece)
        return number > limit if wanted.side in ("above", "least") else number < limit
    return None


def _speaks_of(wanted: frozenset[str], text: str, shared: set[str]) -> bool:
    own = _all_words(text)
    return bool(wanted & own) and wanted <= own | shared
