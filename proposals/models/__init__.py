"""Proposals, their revisions, the gates that decide about them, the votes, and the policies of the gates.

No run reads these tables: what is installed is copied to the registry, and only that can be resolved (RFC 0096).
"""

from proposals.models.gate import Gate, Vote
from proposals.models.policy import ApprovalPolicy, PolicyChange
from proposals.models.proposal import (
    ENDED_WITHOUT,
    UNDER_REVIEW,
    Comment,
    Decision,
    GateState,
    Kind,
    PolicyChangeState,
    Proposal,
    Purpose,
    Revision,
    State,
)

__all__ = [
    "ENDED_WITHOUT",
    "UNDER_REVIEW",
    "ApprovalPolicy",
    "Comment",
    "Decision",
    "Gate",
    "GateState",
    "Kind",
    "PolicyChange",
    "PolicyChangeState",
    "Proposal",
    "Purpose",
    "Revision",
    "State",
    "Vote",
]
