"""One way of saying for what English says in several: set phrases, passives, opposites.

Works on the tokens of a statement. A rule speaks of closed classes of words and of their order, never of a subject.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise, takewhile
from operator import or_

from memory.text.similarity import values, words
from memory.text.similarity.relations import RELATIONS
from memory.text.similarity.rewording import reworded
from memory.text.similarity.tokens import (
    AND,
    BREAKING,
    CAPITAL,
    COMMON,
    HAPPENS,
    IDIOM,
    NEGATION,
    OWNS,
    PAST,
    PREPOSITION,
    PRONOUN,
    PROPER,
    SAID,
    SHAPED,
    SHOUTED,
    VALUE,
    WORD,
    WORDED,
    Token,
    Tokens,
)
from memory.text.similarity.wordings import AFTER_PHRASES, BEFORE_PHRASES

_spelled = Tokens()
BE = frozenset("is are was were be been being".split())
NOW_BE, THEN_BE = frozenset("is are".split()), frozenset("was were".split())
PLACES = frozenset("in at on".split())
MOST_IN_A_NAME = 4
Idiom = tuple[int, tuple[str, ...], tuple[str, ...]]
# By the telling word: its place in the phrase, the phrase, and what it means; the longest first.
TELLING: dict[str, list[Idiom]] = {}

for _phrase, _meaning in sorted(words.IDIOMS.items(), key=lambda each: -len(each[0])):
    _telling = words.telling(_phrase)
    TELLING.setdefault(_telling, []).append((_phrase.index(_telling), _phrase, _meaning))


def rephrased(tokens: list[Token], kinds: int) -> list[Token]:
    """The tokens in the wording that the others are compared in."""
    plain = reworded(tokens, BEFORE_PHRASES) if kinds & WORDED else tokens
    plain = _plainly(plain) if kinds & IDIOM or plain is not tokens else plain
    if kinds & NEGATION:
        plain = list(_without_denial(_never(plain)))
    if plain is not tokens:
        kinds = reduce(or_, [token.kind for token in plain], 0)
    if kinds & SHAPED or plain[0].raw == "no":
        shaped = _shaped(plain)
        kinds |= reduce(or_, [token.kind for token in shaped], 0) if shaped is not plain else 0
        plain = shaped
    return reworded(plain, AFTER_PHRASES) if kinds & WORDED else plain


def _shaped(tokens: list[Token]) -> list[Token]:
    if tokens[0].raw == "no":
        tokens = _not_to_be_done(_without_none(tokens))
    raws = {token.raw for token in tokens}
    if not raws.isdisjoint(GOT):
        tokens = _passive(tokens)
        raws = {token.raw for token in tokens}
    for shape, rule in SHAPES.items():
        if shape in raws:
            tokens = rule(tokens)
    if "by" in raws and raws & BE:
        tokens = _active(tokens)
    if "there" in raws:
        tokens = _having(tokens)
    if "price" in raws:
        tokens = _costing(tokens)
    known = raws & RELATIONS.keys()
    if known and not tokens[0].kind & SHOUTED:
        tokens = [tokens[0].without_kind(PROPER), *tokens[1:]]
    for word in sorted(known):
        if any(token.raw == word for token in tokens):
            tokens = RELATIONS[word](tokens)
    return tokens


def _token(word: str) -> Token:
    return _spelled[word][0]


def _plainly(tokens: list[Token]) -> list[Token]:
    at = next((at for at, token in enumerate(tokens) if token.kind & IDIOM and _idiom_at(tokens, at)), len(tokens))
    while at < len(tokens):
        idiom = _idiom_at(tokens, at) if tokens[at].kind & IDIOM else None
        if idiom:
            back, phrase, meaning = idiom
            start, end = at - back, at - back + len(phrase)
            if meaning == ("hate",) and start and _is_one(tokens[start - 1]):
                meaning = ("hates",)
            made = [_token(word) for word in meaning]
            made[-1] = made[-1].with_kind(tokens[end - 1].kind & BREAKING)
            tokens = [*tokens[:start], *made, *tokens[end:]]
            at = start + len(made) - 1
        at += 1
    return tokens


def _idiom_at(tokens: list[Token], at: int) -> Idiom | None:
    before = _lookup_form(tokens[at - 1]) if at else ""
    after = _lookup_form(tokens[at + 1]) if at + 1 < len(tokens) else ""
    for back, phrase, meaning in TELLING.get(tokens[at].raw, ()):
        if (back and phrase[back - 1] != before) or (back + 1 < len(phrase) and phrase[back + 1] != after):
            continue
        start = at - back
        part = tokens[start : start + len(phrase)] if start >= 0 else []
        if [_lookup_form(token) for token in part] == list(phrase) and not any(
            token.kind & BREAKING for token in part[:-1]
        ):
            if meaning[-1] == "at" and any(token.raw in UNTIL for token in tokens[start:]):
                continue  # "is open from 9:00 to 17:00"
            return back, phrase, meaning
    return None


UNTIL = frozenset("to until till".split())


def _is_one(subject: Token) -> bool:
    """Whether a verb after it is in the third person."""
    plural = subject.raw.endswith("s") and not subject.raw.endswith("ss") and not subject.kind & CAPITAL
    return not plural and subject.raw not in ("i", "you", "we", "they")


def _lookup_form(token: Token) -> str:
    """What it is looked up as: "can't" is "can not"."""
    return "not" if token.word == "not" and token.kind & NEGATION else token.raw


HAS = frozenset("has have had".split())
BEFORE_A_VERB = frozenset("do does did can could may might must should shall will would".split())


def _without_denial(tokens: list[Token]) -> Iterator[Token]:
    """ "Not open" is closed, and "not locked" unlocked; "not open any longer" speaks of a change."""
    at, over = 0, any(token.raw in ("anymore", "longer") for token in tokens)
    while at < len(tokens):
        other, has = "", at and (tokens[at - 1].raw in HAS or _is_done_to(tokens, at + 1))
        if (
            tokens[at].word == "not"
            and at + 1 < len(tokens)
            and not tokens[at].kind & BREAKING
            and not over
            and not has
        ):
            other = words.OPPOSITES.get(tokens[at + 1].raw, "")
        if other:
            yield _token(other).with_kind(tokens[at + 1].kind & BREAKING)
        else:
            yield tokens[at]
        at += 2 if other else 1


def _is_done_to(tokens: list[Token], at: int) -> bool:
    """Whether the word there is a verb with what it is done to: "cannot open the door" is not "cannot close" it."""
    if at < 2 or at + 1 >= len(tokens) or tokens[at - 2].raw not in BEFORE_A_VERB or tokens[at].kind & BREAKING:
        return False
    what = tokens[at + 1]
    named = what.kind & (CAPITAL | PRONOUN | VALUE) and what.mask not in ("date", "time")
    return what.raw in words.ARTICLES or bool(named)


def _without_none(tokens: list[Token]) -> list[Token]:
    """ "No dogs are allowed" is "dogs are not allowed"."""
    verb = next((at for at, token in enumerate(tokens) if token.raw in NOW_BE), 0)
    if verb < 2 or any(token.kind & (BREAKING | NEGATION | AND) for token in tokens[1:verb]):
        return tokens
    return [*tokens[1 : verb + 1], _token("not"), *tokens[verb + 1 :]]


def _not_to_be_done(tokens: list[Token]) -> list[Token]:
    """ "No deployments on Fridays" is "do not deploy on Fridays"; "no running water" forbids nothing."""
    deed = tokens[1].raw if len(tokens) > 1 else ""
    after = tokens[2] if len(tokens) > 2 and deed.endswith("ing") and not tokens[1].kind & BREAKING else None
    of_a_noun = after and after.kind & COMMON and not after.kind & (PREPOSITION | VALUE | CAPITAL | NEGATION)
    verbal = (deed.endswith("ing") and not of_a_noun) or words.is_a_deed(deed)
    plain = tokens[0].raw == "no" and not any(token.raw in BE | words.MODALS | HAS for token in tokens)
    return [_token("not"), _token(words.concept(deed)), *tokens[2:]] if plain and verbal else tokens


def _never(tokens: list[Token]) -> list[Token]:
    """ "Ana never eats fish" is "Ana does not eat fish"; what has never been is not what has not been."""
    at = next((at for at, token in enumerate(tokens) if token.raw == "never"), len(tokens))
    verb = tokens[at + 1] if at + 1 < len(tokens) else None
    before = tokens[at - 1].raw if at else ""
    if not verb or not verb.kind & WORD or verb.kind & CAPITAL or before in BE | HAS | {"to", "is", "are"}:
        return tokens
    if verb.raw in words.BASES or verb.raw in words.PARTICIPLES or verb.raw.endswith(("ed", "ing")):
        return tokens
    third = bool(at) and verb.raw.endswith("s") and not verb.raw.endswith("ss")
    if third:
        base = verb.raw[:-2] if verb.raw in ("goes", "does") else words.without_number(verb.raw)
        return [
            *tokens[:at],
            _token("does"),
            _token("not"),
            _token(base).with_kind(verb.kind & BREAKING),
            *tokens[at + 2 :],
        ]
    plural = before in ("i", "you", "we", "they") or before in words.MODALS or before.endswith("s")
    return [*tokens[:at], _token("not"), *tokens[at + 1 :]] if plural else tokens


def _passive(tokens: list[Token]) -> list[Token]:
    """ "Got cancelled" is "was cancelled", and "gets cleared" "is cleared"."""
    at = next(at for at, token in enumerate(tokens) if token.raw in GOT)
    step = tokens[at + 1].raw if at + 1 < len(tokens) else ""
    passive = at and (step.endswith("ed") or step.removeprefix("re") in words.PARTICIPLES)
    return [*tokens[:at], _token(GOT[tokens[at].raw]), *tokens[at + 1 :]] if passive else tokens


GOT = {"got": "was", "gets": "is", "get": "are"}


def _active(tokens: list[Token]) -> list[Token]:
    """ "The report was written (yesterday) by Ana" is "Ana wrote the report (yesterday)"."""
    comma = next((at for at, token in enumerate(tokens) if token.kind & BREAKING), len(tokens))
    if tokens[0].kind & PREPOSITION and comma + 3 < len(tokens):  # "in the evening, the desk is manned by Ana"
        last = tokens[-1].kind & BREAKING
        lead = [tokens[0].without_kind(PROPER | CAPITAL), *tokens[1:comma], tokens[comma].without_kind(BREAKING)]
        moved = [*tokens[comma + 1 : -1], tokens[-1].without_kind(BREAKING), *lead]
        if not any(token.kind & BREAKING for token in moved) and any(token.raw == "by" for token in moved):
            tokens = [*moved[:-1], moved[-1].with_kind(last)]
    by = next(at for at, token in enumerate(tokens) if token.raw == "by")
    be = next((at for at in range(by - 2, 0, -1) if tokens[at].raw in BE), 0)
    end = next((at for at in range(by + 1, len(tokens)) if _ends_a_name(tokens, at, by + 1)), len(tokens))
    may = be - 1 - (be > 1 and tokens[be - 1].raw == "only") if be and tokens[be].raw == "be" else be
    beside = tokens[be + 1 : be + 2] if tokens[be + 1].word in ("now", "not") and be + 2 < by else []
    verb = be + 1 + len(beside)
    doer, done, between = tokens[by + 1 : end], tokens[:may], tokens[verb + 1 : by]
    if may < 1 or not doer or len(done) > 3 * MOST_IN_A_NAME:
        return tokens
    if may < be and tokens[may].raw not in words.MODALS - {"to", "please"}:
        return tokens
    if any(token.kind & (BREAKING | NEGATION) for token in (*done, tokens[be], *between)) or not _is_a_doer(doer):
        return tokens
    denied = any(token.word == "not" for token in beside) and tokens[be].raw in NOW_BE
    if tokens[verb].raw in values.CHANGES and (doer[0].kind & VALUE or doer[-1].raw in values.MEASURES):
        return tokens  # "was postponed by a week"
    form = _active_form(tokens[verb].raw, "be" if denied else tokens[be].raw, doer)
    if not form or done[0].kind & PREPOSITION or (beside and not denied and beside[0].word == "not"):
        return tokens
    ending = doer[-1].kind & BREAKING
    doer = [*doer[:-1], doer[-1].without_kind(BREAKING)]
    only = [_token("only")] if be - may == 2 else []
    whole = [*only, *doer, *([tokens[may]] if may < be else []), *beside, _token(form), *done, *between]
    return [*whole[:-1], whole[-1].with_kind(ending), *tokens[end:]]


def _ends_a_name(tokens: list[Token], at: int, start: int) -> bool:
    if at == start and tokens[at].mask == "number":
        return False
    if tokens[at].raw == "anymore":
        return True
    return bool(tokens[at - 1].kind & BREAKING and at > start) or bool(tokens[at].kind & (PREPOSITION | VALUE))


def _is_a_doer(tokens: list[Token]) -> bool:
    said = [token for token in tokens if token.kind & SAID]
    named = 0 < len(said) <= MOST_IN_A_NAME and not tokens[0].raw.endswith("ing")
    said = said[1:] if len(said) > 1 and said[0].mask == "number" else said
    return named and all(token.kind & WORD and token.raw not in words.MEANS for token in said)


def _active_form(participle: str, be: str, doer: list[Token]) -> str:
    past = words.PARTICIPLES.get(participle, participle if participle.endswith("ed") else "")
    if be in THEN_BE or not past:
        return past
    base = words.BASES.get(past) or words.base_of(participle)
    if be == "be":
        return base
    if be not in NOW_BE or not base:
        return ""
    last = doer[-1].raw
    plural = doer[-1].kind & CAPITAL == 0 and last.endswith("s") and not last.endswith("ss")
    plural |= last in ("people", "children", "men", "women")
    return base if plural else words.third_person(base)


def _having(tokens: list[Token]) -> list[Token]:
    """ "There is a lift in the house" is "the house has a lift"."""
    if len(tokens) < 4 or tokens[0].raw != "there" or tokens[1].raw not in NOW_BE:
        return tokens
    places = [at for at, token in enumerate(tokens) if token.kind & PREPOSITION and token.raw != "of"]
    if len(places) != 1 or tokens[places[0]].raw not in PLACES or any(token.kind & BREAKING for token in tokens[:-1]):
        return tokens
    at = places[0]
    where, what = tokens[at + 1 :], tokens[2:at]
    if not where or not what or any(token.kind & (VALUE | NEGATION) for token in where):
        return tokens
    return [*where[:-1], where[-1].without_kind(BREAKING), _token("has"), *what]


def _costing(tokens: list[Token]) -> list[Token]:
    """ "The price of the van is $9" is "the van costs $9"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "price")
    verb = next((place for place in range(at, len(tokens)) if tokens[place].raw in NOW_BE), 0)
    if at > 1 or not verb or verb + 1 == len(tokens) or not tokens[verb + 1].kind & VALUE or tokens[at + 1].raw != "of":
        return tokens
    of = tokens[at + 2 : verb]
    plural = of[-1].raw.endswith("s") and not of[-1].kind & CAPITAL if of else False
    return [*of, _token("cost" if plural else "costs"), *tokens[verb + 1 :]] if of else tokens


