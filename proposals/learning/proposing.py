"""A finding becomes a proposal of the host, through the door that everybody's come in by. It changes no run.

A pattern is proposed once, whatever became of it, and however many workers look at once: the database says so.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.host import ids
from memory.host.errors import Refusal
from memory.host.models import Run, Tenant
from memory.host.tenancy import TenantScope, host_scope
from proposals import artifacts, drafts, installation, lifecycle, revisions
from proposals.drafts import MAX_SOURCES, ProposalDraft
from proposals.learning.miners.traces import Finding
from proposals.models import Proposal

Made = TypeVar("Made")
RULES = "host:rule-miner/1"
MOST_EVIDENCE = 200
SCOPES = frozenset({"proposals:create", "memory:read"})


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
