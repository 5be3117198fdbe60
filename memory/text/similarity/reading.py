"""Many statements read at once: what each says, and its keys in arrays, so that equals are found without comparing all.

Tables of (key, owner): what equals what; what it would equal, were a word a slip of the pen; which words those are;
what claims the same.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.text.similarity import values
from memory.text.similarity.changes import Against, against, bag_of, parts_of_bag
from memory.text.similarity.claims import Claim, claims_of, names_a_thing, without_when
from memory.text.similarity.frames import framed
from memory.text.similarity.gist import gist_of, is_under_way, topics_of
from memory.text.similarity.ordering import same_order
from memory.text.similarity.phrasing import own_otherwise, possessed, with_adverbs_last
from memory.text.similarity.rewording import implied
from memory.text.similarity.statements import Spoken, parse_statement
from memory.text.similarity.tokens import (
    ASKS,
    BITS,
    DIRECTION,
    NEGATION,
    PAST,
    PREPOSITION,
    PRONOUN,
    REPLACES,
    WORDED,
    Token,
    Tokens,
)
from memory.text.similarity.words import ARTICLES, IDENTITY_TAGS

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

OPPOSING = NEGATION | REPLACES | PAST
BINDING = (NEGATION, DIRECTION)
Keys = NDArray[np.uint64]
Owners = NDArray[np.int64]
Tick = Callable[[int], None]
OFTEN = 5000
_tokens = Tokens()
Ids = NDArray[np.void]
Short = NDArray[np.uint32]
ID = np.dtype("V16")
CUT = np.uint64(0xFFFFFFFF)
TABLES = ("exact", "slips", "odd", "claimed", "bags", "opposed", "gists")
# What a new statement's table is looked up in: a slip where it was meant, and the other way round.
COUNTERPARTS = (
    ("exact", "exact"),
    ("slips", "exact"),
    ("exact", "slips"),
    ("claimed", "claimed"),
    ("bags", "opposed"),
    ("opposed", "bags"),
    ("gists", "gists"),
)


def agree(a: Spoken, b: Spoken) -> bool:
    """Whether they do."""
    if a.strict or b.strict:
        return a.strict == b.strict
    if (
        (a.kinds ^ b.kinds) & PAST
        or is_under_way(a.tokens) != is_under_way(b.tokens)
        or a.mode != b.mode
        or not a.speaks_of_the_same_as(b)
    ):
        return False
    if a.persons != b.persons and a.acted_on != b.acted_on:
        return False
    if own_otherwise(a.tokens, b.tokens) or not a.limits_as(b):
        return False
    if not say_the_same(a.tokens, b.tokens, pronouns=a.persons == b.persons):
        return False
    return all(a.bound(kind) == b.bound(kind) or a.bound(kind, True) == b.bound(kind, True) for kind in BINDING)


def consequences(said: Spoken) -> Iterator[Spoken]:
    """What follows from the change that it tells of, each as a statement of its own."""
    if said.kinds & WORDED and not said.strict and not said.kinds & ASKS:
        for tokens in implied(without_when(said.tokens)):
            yield Spoken(tokens, reduce(or_, [token.kind for token in tokens], 0))


def say_the_same(one: Sequence[Token], other: Sequence[Token], *, pronouns: bool) -> bool:
    """Whether they do in their order, or with possessives and adverbs where they may stand as well."""
    if same_order(one, other, pronouns=pronouns):
        return True
    forms = [with_adverbs_last(possessed(list(tokens))) for tokens in (one, other)]
    if forms == [[token for token in tokens if token.raw not in ARTICLES] for tokens in (one, other)]:
        return False  # nothing has another place
    return same_order(forms[0], forms[1], pronouns=pronouns)


def still_about(newer: tuple[Token, ...], older: tuple[Token, ...]) -> bool:
    """Whether two statements without their values are about the same."""
    if newer == older:
        return True
    speaking = [frozenset(token.code for token in each if token.kind & PRONOUN) for each in (newer, older)]
    return speaking[0] == speaking[1] and say_the_same(newer, older, pronouns=True)


def owners(tags: Iterable[str]) -> dict[str, frozenset[str]]:
    """What the tags say of whose the statement is: ``customer:acme``, ``order=1001``."""
    found: dict[str, set[str]] = {}
    for tag in tags:
        name, _, value = tag.replace("=", ":", 1).partition(":")
        if value and name.casefold() in IDENTITY_TAGS:
            found.setdefault(name.casefold(), set()).add(value.casefold())
    return {name: frozenset(values) for name, values in found.items()}


def points_elsewhere(said: Spoken) -> bool:
    """Whether its subject stands in another text, where only that tells which it is: "it is stable", "this method".

    What there is one of where an entry is kept ("this project") is known.
    """
    if len(said.tokens) < 2 or said.tokens[0].raw not in POINTING:
        return False
    first, second = said.tokens[:2]
    if first.raw == "they" and second.raw in values.CHANGES:
        return False  # "they extended the deadline": whoever may
    return first.raw in ITSELF or second.raw not in SURROUNDINGS


ITSELF = frozenset("it they es ello ellos".split())
POINTING = ITSELF | frozenset(
    "this that these those dieser diese dieses este esta esto estos estas ese esa eso cette cet ces celui".split()
)
SURROUNDINGS = frozenset(
    """
    project repo repository team workspace company organisation organization account tenant user customer client
    deployment environment machine server house home office shop site store firm household family service app agent
    bot host cluster school class department database product website person patient projekt team firma proyecto equipo
    empresa projet équipe entreprise
    """.split()
)


def same_owner(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether nothing that both say of the owner differs."""
    return all(other.get(name, value) == value for name, value in one.items())


