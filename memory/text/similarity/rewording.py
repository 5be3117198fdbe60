"""The wording in which a statement is compared, if ``wordings`` has one for it, and what it says of how things are."""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

import re
from collections.abc import Callable, Iterator, Sequence

from memory.text.similarity import values, words
from memory.text.similarity.relations import FINITE, LASTING, is_name, is_noun, token_of, tokens_of, with_clause_end
from memory.text.similarity.tokens import (
    BREAK,
    BREAKING,
    CAPITAL,
    COMMON,
    NEGATION,
    OWNS,
    PAST,
    PREPOSITION,
    PRONOUN,
    PROPER,
    SAID,
    SHOUTED,
    VALUE,
    WORD,
    Token,
)
from memory.text.similarity.wordings import (
    ABLE,
    ADVERBS,
    CLOSED,
    COMPARED,
    CONSEQUENCES,
    DOERS,
    LED,
    MAKERS,
    NATIONS,
    OPPOSITES,
    PRODUCERS,
    PROVIDERS,
    SPANNED,
    SUPERLATIVES,
    UNABLE,
    UNDONE,
    VERBS,
    WORKERS,
    Element,
    Wording,
)

Slots = dict[str, list[Token]]
PHONE = re.compile(r"\+?\d[\d-]{5,}")
LONGEST, LONGEST_REST, MOST_IN_A_VALUE, MOST_IN_A_DATE, SHORTEST_GERUND = 24, 12, 3, 4, 6
PERSONS = frozenset(
    """
    employee employees student students visitor visitors guest guests member members user users tenant tenants driver
    drivers applicant applicants child children customer customers person people staff supplier suppliers contractor
    contractors candidate candidates trainee trainees manager managers parent parents team teams company companies
    participant participants passenger passengers patient patients buyer buyers seller sellers worker workers operator
    operators
    """.split()
)
DETERMINERS = frozenset("a an the his her its our their my your this that these those all".split())
KNOWN = frozenset("the his her its our their my your".split())
CALLED = PERSONS | frozenset(
    "client clients doctor school bank office plumber vendor agent lawyer insurer landlord neighbour caretaker".split()
)
PARTLY = frozenset("only one half some most of two three".split())
BUILDINGS = frozenset(
    """
    house church bridge mill castle tower school chapel hall station theatre hotel farm villa palace shed barn garage
    hut cottage warehouse factory lighthouse mosque synagogue temple museum library pier stadium cabin monastery abbey
    stable boathouse greenhouse hospital cinema pub inn
    """.split()
)
SCHOOLS = frozenset("school primary college university academy gymnasium high".split())
POSTS = frozenset("job post position".split())
MODAL_OR_HAVING = frozenset("can may must has knows decides".split())
ALLOWED = PERSONS.union(CLOSED["entitled"])
WHEN = words.TIMES.union(CLOSED["span"])
EACH = frozenset("every each all the our".split())
BE = frozenset("is are was were".split())
EVENTS = frozenset(
    """
    meeting exam examination party wedding concert match game workshop talk lecture conference seminar training course
    interview rehearsal ceremony festival market election hearing gala fair race review demo webinar class lesson
    """.split()
)
OF_VALUES = values.MEASURES.keys() | values.MONEY | frozenset("percent am pm".split())
QUANTITIES = frozenset("a an several many".split())
OBJECTS = frozenset("me him us them you".split())
PLURALS = {"have": "has", "are": "is", "were": "was", "do": "does"}
EACH_FOR_ITSELF = frozenset("have has must should can may".split())
# Of what a slot of the sort holds a result has the other word.
OTHERWISE = {
    "opposite": OPPOSITES,
    "compared": COMPARED,
    "undone": UNDONE,
    "able": ABLE,
    "unable": UNABLE,
    "period": ADVERBS,
    "founded": MAKERS,
    "wrote": WORKERS,
    "nation": NATIONS,
    "led": LED,
    "doer": DOERS,
    "producer": PRODUCERS,
    "provided": PROVIDERS,
    "superlative": SUPERLATIVES,
    "adverbial": SPANNED,
}
ATTRIBUTES_PL = frozenset("hasło kod numer pin adres termin login cena".split())
PARTICIPLES = {past: participle for participle, past in words.PARTICIPLES.items()}
PASTS = {base: past for past, base in words.BASES.items()}
Sort = Callable[[Sequence[Token]], bool]


