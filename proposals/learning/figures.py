"""What came of a synthesis, as its pass keeps it: numbers, codes and ids, and for a dry run what it would propose."""

from dataclasses import dataclass, field

from memory.host.json_types import JSONObject
from proposals.learning.miners.traces import Traces

Counts = dict[str, int]


@dataclass(slots=True)
class Figures:
    """``looked_at`` is what there was to learn from, ``proposed`` the proposals by their wire ids.

    ``seen`` patterns were proposed before; ``refused`` are drafts that cannot be installed, by code. ``worded`` counts
    the drafts that an endpoint has worded, ``unworded`` those that stand as the rules made them, by why.
    """

    looked_at: Counts = field(default_factory=dict)
    found: int = 0
    proposed: list[str] = field(default_factory=list)
    seen: int = 0
    refused: Counts = field(default_factory=dict)
    would_propose: list[dict[str, str]] | None = None
    worded: int = 0
    unworded: Counts = field(default_factory=dict)

    def refuse(self, code: str) -> None:
        """One more draft that cannot be installed."""
        self.refused[code] = self.refused.get(code, 0) + 1

    def leave_unworded(self, why: str) -> None:
        """One more draft that stands as the rules made it, although an endpoint was to word it."""
        self.unworded[why] = self.unworded.get(why, 0) + 1

    def document(self) -> JSONObject:
        """As it stands on the pass."""
        told: JSONObject = {
            "lookedAt": self.looked_at,
            "found": self.found,
            "proposed": self.proposed,
            "seenBefore": self.seen,
            "refused": self.refused,
        }
        if self.would_propose is not None:
            told["wouldPropose"] = self.would_propose
        if self.worded or self.unworded:
            told["endpoint"] = {"worded": self.worded, "unworded": self.unworded}
        return told


def looked_at(traces: Traces, in_all: int) -> Counts:
    """How much there was to learn from; ``runsInAll`` says how many runs there were, when not all were looked at."""
    return {
        "runs": len(traces.runs),
        "runsInAll": in_all,
        "corrections": len(traces.corrections),
        "readings": len(traces.readings),
        "firings": len(traces.firings),
    }
