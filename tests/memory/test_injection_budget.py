"""RFC 0113: memory for a context, within a token budget and by rank; an entry is left out or whole, never cut."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from memory import adapter, ledger, recordings
from memory.adapter.runs import Injection
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope
from memory.models import KeptRead
from memory.text import token_budget
from memory.text.token_budget import take_fitting
from openwop_console.runtime.node_execution import listing
from tests import building
from tests.budgets import tries
from tests.building import write_each

pytestmark = pytest.mark.django_db
LARGE = "every word counts " * 100


def tokens(*contents: str) -> int:
    return sum(token_budget.count(content) for content in contents)


def wanted(owner: TenantScope, budget: int = 0, rank: str = "", query: str = "", **options: Any) -> list[str]:
    return building.contents(owner, wanted=Injection(budget, rank, query), **options)


def test_what_does_not_fit_is_left_out_and_what_is_smaller_behind_it_still_fits() -> None:
    acme = building.scope()
    write_each(acme, "first", "second one", LARGE, "third")
    exactly = tokens("third", "second one", "first")
    assert wanted(acme, exactly) == ["third", "second one", "first"]
    assert wanted(acme, exactly - 1) == ["third", "second one"]
    assert wanted(acme, tokens(LARGE) - 1) == ["third", "second one", "first"]
    assert wanted(acme, 10**9) == ["third", LARGE, "second one", "first"]


def test_of_a_limit_and_a_budget_the_stricter_wins() -> None:
    acme = building.scope()
    write_each(acme, *["a b c d"] * 5)
    each = tokens("a b c d")
    assert len(wanted(acme, 3 * each, limit=4)) == 3
    assert len(wanted(acme, 4 * each, limit=3)) == 3


def test_a_budget_without_a_limit_is_not_held_to_the_default_of_a_list() -> None:
    acme = building.scope()
    write_each(acme, *["x"] * 120)
    assert (len(wanted(acme)), len(wanted(acme, 10**6))) == (adapter.runs.DEFAULT_LIMIT, 120)


def test_relevance_counts_rare_words_and_short_entries_and_the_newer_is_first_among_equals() -> None:
    acme = building.scope()
    write_each(acme, "refund of the order", "the refund", "nothing to do with it", "of no avail", "refunds", "a refund")
    best, *others = by_relevance = wanted(acme, rank="relevance", query="Refund ORDER")
    assert best == "refund of the order"
    assert others == ["the refund", "a refund", "refunds", "nothing to do with it", "of no avail"]
    assert wanted(acme, rank="recency", query="refund") == building.contents(acme)
    assert wanted(acme, tokens("refund of the order"), "relevance", "refund order")[0] == "refund of the order"
    assert wanted(acme, rank="relevance", query="refund order", limit=2) == by_relevance[:2]


@pytest.mark.parametrize("given", [(-1, "", ""), (1, "best", ""), (1, "relevance", ""), (0, "relevance", "  ")])
def test_a_budget_or_a_rank_that_makes_no_sense_is_refused(given: tuple[int, str, str]) -> None:
    with pytest.raises(Invalid):
        Injection(*given)


def test_what_may_not_be_read_takes_nothing_of_the_budget() -> None:
    acme, globex = building.scope("acme"), building.scope("globex")
    now = timezone.now()
    write_each(acme, "kept")
    write_each(acme, "gone", now=now - timedelta(hours=2), expires_at=now - timedelta(hours=1))
    (hidden,) = write_each(acme, "hidden")
    ledger.retirement.retire_entry(acme, hidden, reason="", now=now)
    write_each(acme, "elsewhere", memory_ref="other")
    write_each(globex, "foreign")
    assert wanted(acme, tokens("kept")) == ["kept"]
    assert wanted(acme, tokens("kept"), "relevance", "gone hidden foreign") == ["kept"]


def test_a_tag_narrows_what_is_ranked() -> None:
    acme = building.scope()
    write_each(acme, "tagged", tags=("t",))
    write_each(acme, "plain")
    assert wanted(acme, 100, tag="t") == ["tagged"]


@tries()
@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200), st.integers(1, 40))
def test_a_list_never_exceeds_its_budget_and_leaves_out_only_what_did_not_fit(
    sizes: list[int], budget: int, most: int
) -> None:
    rows = list(enumerate(sizes))
    kept = take_fitting(rows, budget, most)
    assert sum(size for _, size in kept) <= budget
    assert kept == sorted(kept)
    assert len(kept) <= most
    for place, (number, size) in enumerate(rows):
        before = [row for row in kept if row[0] < number]
        if (number, size) not in kept and len(before) < most:
            assert size > budget - sum(each for _, each in before), place


# ``ctx.memory`` and its replays.

RECALL = {"memoryRef": "notes", "tokenBudget": 8, "rank": "relevance", "query": "refund", "limit": 5}


def recall(slug: str, config: dict[str, Any]) -> Any:
    name = "look-within"
    building.install(slug, building.definition(name, building.node("recall", "vendor.console.recall", config)))
    run = building.execute(building.scope(slug), name)
    assert run.status == "completed", run.error
    return run


def test_a_node_lists_within_its_budget_and_what_it_was_given_is_kept() -> None:
    acme = building.scope()
    write_each(acme, "the refund", LARGE, "the weather")
    run = recall("acme", RECALL)
    (read,) = KeptRead.objects.of(acme.tenant_id).filter(run_id=run.id)
    assert len(read.contents) == 2
    assert read.request_sha256 == listing("notes", limit=5, tag="", wanted=Injection(8, "relevance", "refund"))


def test_a_request_without_budget_and_rank_has_the_digest_it_always_had() -> None:
    old = recordings.digest_of({"op": "list", "memoryRef": "notes", "limit": 10, "tag": ""})
    assert listing("notes", limit=10, tag="", wanted=Injection()) == old
    assert listing("notes", limit=10, tag="", wanted=Injection(5)) != old


# The console's face.


def answer(client: Client, query: dict[str, Any], **headers: Any) -> Any:
    return client.get("/v1/host/console/memory", query, **(headers or building.headers()))


def test_the_face_lists_a_ref_within_a_budget(client: Client) -> None:
    acme = building.scope()
    write_each(acme, "the refund", LARGE, "the weather", agent_id="acme.bot")
    write_each(acme, "of another", agent_id="acme.other")
    given = {"memoryRef": "notes", "tokenBudget": 10, "rank": "relevance", "query": "refund"}
    page = answer(client, given).json()
    assert [entry["content"] for entry in page["entries"]] == ["the refund", "of another", "the weather"]
    assert (page["memoryRef"], page["total"], page["totalIsExact"], page["next"]) == ("notes", 4, True, None)
    own = building.headers(role="agent", agents=("acme.bot",))
    assert [entry["content"] for entry in answer(client, given, **own).json()["entries"]] == [
        "the refund",
        "the weather",
    ]


@pytest.mark.parametrize("ref", ["tenant/globex/notes", "no/such", "a/../b"])
def test_a_ref_that_is_foreign_unknown_or_malformed_is_an_empty_list(client: Client, ref: str) -> None:
    building.scope("globex")
    write_each(building.scope("globex"), "foreign")
    page = answer(client, {"memoryRef": ref, "tokenBudget": 10}).json()
    assert (page["entries"], page["total"]) == ([], 0)


def test_what_makes_no_sense_is_refused_with_the_field(client: Client) -> None:
    for query, field in (
        ({"memoryRef": "notes", "tokenBudget": 0}, "tokenBudget"),
        ({"memoryRef": "notes", "tokenBudget": "ten"}, "tokenBudget"),
        ({"memoryRef": "notes", "rank": "best"}, "rank"),
        ({"memoryRef": "notes", "rank": "relevance"}, "query"),
        ({"tokenBudget": 5}, "memoryRef"),
        ({"memoryRef": "notes", "tokenBudget": 5, "q": "x"}, "q"),
        ({"memoryRef": "notes", "tokenBudget": 5, "after": "mem_x"}, "after"),
    ):
        refused = answer(client, query)
        assert refused.status_code == 400, (query, field)
        assert [error["field"] for error in refused.json()["details"]["errors"]] == [field], (query, field)