def reworded(tokens: list[Token], by_word: dict[str, list[Wording]]) -> list[Token]:
    """The tokens in the wording that is compared, by one wording of each word that tells of some."""
    raws = _words(tokens)
    known = raws & by_word.keys()
    if not known or len(tokens) > LONGEST:
        return tokens
    for word in sorted(known):
        tokens = next(_made(by_word[word], tokens, raws), tokens)
    return tokens


def implied(tokens: list[Token]) -> Iterator[list[Token]]:
    """What follows from the change that the statement tells of."""
    raws = _words(tokens)
    known = raws & CONSEQUENCES.keys()
    if known and len(tokens) <= LONGEST:
        for word in sorted(known):
            yield from _made(CONSEQUENCES[word], tokens, raws)


def _words(tokens: list[Token]) -> set[str]:
    return {"not" if token.word == "not" else token.raw for token in tokens}


def _made(wordings: list[Wording], tokens: list[Token], raws: set[str]) -> Iterator[list[Token]]:
    for wording in wordings:
        if len(tokens) < wording.fewest or any(raws.isdisjoint(each) for each in wording.needed):
            continue
        found = _fill(wording.form, tokens, 0, {})
        if found is not None:
            yield with_clause_end(_result(wording, found, tokens[0]), tokens[-1])


def _fill(form: tuple[Element, ...], tokens: list[Token], place: int, found: Slots) -> Slots | None:
    """What the slots hold when the form begins at that place and ends with the tokens."""
    if not form:
        return found if place == len(tokens) else None
    element, rest = form[0], form[1:]
    if element.words:
        here = place < len(tokens) and _spelled(tokens[place]) in element.words
        whole = _fill(rest, tokens, place + 1, found) if here and _may_end(element, tokens, place + 1) else None
        return _fill(rest, tokens, place, found) if whole is None and element.optional else whole
    follows = rest[0].words if rest and not rest[0].optional else frozenset()
    for end in range(place + 1 if rest else len(tokens), len(tokens) + 1):
        if follows and (end == len(tokens) or _spelled(tokens[end]) not in follows):
            continue
        part = tokens[place:end]
        if part and _fits(element, part) and _may_end(element, tokens, end):
            whole = _fill(rest, tokens, end, {**found, element.slot: part})
            if whole is not None:
                return whole
    return None


def _spelled(token: Token) -> str:
    return "not" if token.word == "not" else token.raw


def _may_end(element: Element, tokens: list[Token], end: int) -> bool:
    """Whether no clause ends there, or one that may."""
    kind = tokens[end - 1].kind
    return end == len(tokens) or not kind & BREAKING or (element.comma and kind & BREAKING == BREAK)


def _fits(element: Element, part: list[Token]) -> bool:
    if bool(part[-1].kind & OWNS) != element.owns or not SORTS[element.sort](part):
        return False
    return not any(token.kind & BREAKING for token in part[:-1])


def _result(wording: Wording, found: Slots, first: Token) -> list[Token]:
    """The tokens of the result; ``first`` began the statement, where a capital makes no name."""
    if wording.even and _said(found["a"]) > _said(found["b"]):
        found = {**found, "a": found["b"], "b": found["a"]}
    made: list[Token] = []
    for element in wording.result:
        if element.words:
            made += tokens_of(next(iter(element.words)))
        elif element.sort == "deed":
            made.append(token_of(_in_tense(VERBS[found["d"][0].raw], found["v"][0].raw)))
        else:
            part = [
                each.without_kind(CAPITAL | PROPER) if each is first and each.kind & COMMON else each
                for each in found[element.slot]
            ]
            last = part[-1].with_kind(OWNS) if element.owns else part[-1].without_kind(OWNS)
            made += _in_form(element.sort, [*part[:-1], last])
    return made


def _said(tokens: Sequence[Token]) -> list[str]:
    return [token.word for token in tokens if token.kind & SAID]


