"""Pairs that look alike and differ: two customers, two amounts, a negation, swapped roles, what happened once more.

None of them may ever be merged. In most of them neither replaces the other; where the younger one may rightly be read
as what holds now, a supersession is allowed and counts neither for nor against the rule.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from tools.bench.quality import slots
from tools.bench.quality.facts import (
    Registry,
    Template,
    filled,
    kind_of,
    pieces,
    rendered,
    slots_of,
    templates,
)

Given = dict[str, str]
NUMBERED = ("order", "invoice", "ticket", "contract", "sku")


class Pair(NamedTuple):
    """Two texts that differ in what ``kind`` says, and whether the younger one may replace the older."""

    kind: str
    older: str
    younger: str
    topic: str
    may_supersede: bool = False


@cache
def _written() -> tuple[Pair, ...]:
    """The pairs of the list, their slots still open."""
    return tuple(
        Pair(kind, older, younger, kind, document["supersession"] == "allowed")
        for kind, document in slots.data("lookalikes").items()
        for older, younger in document["pairs"]
    )


def written(registry: Registry, rng: Random) -> Pair | None:
    """A pair of the list, about a new subject."""
    pair = rng.choice(_written())
    given = filled(f"{pair.older} {pair.younger}", rng)
    about = [given[name] for name in slots_of(pair.older) if kind_of(name) in slots.IDENTITIES]
    if not registry.claim(pair.older, *about):
        return None
    texts = [rendered(pieces(text, given)) for text in (pair.older, pair.younger)]
    rng.shuffle(texts)
    return pair._replace(older=texts[0], younger=texts[1])


def _other_identity(template: Template, given: Given, rng: Random) -> Given:
    """Another subject, all else alike."""
    slot = rng.choice(_own(template))
    return {**given, slot: slots.IDENTITY[kind_of(slot)](rng)}


def _other_identity_and_value(template: Template, given: Given, rng: Random) -> Given:
    return {**_other_identity(template, given, rng), template.value: slots.values(template.value, 1, rng)[0]}


def _same_family(template: Template, given: Given, rng: Random) -> Given:
    return {**given, "person": f"{slots.listed('first')(rng)} {given['person'].split(' ', 1)[1]}"}


def _same_first_name(template: Template, given: Given, rng: Random) -> Given:
    return {**given, "person": f"{given['person'].split(' ', 1)[0]} {slots.listed('family')(rng)}"}


def _near_person(template: Template, given: Given, rng: Random) -> Given:
    """A letter apart; the first takes the place of the one that was given."""
    one, other = rng.sample(rng.choice(slots.data("names")["near_family"]), 2)
    first = given["person"].split(" ", 1)[0]
    given["person"] = f"{first} {one}"
    return {**given, "person": f"{first} {other}"}


def _near_company(template: Template, given: Given, rng: Random) -> Given:
    given["company"], other = rng.sample(rng.choice(slots.data("names")["near_company"]), 2)
    return {**given, "company": other}


def _other_digits(template: Template, given: Given, rng: Random) -> Given:
    """An order, an invoice, a contract: two digits swapped, or one changed."""
    slot = rng.choice([slot for slot in NUMBERED if slot in template.identities])
    digits = list(given[slot])
    at = len(digits) - rng.randint(2, 3)
    if digits[at] != digits[at + 1]:
        digits[at], digits[at + 1] = digits[at + 1], digits[at]
    else:
        digits[at] = str((int(digits[at]) + rng.randint(1, 9)) % 10)
    return {**given, slot: "".join(digits)}


def _again(template: Template, given: Given, rng: Random) -> Given:
    """It happened once more, on another day."""
    return {**given, **{slot: slots.values(slot, 1, rng)[0] for slot in template.again}}


def _own(template: Template) -> list[str]:
    return [slot for slot in template.identities if slot not in template.dependent]


class Kind(NamedTuple):
    """How two facts of one template may differ, and which templates have what it takes."""

    name: str
    differing: Callable[[Template, Given, Random], Given]
    fits: Callable[[Template], bool]


KINDS = (
    Kind("other identity", _other_identity, lambda each: bool(_own(each))),
    Kind("other identity and value", _other_identity_and_value, lambda each: bool(_own(each) and each.changes)),
    Kind("same family name", _same_family, lambda each: "person" in _own(each)),
    Kind("same first name", _same_first_name, lambda each: "person" in _own(each)),
    Kind("near name", _near_person, lambda each: "person" in _own(each)),
    Kind("near name", _near_company, lambda each: "company" in _own(each) and len(each.identities) > 2),
    Kind("other digits", _other_digits, lambda each: not set(NUMBERED).isdisjoint(each.identities)),
    Kind("happened again", _again, lambda each: each.event),
)


def of_fact(registry: Registry, rng: Random) -> Pair | None:
    """Two facts of one kind that differ in one respect."""
    kind = rng.choice(KINDS)
    template = rng.choice([each for each in templates() if kind.fits(each)])
    given = filled(template.say[0], rng)
    other = kind.differing(template, given, rng)
    say = rng.choice(template.say)
    older, younger = (rendered(pieces(say, each)) for each in (given, other))
    if older == younger or not _claimed(registry, template, given, other):
        return None
    return Pair(kind.name, older, younger, template.topic)


def _claimed(registry: Registry, template: Template, *pair: Given) -> bool:
    """Take what the pair is about; False when it was taken. Both may be about one thing that happened twice."""
    about = dict.fromkeys(tuple(each[slot] for slot in template.identities) for each in pair)
    claims = [registry.claim(template.id, *each) for each in about]
    return all(claims)


def drawn(registry: Registry, rng: Random) -> Pair:
    """The next pair: as often of the list as made of a fact."""
    while True:
        found = (written if rng.random() < 0.5 else of_fact)(registry, rng)
        if found:
            return found