def _without_called(tokens: list[Token]) -> list[Token]:
    """ "The cat is called Miso" is "the cat is Miso"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "called")
    named = at > 1 and tokens[at - 1].raw == "is" and tokens[at + 1 : at + 2] and tokens[at + 1].kind & CAPITAL
    return [*tokens[:at], *tokens[at + 1 :]] if named else tokens


def _without_name_of(tokens: list[Token]) -> list[Token]:
    """ "The cat's name is Miso" is "the cat is Miso"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "name")
    after = tokens[at + 1 : at + 3]
    named = at and tokens[at - 1].kind & OWNS and len(after) == 2 and after[0].raw == "is" and after[1].kind & CAPITAL
    return [*tokens[:at], *tokens[at + 1 :]] if named else tokens


def _owning(tokens: list[Token]) -> list[Token]:
    """ "The van belongs to Ana" is "Ana owns the van"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "belongs")
    owned, owner = tokens[:at], tokens[at + 2 :]
    if not owned or tokens[at + 1 : at + 2] == [] or tokens[at + 1].raw != "to" or not _is_a_doer(owner):
        return tokens
    if any(token.kind & (BREAKING | NEGATION | PREPOSITION) for token in (*owned, *owner[:-1])):
        return tokens
    last = owner[-1]
    plural = last.raw.endswith("s") and not last.raw.endswith("ss") and not last.kind & CAPITAL
    owner = [*owner[:-1], last.without_kind(BREAKING)]
    return [*owner, _token("own" if plural else "owns"), *owned[:-1], owned[-1].with_kind(last.kind & BREAKING)]


def _preferring(tokens: list[Token]) -> list[Token]:
    """ "Ana likes tea best" is "Ana prefers tea"."""
    verb = next((at for at, token in enumerate(tokens) if token.raw in ("like", "likes")), 0)
    said = [at for at, token in enumerate(tokens) if token.raw]
    if not verb or tokens[said[-1]].raw != "best" or any(token.kind & NEGATION for token in tokens):
        return tokens
    end = said[-1]
    prefers = _token("prefers" if tokens[verb].raw == "likes" else "prefer")
    what = [*tokens[verb + 1 : end - 1], tokens[end - 1].with_kind(tokens[end].kind & BREAKING)]
    return [*tokens[:verb], prefers, *what] if end > verb + 1 else tokens


def _limiting(tokens: list[Token]) -> list[Token]:
    """ "12 letters or more" is "at least 12 letters"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "or")
    how = tokens[at + 1].raw if at + 1 < len(tokens) else ""
    start = next((place for place in range(at - 1, max(at - 4, -1), -1) if tokens[place].kind & VALUE), -1)
    if start < 0 or how not in words.MORE | words.FEWER or any(each.kind & BREAKING for each in tokens[start : at + 1]):
        return tokens
    limit = [_token("at"), _token("least")] if how in words.MORE else [_token("up"), _token("to")]
    what = [*tokens[start : at - 1], tokens[at - 1].with_kind(tokens[at + 1].kind & BREAKING)]
    return [*tokens[:start], *limit, *what, *tokens[at + 2 :]]


