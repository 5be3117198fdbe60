"""What a statement claims that a newer one may replace: a value, a state, a preference, or where something is now.

A claim's key holds everything else that the statement says: who, of what, which order. Two claims with one key and
different values are about the same thing. What happened (paid, sent, visited), what is denied or asked, and what holds
under a condition (over $100) claims nothing: a newer event replaces no older one.
"""
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from dataclasses import dataclass

from memory.similarity import states, values
from memory.similarity.records import Leaf
from memory.similarity.statements import Spoken
from memory.similarity.tokens import (
    AND,
    ASKS,
    BITS,
    BREAK,
    CAPITAL,
    FILLER,
    HAPPENS,
    MASKED,
    NEGATION,
    PREFERS,
    PREPOSITION,
    SAID,
    STATUS,
    TURN,
    VALUE,
    WORD,
    Token,
    code_of,
)

COMPARING = frozenset("over under above below than least most exceeding beyond between".split())
WHY = {"money": "amount", "percent": "percentage", "time": "date", "phone": "value", "email": "value"}
DATING = values.DATED | values.CHANGES | values.COPULAS
SAYING = values.STATES | values.CHANGES
PRESENT = frozenset("is are has have must may will can should".split()) | frozenset(
    word for word in values.STATES if word.endswith("s")
)
NAME = CAPITAL | PREPOSITION
UNTIL = frozenset({"until", "till"})
PASSIVE = frozenset({"is", "are", "be", "been", "being"})
PRICE = code_of("w price")
PRICES = frozenset("cost costs price prices priced".split())
VERSIONS = frozenset("version release".split())
REACHED_AT = frozenset("address email e-mail phone telephone number mobile cell fax contact extension hotline".split())
SORTS = frozenset("money percent number date time version phone email".split())
SALT = {name: code_of(f"claim {name}") for name in (*SORTS, "slot", "preference", "status")}
SLOT = code_of("claimed here")
MOST_RUNS = 6


@dataclass(frozen=True, slots=True)
class Claim:
    """``rest`` is the statement with a mark where the value was; only an ``explicit`` claim replaces others."""

    key: int
    why: str
    values: tuple[str, ...]
    rest: tuple[Token, ...]
    explicit: bool
    sort: str = ""


def claims_of(said: Spoken) -> list[Claim]:
    """What the statement claims."""
    if said.leaves:
        return [_leaf(leaf) for leaf in said.leaves if leaf.changes]
    tokens, kinds = said.tokens, said.kinds
    if kinds & ASKS or (kinds & NEGATION and _denies(tokens)) or not kinds & (MASKED | PREFERS | TURN | STATUS):
        return []
    raws = {token.raw for token in tokens}
    found: list[Claim] = []
    if kinds & MASKED and not (kinds & HAPPENS and _happened(tokens)):
        found += _values(tokens, raws)
    for bit, claims in ((PREFERS, states.preferred), (STATUS, states.status), (TURN, states.turned)):
        slot = claims(said, raws) if kinds & bit else None
        if slot:
            found.append(_claim(tokens, slot))
    return found


def _denies(tokens: list[Token]) -> bool:
    """Whether it says what is not; "without approval" is a part of what is."""
    return any(token.kind & NEGATION and token.word not in ("without", "except") for token in tokens)


def _leaf(leaf: Leaf) -> Claim:
    return Claim(leaf.rest, "value", (leaf.value,), (), explicit=True, sort="leaf")


def _claim(tokens: list[Token], slot: states.Slot) -> Claim:
    rest = _marked(slot.tokens, slot.start, slot.end, "")
    key = (_key(rest) + code_of(slot.sort) + SALT[slot.kind]) & BITS
    said = tuple(token.word for token in tokens_said(slot))
    return Claim(key, slot.why, said, rest, slot.explicit, slot.sort)


def tokens_said(slot: states.Slot) -> list[Token]:
    return [token for token in slot.tokens[slot.start : slot.end] if token.kind & SAID]


def _marked(tokens: list[Token], start: int, end: int, mask: str) -> tuple[Token, ...]:
    """The statement without words for a change, and with one mark for the value."""
    last = tokens[end - 1]
    mark = Token("", "", SLOT, b"", VALUE | (last.kind & BREAK), mask)
    kept = [*tokens[:start], mark, *tokens[end:]]
    return tuple(token for token in kept if token.raw not in values.DROPPED and token.raw not in PRICES)


def _key(rest: tuple[Token, ...]) -> int:
    return sum([token.code for token in rest if token.kind & SAID]) & BITS


