"""The judge of a reconciliation: what it merged and superseded, held against the labels.

It is given pairs of ids alone: what was merged with what, and what was superseded by what. Ids that are not of the
corpus are entries that a pass made; they stand for whatever was merged into them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from uuid import UUID

from tools.bench.quality.labels import PARAPHRASE, Corpus, Labelled
from tools.bench.quality.operators import NAMES

Pairs = Iterable[tuple[UUID, UUID]]
EXAMPLES = 40


@dataclass(slots=True)
class Share:
    """So many of so many. Of nothing, all."""

    found: float = 0
    of: int = 0

    def count(self, found: bool) -> None:
        self.found, self.of = self.found + found, self.of + 1

    @property
    def value(self) -> float:
        return self.found / self.of if self.of else 1.0


@dataclass(slots=True)
class Verdict:
    """Shares by what they are of; and examples, as pairs of texts under what went wrong."""

    merges: Share = field(default_factory=Share)
    restatements: Share = field(default_factory=Share)
    by_operator: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    paraphrases: Share = field(default_factory=Share)
    supersessions: Share = field(default_factory=Share)
    superseded: Share = field(default_factory=Share)
    by_kind: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    lookalikes_merged: int = 0
    lookalikes_superseded: int = 0
    protected_taken: int = 0
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def example(self, what: str, one: str, other: str) -> None:
        if len(self.examples[what]) < EXAMPLES:
            self.examples[what].append((one, other))


class _Together:
    """Which ids were merged with each other, directly or through others."""

    def __init__(self, pairs: Pairs) -> None:
        self._parent: dict[UUID, UUID] = {}
        for one, other in pairs:
            self._parent[self.of(one)] = self.of(other)

    def of(self, entry: UUID) -> UUID:
        """What stands for all that ``entry`` was merged with."""
        path = []
        while self._parent.get(entry, entry) != entry:
            path.append(entry)
            entry = self._parent[entry]
        for each in path:
            self._parent[each] = entry
        return entry


def judged(corpus: Corpus, *, merges: Pairs, supersessions: Pairs) -> Verdict:
    """``merges`` are pairs of what stays and what went into it; ``supersessions`` of what was replaced and by what."""
    merged, replaced = list(merges), list(supersessions)
    judge = _Judge(corpus, _Together(merged))
    judge.weigh_merges()
    judge.weigh_supersessions(replaced)
    judge.weigh_restatements()
    taken = {other for _, other in merged} | {older for older, _ in replaced}
    judge.verdict.protected_taken = sum(1 for each in corpus.entries if each.protected and each.id in taken)
    return judge.verdict


class _Judge:
    def __init__(self, corpus: Corpus, together: _Together) -> None:
        self.verdict = Verdict()
        self._corpus, self._together = corpus, together
        self._known = {each.id: each for each in corpus.entries}
        self._members: dict[UUID, list[Labelled]] = defaultdict(list)
        for each in corpus.entries:
            self._members[together.of(each.id)].append(each)
        self._alike = {(each.one, each.other): each for each in corpus.lookalikes}
        self._alike |= {(other, one): each for (one, other), each in self._alike.items()}
        self._gone: set[UUID] = set()

    def weigh_merges(self) -> None:
        """Precision over all pairs that were merged with each other, directly or not."""
        for members in self._members.values():
            if len(members) > 1:
                self._weigh_component(members)
        stands = {each.fact: self._together.of(each.id) for each in self._corpus.entries}
        alike = sum(stands[each.one] == stands[each.other] for each in self._corpus.lookalikes)
        self.verdict.lookalikes_merged = alike

    def _weigh_component(self, members: list[Labelled]) -> None:
        same = Counter((each.fact, each.value) for each in members)
        self.verdict.merges.of += len(members) * (len(members) - 1) // 2
        self.verdict.merges.found += sum(many * (many - 1) // 2 for many in same.values())
        firsts = {(each.fact, each.value): each for each in reversed(members)}
        if len(firsts) == 1:
            return
        for one, other in combinations(list(firsts.values())[:EXAMPLES], 2):
            self.verdict.example(f"merged wrongly ({one.kind or one.made_by})", one.text, other.text)

    def weigh_supersessions(self, replaced: list[tuple[UUID, UUID]]) -> None:
        for older, younger in replaced:
            one, other = self._stands_for(older), self._stands_for(younger)
            if one is None or other is None:
                self.verdict.supersessions.count(False)
            elif one.fact == other.fact:
                self._weigh_replaced(older, one, other)
            else:
                self._weigh_foreign(one, other)
        self._weigh_recall()

    def _stands_for(self, entry: UUID) -> Labelled | None:
        members = self._members.get(self._together.of(entry))
        return self._known.get(entry) or (members[-1] if members else None)

    def _weigh_replaced(self, older: UUID, one: Labelled, other: Labelled) -> None:
        right = one.value < other.value
        self.verdict.supersessions.count(right)
        if right:
            self._gone.add(self._together.of(older))
        else:
            self.verdict.example("superseded by the same or an older value", one.text, other.text)

    def _weigh_foreign(self, one: Labelled, other: Labelled) -> None:
        pair = self._alike.get((one.fact, other.fact))
        if pair and pair.may_supersede:
            return
        self.verdict.supersessions.count(False)
        self.verdict.lookalikes_superseded += pair is not None
        self.verdict.example(f"superseded wrongly ({pair.kind if pair else one.made_by})", one.text, other.text)

    def _weigh_recall(self) -> None:
        """Each older value counts once; it was replaced when any statement of it was."""
        last: dict[int, Labelled] = {}
        statements: dict[tuple[int, int], list[Labelled]] = defaultdict(list)
        for each in self._corpus.entries:
            statements[each.fact, each.value].append(each)
            last[each.fact] = max(each, last.get(each.fact, each), key=lambda one: one.value)
        for (fact, value), said in statements.items():
            if value < last[fact].value and not any(each.protected for each in said):
                found = any(self._together.of(each.id) in self._gone for each in said)
                self.verdict.superseded.count(found)
                self.verdict.by_kind[said[0].kind].count(found)
                if not found:
                    self.verdict.example(f"not superseded ({said[0].kind})", said[0].text, last[fact].text)

    def weigh_restatements(self) -> None:
        """Found when it is with what it restates, or when both gave way to a newer value."""
        for each in self._corpus.entries:
            first = self._known[each.of] if each.of else None
            if first is None or each.protected or first.protected:
                continue
            one, other = self._together.of(each.id), self._together.of(first.id)
            found = one == other or (one in self._gone and other in self._gone)
            self._count_restated(each, first, found)

    def _count_restated(self, each: Labelled, first: Labelled, found: bool) -> None:
        if each.made_by == PARAPHRASE:
            self.verdict.paraphrases.count(found)
            return
        self.verdict.restatements.count(found)
        self.verdict.by_operator[each.made_by].count(found)
        if not found:
            self.verdict.example(f"not merged ({each.made_by})", first.text, each.text)


def table(verdict: Verdict) -> str:
    """The shares in lines, for people."""
    shares = {
        "merges that are right": verdict.merges,
        "restatements that were merged": verdict.restatements,
        **{f"  by {name}": verdict.by_operator[name] for name in NAMES},
        "free paraphrases that were merged": verdict.paraphrases,
        "supersessions that are right": verdict.supersessions,
        "older values that were superseded": verdict.superseded,
        **{f"  {kind}": share for kind, share in sorted(verdict.by_kind.items())},
    }
    lines = [f"{name:<36}{share.value:8.4f}  {share.found:,} of {share.of:,}" for name, share in shares.items()]
    lines += [
        f"{'look-alikes merged':<36}{verdict.lookalikes_merged:8}",
        f"{'look-alikes superseded':<36}{verdict.lookalikes_superseded:8}",
        f"{'protected statements taken':<36}{verdict.protected_taken:8}",
    ]
    return "\n".join(lines)
