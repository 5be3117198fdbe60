"""The miners: deterministic, pure rules that find proposals in the traces of runs (RFC 0096)."""

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
    """All findings of the rules, sorted; the result does not depend on the order of the rows in ``traces``.

    A finding whose artifact could not be stored is left out.
    """
    found = [finding for rule in RULES for finding in rule(traces, now=now) if fits(finding.artifact)]
    return sorted(found, key=lambda finding: (finding.kind, finding.pattern))
