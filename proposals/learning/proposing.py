"""A finding of a miner becomes a proposal of the host, created like any other; and the figures of a synthesis.

A pattern is proposed once, whatever became of it and however many workers find it: a unique constraint decides.
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


def attempt(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """What ``act`` came to; or None and the code it was refused with, and nothing of it stands."""
    return ask(partial(_as_one, act))


def _as_one(act: Callable[[], Made]) -> Made:
    with transaction.atomic():
        return act()


def ask(act: Callable[[], Made]) -> tuple[Made | None, str]:
    """The same for what writes nothing and may take its time: no transaction is open meanwhile."""
    try:
        return act(), ""
    except Refusal as refusal:
        return None, refusal.code


class Fate(StrEnum):
    """What became of a finding."""

    PROPOSED = "proposed"
    SEEN = "seen"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Proposing:
    """What became of a finding: the proposal, or the code of the refusal."""

    fate: Fate
    proposal: Proposal | None = None
    code: str = ""


def scope_of(tenant: Tenant) -> TenantScope:
    """The host, proposing in the name of nobody else."""
    return host_scope(tenant, scopes=SCOPES)


def digest_of(finding: Finding) -> str:
    """What the finding is known by."""
    return hashlib.sha256(finding.pattern.encode()).hexdigest()


def seen_among(tenant_id: UUID, findings: Iterable[Finding], *, besides: Collection[str] = ()) -> set[str]:
    """The patterns of these findings that were proposed before, by others than the proposals ``besides``."""
    wanted = {digest_of(each) for each in findings}
    own = [known for each in besides if (known := ids.parse("prop", each))]
    rows = Proposal.objects.of(tenant_id).exclude(pattern="").exclude(id__in=own)
    return wanted & set(rows.values_list("pattern", flat=True))


def draft_of(finding: Finding, *, model: str = RULES) -> ProposalDraft:
    """The finding as somebody would submit it; at most ``MAX_SOURCES`` of its runs are named."""
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


def propose(tenant: Tenant, draft: ProposalDraft, *, run: Run, now: datetime) -> Proposing:
    """The draft is a proposal, told on ``run``; or it was proposed before, or could not be installed, and is none."""
    try:
        made, code = attempt(partial(_create, tenant, draft, run, now))
    except IntegrityError:
        if not Proposal.objects.of(tenant.id).filter(pattern=draft.pattern).exists():
            raise
        return Proposing(Fate.SEEN)
    return Proposing(Fate.REFUSED, code=code) if made is None else Proposing(Fate.PROPOSED, made)


def _create(tenant: Tenant, draft: ProposalDraft, run: Run, now: datetime) -> Proposal:
    made = lifecycle.create(scope_of(tenant), draft, run=run, now=now)
    installation.require_installable(made, revisions.current(made).text)
    return made


def code_against(tenant: Tenant, draft: ProposalDraft, *, now: datetime) -> str:
    """The code with which the draft would be refused now; "" when it would not. Nothing is stored."""
    return attempt(partial(_check, tenant, draft, now))[1]


def _check(tenant: Tenant, draft: ProposalDraft, now: datetime) -> None:
    drafts.require_origin(tenant.id, draft)
    sealed = drafts.seal(tenant.id, draft.kind, draft.artifact)
    artifacts.require_timely(draft.kind, sealed.text, now=now)
    drafts.texts(tenant.id, title=draft.title, rationale=draft.rationale)
    installation.require_installable(Proposal(tenant_id=tenant.id, kind=draft.kind), sealed.text)
