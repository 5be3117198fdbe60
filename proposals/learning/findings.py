"""Turns the findings of miners into proposals, in the name of the host; and the figures of a synthesis.

A pattern is proposed once, whatever the outcome and however many workers find it: a unique constraint ensures it.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.host import ids
from memory.host.errors import Refusal
from memory.host.json_types import JSONObject
from memory.host.models import Run, Tenant
from memory.host.tenancy import TenantScope, host_scope
from proposals import artifacts, drafts, installation, lifecycle, revisions
from proposals.drafts import MAX_SOURCES, ProposalDraft
from proposals.learning.miners.traces import Finding, Traces
from proposals.models import Proposal

Made = TypeVar("Made")
RULES = "host:rule-miner/1"
MOST_EVIDENCE = 200
SCOPES = frozenset({"proposals:create", "memory:read"})
Counts = dict[str, int]


@dataclass(slots=True)
class Figures:
    """``looked_at`` counts the traces that were read, ``proposed`` are the wire ids of the proposals.

    ``seen`` patterns were proposed before; ``refused`` counts the drafts that cannot be installed, by code. ``worded``
    counts the drafts that the endpoint worded, ``unworded`` those that keep the rules' words, by reason.
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
        """Count a draft that cannot be installed."""
        self.refused[code] = self.refused.get(code, 0) + 1

    def leave_unworded(self, why: str) -> None:
        """Count a draft that keeps the rules' words although the endpoint was requested."""
        self.unworded[why] = self.unworded.get(why, 0) + 1

    def document(self) -> JSONObject:
        """The figures as JSON for the pass."""
        document: JSONObject = {
            "lookedAt": self.looked_at,
            "found": self.found,
            "proposed": self.proposed,
            "seenBefore": self.seen,
            "refused": self.refused,
        }
        if self.would_propose is not None:
            document["wouldPropose"] = self.would_propose
        if self.worded or self.unworded:
            document["endpoint"] = {"worded": self.worded, "unworded": self.unworded}
        return document


def count_traces(traces: Traces, in_all: int) -> Counts:
    """Count the traces; ``runsInAll`` counts all runs, also those beyond the bound of what is read."""
    return {
        "runs": len(traces.runs),
        "runsInAll": in_all,
        "corrections": len(traces.corrections),
        "readings": len(traces.readings),
        "firings": len(traces.firings),
    }


def attempt(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """Run ``act`` in a transaction: its result and "", or None and the code of the refusal, rolled back."""
    return attempt_without_transaction(partial(_as_one, act))


def _as_one(act: Callable[[], Made]) -> Made:
    with transaction.atomic():
        return act()


def attempt_without_transaction(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """``attempt`` without a transaction, for slow calls that write nothing."""
    try:
        return act(), ""
    except Refusal as refusal:
        return None, refusal.code


class Fate(StrEnum):
    """The outcome of a finding."""

    PROPOSED = "proposed"
    SEEN = "seen"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a finding, with the proposal or the code of the refusal."""

    fate: Fate
    proposal: Proposal | None = None
    code: str = ""


def scope_of(tenant: Tenant) -> TenantScope:
    """The scope of the host as the author of proposals."""
    return host_scope(tenant, scopes=SCOPES)


def digest_of(finding: Finding) -> str:
    """The digest of the finding's pattern, by which a repeated finding is recognised."""
    return hashlib.sha256(finding.pattern.encode()).hexdigest()


def seen_among(tenant_id: UUID, findings: Iterable[Finding], *, besides: Collection[str] = ()) -> set[str]:
    """The digests of these findings' patterns that other proposals than ``besides`` have already."""
    wanted = {digest_of(each) for each in findings}
    own = [known for each in besides if (known := ids.parse("prop", each))]
    rows = Proposal.objects.of(tenant_id).exclude(pattern="").exclude(id__in=own)
    return wanted & set(rows.values_list("pattern", flat=True))


def draft_of(finding: Finding, *, model: str = RULES) -> ProposalDraft:
    """Convert a finding to a draft, with at most ``MAX_SOURCES`` of its runs and ``MOST_EVIDENCE`` of its evidence."""
    return ProposalDraft(
        kind=finding.kind,
        artifact=json.dumps(finding.artifact, ensure_ascii=False, indent=2),
        title=finding.title,
        rationale=finding.rationale,
        source_run_ids=tuple(finding.source_run_ids[:MAX_SOURCES]),
        synthesizer_model=model,
        agent_id=finding.agent_id,
        pattern=digest_of(finding),
        evidence=tuple({"kind": e.kind, "id": e.id, "why": e.why} for e in finding.evidence[:MOST_EVIDENCE]),
        contributors=finding.people,
    )


def propose(tenant: Tenant, draft: ProposalDraft, *, run: Run, now: datetime) -> Outcome:
    """Create the proposal and log it on ``run``; no proposal when the pattern is known or it cannot be installed."""
    try:
        made, code = attempt(partial(_create, tenant, draft, run, now))
    except IntegrityError:
        if not Proposal.objects.of(tenant.id).filter(pattern=draft.pattern).exists():
            raise
        return Outcome(Fate.SEEN)
    return Outcome(Fate.REFUSED, code=code) if made is None else Outcome(Fate.PROPOSED, made)


def _create(tenant: Tenant, draft: ProposalDraft, run: Run, now: datetime) -> Proposal:
    made = lifecycle.create(scope_of(tenant), draft, run=run, now=now)
    installation.require_installable(made, revisions.current(made).text)
    return made


def refusal_code(tenant: Tenant, draft: ProposalDraft, *, now: datetime) -> str:
    """The code with which the draft would be refused now, "" for none. Stores nothing."""
    return attempt(partial(_check, tenant, draft, now))[1]


def _check(tenant: Tenant, draft: ProposalDraft, now: datetime) -> None:
    drafts.require_origin(tenant.id, draft)
    sealed = drafts.seal(tenant.id, draft.kind, draft.artifact)
    artifacts.require_timely(draft.kind, sealed.text, now=now)
    drafts.texts(tenant.id, title=draft.title, rationale=draft.rationale)
    installation.require_installable(Proposal(tenant_id=tenant.id, kind=draft.kind), sealed.text)
