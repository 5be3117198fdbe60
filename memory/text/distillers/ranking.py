"""The sources of a distillation, and the weight of every sentence, in about linear time: no pairwise comparison.

A sentence is worth the information that it adds: the sum of the weights of its terms, times a factor. The factor rises
with a date, a number, a name, a statement about the speaker, an answer, a rule, a deed and repetition across sources,
and falls with a question, a reaction, a feeling or small talk. Weights come from words and counts of the corpus alone,
so the same sources get the same weights.
"""

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np

# ruff: noqa: RUF001 (Russian)
from memory.text import patterns, search_words
from memory.text.distillers.sentences import is_block, split
from memory.text.intentions import verbs
from memory.text.remembered import remembered


@dataclass(frozen=True, slots=True)
class Source:
    """An entry that may go into an archive. ``tokens`` is what reading it costs, ``corroboration``
    of how many sources it speaks; ``in_order``: it may answer the source before it; ``written_on``: the day on which
    its text was written, when that is known.
    """

    id: str
    text: str
    said_at: datetime
    tokens: int
    tags: tuple[str, ...] = ()
    protected: bool = False
    corroboration: int = 1
    in_order: bool = True
    written_on: date | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A sentence of the archive: verbatim in each of its ``sources``, and said almost so by ``restated_by``.

    ``said_on`` is the day from which "yesterday" or "next week" in it is counted; ``shows_day``: the text has room to
    say so.
    """

    text: str
    sources: tuple[str, ...]
    restated_by: tuple[str, ...] = ()
    said_on: date | None = None
    shows_day: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences about one thing; without a ``topic``, about any."""

    topic: str
    sentences: tuple[Kept, ...]


@dataclass(frozen=True, slots=True)
class Distilled:
    """What was kept of ``corpus_count`` entries; ``covered`` are those that were read, in their order.

    ``title`` says what it is about. ``input_tokens`` is the sum over the covered entries, ``output_tokens`` that of
    ``text``.
    """

    title: str
    sections: tuple[Section, ...]
    covered: tuple[str, ...]
    corpus_count: int
    input_tokens: int
    output_tokens: int
    text: str

    @property
    def tokens_used(self) -> int:
        return self.input_tokens + self.output_tokens


class BudgetTooSmall(ValueError):
    """Nothing meaningful fits the budget; ``minimum`` is the smallest one that something fits."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        super().__init__(f"at least {minimum} tokens are needed")


class NothingToKeep(ValueError):
    """No entry has a sentence that an archive has room for."""


STEP = 1000
Step = Callable[[int, int], None]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORD = re.compile(r"\[redacted:[^\]]*\]|https?://\S+|[$€£¥]?[^\W_]+(?:[-.@'\u2019:/,_][^\W_]+)*%?")
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
NAMES = re.compile(r"(?<=[^.!?:\s] )[A-Z][\w-]+")

STOP = _set(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done down during each even few for from further get gets getting go goes going gone got
    had has have having he her here hers him his how i if in into is it its itself just kind like lot made make may me
    might more most much my now of off on once one or other our out over own please quite really said same say says see
    she should so some still such than that the their them then there these they thing things this those through to too
    under until up us very was we well were what when where which while who whom why will with would you your yours
    today yesterday tomorrow note
    reminder reminded discussed mentioned told confirm record fyi update per regarding remember
    der die das ein eine und ist sind im zu von mit für auf el la los las un una y es en de que le les des et est du
    """
)

NEGATIONS = _set(
    "no not never none nobody nothing nor neither without cannot can't don't doesn't didn't won't isn't aren't wasn't "
    "weren't shouldn't mustn't nicht kein keine nie nunca jamais sin ohne"
)

# How people say that something is to be kept; then how they speak of what often is; then of nothing in particular.
STRONG = _set(
    """must mustn't shall always never only required require requires mandatory forbidden prohibited critical crucial
    important essential vital decided decision decides agreed agreement approved confirmed committed deadline due expire
    expires expired policy rule remember warning beware prefers prefer preferred preference allergic cannot replaced
    switched changed migrated moved limit limited owner owns responsible effective signed final settled instead longer
    muss immer niemals nie entschieden wichtig debe siempre nunca importante doit toujours jamais"""
)

WEAK = _set(
    """need needs want wants hates should contact budget price cost costs pay pays renew renews renewal renewed cancel
    cancels cancelled canceled starts ends lives works uses because cause fixed resolved blocked failed incident until
    every per minimum maximum most least default version account contract assigned reports birthday located called
    don't"""
)