def _bounding(tokens: list[Token]) -> list[Token]:
    """ "Above 500" is "over 500", and "below 18" "under 18"."""
    return [
        _token(BOUNDS[token.raw]) if token.raw in BOUNDS and follows.kind & VALUE else token
        for token, follows in pairwise([*tokens, tokens[-1]])
    ]


BOUNDS = {"above": "over", "below": "under"}


def _paired(tokens: list[Token]) -> list[Token]:
    """ "Both Ana and Ben" is "Ana and Ben"."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "both")
    return [*tokens[:at], *tokens[at + 1 :]] if any(token.kind & AND for token in tokens[at + 2 : at + 5]) else tokens


def _conditional(tokens: list[Token]) -> list[Token]:
    """ "The job stops when the disk is full" is "if it is full", of what is always so."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "when")
    main = next((place + 1 for place in range(at, len(tokens)) if tokens[place].kind & BREAKING), 0) if not at else 0
    said = tokens[main:] if not at else tokens[:at]
    event = any(token.kind & (PAST | PRONOUN | HAPPENS | VALUE) or token.raw in words.MODALS for token in said)
    if not said or said[0].raw not in words.ARTICLES or event or any(token.kind & PAST for token in tokens):
        return tokens
    return [*tokens[:at], _token("if"), *tokens[at + 1 :]]


