"""What one process is to measure."""

from dataclasses import dataclass

DECADES = (1000, 100, 10, 1)
FEWEST = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """On which engine, how large, and how often."""

    engine: str
    largest: int
    rounds: int
    calls: int

    @property
    def sizes(self) -> list[int]:
        """Up to four decades that end at the largest."""
        return [self.largest // ten for ten in DECADES if self.largest // ten >= FEWEST]