CHATTER = _set(
    """thanks thank hi hello hey morning afternoon evening cheers lol haha okay ok sure cool nice great awesome worries
    soon checking weather weekend lunch maybe perhaps guess anyway btw usual danke hallo gracias hola merci bonjour
    chat"""
)

# How people feel about something, and what they did: the second is asked for more often.
FELT = _set(
    """feel feels felt feeling believe believes believed think thinks thought hope hopes hoped find finds value values
    valued appreciate appreciates appreciated admire admires enjoy encourage encourages encouraged encouragement express
    expresses expressed emphasize emphasizes emphasise emphasises support supports supporting inspire inspires inspired
    inspiring motivate motivated passionate grateful gratitude thankful proud excited happy glad important importance
    meaningful amazing wonderful beautiful special difference matters wish wishes dream dreams can could glaubt findet
    hofft cree espera croit espère uważa wierzy"""
)

DONE = _set(
    """went took got made received bought sold found lost met attended visited joined started began finished completed
    opened closed built wrote won named called moved signed adopted graduated married died born broke hired fired paid
    gave sent brought learned painted cooked ran drove flew planted fixed launched published booked ordered returned
    hat wurde kaufte ging compró fue a acheté est kupił poszedł"""
)

# When something was or will be; who tells of themselves; whom they speak to. English, German, Spanish, French, Polish.
WHEN = _set(
    """yesterday today tomorrow tonight last next ago since week weeks weekend month months year years monday tuesday
    wednesday thursday friday saturday sunday january february march april june july august september october
    november december recently gestern heute morgen seit letzte letzten nächste nächsten woche monat jahr montag
    dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz juni juli oktober dezember ayer hoy
    mañana semana mes año lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio
    julio agosto septiembre octubre noviembre diciembre hier demain semaine mois lundi mardi mercredi jeudi vendredi
    samedi dimanche janvier février avril juin juillet août octobre novembre décembre wczoraj dziś dzisiaj jutro
    tydzień tygodniu miesiąc rok roku poniedziałek wtorek środa czwartek piątek sobota niedziela"""
)

# Times that are told by the day on which they are told.
WEEKDAYS = (
    "mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs)?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|montag|dienstag"
    "|mittwoch|donnerstag|freitag|samstag|sonntag|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lundi|mardi"
    "|mercredi|jeudi|vendredi|samedi|dimanche"
)
SPANS = (
    "night|week(?:end)?|month|year|quarter|spring|summer|autumn|fall|winter|morning|afternoon|evening|woche(?:nende)?"
    "|monat|jahr|nacht|sommer|winter|semana|mes|año|noche|verano|semaine|mois|an|année|été|hiver"
)
RELATIVE = patterns.late(
    r"\b(?:yesterday|today|tomorrow|tonight|(?:vor)?gestern|heute|(?:über)?(?-i:morgen)|(?:ante)?ayer|hoy"
    r"|(?<!la )mañana|(?:avant-)?hier|aujourd['\u2019]hui|(?:après-)?demain|(?:przed)?wczoraj|dziś|dzisiaj|(?:po)?jutro"
    r"|(?:поза)?вчера|сегодня|(?:после)?завтра"
    rf"|(?:last|next|this|letzte[nrs]?|nächste[nrs]?|diese[nrs]?) (?:{SPANS}|{WEEKDAYS})"
    r"|(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?) ago"
    r"|vor \w+ (?:stunden?|tage?n?|wochen?|monate?n?|jahre?n?)"
    rf"|(?:{SPANS}|{WEEKDAYS}) (?:pasad[oa]|próxim[oa]|que viene|derni(?:er|ère)|prochaine?)"
    r"|hace \w+ (?:horas?|días?|semanas?|mes(?:es)?|años?)|il y a \w+ (?:heures?|jours?|semaines?|mois|ans?)"
    r"|(?:zeszł|ubiegł|przyszł)\w+ (?:tydzień|tygodni\w+|miesiąc\w*|rok\w*)|(?:dni|tygodni\w*|miesi\w+|lata?) temu"
    r"|(?:прошл|следующ)\w+ (?:недел|месяц|год)\w*|(?:дн|недел|месяц|год)\w* назад|лет назад)\b"
    r"|[昨今明]天|[上下]个?[周月]|[昨今明]日|[先来今]週|去年|[今明]年",
    re.IGNORECASE,
)

DAY = re.compile(r"\A\[\d{4}-\d\d-\d\d\] ")  # which an archive says before such a sentence

OWN = _set(
    """i i'm i've i'd i'll my mine me we we're we've we'd we'll our ours us ich mein meine meinen meiner wir unser
    unsere yo mi mis nosotros nuestro nuestra je j'ai mon ma mes nous notre nos mój moja moje mam nasz nasza"""
)

