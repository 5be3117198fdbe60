"""The corpus: statements with labels, the same for the same seed, in the order in which they were said.

The classes, and what is asked of a rule that reconciles them:

* **restated**: a fact and one to three restatements by the operators of ``operators``: all one. Recall has a floor.
* **paraphrased**: a fact in free words as well: may be merged. Reported without a floor.
* **superseded**: the same statement with a newer amount, date, percentage, count, version, duration, time, status,
  preference, address, contact or owner, sometimes in a chain of three, each value perhaps restated: the older ones are
  superseded by a younger one and never merged with it.
* **look-alikes**: see ``lookalikes``. Never merged, mostly not superseded either. What happened (a payment, a visit,
  an order) may happen again with another amount or date and takes nothing back.
* **plain** facts and **chatter**: nothing else says the same, and nothing may happen to them.

Some are protected: nothing may take those away. No two groups are about the same by chance.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from tools.bench.quality import chatter, lookalikes, operators, slots
from tools.bench.quality.facts import Registry, Template, filled, pieces, rendered, templates
from tools.bench.quality.labels import (
    CHATTER,
    LOOK_ALIKE,
    NEWER,
    PARAPHRASE,
    PLAIN,
    Corpus,
    Labelled,
    LookAlikes,
)

BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
DAYS = 240
PROTECTED = 0.04
HOT = Template(
    "hot",
    "invoice",
    ("The customer {person} of {company} asked twice for the invoice and prefers to be answered in the morning.",),
    (),
)
CHANGING = tuple(each for each in templates() if each.changes)
# Class to its share of the groups. Of the entries, about 20 % are plain, 33 restated, 5 paraphrased, 19 superseded,
# 14 look-alikes and 9 chatter.
SHARES = {"plain": 36, "restated": 20, "paraphrased": 5, "superseded": 12, "look_alikes": 13, "chatter": 17}


def corpus(size: int, *, seed: str = "1", hot: float = 0.0) -> Corpus:
    """``size`` statements or a few more; one template makes the share ``hot`` of them, alike but for the names."""
    builder = _Builder(Random(f"{seed}/{size}/{hot}"))  # noqa: S311
    return builder.built(size, hot)


@dataclass(slots=True, eq=False)
class _Said:
    """A statement before it has its place among the others."""

    text: str
    at: timedelta
    topic: str
    fact: int
    value: int = 0
    made_by: str = PLAIN
    kind: str = ""
    protected: bool = False
    of: "_Said | None" = None


class _Builder:
    """Draws one group of statements after the other."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._registry, self._facts = rng, Registry(), 0
        self._said: list[_Said] = []
        self._lookalikes: list[LookAlikes] = []

    def built(self, size: int, hot: float) -> Corpus:
        names, weights, of_hot = list(SHARES), list(SHARES.values()), 0
        while len(self._said) < size:
            if of_hot < hot * len(self._said):
                before = len(self._said)
                self.hot()
                of_hot += len(self._said) - before
            else:
                getattr(self, self._rng.choices(names, weights)[0])()
        return Corpus(_placed(self._said), tuple(self._lookalikes))

    def plain(self) -> None:
        template, given = self._fresh(templates())
        self._say(template, rendered(pieces(self._rng.choice(template.say), given)))

    def restated(self) -> None:
        template, given = self._fresh(templates())
        self._restate(template, given, self._rng.randint(1, 3))

    def hot(self) -> None:
        """One more with other names; every seventh is restated."""
        template, given = self._fresh((HOT,))
        self._restate(template, given, int(self._rng.random() < 1 / 7))

    def paraphrased(self) -> None:
        template, given = self._fresh(templates())
        first = self._say(template, rendered(pieces(template.say[0], given)))
        text = rendered(pieces(self._rng.choice(template.paraphrase), given))
        self._follow(first, text, PARAPHRASE)

    def superseded(self) -> None:
        """Two or three values, the younger ones sometimes with a word that says so."""
        template, given = self._fresh(CHANGING)
        values = slots.values(template.value, 3 if self._rng.random() < 0.25 else 2, self._rng)
        first = last = self._say(template, rendered(pieces(template.say[0], {**given, template.value: values[0]})))
        first.kind, first.protected = template.kind, self._rng.random() < PROTECTED
        for number, value in enumerate(values):
            now = {**given, template.value: value}
            text = self._wording(template) if number else template.say[0]
            if number:
                last = self._follow(last, rendered(pieces(text, now)), NEWER, value=number)
                last.of = None
            if self._rng.random() < 0.2:
                made_by, said = operators.restated(template, now, text, self._rng)
                last = self._follow(last, said, made_by)

    def look_alikes(self) -> None:
        pair = lookalikes.drawn(self._registry, self._rng)
        template = Template(pair.kind, pair.topic, (), ())
        one = self._say(template, pair.older)
        other = self._say(template, pair.younger)
        other.at = one.at + self._while()
        for each in (one, other):
            each.made_by, each.kind = LOOK_ALIKE, pair.kind
        self._lookalikes.append(LookAlikes(pair.kind, one.fact, other.fact, pair.may_supersede))

    def chatter(self) -> None:
        said = self._say(Template(CHATTER, CHATTER, (), ()), chatter.line(self._registry, self._rng))
        said.made_by = CHATTER

    def _wording(self, template: Template) -> str:
        said = template.update if template.cue or (template.update and self._rng.random() < 0.5) else template.say
        return self._rng.choice(said)

    def _restate(self, template: Template, given: dict[str, str], times: int) -> None:
        text = self._rng.choice(template.say)
        said = [self._say(template, rendered(pieces(text, given)))]
        for _ in range(times):
            made_by, again = operators.restated(template, given, text, self._rng)
            said.append(self._follow(said[-1], again, made_by))
            said[-1].of = said[0]
        if times and self._rng.random() < PROTECTED:
            self._rng.choice(said).protected = True

    def _say(self, template: Template, text: str) -> _Said:
        """A new fact, said at some time."""
        self._facts += 1
        said = _Said(text, timedelta(seconds=self._rng.randint(0, DAYS * 86_400)), template.topic, self._facts)
        self._said.append(said)
        return said

    def _follow(self, before: _Said, text: str, made_by: str, *, value: int | None = None) -> _Said:
        """The same fact, said later."""
        number = before.value if value is None else value
        said = _Said(text, before.at + self._while(), before.topic, before.fact, number, made_by, before.kind)
        said.of = before
        self._said.append(said)
        return said

    def _while(self) -> timedelta:
        return timedelta(seconds=self._rng.randint(60, 20 * 86_400))

    def _fresh(self, among: tuple[Template, ...]) -> tuple[Template, dict[str, str]]:
        """A kind of fact that is new for its subject."""
        while True:
            template = self._rng.choice(among)
            given = filled(template.say[0], self._rng)
            if self._registry.claim(template.id, *(given[slot] for slot in template.identities)):
                return template, given


def _placed(said: list[_Said]) -> tuple[Labelled, ...]:
    """All in the order of their time, with ids that rise with it."""
    ordered = sorted(enumerate(said), key=lambda each: (each[1].at, each[0]))
    ids = {id(each): _id(each.at, place) for place, (_, each) in enumerate(ordered)}
    return tuple(
        Labelled(
            ids[id(each)],
            each.text,
            BEGAN + each.at,
            (each.topic,),
            each.fact,
            each.value,
            each.made_by,
            each.kind,
            each.protected,
            ids[id(each.of)] if each.of else None,
        )
        for _, each in ordered
    )


def _id(at: timedelta, place: int) -> UUID:
    """A UUIDv7 of that time whose random part is the place."""
    milliseconds = int((BEGAN + at).timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | place)
