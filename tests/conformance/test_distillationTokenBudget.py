"""``distillation-token-budget``: given, clamped or defaulted, and never overdrawn (RFC 0062 B.2)."""

from memory.text import token_budget
from tests.conformance import dreaming
from tests.conformance.conftest import Host
from tests.conformance.dreaming import DISTILL, SOURCES

LONG = [
    f"{text} It was noted for the {number}th time in the book of shop {number % 7}."
    for number in range(1, 60)
    for text in SOURCES[:1]
]


def test_what_was_used_is_within_the_budget_and_counts_what_went_in_and_what_came_out(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref, tokenBudget=4000, sources=SOURCES)
    figures = made["event"]["distillation"]
    [entry] = [each for each in dreaming.listed(seamed, ref) if each["id"] == made["event"]["outputId"]]
    honest = sum(map(token_budget.count, SOURCES)) + token_budget.count(entry["content"])
    assert figures["tokenBudget"] == 4000
    assert figures["tokensUsed"] <= 4000
    assert 0.9 * honest <= figures["tokensUsed"] <= 1.1 * honest


def test_a_corpus_that_does_not_fit_is_covered_as_far_as_it_goes_and_says_so(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    made = dreaming.asked(seamed, DISTILL, memoryRef=ref, tokenBudget=600, sources=LONG)
    assert made["event"]["distillation"]["tokensUsed"] <= 600
    assert 1 <= made["event"]["sourceCount"] < len(LONG)
    readable = dreaming.file(seamed, "MEMORY-INDEX.md")
    assert readable
    assert f"| {ref} | {made['event']['sourceCount']} of {len(LONG)} entries |" in readable["content"]


def test_absent_it_is_the_most_and_more_than_the_most_is_the_most(seamed: Host) -> None:
    most = dreaming.advertised(seamed)["memory"]["distillation"]["maxTokenBudget"]
    for given in ({}, {"tokenBudget": most + 1}, {"tokenBudget": 100 * most}):
        made = dreaming.asked(seamed, DISTILL, memoryRef=dreaming.fresh_ref(), sources=SOURCES, **given)
        assert made["event"]["distillation"]["tokenBudget"] == most


def test_a_budget_that_cannot_be_met_leaves_nothing_behind_and_says_what_would_do(seamed: Host) -> None:
    ref = dreaming.fresh_ref()
    dreaming.seed(seamed, ref, *SOURCES)
    before, index = dreaming.listed(seamed, ref), dreaming.file(seamed)
    answer = dreaming.ask(seamed, DISTILL, {"memoryRef": ref, "tokenBudget": 1, "indexEmitted": True})
    details = dreaming.refused(answer, 422, "token_budget_exceeded")
    assert details["budget"] == 1
    assert details["minimumRequired"] > 1
    assert "archiveChecksum" not in answer.json()
    assert dreaming.listed(seamed, ref) == before
    assert dreaming.file(seamed) == index


def test_exactly_what_is_required_is_enough_and_one_less_is_not(seamed: Host) -> None:
    given = {"memoryRef": dreaming.fresh_ref(), "sources": SOURCES}
    answer = dreaming.ask(seamed, DISTILL, {**given, "tokenBudget": 1})
    least = dreaming.refused(answer, 422, "token_budget_exceeded")["minimumRequired"]
    answer = dreaming.ask(seamed, DISTILL, {**given, "tokenBudget": least - 1})
    assert dreaming.refused(answer, 422, "token_budget_exceeded")["minimumRequired"] == least
    made = dreaming.asked(seamed, DISTILL, **given, tokenBudget=least)
    assert made["event"]["distillation"]["tokensUsed"] <= least
