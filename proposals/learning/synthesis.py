"""A synthesis, carried out: traces are read, rules look at them, and what they find is proposed, one by one.

Each proposal is one transaction with the figures of the pass, under the lease: a pass that is taken over goes on behind
what its first worker had proposed, and doubles nothing.
"""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from memory import harness, passes
from memory.host import ids
from memory.models import Pass
from proposals.learning import miners, proposing, run_traces
from proposals.learning.figures import Figures, looked_at
from proposals.learning.miners.traces import Finding
from proposals.learning.proposing import RULES, Fate
from proposals.learning.wording import Voice

ENDPOINT = "endpoint"

Clock = Callable[[], datetime]


def carry_out(work: Pass, *, clock: Clock) -> None:
    """The pass is done; what came of it stands on it, and each ``proposal.created`` on its run."""
    passes.progress(work, done=0, total=0, doing="reading traces", now=clock())
    now = clock()
    traces = run_traces.traces_of(work.tenant_id, now=now)
    passes.progress(work, done=0, total=0, doing="looking for patterns", now=clock())
    findings = miners.mine(traces, now=now)
    figures = Figures(looked_at(traces, run_traces.count_of(work.tenant_id, now=now)), found=len(findings))
    figures.proposed = list(work.outcome.get("proposed", []))
    fresh = _unseen(work, findings, figures)
    act = _rehearse if work.dry_run else _propose_all
    act(work, fresh, figures, clock)
    passes.finish(work, outcome=figures.document(), now=clock())


def _unseen(work: Pass, findings: list[Finding], figures: Figures) -> list[Finding]:
    """The findings that nobody has proposed yet, each pattern once; those of this very pass were not seen before it."""
    seen = proposing.seen_among(work.tenant_id, findings, besides=figures.proposed)
    done = proposing.seen_among(work.tenant_id, findings) - seen
    patterns: dict[str, Finding] = {}
    for each in findings:
        patterns.setdefault(proposing.digest_of(each), each)
    figures.seen = len(findings) - len(patterns) + len(seen)
    return [each for digest, each in patterns.items() if digest not in seen | done]


def _propose_all(work: Pass, fresh: list[Finding], figures: Figures, clock: Clock) -> None:
    done, voice = len(figures.proposed), Voice(work.tenant_id, figures, wanted=bool(work.options.get(ENDPOINT)))
    for at, finding in enumerate(fresh, 1):
        if voice.wanted:
            passes.progress(work, done=done + at - 1, total=done + len(fresh), doing="wording", now=clock())
        draft = proposing.draft_of(voice.worded(finding), model=voice.model or RULES)
        with transaction.atomic():
            now = clock()
            passes.progress(work, done=done + at, total=done + len(fresh), doing="proposing", now=now)
            _count(proposing.propose(work.run.tenant, draft, run=work.run, now=now), figures)
            passes.note(work, figures.document())


def _count(made: proposing.Proposing, figures: Figures) -> None:
    if made.proposal is not None:
        figures.proposed.append(ids.wire("prop", made.proposal.id))
    elif made.fate == Fate.SEEN:
        figures.seen += 1
    else:
        figures.refuse(made.code)


def _rehearse(work: Pass, fresh: list[Finding], figures: Figures, clock: Clock) -> None:
    """What would be proposed is told, and nothing is."""
    redact = harness.for_derived(work.tenant_id)
    figures.would_propose = []
    for at, finding in enumerate(fresh, 1):
        now = clock()
        passes.progress(work, done=at, total=len(fresh), doing="rehearsing", now=now)
        code = proposing.code_against(work.run.tenant, proposing.draft_of(finding), now=now)
        if code:
            figures.refuse(code)
        else:
            figures.would_propose.append({"kind": finding.kind, "title": redact(finding.title).text})
