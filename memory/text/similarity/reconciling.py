"""Which statements are one, and which are no longer so: a whole corpus, until nothing is left to do.

Deterministic: the same statements in any order come to the same end, and what is left over comes to nothing.
Every decision looks at the statements it is about and at no others, so nothing that is added elsewhere changes it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.text.encodings import bare
from memory.text.similarity.changes import Against, is_an_event, opposite
from memory.text.similarity.claims import NAMED, Claim, coded_nearly_alike, is_of_some, spelled_nearly_alike
from memory.text.similarity.gist import MARKING, agree_in_gist, on_one_topic
from memory.text.similarity.ordering import is_of_time
from memory.text.similarity.reading import (
    OFTEN,
    Keys,
    Owners,
    Reading,
    Statement,
    Table,
    agree,
    groups,
    is_owned_alike,
    same_owner,
    still_about,
)
from memory.text.similarity.statements import Spoken
from memory.text.similarity.tokens import BITS, PAST, Token

METHOD = "words-21"
# How many places a statement is held against, how many orders stand for one, and how many statements fit nowhere.
MOST_COMPARED = 64
MOST_AGREED = 16
MOST_ORDERS = 8
MOST_IN_VAIN = 64
MOST_PAIRS = 4096


@dataclass(frozen=True, slots=True)
class Merge:
    """``merged`` say what ``survivor`` says, which keeps its text as it is."""

    survivor: UUID
    merged: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Supersession:
    """``newer`` gives another value of what ``older`` is about; ``why`` is a fixed word for the sort of value."""

    older: UUID
    newer: UUID
    why: str


@dataclass(frozen=True, slots=True)
class Reconciliation:
    merges: tuple[Merge, ...]
    superseded: tuple[Supersession, ...]


def reconcile(statements: Sequence[Statement]) -> Reconciliation:
    """What becomes of the statements; doing it to what is left changes nothing."""
    return resolved(Reading(statements))


def resolved(reading: Reading) -> Reconciliation:
    """The same, of statements that have been read."""
    return _Work(reading).done()


class _Work:
    """The statements that are left, what was merged into each, and when each was last said."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        count = len(reading.statements)
        self.left = np.ones(count, dtype=bool)
        self.merged: dict[int, list[int]] = {}
        self.into: dict[int, int] = {}
        self.said: dict[int, datetime] = {}
        self.superseded: dict[int, tuple[int, str]] = {}
        self.steps = 0

    def done(self) -> Reconciliation:
        while any((self._equals(), self._slips(), self._of_one_gist(), self._claims(), self._opposed())):
            pass
        ids = [statement.id for statement in self.reading.statements]
        merges = tuple(
            Merge(ids[survivor], tuple(ids[each] for each in sorted(merged)))
            for survivor, merged in sorted(self.merged.items())
        )
        superseded = tuple(
            Supersession(ids[older], ids[self._last(newer)], why)
            for older, (newer, why) in sorted(self.superseded.items())
        )
        return Reconciliation(merges, superseded)

    def _step(self) -> None:
        """Report progress now and then."""
        self.steps += 1
        if not self.steps % OFTEN:
            self.reading.tick(len(self.reading.statements))

    def _last(self, number: int) -> int:
        """The statement that replaces it in the end."""
        while number in self.superseded or number in self.into:
            number = self.superseded[number][0] if number in self.superseded else self.into[number]
        return number

    def _said_at(self, number: int) -> datetime:
        return self.said.get(number) or self.reading.statements[number].said_at

    def _merge(self, survivor: int, other: int) -> None:
        self.left[other] = False
        self.into[other] = survivor
        self.merged.setdefault(survivor, []).extend([other, *self.merged.pop(other, [])])
        self.said[survivor] = max(self._said_at(survivor), self._said_at(other))

    def _groups(self, table: Table) -> list[list[int]]:
        owners = table.owners
        kept = self.left[owners]
        found = groups(table.keys[kept], owners[kept])
        return [part for group in found for part in self._by_speaker(group)] if self.reading.is_of_several else found

    def _by_speaker(self, group: list[int]) -> list[list[int]]:
        parts: dict[str, list[int]] = {}
        for number in group:
            parts.setdefault(self.reading.said_by(number), []).append(number)
        return [part for part in parts.values() if len(part) > 1]

    def _rank(self, number: int) -> tuple[object, ...]:
        """Which of several equals stays: the one that says most of whose it is, first of all."""
        return (len(self.reading.owner(number)), *self.reading.rank(number))

    def _equals(self) -> int:
        """Statements of the same words are one where they agree."""
        return sum(self._gather(group, agree) for group in self._groups(self.reading.exact))

    def _of_one_gist(self) -> int:
        """Statements of the same concepts are one where they agree in all that a gist leaves out."""
        self.reading.look_into(self.left)
        return sum(self._gather(group, agree_in_gist) for group in self._groups(self.reading.gists))

    def _gather(self, group: list[int], alike: Callable[[Spoken, Spoken], bool]) -> int:
        """Each goes to the first that it agrees with; where too many fit nowhere, only those of one order still do."""
        reading, done, in_vain = self.reading, 0, 0
        ranked = sorted(group, key=self._rank, reverse=True)
        found: list[list[tuple[bytes, int]]] = []
        known: dict[tuple[bytes, str], int] = {}
        for number in ranked:
            self._step()
            order, owner = reading.spoken[number].order, self.reading.owner(number)
            name = (order, repr(sorted((key, sorted(value)) for key, value in owner.items())) if owner else "")
            place = known.get(name)
            if place is None:
                compared, place = self._place(
                    number, order, found[:MOST_COMPARED] if in_vain < MOST_IN_VAIN else [], alike
                )
                in_vain += compared and place is None
                known[name] = len(found) if place is None else place
            if place is None:
                found.append([(order, number)])
                continue
            if len(found[place]) < MOST_ORDERS and all(order != each for each, _ in found[place]):
                found[place].append((order, number))
            self._merge(found[place][0][1], number)
            done += 1
        return done

    def _place(
        self,
        number: int,
        order: bytes,
        found: list[list[tuple[bytes, int]]],
        alike: Callable[[Spoken, Spoken], bool],
    ) -> tuple[bool, int | None]:
        """Where it belongs, and whether any had to be compared for it."""
        said, owner, compared = self.reading.spoken[number], self.reading.owner(number), 0
        for place, members in enumerate(found):
            if not is_owned_alike(owner, self.reading.owner(members[0][1])):
                continue
            if all(order == other or alike(said, self.reading.spoken[member]) for other, member in members):
                return compared > 0, place
            compared += 1
            if compared == MOST_AGREED:
                break
        return compared > 0, None

    def _slips(self) -> int:
        """A statement with a slip of the pen is that with the word that was meant, where only one word can be meant.

        A word that anything else uses is no slip: wherever it stands, the same with the other word is there as well.
        """
        uses = self.reading.uses(self.left)
        meant: dict[int, dict[str, list[int]]] = {}
        slips: dict[int, set[int]] = {}
        for mistyped, well, slip, word in self._slipped():
            self._step()
            if self._agree(mistyped, well, slip, word):
                meant.setdefault(mistyped, {}).setdefault(word.word, []).append(well)
                slips.setdefault(slip.code, set()).add(mistyped)
        odd = {number for code, found in slips.items() if uses.get(code) != len(found) for number in found}
        done = 0
        for mistyped, words in sorted(meant.items()):
            if mistyped in odd:
                continue
            wells = [well for well in next(iter(words.values())) if self.left[well] and self.left[mistyped]]
            fits = [well for well in wells if is_owned_alike(self.reading.owner(mistyped), self.reading.owner(well))]
            if len(words) == 1 and fits:
                self._merge(max(fits, key=self._rank), mistyped)
                done += 1
        return done

    def _agree(self, mistyped: int, well: int, slip: Token, word: Token) -> bool:
        one, other = self.reading.spoken[mistyped], self.reading.spoken[well]
        return self.reading.said_by(mistyped) == self.reading.said_by(well) and agree(
            one.with_meant({slip.code: word}), other
        )

    def _slipped(self) -> Iterator[tuple[int, int, Token, Token]]:
        """Pairs that differ in one word, which is a slip on one side."""
        reading = self.reading
        slip_keys, slip_owners = _rows_left(reading.slips, self.left)
        keys, owners = _rows_left(reading.exact, self.left)
        found = np.isin(keys, slip_keys)
        wells: dict[int, list[int]] = {}
        for key, owner in zip(keys[found].tolist(), owners[found].tolist(), strict=True):
            wells.setdefault(key, []).append(owner)
        met = np.isin(slip_keys, keys)
        for key, mistyped in sorted(set(zip(slip_keys[met].tolist(), slip_owners[met].tolist(), strict=True))):
            said = reading.spoken[mistyped]
            for slip, word in said.slips:
                if (said.key - slip.code + word.code) & BITS == key:
                    yield from ((mistyped, well, slip, word) for well in wells[key])

    def _claims(self) -> int:
        """Of statements that claim different values of one thing, the last one said is left."""
        done = 0
        for group in self._groups(self.reading.claimed):
            self._step()
            by_key: dict[int, list[tuple[int, Claim]]] = {}
            for number in group:
                for claim in self.reading.claims[number]:
                    by_key.setdefault(claim.key, []).append((number, claim))
            for claims in by_key.values():
                done += self._replace(claims) if len(claims) > 1 else 0
        return done

    def _replace(self, claims: list[tuple[int, Claim]]) -> int:
        claims = [each for each in claims if self.left[each[0]]]
        if len(claims) < 2:
            return 0
        claims.sort(key=lambda each: self._moment(each[0]), reverse=True)
        if len(claims) ** 2 <= MOST_PAIRS:
            return sum(
                [
                    self._replaced(newer, last, claims[at + 1 :])
                    for at, (newer, last) in enumerate(claims)
                    if last.explicit and self.left[newer]
                ]
            )
        same: dict[tuple[Token, ...], list[tuple[int, Claim]]] = {}
        for each in reversed(claims):
            same.setdefault(each[1].rest, []).append(each)
        done, in_vain = 0, 0
        for at, (newer, last) in enumerate(claims):
            same[last.rest].pop()
            if not last.explicit or not self.left[newer]:
                continue
            olders = claims[at + 1 :] if in_vain < MOST_PAIRS else same[last.rest][::-1]
            replaced = self._replaced(newer, last, olders)
            in_vain += len(olders) - replaced
            done += replaced
        return done

    def _replaced(self, newer: int, last: Claim, olders: Sequence[tuple[int, Claim]]) -> int:
        """How many of the ``olders`` it replaces; it does so from now on."""
        done = 0
        for older, claim in olders:
            self._step()
            if self.left[older] and self._replaces(newer, last, older, claim):
                self.left[older] = False
                self.superseded[older] = (newer, last.why)
                done += 1
        return done

    def _opposed(self) -> int:
        """Of two statements of which one is against the other, the last one said is left."""
        reading = self.reading
        keys, owners = _rows_left(reading.opposed, self.left)
        bags, bagged = _rows_left(reading.bags, self.left)
        found = np.isin(bags, keys)
        others: dict[int, list[int]] = {}
        for bag, other in zip(bags[found].tolist(), bagged[found].tolist(), strict=True):
            others.setdefault(bag, []).append(other)
        met = np.isin(keys, bags)
        done = 0
        for number in sorted(set(owners[met].tolist()), key=self._moment, reverse=True):
            for each in reading.against[number]:
                for other in [other for key in each.keys for other in others.get(key, ())]:
                    self._step()
                    done += self._oppose(number, each, other)
        return done

    def _oppose(self, number: int, what: Against, other: int) -> bool:
        """The newer of the two replaces the other, if they are about the same; a change only what was before it."""
        reading = self.reading
        newer, older = sorted((number, other), key=self._moment, reverse=True)
        if (
            number == other
            or not (self.left[number] and self.left[other])
            or not (newer == number or (what.denied and not what.is_part))
        ):
            return False
        if reading.said_by(number) != reading.said_by(other):
            return False
        if not same_owner(reading.owner(number), reading.owner(other)):
            return False
        if what.denied and not opposite(what, reading.spoken[other]):
            return False
        if not what.denied and is_an_event(reading.spoken[other]):
            return False
        self.left[older] = False
        self.superseded[older] = (newer, "negation" if what.denied else "value")
        return True

    def _moment(self, number: int) -> tuple[datetime, UUID]:
        return self._said_at(number), self.reading.statements[number].id

    def _replaces(self, newer: int, last: Claim, older: int, claim: Claim) -> bool:
        if (
            older == newer
            or not last.explicit
            or claim.is_part
            or [*map(bare, last.values)] == [*map(bare, claim.values)]
            or last.sort != claim.sort
            or is_of_some(self.reading.spoken[older].tokens)
            or ("status" in last.sort and _is_dated(self.reading.spoken[older]))
        ):
            return False
        if NAMED in last.sort and spelled_nearly_alike(last.values, claim.values):
            return False
        if coded_nearly_alike(last.values, claim.values) and not self._tells_of_a_change(newer):
            return False
        if not same_owner(self.reading.owner(newer), self.reading.owner(older)):
            return False
        alike = on_one_topic if last.is_topic else still_about
        return alike(last.rest, claim.rest)

    def _tells_of_a_change(self, number: int) -> bool:
        return any(token.raw in MARKING for token in self.reading.spoken[number].tokens)


def _is_dated(said: Spoken) -> bool:
    """Whether it tells when something was done, which stays so: "was delivered on Monday"."""
    return bool(said.kinds & PAST) and any(is_of_time(token) for token in said.tokens)


def _rows_left(table: Table, left: NDArray[np.bool_]) -> tuple[Keys, Owners]:
    owners = table.owners
    kept = left[owners]
    return table.keys[kept], owners[kept]