OTHER = _set("you you're you've you'd you'll your yours du dein deine ihr euer tú tu tus vous votre vos ty twój twoja")

# A sentence that begins with such a word mostly answers with a feeling.
REACTIONS = _set(
    """wow yeah yes yep yup oh ah aw aww congrats congratulations that's sounds glad good great absolutely definitely
    totally exactly bye wonderful amazing fantastic perfect right agreed ja nein genau toll sí claro vale oui bravo
    tak"""
)

# What says little of what a text is about, however often it comes.
GENERAL = _set(
    """way ways part parts bit time times day days better favorite favourite addition action chance change goal goals
    face hand lot life year month kind people person guy guys place point reason moment side end idea stuff best pic
    photo picture minute hour night morning evening fri mon tue wed thu sat sun world luck experience feeling help work
    job step process progress share hard clear total new love keep let"""
)

# Of program texts: constants, keywords that are no words of their own, and marks of what is left to do.
KEYWORDS = _set(
    """true false none null nil undefined return returns returned self def elif else endif lambda yield str int bool
    char void const enum struct typedef param params arg args argv kwargs init todo todos fixme xxx foo bar baz http
    https www com org"""
)

# What may, can or should be, and whether it did.
MODAL = _set(
    """able unable possible impossible necessary successful successfully kann können konnte soll sollte sollten möchte
    möglich unmöglich nötig puede pueden pudo debe deben posible imposible necesario peut peuvent pouvez doit doivent
    nécessaire faut można mogą jeśli jeżeli gdy udało należy trzeba możliwe можно нельзя может могут нужно надо должен
    удалось невозможно если слишком вдалося неможливо можна якщо або та може"""
)

SMALL = KEYWORDS | MODAL | STRONG | WEAK | CHATTER | NEGATIONS | WHEN | REACTIONS | FELT | STOP
CLASSES = ((STRONG, 0), (WEAK, 1), (CHATTER, 2), (WHEN, 3), (OWN, 4), (OTHER, 5), (FELT, 6), (DONE, 7))
SPEAKER = re.compile(r"[^\W\d_][\w.'\u2019-]*(?: [\w.'\u2019-]+){0,2}:\s+")
# What multiplies the worth of a sentence, for each sign in it.
DATED, TOLD, ANSWERING, NUMBERED, NAMED, RULED, MARKED = 1.8, 1.5, 1.3, 1.3, 1.2, 1.5, 1.2
ASKING, ADDRESSED, REACTING, CHATTING = 0.4, 0.6, 0.7, 0.85
FEELING, DOING, CODE = 0.7, 1.3, 0.1
# For each doubling of the sources that say so; and from the oldest to the newest source.
BACKING, AGE, MOST_BITS = 0.6, 0.05, 4
# What is left of a formula, and from which number and share of the sources on two words are one: 1 + BACKING * FORMULA.
FORMULA, OFTEN, OFTEN_SHARE = -1.5, 4, 0.01
LETTER = re.compile(r"[^\W\d_]")
ELLIPTIC = 4

# The noun at the end of what an article or a possessive begins: "the new support group.", "my painting of".
HEAD = re.compile(
    r"\b(?:the|an?|my|our|your|his|her|their|its|some|der|die|das|den|dem|eine?n?|el|las?|los|una?|les?|du|des|une)"
    r"\s+(?:[^\W\d_][\w'-]*\s+){0,2}?([^\W\d_][\w-]*)(?=\s*(?:[.,;:!?)\n]|\Z)|\s+(?:and|or|of|in|on|at|for|to"
    r"|with|from|by|that|which|who|is|are|was|were|will|has|had|have|must|can|und|ist|sind|von|de|est)\b)"
)
NOUNS_SHARE = 0.25
# A name amid a sentence: what has a capital behind a mark or a number may begin one.
AMID = re.compile(r"(?<=[^\W\d_] |, )[A-Z][\w-]+")
# Forms of verbs and adverbs, unless they are used as nouns.
FORM = re.compile(r"\w{3,}(?:ed|ing|ly)")


def nouns_of(texts: Sequence[str]) -> frozenset[str]:
    """The terms that name things, as far as articles and capitals tell: often enough used as such, or a name."""
    heads: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for text in texts:
        folded = text.casefold()
        seen.update(term for word in set(WORD.findall(folded)) for term in _classify(word).terms)
        heads.update(term for word in HEAD.findall(folded) for term in _classify(word).terms)
        heads.update(term for word in AMID.findall(text) for term in _classify(word.casefold()).terms)
    return frozenset(term for term, count in heads.items() if count >= NOUNS_SHARE * seen[term])


