"""What is known of a corpus: which statements say the same, which replace which, and which only look alike."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

PLAIN, PARAPHRASE, LOOK_ALIKE, CHATTER, NEWER = "plain", "paraphrase", "look-alike", "chatter", "newer"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A statement. Those with the same ``fact`` and ``value`` say the same; of a fact the highest ``value`` holds now.

    ``made_by`` is its class, or the operator that restated the statement with the id ``of``; ``kind`` is the kind of
    value that changes.
    """

    id: UUID
    text: str
    said_at: datetime
    tags: tuple[str, ...]
    fact: int
    value: int
    made_by: str
    kind: str
    protected: bool
    of: UUID | None


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Two facts that differ."""

    kind: str
    one: int
    other: int
    may_supersede: bool


@dataclass(frozen=True, slots=True)
class Corpus:
    """All statements, the oldest first, and which facts look alike."""

    entries: tuple[Labelled, ...]
    lookalikes: tuple[LookAlikes, ...]
