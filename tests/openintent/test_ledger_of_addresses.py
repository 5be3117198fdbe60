"""Entries that have an address, in the one ledger: redacted, in versions, sealed where they have to be."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memory import adapter, ledger
from memory.addresses import Address, Tier
from memory.host import event_log, vault
from memory.host.errors import KeyExists
from memory.models.address import EntryAddress
from memory.models.entry import MemoryEntry
from memory.openintent import entries
from memory.openintent.access import Caller
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
