"""The synthesis pass: read the traces, mine them for findings, and propose these one by one.

Each proposal and the figures of the pass commit in one transaction, under the lease: a worker that takes the pass over
continues after the last proposal and repeats none.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import memory_policy, passes, redaction
from memory.host import access, audit, ids
from memory.host.clock import Clock
from memory.host.errors import Invalid, NotFound
from memory.host.json_types import JSONObject
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState, Trigger
from memory.passes import PassOrder
from proposals.learning import findings, miners, run_traces, wording
from proposals.learning.findings import RULES, Fate, Figures, count_traces
from proposals.learning.miners.traces import Finding
from proposals.learning.wording import Voice

ENDPOINT = "endpoint"
KIND = "synthesize"
READS, ORDERS = "proposals:read", "passes:run"
HOST = "host"


def carry_out(work: Pass, *, clock: Clock) -> None:
    """Carry out the pass: store its outcome on it, and append each ``proposal.created`` to its run."""
    passes.progress(work, done=0, total=0, doing="reading traces", now=clock())
    now = clock()
    traces = run_traces.traces_of(work.tenant_id, now=now)
    passes.progress(work, done=0, total=0, doing="looking for patterns", now=clock())
    mined = miners.mine(traces, now=now)
    figures = Figures(count_traces(traces, run_traces.count_of(work.tenant_id, now=now)), found=len(mined))
    figures.proposed = list(work.outcome.get("proposed", []))
    fresh = _unseen(work, mined, figures)
    act = _rehearse if work.dry_run else _propose_all
    act(work, fresh, figures, clock)
    passes.finish(work, outcome=figures.document(), now=clock())


def _unseen(work: Pass, mined: list[Finding], figures: Figures) -> list[Finding]:
    """The findings not proposed yet, one per pattern; those this pass has proposed do not count as seen."""
    seen = findings.seen_among(work.tenant_id, mined, besides=figures.proposed)
    done = findings.seen_among(work.tenant_id, mined) - seen
    patterns: dict[str, Finding] = {}
    for each in mined:
        patterns.setdefault(findings.digest_of(each), each)
    figures.seen = len(mined) - len(patterns) + len(seen)
    return [each for digest, each in patterns.items() if digest not in seen | done]


def _propose_all(work: Pass, fresh: list[Finding], figures: Figures, clock: Clock) -> None:
    done, voice = len(figures.proposed), Voice(work.tenant_id, figures, wanted=bool(work.options.get(ENDPOINT)))
    for at, finding in enumerate(fresh, 1):
        if voice.wanted:
            passes.progress(work, done=done + at - 1, total=done + len(fresh), doing="wording", now=clock())
        draft = findings.draft_of(voice.worded(finding), model=voice.model or RULES)
        with transaction.atomic():
            now = clock()
            passes.progress(work, done=done + at, total=done + len(fresh), doing="proposing", now=now)
            _count(findings.propose(work.run.tenant, draft, run=work.run, now=now), figures)
            passes.store_note(work, figures.document())


def _count(made: findings.Outcome, figures: Figures) -> None:
    if made.proposal is not None:
        figures.proposed.append(ids.wire("prop", made.proposal.id))
    elif made.fate == Fate.SEEN:
        figures.seen += 1
    else:
        figures.refuse(made.code)


def _rehearse(work: Pass, fresh: list[Finding], figures: Figures, clock: Clock) -> None:
    """Record in the figures what would be proposed, without proposing it."""
    redact = redaction.for_derived(work.tenant_id)
    figures.would_propose = []
    for at, finding in enumerate(fresh, 1):
        now = clock()
        passes.progress(work, done=at, total=len(fresh), doing="rehearsing", now=now)
        code = findings.refusal_code(work.run.tenant, findings.draft_of(finding), now=now)
        if code:
            figures.refuse(code)
        else:
            figures.would_propose.append({"kind": finding.kind, "title": redact(finding.title).text})


def order(scope: TenantScope, *, dry_run: bool = False, endpoint: bool = False, now: datetime) -> Pass:
    """Request a synthesis, which waits for a worker; a dry run reports what it would propose.

    With ``endpoint`` the endpoint of the tenant's policy words the drafts; refused when none is configured.
    """
    scope.check(ORDERS)
    options = checked_options({ENDPOINT: True} if endpoint else {})
    if endpoint and not wording.is_configured(memory_policy.policy_of(scope.tenant_id)):
        errors = [{"field": f"options.{ENDPOINT}", "message": "needs an endpoint in the tenant's memory policy"}]
        raise Invalid("There is no endpoint to word proposals.", errors=errors)
    window = f"asked/{ids.new_id().hex}"
    wanted = PassOrder(KIND, window, scope.principal.id, options=options, dry_run=dry_run)
    return passes.request(scope.tenant_id, wanted, now=now)


def checked_options(options: JSONObject) -> JSONObject:
    """Validate the options of a synthesis; refuses unknown ones."""
    errors = [{"field": f"options.{name}", "message": "is not an option"} for name in options if name != ENDPOINT]
    if not isinstance(options.get(ENDPOINT, False), bool):
        errors.append({"field": f"options.{ENDPOINT}", "message": "must be true or false"})
    if errors:
        raise Invalid("A synthesis has no such option.", errors=errors)
    return dict(options)


def tenants_due(*, now: datetime) -> list[UUID]:
    """The tenants with runs that ended since the last synthesis and without a daily one today.

    A synthesis that failed or was stopped does not count as the last one.
    """
    every = Tenant.objects.order_by("id").values_list("id", flat=True)
    return [tenant_id for tenant_id in every if _is_due(tenant_id, now)]


def _is_due(tenant_id: UUID, now: datetime) -> bool:
    looks = Pass.objects.of(tenant_id).filter(kind=KIND, dry_run=False)
    there = looks.filter(state__in=(*passes.OPEN, PassState.DONE))
    last = there.order_by("-id").values_list("created_at", flat=True).first()
    today = looks.filter(window=_window_of(now)).exists()
    return not today and run_traces.have_run_since(tenant_id, last, now=now)


@transaction.atomic
def order_daily(tenant_id: UUID, *, endpoint: bool, now: datetime) -> Pass | None:
    """Request the host's daily synthesis; None when it is not due. The tenant lock serialises concurrent callers.

    Without a configured endpoint the drafts keep the rules' words.
    """
    access.lock_tenant(tenant_id)
    if not _is_due(tenant_id, now):
        return None
    worded = endpoint and wording.is_configured(memory_policy.policy_of(tenant_id))
    options = {ENDPOINT: True} if worded else {}
    wanted = PassOrder(KIND, _window_of(now), HOST, options=options, trigger=Trigger.HOST_MANAGED)
    return passes.request(tenant_id, wanted, now=now)


def _window_of(now: datetime) -> str:
    return f"day/{now:%Y-%m-%d}"


def find(scope: TenantScope, pass_id: UUID | None) -> Pass:
    """The synthesis of this tenant, or ``NotFound``."""
    scope.check(READS)
    row = passes.find(scope.tenant_id, pass_id) if pass_id else None
    if row is None or row.kind != KIND:
        raise NotFound("There is no synthesis by that id.")
    return row


def stop(scope: TenantScope, pass_id: UUID | None, *, now: datetime) -> Pass:
    """Stop the synthesis before its next proposal; earlier ones stay. Audited."""
    scope.check(ORDERS)
    row = passes.request_stop(scope.tenant_id, find(scope, pass_id).id, now=now)
    target = ids.wire("pass", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="pass.stopped", target=target, now=now)
    return row


def latest(scope: TenantScope) -> Pass | None:
    """The synthesis that was requested last, or None."""
    scope.check(READS)
    return next(iter(passes.latest(scope.tenant_id, kinds=(KIND,), limit=1)), None)
