"""The gist of a statement: what it speaks of, whatever the form of its words and the shape of its clause.

Two statements of one gist say the same where their tense, negations and directions agree and no order that carries
meaning differs. One that says that something changed replaces what was said before of the same topic.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import or_

from memory.text.similarity import values, words
from memory.text.similarity.claims import (
    DEFINITE,
    NAMED,
    SEVERAL,
    SHARED,
    TAKEN,
    VERSIONS,
    Claim,
    former_value_left_out,
    happened,
    is_adjective,
    is_new_in_a_name,
    said_tokens,
    sort_at,
    status,
)
from memory.text.similarity.ordering import Orders, Part, is_of_time, parts_of, placed_apart
from memory.text.similarity.phrasing import own_otherwise, possessed, with_adverbs_last
from memory.text.similarity.statements import POLISH_LETTERS, Spoken
from memory.text.similarity.tokens import (
    AND,
    ASKS,
    BITS,
    BREAK,
    BREAKING,
    CAPITAL,
    COMMON,
    DIRECTION,
    END,
    HALT,
    HAPPENS,
    NEGATION,
    OWNS,
    PAST,
    PREPOSITION,
    PRONOUN,
    SAID,
    STATUS,
    STEMMED,
    VALUE,
    WORD,
    Token,
    code_of,
    proper,
    salt_of,
    word_token,
)

SALT = code_of("gist")
QUESTION = code_of("question")
LONGEST = 30
FEWEST = 2
HELPING = frozenset("is are am be been being has have had was were gets got".split())
# They say no more than that a noun belongs to the rest; none may stand for each.
BELONGING = frozenset(("", "of", "for", "about", "on", "in", "at", "with", "within", "upon", "into", "onto"))
LEADS_ALIKE = (
    frozenset("on in at within upon into onto of".split()),
    frozenset("about on of".split()),
    frozenset(("of", "for")),
)
RELATED = frozenset(("of", "for", "about", "with"))
CASES = frozenset("den dem".split())
# After these "to smoke" is not "smoking".
WITH_PURPOSE = frozenset("stop forget remember regret try go mean".split())
BOUND = frozenset("nach zu aus bis seit ohne gegen desde hasta sin contra vers sans depuis z ze bez od".split())


def gist_of(said: Spoken) -> int:
    """The same for statements of the same concepts, values and negations; 0 for one that takes no part."""
    if said.strict or len(said.tokens) > LONGEST:
        return 0
    meant = [
        token.code if token.kind & STEMMED and token.concept else token.concept
        for token in said.tokens
        if token.kind & SAID
    ]
    if len(meant) < FEWEST:
        return 0
    return sum(meant, QUESTION if said.kinds & ASKS else SALT) & BITS


def agree_in_gist(a: Spoken, b: Spoken) -> bool:
    """Whether two statements of one gist say the same."""
    if a.strict or b.strict or a.mode != b.mode or not a.speaks_of_the_same_as(b):
        return False
    if a.persons != b.persons and a.acted_on != b.acted_on:
        return False
    if is_under_way(a.tokens) != is_under_way(b.tokens) or _is_done_for(a.tokens, b.tokens):
        return False
    if _past(a.tokens) != _past(b.tokens) or _bound(a.tokens) != _bound(b.tokens):
        return False
    if _conditions(a.tokens) != _conditions(b.tokens) or not _named_alike(a.tokens, b.tokens):
        return False
    if _points_back(a.tokens) != _points_back(b.tokens) or not a.limits_as(b):
        return False
    if _differ_in_one_form(a.tokens, b.tokens) or own_otherwise(meant(a.tokens), meant(b.tokens)):
        return False
    if _is_clipped(a.tokens) != _is_clipped(b.tokens) and all(_is_short(each.tokens) for each in (a, b)):
        return _names_of(a.tokens) == _names_of(b.tokens)
    one, other = meant(a.tokens), meant(b.tokens)
    if any(token.raw in OTHER_LEADS for token in (*one, *other)):
        one, other = _with_leads(one), _with_leads(other)
    if any(token.raw in LIKING for token in one):
        if _infinitives(one) & _nouns(other) or _infinitives(other) & _nouns(one):
            return False  # "loves to cook" is not "loves the cook"
        one, other = _without_infinitives(one), _without_infinitives(other)
    kinds = SAID | PRONOUN if a.persons == b.persons else SAID
    if _related_apart(one, other):
        return False
    if in_order(one, other, kinds):
        return True
    forms = [with_adverbs_last(possessed(tokens)) for tokens in (one, other)]
    return in_order(forms[0], forms[1], kinds)


def _is_done_for(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether what the one is still for is done in the other: "is with Ana for signature", "Ana has signed it"."""
    return any(
        token.concept in purposes and token.raw != purposes[token.concept] and _is_participle(token)
        for purposes, said in ((_purposes(one), other), (_purposes(other), one))
        for token in said
    )


def _purposes(tokens: Sequence[Token]) -> dict[int, str]:
    """The nouns behind "for"."""
    plain = [token for token in tokens if token.raw not in words.ARTICLES]
    return {
        token.concept: token.raw
        for before, token in pairwise(plain)
        if before.raw == "for" and token.kind & SAID and not token.kind & (CAPITAL | VALUE)
    }


def _is_participle(token: Token) -> bool:
    return token.raw.endswith("ed") or token.raw in words.BASES


