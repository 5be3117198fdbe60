"""``conformance-agent-memory-injection-budget``: what does not fit is left out whole, never cut (RFC 0113)."""

import pytest

from tests.conformance.conftest import Host

FIXTURE = "conformance-agent-memory-injection-budget"


def test_the_host_names_the_counter_of_its_budgets(host: Host) -> None:
    with host.client() as client:
        document = client.get("/.well-known/openwop").json()
    assert document["memory"]["injectionBudget"] == {"supported": True, "tokenCounter": "o200k_base"}
    assert FIXTURE in document["fixtures"]


def test_the_list_stays_within_its_budget_and_leaves_out_what_is_larger(host: Host) -> None:
    variables = host.run(FIXTURE)["variables"]
    listed = [entry["id"] for entry in variables["budgetedEntries"]]
    assert 0 < variables["budgetedTokenTotal"] <= variables["tokenBudget"]
    assert variables["overBudgetEntryOmitted"] is True
    assert variables["overBudgetEntryId"]
    assert variables["overBudgetEntryId"] not in listed


def test_a_secret_stays_redacted_within_a_budget(host: Host) -> None:
    variables = host.run(FIXTURE)["variables"]
    assert "[REDACTED:" in variables["redactedContentSample"]
    assert "canary-" not in str(variables)


def test_a_foreign_ref_lists_nothing_within_a_budget(host: Host) -> None:
    assert host.run(FIXTURE)["variables"]["crossTenantBudgetedProbe"] == []


def test_recency_and_relevance_are_two_orders(host: Host) -> None:
    variables = host.run(FIXTURE)["variables"]
    recency, relevance = variables["recencyOrder"], variables["relevanceOrder"]
    assert recency == sorted(recency, reverse=True)
    assert relevance[0] == recency[-1] != recency[0]
    assert len(recency) == len(relevance) == 4


@pytest.mark.engines
def test_a_replay_tells_the_same(host: Host) -> None:
    run = host.run(FIXTURE)
    with host.client() as client:
        fork = client.post(f"/v1/runs/{run['runId']}:fork", json={"mode": "replay"}).json()
        replay = host.finished(client, fork["runId"])
    assert replay["status"] == "completed"
    assert replay["variables"] == run["variables"]
