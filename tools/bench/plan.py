"""What one process is to measure."""

from dataclasses import dataclass
from pathlib import Path

DECADES = (1000, 100, 10, 1)
FEWEST = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """On which engine, how large, and how often; ``passes`` is the size of the largest ref that a pass goes over,
    ``texts`` a folder of more texts to judge by."""

    engine: str
    largest: int
    rounds: int
    calls: int
    passes: int
    texts: Path | None = None

    @property
    def sizes(self) -> list[int]:
        """Up to four decades that end at the largest."""
        return [self.largest // ten for ten in DECADES if self.largest // ten >= FEWEST]

    @property
    def pass_sizes(self) -> list[int]:
        """The last two decades, or three when the third was asked for."""
        return [self.passes // ten for ten in (100, 10, 1) if self.passes // ten >= (10_000 if ten == 100 else FEWEST)]

    @property
    def pass_rounds(self) -> int:
        """A pass changes what it goes over, so each round begins with a fresh ref: fewer of them."""
        return min(self.rounds, 3)
