"""The floors that reconciliation is held to, on corpora that ``make bench`` does not print."""

import pytest

from memory.text.similarity import Statement, reconcile
from tests.budgets import THOROUGH
from tools.bench import reconciling
from tools.bench.quality.corpus import corpus
from tools.bench.quality.judging import table

SIZE = 3_000
SEEDS = ("floor 1", "floor 2") if THOROUGH else ("floor 1",)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_corpus_is_reconciled_within_the_floors(seed: str) -> None:
    found = reconciling.reconciled(corpus(SIZE, seed=seed))
    assert found.merges.value >= reconciling.PRECISION, f"what is merged says the same {table(found)}"
    assert found.restatements.of > SIZE / 6
    assert found.restatements.value >= reconciling.RECALL, f"restatements are found {table(found)}"
    assert found.lookalikes_merged == 0, f"what looks alike and differs is never merged {found.examples}"
    assert found.supersessions.of > SIZE / 40
    assert found.supersessions.value >= reconciling.PRECISION, f"what is superseded has a newer value {table(found)}"
    assert found.protected_taken == 0, "nothing protected is taken"


def test_a_template_that_differs_in_names_alone_is_not_merged() -> None:
    found = reconciling.reconciled(corpus(SIZE, seed="hot", hot=reconciling.HOT))
    assert found.merges.value >= reconciling.PRECISION, table(found)
    assert found.lookalikes_merged == 0, found.examples


def test_what_stays_is_left_alone_the_next_time() -> None:
    said = [Statement(e.id, e.text, e.said_at, e.tags, e.protected) for e in corpus(SIZE, seed="twice").entries]
    first = reconcile(said)
    gone = {merged for each in first.merges for merged in each.merged} | {each.older for each in first.superseded}
    second = reconcile([each for each in said if each.id not in gone])
    assert gone
    assert (second.merges, second.superseded) == ((), ())
