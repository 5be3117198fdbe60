"""Many statements read at once: what each says, and its keys in arrays, so that equals are found without comparing all.

Three tables of (key, owner): what equals what; what a slip of the pen would make equal; what claims the same.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.similarity.agreement import owners
from memory.similarity.claims import Claim, claims_of
from memory.similarity.statements import Spoken, spoken
from memory.similarity.tokens import BITS, PREPOSITION, PRONOUN, Tokens

Keys = NDArray[np.uint64]
Owners = NDArray[np.int64]

Tick = Callable[[int], None]

OFTEN = 5000

_tokens = Tokens()


def silent(_: int) -> None:
    """Nobody waits."""


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

    def add(self, owner: int, keys: Sequence[int]) -> None:
        self._keys.extend(keys)
        self._owners.extend([owner] * len(keys))

    @property
    def keys(self) -> Keys:
        return np.frombuffer(self._keys, dtype=np.uint64) if self._keys else np.empty(0, np.uint64)

    @property
    def owners(self) -> Owners:
        return np.frombuffer(self._owners, dtype=np.int64) if self._owners else np.empty(0, np.int64)


class Reading:
    """Statements in an order of their own, whatever the order they came in, and their tables."""

    def __init__(self, statements: Sequence[Statement], tick: Tick = silent) -> None:
        """``tick`` is told now and then how many have been read, and goes on being told while they are compared."""
        self.tick = tick
        free = (statement for statement in statements if not statement.protected)
        self.statements = sorted(free, key=lambda each: (each.said_at, each.text, each.id))
        self.is_of_several = len({each.said_by for each in self.statements}) > 1
        self.spoken: list[Spoken] = []
        self.claims: dict[int, list[Claim]] = {}
        self.exact, self.slips, self.meant, self.claimed = Table(), Table(), Table(), Table()
        self._looked_into = np.zeros(len(self.statements), dtype=bool)
        for number, statement in enumerate(self.statements):
            said = spoken(statement.text, _tokens)
            self.spoken.append(said)
            self.exact.add(number, [said.key])
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
        if not said.strict:
            key = said.key
            unknown, common = said.spelled
            self.slips.add(number, [(key - token.code) & BITS for token in unknown])
            self.meant.add(number, [(key - token.code) & BITS for token in common])
        claims = claims_of(said)
        if claims:
            self.claims[number] = claims
            self.claimed.add(number, [claim.key for claim in claims])

    def owner(self, number: int) -> dict[str, frozenset[str]]:
        tags = self.statements[number].tags
        return owners(tags) if tags else {}

    def said_by(self, number: int) -> str:
        return self.statements[number].said_by

    def rank(self, number: int) -> tuple[Any, ...]:
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