# By the word without which there is no such shape.
SHAPES: dict[str, Callable[[list[Token]], list[Token]]] = {
    "called": _without_called,
    "name": _without_name_of,
    "belongs": _owning,
    "best": _preferring,
    "or": _limiting,
    "above": _bounding,
    "below": _bounding,
    "both": _paired,
    "when": _conditional,
}


def owners_by_name(tokens: Sequence[Token]) -> dict[int, set[int]]:
    """What belongs to a name, with the words of that name: of "Ana Roth's boss" and of "the boss of Ana Roth"."""
    found: dict[int, set[int]] = defaultdict(set)
    said = [token for token in tokens if token.kind & SAID]
    for at, (token, follows) in enumerate(pairwise(said)):
        if token.kind & OWNS and token.kind & CAPITAL:
            found[follows.code] |= {each.code for each in takewhile(_is_capital, said[at::-1])}
    for at, token in enumerate(tokens[1:], 1):
        if token.raw == "of" and (name := {each.code for each in takewhile(_is_capital, tokens[at + 1 :])}):
            found[tokens[at - 1].code] |= name
    return found


def _is_capital(token: Token) -> bool:
    return bool(token.kind & CAPITAL)


def own_otherwise(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether the same is another's: "Ana's boss is Ben" is not "Ana is the boss of Ben"."""
    a, b = owners_by_name(one), owners_by_name(other)
    return any(owned in b and owners.isdisjoint(b[owned]) for owned, owners in a.items())


def possessed(tokens: list[Token]) -> list[Token]:
    """ "The desk of Ana" as "Ana's desk"."""
    found = list(tokens)
    for at in range(1, len(found) - 1):
        if found[at].raw != "of" or not found[at - 1].kind & WORD or found[at - 1].kind & (BREAKING | CAPITAL):
            continue
        start = at + 1 + (found[at + 1].raw in words.ARTICLES)
        end = start
        while end < len(found) and found[end].kind & WORD and (end == start or found[end].kind & CAPITAL):
            end += 1
            if found[end - 1].kind & BREAKING:
                break
        if end == start + 1 > at + 2 and _names_a_thing(found, start):
            end += 1
        if end > start:
            ending = found[end - 1].kind & BREAKING
            owner = [token.without_kind(BREAKING) for token in found[start:end]]
            owned = found[at - 1].with_kind(ending)
            found[at - 1 : end] = [*owner, owned, *[_token("the")] * (end - at - len(owner))]
    return [token for token in found if token.raw not in words.ARTICLES]


def _names_a_thing(tokens: list[Token], at: int) -> bool:
    """Whether the name there belongs to the noun behind it: "the Lisbon office"."""
    if tokens[at].kind & BREAKING or not tokens[at].kind & CAPITAL or at + 1 >= len(tokens):
        return False
    noun = tokens[at + 1]
    return bool(noun.kind & WORD and noun.kind & COMMON and not noun.kind & (CAPITAL | PREPOSITION))


def with_adverbs_last(tokens: list[Token]) -> list[Token]:
    """Adverbs of manner may stand anywhere in a clause."""
    loose = [token for token in tokens if _is_adverb(token)]
    return [*(token for token in tokens if not _is_adverb(token)), *loose]


def _is_adverb(token: Token) -> bool:
    raw = token.raw
    return bool(token.kind & WORD) and len(raw) > 5 and raw.endswith("ly") and words.classify(raw[:-2]) != words.UNKNOWN