def _values(tokens: list[Token], raws: set[str]) -> list[Claim]:
    """One claim for each value that the statement gives, were it the only one to differ."""
    tokens = _without_former(tokens, raws)
    sorts = [_sort(tokens, at) for at in range(len(tokens))]
    runs: list[tuple[int, int]] = []
    for at, sort in enumerate(sorts):
        if sort and runs and runs[-1][1] == at and sorts[at - 1] == sort and sort in ("date", "number", "phone"):
            runs[-1] = (runs[-1][0], at + 1)
        elif sort:
            runs.append((at, at + 1))
    found = []
    for number, (start, end) in enumerate(runs[:MOST_RUNS]):
        since = runs[number - 1][1] if number else 0
        sort = sorts[start]
        if _states(tokens, since, start, end, sort):
            rest = _marked(tokens, start, end, sort)
            if any(token.kind & WORD for token in rest):
                said = " ".join(token.word for token in tokens[start:end])
                key = (_key(rest) + SALT[sort]) & BITS
                explicit = _explicit(tokens[start:end], raws, sort)
                found.append(Claim(key, WHY.get(sort, sort), (said,), rest, explicit))
    return found


def _explicit(run: list[Token], raws: set[str], sort: str) -> bool:
    """Whether it may replace an older value. A bare weekday or month is rather part of a name, and "was" is over."""
    changed = bool(raws & values.DROPPED)
    if sort in ("date", "time") and not changed:
        bare = all(token.mask == "date" and not token.word[0].isdigit() for token in run)
        return "only" in raws if bare else bool(raws & values.DATED or raws & UNTIL)
    return changed or not raws & {"was", "were"}


def _states(tokens: list[Token], since: int, first: int, end: int, sort: str) -> bool:
    """Whether the value is what the statement is about: said of it, not a condition and not a part of its name."""
    before = {token.raw for token in tokens[since:first]}
    near = {token.raw for token in tokens[max(0, first - 2) : first]}
    behind = {token.raw for token in tokens[end:]}
    if near & COMPARING:
        return False
    if sort in ("date", "time"):
        return bool(before & DATING) or (first < 2 and bool(behind & values.DATED or "only" in behind))
    if sort in ("phone", "email"):
        all_said = {token.raw for token in tokens}
        return bool(all_said & REACHED_AT) and bool(all_said & (values.TURNS | values.REACHES | values.DROPPED))
    if first == 1 and tokens[0].kind & PREPOSITION:
        return bool(behind & SAYING)
    return bool(before & SAYING) or (first == 0 and end < len(tokens) and tokens[end].raw in values.COPULAS)


def _happened(tokens: list[Token]) -> bool:
    """Whether it tells of something that happened once: "paid", but neither "is paid" nor "agreed ... is"."""
    before = ""
    for at, token in enumerate(tokens):
        if token.kind & HAPPENS and before not in PASSIVE and not _qualifies(tokens, at):
            return True
        before = before if token.kind & FILLER else token.raw
    return False


def _qualifies(tokens: list[Token], at: int) -> bool:
    """Whether a verb follows, in the same clause, that says how things are."""
    for token in tokens[at:]:
        if token.raw in PRESENT:
            return True
        if token.kind & (BREAK | AND):
            return False
    return False


def _without_former(tokens: list[Token], raws: set[str]) -> list[Token]:
    """Of "raised from $49 to $59", the former value is dropped."""
    if "from" not in raws or not raws & values.CHANGES:
        return tokens
    at = next(index for index, token in enumerate(tokens) if token.raw == "from")
    if at + 1 < len(tokens) and tokens[at + 1].kind & VALUE:
        return tokens[:at] + tokens[at + 2 :]
    return tokens


def _sort(tokens: list[Token], at: int) -> str:
    """What sort of value stands there; empty for none, and for a number that is a name."""
    token = tokens[at]
    if not token.kind & VALUE:
        return ""
    before, after = tokens[at - 1] if at else None, tokens[at + 1] if at + 1 < len(tokens) else None
    if before and before.raw in VERSIONS and token.raw[0].isdigit() and "." in token.raw:
        return "version"
    if token.mask != "number":
        return token.mask
    near = [each for each in (before, after) if each]
    if any(each.raw in values.CURRENCIES for each in near):
        return "money"
    if after and (after.raw in values.PERCENT or after.word == "percent"):
        return "percent"
    if any(each.word in values.MONTHS and each.kind & VALUE for each in near):
        return "date"
    return "" if before and _names(before) else "number"


def _names(before: Token) -> bool:
    return (
        before.raw in values.NAMED_BY_NUMBER or before.word in values.NAMED_BY_NUMBER or before.kind & NAME == CAPITAL
    )