def terms_of(word: str) -> tuple[str, ...]:
    """The terms of a folded word; none of a small one."""
    return _classify(word).terms


def may_head(term: str) -> bool:
    """Whether a term may stand over sentences as what they are about: a word that is not only a way of speaking."""
    return len(term) > 2 and term.isalpha() and term not in SMALL and f"{term}s" not in SMALL


def names_a_thing(term: str, nouns: frozenset[str], languages: int) -> bool:
    """Whether a title may have a term: no function word of these languages, and no deed unless it is used as a noun."""
    if not may_head(term) or search_words.is_stop_word(term, languages | search_words.ENGLISH):
        return False
    is_deed = verbs.is_action(term) or f"{term}s" in verbs.DOES or FORM.fullmatch(term)
    return term in nouns or not is_deed


class Known(NamedTuple):
    """A word: its terms, the class it is counted in (-1: none), and whether it guards a meaning."""

    terms: tuple[str, ...]
    place: int
    guards: bool
    number: bool


class Wording(NamedTuple):
    """Terms in their order (folded, small words left out); ``guard`` is what makes two alike sentences differ."""

    terms: tuple[str, ...]
    guard: tuple[str, ...]
    numbers: int
    names: int
    reacts: bool
    strong: int
    weak: int
    chatter: int
    dated: int
    own: int
    other: int
    felt: int
    done: int


def wording(sentence: str) -> Wording:
    terms: list[str] = []
    guard: list[str] = []
    counts = [0] * 9
    numbers = 0
    folded = sentence.casefold().replace("\u2019", "'")
    speaker = SPEAKER.match(folded)
    opening = WORD.search(folded, speaker.end() if speaker else 0)
    for word in WORD.findall(folded):
        known = _classify(word)
        terms += known.terms
        counts[known.place] += 1
        if known.guards:
            guard.append(word)
            numbers += known.number
    reacts = opening is not None and opening[0] in REACTIONS
    return Wording(tuple(terms), tuple(guard), numbers, len(NAMES.findall(sentence)), reacts, *counts[:8])


@remembered(32_768)
def _classify(word: str) -> Known:
    number = any(map(str.isdigit, word))
    place = next((place for words, place in CLASSES if word in words), -1)
    terms = () if word in STOP else _terms(word)
    return Known(terms, place, number or word in NEGATIONS, number)


def _terms(word: str) -> tuple[str, ...]:
    """A word as its terms: without the ending of a plural or genitive; pairs of characters where words have no gaps."""
    if not word.isascii() and UNSPACED.search(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1)) or (word,)
    if word.endswith(("'s", "\u2019s")):
        word = word[:-2]
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" and word.isalpha():
        word = word[:-1]
    return (word,)


@dataclass(slots=True)
class Saying:
    """One thing that is said, by all the sources that say it: ``texts`` are its variants, with their sources;
    ``speakers`` are the sources of all of them, in their order; ``question`` is the number of the one it answers.
    """

    texts: dict[str, list[int]]
    words: Wording
    asks: bool
    speakers: Sequence[int] = ()
    terms: tuple[int, ...] = ()
    weight: float = 0.0
    question: int | None = None

    @property
    def needs_its_question(self) -> bool:
        """Whether this says too little alone, and answers a question."""
        return self.question is not None and len(self.words.terms) < ELLIPTIC and not self.words.own

    @property
    def is_relative(self) -> bool:
        """Whether this tells a time by the day on which it is said."""
        text = next(iter(self.texts))
        return bool(self.words.dated or not text.isascii()) and RELATIVE.search(text) is not None

    def text_of(self, source: int) -> str:
        """How this source says it."""
        return next(text for text, numbers in self.texts.items() if _contains(numbers, source))


@dataclass(slots=True)
class Ranked:
    """The sayings of a corpus with their weights; ``counts`` says in how many of them each term occurs, ``gains`` how
    telling it is, ``names`` what it is; ``tag_gains`` how telling the tags are that not all sources have."""

    sources: Sequence[Source]
    sayings: list[Saying]
    counts: list[int]
    gains: list[float]
    names: list[str]
    tag_gains: dict[str, float]