def _related_apart(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether something is of a name in the one, and for it, about it or with it in the other."""
    a, b = (sorted([(p.code, p.lead) for p in parts_of(each, SAID) if p.token.kind & CAPITAL]) for each in (one, other))
    return any(x[0] == y[0] and x[1] != y[1] and RELATED.issuperset((x[1], y[1])) for x, y in zip(a, b, strict=False))


def is_under_way(tokens: Sequence[Token]) -> bool:
    """Whether something is being done, which is not what has been done."""
    return any(token.raw == "being" for token in tokens)


def _points_back(tokens: Sequence[Token]) -> bool:
    """Whether it ends with what a verb acts on, as "this release fixes that" does and "fixes in this release" not."""
    return tokens[-1].raw in POINTING_BACK


POINTING_BACK = frozenset("that this it those these them".split())


def _differ_in_one_form(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether all is the same but one word, which has another form: "http" and "https", "blocking" and "blocked"."""
    a, b = ([token for token in tokens if token.kind & SAID] for tokens in (one, other))
    if len(a) != len(b):
        return False
    apart = [pair for pair in zip(a, b, strict=True) if pair[0].code != pair[1].code]
    raws = [token.raw for pair in apart for token in pair]
    if len(apart) != 1 or not (words.of_one_lemma(*raws) or words.differ_in_aspect(*raws)):
        return False
    alike = (_is_of_any, _goes_on, _is_liked)
    return not (_agree_in_number(*apart[0]) or any(rule(*apart[0], one, other) for rule in alike))


def _agree_in_number(a: Token, b: Token) -> bool:
    """ "Need" and "needs"."""
    base = min(a.raw, b.raw, key=len)
    return base in VERBS_ALONE and {a.raw, b.raw} == {base, words.third_person(base)}


VERBS_ALONE = frozenset("need require get receive cost take last have use want contain include allow accept".split())


def _is_of_any(a: Token, b: Token, one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether the two are of all of a kind, in the plural and in the singular: "passwords must", "a password must"."""
    many, single = (a, b) if len(a.raw) > len(b.raw) else (b, a)
    if words.without_number(many.raw) != single.raw:
        return False
    lists = (one, other) if many is a else (other, one)
    before = [
        next((each[at - 1].raw if at else "" for at, token in enumerate(each) if token is of), "")
        for each, of in zip(lists, (many, single), strict=True)
    ]
    general = any(token.raw in GENERAL for token in one)
    return before[0] not in DETERMINED and before[1] in (DETERMINED if general else ANY)


def _goes_on(a: Token, b: Token, one: Sequence[Token], other: Sequence[Token]) -> bool:
    """ "Has been working" and "has worked"."""
    going = {a.raw.endswith("ing"), b.raw.endswith("ing")}
    return len(going) == 2 and all(any(token.raw in ("has", "have") for token in each) for each in (one, other))


def _is_liked(a: Token, b: Token, one: Sequence[Token], other: Sequence[Token]) -> bool:
    """ "Loves to cook" and "loves cooking"."""
    (going, there), (plain, here) = sorted(((a, one), (b, other)), key=lambda each: -len(each[0].raw))
    at, to = (
        next((at for at, each in enumerate(tokens) if each is of), 0) for tokens, of in ((there, going), (here, plain))
    )
    liked = going.raw.endswith("ing") and to > 1 and here[to - 1].raw == "to" and here[to - 2].raw in LIKING
    return liked and at > 0 and there[at - 1].raw in LIKING


def _infinitives(tokens: Sequence[Token]) -> set[int]:
    return {token.concept for before, token in pairwise(tokens) if before.raw == "to"}


def _nouns(tokens: Sequence[Token]) -> set[int]:
    return {token.concept for before, token in pairwise(tokens) if before.raw in words.ARTICLES}


def _without_infinitives(tokens: list[Token]) -> list[Token]:
    """ "Loves cook" for "loves to cook", which leads to nothing."""
    return [token for at, token in enumerate(tokens) if not (token.raw == "to" and at and tokens[at - 1].raw in LIKING)]


LIKING = frozenset("like likes love loves prefer prefers hate hates start starts started begin begins began".split())
GENERAL = frozenset("must should may can up least max maximum minimum".split())
ANY = frozenset("every each no any".split())
DETERMINED = ANY | {"a", "an", "the", "our"}


def _is_clipped(tokens: Sequence[Token]) -> bool:
    """Whether it is a note, as "Allergy: latex", with no verb before the colon and one name at most."""
    colon = next((at for at, token in enumerate(tokens[:MOST_IN_A_NOTE]) if token.kind & END), len(tokens))
    head = tokens[: colon + 1]
    plain = (
        colon + 1 < len(tokens)
        and not tokens[colon].kind & PREPOSITION
        and sum([bool(token.kind & BREAK and not token.kind & VALUE) for token in tokens[:-1]]) == 1
        and not any(token.raw in HELPING or token.raw in words.MODALS for token in tokens)
    )
    return plain and any(token.kind & SAID for token in head) and len(_names_of(tokens)) <= MOST_NAMED


def _names_of(tokens: Sequence[Token]) -> list[int]:
    """The names in it, in their order."""
    return [token.concept for token in tokens if token.kind & CAPITAL and token.kind & WORD and not token.kind & COMMON]


def _is_short(tokens: Sequence[Token]) -> bool:
    return sum([1 for token in tokens if token.kind & SAID]) <= MOST_SAID


MOST_IN_A_NOTE, MOST_NAMED, MOST_SAID = 6, 2, 7


def _with_leads(tokens: Sequence[Token]) -> list[Token]:
    """With "to" for "a" and "an", which are articles in English alone: "Brief an Ana", "Carta a Ana"."""
    return [TOWARDS.with_kind(token.kind & BREAKING) if token.raw in ("a", "an") else token for token in tokens]


TOWARDS = word_token("to")
OTHER_LEADS = frozenset(words.LEADS) - {"in", "am"}


def _named_alike(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether what has a capital inside both has one spelling: "Orders" as a name is not "Order"."""
    names = [
        {token.concept: token.code for token in tokens[1:] if token.kind & CAPITAL and token.kind & WORD}
        for tokens in (one, other)
    ]
    return all(names[1].get(concept, code) == code for concept, code in names[0].items())


def meant(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, identified by their concepts."""
    return [
        replace(token, code=token.concept)
        if token.kind & SAID and not (token.kind & STEMMED and token.concept)
        else token
        for token in tokens
    ]


def in_order(one: Sequence[Token], other: Sequence[Token], kinds: int = SAID) -> bool:
    """Whether they say the same, being of the same concepts."""
    a, b = (_listed(parts_of(tokens, kinds)) for tokens in (one, other))
    if not _led_alike(a, b):
        return False
    a, b = _without_lone_values(a, b)
    codes = [[part.code for part in parts] for parts in (a, b)]
    if codes[0] == codes[1]:
        return True
    if sorted(codes[0]) != sorted(codes[1]):
        return False
    if _is_polish(one) and _is_in_the_cases(one, other):
        return True
    return Orders(a, b, loose=True).may_be_one() or Orders(b, a, loose=True).may_be_one()


def _is_in_the_cases(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether the same words of one Polish clause say the same in both orders: who does what is in the cases.

    What belongs to a word stands beside it, so each word but the verb has one of its neighbours in both.
    """
    raws = [[token.raw for token in each if token.raw] for each in (one, other)]
    if sorted(raws[0]) != sorted(raws[1]) or len(set(raws[0])) < len(raws[0]):
        return False
    if any(token.kind & VALUE and token.mask not in ("date", "time") for token in one):
        return False
    if any(token.kind & BREAK or token.kind & AND for each in (one, other) for token in each[:-1]):
        return False
    if not CLAUSES_IN_POLISH.isdisjoint(raws[0]) or not any(_shows_its_case(raw) for raw in raws[0]):
        return False
    near = [_neighbours(each) for each in raws]
    kept = [raw for raw, beside in near[0].items() if beside & near[1][raw] or not (beside or near[1][raw])]
    return len(kept) >= len(near[0]) - 1


def _shows_its_case(raw: str) -> bool:
    """Whether it is what something is done to or with, or says that one thing alone takes part."""
    return raw in ONE_ALONE or (len(raw) > SHORTEST_CASE and raw.endswith(("ę", "ą", "ego", "emu", "owi")))


def _neighbours(raws: Sequence[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {raw: set() for raw in raws if raw not in PARTING}
    for before, after in pairwise(raws):
        if before not in PARTING and after not in PARTING:
            found[before].add(after)
            found[after].add(before)
    return found


ONE_ALONE = frozenset("jest są się został została zostało zostały zostali".split())
PARTING = ONE_ALONE | frozenset("dziś dzisiaj jutro wczoraj teraz już zawsze codziennie często".split())
CLAUSES_IN_POLISH = frozenset("a i oraz ale lub albo że czy niż gdy jeśli kiedy bo ani lecz".split())
SHORTEST_CASE = 3


def _is_polish(tokens: Sequence[Token]) -> bool:
    return any(token.raw in POLISH or not POLISH_LETTERS.isdisjoint(token.raw) for token in tokens)


POLISH = frozenset("się jest nie pani pan dla przez oraz są".split())


def _without_lone_values(a: list[Part], b: list[Part]) -> tuple[list[Part], list[Part]]:
    """Without dates, times, amounts and words for times of which there is one of a sort: they may stand anywhere."""
    sorts = [part.token.mask for part in a]
    lone = {sort for sort in ("date", "time", "money", "percent") if sorts.count(sort) == 1}
    times = sum(part.token.raw in DAYS for part in a) == 1

    def kept(parts: list[Part]) -> list[Part]:
        found: list[Part] = []
        gone: Part | None = None
        for part in parts:
            if part.token.mask in lone or (times and part.token.raw in DAYS):
                gone = part
                if found and found[-1].token.raw in words.HEADS and not part.rank:  # "since Friday"
                    gone = replace(found.pop(), token=part.token)
                continue
            if gone and not part.after_verb:
                rank = max(gone.rank, part.rank)
                found.append(replace(part, rank=rank, after_verb=gone.after_verb, owned=gone.owned))
            else:
                found.append(part)
            gone = None
        return found

    return kept(a), kept(b)


DAYS = frozenset("today tomorrow tonight yesterday daily weekly monthly annually nightly hourly quarterly".split())


def _led_alike(a: list[Part], b: list[Part]) -> bool:
    """Whether what leads each part says the same, as far as it says more than that it belongs to the rest."""
    moved = [part.code for part in a] != [part.code for part in b]
    pairs = zip(sorted(a, key=_code), sorted(b, key=_code), strict=False)
    employers = _employers(a) & _employers(b)
    return all(
        one.lead == other.lead or one.code in employers or _only_belong(one, other, moved) for one, other in pairs
    )


def _employers(parts: list[Part]) -> set[int]:
    """Where, or for whom, one works."""
    return {part.code for verb, part in pairwise(parts) if verb.token.raw in WORKS and part.lead in ("at", "for")}


def _only_belong(one: Part, other: Part, moved: bool) -> bool:
    """Whether what leads the two says only that they belong to the rest: "the fee for delivery" and "the delivery fee",
    whose order has ``moved``, but not "drives for Volvo" and "drives a Volvo", nor "is from Madrid" and "is Madrid"."""
    leads = {one.lead, other.lead}
    if not BELONGING.issuperset(leads) or placed_apart(one, other):
        return False
    alike = moved or one.owned or other.owned if "" in leads else any(leads <= each for each in LEADS_ALIKE)
    if not alike and not is_of_time(one.token):
        return False
    return "of" not in leads or not (one.after_verb and other.after_verb)


def _code(part: Part) -> tuple[int, str]:
    return part.code, part.lead


def _listed(parts: list[Part]) -> list[Part]:
    """The one list of names or values that there is, in an order of its own."""
    joined = [at for at in range(1, len(parts)) if parts[at].rank == 1 and _is_item(parts[at])]
    if len(joined) != 1 or any(part.token.raw == "respectively" for part in parts):
        return parts
    start = end = joined[0]
    while start > 1 and _is_item(parts[start - 1]) and 0 < parts[start].rank <= 2:
        start -= 1
    if not _is_item(parts[start - 1]) and start == end:
        return parts
    start -= bool(parts[start].rank) and _is_item(parts[start - 1])
    if any(_go_together(*parts[at - 1 : at + 1]) for at in (start, end + 1) if 0 < at < len(parts)):
        return parts
    run = parts[start : end + 1]
    order = sorted(run, key=lambda part: part.code)
    kept = [
        replace(part, lead=at.lead, rank=at.rank, after_verb=at.after_verb) for part, at in zip(order, run, strict=True)
    ]
    return [*parts[:start], *kept, *parts[end + 1 :]]


def _go_together(one: Part, other: Part) -> bool:
    """Whether the two are parts of one name."""
    apart = other.rank or other.lead or other.after_verb
    return not apart and bool(one.token.kind & other.token.kind & CAPITAL)


def _is_item(part: Part) -> bool:
    return bool(part.token.kind & (CAPITAL | VALUE)) or part.token.raw.endswith("s")


def _past(tokens: Sequence[Token]) -> set[int]:
    """What is told of as over: verbs in the past without a helping verb, and "was"."""
    found = set()
    for at, token in enumerate(tokens):
        if token.kind & PAST:
            follows = next((each for each in tokens[at + 1 : at + 3] if each.kind & WORD), None)
            if follows is None or (follows.raw not in TAKEN and follows.raw not in ONCE):
                found.add(0)
        elif (
            token.kind & WORD
            and _is_participle(token)
            and token.raw not in words.NO_FORMS
            and not any(each.raw in HELPING for each in tokens[max(0, at - 3) : at])
        ):
            found.add(token.concept)
    return found


# What happens to a person or a thing once: "was promoted" and "has been promoted" are one.
ONCE = frozenset("promoted appointed elected hired fired dismissed founded built awarded injured stolen".split())


def _bound(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Each negation and direction with the concept that follows, or goes before at the end."""
    said = [token for token in tokens if token.kind & SAID and token.concept]
    found = [(token.code, tokens[at + 1].concept) for at, token in enumerate(tokens[:-1]) if token.raw in CASES]
    found += [
        (0, following.concept)
        for before, following in pairwise(said)
        if following.raw.endswith("ing") and words.concept(before.raw) in WITH_PURPOSE
    ]
    for at, token in enumerate(said):
        if token.kind & (NEGATION | DIRECTION) or token.raw in BOUND:
            beside = said[at + 1] if at + 1 < len(said) else said[at - 1]
            found.append((token.concept, beside.concept))
    return sorted(found)


def _conditions(tokens: Sequence[Token]) -> set[int]:
    """The concepts that stand in a clause of "if", "when" and the like."""
    at = next((at for at, token in enumerate(tokens) if token.raw in values.CONDITIONAL), -1)
    if at < 0:
        return set()
    end = next((place + 1 for place in range(at, len(tokens)) if tokens[place].kind & BREAK), len(tokens))
    return {token.concept for token in tokens[at:end] if token.kind & SAID}


# Topics: what a statement is about, but for one value, name or state that it gives.

ADDING = frozenset(
    "also too another additional additionally second extra both further auch también aussi także też".split()
)
STARTING = frozenset("as from starting effective beginning since ab seit desde depuis dès od".split())
REPORTING = values.REPORTING - {"proposal", "quote", "claim", "claims"}
RENEWED = (
    values.CHANGES | values.MOVES | values.PROGRESS | {"renewed", "left", "stepped", "retired", "resigned", "quit"}
)
NEW = frozenset(
    "new neue neuer neues neuen neuem nueva nuevo nouveau nouvelle nowy nowa nowe nowym nową nowego".split()
)
NO_FACTS = REPORTING | (values.CONDITIONAL - {"until", "once"}) | ADDING
SPEAKING = frozenset((code_of("p i"), code_of("p you")))
THIRD = frozenset((code_of("p he"), code_of("p she")))
MOST_IN_A_START = 6
MOST_RUNS = 4
SHORTEST_CLAUSE = 3
NEWS, MOST_IN_NEWS = frozenset("change update updated correction changes news".split()), 4
MARKING = values.NOW | values.CHANGES | values.MOVES
MARKED = MARKING - frozenset("forward brought set fixed".split())
# What a thing is like, and not which it is: "the default branch is protected", "my favourite colour is boring".
JUDGING = frozenset(
    """
    fine good bad great nice ok okay perfect cheap expensive free busy taken ready available unavailable full empty slow
    fast late early wrong right correct broken missing gone dead new old big small important boring ugly beautiful
    lovely tasty delicious popular rare unknown unclear sick ill away down out safe unsafe secret valid invalid awful
    sold lost hard easy better worse best worst far near rude kind funny obvious enough
    """.split()
)
OF_A_STATE = frozenset("mood condition health state status opinion weather feeling attitude hair size".split())
MANY = frozenset(("date", "number", "phone", NAMED))
NAMING = values.IS | {"owns"}
DEFINING = values.IS | values.CHANGES
AHEAD = frozenset(("will", "shall"))


def topics_of(said: Spoken) -> list[Claim]:
    """What the statement claims of its topics; only one that speaks of a change, or of a state, replaces others."""
    clauses = clauses_of(said)
    if len(clauses) > 1:
        renewed = any(token.raw in RENEWED for token in said.tokens)
        saying = [each for each in clauses if not _is_a_label(each.tokens)]
        news = [claim for each in saying for claim in topics_of(each) if claim.explicit or renewed]
        return [replace(claim, explicit=True, is_part=True) for claim in news]
    if said.strict or said.kinds & ASKS or not said.kinds & (VALUE | CAPITAL | STATUS) or len(said.tokens) > LONGEST:
        return []
    raws = {token.raw for token in said.tokens}
    if not NO_FACTS.isdisjoint(raws) or _denies(said) or _lies_ahead(said.tokens, raws):
        return []
    tokens = without_time(said.tokens)
    dated = len(tokens) < len(said.tokens)
    tokens = _of_what_changed(tokens)
    marked = dated or _is_changed(tokens, raws) or ("new" in raws and _is_renewed(tokens))
    marked = (
        marked
        or {"plus", "que"} <= raws
        or (
            not NEWS.isdisjoint(raws)
            and any(token.raw in NEWS for token in tokens[:MOST_IN_NEWS] if token.kind & BREAK)
        )
    )
    found: list[Claim] = []
    if said.kinds & STATUS:
        slot = status(Spoken(tokens, said.kinds), raws)
        if slot:
            given = said_tokens(slot)
            front = slot.tokens[: slot.start]
            taken = any(token.raw in values.BECOME or token.kind & PAST or token.raw in HAS for token in front)
            rest = [*slot.tokens[: slot.start], *_until_tail(slot.tokens[slot.end - 1 :], taken=taken)[1:]]
            cut = len(rest) + slot.end - slot.start < len(slot.tokens)
            ends = any(token.kind & AND for token in slot.tokens[slot.end - 1 :])
            states = topic(rest, given, f"status {slot.sort}", "value", explicit=True, is_part=cut and ends)
            found += [replace(state, values=slot.values) for state in states]
    over = said.kinds & PAST and MARKING.isdisjoint(raws)
    if over or (said.kinds & HAPPENS and happened([token for token in tokens if token.raw != "got"])):
        return found
    tokens = former_value_left_out(tokens, raws)
    tokens = _without_difference(tokens) if "by" in raws else tokens
    naming = not NAMING.isdisjoint(raws)
    for start, end, sort in _runs(tokens):
        if sort == NAMED:
            stated = naming and _is_identified(tokens, start, end)
        else:
            stated = _is_stated(tokens, start, end, sort)
        if not stated:
            continue
        rest = [*_before_value(tokens[:start]), *tokens[end:]]
        explicit = marked or (sort == NAMED and bool(NEW & raws)) or _is_restated(tokens, start, end, sort)
        found += topic(rest, tokens[start:end], sort, sort, explicit=explicit)
        if sort in ("date", "time"):
            found += _dated(rest, tokens[start:end], sort, raws)
    return [*found, *_defined(tokens, raws, marked=dated), *_placed(tokens, raws, marked=marked)]


def _is_a_label(tokens: list[Token]) -> bool:
    """Whether it only says what follows is about: "X11 GUI:" and "TODO(b/78648703):" claim nothing."""
    few = sum([1 for token in tokens if token.kind & SAID]) <= MOST_IN_A_LABEL
    verbless = (STATING | FINITE | PLACED_BY).isdisjoint([token.raw for token in tokens])
    return few and verbless and not any(token.kind & BREAK for token in tokens[:-1])


MOST_IN_A_LABEL = 4


def _of_what_changed(tokens: list[Token]) -> list[Token]:
    """ "The board raised the fee to 5" as "the fee raised to 5": who did it says nothing of the fee."""
    at = next((at for at, token in enumerate(tokens) if token.raw in values.CHANGES), 0)
    to = next((place for place in range(at + 1, len(tokens)) if tokens[place].raw in ("to", "from")), 0)
    if not 0 < at <= MOST_IN_A_VALUE or to < at + 3 or tokens[at + 1].raw not in ("the", "our"):
        return tokens
    if any(token.raw in HELPING - {"has", "have", "had"} or token.kind & BREAK for token in tokens[: to - 1]):
        return tokens
    return [*tokens[at + 1 : to], tokens[at], *tokens[to:]]


def _without_difference(tokens: list[Token]) -> list[Token]:
    """Without "by a week" where "to 21 June" follows."""
    by = next((at for at, token in enumerate(tokens) if token.raw == "by"), 0)
    to = next((at for at in range(by, min(len(tokens), by + 5)) if tokens[at].raw == "to"), 0) if by else 0
    return [*tokens[:by], *tokens[to:]] if to else tokens


def _dated(rest: list[Token], given: list[Token], sort: str, raws: set[str]) -> list[Claim]:
    """When something begins or ends: "runs until May" and "was extended to June", "is on Monday" and "was moved"."""
    plain = [token for token in rest if token.raw not in BEGINS and token.raw not in ENDS]
    if raws & EXTENDED:
        return topic(plain, given, f"{sort} of the end", "date", explicit=True)
    if raws & MOVED:
        return topic(plain, given, f"{sort} of the beginning", "date", explicit=True)
    ends, begins = bool(raws & ENDS), bool(raws & BEGINS)
    if ends and not begins:
        return topic(plain, given, f"{sort} of the end", "date", explicit=False)
    return [] if ends else topic(plain, given, f"{sort} of the beginning", "date", explicit=False)


def _placed(tokens: list[Token], raws: set[str], *, marked: bool) -> list[Claim]:
    """Where something is, and where it moved to."""
    if "from" in raws or PLACED_BY.isdisjoint(raws):
        return []
    verb = next((at for at, token in enumerate(tokens) if token.raw in PLACED_BY), 0)
    if not verb:
        return []
    moved = tokens[verb].raw in values.MOVES
    leads = TO_A_PLACE if moved else AT_A_PLACE
    place = next((at for at in range(verb + 1, min(len(tokens), verb + 4)) if tokens[at].raw in leads), 0)
    if not place or any(token.kind & VALUE for token in tokens[verb + 1 : place]):
        return []
    sort = ("employer" if tokens[place].raw == "for" else "place of work") if tokens[verb].raw in WORKS else "place"
    sort = f"place where it {tokens[verb].raw}" if tokens[verb].raw in STAYS else sort
    where = [token for token in tokens[place + 1 :] if token.kind & SAID]
    if any(token.raw in NO_PLACES for token in where):
        return []
    known = tokens[place + 1].raw in DEFINITE or any(token.kind & CAPITAL for token in where) if where else False
    named = 0 < len(where) <= MOST_IN_A_PLACE and known
    dated = any(token.mask in ("date", "time", "money", "percent") for token in where) or _is_limited(
        tokens[place + 1 :]
    )
    explicit = moved or marked or bool(raws & values.NOW)
    return topic(tokens[:verb], where, sort, "place", explicit=explicit) if named and not dated else []


WORKS = frozenset("works work transferred".split())
NO_PLACES = frozenset(("plan", "phase", "stage", "step", "version", "level", "tier", "grade", "option"))
TO_A_PLACE, AT_A_PLACE = frozenset(("to", "into")), values.PLACES | {"for"}
STAYS = frozenset("sleeps sleep sits sit stands stand hangs hang lies lie parks park kept parked held".split())
PLACED_BY = values.IS | values.LIVES | values.MOVES | WORKS | STAYS | {"happens", "happen"}
MOST_IN_A_PLACE = 6
ENDS = frozenset(
    "runs run ends end expires expire lasts valid until till closes due läuft endet termina expira".split()
)
BEGINS = frozenset(
    "starts start begins begin begin+s happens happen scheduled planned opens launches findet statt beginnt".split()
)
EXTENDED = frozenset("extended prolonged shortened verlängert verkürzt prolongado prolongé przedłużono".split())
MOVED = frozenset(
    "moved postponed rescheduled pushed delayed advanced slipped verschoben verlegt aplazó aplazado".split()
)


def _is_changed(tokens: list[Token], raws: set[str]) -> bool:
    """Whether a word says that something changed, as "was reduced" does and "the reduced fare" does not."""
    changing = raws & MARKED
    if not changing:
        return False
    return not changing.isdisjoint(values.NOW) or any(
        token.raw in changing and not is_adjective(tokens, at) for at, token in enumerate(tokens)
    )


def _is_stated(tokens: list[Token], start: int, end: int, sort: str) -> bool:
    """Whether it is said of something: that of "locker 14 is free" tells which, that of "rose by 5 %" is no state."""
    before = tokens[:start]
    if (
        before
        and sort in ("percent", "number", "money")
        and (before[-1].raw == "by" or before[-1].raw in values.CHANGES)
    ):
        return False
    verb = not STATING.isdisjoint([token.raw for token in before]) or any(token.kind & END for token in before)
    leads = [token.raw for token in before[-2:]]
    if leads and (leads[-1] == "auf" or leads == ["auf", "den"]) and tokens[-1].raw in values.CHANGES:
        return True  # in German the verb stands at the end
    return verb or FINITE.isdisjoint([token.raw for token in tokens[end:]])


FINITE = HELPING | values.COPULAS | values.CHANGES | values.MOVES | values.LIVES
STATING = HELPING | values.COPULAS | values.STATES | values.CHANGES | values.MOVES | values.DATED | values.LIVES


def _is_restated(tokens: list[Token], start: int, end: int, sort: str) -> bool:
    """Whether it ends with what an attribute of one thing amounts to: "the worker's default timeout is 120 s"."""
    if sort not in ("money", "percent", "number") or start < 2:
        return False
    units = all(token.raw in values.MEASURES for token in tokens[end:])
    if units and tokens[start - 1].kind & END and start >= MOST_RUNS - 1:  # "seats left for the talk: 9"
        return any(token.raw in ("for", "of", "left") for token in tokens[: start - 1])
    if tokens[start - 1].raw not in values.IS:
        return False
    return units and any(token.raw in DEFINITE or token.kind & (OWNS | PRONOUN) for token in tokens[: start - 1])


def _is_identified(tokens: list[Token], start: int, end: int) -> bool:
    """Whether it is said of the name what it is, or of a thing that it is the name: "the owner is Ana", "Ana owns"."""
    if start:
        return next((token.raw for token in reversed(tokens[:start]) if token.raw not in values.NOW), "") in values.IS
    after = [token.raw for token in tokens[end:] if token.raw not in values.NOW][:2]
    if not after:
        return False
    return after[0] == "owns" or (after[0] in values.IS and after[-1] in DEFINITE)


def _defined(tokens: list[Token], raws: set[str], *, marked: bool) -> list[Claim]:
    """ "The theme of the party is X", and "the theme of the party changed to Y", whatever the sort of X and Y."""
    if DEFINING.isdisjoint(raws):
        return []
    at = next((at for at, token in enumerate(tokens) if token.raw in DEFINING), 0)
    value, explicit = tokens[at + 1 :], False
    if not at or tokens[at].raw in ("moved", "relocated", "transferred"):
        return []  # to a place, which is not what it is
    if tokens[at - 1].kind & BREAK:
        return []  # "settings: upgraded to 3.11" says of no one thing what it is
    between: list[Token] = []
    if tokens[at].raw in values.CHANGES:
        to = next((place for place in range(at, len(tokens)) if tokens[place].raw in ("to", "into")), 0)
        value, explicit, between = tokens[to + 1 :], bool(to), tokens[at + 1 : to]
        if not to:
            return []
    said = [token for token in value if token.kind & SAID]
    if _is_limited(value):
        return []
    if not 0 < len(said) <= MOST_IN_A_VALUE or (value[0].kind & PREPOSITION and not explicit):
        return []
    sort = "attribute" if _is_an_attribute(tokens[:at]) else next((token.mask for token in said if token.mask), "")
    if not sort:
        return []
    plain = tokens[at].raw in values.IS and sort == "attribute" and _is_of_one(tokens[:at])
    if any(map(judges, said)) and not any(token.raw in OF_A_STATE for token in tokens[:at]):
        sort, plain = f"{sort} judged", False
    explicit = explicit or marked or value[0].raw in values.NOW or plain
    return topic([*tokens[:at], *between], said, f"defined {sort}", "value", explicit=explicit)


def _is_limited(value: Sequence[Token]) -> bool:
    """Whether what follows the value limits it to a part: "10 GB per tenant" is not what "5 GB per user" was."""
    first = next((at for at, token in enumerate(value) if token.kind & SAID), len(value))
    return any(token.raw in LIMITING for token in value[first + 1 :])


LIMITING = frozenset(
    """
    for per if when unless but only except on during by over under above below until with after before in at from
    gross net empty loaded folded unfolded inside outside each apiece minimum maximum peak off-peak
    """.split()
)


def _is_an_attribute(tokens: list[Token]) -> bool:
    """Whether it is something of another: "the theme of the party", "Ana's role"."""
    return any(token.raw == "of" or token.kind & OWNS or token.raw in values.ATTRIBUTES for token in tokens)


def _is_of_one(tokens: list[Token]) -> bool:
    """Whether it is an attribute of which one thing has one: "the dish of the day", "Ana's emergency contact"."""
    if not (SHARED | POINTING_BACK).isdisjoint([token.raw for token in tokens]):
        return False
    of = next((at for at, token in enumerate(tokens) if token.raw in ("of", "for")), len(tokens))
    noun = tokens[of - 1] if of else tokens[0]
    owned = any(token.kind & OWNS for token in tokens[: of - 1]) if of else False
    known = owned or (of < len(tokens) and tokens[0].raw in DEFINITE)
    plural = noun.raw.endswith("s") and not noun.raw.endswith(("ss", "us", "is"))
    return known and of > 1 and not plural and noun.raw not in SEVERAL and not noun.kind & (CAPITAL | VALUE)


def judges(token: Token) -> bool:
    """Whether it says what a thing is like, and not which it is."""
    return token.raw in JUDGING or (
        not token.kind & CAPITAL and len(token.raw) > 4 and token.raw.endswith(("ed", "able"))
    )


def _before_value(tokens: list[Token]) -> list[Token]:
    """Without a preposition, or "only", in front of the value."""
    end = len(tokens)
    while end and (tokens[end - 1].raw in BEFORE_VALUES or tokens[end - 1].kind & (PREPOSITION | DIRECTION)):
        end -= 1
    if end > 1 and tokens[end - 1].kind & WORD and tokens[end - 2].raw == "from":
        return [*tokens[: end - 2], tokens[end - 1]]
    return tokens[:end]


def _until_tail(tokens: list[Token], *, taken: bool) -> list[Token]:
    """Up to what is added to the state: ", and works again", "since Monday", "by Ana"; of a step also when it was."""
    step = taken and tokens[0].raw in TAKEN
    end = next((at + bool(token.kind & BREAK) for at, token in enumerate(tokens) if _is_a_tail(tokens, at, step)), None)
    return tokens if end is None else tokens[: max(end, 1)]


def _is_a_tail(tokens: list[Token], at: int, step: bool) -> bool:
    token = tokens[at]
    if token.kind & AND or (token.raw and token.kind & BREAK) or (at == 1 and tokens[0].raw in WAITING):
        return True
    if token.raw == "for" and at + 1 < len(tokens):
        return tokens[at + 1].raw.endswith(("ion", "ions", "ance", "ing", "repair", "repairs", "work"))
    dated = token.raw in ("on", "at", "in") or token.mask in ("date", "time")
    return at > 0 and (token.raw in TAILS or (step and dated))


WAITING = frozenset("waiting awaiting pending stuck".split())
MOST_IN_A_VALUE = 4
BEFORE_VALUES = frozenset(
    "only just merely nur solo solamente seulement tylko à a auf den de por do na o om um".split()
)
TAILS = frozenset("since by because as seit desde depuis od".split())


def clauses_of(said: Spoken) -> list[Spoken]:
    """Its sentences, and the parts between semicolons: what one says replaces others, and is not replaced for it."""
    ends = [at for at, token in enumerate(said.tokens[:-1]) if token.kind & (HALT | END | AND)]
    if said.strict or said.kinds & ASKS or not ends or not any(_may_part(*said.tokens[at : at + 2]) for at in ends):
        return [said]
    found: list[list[Token]] = [[]]
    for token, following in pairwise(said.tokens):
        parted = token.kind & HALT or (token.kind & END and following.kind & CAPITAL)
        goes_on = token.kind & AND and following.raw in HELPING and len(found) == 1 and found[0]
        subject = _subject(found[0]) if goes_on else []
        if subject:
            found.append(subject)
            continue
        found[-1].append(token)
        if parted and len(found[-1]) >= SHORTEST_CLAUSE - 1:
            found[-1][-1] = token.without_kind(END | HALT)
            found.append([])
    found[-1] += said.tokens[-1:]
    if len(found) < 2:
        return [said]
    return [Spoken(each, reduce(or_, [token.kind for token in each], 0)) for each in found if each]


def _may_part(token: Token, following: Token) -> bool:
    """Whether another clause may begin between them."""
    kind = token.kind
    return bool(kind & HALT or (kind & END and following.kind & CAPITAL) or (kind & AND and following.raw in HELPING))


def _subject(tokens: list[Token]) -> list[Token]:
    end = next((at for at, token in enumerate(tokens) if token.raw in HELPING), 0)
    return tokens[: end or 2 * (tokens[0].raw in DEFINITE)]


def _denies(said: Spoken) -> bool:
    return bool(said.kinds & NEGATION) and any(
        token.kind & NEGATION and not token.kind & DIRECTION for token in said.tokens
    )


def without_time(tokens: list[Token]) -> list[Token]:
    """Without "as of this month", "from May on", "starting Monday," and "since the merger" in front, and "yesterday" at
    the end."""
    if tokens and tokens[0].raw in STARTING:
        end = next((at for at in range(1, min(len(tokens), MOST_IN_A_START)) if _ends_a_start(tokens, at)), 0)
        if end and any(_is_a_time(token) for token in tokens[: end + 1]):
            tokens = tokens[end + 1 :]
    changed = any(token.raw in values.CHANGES for token in tokens)  # "after lunch Ana is in room 4" is no change
    if len(tokens) > MOST_IN_A_START and (tokens[0].raw == "since" or (changed and tokens[0].raw in AFTER)):
        what = tokens[1:4]
        event = (what[0].raw in DEFINITE or what[0].kind & PRONOUN) and what[1].kind & WORD and not what[1].kind & VALUE
        if event and (what[1].kind & BREAK or what[2].kind & (PRONOUN | CAPITAL) or what[2].raw in DEFINITE):
            tokens = tokens[3:]
    if len(tokens) > 2 and tokens[-1].raw in ("yesterday", "today", "recently", "lately"):
        tokens = tokens[:-1]
    elif len(tokens) > 3 and tokens[-2].raw in ("last", "this") and tokens[-1].raw in SPANS:
        tokens = tokens[:-2]
    return tokens


def _ends_a_start(tokens: list[Token], at: int) -> bool:
    follows = tokens[at + 1] if at + 1 < len(tokens) else None
    return tokens[at].raw in ("on", "onwards", "onward") or bool(
        tokens[at].kind & BREAK
        or (_is_a_time(tokens[at]) and follows and not _is_a_time(follows) and follows.raw not in ("on", "onwards"))
    )


AFTER = frozenset(("after", "following"))
HAS = frozenset(("has", "have"))
SPANS = frozenset((*values.PERIODS, "morning", "afternoon", "evening"))
TIMES = frozenset("today tomorrow now semester term season spring summer autumn winter".split())


def _is_a_time(token: Token) -> bool:
    return token.mask == "date" or token.raw in values.PERIODS or token.raw in TIMES


def _is_renewed(tokens: list[Token]) -> bool:
    """Whether it is about the "new" of what there is one of."""
    return any(
        token.raw == "new" and any(each.raw in values.ATTRIBUTES for each in tokens[at + 1 : at + 4])
        for at, token in enumerate(tokens)
    )


def _runs(tokens: list[Token]) -> list[tuple[int, int, str]]:
    """The values and names of the statement, each with its place and sort."""
    found: list[tuple[int, int, str]] = []
    for at in [at for at, token in enumerate(tokens) if token.kind & (VALUE | CAPITAL)]:
        sort = _sort(tokens, at) if tokens[at].kind & VALUE else NAMED if _is_a_name(tokens[at], at) else ""
        if not sort:
            continue
        if found and found[-1][1] == at and found[-1][2] == sort and sort in MANY:
            found[-1] = found[-1][0], at + 1, sort
        elif len(found) == MOST_RUNS:
            break
        else:
            found.append((at, at + 1, sort))
    return found


def _sort(tokens: list[Token], at: int) -> str:
    """The sort of the value there."""
    token = tokens[at]
    if token.mask == "number" and "." in token.word and any(each.raw in VERSIONS for each in tokens):
        return "version"
    if token.mask == "number" and at and tokens[at - 1].kind & BREAK:  # after a colon
        return "number"
    return sort_at(tokens, at) or ("code" if not token.mask and token.raw.isalnum() else "")


def _is_a_name(token: Token, at: int) -> bool:
    return bool(token.kind & WORD and (at or not token.kind & COMMON)) and token.raw not in values.DEMONYMS


def is_about_facts(tokens: Sequence[Token], raws: set[str]) -> bool:
    """Whether it tells how things are: neither what may be, nor what will be, nor what is reported."""
    return NO_FACTS.isdisjoint(raws) and not _lies_ahead(tokens, raws)


def _lies_ahead(tokens: Sequence[Token], raws: set[str]) -> bool:
    """Whether it says what will be: "the budget will be raised", "the rent was to be raised"."""
    if AHEAD.isdisjoint(raws) and not ("to" in raws and "be" in raws):
        return False
    return any(token.raw in AHEAD or (token.raw == "to" and follows.raw == "be") for token, follows in pairwise(tokens))


def topic(
    rest: list[Token], given: Sequence[Token], sort: str, why: str, *, explicit: bool, is_part: bool = False
) -> list[Claim]:
    rest = [replace(proper(token), raw="New") if is_new_in_a_name(rest, at) else token for at, token in enumerate(rest)]
    kept = [token for token in rest if token.raw not in LIGHT]
    if not MARKING.isdisjoint([token.raw for token in kept]):
        kept = [token for at, token in enumerate(rest) if not _is_dropped(rest, at) and token.raw not in LIGHT]
    if not [token for token in kept if token.kind & WORD and token.concept]:
        kept = [token for at, token in enumerate(rest) if not _is_dropped(rest, at) and token.raw not in LIGHT - PRICES]
    meant = [token.concept for token in kept if token.kind & SAID and token.concept and not token.kind & DIRECTION]
    if not [token for token in kept if token.kind & WORD] or (len(meant) < FEWEST and not _is_one(kept)):
        return []
    key = (sum(meant) + salt_of(f"topic {sort}")) & BITS
    said = tuple(token.word.casefold() for token in given if token.kind & SAID)
    return [Claim(key, WHY.get(why, why), said, tuple(kept), explicit, f"topic {sort}", is_topic=True, is_part=is_part)]


def _is_dropped(tokens: list[Token], at: int) -> bool:
    """Whether it speaks of a change alone: not as an adjective, in "the extended warranty"."""
    return tokens[at].raw in MARKING and not is_adjective(tokens, at)


def _is_one(tokens: list[Token]) -> bool:
    """Whether there is one of what its one word names."""
    return bool(tokens[0].raw in DEFINITE or tokens[0].kind & (PRONOUN | CAPITAL) or len(tokens[0].raw) >= COMPOUND)


COMPOUND = 8
PRICES = frozenset("price fee cost costs amount preis precio prix cena".split())
WHY = {"money": "amount", "percent": "percentage", "time": "date", NAMED: "value", "code": "value"} | dict.fromkeys(
    ("phone", "email"), "value"
)
# Verbs and nouns that a statement has for its form alone, as another has none or another one.
LIGHT = frozenset(
    """
    new current cost costs costing price priced fee amounts amount comes come stands stand equals totals pays change
    update updated correction changes gate-change got gets get went goes beträgt kostet cuesta coûte kosztuje wynosi
    preis precio prix cena stattfinden findet statt auf n' ne plus que held takes place happens happen will neue
    neuer neues nueva nuevo nouveau nouvelle nowy nowa nowym go na stores se się holds contains houses keeps employs
    counts seats should sent send sends sells sell charges live lives based located situated wohnt lebt vive mieszka
    habite
    """.split()
)


def on_one_topic(newer: Sequence[Token], older: Sequence[Token]) -> bool:
    """Whether two topics of one key are the same: of the same persons and names in their order."""
    speaking = [{token.code for token in each if token.kind & PRONOUN} for each in (newer, older)]
    if speaking[0] & SPEAKING != speaking[1] & SPEAKING:
        return False
    if len((speaking[0] | speaking[1]) & THIRD) > 1:
        return False
    return _names(newer) == _names(older) and _directed(newer, older) == _directed(older, newer)


def _names(tokens: Sequence[Token]) -> list[int]:
    return [
        token.concept
        for at, token in enumerate(tokens)
        if token.kind & CAPITAL and token.kind & WORD and token.concept and (at or not token.kind & COMMON)
    ]


def _directed(tokens: Sequence[Token], other: Sequence[Token]) -> list[tuple[int, int]]:
    """What is bound to directions, but "from Ana" where the other has "Ana's"."""
    owning = {token.concept for token in other if token.kind & OWNS}
    return [each for each in _bound(tokens) if each[0] != FROM or each[1] not in owning]


FROM = word_token("from").concept
