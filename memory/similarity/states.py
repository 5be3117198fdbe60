"""Where a statement says a state, a preference, or what and where something is now."""
# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from dataclasses import dataclass

from memory.similarity import values
from memory.similarity.statements import Spoken
from memory.similarity.tokens import AND, FILLER, PREFERS, PREPOSITION, SAID, VALUE, Token

REJECTING = frozenset("over than instead to versus vs rather".split())
JOINING = values.COPULAS | {"if", "when", "and", "or"}
TURNING = values.TURNS | values.DROPPED | {"has", "have"}
CONDITIONS = frozenset(
    "if when whenever once while unless until who which that whose must may can could should".split()
)
ARTICLES = frozenset({"a", "an", "the"})
MANNER = frozenset({"as", "by", "via", "in"})
OFFICES = frozenset("office headquarters warehouse address location store shop".split())
STARTING: dict[str, list[list[str]]] = {}
for _phrase in sorted((phrase.split() for phrase in values.STATUSES), key=len, reverse=True):
    STARTING.setdefault(_phrase[0], []).append(_phrase)
MOVING = values.ATTRIBUTES | values.MOVES | values.LIVES
MOST_IN_A_SLOT = 5


@dataclass(frozen=True, slots=True)
class Slot:
    """The value stands in ``tokens[start:end]``; ``sort`` is what two values must have in common."""

    kind: str
    why: str
    tokens: list[Token]
    start: int
    end: int
    explicit: bool
    sort: str


def preferred(said: Spoken, raws: set[str]) -> Slot | None:
    """One of a known line, said to be preferred: "prefers phone over email" claims the phone."""
    tokens, kinds = said.tokens, values.KINDS_OF_PREFERENCE
    verb = next((at for at, token in enumerate(tokens) if token.kind & PREFERS), len(tokens))
    behind = [at for at in range(verb + 1, len(tokens)) if tokens[at].raw in kinds]
    front = [at for at in range(min(verb, 3)) if tokens[at].raw in kinds and at and tokens[0].kind & PREPOSITION]
    if verb == len(tokens) or not (behind or front):
        return None
    bound = [at for at in behind if tokens[at - 1].raw in MANNER or tokens[at - 2].raw == "as"]
    at = (front or bound or behind)[0]
    kind = kinds[tokens[at].raw]
    tail, dropped = _without_rejected(tokens[at + 1 :])
    whole = [*tokens[: at + 1], *tail]
    others = [token for place, token in enumerate(whole) if place != at and kinds.get(token.raw) == kind]
    end = at + 2 if not dropped and at + 1 < len(whole) and whole[at + 1].raw in values.PREFERENCE_NOUNS else at + 1
    if any(token in whole[verb:] for token in others):
        return None
    explicit = tokens[verb].raw not in values.TASTES or dropped or bool(raws & values.DROPPED)
    return Slot("preference", "preference", whole, at, end, explicit=explicit, sort=kind)


def _without_rejected(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Without "over email", "rather than email", "instead of email" at the beginning."""
    for at, token in enumerate(tokens[:4]):
        if token.raw in values.KINDS_OF_PREFERENCE:
            rejected = any(each.raw in REJECTING for each in tokens[:at])
            return (tokens[at + 1 :], True) if rejected else (tokens, False)
    return tokens, False


def status(said: Spoken, _raws: set[str]) -> Slot | None:
    """One word or phrase for a state, said of the one thing that the statement is about: "is (now) closed"."""
    tokens = said.tokens
    found = [(at, size) for at in range(len(tokens)) if (size := _status_at(tokens, at))]
    apart = [(at, size) for at, size in found if not any(a < at < a + s for a, s in found)]
    stated = [(at, size) for at, size in apart if _is_stated(tokens, at, size)]
    if len(stated) != 1:
        return None
    [(at, size)] = stated
    if any(token.raw in CONDITIONS for token in tokens[:at]):
        return None
    start = at
    while start and tokens[start - 1].raw in ARTICLES:
        start -= 1
    sort = values.STATUSES[" ".join(token.raw for token in tokens[at : at + size])]
    return Slot("status", "value", [*tokens[:start], *tokens[at:]], start, start + size, explicit=True, sort=sort)


def _status_at(tokens: list[Token], at: int) -> int:
    for phrase in STARTING.get(tokens[at].raw, ()):
        if len(phrase) == 1 or [token.raw for token in tokens[at : at + len(phrase)]] == phrase:
            return len(phrase)
    return 0


def _is_stated(tokens: list[Token], at: int, size: int) -> bool:
    """Whether it is said of something: behind "is", "=" or "priority", or as "a gold customer", "high priority"."""
    back = at - 1
    while back >= 0 and (tokens[back].raw in ARTICLES or tokens[back].kind & FILLER or not tokens[back].raw):
        back -= 1
    before = tokens[back].raw if back >= 0 else ""
    if before in values.COPULAS or before in ("=", "has", "have", "gets") or before in values.STATUS_NOUNS:
        follows = tokens[at + size] if at + size < len(tokens) else None
        return before in values.COPULAS or before == "=" or not follows or follows.raw in values.STATUS_NOUNS
    return False


def turned(said: Spoken, raws: set[str]) -> Slot | None:
    """ "The owner of X is now Y", "X moved to Y", "X lives in Y"."""
    tokens = said.tokens
    if raws.isdisjoint(MOVING):
        return None
    turn = next((at for at, token in enumerate(tokens) if token.raw in values.TURNS), len(tokens))
    end = next((at for at in range(turn, len(tokens)) if tokens[at].raw not in TURNING), len(tokens))
    place = end < len(tokens) and tokens[end].kind & PREPOSITION and tokens[end].raw in values.PLACES
    start = end + 1 if place else end
    stop = _end_of_place(tokens, start) if place else len(tokens)
    before, after = tokens[:turn], [token for token in tokens[start:stop] if token.kind & SAID]
    owned = any(token.raw in values.ATTRIBUTES for token in before)
    moved, lives = bool(raws & values.MOVES), bool(raws & values.LIVES)
    if not any(token.kind & SAID for token in before) or not 0 < len(after) <= MOST_IN_A_SLOT or "from" in raws:
        return None
    if (not owned and not (place and (moved or lives))) or any(token.raw in JOINING for token in after):
        return None
    housed = bool(place and after[0].kind & VALUE and {token.raw for token in before} & OFFICES)
    named = [token for token in after if housed or token.code in said.named or token.kind & VALUE]
    plain = sorted(token.code for token in after if token not in named)
    whole = [*tokens[:turn], *tokens[start:]]
    return Slot(
        "slot",
        "place" if place else "value",
        whole,
        turn,
        turn + stop - start,
        explicit=moved or housed or bool(raws & values.NOW),
        sort=f"{'place' if place else 'is'} {'named' if named else 'plain'} {plain if named else ''}",
    )


def _end_of_place(tokens: list[Token], start: int) -> int:
    """Where "Elm Avenue, Leeds" ends: before "and", or with the statement."""
    return next(
        (at for at in range(start, len(tokens)) if tokens[at].kind & AND and tokens[at].raw == "and"), len(tokens)
    )