def ranked(sources: Sequence[Source], step: Step | None = None) -> Ranked:
    """Weigh the sentences of ``sources``, which are in the order of their time. ``step`` is called now and then with
    how many were read.

    Raises ``NothingToKeep`` when none of them has a sentence.
    """
    sayings = _gathered(sources, step) or _gathered(sources, None, every=True)
    if not sayings:
        raise NothingToKeep("no source says anything")
    names, spoken = _numbered(sayings)
    gains = np.log1p(len(sources) / np.maximum(spoken, 1))
    latest = max(len(sources) - 1, 1)
    for saying in sayings:
        backing = sum(sources[number].corroboration for number in saying.speakers)
        bits = min(math.log2(max(backing, 1)), MOST_BITS)
        if len(saying.words.terms) < ELLIPTIC - 1 and _is_formula(saying, len(sources)):
            bits = FORMULA
        recent = 1 + AGE * saying.speakers[-1] / latest
        saying.weight = round(_weight(saying) * (1 + BACKING * bits) * recent, 6)
    tags = Counter(tag for source in sources for tag in source.tags)
    tag_gains = {tag: math.log1p(len(sources) / count) for tag, count in tags.items() if count < len(sources)}
    return Ranked(sources, sayings, spoken.tolist(), gains.tolist(), names, tag_gains)


def _asks(text: str) -> bool:
    return text.rstrip("\"')\u201d\u2019 ").endswith(("?", "\uff1f"))


def _is_formula(saying: Saying, count: int) -> bool:
    """Whether two words that many entries have, such as "Team upload.", tell neither a name nor a number nor a deed."""
    words = saying.words
    tells = words.numbers or words.names or words.strong or words.weak or words.dated or words.own or words.done
    return not tells and len(saying.speakers) >= max(OFTEN, OFTEN_SHARE * count) and saying.question is None


def _gathered(sources: Sequence[Source], step: Step | None, *, every: bool = False) -> list[Saying]:
    """What the sources say. A line without a letter, such as that of a progress, tells nothing unless it answers or is
    protected; ``every`` takes them too.
    """
    found: dict[object, int] = {}
    same: dict[str, int] = {}
    sayings: list[Saying] = []
    asked: int | None = None
    for number, source in enumerate(sources):
        if step and number % STEP == 0:
            step(number, len(sources))
        answered, asked = (asked if source.in_order else None), None
        for text in split(source.text):
            at = same.get(text)
            if at is None:
                if not (text[0].isalpha() or LETTER.search(text) or answered is not None or source.protected or every):
                    continue
                words = wording(DAY.sub("", text, count=1) if text[0] == "[" else text)
                key = (tuple(sorted(set(words.terms))), words.guard) if words.terms else text.casefold()
                at = same[text] = found.setdefault(key, len(sayings))
                if at == len(sayings):
                    sayings.append(Saying({text: []}, words, _asks(text)))
            saying = sayings[at]
            if saying.asks:
                asked = at
            elif answered is not None and saying.question is None:
                saying.question = answered
            numbers = saying.texts.setdefault(text, [])
            if not numbers or numbers[-1] != number:
                numbers.append(number)
    for saying in sayings:
        said = list(saying.texts.values())
        saying.speakers = said[0] if len(said) == 1 else sorted({number for numbers in said for number in numbers})
    return sayings


def _numbered(sayings: list[Saying]) -> tuple[list[str], Any]:
    """Each saying has its terms as numbers; the terms, and in how many sayings each of them occurs."""
    vocabulary: dict[str, int] = {}
    flat = array("q")
    for saying in sayings:
        distinct = dict.fromkeys(saying.words.terms)
        saying.terms = tuple(vocabulary.setdefault(term, len(vocabulary)) for term in distinct)
        flat.extend(saying.terms)
    return list(vocabulary), np.bincount(np.frombuffer(flat, dtype=np.int64), minlength=len(vocabulary))


def _weight(saying: Saying) -> float:
    """How much more, or less, what a saying tells is worth than that of a plain sentence."""
    words = saying.words
    weight = NAMED ** min(words.names, 2) * RULED ** min(words.strong, 2) * MARKED ** min(words.weak, 2)
    for holds, factor in (
        (words.dated, DATED),
        (words.numbers, NUMBERED),
        (words.own, TOLD),
        (saying.question is not None, ANSWERING),
        (saying.asks, ASKING),
        (words.other and not words.numbers and not words.strong, ADDRESSED),
        (words.reacts, REACTING),
        (words.chatter, CHATTING),
        (words.felt and not words.strong, FEELING),
        (words.done, DOING),
        (is_block(next(iter(saying.texts))), CODE),
    ):
        if holds:
            weight *= factor
    return weight


def _contains(numbers: list[int], wanted: int) -> bool:
    """Whether a rising list has the number."""
    at = bisect_left(numbers, wanted)
    return at < len(numbers) and numbers[at] == wanted
