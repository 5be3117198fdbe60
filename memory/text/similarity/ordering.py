"""Whether two orders of the same words say the same: phrases move, the parts of a phrase and who does what do not.

A phrase that its own first word binds ("on May 3", "for Acme", "if it rains") may come first or last. Two clauses may
be swapped around an "and" or a comma, and so may a name or value and what it is, around "is". Anything else makes
another statement: "A pays B" is not "B pays A", "from A to B" not "from B to A".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.text.similarity.tokens import (
    AND,
    BREAK,
    CAPITAL,
    COMMON,
    END,
    HALT,
    OWNS,
    PREPOSITION,
    PRONOUN,
    SAID,
    VALUE,
    Token,
)
from memory.text.similarity.values import PERIODS
from memory.text.similarity.words import ALIKE, ARTICLES, HEADS, LEADS, MAY_BE_MISSING, MODALS, TIMES

LEADING = frozenset(HEADS) | frozenset(TIMES)
MOST_BLOCKS = 8
MOST_IN_A_NOUN = 4
# In front of what a noun belongs to, or is for, or about.
ATTRIBUTIVE = frozenset(["of", "for", "about", "on", "in", "at", "with"])
# "The appointment of Ana is on Monday" and "Ana has an appointment on Monday".
OWNING = frozenset(["of", "for"])
HAS = frozenset(["has", "have", "hat", "haben", "tiene", "ma"])
DETERMINERS = frozenset({"los", "las", "les"})
DATES = frozenset({"date", "time"})
STARTS = 8  # the rank of two that begin a statement, as "to 3.2" does without "raised"
PLACING, ON_OR_IN = frozenset(["in", "on", "at"]), {"on", "in"}


@dataclass(slots=True)
class Part:
    """A word or value; ``lead`` is the preposition before it, ``rank`` how strong an end precedes it."""

    code: int
    token: Token
    lead: str
    rank: int
    after_verb: bool
    article: bool
    owned: bool = False


@dataclass(slots=True)
class Block:
    """Parts that stand together in both: ``one`` and ``other`` are the places of the first in each."""

    one: int
    other: int
    size: int


def parts_of(tokens: Sequence[Token], kinds: int) -> list[Part]:
    """The tokens of these kinds, each with what precedes it."""
    found: list[Part] = []
    lead, rank, after_verb, article, owned = "", 4, False, False, False
    for token in tokens:
        if token.kind & kinds and token.code:
            found.append(Part(token.code, token, lead, rank, after_verb, article, owned))
            lead, rank, after_verb, article, owned = "", 0, False, False, False
        elif token.kind & PREPOSITION:
            lead = token.raw
        elif token.kind & AND:
            lead, rank = "", max(rank, 1)
        elif token.raw in ARTICLES:
            article = True
        elif token.raw in LEADS:
            lead = LEADS[token.raw]
        elif token.raw:
            lead, after_verb, owned = "", True, token.raw in HAS
        if token.kind & BREAK:
            rank = max(rank, 4 if token.kind & END else 3 if token.kind & HALT else 2)
    return found


def same_order(one: Sequence[Token], other: Sequence[Token], pronouns: bool) -> bool:
    """Whether the two say the same, being of the same words; ``pronouns`` are of the same ones too."""
    kinds = SAID | PRONOUN if pronouns else SAID
    a, b = parts_of(one, kinds), parts_of(other, kinds)
    codes, others = [part.code for part in a], [part.code for part in b]
    if codes == others:
        return all(map(_alike, a, b))
    if sorted(codes) != sorted(others):
        return False
    if _is_list(a) and _is_list(b):
        return sorted(_items(a)) == sorted(_items(b))
    return Orders(a, b).may_be_one() or Orders(b, a).may_be_one()


class Orders:
    """Two statements of the same words, laid side by side."""

    def __init__(self, one: list[Part], other: list[Part], *, loose: bool = False) -> None:
        """``loose`` ones may have a noun with its attribute behind a preposition, or in front of it."""
        self.one, self.other, self.loose = one, other, loose

    @cached_property
    def blocks(self) -> list[Block]:
        """In the order of the other."""
        places: dict[int, list[int]] = {}
        for at, part in enumerate(self.one):
            places.setdefault(part.code, []).append(at)
        blocks: list[Block] = []
        for at, part in enumerate(self.other):
            last, free = blocks[-1] if blocks else None, places[part.code]
            if last and last.one + last.size in free:
                free.remove(last.one + last.size)
                last.size += 1
            else:
                blocks.append(Block(free.pop(0), at, 1))
        return blocks

    def may_be_one(self) -> bool:
        """Whether all that has moved may move."""
        blocks = self.blocks
        if len(blocks) > MOST_BLOCKS or not (self.loose or self._led_alike()):
            return False
        crossed = [
            (first, second) for at, first in enumerate(blocks) for second in blocks[at + 1 :] if first.one > second.one
        ]
        moved = [pair for pair in crossed if not self._phrase(*pair) and not self._inverted(*pair)]
        if self.loose:
            moved = [pair for pair in moved if not self._compounded(*pair)]
        return not moved or (
            len(moved) == 1 and (self._clauses(*moved[0]) or self._paired(*moved[0]) or self._equation())
        )

    def _led_alike(self) -> bool:
        return all(
            _alike(self.one[block.one + at], self.other[block.other + at])
            for block in self.blocks
            for at in range(block.size)
        )

    def _compounded(self, first: Block, second: Block) -> bool:
        """ "The password of the guest wifi" and "the guest wifi password", "Ana's parcel" and "the parcel for Ana"."""
        head, noun = self.one[first.one], self.other[second.other]
        near = second.one + second.size == first.one and first.other + first.size == second.other
        if not near or max(first.size, second.size) > MOST_IN_A_NOUN or noun.lead or noun.rank:
            return False
        if not head.lead and not head.after_verb and not head.rank:  # "team Alpha" and "the Alpha team"
            named = all(part.token.kind & CAPITAL for part in self._parts_of(first))
            article = noun.article or head.article or self.one[second.one].article or self.other[first.other].article
            return named and article and not noun.after_verb and second.size == 1 and not noun.token.kind & CAPITAL
        owned = noun.owned and head.lead in OWNING
        return (owned or (head.lead in ATTRIBUTIVE and not (noun.after_verb or noun.article))) and (
            self.other[first.other].lead in ("", self.one[second.one].lead)
        )

    @cached_property
    def front(self) -> tuple[list[int], list[int]]:
        """The places, in each of them, of the phrases that stand in front of it and elsewhere in the other."""
        fronts: tuple[list[int], list[int]] = [], []
        for block in sorted(self.blocks, key=lambda block: block.one):
            if not self._bound(block, self.other, block.other):
                break
            fronts[0].append(block.one)
        for block in self.blocks:
            if not self._bound(block, self.one, block.one):
                break
            fronts[1].append(block.one)
        return fronts

    def _phrase(self, first: Block, second: Block) -> bool:
        """Whether one of them comes first, bound by its first word, and the other has no such phrase."""
        if first.one in self.front[1] and self._lead(first) not in self._leads(second):
            return True
        return second.one in self.front[0] and self._lead(second) not in self._leads(first)

    def _parts_of(self, block: Block) -> list[Part]:
        return self.one[block.one : block.one + block.size]

    def _lead(self, block: Block) -> str:
        head = self.one[block.one]
        return f"{head.lead} date" if self._is_date(block) else head.lead or head.token.raw

    def _leads(self, block: Block) -> set[str]:
        parts = self._parts_of(block)
        return {f"{part.lead} date" if part.token.mask in DATES else part.lead for part in parts} | {
            part.token.raw for part in parts if part.token.raw in HEADS or part.token.raw in TIMES
        }

    def _is_date(self, block: Block) -> bool:
        parts = self._parts_of(block)
        short = len(parts[0].token.raw) < 3 or parts[0].token.raw in DETERMINERS
        said = parts[1:] if len(parts) > 1 and short else parts
        return all(part.token.kind & VALUE for part in said) and any(part.token.mask in DATES for part in said)

    def _bound(self, block: Block, there: list[Part], at: int) -> bool:
        """Whether the block is a phrase of its own there, where it does not stand in front."""
        one, other, parts = self.one[block.one], self.other[block.other], self._parts_of(block)
        led = bool(one.lead and other.lead) or (one.token.raw in HEADS and block.size > 1)
        led = led or self._is_date(block) or all(part.token.raw in TIMES for part in parts) or _is_rhythm(parts)
        return led and _ends(there, at + block.size)

    def _clauses(self, first: Block, second: Block) -> bool:
        """Whether two whole clauses are swapped, with an end between them and no weaker one after them."""
        short = [block for block in (first, second) if block.size < 2 and self.one[block.one].token.raw]
        if short or first.other + first.size != second.other:
            return False
        ends = (self.one, first.one, first.one + first.size), (self.other, second.other, second.other + second.size)
        if not all(there[middle].rank and _rank(there, end) >= there[middle].rank for there, middle, end in ends):
            return False
        starts = (self.one, second.one, first.one), (self.other, first.other, second.other)
        if all(not there[start].rank for there, start, _ in starts):
            before = self.one[second.one - 1].token.raw
            return before not in MODALS and before not in HEADS
        inner = all(there[start].rank >= there[middle].rank for there, start, middle in starts)
        return inner and self._are_no_steps(first, second)

    def _paired(self, first: Block, second: Block) -> bool:
        """ "Ana and Ben" and "Ben and Ana": two names around the one "and" that there is, each of one word."""
        if first.size + second.size != 2 or second.one + 1 != first.one or first.other + 1 != second.other:
            return False
        sides = (self.one, second.one), (self.other, first.other)
        if not all(part.token.kind & CAPITAL for part in self._parts_of(first) + self._parts_of(second)):
            return False
        return all(
            there[at + 1].rank == 1
            and sum(part.rank == 1 for part in there) == 1
            and (not at or not there[at - 1].token.kind & CAPITAL or bool(there[at].lead) or there[at].after_verb)
            and (at + 2 == len(there) or not there[at + 2].token.kind & CAPITAL or bool(there[at + 2].lead))
            for there, at in sides
        )

    def _are_no_steps(self, first: Block, second: Block) -> bool:
        """Whether it makes no difference which comes first: "load the truck and ship it" is an order to be kept."""
        parts = [*self._parts_of(first), *self._parts_of(second)]
        if any(part.after_verb or part.token.raw == "first" for part in parts):
            return True
        heads = self.one[first.one], self.one[second.one]
        return all(
            head.article or head.token.kind & VALUE or not head.token.kind & COMMON or head.token.raw.endswith("s")
            for head in heads
        )

    def _equation(self) -> bool:
        """ "The limit is $5" and "$5 is the limit"."""
        if len(self.blocks) != 2:
            return False
        first, second = self.blocks
        named = [_is_name(self._parts_of(each)) for each in self.blocks]
        return named[0] != named[1] and self.other[second.other].after_verb and self.one[first.one].after_verb

    def _inverted(self, verb: Block, subject: Block) -> bool:
        """Whether a verb goes before its subject, a phrase being in front: "Le 3 mai sera livrée la commande"."""
        parts = self.other[verb.other : verb.other + verb.size]
        before = [block for block in self.blocks if block.other < verb.other]
        return (
            not subject.one
            and verb.size <= 2
            and verb.other + verb.size == subject.other
            and all(not part.token.kind & (VALUE | CAPITAL) and not part.lead for part in parts)
            and bool(before)
            and all(block.one in self.front[1] for block in before)
        )


def _is_rhythm(parts: list[Part]) -> bool:
    """ "Every 90 days"."""
    return len(parts) == 3 and parts[0].token.raw == "every" and parts[1].token.mask == "number"


def _is_name(parts: list[Part]) -> bool:
    """Whether the first of them are a name or a value, up to the first comma: "our CEO" is none."""
    if any(part.token.kind & OWNS for part in parts):
        return False  # "Vera's brother-in-law"
    if parts[0].token.kind & PRONOUN or (parts[0].article and not parts[0].token.kind & VALUE):
        return False
    end = next((at for at, part in enumerate(parts) if part.rank and at), len(parts))
    return all(part.token.kind & (VALUE | CAPITAL) or not part.token.kind & COMMON for part in parts[:end])


def _rank(parts: list[Part], at: int) -> int:
    if at == len(parts) or parts[at].token.raw in HEADS:
        return 4
    return parts[at].rank


def _ends(parts: list[Part], at: int) -> bool:
    """Whether a phrase ends before that place."""
    if at >= len(parts):
        return True
    part, before = parts[at], parts[at - 1].token
    if part.rank or part.lead or part.after_verb or part.article or part.token.raw in LEADING:
        return True
    if part.token.kind & (CAPITAL | VALUE):
        return False
    named = before.kind & (VALUE | CAPITAL) or not before.kind & COMMON
    return bool(before.kind & CAPITAL) or bool(named and part.token.kind & COMMON)


def _alike(one: Part, other: Part) -> bool:
    if not one.token.raw:
        return True
    if placed_apart(one, other):
        return False
    a, b = ALIKE.get(one.lead, one.lead), ALIKE.get(other.lead, other.lead)
    if "to" in (a, b) and one.token.kind & VALUE and not one.token.mask and one.rank + other.rank < STARTS:
        return a == b  # "renames a file to X" is not "renames a file X"
    if a == b:
        return True
    if (a and b) or (a or b) not in MAY_BE_MISSING:
        return False
    bare = other if a else one  # "runs the bakery" is not "runs to the bakery"
    return (a or b) == "of" or not bare.article or is_of_time(bare.token) or bool(bare.token.kind & VALUE)


def is_of_time(token: Token) -> bool:
    return token.mask in DATES or token.raw in TIMES or token.raw in PERIODS


def placed_apart(one: Part, other: Part) -> bool:
    """Whether it is on something and in it, or is it and in it; of a time there is only one."""
    if one.lead == other.lead or is_of_time(one.token):
        return False
    led, bare = (one, other) if one.lead else (other, one)
    if not bare.lead:
        return led.lead in PLACING and bare.after_verb
    return {one.lead, other.lead} == ON_OR_IN


def _is_list(parts: list[Part]) -> bool:
    """Whether every part between commas is of the form ``key=value``."""
    return any(part.token.raw == "=" for part in parts) and all("=" in item for item in _texts(parts))


def _texts(parts: list[Part]) -> list[list[str]]:
    found: list[list[str]] = []
    for part in parts:
        if part.rank > 1:
            found.append([])
        found[-1].append(part.token.raw)
    return found


def _items(parts: list[Part]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for part in parts:
        found = [*found, (part.code,)] if part.rank > 1 else [*found[:-1], (*found[-1], part.code)]
    return found