def _in_form(sort: str, part: list[Token]) -> list[Token]:
    """What a slot holds, in the form that the result asks for."""
    head, rest = part[0], part[1:]
    if sort == "base":
        plain = head.kind & WORD and not head.kind & CAPITAL
        return [token_of(words.concept(head.raw)), *rest] if plain else part
    if sort == "ing":
        return [token_of(_going(words.concept(head.raw))), *rest]
    if sort == "gerund":
        return [token_of(_going(head.raw)), *rest]
    if sort == "third":
        return [token_of(words.third_person(words.concept(head.raw))), *rest]
    if sort == "one":
        return _of_one(part)
    if sort == "many":
        return [token_of(words.third_person(head.raw))]
    if sort == "infinitive":
        return [token_of(words.without_number(head.raw))]
    if sort == "single":
        return [token_of(words.without_number(head.raw))]
    if sort == "participle":
        return [token_of(PARTICIPLES.get(head.raw, head.raw))]
    if sort in ("done", "doable"):
        return [token_of(_in_tense(ABLE.get(head.raw) or words.concept(head.raw), "ed"))]
    return [token_of(OTHERWISE[sort][head.raw])] if sort in OTHERWISE else part


def _going(verb: str) -> str:
    forms = (verb.removesuffix("e") + "ing", verb + verb[-1] + "ing", verb + "ing")
    return next((form for form in forms if words.classify(form) == words.COMMON), forms[0])


def _in_tense(verb: str, like: str) -> str:
    """The verb in the tense and person of the other one."""
    if like in words.BASES or like == "had" or like.endswith("ed"):
        past = verb.removesuffix("e") + "ed" if verb[-1] != "y" or verb[-2:-1] in "aeiou" else verb[:-1] + "ied"
        return PASTS.get(verb, past)
    return words.third_person(verb) if like.endswith("s") else verb


def _of_one(tokens: list[Token]) -> list[Token]:
    """ "Rooms have a balcony" is "room has a balcony"."""
    verb = next((at for at, token in enumerate(tokens) if token.raw in FINITE), 0)
    if not verb or tokens[verb].raw not in EACH_FOR_ITSELF:
        return tokens
    noun = token_of(words.without_number(tokens[verb - 1].raw)).with_kind(tokens[verb - 1].kind & BREAKING)
    return [*tokens[: verb - 1], noun, token_of(PLURALS.get(tokens[verb].raw, tokens[verb].raw)), *tokens[verb + 1 :]]


def _is_value(tokens: Sequence[Token]) -> bool:
    amounts = [token for token in tokens if token.kind & VALUE]
    units = all(token in amounts or token.raw in OF_VALUES for token in tokens)
    led = tokens[0] in amounts or tokens[0].raw in values.MONEY
    return bool(amounts) and units and led and len(tokens) <= MOST_IN_A_VALUE


def _is_rest(tokens: Sequence[Token]) -> bool:
    return len(tokens) <= LONGEST_REST and any(token.kind & SAID for token in tokens)


def _is_phrase(tokens: Sequence[Token]) -> bool:
    """Whether it has no verb of its own."""
    return _is_rest(tokens) and not any(token.raw in FINITE for token in tokens)


def _is_plain(tokens: Sequence[Token]) -> bool:
    return is_noun(tokens) and not any(token.kind & (VALUE | PREPOSITION) for token in tokens)


def _is_passive(tokens: Sequence[Token]) -> bool:
    step = tokens[-1].raw
    return len(tokens) == 2 and tokens[0].raw in BE and (step.endswith("ed") or step in words.PARTICIPLES)


def _is_receiver(tokens: Sequence[Token]) -> bool:
    if len(tokens) == 1 and tokens[0].raw in OBJECTS:
        return True
    return is_name(tokens) or (1 < len(tokens) <= MOST_IN_A_VALUE and tokens[0].raw in EACH and _is_plain(tokens))


def _has_a_clause(tokens: Sequence[Token]) -> bool:
    """Whether someone else acts in it: "the day she"."""
    return any(token.kind & (PRONOUN | BREAKING) for token in tokens)


def _is_whom(tokens: Sequence[Token]) -> bool:
    """Whether it begins with a person."""
    if not _is_phrase(tokens):
        return False
    named = bool(tokens[0].kind & CAPITAL and not tokens[0].kind & COMMON)
    return named or (len(tokens) > 1 and tokens[0].raw in KNOWN and tokens[1].raw in CALLED)


def _is_gerund(tokens: Sequence[Token]) -> bool:
    return tokens[0].raw.endswith("ing") and len(tokens[0].raw) >= SHORTEST_GERUND


