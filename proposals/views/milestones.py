"""The life of a proposal as a list of what happened, the oldest first. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from proposals.models import Decision, GateState, Revision, State, Vote
from proposals.review import Ballot, Detail

SHOWN = 14
ENDINGS: dict[str, tuple[str, str, str]] = {
    GateState.GRANTED: ("shield-check", "good", "Gate granted"),
    GateState.REJECTED: ("circle-x", "bad", "Gate rejected"),
    GateState.CHANGES_REQUESTED: ("pencil", "warn", "Gate ended with a request for changes"),
    GateState.EXPIRED: ("hourglass", "bad", "Gate expired"),
    GateState.VOID: ("circle-slash", "warn", "Gate void, and its votes with it"),
    GateState.CANCELLED: ("ban", "", "Gate cancelled"),
}
VOTES: dict[str, tuple[str, str, str]] = {
    Decision.GRANTED: ("check", "good", "Approved"),
    Decision.REJECTED: ("x", "bad", "Voted against"),
    Decision.CHANGES_REQUESTED: ("pencil", "warn", "Changes requested"),
}
CLOSINGS: dict[str, tuple[str, str, str]] = {
    State.APPLIED: ("circle-check", "good", "Installed"),
    State.REJECTED: ("circle-x", "bad", "Rejected"),
    State.ARCHIVED: ("archive", "", "Archived"),
}


@dataclass(frozen=True, slots=True)
class Milestone:
    """One thing that happened; ``by`` is a principal, or nothing; ``revision`` is what it was about."""

    at: datetime
    icon: str
    tone: str
    words: str
    by: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Timeline:
    """The newest of them, and how many older ones are left to the History tab."""

    shown: list[Milestone]
    earlier: int


def timeline(told: Detail) -> Timeline:
    """What happened to the proposal, in the order of time."""
    happened = sorted(_happened(told), key=lambda each: each.at)
    return Timeline(happened[-SHOWN:], max(0, len(happened) - SHOWN))


def _happened(told: Detail) -> Iterator[Milestone]:
    for revision in reversed(told.revisions):
        yield _written(revision)
    for ballot in reversed(told.ballots):
        yield from _asked(ballot)
    proposal = told.proposal
    if proposal.closed_at:
        icon, tone, words = CLOSINGS[proposal.state]
        yield Milestone(proposal.closed_at, icon, tone, words, proposal.closed_by)


def _written(revision: Revision) -> Milestone:
    word = "Drafted" if revision.number == 1 else "Revised"
    return Milestone(revision.created_at, "pencil", "", word, revision.revised_by, revision.number)


def _asked(ballot: Ballot) -> Iterator[Milestone]:
    gate = ballot.gate
    yield Milestone(gate.opened_at, "hourglass", "warn", "Activation asked for", gate.opened_by, gate.revision)
    yield from (_voted(vote) for vote in ballot.votes)
    if ended := _ended(ballot):
        yield ended


def _voted(vote: Vote) -> Milestone:
    icon, tone, words = ("shield-alert", "bad", "Gate overridden") if vote.overrides else VOTES[vote.decision]
    return Milestone(vote.at, icon, tone, words, vote.principal, vote.revision)


def _ended(ballot: Ballot) -> Milestone | None:
    gate = ballot.gate
    if gate.closed_at is None:
        return None
    icon, tone, words = ENDINGS[gate.state]
    words = "Gate withdrawn" if ballot.withdrawn_by else words
    return Milestone(gate.closed_at, icon, tone, words, ballot.withdrawn_by, gate.revision)
