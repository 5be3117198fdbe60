"""A ref as an agent fills it: labelled key facts, buried in small talk about the same people, customers and products.

A key fact is *repeated* (said three to six times, in other words each time), *corroborated* (said once, and known to
speak for several), *weighty* (worded as something that counts), *protected*, or *single* (said once, in passing).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from memory.text import token_budget
from tools.bench.quality import chatter, operators, slots
from tools.bench.quality.corpus import BEGAN, DAYS
from tools.bench.quality.facts import Registry, Template, filled, pieces, rendered, templates

REPEATED, CORROBORATED, WEIGHTY, PROTECTED, SINGLE = "repeated", "corroborated", "weighty", "protected", "single"
CLASSES = {REPEATED: 35, CORROBORATED: 20, WEIGHTY: 20, PROTECTED: 10, SINGLE: 15}
CAST = ("company", "person", "product")


class KeyFact(NamedTuple):
    """What must not be lost, as it was said; any of the sentences will do."""

    kind: str
    sentences: list[str]


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of the ref."""

    id: str
    text: str
    said_at: datetime
    tokens: int
    tags: tuple[str, ...]
    protected: bool
    corroboration: int


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The entries, the oldest first, and what of them counts."""

    notes: tuple[Note, ...]
    facts: tuple[KeyFact, ...]

    @property
    def tokens(self) -> int:
        return sum(note.tokens for note in self.notes)


class _Draft(NamedTuple):
    text: str
    at: timedelta
    topic: str
    protected: bool = False
    corroboration: int = 1


def case_file(size: int, *, seed: str = "1") -> CaseFile:
    """``size`` entries or a few more; one in fourteen brings a key fact for the first time."""
    teller = _Teller(Random(f"key facts/{seed}/{size}"), size)  # noqa: S311
    while len(teller.drafts) < size * 0.26:
        teller.tell()
    while len(teller.drafts) < size:
        teller.chat()
    ordered = sorted(teller.drafts, key=lambda each: (each.at, each.text))
    return CaseFile(tuple(_note(place, draft) for place, draft in enumerate(ordered)), tuple(teller.facts))


def _note(place: int, draft: _Draft) -> Note:
    tokens = token_budget.count(draft.text)
    return Note(
        f"mem_{place:08}", draft.text, BEGAN + draft.at, tokens, (draft.topic,), draft.protected, draft.corroboration
    )


class _Teller:
    """Draws one thing after the other that is worth a note, or is not."""

    def __init__(self, rng: Random, size: int) -> None:
        self._rng, self._registry = rng, Registry()
        self._cast = {kind: [slots.IDENTITY[kind](rng) for _ in range(4 + size // 150)] for kind in CAST}
        self.drafts: list[_Draft] = []
        self.facts: list[KeyFact] = []

    def tell(self) -> None:
        """A key fact, with all its mentions."""
        kind = self._rng.choices(list(CLASSES), list(CLASSES.values()))[0]
        template, given = self._fresh()
        text = self._rng.choice(template.say)
        said = [rendered(pieces(text, given))]
        if kind == REPEATED:
            said += [self._again(template, given, text) for _ in range(self._rng.randint(2, 5))]
        self.facts.append(KeyFact(kind, said))
        for sentence in said:
            self._note(kind, sentence, template.topic)

    def _note(self, kind: str, sentence: str, topic: str) -> None:
        if kind == WEIGHTY:
            sentence = self._rng.choice(slots.data("notes")["weighty"]).format(sentence)
        corroboration = self._rng.randint(3, 8) if kind == CORROBORATED else 1
        self.drafts.append(_Draft(self._buried(sentence), self._some_time(), topic, kind == PROTECTED, corroboration))

    def chat(self) -> None:
        """A note without a key fact."""
        if self._rng.random() < 0.3:
            text = chatter.line(self._registry, self._rng)
        else:
            text = " ".join(self._small_talk() for _ in range(self._rng.randint(1, 3)))
        self.drafts.append(_Draft(text, self._some_time(), "talk"))

    def _again(self, template: Template, given: dict[str, str], text: str) -> str:
        while True:
            made_by, said = operators.restated(template, given, text, self._rng)
            if made_by not in ("punctuation", operators.TWO):
                return said

    def _fresh(self) -> tuple[Template, dict[str, str]]:
        while True:
            template = self._rng.choice([each for each in templates() if not each.plain and ". " not in each.say[0]])
            given = self._given(template)
            if self._registry.claim(template.id, *(given[slot] for slot in template.identities)):
                return template, given

    def _given(self, template: Template) -> dict[str, str]:
        drawn = filled(template.say[0], self._rng)
        return drawn | {slot: self._rng.choice(self._cast[slot]) for slot in drawn if slot in CAST}

    def _buried(self, sentence: str) -> str:
        """The sentence alone, or between others."""
        if self._rng.random() < 0.4:
            return sentence
        said = [self._small_talk() for _ in range(self._rng.randint(1, 2))]
        said.insert(self._rng.randint(0, len(said)), sentence if sentence.endswith((".", "!")) else f"{sentence}.")
        return " ".join(said)

    def _small_talk(self) -> str:
        notes = slots.data("notes")
        if self._rng.random() < 0.25:
            return str(self._rng.choice(notes["loose"]))
        about = str(self._rng.choice(notes["about"]))
        return rendered(pieces(about, {kind: self._rng.choice(self._cast[kind]) for kind in CAST}))

    def _some_time(self) -> timedelta:
        return timedelta(seconds=self._rng.randint(0, DAYS * 86_400))
