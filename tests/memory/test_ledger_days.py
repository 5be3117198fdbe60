"""What is counted with every write is what a recount finds, whatever became of the entries."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory import adapter, ledger
from memory.addresses import Address, Tier
from memory.host import runs
from memory.ledger.entries import AddressedValue
from memory.ledger.retirement import EntryToRetire
from memory.ledger_search import LedgerFilter, ledger_page
from memory.models.entry import LedgerDay, MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
from tests import building
from tests.memory.test_forgetting import MARTA, forget

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
NUMBERS = ("entries", "live", "timeless", "merged", "superseded", "compacted", "tokens", "bytes")
Counts = dict[tuple[date, str, str], dict[str, int]]


def counted() -> Counts:
    return {
        (row.day, row.agent_id, row.node_id): {name: getattr(row, name) for name in NUMBERS}
        for row in LedgerDay.objects.all()
    }


def recounted() -> Counts:
    found: dict[tuple[date, str, str], Counter[str]] = {}
    for row in MemoryEntry.objects.all():
        live = row.retired_at is None
        numbers = found.setdefault(
            (row.created_at.date(), row.agent_id, row.node_id), Counter(dict.fromkeys(NUMBERS, 0))
        )
        numbers["entries"] += 1
        numbers["live"] += live
        numbers["timeless"] += live and row.expires_at is None
        numbers["tokens"] += row.tokens
        numbers["bytes"] += len(row.content.encode())
        if row.retired_kind:
            numbers[row.retired_kind] += 1
    return {key: dict(numbers) for key, numbers in found.items()}


def agree() -> None:
    assert counted() == recounted()


def test_the_counts_are_a_recount_s_after_each_step_of_a_mixed_story() -> None:
    acme, run = building.scope(), building.open_run(building.scope())
    late = datetime(2026, 3, 1, 23, 59, 59, 999000, tzinfo=UTC)
    made = [
        building.write(
            acme,
            run,
            f"Zoë's note {number}",
            agent_id=f"agent-{number % 2}",
            node_id=f"node-{number % 3}",
            now=late + timedelta(hours=number),
            expires_at=timezone.now() + timedelta(days=9) if number % 4 == 0 else None,
        ).id
        for number in range(12)
    ]
    agree()
    assert sum(row["entries"] for row in counted().values()) == 12
    assert len({day for day, _, _ in counted()}) == 2

    now = timezone.now()
    ledger.retirement.retire_entry(acme, made[0], reason="old", now=now)
    kinds = ("merged", "superseded", "compacted")
    ledger.retirement.retire_entries(
        acme.tenant_id, [EntryToRetire(made[at], kinds[at % 3]) for at in range(1, 6)], now=now
    )
    agree()
    assert sum(row["superseded"] for row in counted().values()) == 2
    ledger.retirement.restore_entry(acme, made[0], now=now)
    ledger.retirement.restore_retired(acme, made[1:3], now=now)
    agree()

    caller = Caller(building.scope(role="agent"), "agent-9")
    place = Address(Tier.EPISODIC, "agent-9", "ns", "key")
    row = entries.create(caller, AddressedValue(place, {"n": 1}, ("tag",)), now=now)
    with transaction.atomic():
        held = ledger.addressed.lock_address(acme.tenant_id, row.id)
        ledger.addressed.rewrite(
            acme, held, AddressedValue(place, {"n": "a longer value than before"}), actor="agent-9", now=now
        )
    agree()
    with transaction.atomic():
        ledger.erase.erase_names(acme.tenant_id, row.id, {"agent_id": "erased"})
    agree()
    assert "agent-9" not in {agent for _, agent, _ in counted()}

    ledger.erase.remove_entries(acme.tenant_id, made[3:8], reason="deleted", now=now)
    agree()
    ledger.erase.remove_entries(acme.tenant_id, made, reason="deleted", now=now)
    agree()
    assert {agent for _, agent, _ in counted()} == {"erased"}


def test_the_counts_are_a_recount_s_after_a_forget() -> None:
    building.remember("acme", f"{MARTA} called.", "Somebody else wrote.")
    forget(building.scope())
    agree()


def test_a_change_that_was_rolled_back_is_not_counted() -> None:
    acme, run = building.scope(), building.open_run(building.scope())
    building.write(acme, run, "kept")
    before = counted()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        building.write(acme, run, "lost")
        raise ZeroDivisionError
    assert counted() == before


def test_growth_and_writes_are_read_without_a_look_at_entries() -> None:
    acme, run = building.scope(), runs.find(building.scope().tenant_id, building.open_run(building.scope()).id)
    monday = datetime(2026, 3, 2, tzinfo=UTC)
    for days in (0, 6, 7):
        building.write(acme, run, "x" * 10, agent_id="a", node_id="n", now=monday + timedelta(days=days, hours=23))
    asked: list[str] = []

    def noted(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        asked.append(statement)
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(noted):
        grown = adapter.statistics.weekly_growth(acme, "agent", since=monday.date())
        by_node = adapter.statistics.weekly_growth(acme, "node", since=monday.date())
        written = adapter.statistics.writes_by_day(acme, since=monday.date() + timedelta(days=6))
        timeless = adapter.statistics.count_timeless(acme)
    assert [(each.week, each.entries, each.bytes) for each in grown] == [(0, 2, 20), (1, 1, 10)]
    assert [each.writer for each in by_node] == ["n", "n"]
    assert [(day.isoformat(), agent, number) for day, agent, number in written] == [
        ("2026-03-08", "a", 1),
        ("2026-03-09", "a", 1),
    ]
    assert timeless == {"a": 3}
    assert not [each for each in asked if "memory_memoryentry" in each]
    assert adapter.statistics.count_timeless(building.scope("globex")) == {}


def test_the_totals_of_an_agent_and_of_a_node_are_exact_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(adapter.console, "COUNTED", 1)
    acme, now = building.scope(), timezone.now()
    run, soon, later = building.open_run(acme), now + timedelta(seconds=1), now + timedelta(seconds=2)
    for node_id in ("plan", "act"):
        rows = [
            building.write(acme, run, f"{node_id} {n}", agent_id="acme.bot", node_id=node_id, now=now) for n in range(3)
        ]
        ledger.retirement.retire_entry(acme, rows[0].id, reason="", now=now)
        building.write(acme, run, "lapsed", agent_id="acme.bot", node_id=node_id, now=now, expires_at=soon)
        building.write(acme, run, "of another", agent_id="acme.other", node_id=node_id, now=now)
    building.write(building.scope("globex"), building.open_run(building.scope("globex")), "elsewhere", now=now)

    def total(**wanted: Any) -> tuple[int, bool]:
        page = ledger_page(acme, LedgerFilter(**wanted), now=later)
        shown = ledger_page(acme, LedgerFilter(**wanted), size=100, now=later).entries
        assert page.total == len(shown) or not page.total_is_exact
        return page.total, page.total_is_exact

    assert total(agent="acme.bot") == (4, True)
    assert total(agent="acme.bot", state="retired") == (2, True)
    assert total(agent="acme.bot", state="all") == (6, True)
    assert total(node="plan") == (3, True)
    assert total(agent="acme.bot", node="act") == (2, True)
    assert total(agent="acme.nobody") == (0, True)
    assert total(memory_ref="notes") == (1, False)  # of refs nothing is counted with the write
    with django_assert_max_num_queries(3):
        ledger_page(acme, LedgerFilter(agent="acme.bot"), now=later)
