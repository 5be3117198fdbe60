"""What distillation keeps of labelled key facts, beside what simpler ways of choosing keep of them."""

import pytest

from memory.text import distillers
from tools.bench import distilling
from tools.bench.quality import keeping
from tools.bench.quality.keyfacts import CORROBORATED, REPEATED, SINGLE, case_file

CASE = case_file(1_200, seed="floor")


@pytest.mark.parametrize("percent", distilling.BUDGETS)
def test_more_key_facts_are_kept_than_any_simpler_way_keeps(percent: int) -> None:
    budget = CASE.tokens * percent // 100
    found = keeping.kept(CASE, distilling.said(distillers.distil(distilling.sources(CASE), budget)))
    plain = keeping.baselines(CASE, budget)
    assert found.all.value > plain.pop("greedy idf")
    assert found.all.value > 1.3 * max(plain.values())


@pytest.mark.parametrize("percent", distilling.BUDGETS)
def test_what_is_read_and_written_stays_within_the_budget(percent: int) -> None:
    budget = CASE.tokens * percent // 100
    found = distillers.distil(distilling.sources(CASE), budget)
    tokens = {note.id: note.tokens for note in CASE.notes}
    assert sum(tokens[each] for each in found.covered) + found.output_tokens <= budget


def test_what_was_said_more_than_once_is_kept_before_what_was_said_once() -> None:
    found = distillers.distil(distilling.sources(CASE), CASE.tokens // 4)
    shares = keeping.kept(CASE, distilling.said(found)).by_kind
    assert shares[REPEATED].value > shares[SINGLE].value
    assert shares[CORROBORATED].value > shares[SINGLE].value
