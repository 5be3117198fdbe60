"""Undoing a pass: all that it took away comes back, with a reason, once; what cannot is counted."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import adapter, ledger, memory_policy, passes, provenance
from memory.addresses import Address, Tier
from memory.host import audit, ids
from memory.host.errors import Conflict, Forbidden, Invalid
from memory.ledger.entries import AddressedValue
from memory.ledger.retirement import EntryToRetire
from memory.models import Lineage, Pass
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry, Retirement
from memory.openintent import entries
from memory.openintent.access import Caller
from memory.passes import PassOrder, orders
from memory.passes.orders import RequestedPass
from memory.provenance import Descent
from tests import building

pytestmark = pytest.mark.django_db
WHY = {"reason": "merged what differs"}


def consolidated(*contents: str, **options: Any) -> Pass:
    building.remember("acme", *contents)
    row = orders.order(building.scope(), RequestedPass("consolidate", "notes", **options), now=timezone.now())
    ended = orders.run_pass(row.tenant_id, row.id, holder="test/1", clock=timezone.now)
    assert ended
    return ended


def undone(work: Pass, **options: Any) -> orders.Restored:
    given = {"reason": "merged what differs", "now": timezone.now(), **options}
    return orders.restore_pass(building.scope(), work.id, **given)


def figures(work: Pass) -> tuple[int, int, int, int]:
    found = orders.retired_counts(building.scope(), [work.id], now=timezone.now())[work.id]
    return found.entries, found.restored, found.restorable, found.lost


def said_of(work: Pass) -> str:
    """What the page says after it was asked to undo the pass."""
    browser = Client()
    browser.force_login(building.operator())
    answer = browser.post(f"/passes/{ids.wire('pass', work.id)}/undo", WHY, follow=True)
    return answer.content.decode()


def retired() -> int:
    return MemoryEntry.objects.filter(retired_at__isnull=False).count()


@pytest.mark.engines
def test_all_that_a_pass_took_away_comes_back_protected_and_asking_again_changes_nothing() -> None:
    work = consolidated("The door is blue.", "The door is blue.", "The lamp is old.", "The lamp is old.")
    assert figures(work) == (2, 0, 2, 0)
    first, again = undone(work), undone(work)
    assert (first.entries, again.entries) == (2, 0)
    assert figures(work) == (2, 2, 0, 0)
    assert (retired(), Retirement.objects.filter(until_position=None).count()) == (0, 0)
    assert MemoryEntry.objects.filter(protected=True).count() == 2
    assert len(building.contents(building.scope())) == 4
    told = [each for each in audit.export_records(work.tenant_id) if each.action == "pass.restored"]
    assert [(each.target, each.facts) for each in told] == [
        (ids.wire("pass", work.id), {"reason": "merged what differs", "restored": 2})
    ]


@pytest.mark.engines
def test_what_somebody_retired_since_or_is_gone_for_good_is_counted_and_left() -> None:
    work = consolidated(*["The door is blue."] * 4)
    first, second, third = Lineage.objects.filter(pass_id=work.id).order_by("id").values_list("source_id", flat=True)
    now, acme = timezone.now(), building.scope()
    ledger.retirement.restore_entry(acme, first, now=now)
    ledger.retirement.retire_entry(acme, first, reason="", now=now)
    ledger.erase.remove_entries(work.tenant_id, (second,), reason="merged", now=now)
    done = undone(work)
    assert done.entries == 1
    assert figures(work) == (3, 1, 0, 2)
    assert MemoryEntry.objects.get(id=third).retired_at is None
    assert MemoryEntry.objects.get(id=first).retired_at is not None
    assert "0 entries restored. 2 can&#x27;t be restored: deleted, or retired again since." in said_of(work)


@pytest.mark.engines
def test_an_entry_that_a_later_pass_took_away_is_not_brought_back_by_undoing_the_earlier_one() -> None:
    earlier = consolidated("The door is blue.", "The door is blue.")
    [source] = Lineage.objects.filter(pass_id=earlier.id).values_list("source_id", flat=True)
    ledger.retirement.restore_entry(building.scope(), source, now=timezone.now())
    ledger.entries.protect(building.scope(), source, protected=False, now=timezone.now())
    later = consolidated("The door is blue.")
    assert MemoryEntry.objects.get(id=source).retired_at is not None
    assert undone(earlier).entries == 0
    assert undone(later).entries == 2


@pytest.mark.engines
def test_an_entry_that_a_later_pass_takes_while_the_earlier_one_is_undone_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier = consolidated("The door is blue.", "The door is blue.")
    found = adapter.passes.next_restorable(building.scope(), earlier.id, since=earlier.created_at, after=None, limit=9)
    [source] = Lineage.objects.filter(pass_id=earlier.id).values_list("source_id", flat=True)
    ledger.retirement.restore_entry(building.scope(), source, now=timezone.now())
    ledger.entries.protect(building.scope(), source, protected=False, now=timezone.now())
    consolidated("The door is blue.")
    answers = iter([found])
    monkeypatch.setattr(adapter.passes, "next_restorable", lambda *_, **__: next(answers, []))
    assert undone(earlier).entries == 0
    assert MemoryEntry.objects.get(id=source).retired_at is not None


@pytest.mark.engines
def test_after_the_restore_window_nothing_is_offered_or_brought_back() -> None:
    work = consolidated("The door is blue.", "The door is blue.")
    late = timezone.now() + timedelta(days=memory_policy.policy_of(work.tenant_id).restore_days)
    assert undone(work, now=late).entries == 0
    assert retired() == 1


@pytest.mark.engines
def test_one_request_restores_so_many_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    work = consolidated(*["The door is blue."] * 6)
    monkeypatch.setattr(orders, "MOST", 3)
    monkeypatch.setattr("memory.passes.orders.sql.CHUNK", 2)
    assert "3 entries restored. 2 more can be restored: send the form again." in said_of(work)
    assert [undone(work).entries for _ in range(2)] == [2, 0]
    told = [each.details["restored"] for each in audit.export_records(work.tenant_id) if each.action == "pass.restored"]
    assert sorted(told) == [1, 2, 2]


def test_undoing_asks_as_many_queries_however_many_entries_a_chunk_has() -> None:
    asked = []
    for number in (3, 30):
        work = consolidated(*[f"The door {number} is blue."] * number)
        with CaptureQueriesContext(connection) as seen:
            assert undone(work).entries == number - 1
        asked.append(len(seen))
    assert asked[0] == asked[1]


def test_undoing_needs_the_permission_a_reason_and_a_pass_that_is_over() -> None:
    work = consolidated("The door is blue.", "The door is blue.")
    with pytest.raises(Forbidden):
        orders.restore_pass(building.scope(role="viewer"), work.id, **WHY, now=timezone.now())
    with pytest.raises(Invalid):
        undone(work, reason="  ")
    waiting = orders.order(building.scope(), RequestedPass("consolidate", "notes"), now=timezone.now())
    with pytest.raises(Conflict):
        undone(waiting)
    assert retired() == 1


def test_a_key_bound_to_other_agents_brings_nothing_back() -> None:
    work = consolidated("The door is blue.", "The door is blue.")
    bound = building.scope(agents=("acme.other",))
    done = orders.restore_pass(bound, work.id, **WHY, now=timezone.now())
    assert (done.entries, retired()) == (0, 1)


def remembered(key: str, text: str) -> UUID:
    """An entry at a key of its own."""
    address = Address(tier=Tier.SEMANTIC, agent_id="billing-01", namespace="shared", key=key)
    caller = Caller(building.scope(), "billing-01")
    return entries.create(caller, AddressedValue(address, {"note": text}), now=timezone.now()).id


def take(work: Pass, entry_id: UUID) -> None:
    now = timezone.now()
    with transaction.atomic():
        ledger.retirement.retire_entries(work.tenant_id, [EntryToRetire(entry_id, "merged")], now=now)
        provenance.record(work.tenant_id, [Descent(entry_id, entry_id, "merged")], pass_id=work.id, now=now)


def taken_away(*entry_ids: UUID) -> Pass:
    """A pass that took these away."""
    tenant_id, now = building.tenant().id, timezone.now()
    row = passes.request(tenant_id, PassOrder("consolidate", "test", "host", "notes"), now=now)
    claimed = passes.claim(tenant_id, row.id, holder="test/1", now=now)
    assert claimed
    for each in entry_ids:
        take(claimed, each)
    passes.finish(claimed, outcome={"merged": len(entry_ids)}, now=now)
    return claimed


@pytest.mark.engines
def test_an_entry_whose_key_another_has_by_now_stays_retired_and_the_others_have_theirs_again() -> None:
    lost, kept = remembered("a", "first"), remembered("b", "second")
    work = taken_away(lost, kept)
    remembered("a", "third")
    assert undone(work).entries == 1
    assert figures(work) == (2, 1, 1, 0)
    assert dict(EntryAddress.objects.values_list("id", "hidden"))[kept] is False
    assert MemoryEntry.objects.get(id=lost).retired_at is not None
    assert undone(work).entries == 0
    assert "0 entries restored. 1 stays retired because another entry has its key." in said_of(work)


@pytest.mark.engines
def test_of_two_that_had_one_key_one_after_the_other_the_first_has_it_again() -> None:
    first = remembered("a", "first")
    work = taken_away(first)
    take(work, remembered("a", "second"))
    assert undone(work).entries == 1
    assert [row.id for row in MemoryEntry.objects.filter(retired_at=None)] == [first]
