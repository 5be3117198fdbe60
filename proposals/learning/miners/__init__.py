"""What could be learnt from the traces of runs: found by rules, deterministic, and pure (RFC 0096)."""

from datetime import datetime

from proposals.learning.miners.agents import find as drifted_agents
from proposals.learning.miners.automations import find as regular_starts
from proposals.learning.miners.chains import find as repeated_chains
from proposals.learning.miners.evidence import fits
from proposals.learning.miners.prompts import find as corrected_prompts
from proposals.learning.miners.traces import Finding, Traces

RULES = (repeated_chains, corrected_prompts, regular_starts, drifted_agents)

__all__ = ["mine"]


def mine(traces: Traces, *, now: datetime) -> list[Finding]:
    """All that the rules find in ``traces``, in an order of its own; the same whatever order the rows came in.

    What could not be kept as an artifact is not found.
    """
    found = [finding for rule in RULES for finding in rule(traces, now=now) if fits(finding.artifact)]
    return sorted(found, key=lambda finding: (finding.kind, finding.pattern))