def _is_compound(token: Token) -> bool:
    """Whether it is a number with a unit of time: "3-day"."""
    return bool(token.kind & VALUE) and token.raw.partition("-")[2] in CLOSED["span"]


def _alone(known: Callable[[Token], object]) -> Sort:
    """For one token."""
    return lambda tokens: len(tokens) == 1 and bool(known(tokens[0]))


def _one_of(known: frozenset[str] | dict[str, str]) -> Sort:
    return _alone(lambda token: token.raw in known)


def _ending_in(sort: str) -> Sort:
    """For a noun whose last word is one of the sort."""
    return lambda tokens: is_noun(tokens) and tokens[-1].raw in CLOSED[sort]


# What a slot of each sort may hold.
SORTS: dict[str, Sort] = {
    **{sort: _one_of(known) for sort, known in CLOSED.items()},
    "noun": lambda tokens: is_noun(tokens) or (len(tokens) == 1 and bool(tokens[0].kind & PRONOUN)),
    "thing": lambda tokens: is_noun(tokens) and tokens[-1].raw not in PERSONS and not tokens[0].kind & PREPOSITION,
    "plain": _is_plain,
    "name": is_name,
    "owned": lambda tokens: tokens[0].raw in DETERMINERS and _is_plain(tokens),
    "determined": lambda tokens: (
        len(tokens) > 1 and bool(tokens[0].raw in DETERMINERS or tokens[0].kind & VALUE) and is_noun(tokens)
    ),
    "counted": lambda tokens: bool(tokens[0].kind & VALUE or tokens[0].raw in QUANTITIES) and is_noun(tokens[1:]),
    "people": lambda tokens: is_noun(tokens) and not any(token.kind & VALUE for token in tokens),
    "receiver": _is_receiver,
    "event": lambda tokens: is_noun(tokens) and tokens[-1].raw in EVENTS,
    "deeds": _alone(lambda token: token.raw.endswith("s") and words.is_a_deed(token.raw)),
    "value": _is_value,
    "date": lambda tokens: _is_value(tokens) or (len(tokens) <= MOST_IN_A_DATE and tokens[-1].mask == "date"),
    "phone": _alone(lambda token: PHONE.fullmatch(token.raw) and token.mask not in ("date", "time")),
    "email": _alone(lambda token: token.mask == "email"),
    "coded": _alone(lambda token: token.kind & (VALUE | CAPITAL) or "." in token.raw),
    "compound": _alone(_is_compound),
    "periodic": _one_of(frozenset(values.PERIODS.values())),
    "word": _alone(lambda token: token.kind & WORD),
    "amount": lambda tokens: (
        bool(tokens[0].kind & VALUE) and len(tokens) <= MOST_IN_A_VALUE and is_noun(tokens[1:] or tokens)
    ),
    "amount_of": lambda tokens: bool(tokens[0].kind & VALUE) and len(tokens) > 1 and is_noun(tokens[1:]),
    "percent": lambda tokens: _is_value(tokens) and (tokens[-1].raw == "percent" or tokens[-1].mask == "percent"),
    "counting_many": lambda tokens: bool(tokens[0].kind & VALUE) and len(tokens) > 1 and is_noun(tokens[1:]),
    "past": _alone(lambda token: token.raw.endswith("ed") or token.raw in words.BASES),
    "deed_past": _alone(
        lambda token: (token.raw.endswith("ed") or token.raw in words.BASES) and token.raw not in CLOSED["state"]
    ),
    "deed_noun": _alone(lambda token: words.is_a_deed(token.raw)),
    "age": _alone(lambda token: token.raw.isdecimal() and len(token.raw) < 3),
    "called": lambda tokens: is_name(tokens) and not any(token.kind & (COMMON | SHOUTED) for token in tokens),
    "money": lambda tokens: (
        _is_value(tokens) and any(token.mask == "money" or token.raw in values.MONEY for token in tokens)
    ),
    "plural": _alone(lambda token: token.kind & WORD and token.raw.endswith("s")),
    "work": lambda tokens: tokens[0].raw in DETERMINERS and is_noun(tokens) and tokens[-1].raw in CLOSED["work"],
    "metering": lambda tokens: is_noun(tokens) and any(token.raw in CLOSED["meter"] for token in tokens),
    "attribute_pl": lambda tokens: tokens[0].raw in ATTRIBUTES_PL and len(tokens) <= MOST_IN_A_VALUE,
    "web": _alone(lambda token: "." in token.raw and not token.kind & VALUE),
    "tool": lambda tokens: is_name(tokens) or (len(tokens) == 1 and bool(tokens[0].kind & VALUE)),
    **{sort: _ending_in(sort) for sort in ("unit", "field", "meter", "means", "payment", "probation", "contract")},
    **{sort: _ending_in(sort) for sort in ("entitled", "venue", "credential", "priced", "sold", "machine", "trained")},
    "alone": lambda tokens: _is_phrase(tokens) and not any(token.raw == "than" for token in tokens),
    "generic": lambda tokens: (
        bool(tokens[0].kind & COMMON)
        and tokens[0].raw.endswith("s")
        and not any(token.kind & (NEGATION | PAST) or token.raw in EACH_FOR_ITSELF for token in tokens)
        and len(tokens) <= LONGEST_REST
    ),
    "counting": _alone(
        lambda token: token.kind & WORD and token.raw not in CLOSED["span"] and token.raw not in values.MEASURES
    ),
    "gerund": lambda tokens: len(tokens) == 1 and _is_gerund(tokens),
    "gerundial": lambda tokens: len(tokens) > 1 and _is_gerund(tokens) and _is_phrase(tokens),
    "passive": _is_passive,
    "place": lambda tokens: bool(tokens[0].kind & PREPOSITION) and is_noun(tokens[1:]),
    "allowed": lambda tokens: is_noun(tokens) and tokens[-1].raw in ALLOWED,
    "post": lambda tokens: tokens[0].raw in KNOWN and is_noun(tokens) and tokens[-1].raw in POSTS,
    "back_at": lambda tokens: tokens[0].raw in ("on", "in", "at") and SORTS["date"](tokens[1:] or tokens),
    "modal": lambda tokens: tokens[0].raw in MODAL_OR_HAVING and _is_rest(tokens),
    "beside": lambda tokens: bool(tokens[0].kind & PREPOSITION or tokens[0].raw in words.HEADS) and is_noun(tokens[1:]),
    "acts": _alone(lambda token: token.kind & WORD and not token.kind & CAPITAL and token.raw.endswith("s")),
    "aimed": lambda tokens: (
        bool(tokens[0].kind & PREPOSITION or tokens[0].raw in ("about", "against")) and is_noun(tokens[1:])
    ),
    "verbal": lambda tokens: (
        bool(tokens[0].kind & WORD) and not tokens[0].kind & (VALUE | CAPITAL) and _is_phrase(tokens)
    ),
    "presently": lambda tokens: tokens[0].raw.endswith("s") and _is_rest(tokens),
    "whom": _is_whom,
    "who": lambda tokens: is_name(tokens) or (len(tokens) == 1 and bool(tokens[0].kind & PRONOUN)),
    "known": lambda tokens: bool(tokens[0].kind & CAPITAL or tokens[0].raw in KNOWN) and is_noun(tokens),
    "lasting": lambda tokens: _is_value(tokens) and tokens[-1].raw in LASTING,
    "definite": lambda tokens: (
        tokens[0].raw in KNOWN and _is_plain(tokens) and not any(token.raw in PARTLY for token in tokens)
    ),
    "building": lambda tokens: is_noun(tokens) and tokens[-1].raw in BUILDINGS,
    "leave": lambda tokens: is_noun(tokens) and tokens[-1].raw in CLOSED["leave"] and tokens[0].raw not in KNOWN,
    "school": lambda tokens: is_name(tokens) and tokens[-1].raw in SCHOOLS,
    "object": _is_phrase,
    "subject": lambda tokens: (
        tokens[0].raw not in WHEN
        and _is_rest(tokens)
        and (tokens[0].raw != "the" or (tokens[-1].raw not in WHEN and not _has_a_clause(tokens)))
    ),
    "timeless": lambda tokens: (
        _is_rest(tokens)
        and not tokens[0].kind & PREPOSITION
        and not any(token.kind & VALUE or token.raw in words.TIMES or token.raw in words.HEADS for token in tokens)
    ),
    "rest": _is_rest,
}
