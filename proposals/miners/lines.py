"""A sentence that a prompt could get, and what led to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from proposals.miners.evidence import MOST_NAMED
from proposals.miners.traces import Evidence


@dataclass(frozen=True, slots=True)
class Line:
    """``key`` is what the sentence is known by; ``runs`` are those behind it, each with when it was there; ``people``
    are the principals who said so."""

    heading: str
    text: str
    key: str
    runs: dict[str, datetime]
    evidence: tuple[Evidence, ...]
    people: frozenset[str] = frozenset()


def latest(moments: Iterable[tuple[str, datetime]]) -> dict[str, datetime]:
    """Each run with the last of its moments."""
    return dict(sorted(moments, key=lambda each: (each[1], each[0])))


def newest(told: Iterable[tuple[datetime, Evidence]]) -> tuple[Evidence, ...]:
    """The newest pieces of evidence."""
    ordered = sorted(told, key=lambda each: (each[0], each[1].kind, each[1].id))
    return tuple(evidence for _, evidence in ordered[-MOST_NAMED:])
