"""Two transactions that need the same rows wait for each other in one order, so that neither waits for good (PostgreSQL
says "deadlock detected" where they would). SQLite has one writer at a time, and nothing to wait for but its turn."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import ledger
from memory.addresses import Address, Tier
from memory.host import ids, sql, vault
from memory.host.models import AuditRecord
from memory.ledger.entries import AddressedValue
from memory.models import Archive, Namespace
from memory.models.address import EntryAddress
from memory.openintent import batches, entries, namespaces, work, workflow_file
from memory.openintent.access import Caller
from memory.openintent.batches import Item
from memory.openintent.work.rows import NewIntent
from tests import building
from tests.openintent import test_closing

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]
PATIENCE = 1.5


@pytest.fixture(autouse=True)
def only_where_rows_are_locked() -> None:
    if not sql.is_postgres():
        pytest.skip("SQLite locks no rows")


class Meeting:
    """Each of two threads waits once for the other at its own place, but no longer than it takes to see that the other
    is held up by what this one has locked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch, self._barrier, self._been = monkeypatch, threading.Barrier(2), set[str]()

    def behind(self, place: str, thread: str) -> None:
        """The thread of that name waits as soon as it has done what is at the place."""
        module, _, name = place.rpartition(".")
        real = _found(module, name)

        def done(*args: Any, **kwargs: Any) -> Any:
            answer = real(*args, **kwargs)
            if threading.current_thread().name == thread and thread not in self._been:
                self._been.add(thread)
                self._wait()
            return answer

        self._patch.setattr(place, done)

    def _wait(self) -> None:
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(PATIENCE)

    def run(self, **work: Callable[[], Any]) -> dict[str, Any]:
        """What became of each: its answer, or the exception."""

        def do(name: str) -> Any:
            threading.current_thread().name = name
            try:
                return work[name]()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(work)) as pool:
            doing = {name: pool.submit(do, name) for name in work}
        assert self._been, "nobody came by the places where they should have met"
        return {name: each.exception() or each.result() for name, each in doing.items()}


def _found(module: str, name: str) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> Meeting:
    return Meeting(monkeypatch)


def given(key: str, tier: Tier = Tier.WORKING, namespace: str = "ns", **more: Any) -> AddressedValue:
    return AddressedValue(Address(tier, "owner", namespace, key, **more), {"n": 1})


def make(caller: Caller, what: AddressedValue, now: datetime | None = None) -> EntryAddress:
    return entries.create(caller, what, now=now or timezone.now())


def test_R38_a_first_write_in_a_namespace_and_an_entry_that_is_given_up_do_not_wait_for_each_other(
    meeting: Meeting,
) -> None:
    caller, operator = Caller(building.scope(role="agent"), "owner"), building.scope(role="operator")
    row, now = make(caller, given("a")), timezone.now()
    meeting.behind("memory.openintent.namespaces.lock_namespaces", "first")
    meeting.behind("memory.ledger.retirement.advance_head", "retire")
    done = meeting.run(
        first=lambda: make(caller, given("s", Tier.SEMANTIC)),
        retire=lambda: ledger.retirement.retire_entry(operator, row.id, reason="because", now=now),
    )
    assert [type(each).__name__ for each in (done["first"], done["retire"])] == ["EntryAddress", "MemoryEntry"], done
    acts = list(AuditRecord.objects.of(caller.tenant_id).order_by("seq").values_list("action", flat=True))
    assert sorted(acts[-2:]) == ["memory.retired", "namespace.created"]


def test_R100_a_batch_that_makes_a_namespace_and_an_entry_that_is_restored_do_not_wait_for_each_other(
    meeting: Meeting,
) -> None:
    caller, operator = Caller(building.scope(role="agent"), "owner"), building.scope(role="operator")
    row, now = make(caller, given("a")), timezone.now()
    ledger.retirement.retire_entry(operator, row.id, reason="", now=now)
    meeting.behind("memory.openintent.namespaces.lock_namespaces", "batch")
    meeting.behind("memory.ledger.retirement.advance_head", "restore")
    items = [Item(given("s", Tier.SEMANTIC)), Item(given("w"))]
    done = meeting.run(
        batch=lambda: batches.write(caller, items, now=now),
        restore=lambda: ledger.retirement.restore_entry(operator, row.id, now=now),
    )
    assert not [each for each in done.values() if isinstance(each, Exception)], done


