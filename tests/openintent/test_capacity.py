"""Bounds of memory: full is full for the working memory of a task; what an agent needs least makes room for new."""

import dataclasses
import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from openintent.exceptions import OpenIntentError
from pytest_django.fixtures import Settings

from memory import ledger
from memory.addresses import Address, Tier
from memory.host import event_log
from memory.host.errors import CapacityExceeded, KeyExists, Refusal
from memory.models import Assignment, Coordinator, Intent, Task
from memory.models.address import EntryAddress
from memory.models.entry import Tombstone
from memory.openintent import batches, entries, queries, work
from memory.openintent.access import Caller
from memory.openintent.batches import Item
from tests import building
from tests.openintent.conftest import Served

pytestmark = pytest.mark.django_db
START = timezone.now()
WRITER = "memory.openintent.work"
SECONDS = itertools.count(1)


def later() -> datetime:
    """A moment behind every moment before."""
    return START + timedelta(seconds=next(SECONDS))


@pytest.fixture
def caller() -> Caller:
    return Caller(building.scope(), "billing-01")


def remember(caller: Caller, key: str, value: dict[str, Any] | None = None, **more: Any) -> EntryAddress:
    expires_at = more.pop("expires_at", None)
    place: dict[str, Any] = {"tier": Tier.EPISODIC, "agent_id": caller.agent_id, "namespace": "ns", "key": key, **more}
    return entries.create(
        caller, ledger.entries.AddressedValue(Address(**place), value or {"n": 1}, (), expires_at), now=later()
    )


def keys(caller: Caller) -> set[str]:
    return set(EntryAddress.objects.of(caller.tenant_id).values_list("key", flat=True))


def bound(caller: Caller, most: int) -> None:
    """The agent keeps so many episodic entries."""
    agent = work.rows.agent(caller.tenant_id, caller.agent_id, by="host", now=START)
    agent.capacity = most
    agent.save(by=WRITER, update_fields=["capacity"])


def task(caller: Caller, policy: dict[str, Any] | None = None, **rails: Any) -> str:
    """A task of the agent's, whose intent has a coordinator with these guardrails when there are any."""
    run = work.rows.open_log(caller.tenant_id, caller.agent_id, by="host", now=START)
    stamps: dict[str, Any] = {"tenant_id": caller.tenant_id, "created_at": START, "updated_at": START}
    intent = Intent(id=run.id, title="t", created_by=caller.agent_id, **stamps).insert(by=WRITER)
    if rails:
        Coordinator(intent_id=intent.id, agent_id="coordinator", guardrails=rails, **stamps).insert(by=WRITER)
    found = Task(
        intent_id=intent.id,
        name="t",
        memory_policy=policy,
        created_by=caller.agent_id,
        assigned_agent=caller.agent_id,
        status="running",
        **stamps,
    )
    made, own = found.insert(by=WRITER), {"agent_id": caller.agent_id, "since": START, "taken_up": True}
    Assignment(tenant_id=caller.tenant_id, task_id=made.id, **own).insert(by=WRITER)
    return f"task_{made.id.hex}"


