"""Entries that have an address, in the one ledger: redacted, in versions, sealed where they have to be."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from memory import adapter, ledger
from memory.addresses import Address, Tier
from memory.host import event_log, ids, vault
from memory.host.errors import KeyExists
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries, events
from memory.openintent.access import Caller
from memory.passes import orders
from memory.passes.orders import RequestedPass
from tests import building

pytestmark = pytest.mark.django_db
VALUE: dict[str, Any] = {"n": 2**70, "total": 47, "ünïcode": {"": []}, "f": 1.5}


def caller() -> Caller:
    return Caller(building.scope(), "billing-01")


def given(value: dict[str, Any] = VALUE, **more: Any) -> ledger.entries.AddressedValue:
    place = {"tier": Tier.WORKING, "agent_id": "billing-01", "namespace": "invoices", "key": "progress", **more}
    return ledger.entries.AddressedValue(Address(**place), value, ("batch", "in progress"))


def test_an_entry_is_a_row_of_the_ledger_under_the_ref_of_its_address() -> None:
    made = entries.create(caller(), given(), now=timezone.now())
    row = adapter.console.find_entry(building.scope(), made.id, now=timezone.now())
    assert row
    assert (row.memory_ref, row.agent_id) == ("openintent/working/billing-01/-", "billing-01")
    assert ledger.entries.value_of(made) == VALUE
    kinds = [each.type for each in event_log.read(made.tenant_id, made.entry.run_id)]
    assert kinds == ["run.started", "memory.written", "openintent.memory.created"]


def test_a_key_is_taken_once() -> None:
    entries.create(caller(), given(), now=timezone.now())
    with pytest.raises(KeyExists):
        entries.create(caller(), given({"other": 1}), now=timezone.now())
    assert MemoryEntry.objects.count() == EntryAddress.objects.count() == 1


def test_a_change_is_the_next_version_of_the_same_row() -> None:
    made = entries.create(caller(), given(), now=timezone.now())
    row = ledger.addressed.lock_address(made.tenant_id, made.id)
    changed = ledger.addressed.rewrite(
        building.scope(), row, dataclasses.replace(given({"new": "pelican"}), tags=("x",)), actor="", now=timezone.now()
    )
    assert (changed.id, changed.version, changed.entry.tags) == (made.id, 2, ["x"])
    assert ledger.entries.value_of(ledger.addressed.lock_address(made.tenant_id, made.id)) == {"new": "pelican"}
    kinds = [each.type for each in event_log.read(made.tenant_id, made.entry.run_id)]
    assert kinds[-2:] == ["memory.written", "openintent.memory.updated"]


def test_what_is_removed_leaves_its_fact_and_its_key() -> None:
    made = entries.create(caller(), given(), now=timezone.now())
    assert ledger.erase.remove_entries(made.tenant_id, (made.id,), reason="deleted", now=timezone.now()) == 1
    assert event_log.read(made.tenant_id, made.entry.run_id)[-1].type == "openintent.memory.deleted"
    assert EntryAddress.objects.count() == 0
    entries.create(caller(), given(), now=timezone.now())


def test_what_was_given_more_time_while_the_sweep_looked_stays() -> None:
    begun = timezone.now()
    place = dataclasses.replace(given(), expires_at=begun + timedelta(minutes=1))
    made, later = entries.create(caller(), place, now=begun), begun + timedelta(minutes=2)
    found = ledger.erase.expired_rows(now=later)
    longer = dataclasses.replace(place, expires_at=begun + timedelta(hours=1))
    ledger.addressed.rewrite(
        building.scope(), ledger.addressed.lock_address(made.tenant_id, made.id), longer, actor="", now=begun
    )
    assert ledger.erase.remove_entries(made.tenant_id, (found[0][1],), reason="expired", lapsed=True, now=later) == 0
    assert ledger.addressed.lock_address(made.tenant_id, made.id).version == 2


def test_a_confidential_value_stands_nowhere_in_clear_and_outlives_a_rotation() -> None:
    made = entries.create(caller(), given({"iban": "PELICAN-4711"}, sensitivity="confidential"), now=timezone.now())
    row = EntryAddress.objects.get()
    assert row.sealed is not None
    assert b"PELICAN" not in bytes(row.sealed)
    assert "pelican" not in str(MemoryEntry.objects.values().get()).lower()
    assert vault.rotate(reseal=ledger.entries.reseal, now=timezone.now()) == (1, ())
    assert ledger.entries.value_of(ledger.addressed.lock_address(made.tenant_id, made.id)) == {"iban": "PELICAN-4711"}


def test_a_retired_entry_gives_its_key_up_and_comes_back_only_to_a_free_one() -> None:
    made, owner = entries.create(caller(), given(), now=timezone.now()), building.scope()
    ledger.retirement.retire_entry(owner, made.id, reason="", now=timezone.now())
    other = entries.create(caller(), given(), now=timezone.now())
    with pytest.raises(KeyExists):
        ledger.retirement.restore_entry(owner, made.id, now=timezone.now())
    ledger.erase.remove_entries(made.tenant_id, (other.id,), reason="deleted", now=timezone.now())
    assert ledger.retirement.restore_entry(owner, made.id, now=timezone.now()).retired_at is None
    assert connection.in_atomic_block


def on_a_page(client: Client, act: str, mem_id: str) -> Any:
    return client.post(f"/memory/{mem_id}/{act}", {"reason": "out of date"})


def in_the_bulk_bar(client: Client, act: str, mem_id: str) -> Any:
    return client.post("/memory/selected", {"action": act, "id": [mem_id], "reason": "out of date"})


def over_the_api(client: Client, act: str, mem_id: str) -> Any:
    path = f"/v1/host/console/memory/{mem_id}:{act}"
    return client.post(path, {"reason": "out of date"}, content_type="application/json", **building.headers())


@pytest.mark.engines
@pytest.mark.parametrize("door", [on_a_page, in_the_bulk_bar, over_the_api])
def test_the_agent_reads_on_its_log_that_a_person_took_its_entry_away_and_brought_it_back(
    client: Client, door: Callable[..., Any]
) -> None:
    made = entries.create(caller(), given(), now=timezone.now())
    mem_id, headers = ids.wire("mem", made.id), building.headers() | {"HTTP_X_AGENT_ID": "billing-01"}
    client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")

    def told() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get("/api/v1/agents/billing-01/events", **headers).json()
        return found

    for act, kind in (("retire", "memory.deleted"), ("restore", "memory.created")):
        assert door(client, act, mem_id).status_code in {200, 302}
        assert client.get(f"/api/v1/memory/{mem_id}", **headers).status_code == (404 if act == "retire" else 200)
        *_, event = told()
        assert (event["type"], event["agent_id"]) == (kind, "billing-01")
        assert event["actor"].startswith("key_" if door is over_the_api else "usr_")
        assert event["data"] == {
            "entry_id": mem_id,
            "namespace": "invoices",
            "key": "progress",
            "memory_type": "working",
            "version": 1,
            "tags": ["batch", "in progress"],
            "reason": "out of date",
        }
    assert len(told()) == 3


def test_a_compaction_and_its_undoing_stand_on_the_log_of_the_agent() -> None:
    owner = building.scope()
    for key in ("a", "b"):
        entries.create(caller(), given({"text": key}, tier=Tier.EPISODIC, key=key), now=timezone.now())
    order = orders.order(owner, RequestedPass("compact", "openintent/episodic/billing-01"), now=timezone.now())
    done = orders.run_pass(owner.tenant_id, order.id, holder="test/1", clock=timezone.now)
    assert done
    assert done.state == "done"
    orders.restore_pass(owner, done.id, reason="wanted them", now=timezone.now())
    log = events.agent_log(caller(), "billing-01", now=timezone.now())
    told = [(each["type"], each["data"].get("reason")) for each in events.page(log, events.EventQuery()).events]
    assert told == [
        *[("memory.created", None)] * 2,
        *[("memory.deleted", "compacted")] * 2,
        *[("memory.created", "wanted them")] * 2,
    ]
