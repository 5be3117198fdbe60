"""B12 to B14: consolidation of labelled refs by the real flow; and Q1: how good the rule is, by itself.

A pass is ordered and carried out as a worker does it, on a tenant that exists for it alone; what it did is read from
the lineage and held against the labels.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log
from statistics import linear_regression, median
from time import perf_counter
from uuid import UUID

from django.utils import timezone

from memory import ledger
from memory.host import tenancy
from memory.host.models import Run
from memory.models import Lineage, LineageKind, PassState
from memory.passes import consolidation, orders
from memory.passes.orders import RequestedPass
from memory.text.similarity import Statement, reconcile
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.quality import judging
from tools.bench.quality.corpus import corpus
from tools.bench.quality.judging import Share, Verdict
from tools.bench.quality.labels import Corpus, Labelled

REF = "bench/told"
HOT = 1 / 3
LABELLED = 6_000
PRECISION, RECALL = 0.995, 0.95
MILLION = 1_000_000


class PassFailed(Exception):
    """The pass that was to be measured came to another end."""


@dataclass(frozen=True, slots=True)
class Told:
    """A ref that holds statements, in a tenant of its own."""

    run: Run
    corpus: Corpus

    def consolidated(self) -> float:
        """The seconds that a worker spends on one pass over the ref."""
        owner = self.run.tenant
        scope = tenancy.host_scope(owner, scopes=frozenset({"passes:run"}))
        row = orders.order(scope, RequestedPass(consolidation.KIND, REF), now=timezone.now())
        rounds.sweep()
        began = perf_counter()
        ended = orders.run_pass(owner.id, row.id, holder="bench", clock=timezone.now)
        taken = perf_counter() - began
        if ended is None or ended.state != PassState.DONE:
            raise PassFailed(f"The pass ended as {ended and (ended.state, ended.code, ended.outcome)}.")
        return taken

    def went_into(self, kind: str) -> list[tuple[UUID, UUID]]:
        """What went into what."""
        rows = Lineage.objects.of(self.run.tenant_id).filter(kind=kind)
        return list(rows.values_list("source_id", "target_id"))

    def judged(self) -> Verdict:
        replaced = self.went_into(LineageKind.SUPERSEDED)
        merges = [(target, source) for source, target in self.went_into(LineageKind.MERGED)]
        return judging.judged(self.corpus, merges=merges, supersessions=replaced)

    def taken(self) -> int:
        """How many statements passes have taken away so far."""
        return len(self.went_into(LineageKind.MERGED)) + len(self.went_into(LineageKind.SUPERSEDED))


def told(labelled: Corpus, entries: Iterable[Labelled] = ()) -> Told:
    """The statements, or these of them, stand under a fresh ref."""
    run = ground.running_run(ground.tenant())
    ground.tell(run, REF, tuple(entries) or labelled.entries)
    return Told(run, labelled)


def consolidated(plan: Plan) -> Iterator[Outcome]:
    """B12: seconds, growth, and what came of it; a second pass finds nothing."""
    corpora = {size: corpus(size) for size in plan.pass_sizes}
    times: list[list[float]] = []
    for _ in range(plan.pass_rounds):
        refs = {size: told(labelled) for size, labelled in corpora.items()}
        times.append([ref.consolidated() for ref in refs.values()])
    largest, ref = max(refs.items())
    name = f"consolidation of {largest:,} entries"
    seconds = median(round_[-1] for round_ in times)
    yield Outcome("B12", name, plan.engine, seconds, 90 if largest >= MILLION else 6, unit=" s")
    sizes = [log(size) for size in corpora]
    exponent = median(linear_regression(sizes, [log(each) for each in round_]).slope for round_ in times)
    over = ", ".join(f"{size:,}" for size in corpora)
    yield Outcome("B12", f"consolidation, growth over {over} entries", plan.engine, exponent, 1.25, unit="")
    yield from _quality("B12", name, plan.engine, ref.judged())
    before = ref.taken()
    ref.consolidated()
    yield Outcome("B12", f"{name}: taken by a second pass", plan.engine, ref.taken() - before, 0, unit="")


def _quality(row: str, name: str, engine: str, verdict: Verdict) -> Iterator[Outcome]:
    """What has a floor."""
    floors = {
        "precision of merges": (verdict.merges, PRECISION),
        "recall of restatements": (verdict.restatements, RECALL),
        "precision of supersessions": (verdict.supersessions, PRECISION),
    }
    for what, (share, floor) in floors.items():
        yield Outcome(row, f"{name}: {what}", engine, share.value, floor, at_least=True, unit="")
    yield Outcome(row, f"{name}: look-alikes merged", engine, verdict.lookalikes_merged, 0, unit="")
    yield Outcome(row, f"{name}: protected ones taken", engine, verdict.protected_taken, 0, unit="")


def hot(plan: Plan) -> Iterator[Outcome]:
    """B13: a third of the entries differ in names alone."""
    size = plan.pass_sizes[-1]
    even, uneven = corpus(size), corpus(size, hot=HOT)
    ratios = []
    for _ in range(plan.pass_rounds):
        ref = told(uneven)
        ratios.append(ref.consolidated() / told(even).consolidated())
    name = f"one hot template in {size:,} entries"
    verdict = ref.judged()
    yield Outcome("B13", f"{name}: time against B12", plan.engine, median(ratios), 4)
    yield Outcome("B13", f"{name}: precision", plan.engine, verdict.merges.value, PRECISION, at_least=True, unit="")


def again(plan: Plan) -> Iterator[Outcome]:
    """B14: a pass costs what changed since the last one."""
    size = plan.pass_sizes[-1]
    labelled = corpus(size + size // 100)
    unchanged, changed = [], []
    for _ in range(plan.pass_rounds):
        ref = told(labelled, labelled.entries[:size])
        full = ref.consolidated()
        unchanged.append(ref.consolidated() / full)
        ground.tell(ref.run, REF, labelled.entries[size:], after=_position(ref.run))
        changed.append(ref.consolidated() / full)
    name = f"consolidation of {size:,} entries once more"
    yield Outcome("B14", f"{name}, 1% of them new, against all", plan.engine, median(changed), 0.1)
    yield Outcome("B14", f"{name}, unchanged, against all", plan.engine, median(unchanged), 0.02)


def _position(run: Run) -> int:
    return ledger.head.position(run.tenant_id)


def judged(plan: Plan) -> Iterator[Outcome]:
    """Q1: the rule alone, on the labelled corpus; by operator and by kind of value without a floor."""
    size = min(LABELLED, plan.largest)
    verdict = reconciled(corpus(size))
    name = f"{size:,} labelled entries"
    yield from _quality("Q1", name, plan.engine, verdict)
    yield Outcome("Q1", f"{name}: look-alikes superseded", plan.engine, verdict.lookalikes_superseded, None, unit="")
    reported = {
        "recall of free paraphrases": verdict.paraphrases,
        "recall of superseded values": verdict.superseded,
        **{f"recall of restatements by {each}": share for each, share in sorted(verdict.by_operator.items())},
        **{f"recall of superseded values, {kind}": share for kind, share in sorted(verdict.by_kind.items())},
    }
    yield from (_reported(f"{name}: {what}", plan.engine, share) for what, share in reported.items())


def _reported(what: str, engine: str, share: Share) -> Outcome:
    return Outcome("Q1", f"{what} ({share.of:,})", engine, share.value, None, unit="")


def reconciled(labelled: Corpus) -> Verdict:
    """What the rule makes of the statements, with no database in between."""
    found = reconcile([Statement(e.id, e.text, e.said_at, e.tags, e.protected) for e in labelled.entries])
    merges = [(each.survivor, merged) for each in found.merges for merged in each.merged]
    return judging.judged(
        labelled, merges=merges, supersessions=[(each.older, each.newer) for each in found.superseded]
    )