def refused(caller: Caller, key: str, value: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    with pytest.raises(CapacityExceeded) as refusal:
        remember(caller, key, value, **more)
    return refusal.value.details


def test_R30_the_smallest_of_all_that_is_said_bounds_an_agent(caller: Caller, settings: Settings) -> None:
    settings.OPENWOP_EPISODIC_CAPACITY = 50
    agent = work.rows.agent(caller.tenant_id, caller.agent_id, by="host", now=START)
    assert work.tasks.capacity_of(agent, now=START) == 50
    bound(caller, 20)
    agent.refresh_from_db()
    assert work.tasks.capacity_of(agent, now=START) == 20
    task(caller, max_episodic_memory_per_agent=10)
    task(caller, max_episodic_memory_per_agent=30, max_working_memory_per_task=1)
    assert work.tasks.capacity_of(agent, now=START) == 10
    settings.OPENWOP_EPISODIC_CAPACITY = 5
    assert work.tasks.capacity_of(agent, now=START) == 5


def test_R78_a_guardrail_bounds_agents_at_work_under_it_and_no_others(caller: Caller) -> None:
    under = task(caller, max_episodic_memory_per_agent=3)
    agent = work.rows.agent(caller.tenant_id, caller.agent_id, by="host", now=START)
    assert work.tasks.capacity_of(agent, now=START) == 3
    Task.objects.written_by(WRITER).filter(id=work.rows.task(caller.tenant_id, under).id).update(
        status="completed", ended_at=START
    )
    assert work.tasks.capacity_of(agent, now=START) == 1000
    assert work.tasks.capacity_of(work.rows.agent(caller.tenant_id, "another", by="host", now=START), now=START) == 1000
    task(caller, max_episodic_memory_per_agent=4)
    Coordinator.objects.written_by(WRITER).update(status="ended")
    assert work.tasks.capacity_of(agent, now=START) == 1000


def test_R31_a_full_agent_remembers_on_and_forgets_what_it_used_least_recently(caller: Caller) -> None:
    bound(caller, 3)
    for key in "abc":
        remember(caller, key)
    entries.get(caller, EntryAddress.objects.get(key="a").id, now=later())
    remember(caller, "d")
    assert keys(caller) == {"a", "c", "d"}


def test_R32_what_matters_less_goes_first_however_recently_it_was_used(caller: Caller) -> None:
    bound(caller, 3)
    remember(caller, "old", priority="high")
    remember(caller, "normal")
    remember(caller, "low", priority="low")
    remember(caller, "one")
    assert keys(caller) == {"old", "normal", "one"}
    remember(caller, "two")
    assert keys(caller) == {"old", "one", "two"}


def test_R33_pinned_entries_count_and_stay(caller: Caller) -> None:
    bound(caller, 3)
    for key in "ab":
        remember(caller, key, pinned=True, priority="low")
    remember(caller, "c", priority="high")
    remember(caller, "d", pinned=True)
    assert keys(caller) == {"a", "b", "d"}


def test_R34_an_agent_that_has_pinned_all_it_may_keep_is_refused(caller: Caller) -> None:
    bound(caller, 2)
    for key in "ab":
        remember(caller, key, pinned=True)
    assert refused(caller, "c") == {"current_count": 2, "max_capacity": 2, "limit_kind": "entries"}
    assert refused(caller, "d", pinned=True)["limit_kind"] == "entries"
    assert keys(caller) == {"a", "b"}


def test_R34_nothing_is_evicted_when_that_would_not_be_enough(caller: Caller) -> None:
    for key in "abc":
        remember(caller, key, pinned=True)
    remember(caller, "loose")
    bound(caller, 2)
    refused(caller, "d")
    assert keys(caller) == {"a", "b", "c", "loose"}


def batch(caller: Caller, *items: Item) -> set[str]:
    """The keys of what a batch answers with, each of which is there."""
    rows = batches.write(caller, items, now=later()).rows
    assert {row.key for row in rows} <= keys(caller)
    return {row.key for row in rows}


def new(caller: Caller, *names: str, **more: Any) -> list[Item]:
    places = [Address(Tier.EPISODIC, caller.agent_id, "ns", name, **more) for name in names]
    return [Item(ledger.entries.AddressedValue(place, {"n": 1})) for place in places]


def test_R31_a_batch_makes_room_for_all_of_it_or_is_refused_whole(caller: Caller) -> None:
    bound(caller, 3)
    for key in "abc":
        remember(caller, key)
    for pinned in (False, True):
        with pytest.raises(CapacityExceeded) as refusal:
            batch(caller, *new(caller, "d", "e", "f", "g", pinned=pinned))
        assert refusal.value.details["index"] == 3
        assert (refusal.value.details["max_capacity"], refusal.value.details["limit_kind"]) == (3, "entries")
    assert keys(caller) == {"a", "b", "c"}
    assert batch(caller, *new(caller, "d", "e")) == {"d", "e"}
    assert keys(caller) == {"c", "d", "e"}
    assert batch(caller, *new(caller, "f", "g", "h")) == keys(caller) == {"f", "g", "h"}


def test_R34_what_a_batch_changes_and_what_is_pinned_does_not_make_room_for_it(caller: Caller) -> None:
    bound(caller, 3)
    changed, pinned = remember(caller, "changed"), remember(caller, "pinned", pinned=True)
    remember(caller, "loose")
    change = Item(entry_id=changed.id, version=1, named={"value": {"n": 2}})
    for both in ([change, *new(caller, "d", "e")], [*new(caller, "d", "e"), change]):
        with pytest.raises(CapacityExceeded) as refusal:
            batch(caller, *both)
        assert refusal.value.details["current_count"] == 3
    assert batch(caller, change, *new(caller, "d")) == {"changed", "d"}
    assert keys(caller) == {"changed", pinned.key, "d"}


def test_R76_entries_of_a_batch_take_the_room_of_a_task_one_after_the_other(caller: Caller) -> None:
    wire = task(caller, {"max_entries": 3, "max_total_size_kb": 1})
    large, small = {"t": "x" * 480}, {"t": "x"}
    first = remember(caller, "first", large, tier=Tier.WORKING, task_id=wire)
    place = Address(Tier.WORKING, caller.agent_id, "ns", "second", task_id=wire)
    shrunk = Item(entry_id=first.id, version=1, named={"value": small})
    second, third = (
        Item(ledger.entries.AddressedValue(place, large)),
        Item(ledger.entries.AddressedValue(dataclasses.replace(place, key="third"), large)),
    )
    for items, kind, index in (
        ((second, third), "size_kb", 1),
        ((second, third, shrunk), "size_kb", 1),
        (
            (
                shrunk,
                second,
                dataclasses.replace(shrunk, entry_id=None, given=ledger.entries.AddressedValue(place, large)),
            ),
            "",
            2,
        ),
    ):
        with pytest.raises(Refusal) as refusal:
            batch(caller, *items)
        assert (refusal.value.details["index"], refusal.value.details.get("limit_kind", "")) == (index, kind)
    assert batch(caller, shrunk, second, third) == {"first", "second", "third"}
    grown = [Item(entry_id=row.id, version=2, named={"value": large}) for row in EntryAddress.objects.filter(version=2)]
    with pytest.raises(CapacityExceeded):
        batch(caller, *grown)


def test_R36_an_entry_is_pinned_and_let_go_by_changes_of_it(caller: Caller) -> None:
    bound(caller, 2)
    first = remember(caller, "a")
    entries.update(caller, first.id, 1, {"pinned": True}, now=later())
    remember(caller, "b")
    remember(caller, "c")
    assert keys(caller) == {"a", "c"}
    entries.update(caller, first.id, 2, {"pinned": False, "priority": "low"}, now=later())
    remember(caller, "d")
    assert keys(caller) == {"c", "d"}


def test_R37_only_the_owner_s_access_counts(caller: Caller) -> None:
    bound(caller, 2)
    first = remember(caller, "a")
    remember(caller, "b")
    operator = Caller(building.scope(), "somebody-else")
    entries.get(operator, first.id, now=later())
    remember(caller, "c")
    assert keys(caller) == {"b", "c"}
    entries.update(caller, EntryAddress.objects.get(key="b").id, 1, {"value": {"n": 2}}, now=later())
    remember(caller, "d")
    assert keys(caller) == {"b", "d"}


def test_R32_R37_a_reading_counts_however_soon_after_another(caller: Caller) -> None:
    bound(caller, 3)
    made = [remember(caller, key) for key in "abc"]
    at = made[0].created_at
    queries.page(caller, queries.Wanted(agent_id=caller.agent_id), now=at + timedelta(seconds=1))
    entries.get(caller, made[0].id, now=at + timedelta(seconds=2))
    queries.page(caller, queries.Wanted(agent_id=caller.agent_id, key="b"), now=at + timedelta(seconds=3))
    remember(caller, "d")
    assert keys(caller) == {"a", "b", "d"}


def test_R94_what_is_evicted_is_gone_for_good_and_its_fact_stays(caller: Caller) -> None:
    bound(caller, 1)
    first = remember(caller, "a", {"secret": "PELICAN"})
    remember(caller, "b")
    assert not EntryAddress.objects.filter(id=first.id).exists()
    assert Tombstone.objects.get(id=first.id).reason == "evicted"
    told = event_log.read(
        caller.tenant_id, work.rows.agent(caller.tenant_id, caller.agent_id, by="host", now=START).run_id
    )
    kinds = [each.type for each in told if each.type.startswith("openintent.")]
    assert kinds == ["openintent.memory.created", "openintent.memory.evicted", "openintent.memory.created"]


def test_R30_a_lowered_capacity_is_met_by_the_next_entry(caller: Caller) -> None:
    for number in range(12):
        remember(caller, f"k{number}")
    bound(caller, 4)
    remember(caller, "new")
    assert keys(caller) == {"k9", "k10", "k11", "new"}


def test_R30_neither_lapsed_nor_retired_entries_count(caller: Caller) -> None:
    bound(caller, 2)
    lapsing = later() + timedelta(milliseconds=1500)
    remember(caller, "brief", expires_at=lapsing, priority="high")
    ledger.retirement.retire_entry(caller.scope, remember(caller, "retired").id, reason="", now=later())
    remember(caller, "a")
    remember(caller, "b")
    assert keys(caller) == {"brief", "retired", "a", "b"}
    remember(caller, "c")
    assert keys(caller) == {"brief", "retired", "b", "c"}


def test_R62_a_key_is_free_from_the_moment_its_entry_lapses(caller: Caller) -> None:
    first = remember(caller, "k", expires_at=later() + timedelta(milliseconds=2500))
    with pytest.raises(KeyExists):
        remember(caller, "k")
    again = remember(caller, "k")
    assert (again.version, keys(caller)) == (1, {"k"})
    told = event_log.read(caller.tenant_id, first.entry.run_id)
    kinds = [each.type for each in told if each.type.startswith("openintent.")]
    assert kinds == ["openintent.memory.created", "openintent.memory.expired", "openintent.memory.created"]


def test_R35_capacity_is_each_agent_s_own_and_of_episodic_memory_alone(caller: Caller) -> None:
    bound(caller, 1)
    other = Caller(caller.scope, "billing-02")
    remember(caller, "a")
    remember(other, "b")
    remember(caller, "w", tier=Tier.WORKING)
    remember(caller, "s", tier=Tier.SEMANTIC)
    assert keys(caller) == {"a", "b", "w", "s"}


def test_R16_the_holder_of_a_key_is_found_as_the_tables_have_it(caller: Caller) -> None:
    episode, shared = remember(caller, "k"), remember(caller, "k", tier=Tier.SEMANTIC)
    remember(Caller(caller.scope, "billing-02"), "k")
    ledger.retirement.retire_entry(caller.scope, remember(caller, "retired").id, reason="", now=later())
    for tier in Tier:
        place = Address(tier=tier, agent_id=caller.agent_id, namespace="ns", key="k")
        found, wanted = (
            ledger.addressed.find_by_key(caller.tenant_id, place),
            shared if tier == Tier.SEMANTIC else episode,
        )
        rows = EntryAddress.objects.of(caller.tenant_id).filter(namespace="ns", key="k", hidden=False)
        assert found == wanted
        assert found in rows
        assert ledger.addressed.find_by_key(caller.tenant_id, dataclasses.replace(place, key="retired")) is None
        assert ledger.addressed.find_by_key(caller.tenant_id, dataclasses.replace(place, namespace="other")) is None


def test_R75_a_task_takes_so_many_working_entries_of_all_agents(caller: Caller) -> None:
    within: dict[str, Any] = {"tier": Tier.WORKING, "task_id": task(caller, {"max_entries": 2})}
    remember(caller, "a", **within)
    remember(Caller(caller.scope, "billing-02"), "b", **within)
    assert refused(caller, "c", **within) == {"current_count": 2, "max_capacity": 2, "limit_kind": "entries"}
    remember(caller, "outside", tier=Tier.WORKING)
    remember(caller, "episode", task_id=within["task_id"])


def test_R76_values_of_a_task_have_so_much_room_and_growth_needs_some(caller: Caller) -> None:
    within: dict[str, Any] = {"tier": Tier.WORKING, "task_id": task(caller, {"max_total_size_kb": 1})}
    first = remember(caller, "a", {"t": "x" * 500}, **within)
    assert refused(caller, "b", {"t": "x" * 600}, **within) == {
        "current_count": 1, "max_capacity": 1, "limit_kind": "size_kb",
    }  # fmt: skip
    with pytest.raises(CapacityExceeded):
        entries.update(caller, first.id, 1, {"value": {"t": "x" * 1100}}, now=later())
    grown = entries.update(caller, first.id, 1, {"value": {"t": "x" * (1024 - 8)}}, now=later())
    assert grown.size == 1024
    entries.update(caller, first.id, 2, {"value": {"t": ""}}, now=later())
    remember(caller, "b", {"t": "x" * 600}, **within)


def test_R76_a_task_over_a_lowered_bound_may_shrink_and_not_grow(caller: Caller) -> None:
    within: dict[str, Any] = {"tier": Tier.WORKING, "task_id": task(caller, {"max_total_size_kb": 2})}
    first = remember(caller, "a", {"t": "x" * 2000}, **within)
    Task.objects.written_by(WRITER).update(memory_policy={"max_total_size_kb": 1})
    with pytest.raises(CapacityExceeded):
        entries.update(caller, first.id, 1, {"value": {"t": "x" * 2001}}, now=later())
    assert entries.update(caller, first.id, 1, {"value": {"t": "x" * 1999}}, now=later()).version == 2
    assert entries.update(caller, first.id, 2, {"tags": ("t",)}, now=later()).version == 3


def test_R77_the_smaller_of_policy_and_guardrail_holds(caller: Caller) -> None:
    tight: dict[str, Any] = {
        "tier": Tier.WORKING,
        "task_id": task(caller, {"max_entries": 5}, max_working_memory_per_task=1),
    }
    remember(caller, "a", **tight)
    assert refused(caller, "b", **tight)["max_capacity"] == 1
    wide: dict[str, Any] = {
        "tier": Tier.WORKING,
        "task_id": task(caller, {"max_entries": 1}, max_working_memory_per_task=5),
    }
    remember(caller, "c", **wide)
    assert refused(caller, "d", **wide)["max_capacity"] == 1
    none: dict[str, Any] = {"tier": Tier.WORKING, "task_id": task(caller, {"max_entries": 0})}
    assert refused(caller, "e", **none)["current_count"] == 0


def test_R77_a_task_without_bounds_has_none(caller: Caller) -> None:
    for policy in (None, {}, {"max_entries": None, "max_total_size_kb": None}):
        within: dict[str, Any] = {"tier": Tier.WORKING, "task_id": task(caller, policy)}
        for number in range(3):
            remember(caller, f"{policy}-{number}", **within)


def test_R99_semantic_memory_has_no_bounds(caller: Caller) -> None:
    bound(caller, 1)
    within: dict[str, Any] = {
        "tier": Tier.SEMANTIC,
        "task_id": task(caller, {"max_entries": 1}, max_working_memory_per_task=1),
    }
    for number in range(3):
        remember(caller, f"k{number}", **within)
    assert len(keys(caller)) == 3


def guarded(served: Served, agent: str, **rails: int) -> str:
    """An intent in which the agent is at work, under a coordinator with these guardrails."""
    with served.client(agent) as client:
        intent = client.create_intent("t", "d")
        made = client.create_task(intent.id, "t")
        client.update_task(made.id, made.version, status="running", assigned_agent=agent)
        client.create_coordinator_lease(intent_id=intent.id, agent_id=agent, guardrails=rails)
    return str(made.id)


def test_R31_a_client_at_capacity_is_served_and_the_eviction_is_told(served: Served) -> None:
    agent = served.agent()
    guarded(served, agent, max_episodic_memory_per_agent=2)
    with served.client(agent) as client:
        first, second = (client.create_memory(agent, "ns", key, {}, "episodic") for key in "ab")
        client.get_memory(first.id)
        client.create_memory(agent, "ns", "c", {}, "episodic")
        assert {each.key for each in client.list_memory(agent)} == {"a", "c"}
    with served.http(agent) as http:
        told = http.get(f"/api/v1/agents/{agent}/events").json()
    assert [each["data"]["entry_id"] for each in told if each["event_type"] == "memory.evicted"] == [second.id]


def test_R34_a_client_that_has_pinned_all_is_refused_until_it_lets_one_go(served: Served) -> None:
    agent = served.agent()
    guarded(served, agent, max_episodic_memory_per_agent=2)
    with served.client(agent) as client:
        first, _ = (client.create_memory(agent, "ns", key, {}, "episodic", pinned=True) for key in "ab")
        with pytest.raises(OpenIntentError) as refused:
            client.create_memory(agent, "ns", "c", {}, "episodic")
        body = refused.value.response
        assert (refused.value.status_code, body["error"]) == (429, "CAPACITY_EXCEEDED")
        assert (body["current_count"], body["max_capacity"], body["limit_kind"]) == (2, 2, "entries")
        client.update_memory(first.id, 1, pinned=False)
        client.create_memory(agent, "ns", "c", {}, "episodic")
        assert {each.key for each in client.list_memory(agent)} == {"b", "c"}


def test_R97_a_client_learns_the_bound_of_its_task(served: Served) -> None:
    agent = served.agent()
    within: dict[str, Any] = {"scope": {"task_id": guarded(served, agent, max_working_memory_per_task=1)}}
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "a", {}, **within)
        with pytest.raises(OpenIntentError) as refused:
            client.create_memory(agent, "ns", "b", {}, **within)
        body = refused.value.response
        assert (refused.value.status_code, body["error"]) == (429, "CAPACITY_EXCEEDED")
        assert (body["current_count"], body["max_capacity"], body["limit_kind"]) == (1, 1, "entries")
        client.delete_memory(made.id)
        client.create_memory(agent, "ns", "b", {}, **within)