def test_R83_a_batch_and_an_import_lock_their_namespaces_in_one_order(meeting: Meeting) -> None:
    caller, operator = Caller(building.scope(role="agent"), "owner"), building.scope(role="operator")
    make(caller, given("k", Tier.SEMANTIC, "z-known"))
    text = b"name: W\nplan: []\nmemory:\n  semantic_namespaces: [z-known, a-new]\n"
    workflow = workflow_file.parse(text).workflow
    assert workflow is not None, workflow_file.parse(text).problems
    for place in ("memory.openintent.namespaces.lock_namespace", "memory.openintent.namespaces.insert"):
        meeting.behind(place, "batch")
        meeting.behind(place, "import")
    items = [Item(given("b", Tier.SEMANTIC, "z-known")), Item(given("b", Tier.SEMANTIC, "a-new"))]
    done = meeting.run(
        **{
            "batch": lambda: batches.write(caller, items, now=timezone.now()),
            "import": lambda: workflow_file.import_workflow(operator, workflow, now=timezone.now()),
        }
    )
    assert "deadlock" not in str(done), done
    assert not isinstance(done["import"], Exception), done
    assert Namespace.objects.of(caller.tenant_id).filter(name="a-new").count() == 1


def test_R38_of_two_that_make_a_namespace_at_once_the_second_holds_it_too_until_it_is_done(meeting: Meeting) -> None:
    callers = {name: Caller(building.scope(role="agent"), name) for name in ("one", "two")}
    for thread in callers:
        meeting.behind("memory.openintent.namespaces.lock_namespace", thread)

    def seen_from_outside() -> str:
        try:
            with transaction.atomic():
                rows = Namespace.objects.of(callers["one"].tenant_id).select_for_update(nowait=True)
                return "free" if rows.filter(name="new").exists() else "not there"
        except OperationalError:
            return "held"
        finally:
            connections.close_all()

    def make_it(caller: Caller) -> str:
        with transaction.atomic(), ThreadPoolExecutor(1) as outside:
            namespaces.lock_namespaces(caller, ["new"], now=timezone.now())
            return outside.submit(seen_from_outside).result()

    done = meeting.run(**{name: partial(make_it, caller) for name, caller in callers.items()})
    assert sorted(done.values()) == ["held", "not there"]


def test_R31_a_lapsed_key_and_an_eviction_are_locked_together(meeting: Meeting, settings: Settings) -> None:
    settings.OPENWOP_EPISODIC_CAPACITY = 1
    caller, start = Caller(building.scope(role="agent"), "owner"), timezone.now()
    made = work.intents.create_intent(caller.scope, NewIntent("t", ""), actor=caller.agent_id, now=start)
    intent = ids.wire("intent", made.id)
    ends = start + timedelta(minutes=1)
    make(caller, replace(given("k", Tier.WORKING, intent_id=intent), expires_at=ends), start)
    other = make(caller, given("other", Tier.WORKING, intent_id=intent), start)
    make(caller, given("first", Tier.EPISODIC), start)
    later = start + timedelta(minutes=2)
    meeting.behind("memory.ledger.erase.advance_head", "make")
    meeting.behind("memory.ledger.addressed.lock_address", "delete")
    done = meeting.run(
        make=lambda: make(caller, given("k", Tier.EPISODIC), later),
        delete=lambda: entries.delete(caller, other.id, None, now=later),
    )
    assert not [each for each in done.values() if isinstance(each, Exception)], done
    assert set(EntryAddress.objects.of(caller.tenant_id).values_list("key", flat=True)) == {"k"}


def test_R93_a_confidential_batch_and_a_confidential_change_take_the_vault_s_key_first(meeting: Meeting) -> None:
    caller, now = Caller(building.scope(role="agent"), "owner"), timezone.now()
    row = make(caller, given("a", sensitivity="restricted"), now)
    meeting.behind("memory.ledger.head.lock_entries", "batch")
    meeting.behind("memory.host.vault.hold_key", "change")
    items = [Item(entry_id=row.id, version=1, named={"tags": ("x",)}), Item(given("b", sensitivity="restricted"))]
    done = meeting.run(
        batch=lambda: batches.write(caller, items, now=now),
        change=lambda: entries.update(caller, row.id, 1, {"value": {"n": 2}}, now=now),
    )
    assert "deadlock" not in str(done), done
    assert max(type(each).__name__ for each in done.values()) == "VersionMismatch", done
    assert vault.rotate(reseal=ledger.entries.reseal, now=now)


def test_R93_an_entry_becomes_confidential_beside_the_retiring_of_what_a_night_made_of_it(meeting: Meeting) -> None:
    row = test_closing.remembered("a", test_closing.WORDS)
    test_closing.remembered("b", "the heron")
    test_closing.passed("distill", tokenBudget=500)
    archived, operator = Archive.objects.get().entry_id, building.scope(role="operator")
    assert archived
    meeting.behind("memory.ledger.addressed.advance_head", "close")
    meeting.behind("memory.ledger.retirement.locked_entry", "retire")
    done = meeting.run(
        close=lambda: test_closing.raised(row),
        retire=lambda: ledger.retirement.retire_entry(operator, archived, reason="x", now=timezone.now()),
    )
    assert "deadlock" not in str(done), done
    assert row.id == getattr(done["close"], "id", None), done