def is_owned_alike(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether all that the one says of its owner the other says too, so that it can stand for both."""
    return all(other.get(name) == value for name, value in one.items())


def silent(_: int) -> None:
    """The default progress callback: does nothing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One entry as consolidation weighs it. ``said_at`` is when it was last said; ``protected`` ones are left alone.

    What different ones have said is never one, and none of it replaces the other's: ``said_by`` is who.
    """

    id: UUID
    text: str
    said_at: datetime
    tags: tuple[str, ...] = ()
    protected: bool = False
    said_by: str = ""


class Table:
    """Keys and the numbers of the statements that have them; a statement may have many."""

    def __init__(self) -> None:
        self._keys, self._owners = array("Q"), array("q")

    def add(self, owner: int, *keys: int) -> None:
        for key in keys:
            self._keys.append(key)
            self._owners.append(owner)

    @property
    def keys(self) -> Keys:
        return np.frombuffer(self._keys, dtype=np.uint64) if self._keys else np.empty(0, np.uint64)

    @property
    def owners(self) -> Owners:
        return np.frombuffer(self._owners, dtype=np.int64) if self._owners else np.empty(0, np.int64)


class Reading:
    """Statements in an order of their own, whatever the order they came in, and their tables."""

    def __init__(self, statements: Sequence[Statement], tick: Tick = silent) -> None:
        """``tick`` is called now and then with how many were read, and further on while they are compared."""
        self.tick = tick
        free = (statement for statement in statements if not statement.protected)
        self.statements = sorted(free, key=lambda each: (each.said_at, each.text, each.id))
        self.is_of_several = len({each.said_by for each in self.statements}) > 1
        self.spoken: list[Spoken] = []
        self.claims: dict[int, list[Claim]] = {}
        self.exact, self.slips, self.odd, self.claimed = Table(), Table(), Table(), Table()
        self.bags, self.opposed, self.gists = Table(), Table(), Table()
        self.against: dict[int, list[Against]] = {}
        self.used_before: Short = np.empty(0, np.uint32)
        self._looked_into = np.zeros(len(self.statements), dtype=bool)
        for number, statement in enumerate(self.statements):
            said = parse_statement(statement.text, _tokens)
            self.spoken.append(said)
            self.exact.add(number, said.key)
            if not number % OFTEN:
                tick(number)

    def look_into(self, wanted: NDArray[np.bool_]) -> None:
        """The ``wanted`` statements stand in all tables. What is one with another need not be, which saves most."""
        for place, number in enumerate(np.flatnonzero(wanted & ~self._looked_into).tolist(), 1):
            self._look_into(number, self.spoken[number])
            if not place % OFTEN:
                self.tick(len(self.statements))
        self._looked_into |= wanted

    def _look_into(self, number: int, said: Spoken) -> None:
        slips = said.slips
        if slips:
            key = said.key
            self.slips.add(number, *((key - slip.code + word.code) & BITS for slip, word in slips))
            self.odd.add(number, *sorted({slip.code for slip, _ in slips}))
        gist = gist_of(said)
        if gist:
            self.gists.add(number, gist)
        if points_elsewhere(said):
            return
        bag = bag_of(said)
        if bag:
            self.bags.add(number, bag, *parts_of_bag(said))
        found = against(said) if said.kinds & OPPOSING else []
        claims = [claim for claim in (*claims_of(said), *topics_of(said), *framed(said)) if names_a_thing(claim)]
        for each in consequences(said):
            news = [*claims_of(each), *topics_of(each), *framed(each)]
            claims += [replace(claim, is_part=True) for claim in news if claim.explicit]
            found = [*found, *(replace(what, is_part=True) for what in against(each))]
        if found:
            self.against[number] = found
            self.opposed.add(number, *(key for each in found for key in each.keys))
        if claims:
            self.claims[number] = claims
            self.claimed.add(number, *(claim.key for claim in claims))

    def uses(self, left: NDArray[np.bool_]) -> dict[int, int]:
        """How many of the statements that are left use each odd word; none that one uses which was not read."""
        self.look_into(left)
        codes, counts = np.unique(self.odd.keys[left[self.odd.owners]], return_counts=True)
        known = np.isin((codes & CUT).astype(np.uint32), self.used_before)
        return dict(zip(codes[~known].tolist(), counts[~known].tolist(), strict=True))

    def owner(self, number: int) -> dict[str, frozenset[str]]:
        tags = self.statements[number].tags
        return owners(tags) if tags else {}

    def said_by(self, number: int) -> str:
        return self.statements[number].said_by

    def rank(self, number: int) -> tuple[int, datetime, str, UUID]:
        """Which of several equals stays: said in full, said last."""
        statement, said = self.statements[number], self.spoken[number]
        full = sum([1 for token in said.tokens if token.kind & (PREPOSITION | PRONOUN)])
        return (full, statement.said_at, statement.text, statement.id)


def groups(keys: Keys, members: Owners) -> list[list[int]]:
    """The members that share a key, where there are two or more; each group rising."""
    order = np.argsort(keys, kind="stable")
    keys, listed = keys[order], members[order].tolist()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(keys))
    several = ends - starts > 1
    return [listed[a:b] for a, b in zip(starts[several].tolist(), ends[several].tolist(), strict=True)]


def packed(ids: list[UUID]) -> Ids:
    """Ids as they stand in signatures."""
    return np.frombuffer(b"".join([each.bytes for each in ids]), dtype=ID)


def comparable(ids: Ids) -> NDArray[np.bytes_]:
    """Ids as numpy can sort them; a byte after each keeps a zero at its end."""
    guarded = np.ones((len(ids), 17), dtype=np.uint8)
    guarded[:, :16] = np.frombuffer(ids.tobytes(), dtype=np.uint8).reshape(len(ids), 16)
    return guarded.reshape(-1).view("S17")


def unpacked(ids: Ids | NDArray[np.bytes_]) -> list[UUID]:
    return [UUID(bytes=bytes(each)[:16]) for each in ids.tolist()]


@dataclass(frozen=True, slots=True)
class Signatures:
    """Ids, and for each table the keys with how many of them each statement has."""

    ids: Ids
    tables: dict[str, tuple[Short, NDArray[np.uint16]]]

    @classmethod
    def select(cls, reading: Reading, left: NDArray[np.bool_]) -> Self:
        """Of the statements of ``reading`` that are ``left``."""
        reading.look_into(left)
        ids = packed([each.id for each, kept in zip(reading.statements, left.tolist(), strict=True) if kept])
        return cls(ids, {name: _cut(getattr(reading, name), left) for name in TABLES})

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """What ``to_bytes`` gave."""
        sizes = np.frombuffer(stored, dtype=np.uint64, count=1 + len(TABLES)).tolist()
        count, at = sizes[0], 8 * len(sizes)
        ids = np.frombuffer(stored, dtype=ID, count=count, offset=at)
        at += 16 * count
        tables = {}
        for name, size in zip(TABLES, sizes[1:], strict=True):
            keys = np.frombuffer(stored, dtype=np.uint32, count=size, offset=at)
            counts = np.frombuffer(stored, dtype=np.uint16, count=count, offset=at + 4 * size)
            tables[name] = keys, counts
            at += 4 * size + 2 * count
        return cls(ids, tables)

    def to_bytes(self) -> bytes:
        sizes = [len(self.ids), *(len(self.tables[name][0]) for name in TABLES)]
        parts: list[Any] = [np.array(sizes, dtype=np.uint64), self.ids]
        parts += [part for name in TABLES for part in self.tables[name]]
        return b"".join(part.tobytes() for part in parts)

    def holds_any(self, ids: list[UUID]) -> bool:
        """Whether one of these is among them."""
        return bool(ids) and bool(np.isin(comparable(self.ids), comparable(packed(ids))).any())

    def odd_beside(self, ids: Ids) -> Short:
        """The odd words of all but these."""
        keys, counts = self.tables["odd"]
        others = ~np.isin(comparable(self.ids), comparable(ids))
        return np.unique(keys[np.repeat(others, counts)])

    def candidates(self, new: Reading) -> list[UUID]:
        """Those that a statement of ``new`` might be merged with, replace, or be replaced by."""
        new.look_into(np.ones(len(new.statements), dtype=bool))
        found = np.zeros(len(self.ids), dtype=bool)
        for theirs, ours in COUNTERPARTS:
            wanted = np.unique(_short(getattr(new, theirs)))
            keys, counts = self.tables[ours]
            if len(wanted) and len(keys):
                places = np.searchsorted(wanted, keys).clip(max=len(wanted) - 1)
                found[np.repeat(np.arange(len(counts)), counts)[wanted[places] == keys]] = True
        return unpacked(self.ids[found])


def _short(table: Table) -> Short:
    short: Short = (table.keys & CUT).astype(np.uint32)
    return short


def _cut(table: Table, left: NDArray[np.bool_]) -> tuple[Short, NDArray[np.uint16]]:
    counts = np.bincount(table.owners, minlength=len(left)) if len(left) else np.zeros(0, np.int64)
    return _short(table)[left[table.owners]], counts[left].astype(np.uint16)
