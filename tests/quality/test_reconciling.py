"""The floors that reconciliation is held to, on corpora that ``make bench`` does not print."""

from functools import cache

import pytest

from memory.text.similarity import Statement, reconcile
from tools.bench import reconciling
from tools.bench.quality.corpus import corpus
from tools.bench.quality.judging import Verdict, table

SIZE = 3_000
SEEDS = ("floor 1", "floor 2")


@cache
def verdict(seed: str, hot: float = 0.0) -> Verdict:
    return reconciling.reconciled(corpus(SIZE, seed=seed, hot=hot))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_merged_says_the_same(seed: str) -> None:
    found = verdict(seed)
    assert found.merges.value >= reconciling.PRECISION, table(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_restatements_are_found(seed: str) -> None:
    found = verdict(seed)
    assert found.restatements.of > SIZE / 6
    assert found.restatements.value >= reconciling.RECALL, table(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_looks_alike_and_differs_is_never_merged(seed: str) -> None:
    found = verdict(seed)
    assert found.lookalikes_merged == 0, found.examples


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_superseded_has_a_newer_value(seed: str) -> None:
    found = verdict(seed)
    assert found.supersessions.of > SIZE / 40
    assert found.supersessions.value >= reconciling.PRECISION, table(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_protected_is_taken(seed: str) -> None:
    assert verdict(seed).protected_taken == 0


def test_a_template_that_differs_in_names_alone_is_not_merged() -> None:
    found = verdict("hot", reconciling.HOT)
    assert found.merges.value >= reconciling.PRECISION, table(found)
    assert found.lookalikes_merged == 0, found.examples


def test_what_stays_is_left_alone_the_next_time() -> None:
    said = [Statement(e.id, e.text, e.said_at, e.tags, e.protected) for e in corpus(SIZE, seed="twice").entries]
    first = reconcile(said)
    gone = {merged for each in first.merges for merged in each.merged} | {each.older for each in first.superseded}
    second = reconcile([each for each in said if each.id not in gone])
    assert gone
    assert (second.merges, second.superseded) == ((), ())
