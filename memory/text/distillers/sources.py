"""What is distilled, and what comes of it. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Source:
    """An entry that may go into an archive. ``tokens`` is what reading it costs, ``corroboration``
    of how many sources it speaks; ``in_order``: it may answer the source before it.
    """

    id: str
    text: str
    said_at: datetime
    tokens: int
    tags: tuple[str, ...] = ()
    protected: bool = False
    corroboration: int = 1
    in_order: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """A sentence of the archive: verbatim in each of its ``sources``, and said almost so by ``restated_by``."""

    text: str
    sources: tuple[str, ...]
    restated_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Sentences about one thing; without a ``topic``, about any."""

    topic: str
    sentences: tuple[Kept, ...]


@dataclass(frozen=True, slots=True)
class Distilled:
    """What was kept of ``corpus_count`` entries; ``covered`` are those that were read, in their order.

    ``title`` says what it is about. ``input_tokens`` is the sum over the covered entries, ``output_tokens`` that of
    ``text``.
    """

    title: str
    sections: tuple[Section, ...]
    covered: tuple[str, ...]
    corpus_count: int
    input_tokens: int
    output_tokens: int
    text: str

    @property
    def tokens_used(self) -> int:
        return self.input_tokens + self.output_tokens


class BudgetTooSmall(ValueError):
    """Nothing meaningful fits the budget; ``minimum`` is the smallest one that something fits."""

    def __init__(self, minimum: int) -> None:
        self.minimum = minimum
        super().__init__(f"at least {minimum} tokens are needed")


class NothingToKeep(ValueError):
    """No entry has a sentence that an archive has room for."""
